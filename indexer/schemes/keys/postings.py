"""All pairs of sketches that share keys: candidates by an inverted index, block by block, each pair once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

from indexer.model.ragged import Ragged
from indexer.schemes.keys.layout import KeyLayout

Positions = npt.NDArray[np.int64]
Blocks = Iterator[tuple[Positions, Positions]]
# The packed keys that a sketch, named by its position, asks for.
Probes = Callable[[int], Sequence[int]]

_BLOCK = 1 << 17


@dataclass(frozen=True, slots=True)
class KeyPostings:
    """Packed keys of sketches, with the position (`owners`) that holds each: sorted by key, then by position."""

    keys: Positions
    owners: Positions

    @classmethod
    def of(cls, keys: Ragged) -> Self:
        """The postings of all keys, each key of a sketch once."""
        return cls._sorted(keys.values, np.repeat(np.arange(len(keys)), keys.sizes))

    @classmethod
    def shared(cls, keys: Ragged, layout: KeyLayout, most: int = 0) -> Self:
        """The postings of keys that two or more sketches hold, and no more than `most` (0: however many).

        Memory: 24 bytes a sketch, and that of the postings.
        """
        parts: list[Self] = []
        for table in range(layout.tables):
            first = layout.pack(table, 0)
            places = np.flatnonzero((keys.values >= first) & (keys.values < layout.pack(table + 1, 0)))
            values = np.sort(keys.values[places])
            repeated = np.unique(values[1:][values[1:] == values[:-1]])
            places = places[_among(keys.values[places], repeated)]
            owners = np.searchsorted(keys.offsets, places, side="right") - 1
            part = cls._sorted(keys.values[places], owners)
            _, runs, holders = np.unique(part.keys, return_inverse=True, return_counts=True)
            # A sketch may have one key twice.
            several = (holders[runs] > 1) & ((holders[runs] <= most) | (not most))
            parts.append(cls(part.keys[several], part.owners[several]))
        return cls(np.concatenate([part.keys for part in parts]), np.concatenate([part.owners for part in parts]))

    @classmethod
    def _sorted(cls, keys: Positions, owners: Positions) -> Self:
        order = np.lexsort((owners, keys))
        keys, owners = keys[order], owners[order]
        fresh = np.ones(keys.size, dtype=np.bool_)
        fresh[1:] = (keys[1:] != keys[:-1]) | (owners[1:] != owners[:-1])
        return cls(keys[fresh], owners[fresh])

    def buckets(self) -> Positions:
        """Offsets: the owners of one key are `owners[offsets[i]:offsets[i + 1]]`."""
        changes = np.flatnonzero(self.keys[1:] != self.keys[:-1]) + 1
        return np.concatenate(([0], changes, [self.keys.size])) if self.keys.size else np.zeros(1, dtype=np.int64)


def _among(values: Positions, few: Positions) -> npt.NDArray[np.bool_]:
    """True for each value that is among some others, which are sorted."""
    if not few.size:
        return np.zeros(values.size, dtype=np.bool_)
    places = np.searchsorted(few, values)
    return np.asarray(few[np.minimum(places, few.size - 1)] == values, dtype=np.bool_)


def sharing(keys: Ragged, layout: KeyLayout, agreeing: int, most: int = 0) -> Blocks:
    """Blocks of pairs of rows that share keys in at least `agreeing` tables, each pair once, left < right.

    A key that many hold costs time, not memory: no pair is left out but those of keys that more than `most` hold, if
    that is not 0.
    """
    postings = KeyPostings.shared(keys, layout, most)
    offsets = postings.buckets()
    runs = np.repeat(np.arange(offsets.size - 1), np.diff(offsets))
    owners, tables = postings.owners, postings.keys >> layout.bits
    common = _SharedKeys(runs, owners, tables, len(keys))
    starts = np.arange(runs.size)
    lag = 1
    # Neighbours at a distance of 1, of 2, ... within the run of one key: every two holders meet.
    while starts.size:
        starts = starts[starts + lag < runs.size]
        starts = starts[runs[starts] == runs[starts + lag]]
        for begin in range(0, starts.size, _BLOCK):
            block = starts[begin : begin + _BLOCK]
            left, right = owners[block], owners[block + lag]
            kept = common.first_of(left, right, runs[block], agreeing)
            if kept.any():
                yield left[kept], right[kept]
        lag += 1


class _SharedKeys:
    """The keys that two sketches have in common, by the runs of the keys that several hold."""

    def __init__(self, runs: Positions, owners: Positions, tables: Positions, count: int) -> None:
        order = np.argsort(owners, kind="stable")
        self._runs, self._count = runs[order], int(runs.max(initial=-1)) + 1
        self._starts = np.searchsorted(owners[order], np.arange(count + 1))
        self._table_of = np.zeros(self._count, dtype=np.int64)
        self._table_of[runs] = tables

    def first_of(self, left: Positions, right: Positions, runs: Positions, agreeing: int) -> npt.NDArray[np.bool_]:
        """True for each pair whose first common key is that of the given run, and which shares enough tables."""
        both = np.concatenate((self._listed(left), self._listed(right)))
        both.sort()
        same = both[1:][both[1:] == both[:-1]]
        pairs, common = same // self._count, same % self._count
        firsts = np.ones(pairs.size, dtype=np.bool_)
        firsts[1:] = pairs[1:] != pairs[:-1]
        kept = common[firsts] == runs
        if agreeing > 1:
            places = self._table_of[common]
            changed = firsts.copy()
            changed[1:] |= places[1:] != places[:-1]
            kept &= np.bincount(pairs[changed], minlength=left.size) >= agreeing
        return np.asarray(kept, dtype=np.bool_)

    def _listed(self, sketches: Positions) -> Positions:
        """pair * number of runs + run, for each run of each pair's sketch."""
        starts, ends = self._starts[sketches], self._starts[sketches + 1]
        lengths = ends - starts
        offsets = np.repeat(starts - np.concatenate(([0], np.cumsum(lengths)[:-1])), lengths)
        listed = self._runs[np.arange(int(lengths.sum())) + offsets]
        return np.asarray(np.repeat(np.arange(sketches.size), lengths) * self._count + listed, dtype=np.int64)


def probing(probes: Probes, keys: Ragged, layout: KeyLayout, agreeing: int) -> Blocks:
    """Blocks of pairs, left < right, where the left one's probes hit the right one's keys in `agreeing` tables."""
    postings = KeyPostings.of(keys)
    lefts: list[Positions] = []
    rights: list[Positions] = []
    held = 0
    for number in range(len(keys)):
        asked = np.unique(np.array(probes(number), dtype=np.int64))
        starts, ends = np.searchsorted(postings.keys, asked), np.searchsorted(postings.keys, asked, side="right")
        hits = np.flatnonzero(ends > starts)
        hit_parts = [
            np.stack((postings.owners[start:end], np.full(end - start, asked[hit] >> layout.bits)))
            for hit, start, end in zip(hits.tolist(), starts[hits].tolist(), ends[hits].tolist(), strict=True)
        ]
        pairs = np.unique(np.concatenate(hit_parts, axis=1), axis=1) if hit_parts else np.empty((2, 0), dtype=np.int64)
        others, tables = np.unique(pairs[0], return_counts=True)
        others = others[(tables >= agreeing) & (others > number)]
        lefts.append(np.full(others.size, number))
        rights.append(others)
        held += others.size
        if held >= _BLOCK:
            yield np.concatenate(lefts), np.concatenate(rights)
            lefts, rights, held = [], [], 0
    if held:
        yield np.concatenate(lefts), np.concatenate(rights)


def between(probes: Probes, count: int, keys: Ragged, layout: KeyLayout, agreeing: int) -> Blocks:
    """Blocks of (position < `count`, row of `keys`), each once: its probes hit the row's keys in `agreeing` tables."""
    postings = KeyPostings.of(keys)
    for number in range(count):
        wanted = np.unique(np.array(probes(number), dtype=np.int64))
        starts, ends = np.searchsorted(postings.keys, wanted), np.searchsorted(postings.keys, wanted, side="right")
        hits = np.flatnonzero(ends > starts)
        if not hits.size:
            continue
        sizes = ends[hits] - starts[hits]
        within = np.arange(int(sizes.sum())) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        owners = postings.owners[within + np.repeat(starts[hits], sizes)]
        tables = np.repeat(wanted[hits] >> layout.bits, sizes)
        met = np.unique(np.stack((owners, tables)), axis=1)
        others, counts = np.unique(met[0], return_counts=True)
        others = others[counts >= agreeing]
        if others.size:
            yield np.full(others.size, number), others
