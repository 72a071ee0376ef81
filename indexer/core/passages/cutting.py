"""Cut repeated passages, and keep one copy of each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from indexer.core.passages.repeats import Repeats
from indexer.core.passages.spilled import Positions
from indexer.model.ragged import ranges


class RepeatedSpan(NamedTuple):
    begin: int
    end: int
    stands_in: int


def merged(spans: Iterable[Sequence[Any]]) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    for begin, end, *_ in spans:
        if found and begin <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], end))
        else:
            found.append((begin, end))
    return found


class Cutter:
    """Cuts from each document the passages that an earlier document still has.

    Every word cut lies in N words in a row (`repeats.words`) which are also in a row in the rest of a kept document, so
    a passage never loses its last place. Memory: 8 bytes for each run of N words found in two documents.
    """

    def __init__(self, repeats: Repeats) -> None:
        self._repeats = repeats
        _, heads = np.unique(repeats.kinds, return_index=True)
        sizes = repeats.sizes[heads]
        self._numbers = np.cumsum(sizes) - sizes
        self._holders = np.full(int(sizes.sum()), -1, dtype=np.int64)
        self._ends = np.searchsorted(repeats.starts, repeats.offsets)

    def spans(self, document: int) -> list[RepeatedSpan]:
        runs, places = self._runs(document)
        holders = self._holders[runs]
        known = np.flatnonzero(holders >= 0)
        if not known.size:
            return []
        known = known[np.lexsort((places[known], holders[known]))]
        places, holders = places[known], holders[known]
        breaks = np.flatnonzero((np.diff(places) != 1) | (np.diff(holders) != 0)) + 1
        begins, ends = places[np.append(0, breaks)], places[np.append(breaks - 1, -1)] + self._repeats.words
        stands_in = holders[np.append(0, breaks)]
        return sorted(map(RepeatedSpan, begins.tolist(), ends.tolist(), stands_in.tolist()))

    def keep(self, document: int, spans: Sequence[RepeatedSpan]) -> None:
        runs, places = self._runs(document)
        if not runs.size:
            return
        bounds = np.array(merged(spans), dtype=np.int64).reshape(-1, 2)
        # Whole where it ends before the next cut begins, after the one before has ended.
        following = np.searchsorted(bounds[:, 1], places, side="right")
        begins = np.append(bounds[:, 0], np.iinfo(np.int64).max)[following]
        self._holders[runs[places + self._repeats.words <= begins]] = document

    def _runs(self, document: int) -> tuple[Positions, Positions]:
        repeats = self._repeats
        first = int(repeats.copy_of[document])
        some = slice(int(self._ends[first]), int(self._ends[first + 1]))
        sizes = repeats.sizes[some]
        return (
            ranges(self._numbers[repeats.kinds[some]], sizes),
            ranges(repeats.starts[some] - repeats.offsets[first], sizes),
        )
