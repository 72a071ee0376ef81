"""Blocking: documents that may be near meet in a block, so components are found in parts.

Whatever the blocks, their order and repetitions, the components are the same, and each near pair is in one of them.
Unique numbers stand for documents.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from indexer.batch.clusters.grouping import key_blocks, scanned
from indexer.core.components import Components
from indexer.core.pairs import iter_pairs
from indexer.matching.rule import Finder
from indexer.model import SIMHASH_DOC
from indexer.model.ragged import Ragged
from indexer.schemes.base import Positions, Sketches
from indexer.schemes.simhash import bits_allowed, values_of

_PIECE_BITS = 58


def finder_blocks(
    finder: Finder, sketches: Sketches, positions: Positions, blocks: int
) -> Iterator[tuple[int, Positions, Positions]]:
    """The values by which a finder finds some documents, in blocks: (number of the block, int64 values, their
    holders).
    """
    if finder.name != SIMHASH_DOC:
        yield from finder_key_blocks(finder, sketches, positions, blocks)
        return
    there = np.flatnonzero(sketches.payloads.sizes)
    given, holders = sketches.take(there), positions[there]
    values = values_of(given.payloads)
    for number, _, places in key_blocks(_keys(finder, given), np.arange(values.size), blocks):
        yield number, values[places].view(np.int64), holders[places]


def finder_key_blocks(
    finder: Finder, sketches: Sketches, positions: Positions, blocks: int
) -> Iterator[tuple[int, Positions, Positions]]:
    there = np.flatnonzero(sketches.payloads.sizes)
    yield from key_blocks(_keys(finder, sketches.take(there)), positions[there], blocks)


def _pieces(values: npt.NDArray[np.uint64], distance: int) -> Ragged:
    bounds = np.linspace(0, 64, distance + 2).astype(int).tolist()
    rows = np.empty((values.size, distance + 1), dtype=np.int64)
    for number, (low, high) in enumerate(pairwise(bounds)):
        piece = (values >> np.uint64(low)) & np.uint64((1 << (high - low)) - 1)
        rows[:, number] = (piece ^ (np.uint64(number) << np.uint64(_PIECE_BITS))).view(np.int64)
    return Ragged.of_matrix(rows)


def _keys(finder: Finder, sketches: Sketches) -> Ragged:
    if finder.name == SIMHASH_DOC:
        return _pieces(values_of(sketches.payloads), bits_allowed(64, finder.similarity))
    return finder.scheme.common_keys(sketches, finder.similarity)


def connected(
    finder: Finder, values: Positions, owners: Positions, threads: int | None = 1
) -> Iterator[tuple[Positions, Positions]]:
    if finder.name != SIMHASH_DOC:
        yield scanned(values, owners)
        return
    # A document is there once for each piece that is dealt to the block.
    owners, firsts = np.unique(owners, return_index=True)
    simhashes = values[firsts].view(np.uint64)
    for pairs in iter_pairs(simhashes, bits_allowed(64, finder.similarity), threads, collapse=True):
        yield owners[pairs.left], owners[pairs.right]


def contracted(left: Positions, right: Positions) -> tuple[Positions, Positions]:
    owners, places = np.unique(np.concatenate((left, right)), return_inverse=True)
    components = Components(owners.size)
    components.join(places[: left.size], places[left.size :])
    return owners, owners[components.labels()]


class Forest:
    """Pairs taken in blocks and kept as a forest: at most one for each document, and some recent ones."""

    def __init__(self, at_once: int = 1 << 22) -> None:
        self._at_once, self._waiting = at_once, 0
        self._left: list[Positions] = []
        self._right: list[Positions] = []

    def add(self, left: Positions, right: Positions) -> None:
        self._left.append(left)
        self._right.append(right)
        self._waiting += left.size
        if self._waiting > self._at_once:
            owners, labels = self.labels()
            other = owners != labels
            self._left, self._right = [owners[other]], [labels[other]]
            # What is kept is not contracted again until as much has come once more.
            self._waiting, self._at_once = 0, max(self._at_once, int(np.count_nonzero(other)))

    def labels(self) -> tuple[Positions, Positions]:
        nothing = np.empty(0, dtype=np.int64)
        return contracted(np.concatenate([nothing, *self._left]), np.concatenate([nothing, *self._right]))

    def pairs(self) -> tuple[Positions, Positions]:
        owners, labels = self.labels()
        other = owners != labels
        return owners[other], labels[other]
