"""Blocking: documents that may be near meet in a block, so components are found in parts.

Whatever the blocks, their order and repetitions, the components are the same, and each near pair is in one of them.
Unique numbers stand for documents.

Components too large to be grouped at once are verified bucket by bucket. Hardly any two documents of such a component
are near: pages share keys by their boilerplate, and similar simhashes by their language alone. Documents found by a
finder share a bucket, so near pairs in buckets make the components of `indexer.clustering.grouping.group`. Within a
bucket a document is compared only with those not yet connected to it. A document travels once for each shared bucket,
as many as a scheme asks for keys: a thousand for random-projection.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from indexer.batch.arrow import column_of, numbers_of
from indexer.batch.clusters.grouping import (
    SPREAD_BITS,
    ClusteringFigures,
    found_by,
    key_blocks,
    nodes_in,
    scanned,
    spread,
    with_example,
)
from indexer.clustering.grouping import Bucket, Joining
from indexer.core.components import Components
from indexer.core.pairs import iter_pairs
from indexer.matching.measures.tables import Comparer
from indexer.matching.rule import Finder, MatchRule
from indexer.model import SIMHASH_DOC
from indexer.model.ragged import Ragged
from indexer.schemes.base import Positions, Sketches
from indexer.schemes.keys.postings import KeyPostings
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
        self._blocks = [(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))]

    def add(self, left: Positions, right: Positions) -> None:
        self._blocks.append((left, right))
        self._waiting += left.size
        if self._waiting > self._at_once:
            self._blocks = [self.pairs()]
            # What is kept is not contracted again until as much has come once more.
            self._waiting, self._at_once = 0, max(self._at_once, self._blocks[0][0].size)

    def labels(self) -> tuple[Positions, Positions]:
        left, right = (np.concatenate(side) for side in zip(*self._blocks, strict=True))
        return contracted(left, right)

    def pairs(self) -> tuple[Positions, Positions]:
        owners, labels = self.labels()
        other = owners != labels
        return owners[other], labels[other]


def verified_by(rule: MatchRule) -> list[str]:
    return ["id", *found_by(rule)]


def shared(finder: int, keys: Positions, owners: Positions) -> tuple[Positions, Positions]:
    postings = KeyPostings.of_pairs(keys, owners)
    holders = np.diff(postings.buckets())
    several = np.repeat(holders > 1, holders)
    buckets = KeyPostings.of_pairs((finder << SPREAD_BITS) | spread(postings.keys[several]), postings.owners[several])
    return buckets.owners, buckets.keys


def verified(
    table: Any, rule: MatchRule, figures: ClusteringFigures, threads: int | None = None
) -> tuple[Positions, Positions]:
    """Pairs joining the near documents among some; the work is added to `figures`."""
    labels = numbers_of(table["label"])
    owners, firsts = np.unique(numbers_of(table["owner"]), return_index=True)
    nodes = nodes_in(table.select(verified_by(rule)).take(column_of(firsts)).combine_chunks(), rule)
    comparison, buckets = Comparer(rule, nodes.payloads), list[Bucket]()
    joining = Joining(nodes, comparison, threads)
    for number in np.unique(labels >> SPREAD_BITS).tolist():
        inside = np.zeros(1 << SPREAD_BITS, dtype=np.bool_)
        inside[labels[labels >> SPREAD_BITS == number] & (inside.size - 1)] = True

        def among(keys: Positions, inside: npt.NDArray[np.bool_] = inside) -> npt.NDArray[np.bool_]:
            return np.asarray(inside[spread(keys)], dtype=np.bool_)

        buckets += joining.join(rule.finders[number], among)
    heads = np.unique(nodes.node_of, return_index=True)[1]
    first = heads[joining.components.labels()][nodes.node_of]
    other = np.flatnonzero(first != np.arange(owners.size))
    figures.add(ClusteringFigures(comparisons=comparison.compared, buckets=with_example(nodes, buckets)))
    return owners[first[other]], owners[other]
