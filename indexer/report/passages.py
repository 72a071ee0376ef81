"""The section of a report on partial copies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from indexer.clustering.annotations import StoredCluster
from indexer.clustering.common_passages import (
    BOILERPLATE,
    ClusterOnPassages,
    RepeatedPassage,
    StorePassages,
    clusters_on_passages,
    sampled_resting,
)
from indexer.model import name_of
from indexer.stores.base import Store

WORDS = 50
_ORIGINS = 8


@dataclass(frozen=True, slots=True)
class ShownResting:
    """A cluster held together by a passage, and the name of its canonical document."""

    cluster: ClusterOnPassages
    canonical: str


@dataclass(frozen=True, slots=True)
class OriginTable:
    """The words first in documents of one origin, a row, and later in those of another, a column.

    The origins are those with most words, at most eight; `left_out` are the others.
    """

    names: tuple[str, ...]
    words: tuple[tuple[int, ...], ...]
    left_out: int


@dataclass(frozen=True, slots=True)
class ShownPassages:
    """Passages in a report, each with the name of the first document; `found` counts all.

    `in_passages` of `words` words of `documents` documents lie in passages; `unread` documents could not be read again.
    """

    least: int
    documents: int
    words: int
    in_passages: int
    unread: int
    found: int
    passages: tuple[tuple[RepeatedPassage, str], ...]
    origins: OriginTable


def resting_of_largest(store: Store, largest: Sequence[StoredCluster]) -> tuple[ShownResting, ...]:
    """The clusters of ten documents or more held together by passages, the largest first; twelve of each are read
    again.
    """
    of = {each.id: each for each in largest if len(each.members) >= BOILERPLATE}
    found = sampled_resting(store, {name: each.members for name, each in of.items()})
    return tuple(ShownResting(each, name_of(of[each.id].canonical)) for each in found)


def shown_passages(
    store: Store, most: int, largest: Sequence[StoredCluster]
) -> tuple[ShownPassages, tuple[ShownResting, ...]]:
    """The `most` passages of most documents, and the clusters held together by any: all documents are read.

    Memory: that of StorePassages. Raises StoreError.
    """
    with StorePassages(store, WORDS) as found:
        found.read()
        counts, inside = found.in_passages
        names = [name_of(holder.ref) for holder in found.holders]
        # What stands only in documents that are equal as a whole says no more than their clusters do.
        several = (each for each in found.common() if np.unique(found.repeats.copy_of[each.holders]).size > 1)
        passages = [(each, names[each.first]) for each in islice(several, most)]
        shown = ShownPassages(
            WORDS, len(names), int(counts.sum()), int(inside.sum()), len(found.unread),
            len(found.listing.passages), tuple(passages), _origins(found),
        )  # fmt: skip
        of = {each.id: each for each in largest}
        rest = clusters_on_passages(found, ((name, each.members) for name, each in of.items()))
        resting = sorted(rest, key=lambda each: -each.size)
        return shown, tuple(ShownResting(each, name_of(of[each.id].canonical)) for each in resting)


def _origins(found: StorePassages) -> OriginTable:
    names, _ = found.origins
    copied = found.copied()
    totals = np.bincount(copied.origin, copied.words, len(names)) + np.bincount(copied.by, copied.words, len(names))
    chosen = [number for number in np.argsort(-totals, kind="stable").tolist() if totals[number]]
    kept = chosen[:_ORIGINS]
    cells = {(origin, by): words for origin, by, words in zip(*(each.tolist() for each in copied), strict=True)}
    rows = tuple(tuple(cells.get((origin, by), 0) for by in kept) for origin in kept)
    return OriginTable(tuple(names[number] for number in kept), rows, len(chosen) - len(kept))
