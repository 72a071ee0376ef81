"""Made edits of texts, each with the relation that the edited text has to the one it was made of."""

# ruff: noqa: E501 - what is replaced stands in tables

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping

from tests.relations.filled import reflowed, reformatted

# Whole words, none in names of code.
_WORD = re.compile(r"(?<![\w./:<>@#$-])[^\W\d_][^\W\d_A-Z]{4,}(?![\w./:<>@#$(=-])")
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-ZÄÖÜ])")
_MISREAD = (("rn", "m"), ("m", "rn"), ("h", "b"), ("e", "c"), ("c", "e"), ("cl", "d"), ("d", "cl"), ("ll", "il"), ("w", "vv"), ("u", "ii"), ("f", "t"))  # fmt: skip
_REWORDED = (
    ("in order to", "to"), ("for example", "for instance"), ("however", "but"), ("because", "since"), ("as well as", "and also"), ("must", "has to"),
    ("is used to", "serves to"), ("is used for", "serves for"), ("such as", "like"), ("at least", "a minimum of"), ("a number of", "several"),
    ("make sure that", "see to it that"), ("if you want to", "to"), ("this means that", "so"), ("it is possible to", "one can"),
    ("you can", "it is possible to"), ("which is", "that is"), ("in this case", "then"), ("by default", "unless told otherwise"),
)  # fmt: skip


def _in_words(text: str, draw: random.Random, share: float, change: Callable[[str, random.Random], str]) -> str:
    """The text with a share of its longer words, one at least, changed."""
    words = list(_WORD.finditer(text))
    chosen = (
        sorted(draw.sample(words, max(1, round(share * len(words)))), key=lambda match: -match.start()) if words else []
    )
    for match in chosen:
        text = text[: match.start()] + change(match[0], draw) + text[match.end() :]
    return text


def _mistyped(word: str, draw: random.Random) -> str:
    place = draw.randrange(1, len(word) - 1)
    kind = draw.randrange(4)
    if kind == 0 and word[place] != word[place + 1]:
        return word[:place] + word[place + 1] + word[place] + word[place + 2 :]
    if kind == 1:
        return word[:place] + word[place + 1 :]
    if kind == 2:
        return word[:place] + word[place] + word[place:]
    return word[:place] + draw.choice([letter for letter in "aeinrstl" if letter != word[place]]) + word[place + 1 :]


def _misread(word: str, draw: random.Random) -> str:
    fitting = [pair for pair in _MISREAD if pair[0] in word[1:]]
    if not fitting:
        return _mistyped(word, draw)
    letters, seen = draw.choice(fitting)
    return word[0] + word[1:].replace(letters, seen, 1)


def mistyped(text: str, draw: random.Random) -> str:
    """One in a hundred longer words mistyped."""
    return _in_words(text, draw, 0.01, _mistyped)


def misread(text: str, draw: random.Random) -> str:
    """One in twenty-five longer words misread as by recognition of characters."""
    return _in_words(text, draw, 0.04, _misread)


def _sentences(text: str) -> list[str]:
    return _SENTENCE.split(text)


def added(text: str, draw: random.Random) -> str:
    """A sentence added that stands in none."""
    said = _sentences(text)
    more = ["The maintainers are glad about every report that helps to mend what is wrong with these pages.",
            "Readers who are new to the subject should begin with the chapters in front of this one.",
            "A later section explains what happens where none of this holds, and what can be done about it then."]  # fmt: skip
    said.insert(draw.randint(1, len(said)), draw.choice(more))
    return " ".join(said)


def cut(text: str, draw: random.Random) -> str:
    """One sentence cut, of no more than a tenth of all."""
    said = _sentences(text)
    short = [place for place, sentence in enumerate(said) if len(sentence) <= len(text) / 10]
    if short:
        del said[draw.choice(short)]
    return " ".join(said)


def moved(text: str, draw: random.Random) -> str:
    """One sentence moved to another place."""
    said = _sentences(text)
    long = [place for place, sentence in enumerate(said) if 8 < len(sentence.split()) < len(text.split()) / 4]
    if long:
        sentence = said.pop(draw.choice(long))
        said.insert(draw.randint(0, len(said)), sentence)
    return " ".join(said)


def reworded(text: str, draw: random.Random) -> str:
    """A few turns of phrase replaced by others."""
    fitting = [pair for pair in _REWORDED if f" {pair[0]} " in text]
    for phrase, other in draw.sample(fitting, min(3, len(fitting))):
        text = text.replace(f" {phrase} ", f" {other} ", 1)
    return text


EDITS: Mapping[str, tuple[Callable[[str, random.Random], str], str]] = {
    "mistyped": (mistyped, "noise"),
    "misread": (misread, "noise"),
    "added": (added, "edited"),
    "cut": (cut, "edited"),
    "moved": (moved, "edited"),
    "reworded": (reworded, "edited"),
    "reflowed": (reflowed, "reflowed"),
    "reformatted": (reformatted, "reflowed"),
}
"""By name: what makes an edit, and the relation that it has."""
