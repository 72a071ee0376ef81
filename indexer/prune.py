"""What to do with the documents of a cluster that are not its canonical one: mark or delete them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np

from indexer.cluster import Cluster, stored_clusters
from indexer.model import Record, Ref
from indexer.placing import READ_AT_ONCE, Changes, lone
from indexer.refs import RefSet, RefTable
from indexer.stores.base import Store

# The annotation of a marked document: the id of the document that stands for it.
MARK = "duplicate_of"


@dataclass(frozen=True, slots=True)
class Surplus:
    """A document that another one, the canonical one of its cluster, stands for, `distance` bits from it."""

    record: Record
    cluster: str
    canonical: Ref
    distance: int


def surplus(store: Store) -> Iterator[Surplus]:
    """The documents of clusters that are not canonical, by cluster, nearest first.

    A document is left out, and so kept, where the last clustering is no longer true of it: the canonical document is
    gone, or one of the two has another fingerprint now.
    """
    for cluster in stored_clusters(store, least=2):
        yield from _checked(store, cluster)


def _checked(store: Store, cluster: Cluster) -> Iterator[Surplus]:
    [canonical] = store.get([cluster.canonical])
    [noted] = store.annotations([cluster.canonical])
    if canonical is None or canonical.fingerprint is None or canonical.short or not noted:
        return
    if not noted.get("cluster", {}).get("is_canonical"):
        return
    for start in range(1, len(cluster.members), READ_AT_ONCE):
        some = slice(start, start + READ_AT_ONCE)
        records = store.get(cluster.members[some])
        for record, distance in zip(records, cluster.distances[some], strict=True):
            if record is None or record.fingerprint is None or record.short:
                continue
            if record.fingerprint.distance(canonical.fingerprint) == distance:
                yield Surplus(record, cluster.id, cluster.canonical, distance)


def mark(store: Store, *, dry_run: bool = False) -> Changes:
    """Give each surplus document the annotation `duplicate_of`, the id of its canonical one, and take old marks away.

    Only what changed is written. The counts are of documents marked (`documents`) and unmarked (`removed`).
    """
    changes = Changes()
    marked = RefTable()
    found = surplus(store)
    while some := list(islice(found, READ_AT_ONCE)):
        refs = [each.record.ref for each in some]
        marked.extend(refs)
        wanted = [(each.record.ref, {MARK: each.canonical.id}) for each in some]
        noted = store.annotations(refs)
        changed = [
            (ref, new)
            for (ref, new), old in zip(wanted, noted, strict=True)
            if old is not None and old.get(MARK) != new[MARK]
        ]
        changes.documents += len(changed)
        if changed and not dry_run:
            before = store.contended.count
            store.annotate(changed)
            changes.documents -= store.contended.count - before
    right = RefSet(marked, np.arange(len(marked)))
    having = (ref for ref, noted in store.scan_annotations() if MARK in noted)
    while refs := list(islice(having, READ_AT_ONCE)):
        stale = [(ref, {MARK: None}) for ref, known in zip(refs, right.contains(refs), strict=True) if not known]
        changes.removed += len(stale)
        if stale and not dry_run:
            before = store.contended.count
            store.annotate(stale)
            changes.removed -= store.contended.count - before
    return changes


def delete(store: Store) -> int:
    """Delete each surplus document; how many were deleted. Their clusters become single documents."""
    count = 0
    # A store whose marks can't be written keeps its documents.
    store.annotate(())
    for cluster in stored_clusters(store, least=2):
        gone = [each.record.ref for each in _checked(store, cluster)]
        before = store.contended.count
        for start in range(0, len(gone), READ_AT_ONCE):
            count += store.delete(gone[start : start + READ_AT_ONCE])
        if len(gone) == len(cluster.members) - 1 and store.contended.count == before:
            store.annotate([(cluster.canonical, {"cluster": lone(cluster.canonical)})])
            store.delete_clusters([cluster.id])
    return count
