"""Text from documents made safe to show."""

from __future__ import annotations

# Joiners are invisible, harmless, and part of Persian, Hindi and emoji.
_HARMLESS = "\u200c\u200d"


def printable(text: str) -> str:
    r"""Text as one line safe to show: control, format and unassigned characters as \x1b or \u202e."""
    if text.isprintable():
        return text
    return "".join(_visible(character) for character in text)


def beginning(text: str, most: int) -> str:
    words = " ".join(text.split())
    if len(words) <= most:
        return words
    return words[:most].rsplit(" ", 1)[0] + " \u2026"


def _visible(character: str) -> str:
    if character.isprintable() or character in _HARMLESS:
        return character
    if character.isspace() and character not in "\x1c\x1d\x1e\x1f\x85":
        return " "
    return character.encode("unicode_escape").decode("ascii")
