"""The typed facts of a text: numbers, dates, codes, names, negations."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise, takewhile, zip_longest
from typing import NamedTuple

from indexer.relations.alignment import Block
from indexer.relations.wording import Wording

_GAPS = " \u00a0\u2009\u202f"
_SEPARATORS = ".,:/-'\u2019\u066c\u066b"
_IN_FRONT = _SEPARATORS + "+\u00b1<>=\u2264\u2265~($\u20ac\u00a3\u00a5#&\u221a"
_BEHIND_GAP = "%\u2030\u2031\u00b0\u20ac$\u00a3\u00a5\u20bd"
_BEHIND = _SEPARATORS + _BEHIND_GAP + '"+)'
# Symbols of units, as kg, have so many letters at most; a longer one is a word.
_LONGEST_UNIT = 3
# A number of more words and signs is a table: a time of RFC 3339 has 15, with a fraction and a zone.
_LONGEST_NUMBER = 16
_GROUPS = re.compile(r"(?<![\d.,])(\d{1,3})((?:[,\u066c'\u2019 \u00a0\u2009\u202f]\d{3})+)(?![\d])")
_BEFORE_UNIT = re.compile(rf"(?<=\d) (?=[^\W\d_]{{1,{_LONGEST_UNIT}}}(?!\w))")
_LINE_HYPHEN = re.compile("[-\u2010\u00ad][ \t]*\n\\s*|\u00ad")
_RAISED = re.compile("[\u00b2\u00b3\u00b9\u2070\u2074-\u2079]")
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


class _TypedFact(NamedTuple):
    kind: str
    value: str
    written: str


def differing_facts(
    left: Wording, right: Wording, blocks: Iterable[Block], moved: Iterable[Block] = ()
) -> Iterator[DifferingFact]:
    """The facts that blocks replace, then those that stand on one side only, and not in what may have `moved`."""
    sides: tuple[list[_TypedFact], list[_TypedFact]] = ([], [])
    for block in blocks:
        ours, theirs = _both(left, right, block)
        if ours and theirs:
            yield from _paired(ours, theirs)
        else:
            # A name that only stands there more may as well begin the sentence.
            sides[0].extend(fact for fact in ours if fact.kind != "name")
            sides[1].extend(fact for fact in theirs if fact.kind != "name")
    if any(sides):
        there = [_both(left, right, block) for block in moved]
        gone, new = ([fact for both in there for fact in both[side]] for side in range(2))
        yield from _paired(_beyond(sides[0], new), _beyond(sides[1], gone))


def _both(left: Wording, right: Wording, block: Block) -> tuple[list[_TypedFact], list[_TypedFact]]:
    """The facts of a block, whole on both sides."""
    one, other = widened(left, block.start, block.end), widened(right, block.other_start, block.other_end)
    before = max(block.start - one[0], block.other_start - other[0])
    behind = max(one[1] - block.end, other[1] - block.other_end)
    return (
        _facts(left, max(0, block.start - before), min(len(left), block.end + behind)),
        _facts(right, max(0, block.other_start - before), min(len(right), block.other_end + behind)),
    )


def _paired(ours: Sequence[_TypedFact], theirs: Sequence[_TypedFact]) -> Iterator[DifferingFact]:
    sides = _beyond(ours, theirs), _beyond(theirs, ours)
    for kind in dict.fromkeys(fact.kind for side in sides for fact in side):
        written = ([fact.written for fact in side if fact.kind == kind] for side in sides)
        yield from (DifferingFact(kind, *both) for both in zip_longest(*written, fillvalue=""))


def _beyond(facts: Sequence[_TypedFact], others: Sequence[_TypedFact]) -> list[_TypedFact]:
    rest, found = Counter(fact.value for fact in others), list[_TypedFact]()
    for fact in facts:
        rest[fact.value] -= 1
        if rest[fact.value] < 0:
            found.append(fact)
    return found


def widened(wording: Wording, first: int, last: int) -> tuple[int, int]:
    """A stretch with the rest of the facts at its ends."""
    before = takewhile(lambda place: _goes_on(wording, place), range(first, first - _LONGEST_NUMBER, -1))
    behind = takewhile(lambda place: _goes_on(wording, place), range(last, last + _LONGEST_NUMBER))
    return first - len([*before]), last + len([*behind])


def _goes_on(wording: Wording, place: int) -> bool:
    if not 0 < place < len(wording):
        return False
    one, other = wording.word(place - 1), wording.word(place)
    if not (one[-1].isdigit() or other[0].isdigit()) or (gap := wording.before(place)) not in _GAPS:
        return False
    if not one[-1].isdigit():
        return not gap and one in _IN_FRONT
    if other.isalpha():
        return len(other) <= _LONGEST_UNIT and other.casefold() not in wording.vocabulary.grammar
    if gap:
        return other in _BEHIND_GAP or (len(other) == 3 and other.isdecimal())
    return other in _BEHIND or other[0].isdigit()


def _facts(wording: Wording, first: int, last: int) -> list[_TypedFact]:
    starts = [place for place in range(first, last) if place == first or not _goes_on(wording, place)]
    spans = ((start, wording.written(start, end)) for start, end in pairwise([*starts, last]))
    return [_TypedFact(kind, canonical(said), said) for start, said in spans if (kind := _kind(wording, start, said))]


def _kind(wording: Wording, place: int, said: str) -> str:
    known, folded = wording.vocabulary, said.casefold()
    if any(map(str.isdigit, said)):
        return next((kind for kind, pattern in _KINDS if pattern.match(said)), "code")
    if folded in known.numerals:
        return "number"
    if "_" in said.strip("_") or (not said.isupper() and said[1:] != said[1:].lower()):
        return "code"
    is_sign = said in "!\u00ac" and place + 1 < len(wording) and not wording.before(place + 1)
    if folded in known.negations or is_sign or (folded == "t" and wording.before(place) in ("'", "\u2019")):
        return "negation"
    return "name" if said != "I" and wording.is_name(place) else ""


def canonical(said: str) -> str:
    """The same for layout and for values of a fact: case, white space, hyphens at line ends, digits of any script, and
    marks of thousands don't count."""
    if not said.isascii() or "-" in said:
        said = unicodedata.normalize("NFKC", _RAISED.sub(r"^\g<0>", _LINE_HYPHEN.sub("", said)))
    said = " ".join(said.casefold().split())
    if any(map(str.isdigit, said)):
        said = "".join(str(unicodedata.decimal(each)) if each.isdecimal() else each for each in said)
        said = _GROUPS.sub(lambda match: match[1] + re.sub(r"\D", "", match[2]), _BEFORE_UNIT.sub("", said))
    return said
