"""All pairs of sketches with common keys, by an inverted index."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

from indexer.core.sketches import RunMeetings, among
from indexer.model.chunking import chunks_by_size
from indexer.model.ragged import Ragged, ranges
from indexer.schemes.keys.layout import KeyLayout

Positions = npt.NDArray[np.int64]
Blocks = Iterator[tuple[Positions, Positions]]
# The packed keys that a sketch, named by its position, asks for.
Probes = Callable[[int], Sequence[int]]

_BLOCK = 1 << 17


@dataclass(frozen=True, slots=True)
class KeyPostings:
    """Packed keys of sketches, with the position (`owners`) of each holder: sorted by key, then by position."""

    keys: Positions
    owners: Positions

    @classmethod
    def of(cls, keys: Ragged) -> Self:
        return cls.of_pairs(keys.values, np.repeat(np.arange(len(keys)), keys.sizes))

    @classmethod
    def shared(cls, keys: Ragged, layout: KeyLayout, most: int = 0) -> Self:
        """The postings of keys held by two to `most` sketches (0: any number).

        Memory: 24 bytes a sketch, and the postings.
        """
        parts: list[Self] = []
        for table in range(layout.tables):
            first = layout.pack(table, 0)
            places = np.flatnonzero((keys.values >= first) & (keys.values < layout.pack(table + 1, 0)))
            values = np.sort(keys.values[places])
            repeated = np.unique(values[1:][values[1:] == values[:-1]])
            places = places[among(keys.values[places], repeated)]
            owners = np.searchsorted(keys.offsets, places, side="right") - 1
            part = cls.of_pairs(keys.values[places], owners)
            _, runs, holders = np.unique(part.keys, return_inverse=True, return_counts=True)
            # A sketch may have one key twice.
            several = (holders[runs] > 1) & ((holders[runs] <= most) | (not most))
            parts.append(cls(part.keys[several], part.owners[several]))
        return cls(np.concatenate([part.keys for part in parts]), np.concatenate([part.owners for part in parts]))

    @classmethod
    def of_pairs(cls, keys: Positions, owners: Positions) -> Self:
        order = np.lexsort((owners, keys))
        keys, owners = keys[order], owners[order]
        fresh = np.ones(keys.size, dtype=np.bool_)
        fresh[1:] = (keys[1:] != keys[:-1]) | (owners[1:] != owners[:-1])
        return cls(keys[fresh], owners[fresh])

    def buckets(self) -> Positions:
        changes = np.flatnonzero(self.keys[1:] != self.keys[:-1]) + 1
        return np.concatenate(([0], changes, [self.keys.size])) if self.keys.size else np.zeros(1, dtype=np.int64)


def sharing(keys: Ragged, layout: KeyLayout, agreeing: int, most: int = 0) -> Blocks:
    postings = KeyPostings.shared(keys, layout, most)
    return _met(postings, np.zeros(postings.owners.size, dtype=np.int64), len(keys), layout, agreeing)


def crossing(keys: Ragged, layout: KeyLayout, most: int) -> Blocks:
    """Blocks of pairs of rows with a common key of table 0, or with a key in table 0 of one and table 1 of the other.

    Each pair comes once, left < right; a common key of table 1 does not count. A key is left out if it gives more pairs
    than `most` rows sharing it. Rows are sorted.
    """
    sizes = keys.sizes
    ends = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(keys.values < layout.pack(1, 0))))
    offsets = np.empty(2 * sizes.size + 1, dtype=np.int64)
    offsets[::2] = keys.offsets
    offsets[1::2] = keys.offsets[:-1] + np.diff(ends[keys.offsets])
    one = KeyLayout(1, layout.bits)
    postings = KeyPostings.shared(Ragged(keys.values & (one.end - 1), offsets), one)
    # What has a key on both sides meets all that the other side meets.
    owners, sides = postings.owners >> 1, postings.owners & 1
    again = np.zeros(owners.size, dtype=np.bool_)
    again[1:] = (owners[1:] == owners[:-1]) & (postings.keys[1:] == postings.keys[:-1])
    # Those of table 0 come first, and meet all that come later.
    order = np.flatnonzero(~again)
    order = order[np.lexsort((owners[order], sides[order], postings.keys[order]))]
    postings, sides = KeyPostings(postings.keys[order], owners[order]), sides[order]
    starts = postings.buckets()
    counts = np.diff(starts)
    first = np.add.reduceat(1 - sides, starts[:-1]) if counts.size else counts
    few = first * (first - 1) // 2 + first * (counts - first) <= most * (most - 1) // 2
    kept = np.repeat(few & (first > 0), counts)
    return _met(KeyPostings(postings.keys[kept], postings.owners[kept]), sides[kept], len(keys), one, 1)


def _met(postings: KeyPostings, sides: Positions, count: int, layout: KeyLayout, agreeing: int) -> Blocks:
    owners, starts = postings.owners, postings.buckets()
    holders = np.diff(starts)
    runs = np.repeat(np.arange(holders.size), holders)
    order = np.lexsort((runs, owners))
    meetings = RunMeetings(
        2 * runs[order] + sides[order], np.searchsorted(owners[order], np.arange(count + 1)),
        postings.keys[starts[:-1]] >> layout.bits,
    )  # fmt: skip
    # Each one meets all that come behind it.
    behind = np.where(sides == 0, starts[runs + 1] - np.arange(runs.size) - 1, 0)
    ends = np.cumsum(behind)
    for begin in range(0, int(behind.sum()), _BLOCK):
        stop = min(begin + _BLOCK, int(ends[-1]))
        low, high = np.searchsorted(ends, begin, side="right"), np.searchsorted(ends, stop) + 1
        counts = np.minimum(ends[low:high], stop) - np.maximum(ends[low:high] - behind[low:high], begin)
        first = np.repeat(np.arange(low, high), counts)
        one = owners[first]
        other = owners[first + 1 + np.arange(begin, stop) - (ends[first] - behind[first])]
        kept = meetings.firsts(one, other, agreeing) == runs[first]
        if kept.any():
            yield np.minimum(one[kept], other[kept]), np.maximum(one[kept], other[kept])


def probing(probes: Probes, keys: Ragged, layout: KeyLayout, agreeing: int) -> Blocks:
    for one, other in between(probes, len(keys), keys, layout, agreeing):
        later = other > one
        yield one[later], other[later]


def between(probes: Probes, count: int, keys: Ragged, layout: KeyLayout, agreeing: int) -> Blocks:
    postings = KeyPostings.of(keys)

    def met() -> Blocks:
        for number in range(count):
            wanted = np.unique(np.array(probes(number), dtype=np.int64))
            starts = np.searchsorted(postings.keys, wanted)
            sizes = np.searchsorted(postings.keys, wanted, side="right") - starts
            if not sizes.any():
                continue
            pairs = np.stack((postings.owners[ranges(starts, sizes)], np.repeat(wanted >> layout.bits, sizes)))
            others, tables = np.unique(np.unique(pairs, axis=1)[0], return_counts=True)
            others = others[tables >= agreeing]
            if others.size:
                yield np.full(others.size, number), others

    for some in chunks_by_size(met(), _BLOCK, lambda pair: pair[1].size, _BLOCK):
        one, other = (np.concatenate(side) for side in zip(*some, strict=True))
        yield one, other
