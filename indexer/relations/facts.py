"""The typed facts of a text: numbers, dates, codes, names, negations."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator
from typing import NamedTuple

from indexer.relations.wording import Wording
from indexer.text.vocabulary import LanguageWords, vocabulary_of

_SPACES = ("", " ", "\u00a0", "\u2009", "\u202f")
_SEPARATORS = ".,:/-'\u2019\u066c\u066b"
_IN_FRONT = "-+\u00b1<>=\u2264\u2265~($\u20ac\u00a3\u00a5#&\u221a"
_BEHIND_SPACE = "%\u2030\u2031\u00b0\u20ac$\u00a3\u00a5\u20bd"
_BEHIND = "%\u2030\u2031\u00b0'\"\u20ac$\u00a3\u00a5\u20bd+-)"
# Symbols of units, as kg, have so many letters at most; a longer one is a word.
_LONGEST_UNIT = 3
# A number of more words and signs than this is a table.
_LONGEST_NUMBER = 12
_GROUPS = re.compile(r"(?<![\d.,])(\d{1,3})((?:[,\u066c'\u2019 \u00a0\u2009\u202f]\d{3})+)(?![\d])")
_KINDS = (
    ("date", re.compile(r"\d{4}[-./]\d{1,2}[-./]\d{1,2}|\d{1,2}[-./]\d{1,2}[-./]\d{2,4}")),
    ("time", re.compile(r"\d{1,2}:\d{2}(:\d{2})?")),
    ("amount", re.compile(r".*[$\u20ac\u00a3\u00a5\u20bd\u20b9\u20a9\u20ba\u0e3f].*|-?\d[\d.,]*[.,]\d\d\b.*")),
    ("number", re.compile(r"[^\w]*\d.*")),
)


class DifferingFact(NamedTuple):
    """A fact that differs between two texts: its `kind`, such as "date", and its wording in each, empty if missing.

    Both are empty if it can't be read again.
    """

    kind: str
    left: str
    right: str

    def __str__(self) -> str:
        if not (self.left or self.right):
            return self.kind
        return f"{self.kind} {self.left or 'nothing'} / {self.right or 'nothing'}"


class TypedFact(NamedTuple):
    kind: str
    value: str
    written: str


class FactFinder:
    def __init__(self, wording: Wording) -> None:
        self._wording = wording
        self._vocabulary: LanguageWords = vocabulary_of(wording.text)

    def between(self, first: int, last: int) -> list[TypedFact]:
        first, last = self.widened(first, last)
        found: list[TypedFact] = []
        while first < last:
            end = first + 1
            while end < len(self._wording) and end - first < _LONGEST_NUMBER and self._belongs(end):
                end += 1
            if fact := self._fact(first, end):
                found.append(fact)
            elif end > first + 1:
                found += filter(None, (self._fact(place, place + 1) for place in range(first, end)))
            first = end
        return found

    def widened(self, first: int, last: int) -> tuple[int, int]:
        start, end = first, last
        while start and first - start < _LONGEST_NUMBER and self._belongs(start):
            start -= 1
        while end < len(self._wording) and end and end - last < _LONGEST_NUMBER and self._belongs(end):
            end += 1
        return start, end

    def _belongs(self, place: int) -> bool:
        wording = self._wording
        if not place or place >= len(wording) or (gap := wording.before(place)) not in _SPACES:
            return False
        one, other = wording.word(place - 1), wording.word(place)
        if one[-1].isdigit():
            if not gap and (other in _BEHIND or other[0] in _SEPARATORS or other[0].isdigit()):
                return True
            return (
                other in _BEHIND_SPACE or self._is_unit(other) or (len(other) == 3 and other.isdecimal() and bool(gap))
            )
        return other[0].isdigit() and not gap and (one in _IN_FRONT or one in _SEPARATORS)

    def _is_unit(self, word: str) -> bool:
        return word.isalpha() and len(word) <= _LONGEST_UNIT and word.casefold() not in self._vocabulary.grammar

    def _fact(self, first: int, last: int) -> TypedFact | None:
        wording = self._wording
        said = wording.written(first, last)
        for kind, is_one in _FINDERS:
            if (last == first + 1 or kind == "number") and (named := is_one(self, first, said)):
                return TypedFact(named, canonical(said), said)
        return None

    def _number(self, _place: int, said: str) -> str:
        if not any(map(str.isdigit, said)):
            return "number" if said.casefold() in self._vocabulary.numerals else ""
        return next((kind for kind, pattern in _KINDS if pattern.match(said)), "code")

    def _code(self, _place: int, said: str) -> str:
        is_code = "_" in said.strip("_") or (not said.isupper() and any(map(str.isupper, said[1:])))
        return "code" if is_code else ""

    def _negation(self, place: int, said: str) -> str:
        folded = said.casefold()
        short = folded == "t" and self._wording.before(place) in ("'", "\u2019")
        not_in_code = said in "!\u00ac" and place + 1 < len(self._wording) and not self._wording.before(place + 1)
        return "negation" if short or not_in_code or folded in self._vocabulary.negations else ""

    def _name(self, place: int, said: str) -> str:
        if not said[0].isupper() or said == "I" or self._vocabulary.capital_nouns or self._wording.initial(place):
            return ""
        return "name"


_FINDERS: tuple[tuple[str, Callable[[FactFinder, int, str], str]], ...] = (
    ("number", FactFinder._number),
    ("code", FactFinder._code),
    ("negation", FactFinder._negation),
    ("name", FactFinder._name),
)


def canonical(said: str) -> str:
    """The one value of a fact: in folded case, decimal digits of any script as ASCII, without marks of thousands."""
    said = unicodedata.normalize("NFKC", said).casefold()
    if not said.isascii():
        said = "".join(str(unicodedata.decimal(each)) if each.isdecimal() else each for each in said)
    said = _GROUPS.sub(lambda match: match[1] + re.sub(r"\D", "", match[2]), said)
    return " ".join(said.split()) if not any(map(str.isdigit, said)) else "".join(said.split())


def differing(ours: list[TypedFact], theirs: list[TypedFact]) -> Iterator[DifferingFact]:
    left, right = list(beyond(ours, theirs)), list(beyond(theirs, ours))
    for kind in dict.fromkeys(fact.kind for fact in (*left, *right)):
        one, other = ([fact.written for fact in side if fact.kind == kind] for side in (left, right))
        count = max(len(one), len(other))
        for pair in zip(one + [""] * (count - len(one)), other + [""] * (count - len(other)), strict=True):
            yield DifferingFact(kind, *pair)


def beyond(facts: list[TypedFact], others: list[TypedFact]) -> Iterator[TypedFact]:
    count = Counter((fact.kind, fact.value) for fact in others)
    for fact in facts:
        if count[fact.kind, fact.value] > 0:
            count[fact.kind, fact.value] -= 1
        else:
            yield fact
