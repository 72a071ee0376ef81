"""All pairs of sets with a share of one in the other."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from indexer.core.sketches import sorted_distinct
from indexer.model.ragged import Ragged
from indexer.schemes.base import SLACK
from indexer.schemes.keys.postings import KeyPostings

Positions = npt.NDArray[np.int64]

_BLOCK = 1 << 20


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
        end = int(np.searchsorted(found, (found[begin - 1] if begin else 0) + _BLOCK, side="right"))
        end = int(np.searchsorted(owners, owners[max(end - 1, begin)], side="right"))
        yield from _met(owners[begin:end], runs[begin:end], postings, starts, sizes)
        begin = end


def _met(
    owners: Positions, runs: Positions, postings: KeyPostings, starts: Positions, sizes: Positions
) -> Iterator[tuple[Positions, Positions]]:
    counts = starts[runs + 1] - starts[runs]
    within = np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)
    others = postings.owners[within + np.repeat(starts[runs], counts)]
    smaller = np.repeat(owners, counts)
    larger = (sizes[others] > sizes[smaller]) | ((sizes[others] == sizes[smaller]) & (others > smaller))
    pairs = sorted_distinct(smaller[larger] * sizes.size + others[larger])
    if pairs.size:
        one, other = pairs // sizes.size, pairs % sizes.size
        yield np.minimum(one, other), np.maximum(one, other)
