"""What to do with the documents of a cluster that are not its canonical one: mark or delete them."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field
from itertools import islice

import numpy as np

from indexer.cluster import Cluster, stored_clusters
from indexer.model import Record, Ref
from indexer.placing import READ_AT_ONCE, Changes, cluster_of, lone
from indexer.refs import RefSet, RefTable
from indexer.stores.base import Store, Versioned

# The annotation of a marked document: the id of the document that stands for it.
MARK = "duplicate_of"


@dataclass(frozen=True, slots=True)
class Surplus:
    """A document that another one, the canonical one of its cluster, stands for, `distance` bits from it."""

    record: Record
    cluster: str
    canonical: Ref
    distance: int
    version: Hashable = field(default=None, repr=False, compare=False)


def surplus(store: Store) -> Iterator[Surplus]:
    """The documents of clusters that are not canonical, by cluster, nearest first.

    A document is left out, and so kept, where the last clustering is no longer true of it: the canonical document is
    gone, or one of the two has another fingerprint now.
    """
    for cluster in stored_clusters(store, least=2):
        for some in _checked(store, cluster):
            yield from some


def _checked(store: Store, cluster: Cluster) -> Iterator[list[Surplus]]:
    """Members of a cluster as they are now, each list read together with the document that stands for them."""
    for start in range(1, len(cluster.members), READ_AT_ONCE):
        some = slice(start, start + READ_AT_ONCE)
        first, *others = store.versioned([cluster.canonical, *cluster.members[some]])
        canonical = _comparable(first)
        if first is None or canonical is None or not first.annotations.get("cluster", {}).get("is_canonical"):
            return
        found = []
        for each, distance in zip(others, cluster.distances[some], strict=True):
            record = _comparable(each)
            if each is None or record is None or cluster_of(each.annotations) != cluster.id:
                continue
            if _distance(record, canonical) == distance:
                found.append(Surplus(record, cluster.id, cluster.canonical, distance, each.version))
        yield found


def _comparable(document: Versioned | None) -> Record | None:
    record = document.record if document else None
    return record if record and record.fingerprint and not record.short else None


def _distance(one: Record, other: Record) -> int | None:
    return one.fingerprint.distance(other.fingerprint) if one.fingerprint and other.fingerprint else None


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
            store.annotate(changed)
    right = RefSet(marked, np.arange(len(marked)))
    having = (ref for ref, noted in store.scan_annotations() if MARK in noted)
    while refs := list(islice(having, READ_AT_ONCE)):
        stale = [(ref, {MARK: None}) for ref, known in zip(refs, right.contains(refs), strict=True) if not known]
        changes.removed += len(stale)
        if stale and not dry_run:
            store.annotate(stale)
    return changes


def delete(store: Store) -> int:
    """Delete each surplus document that is still as it was checked; how many were. Their clusters become singles."""
    count = 0
    # A store whose marks can't be written keeps its documents.
    store.annotate(())
    for cluster in stored_clusters(store, least=2):
        gone = 0
        for some in _checked(store, cluster):
            versions = {each.record.ref: each.version for each in some}
            gone += store.delete(list(versions), versions=versions)
        count += gone
        if gone == len(cluster.members) - 1:
            store.annotate([(cluster.canonical, {"cluster": lone(cluster.canonical)})])
            store.delete_clusters([cluster.id])
    return count
