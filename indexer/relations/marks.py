"""Signs that tell texts of few words apart, which in a longer text are marks of a format: emoji, +, ?, quoted signs."""

from __future__ import annotations

import re
import unicodedata

_QUOTES = "'\"`\u00b4\u2018\u2019\u201a\u201c\u201d\u201e\u00ab\u00bb\u2039\u203a"
# An option, or a letter with a hyphen as a part of it.
_OPTION = rf"(?:^|[\s(\[{_QUOTES}])(-{{1,2}}(?!\d)\w[\w-]*)"
_QUOTED = rf"(?<=[{_QUOTES}])([^\w\s{_QUOTES}]{{1,3}})(?=[{_QUOTES}])"
_ALONE = rf"(?<!\S)([^\w\s{_QUOTES}]{{1,5}})(?!\S)"
_MARKS = re.compile(rf"{_OPTION}|{_QUOTED}|([+?\uff1f\u061f])|([^\w\s\x00-\u2100])|{_ALONE}")
_BEFORE_OPTION = re.compile(rf"(?:^|[\s(\[{_QUOTES}])-{{1,2}}$")
# What may stand between words in place of something else of these, or of nothing; signs of a number tell elsewhere.
_BETWEEN = re.compile(
    rf"[-\u2010-\u2015\u2212|/\u00b7\u2022:;,.\u2026>~*#=_!&\u00b6\u00a9\u00ae$%\u2030\u00b0{_QUOTES}]*"
)
# Of a name or of a number.
_UNTOLD = "\u2103\u2109\u2116\u2120\u2122"
# Symbols, what stands for letters that could not be read, and letters that are nowhere agreed on.
_PICTURES = ("So", "Co", "Cn")


def differing_marks(text: str, other: str) -> tuple[str, str] | None:
    """The signs of two texts with equal words in which these say something else; None where they don't.

    These are emoji and what no reader can read, a + and a question mark, options with their hyphen, and signs alone
    between spaces or quotation marks, without those that stand between the parts of a title.
    """
    ours, theirs = _marks(text), _marks(other)
    return None if ours == theirs else (" ".join(ours), " ".join(theirs))


def is_option(before: str) -> bool:
    """True if a word behind these characters has a hyphen of its own, as -a has."""
    return before.endswith("-") and _BEFORE_OPTION.search(before) is not None


def _marks(text: str) -> list[str]:
    found = list[str]()
    for option, quoted, sign, picture, alone in _MARKS.findall(text):
        if option or quoted or sign:
            found.append(option or quoted or unicodedata.normalize("NFKC", sign))
        elif picture:
            found += [picture] if unicodedata.category(picture) in _PICTURES and picture not in _UNTOLD else []
        elif not _BETWEEN.fullmatch(alone) and unicodedata.category(alone[0]) != "Sc":
            found.append(alone)
    return found
