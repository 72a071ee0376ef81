"""Maximal passages: stretches extended as long as all places agree."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from indexer.core.passages.repeats import Repeats
from indexer.core.passages.windows import Positions

# Two sums modulo primes below 2**31, so that products fit into 64 bits.
_PRIMES = (2_147_483_629, 2_147_483_587)
_FACTORS = (1_103_515_245, 1_566_083_941)


@dataclass(frozen=True, slots=True, eq=False)
class MaximalPassages:
    """Passages with no further word, at either end, common to all their places.

    Passage i has `words[i]` words; its places are `places[offsets[i]:offsets[i + 1]]`, rising positions among all
    words, each in the first of some documents with the same words. `documents[i]` counts the documents, copies too.
    """

    words: Positions
    documents: Positions
    offsets: Positions
    places: Positions

    def __len__(self) -> int:
        return self.words.size


def maximal_passages(repeats: Repeats) -> MaximalPassages:
    """The maximal passages: for each kind of stretch, the longest run around it common to all its places.

    Kinds with the same places and the same run are one passage, so there are no more places than stretches. Memory:
    about 150 bytes for each stretch.
    """
    order = np.argsort(repeats.kinds, kind="stable")
    heads = np.flatnonzero(np.append(True, np.diff(repeats.kinds[order]) != 0)) if order.size else order
    counts = np.diff(np.append(heads, order.size))
    back, ahead = _common_reach(repeats, order, heads)
    begins, ends = order - np.repeat(back, counts), order + np.repeat(ahead, counts)
    starts, stops = repeats.starts[begins], repeats.ends[ends]
    words = (stops - starts)[heads]
    # The same run around several kinds.
    _, chosen = np.unique(np.stack((starts[heads], words), axis=1), axis=0, return_index=True)
    kept = np.zeros(heads.size, dtype=np.bool_)
    kept[chosen] = True
    taken = np.repeat(kept, counts)
    documents = _documents(repeats, order, heads)
    offsets = np.append(0, np.cumsum(counts[kept]))
    return MaximalPassages(words[kept], documents[kept], offsets, starts[taken])


def _documents(repeats: Repeats, order: Positions, heads: Positions) -> Positions:
    documents = repeats.documents[order]
    new = np.append(True, documents[1:] != documents[:-1])[: order.size]
    new[heads] = True
    counted = np.where(new, repeats.copies[documents], 0)
    return np.add.reduceat(counted, heads) if heads.size else heads


def _common_reach(repeats: Repeats, order: Positions, heads: Positions) -> tuple[Positions, Positions]:
    if not order.size:
        return order, order
    numbers = np.arange(order.size)
    breaks = np.flatnonzero(np.append(True, repeats.starts[1:] != repeats.starts[:-1] + repeats.sizes[:-1]))
    chain = np.repeat(np.arange(breaks.size), np.diff(np.append(breaks, order.size)))
    before, after = numbers - breaks[chain], np.append(breaks[1:], order.size)[chain] - 1 - numbers
    left, right = order[:-1], order[1:]
    of_kind = np.searchsorted(heads, np.arange(1, order.size), side="right") - 1
    pairs = repeats.kinds[left] == repeats.kinds[right]
    left, right, of_kind = left[pairs], right[pairs], of_kind[pairs]
    sequence = _Sequence(repeats.kinds)
    back, ahead = before[order[heads]], after[order[heads]]
    np.minimum.at(back, of_kind, sequence.common(left, right, np.minimum(before[left], before[right]), -1))
    np.minimum.at(ahead, of_kind, sequence.common(left, right, np.minimum(after[left], after[right]), 1))
    return back, ahead


class _Sequence:
    """Numbers in a row, compared part by part through hashes (R. M. Karp and M. O. Rabin, IBM J. 31, 1987)."""

    def __init__(self, numbers: Positions) -> None:
        self._hashes = [_Hash(numbers.astype(np.uint64), *each) for each in zip(_PRIMES, _FACTORS, strict=True)]

    def common(self, left: Positions, right: Positions, most: Positions, way: int) -> Positions:
        low, high = np.zeros_like(most), most.copy()
        unsure = np.flatnonzero(low < high)
        while unsure.size:
            size = (low[unsure] + high[unsure] + 1) // 2
            offset = -size if way < 0 else 1
            one, other = left[unsure] + offset, right[unsure] + offset
            equal = np.ones(unsure.size, dtype=np.bool_)
            for each in self._hashes:
                equal &= each.of(one, size) == each.of(other, size)
            low[unsure[equal]] = size[equal]
            high[unsure[~equal]] = size[~equal] - 1
            unsure = unsure[low[unsure] < high[unsure]]
        return low


class _Hash:
    def __init__(self, numbers: npt.NDArray[np.uint64], prime: int, factor: int) -> None:
        self._prime = np.uint64(prime)
        self._inverse = _powers(pow(factor, -1, prime), prime, numbers.size)
        terms = (numbers + np.uint64(1)) % self._prime * _powers(factor, prime, numbers.size) % self._prime
        self._sums = np.append(np.uint64(0), np.cumsum(terms, dtype=np.uint64))

    def of(self, starts: Positions, sizes: Positions) -> npt.NDArray[np.uint64]:
        total = (self._sums[starts + sizes] - self._sums[starts]) % self._prime
        return np.asarray(total * self._inverse[starts] % self._prime, dtype=np.uint64)


def _powers(factor: int, prime: int, count: int) -> npt.NDArray[np.uint64]:
    powers = np.ones(1, dtype=np.uint64)
    while powers.size < count:
        powers = np.concatenate((powers, powers * np.uint64(pow(factor, powers.size, prime)) % np.uint64(prime)))
    return powers[:count]
