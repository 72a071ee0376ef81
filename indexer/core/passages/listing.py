"""Maximal passages, extended as long as all places agree, and the list of them for people, the most copied first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from indexer.core.passages.repeats import Repeats
from indexer.core.passages.spilled import Positions
from indexer.model.ragged import ranges

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


@dataclass(frozen=True, slots=True, eq=False)
class PassageListing:
    """The numbers of the listed passages, the most copied first, with the number of variants of each.

    `variants[i]` counts the unlisted passages that mostly lie in `passages[i]`; `longest[i]` is the number of words in
    the longest of these and itself.
    """

    passages: Positions
    variants: Positions
    longest: Positions


def listed(repeats: Repeats, passages: MaximalPassages) -> PassageListing:
    """The passages to list, sorted by copied words (words times documents less one).

    Memory: 100 bytes for each stretch.
    """
    copied = passages.words * (passages.documents - 1)
    order = np.lexsort((passages.places[passages.offsets[:-1]], -passages.words, -copied))
    shown = _ListedWords(repeats, passages)
    taken: list[int] = []
    done, at_once = 0, 1
    while done < order.size:
        # Most of what comes later lies in what came first, so a look at ever more at once spares a look at each.
        some = order[done : done + at_once]
        taken += [number for number in some[~shown.hidden(some)].tolist() if shown.take(number)]
        done += some.size
        at_once *= 2
    chosen = np.array(taken, dtype=np.int64)
    return PassageListing(chosen, shown.variants[chosen], shown.longest[chosen])


class _ListedWords:
    def __init__(self, repeats: Repeats, passages: MaximalPassages) -> None:
        bounds = np.unique(np.concatenate((repeats.starts, repeats.ends)))
        self._passages = passages
        self._words = np.diff(bounds)
        self._owners = np.full(self._words.size, -1, dtype=np.int64)
        self._begins = np.searchsorted(bounds, passages.places)
        counts = np.diff(passages.offsets)
        self._ends = np.searchsorted(bounds, passages.places + np.repeat(passages.words, counts))
        self.variants = np.zeros(len(passages), dtype=np.int64)
        self.longest = passages.words.copy()

    def hidden(self, numbers: Positions) -> npt.NDArray[np.bool_]:
        passages, shown = self._passages, self._owners >= 0
        sums = np.append(0, np.cumsum(self._words * shown))
        counts = passages.offsets[numbers + 1] - passages.offsets[numbers]
        places = ranges(passages.offsets[numbers], counts)
        begins, ends = self._begins[places], self._ends[places]
        inside = np.add.reduceat(sums[ends] - sums[begins], np.cumsum(counts) - counts)
        hidden = 2 * inside > passages.words[numbers] * counts
        owned = np.append(np.flatnonzero(shown), -1)
        first = owned[np.searchsorted(owned[:-1], begins)]
        met = np.flatnonzero((first >= 0) & (first < ends))
        which = np.repeat(np.arange(numbers.size), counts)[met]
        met_by, at = np.unique(which, return_index=True)
        owners = np.full(numbers.size, -1, dtype=np.int64)
        owners[met_by] = self._owners[first[met[at]]]
        np.add.at(self.variants, owners[hidden], 1)
        np.maximum.at(self.longest, owners[hidden], passages.words[numbers[hidden]])
        return hidden

    def take(self, number: int) -> bool:
        places = slice(int(self._passages.offsets[number]), int(self._passages.offsets[number + 1]))
        pieces = ranges(self._begins[places], self._ends[places] - self._begins[places])
        owners, words = self._owners[pieces], self._words[pieces]
        met = owners >= 0
        if 2 * int(words[met].sum()) > int(words.sum()):
            owner = owners[met][0]
            self.variants[owner] += 1
            self.longest[owner] = max(self.longest[owner], self._passages.words[number])
            return False
        self._owners[pieces[~met]] = number
        return True


class Copied(NamedTuple):
    origin: Positions
    by: Positions
    words: Positions


def repeated_words(repeats: Repeats) -> Positions:
    """The number of words of each document inside passages: shape (documents,)."""
    words = np.bincount(repeats.documents, _new_words(repeats), repeats.copy_of.size).astype(np.int64)
    return words[repeats.copy_of]


def copied_between(repeats: Repeats, ranks: Positions, origins: Positions) -> Copied:
    """Count passage words of each origin whose first document belongs to another origin or the same one.

    `ranks` order the documents by time, `origins` number their origins: both of shape (documents,).
    """
    several = int(origins.max(initial=-1)) + 1
    # The first of all documents of a kind: of a document's copies the earliest stands for all.
    earliest = np.full(repeats.copy_of.size, np.iinfo(np.int64).max)
    np.minimum.at(earliest, repeats.copy_of, ranks)
    by_rank = np.argsort(ranks)
    firsts = np.full(int(repeats.kinds.max(initial=-1)) + 1, np.iinfo(np.int64).max)
    np.minimum.at(firsts, repeats.kinds, earliest[repeats.documents])
    first = by_rank[firsts[repeats.kinds]] if firsts.size else firsts
    # (document with stretches, document where they stood first) -> words, then the same for its copies.
    pairs, which = np.unique(np.stack((repeats.documents, first)), axis=1, return_inverse=True)
    words = np.bincount(which.reshape(-1), _new_words(repeats), pairs.shape[1]).astype(np.int64)
    holders = np.argsort(repeats.copy_of, kind="stable")
    begins = np.searchsorted(repeats.copy_of[holders], pairs[0])
    counts = repeats.copies[pairs[0]]
    spread = ranges(begins, counts)
    document, source, amount = holders[spread], np.repeat(pairs[1], counts), np.repeat(words, counts)
    elsewhere = document != source
    cells = origins[source[elsewhere]] * several + origins[document[elsewhere]]
    found, which = np.unique(cells, return_inverse=True)
    sums = np.bincount(which.reshape(-1), amount[elsewhere], found.size).astype(np.int64)
    return Copied(found // max(1, several), found % max(1, several), sums)


def _new_words(repeats: Repeats) -> Positions:
    ends = repeats.ends
    before = np.append(0, ends[:-1])[: ends.size]
    new: Positions = ends - np.maximum(repeats.starts, before)
    return new
