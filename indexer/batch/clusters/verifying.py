"""Verify pairs bucket by bucket, for components too large to be grouped at once.

Hardly any two documents of such a component are near: pages share keys by their boilerplate, and similar simhashes by
their language alone. Documents found by a finder share a bucket, so near pairs in buckets make the components of
`indexer.clustering.grouping.group`. Within a bucket a document is compared only with those not yet connected to it. A
document travels once for each shared bucket, as many as a scheme asks for keys: a thousand for random-projection.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from indexer.batch.arrow import column_of, numbers_of
from indexer.batch.clusters.grouping import SPREAD_BITS, ClusteringFigures, found_by, nodes_in, spread, with_example
from indexer.clustering.grouping import Bucket, connect
from indexer.core.components import Components
from indexer.matching.measures.tables import Comparer
from indexer.matching.rule import MatchRule
from indexer.schemes.base import Positions


def verified_by(rule: MatchRule) -> list[str]:
    return ["id", *found_by(rule)]


def shared(finder: int, keys: Positions, owners: Positions) -> tuple[Positions, Positions]:
    order = np.lexsort((owners, keys))
    keys, owners = keys[order], owners[order]
    fresh = _fresh(keys, owners)
    keys, owners = keys[fresh], owners[fresh]
    several = np.zeros(keys.size, dtype=np.bool_)
    several[1:] = keys[1:] == keys[:-1]
    several[:-1] |= several[1:]
    buckets, owners = (finder << SPREAD_BITS) | spread(keys[several]), owners[several]
    order = np.lexsort((owners, buckets))
    buckets, owners = buckets[order], owners[order]
    fresh = _fresh(buckets, owners)
    return owners[fresh], buckets[fresh]


def _fresh(one: Positions, other: Positions) -> npt.NDArray[np.bool_]:
    fresh = np.ones(one.size, dtype=np.bool_)
    fresh[1:] = (one[1:] != one[:-1]) | (other[1:] != other[:-1])
    return fresh


def verified(
    table: Any, rule: MatchRule, figures: ClusteringFigures, threads: int | None = None
) -> tuple[Positions, Positions]:
    """Pairs joining the near documents among some; the work is added to `figures`."""
    labels = numbers_of(table["label"].combine_chunks())
    owners, firsts = np.unique(numbers_of(table["owner"].combine_chunks()), return_index=True)
    nodes = nodes_in(table.select(verified_by(rule)).take(column_of(firsts)).combine_chunks(), rule)
    comparison, components = Comparer(rule, nodes.payloads), Components(len(nodes))
    spent, buckets = np.zeros(len(nodes), dtype=np.int64), list[Bucket]()
    for number in np.unique(labels >> SPREAD_BITS).tolist():
        inside = np.zeros(1 << SPREAD_BITS, dtype=np.bool_)
        inside[labels[labels >> SPREAD_BITS == number] & (inside.size - 1)] = True

        def among(keys: Positions, inside: npt.NDArray[np.bool_] = inside) -> npt.NDArray[np.bool_]:
            return np.asarray(inside[spread(keys)], dtype=np.bool_)

        buckets += connect(components, nodes, comparison, rule.finders[number], threads, spent, among)
    heads = np.unique(nodes.node_of, return_index=True)[1]
    first = heads[components.labels()][nodes.node_of]
    other = np.flatnonzero(first != np.arange(owners.size))
    figures.add(ClusteringFigures(comparisons=comparison.compared, buckets=with_example(nodes, buckets)))
    return owners[first[other]], owners[other]
