"""The typed facts of a text: numbers, dates, codes, names, negations."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from indexer.relations.wording import Wording

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
        self._vocabulary = wording.vocabulary

    def between(self, first: int, last: int) -> list[TypedFact]:
        """The facts of a stretch that cuts none, see `widened`."""
        found: list[TypedFact] = []
        while first < last:
            end = first + 1
            while end < len(self._wording) and end - first < _LONGEST_NUMBER and self._belongs(end):
                end += 1
            said = self._wording.written(first, end)
            if kind := self._kind(first, end, said):
                found.append(TypedFact(kind, canonical(said), said))
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
        if not 0 < place < len(wording):
            return False
        one, other = wording.word(place - 1), wording.word(place)
        behind_digit = one[-1].isdigit()
        if not (behind_digit or other[0].isdigit()) or (gap := wording.before(place)) not in _SPACES:
            return False
        if behind_digit:
            if not gap and (other in _BEHIND or other[0] in _SEPARATORS or other[0].isdigit()):
                return True
            return (
                other in _BEHIND_SPACE or self._is_unit(other) or (len(other) == 3 and other.isdecimal() and bool(gap))
            )
        return other[0].isdigit() and not gap and (one in _IN_FRONT or one in _SEPARATORS)

    def _is_unit(self, word: str) -> bool:
        return word.isalpha() and len(word) <= _LONGEST_UNIT and word.casefold() not in self._vocabulary.grammar

    def _kind(self, first: int, last: int, said: str) -> str:
        if last > first + 1 or not (said.isalpha() or not any(map(str.isdigit, said))):
            return next((kind for kind, pattern in _KINDS if pattern.match(said)), "code")
        if (folded := said.casefold()) in self._vocabulary.numerals:
            return "number"
        if "_" in said.strip("_") or (not said.isupper() and said[1:] != said[1:].lower()):
            return "code"
        if folded in self._vocabulary.negations or self._negates(first, said):
            return "negation"
        is_name = said[0].isupper() and said != "I" and not self._vocabulary.capital_nouns
        return "name" if is_name and not self._wording.initial(first) else ""

    def _negates(self, place: int, said: str) -> bool:
        if said in ("t", "T"):
            return self._wording.before(place) in ("'", "\u2019")
        return said in "!\u00ac" and place + 1 < len(self._wording) and not self._wording.before(place + 1)


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
