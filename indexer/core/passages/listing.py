"""Passages for people to read, the most copied first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from indexer.core.passages.maximal import MaximalPassages
from indexer.core.passages.repeats import Repeats
from indexer.core.passages.windows import Positions
from indexer.model.ragged import ranges


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
