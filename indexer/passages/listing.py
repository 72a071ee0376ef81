"""Passages as people read them: one for those that mostly overlap, what is copied most first."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from indexer.passages.maximal import MaximalPassages
from indexer.passages.repeats import Repeats
from indexer.passages.windows import Positions


@dataclass(frozen=True, slots=True, eq=False)
class Listing:
    """The numbers of the passages that are listed, what is copied most first, and how many others each stands for.

    `variants[i]` counts the passages that are not listed since they mostly lie in `passages[i]`; `longest[i]` is the
    number of words of the longest of these and itself.
    """

    passages: Positions
    variants: Positions
    longest: Positions


def listed(repeats: Repeats, passages: MaximalPassages) -> Listing:
    """The passages to list, in the order of the words that they copy: words times documents but one.

    One that lies by more than half, over all of its places, in those before it is not listed, but counted as a variant
    of the first of them that it meets. Memory: 40 bytes for each stretch.
    """
    copied = passages.words * (passages.documents - 1)
    order = np.lexsort((passages.places[passages.offsets[:-1]], -passages.words, -copied))
    shown = _Shown(repeats, passages)
    taken: list[int] = []
    done, at_once = 0, 1
    while done < order.size:
        # Most of what comes later lies in what came first, so a look at ever more at once spares a look at each.
        some = order[done : done + at_once]
        taken += [number for number in some[~shown.hidden(some)].tolist() if shown.take(number)]
        done += some.size
        at_once *= 2
    chosen = np.array(taken, dtype=np.int64)
    return Listing(chosen, shown.variants[chosen], shown.longest[chosen])


class _Shown:
    """The stretches in passages that are listed already."""

    def __init__(self, repeats: Repeats, passages: MaximalPassages) -> None:
        self._repeats, self._passages = repeats, passages
        self._owners = np.full(repeats.starts.size, -1, dtype=np.int64)
        self.variants = np.zeros(len(passages), dtype=np.int64)
        self.longest = passages.words.copy()

    def hidden(self, numbers: Positions) -> npt.NDArray[np.bool_]:
        """True for each passage that mostly lies in what is listed; it is counted there."""
        passages, shown = self._passages, self._owners >= 0
        sums = np.append(0, np.cumsum(self._repeats.sizes))
        shown_sums = np.append(0, np.cumsum(self._repeats.sizes * shown))
        counts = passages.offsets[numbers + 1] - passages.offsets[numbers]
        places = ranges(passages.offsets[numbers], counts)
        begins, ends = passages.begins[places], passages.begins[places] + passages.sizes[places]
        heads = np.cumsum(counts) - counts
        whole = np.add.reduceat(sums[ends] - sums[begins], heads)
        hidden = 2 * np.add.reduceat(shown_sums[ends] - shown_sums[begins], heads) > whole
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
        """List a passage, unless it is hidden by now."""
        passages = self._passages
        places = slice(int(passages.offsets[number]), int(passages.offsets[number + 1]))
        stretches = ranges(passages.begins[places], passages.sizes[places])
        owners, sizes = self._owners[stretches], self._repeats.sizes[stretches]
        met = owners >= 0
        if 2 * int(sizes[met].sum()) > int(sizes.sum()):
            owner = owners[met][0]
            self.variants[owner] += 1
            self.longest[owner] = max(self.longest[owner], passages.words[number])
            return False
        self._owners[stretches[~met]] = number
        return True


def ranges(starts: Positions, sizes: Positions) -> Positions:
    """The numbers of several ranges, one range after the other: `sizes[i]` numbers from `starts[i]` on."""
    heads = np.cumsum(sizes) - sizes
    numbers: Positions = np.arange(int(sizes.sum())) + np.repeat(starts - heads, sizes)
    return numbers
