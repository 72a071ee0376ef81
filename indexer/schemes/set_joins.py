"""All pairs of sets with enough in common."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from indexer.core.sketches import intersection_sizes, sorted_distinct
from indexer.model.ragged import Ragged, ranges
from indexer.schemes.base import SLACK, Positions
from indexer.schemes.keys.postings import KeyPostings

# Pairs that are made at once, before those of one owner are taken whole.
_MET_AT_ONCE = 1 << 20


def containing(keys: Ragged, share: float) -> Iterator[tuple[Positions, Positions]]:
    """Blocks of pairs of rows, left < right, each once, with `share` (0 to 1) of the smaller one in the other.

    A set holding a share of n keys can't miss all of any n - ceil(share n) + 1 of them, so it has one of the rarest
    ones (prefix filter: Chaudhuri, Ganti and Kaushik, ICDE 2006). Other sets with one of these keys come too. A common
    key costs nothing beside rarer ones. Memory: 40 bytes a key, and a block of pairs.
    """
    postings = KeyPostings.of(keys)
    starts = postings.buckets()
    holders = np.diff(starts)
    runs = np.repeat(np.arange(holders.size), holders)
    order = np.lexsort((holders[runs], postings.owners))
    owners, runs = postings.owners[order], runs[order]
    sizes = np.bincount(owners, minlength=len(keys))
    place = np.arange(owners.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    prefix = np.maximum(sizes - np.ceil(share * sizes - SLACK).astype(np.int64) + 1, 1)
    asked = (place < prefix[owners]) & (holders[runs] > 1)
    owners, runs = owners[asked], runs[asked]
    # Whole owners at a time, so that a pair that shares several keys comes once.
    found = np.cumsum(holders[runs])
    begin = 0
    while begin < owners.size:
        end = int(np.searchsorted(found, (found[begin - 1] if begin else 0) + _MET_AT_ONCE, side="right"))
        end = int(np.searchsorted(owners, owners[max(end - 1, begin)], side="right"))
        yield from _met(owners[begin:end], runs[begin:end], postings, starts, sizes)
        begin = end


def _met(
    owners: Positions, runs: Positions, postings: KeyPostings, starts: Positions, sizes: Positions
) -> Iterator[tuple[Positions, Positions]]:
    counts = starts[runs + 1] - starts[runs]
    others = postings.owners[ranges(starts[runs], counts)]
    smaller = np.repeat(owners, counts)
    larger = (sizes[others] > sizes[smaller]) | ((sizes[others] == sizes[smaller]) & (others > smaller))
    pairs = sorted_distinct(smaller[larger] * sizes.size + others[larger])
    if pairs.size:
        one, other = pairs // sizes.size, pairs % sizes.size
        yield np.minimum(one, other), np.maximum(one, other)


# Pairs that are compared at once.
BLOCK = 1 << 16

Hashes = npt.NDArray[np.uint64]
Ranks = npt.NDArray[np.int64]


def least_shared(size: int, similarity: float) -> int:
    """The least number of common elements of a set and a similar one; also the smallest size of a similar set."""
    return max(1, math.ceil(size * similarity - SLACK))


def prefix(size: int, similarity: float) -> int:
    """The length of a set's prefix, in a common order, with an element of every similar set.

    If the prefixes of two sets are disjoint, too few elements are left for the similarity (Chaudhuri, Ganti and
    Kaushik, "A primitive operator for similarity joins in data cleaning", ICDE 2006).
    """
    return size - least_shared(size, similarity) + 1


def jaccards(sets: Sequence[Hashes], one: int, others: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    return pair_jaccards(*_joined(sets), np.full(others.size, one), others)


def _joined(sets: Sequence[Hashes]) -> tuple[Hashes, npt.NDArray[np.int64]]:
    ends = np.cumsum([0, *(one.size for one in sets)], dtype=np.int64)
    return np.concatenate([np.empty(0, dtype=np.uint64), *sets]), ends


def pair_jaccards(
    numbers: Hashes, offsets: npt.NDArray[np.int64], left: npt.NDArray[np.int64], right: npt.NDArray[np.int64]
) -> npt.NDArray[np.float64]:
    shared = intersection_sizes(numbers, offsets, left, right)
    sizes = np.diff(offsets)
    return np.asarray(shared / (sizes[left] + sizes[right] - shared), dtype=np.float64)


def candidates(sets: Sequence[Ranks], similarity: float) -> Iterator[tuple[int, int]]:
    """The pairs of sets (of sorted numbers) whose lengths and first elements allow the similarity, each once.

    The sets are taken in ascending order of length, so the lists of the inverted index are in the same order, and sets
    now too short are dropped from their front: the partition by length of SpotSigs (section 4.2) with a partition for
    every length. Only elements possible as the first shared one are indexed and asked for. A pair is also skipped if
    too few elements are left behind the first shared one (section 4.3).
    """
    index: dict[int, deque[tuple[int, int]]] = {}
    for number in sorted(range(len(sets)), key=lambda place_of_set: (sets[place_of_set].size, place_of_set)):
        own = sets[number]
        shortest = least_shared(own.size, similarity) if own.size else 0
        met: set[int] = set()
        first = own[: prefix(own.size, similarity)].tolist() if own.size else []
        for place, element in enumerate(first):
            others = index.setdefault(element, deque())
            while others and sets[others[0][0]].size < shortest:
                others.popleft()
            for other, their_place in others:
                if other in met:
                    continue
                met.add(other)
                theirs = sets[other].size
                left = min(own.size - place, theirs - their_place)
                if left >= similarity / (1 + similarity) * (own.size + theirs) - SLACK:
                    yield other, number
            others.append((number, place))


def ranked(sets: Sequence[npt.NDArray[np.uint64]]) -> list[Ranks]:
    if not sets:
        return []
    _, place, counts = np.unique(np.concatenate(sets), return_inverse=True, return_counts=True)
    rank = np.empty(counts.size, dtype=np.int64)
    rank[np.argsort(counts, kind="stable")] = np.arange(counts.size)
    ends = np.cumsum([one.size for one in sets])[:-1]
    return [np.sort(part) for part in np.split(rank[place], ends)]
