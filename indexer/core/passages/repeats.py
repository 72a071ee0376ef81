"""Runs of words common to two documents or more, by the hashes of all runs of so many words."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Self

import numpy as np
import numpy.typing as npt

from indexer.core.passages.spilled import Hashes, Positions, SpilledRows, WordFile
from indexer.errors import UsageError
from indexer.model.ragged import ranges

# An odd number has an inverse modulo 2**64, so that the hash of a run is the same wherever it stands.
_BASE = 0x9E3779B97F4A7C15
_INVERSE = pow(_BASE, -1, 1 << 64)
_POWERS_AT_ONCE = 1 << 18


def powers(exponents: Positions) -> Hashes:
    """The powers of one odd number, modulo 2**64, for exponents from 0 on: shape (n,)."""
    low, high = exponents & (_POWERS_AT_ONCE - 1), exponents >> _POWERS_AT_ONCE.bit_length() - 1
    large = _made(pow(_BASE, _POWERS_AT_ONCE, 1 << 64), int(high.max(initial=0)) + 1)
    product: Hashes = _powers_of(_BASE)[low] * large[high]
    return product


class Windows:
    """The hashes of the runs of a text's words, from their hashes, uint64 of shape (n,), at most 2**18 at once.

    Modulo 2**64, different texts of a thousand words or more can be made with equal hashes, so callers compare the
    words too.
    """

    def __init__(self, words: Hashes) -> None:
        factors = _powers_of(_BASE)[: words.size]
        self._sums = np.zeros(words.size + 1, dtype=np.uint64)
        np.cumsum(words * factors, out=self._sums[1:])

    def hashes(self, size: int) -> Hashes:
        """The hash of every run of `size` words: shape (n - size + 1,), or (0,)."""
        count = self._sums.size - size
        if count <= 0:
            return np.empty(0, dtype=np.uint64)
        sums = self._sums[size:] - self._sums[:count]
        return _mixed(sums * _powers_of(_INVERSE)[:count])


def least_in_windows(hashes: Hashes, window: int) -> Hashes:
    """The least of every `window` (1 on) hashes in a row: shape (n,) to (n - window + 1,), or (0,)."""
    if hashes.size < window:
        return np.empty(0, dtype=np.uint64)
    least, width = hashes, 1
    while width < window:
        step = min(width, window - width)
        least = np.minimum(least[:-step], least[step:])
        width += step
    return least


@lru_cache(maxsize=2)
def _powers_of(base: int) -> Hashes:
    return _made(base, _POWERS_AT_ONCE)


def _made(base: int, count: int) -> Hashes:
    factors = np.full(count, base, dtype=np.uint64)
    factors[0] = 1
    return np.cumprod(factors, dtype=np.uint64)


def _mixed(values: Hashes) -> Hashes:
    # The low bits of a sum of products depend on the low bits of the words alone.
    values = values ^ (values >> np.uint64(32))
    values = values * np.uint64(0xD6E8FEB86659FD93)
    return np.asarray(values ^ (values >> np.uint64(29)), dtype=np.uint64)


Mask = npt.NDArray[np.bool_]

LEAST_WORDS = 8
MOST_WORDS = 100_000
_ANCHOR = 5
_WORDS_A_PIECE = 1 << 10
_NONE = np.empty(0, dtype=np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class Repeats:
    """The stretches of documents where every `words` words in a row are in two documents or more.

    Stretch i begins at word `starts[i]` of all words; `sizes[i]` runs of `words` words begin in it, so it has `sizes[i]
    + words - 1` words. Stretches with the same number in `kinds` are equal, and every run of `words` words is in
    stretches of one kind only; `firsts[k]` is the first stretch of kind k. (They are the nodes of a compacted de Bruijn
    graph of the runs: P. A. Pevzner, H. Tang and M. S. Waterman, PNAS 98, 2001.)

    `offsets` has the position of each document's first word, and the end of all; `copy_of` has the first document with
    the same words, and only it has stretches.
    """

    words: int
    offsets: Positions
    copy_of: Positions
    starts: Positions
    sizes: Positions
    kinds: Positions

    @property
    def documents(self) -> Positions:
        return np.asarray(np.searchsorted(self.offsets, self.starts, side="right") - 1, dtype=np.int64)

    @property
    def ends(self) -> Positions:
        return self.starts + self.sizes + (self.words - 1)

    @property
    def copies(self) -> Positions:
        """The number of documents with the same words, at the first of them; 0 at the others."""
        return np.bincount(self.copy_of, minlength=self.copy_of.size).astype(np.int64)


class RepeatFinder:
    """Finds the repeats among documents added one after the other; a context manager.

    `words` (8 to 100,000) is the least length of a passage. Memory: 24 bytes a document, 8 bytes for each anchor in two
    documents, 24 for each stretch, and some 100 MB. The rest lies in a temporary `folder` (the system's if None): 8
    bytes a word and 40 for each word in two documents.
    """

    def __init__(self, words: int, folder: Path | None = None) -> None:
        if not LEAST_WORDS <= words <= MOST_WORDS:
            raise UsageError(
                f"passages can't be of {words:,} or more words: the least is {LEAST_WORDS}, the most {MOST_WORDS:,}"
            )
        self._words = words
        self._folder = TemporaryDirectory(prefix="neardup-passages-", dir=folder)
        self._file = WordFile(Path(self._folder.name))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()
        self._folder.cleanup()

    def add(self, words: Hashes) -> None:
        """Add a document by the hashes of its words in order, uint64 of shape (n,)."""
        self._file.add(words)

    def find(self) -> Repeats:
        offsets, firsts = self._file.offsets, self._file.firsts
        copies = np.bincount(firsts, minlength=firsts.size).astype(np.int64)
        common = self._common(offsets, copies)
        runs = self._runs(offsets, copies, common)
        starts, sizes, kinds = _stretches(self._places(runs, offsets, copies))
        true = equal_words(lambda: self._file.words, starts, kinds, sizes + (self._words - 1))
        if not np.all(true):
            true &= np.isin(kinds, kinds[true & (starts != kinds)])
            starts, sizes, kinds = starts[true], sizes[true], kinds[true]
        numbers = np.unique(kinds, return_inverse=True)[1].reshape(-1).astype(np.int64)
        return Repeats(self._words, offsets, firsts, starts, sizes, numbers)

    def _windows(
        self, start: int, words: Hashes, offsets: Positions, copies: Positions
    ) -> tuple[Windows, Hashes, Mask]:
        windows = Windows(words)
        anchors = least_in_windows(windows.hashes(_ANCHOR), self._words - _ANCHOR + 1)
        lying = np.arange(start, start + anchors.size)
        document = np.searchsorted(offsets, lying, side="right") - 1
        inside = (lying + self._words <= offsets[document + 1]) & (copies[document] > 0)
        return windows, anchors, inside

    def _common(self, offsets: Positions, copies: Positions) -> Hashes:
        spilled = SpilledRows(Path(self._folder.name), "anchors", 2, 1 << 64)
        for start, words in self._file.pieces(self._words - 1):
            _, anchors, inside = self._windows(start, words, offsets, copies)
            changes = inside.copy()
            changes[1:] &= (anchors[1:] != anchors[:-1]) | ~inside[:-1]
            places = np.flatnonzero(changes)
            documents = np.searchsorted(offsets, places + start, side="right") - 1
            spilled.add(anchors[places], documents)
        found = []
        for some in spilled.read():
            rows = some[np.argsort(some[:, 0], kind="stable")]
            same = rows[1:, 0] == rows[:-1, 0]
            # Rows of one anchor are in the order of the documents.
            found.append(np.unique(rows[1:, 0][same & (rows[1:, 1] != rows[:-1, 1])]))
        return np.concatenate(found) if found else np.empty(0, dtype=np.uint64)

    def _runs(self, offsets: Positions, copies: Positions, common: Hashes) -> SpilledRows:
        runs = SpilledRows(Path(self._folder.name), "runs", 2, 1 << 64)
        for start, words in self._file.pieces(self._words - 1):
            windows, anchors, inside = self._windows(start, words, offsets, copies)
            places = np.flatnonzero(inside)
            documents = np.searchsorted(offsets, places + start, side="right") - 1
            asked = anchors[places]
            if common.size:
                near = np.minimum(np.searchsorted(common, asked), common.size - 1)
                places = places[(common[near] == asked) | (copies[documents] > 1)]
            else:
                places = places[copies[documents] > 1]
            runs.add(windows.hashes(self._words)[places], places + start)
        return runs

    def _places(self, runs: SpilledRows, offsets: Positions, copies: Positions) -> SpilledRows:
        places = SpilledRows(Path(self._folder.name), "places", 3, max(2, int(offsets[-1])))
        for some in runs.read():
            rows = some[np.argsort(some[:, 0], kind="stable")]
            if not rows.size:
                continue
            positions = rows[:, 1].view(np.int64)
            documents = np.searchsorted(offsets, positions, side="right") - 1
            heads = np.append(0, np.flatnonzero(rows[1:, 0] != rows[:-1, 0]) + 1)
            sizes = np.diff(np.append(heads, len(rows)))
            others = np.append(False, documents[1:] != documents[:-1])
            others[heads] = False
            several = np.logical_or.reduceat(others | (copies[documents] > 1), heads)
            sums = np.add.reduceat(powers(positions), heads)
            kept = np.repeat(several, sizes)
            first, total = np.repeat(positions[heads], sizes), np.repeat(sums, sizes)
            places.add(np.ascontiguousarray(positions[kept]), first[kept], total[kept])
        return places


def equal_words(words: Callable[[], Hashes], starts: Positions, others: Positions, lengths: Positions) -> Mask:
    """True for each stretch of so many words at `starts` with the same words at `others`; all of shape (n,).

    It calls `words` for the hashes of all words again and again to give back pages of a file already read.
    """
    # A stretch of any length is compared in pieces.
    pieces = np.where(starts == others, 0, -(-lengths // _WORDS_A_PIECE))
    stretch = np.repeat(np.arange(starts.size), pieces)
    begins = (np.arange(stretch.size) - np.repeat(np.cumsum(pieces) - pieces, pieces)) * _WORDS_A_PIECE
    sizes = np.minimum(_WORDS_A_PIECE, lengths[stretch] - begins)
    true = np.ones(starts.size, dtype=np.bool_)
    for first in range(0, stretch.size, _WORDS_A_PIECE):
        some = slice(first, first + _WORDS_A_PIECE)
        heads = np.cumsum(sizes[some]) - sizes[some]
        within = ranges(begins[some], sizes[some])
        here, there = np.repeat(starts[stretch[some]], sizes[some]), np.repeat(others[stretch[some]], sizes[some])
        known = words()
        same = known[here + within] == known[there + within]
        true[stretch[some][~np.logical_and.reduceat(same, heads)]] = False
    return true


def _stretches(places: SpilledRows) -> tuple[Positions, Positions, Positions]:
    starts, kinds, heads, done = [_NONE], [_NONE], [_NONE], 0
    before = np.zeros((0, 3), dtype=np.uint64)
    for some in places.read():
        rows = some[np.argsort(some[:, 0], kind="stable")]
        if not len(rows):
            continue
        known = np.concatenate((before, rows))
        # Two runs, one word apart, are of one stretch if all their places are: then each power is the next.
        goes_on = (known[1:, 0] == known[:-1, 0] + np.uint64(1)) & (known[1:, 2] == known[:-1, 2] * np.uint64(_BASE))
        begins = np.flatnonzero(~(goes_on if len(before) else np.append(False, goes_on)))
        starts.append(rows[begins, 0].view(np.int64))
        kinds.append(rows[begins, 1].view(np.int64))
        heads.append(begins + done)
        done += len(rows)
        before = rows[-1:]
    return np.concatenate(starts), np.diff(np.append(np.concatenate(heads), done)), np.concatenate(kinds)
