"""The passages common to two texts, with some letters and a few words different.

The C core chains runs of equal words. The gaps of a chain, and its ends, are compared letter by letter, so a misread
letter costs a letter instead of five shingles.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from operator import itemgetter
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from indexer.core.text import common_runs
from indexer.text.words import Words, words_of

FeatureKind = Literal["words", "letters"]

LEAST_WORDS = 15
"""A passage has so many words at least, or all of the shorter text."""

# A word in a gap counts as the same where three in five of its letters do, and of the whole gap half.
_SAME_WORD, _SAME_GAP = 0.6, 0.5
# More words than these that differ part two passages.
_FEW = 10
# So far words are compared one by one beyond the ends of a chain.
_BEYOND = 32

_Row = tuple[int, int, int]
Mask = npt.NDArray[np.bool_]


class Span(NamedTuple):
    """A part of a text: the characters `start` to `end - 1`, the words `word` to `word + words - 1`."""

    start: int
    end: int
    word: int
    words: int


@dataclass(frozen=True, slots=True)
class CommonPassage:
    """A passage of two texts, and its similarity in both: 1 less the share of differing letters (Levenshtein)."""

    left: Span
    right: Span
    similarity: float

    @property
    def words(self) -> int:
        return min(self.left.words, self.right.words)


@dataclass(frozen=True, slots=True)
class CommonPassages:
    """The passages of two texts, in the order of the left one.

    `shares` are the share of the left text's words found in the right one, and the other way round (0 to 1); `words`
    counts the words of each text.
    """

    passages: tuple[CommonPassage, ...]
    shares: tuple[float, float]
    words: tuple[int, int]

    @property
    def share_of_shorter(self) -> float:
        if self.words[0] == self.words[1]:
            return max(self.shares)
        return self.shares[0] if self.words[0] < self.words[1] else self.shares[1]

    @property
    def longest(self) -> int:
        return max((passage.words for passage in self.passages), default=0)


class Alignable:
    def __init__(self, text: str, features: FeatureKind = "words") -> None:
        self.text, self.features = text, features
        self.words = words_of(text, identifiers=False)
        self.items = self.words if features == "words" else _letters(text, self.words)

    @cached_property
    def letters_before(self) -> npt.NDArray[np.int64]:
        """The number of characters of all items before each, and of all: shape (n + 1,)."""
        sizes = self.items.ends.astype(np.int64) - self.items.starts
        return np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(sizes)))

    def folded(self, first: int, last: int) -> list[str]:
        starts, ends = self.items.starts[first:last].tolist(), self.items.ends[first:last].tolist()
        return [self.text[start:end].casefold() for start, end in zip(starts, ends, strict=True)]

    def place(self, first: int, last: int) -> Span:
        start, end = self.items.starts[first], self.items.ends[last - 1]
        if self.items is not self.words:
            first = int(np.searchsorted(self.words.ends, start, side="right"))
            last = int(np.searchsorted(self.words.starts, end))
        return Span(int(start), int(end), first, last - first)


def common_passages(left: Alignable, right: Alignable, *, least: int = LEAST_WORDS) -> CommonPassages:
    """The passages of `least` words or more that two texts of the same features have in common.

    Memory grows with the sum of the texts; so does time, apart from sorting. Raises UsageError for texts of 2**31 words
    or more, MemoryError.
    """
    per_word, size, gap = (1, 5, 32) if left.features == "words" else (4, 12, 128)
    fewest = min(len(left.items), len(right.items))
    words = len(left.words), len(right.words)
    if not fewest:
        return CommonPassages((), (0.0, 0.0), words)
    wanted = min(least, *words)
    runs = common_runs(
        left.items.hashes, right.items.hashes, size=min(size, fewest), gap=gap, least=min(wanted * per_word, fewest)
    )
    aligning = _Aligning(left, right, _FEW * per_word, wanted)
    for _, chain in groupby(runs.tolist(), itemgetter(3)):
        aligning.add([(left, right, size) for left, right, size, _ in chain])
    passages = [passage for _, passage in sorted(aligning.passages.items(), key=lambda item: item[0])]
    return CommonPassages(tuple(_outermost(passages)), aligning.shares(), words)


def _outermost(passages: Sequence[CommonPassage]) -> list[CommonPassage]:
    inner_left, inner_right = _inner([each.left for each in passages]), _inner([each.right for each in passages])
    return [each for each in passages if each.left not in inner_left or each.right not in inner_right]


def _inner(spans: Sequence[Span]) -> set[Span]:
    inner, reached = set(), -1
    for span in sorted(set(spans), key=lambda span: (span.start, -span.end)):
        if span.end <= reached:
            inner.add(span)
        reached = max(reached, span.end)
    return inner


class _Aligning:
    def __init__(self, left: Alignable, right: Alignable, few: int, least: int) -> None:
        self._left, self._right, self._few, self._least = left, right, few, least
        self._same_left, self._same_right = (np.zeros(len(each.items), dtype=np.bool_) for each in (left, right))
        # Where passages begin and end: 1 and -1.
        self._edges = [np.zeros(len(each.items) + 1, dtype=np.int32) for each in (left, right)]
        self.passages: dict[tuple[Span, Span], CommonPassage] = {}

    def add(self, chain: Sequence[_Row]) -> None:
        first = edits = 0
        for number, (at_left, at_right, size) in enumerate(chain):
            if number:
                before = chain[number - 1]
                end = before[0] + before[2], before[1] + before[2]
                differing = self._between(end, (at_left, at_right))
                if differing is None:
                    self._close(chain[first:number], edits)
                    first, edits = number, 0
                else:
                    edits += differing
            self._same_left[at_left : at_left + size] = self._same_right[at_right : at_right + size] = True
        self._close(chain[first:], edits)

    def shares(self) -> tuple[float, float]:
        ours, theirs = (
            float(np.mean(same & (np.cumsum(edges)[:-1] > 0)))
            for same, edges in zip((self._same_left, self._same_right), self._edges, strict=True)
        )
        return ours, theirs

    def _between(self, end: tuple[int, int], start: tuple[int, int]) -> int | None:
        ours, theirs = self._left.folded(end[0], start[0]), self._right.folded(end[1], start[1])
        edits, same_ours, same_theirs = _edits(ours, theirs)
        if edits <= (1 - _SAME_GAP) * max(sum(map(len, ours)), sum(map(len, theirs))):
            self._same_left[end[0] : start[0]] |= same_ours
            self._same_right[end[1] : start[1]] |= same_theirs
        elif max(len(ours), len(theirs)) > self._few:
            return None
        return edits

    def _close(self, chain: Sequence[_Row], edits: int) -> None:
        front, back = (chain[0][0], chain[0][1]), (chain[-1][0] + chain[-1][2], chain[-1][1] + chain[-1][2])
        start, before = self._beyond(front, -1)
        end, behind = self._beyond(back, 1)
        letters = max(
            int(side.letters_before[last] - side.letters_before[first])
            for side, first, last in zip((self._left, self._right), start, end, strict=True)
        )
        similarity = 1 - (edits + before + behind) / letters
        if similarity < _SAME_WORD and len(chain) > 1:
            for run in chain:
                self._close([run], 0)
            return
        if similarity < _SAME_WORD:
            start, end, similarity = front, back, 1.0
        left, right = self._left.place(start[0], end[0]), self._right.place(start[1], end[1])
        if min(left.words, right.words) >= self._least:
            self.passages[left, right] = CommonPassage(left, right, similarity)
            for edges, first, last in zip(self._edges, start, end, strict=True):
                edges[first] += 1
                edges[last] -= 1

    def _beyond(self, end: tuple[int, int], step: int) -> tuple[tuple[int, int], int]:
        from rapidfuzz.distance import Levenshtein

        reached, edits, differing, letters, missed = end, 0, 0, 0, 0
        for number in range(_BEYOND if self._left.features == "words" else 0):
            at = [place + step * number - (step < 0) for place in end]
            if missed > 1 or min(at) < 0 or at[0] >= len(self._left.items) or at[1] >= len(self._right.items):
                break
            [ours], [theirs] = self._left.folded(at[0], at[0] + 1), self._right.folded(at[1], at[1] + 1)
            distance, longer = Levenshtein.distance(ours, theirs), max(len(ours), len(theirs))
            differing, letters = differing + distance, letters + longer
            if distance > (1 - _SAME_WORD) * longer:
                missed += 1
            elif differing <= (1 - _SAME_WORD) * letters:
                self._same_left[at[0]] = self._same_right[at[1]] = True
                reached = end[0] + step * (number + 1), end[1] + step * (number + 1)
                edits, missed = differing, 0
        return reached, edits


def _edits(ours: Sequence[str], theirs: Sequence[str]) -> tuple[int, Mask, Mask]:
    """The differing letters of two rows of words (Levenshtein, 1966), and the equal words."""
    from rapidfuzz.distance import Levenshtein

    steps = Levenshtein.editops("".join(ours), "".join(theirs))
    changed_ours = [step.src_pos for step in steps if step.tag != "insert"]
    changed_theirs = [step.dest_pos for step in steps if step.tag != "delete"]
    return len(steps), _same(ours, changed_ours), _same(theirs, changed_theirs)


def _same(words: Sequence[str], changed: Sequence[int]) -> Mask:
    sizes = np.fromiter(map(len, words), dtype=np.int64, count=len(words))
    owners = np.searchsorted(np.cumsum(sizes), changed, side="right")
    return np.asarray(np.bincount(owners, minlength=len(words)) <= (1 - _SAME_WORD) * sizes)


def _letters(text: str, words: Words) -> Words:
    inside = np.zeros(len(text) + 1, dtype=np.int64)
    np.add.at(inside, words.starts, 1)
    np.add.at(inside, words.ends, -1)
    places = np.flatnonzero(np.cumsum(inside)[:-1] > 0).astype(np.uint32)
    folded = text.casefold()
    if len(folded) != len(text):
        folded = "".join([each.casefold()[0] for each in text])
    codes = np.frombuffer(folded.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    return Words(codes[places].astype(np.uint64), places, places + np.uint32(1))
