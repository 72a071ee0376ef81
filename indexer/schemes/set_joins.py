"""All pairs of sets with enough in common."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from indexer.core.sketches import sorted_distinct
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


def similar(keys: Ragged, similarity: float) -> Iterator[tuple[Positions, Positions]]:
    """The pairs of `containing` whose sizes allow this Jaccard coefficient (0 to 1) too."""
    sizes = keys.sizes
    for left, right in containing(keys, similarity):
        fits = np.minimum(sizes[left], sizes[right]) >= similarity * np.maximum(sizes[left], sizes[right]) - SLACK
        yield left[fits], right[fits]


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


def least_shared(size: int, similarity: float) -> int:
    """The least number of common elements of a set and a similar one; also the smallest size of a similar set."""
    return max(1, math.ceil(size * similarity - SLACK))


def prefix(size: int, similarity: float) -> int:
    """The length of a set's prefix, in a common order, with an element of every similar set.

    If the prefixes of two sets are disjoint, too few elements are left for the similarity (Chaudhuri, Ganti and
    Kaushik, "A primitive operator for similarity joins in data cleaning", ICDE 2006).
    """
    return size - least_shared(size, similarity) + 1
