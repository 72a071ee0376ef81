"""The facts in which two aligned texts differ: what can be seen without a model, in any language."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from indexer.relations.wording import Wording
from indexer.text.vocabulary import GRAMMATICAL, NEGATIONS, NUMERALS

_DIGITS = re.compile(r"\d+")
_DATE = re.compile(r"\d{4}[-./]\d{1,2}[-./]\d{1,2}|\d{1,2}[-./]\d{1,2}[-./]\d{2,4}")
_TIME = re.compile(r"\d{1,2}:\d{2}(:\d{2})?")
_AMOUNT = re.compile(r"-?\d[\d.,]*[.,]\d\d")
_CODE = re.compile(r"(?=.*[^\W\d_]).*\d.*|.*_.*")
_LONGEST_UNIT = 3
_STOPS = ("", ",", ";", ".")
# What divides the names of a module and of what is in it.
_PATH = "::"


class DifferingFact(NamedTuple):
    """A fact that differs between two texts: its `kind`, such as "date", and how each says it, empty for not."""

    kind: str
    left: str
    right: str

    def __str__(self) -> str:
        return f"{self.kind} {self.left or 'nothing'} / {self.right or 'nothing'}"


def digits(text: str) -> list[str]:
    """The numbers in a text, as their digits."""
    return _DIGITS.findall(text)


def has_digit(word: str) -> bool:
    """True for a word with a digit."""
    return not word.isalpha() and any(map(str.isdigit, word))


def numbers(wording: Wording, places: Sequence[int]) -> list[int]:
    """Those of some places of words that have a digit, or are numbers in words."""
    return [place for place in places if _is_number(wording.word(place))]


def _is_number(word: str) -> bool:
    # Most words are letters alone, of which nothing has to be looked for.
    if word.isalpha():
        return word.casefold() in NUMERALS
    return any(map(str.isdigit, word)) or word.strip("_").casefold() in NUMERALS


def negations(wording: Wording, places: Sequence[int]) -> list[int]:
    """Those of some places of words that negate: a word of negation, or "n't"."""
    return [place for place in places if is_negation(wording, place)]


def is_negation(wording: Wording, place: int) -> bool:
    """True for a word of negation, and for the t of "don't"."""
    word = wording.folded(place).strip("_")
    if word == "t":
        return wording.before(place) in ("'", "\N{RIGHT SINGLE QUOTATION MARK}")
    return word in NEGATIONS or "!" in (signs := wording.signs(place)) or "¬" in signs


def is_entry(word: str) -> bool:
    """True for a word with a digit or that is written as a name in code."""
    return has_digit(word) or is_identifier(word)


def names(wording: Wording, places: Sequence[int]) -> list[int]:
    """Those of some places of words that are names.

    These have a capital where no sentence and no line begins, or are one in code, also a part of one behind a "::", or
    a letter alone, as in "x, y".
    """
    return [place for place in places if _is_name(wording, place)]


def is_identifier(word: str) -> bool:
    """True for a word that is written as a name in code, with an underscore or a capital inside of it."""
    return "_" in word.strip("_") or (not word.isupper() and any(map(str.isupper, word[1:])))


def _is_name(wording: Wording, place: int) -> bool:
    word, before = wording.word(place), wording.before(place)
    if is_identifier(word) or before == _PATH:
        return True
    word = word.strip("_") or word
    if len(word) == 1 and word.islower() and wording.behind(place) in _STOPS and before[-1:].isspace():
        return True
    if not word[0].isupper() or wording.initial(place):
        return False
    return len(word) > 1 or word != "I"


def without_common(
    left: Wording, ours: Sequence[int], right: Wording, theirs: Sequence[int]
) -> tuple[list[int], list[int]]:
    """The places of what the other side does not say as often, by value."""
    if not ours or not theirs:
        return [*ours], [*theirs]
    if len(ours) == len(theirs) == 1:
        return ([], []) if left.values[ours[0]] == right.values[theirs[0]] else ([*ours], [*theirs])
    mine, yours = left.values[ours].tolist(), right.values[theirs].tolist()
    return _beyond(ours, mine, yours), _beyond(theirs, yours, mine)


def _beyond(places: Sequence[int], values: Sequence[int], others: Sequence[int]) -> list[int]:
    left, found = dict[int, int](), []
    for value in others:
        left[value] = left.get(value, 0) + 1
    for place, value in zip(places, values, strict=True):
        if count := left.get(value, 0):
            left[value] = count - 1
        else:
            found.append(place)
    return found


def number_difference(left: Wording, ours: Sequence[int], right: Wording, theirs: Sequence[int]) -> list[DifferingFact]:
    """The differences of numbers at some places, whole: 1,234.50 is one, and has its currency or unit with it."""
    one, other = _whole(left, ours), _whole(right, theirs)
    count = max(len(one), len(other))
    one += [""] * (count - len(one))
    other += [""] * (count - len(other))
    return [DifferingFact(_kind(mine, yours), mine, yours) for mine, yours in zip(one, other, strict=True)]


def _whole(wording: Wording, places: Sequence[int]) -> list[str]:
    found: list[str] = []
    end = -1
    for place in places:
        if place < end:
            continue
        first, end = place, place + 1
        while first and wording.joins(first):
            first -= 1
        while end < len(wording) and wording.joins(end):
            end += 1
        said = wording.written(first, end)
        if end < len(wording) and _is_unit(unit := wording.word(end)) and (gap := wording.before(end)) in ("", " "):
            said += gap + unit
        found.append(said)
    return found


def _is_unit(word: str) -> bool:
    return len(word) <= _LONGEST_UNIT and word.isalpha() and word.casefold() not in GRAMMATICAL


def _kind(mine: str, yours: str) -> str:
    if mine.isdecimal() and yours.isdecimal():
        return "number"
    for kind, pattern in (("date", _DATE), ("time", _TIME), ("amount", _AMOUNT)):
        if pattern.match(mine) or pattern.match(yours):
            return kind
    if any("$" in said or (not said.isascii() and any(map(_is_money, said))) for said in (mine, yours)):
        return "amount"
    if any(_CODE.fullmatch(said.split(" ", 1)[0]) for said in (mine, yours) if said):
        return "code"
    return "number"


def _is_money(sign: str) -> bool:
    return sign in "€£¥₹₽₩₺₴₪฿₫"
