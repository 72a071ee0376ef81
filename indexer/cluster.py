"""Clusters of near-duplicates over a store: found anew from all documents, and read back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice, pairwise

import numpy as np
import numpy.typing as npt

from indexer.canonical import Rule
from indexer.components import check_bound, group
from indexer.model import CLUSTER_ID_LENGTH, DEFAULT_DISTANCE, Ref
from indexer.placing import READ_AT_ONCE, Changes, Collection, Documents, Placer, cluster_of, lone
from indexer.refs import RefSet, RefTable, ref_order
from indexer.stores.base import Store

Positions = npt.NDArray[np.int64]

_ID = f"S{CLUSTER_ID_LENGTH}"


@dataclass(frozen=True, slots=True)
class Cluster:
    """Documents that belong together: `members` has the canonical one first, the others by distance to it, then ref.

    `distances[i]` (0 to 64 bits) is that of `members[i]` to the canonical document. A cluster of one is a document
    without near-duplicates.
    """

    id: str
    canonical: Ref
    members: tuple[Ref, ...]
    distances: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Clustering:
    """What a clustering found: `documents` in the store, of which `compared` are long enough.

    `clusters` have two members or more, `clustered` documents together, the `largest` so many; `split` components were
    wider than the bound. `changes` is what was written, or would be.
    """

    documents: int
    compared: int
    clusters: int
    clustered: int
    largest: int
    split: int
    changes: Changes


@dataclass(frozen=True, slots=True)
class Grouped:
    """Documents, the positions of those of each cluster of two or more, and how many components were split."""

    documents: Documents
    groups: list[Positions]
    split: int


def cluster_store(
    store: Store,
    *,
    distance: int = DEFAULT_DISTANCE,
    bound: int | None = None,
    rule: Rule | None = None,
    dry_run: bool = False,
    threads: int | None = None,
    by: Callable[[Store], Grouped] | None = None,
) -> Clustering:
    """Put every document of a store into its cluster, and write what changed.

    Clusters are the groups of `indexer.components.group`: documents within `distance` bits (0 to 16), directly or
    through others, at most `bound` bits apart. Every document gets the annotation `{"cluster": {"id", "is_canonical",
    "distance"}}`; documents that are short or have no fingerprint are compared with nothing and are alone, each with an
    id of its own. A cluster keeps its id as long as the document that it was named after stays in it. Doing it again
    writes nothing. Memory: some 140 octets a document beside its id, and ids a second time where many change. Raises
    UsageError and StoreError.

    `by` groups the documents in another way, in place of `distance` and `bound`; see `indexer.scheme_clusters`.
    """
    placer = Placer(store, rule or Rule(), dry_run=dry_run)
    if not dry_run:
        # A store that can't be written says so now, and not when everything was read.
        store.annotate(())
    if by is None:
        reach = check_bound(distance, bound)
        collection = read_documents(store)
        grouped = Grouped(collection, *group_documents(collection, distance, reach, threads))
    else:
        grouped = by(store)
    documents, groups = grouped.documents, grouped.groups
    kept = [np.array(placer.place(documents, batch), dtype=_ID) for batch in _batches(groups)]
    together = np.concatenate(groups) if groups else np.empty(0, dtype=np.int64)
    total = _place_lone(store, placer, RefSet(documents.refs, together))
    _forget(store, placer, np.sort(np.concatenate(kept)) if kept else np.empty(0, dtype=_ID))
    sizes = [each.size for each in groups]
    return Clustering(
        documents=total,
        compared=len(documents.refs),
        clusters=len(groups),
        clustered=sum(sizes),
        largest=max(sizes, default=0),
        split=grouped.split,
        changes=placer.changes,
    )


def read_documents(store: Store, *, include_short: bool = False) -> Collection:
    """Identity and hash of every document with a fingerprint."""
    refs = RefTable()
    values: list[npt.NDArray[np.uint64]] = []
    for batch in store.scan_values(include_short=include_short):
        refs.extend(batch.refs)
        values.append(batch.values)
    return Collection(refs, np.concatenate(values) if values else np.empty(0, dtype=np.uint64))


def group_documents(
    documents: Collection, distance: int, bound: int, threads: int | None = None
) -> tuple[list[Positions], int]:
    """The positions of the documents of each cluster of two or more, and how many components were split."""
    distinct, inverse, counts = np.unique(documents.values, return_inverse=True, return_counts=True)
    groups = group(distinct, counts, distance=distance, bound=bound, threads=threads)
    labels = groups.labels[inverse]
    del distinct, inverse, counts
    sizes = np.bincount(labels)
    inside = np.flatnonzero(sizes[labels] > 1)
    ordered = inside[np.argsort(labels[inside], kind="stable")]
    ends = np.cumsum(sizes[sizes > 1])
    return np.split(ordered, ends[:-1]) if ends.size else [], groups.split


def _batches(groups: Iterable[Positions]) -> Iterator[list[Positions]]:
    """Groups that are read and written together."""
    batch: list[Positions] = []
    count = 0
    for each in groups:
        if batch and count + each.size > READ_AT_ONCE:
            yield batch
            batch, count = [], 0
        batch.append(each)
        count += each.size
    if batch:
        yield batch


def _place_lone(store: Store, placer: Placer, together: RefSet) -> int:
    """Note the documents that are in no cluster as such; how many documents there are."""
    scan = store.scan_annotations()
    total = 0
    # They are written when the scan has ended: as long as it looks at an older state, an embedded store has to keep
    # that state beside all that is written.
    changed = RefTable()
    while some := list(islice(scan, READ_AT_ONCE)):
        total += len(some)
        inside = together.contains([ref for ref, _ in some])
        changed.extend(
            ref
            for (ref, noted), known in zip(some, inside, strict=True)
            if not known and noted.get("cluster") != lone(ref)
        )
    for start in range(0, len(changed), READ_AT_ONCE):
        refs = changed.take(range(start, min(start + READ_AT_ONCE, len(changed))))
        placer.note([(ref, lone(ref), {}) for ref in refs])
    return total


def _forget(store: Store, placer: Placer, kept: npt.NDArray[np.bytes_]) -> None:
    """Remove the clusters that were not found again."""
    stored = store.clusters()
    gone: list[str] = []
    while some := list(islice(stored, READ_AT_ONCE)):
        names = np.array([cluster.id.encode("utf-8", "replace") for cluster in some])
        found = np.isin(names, kept)
        gone += [cluster.id for cluster, there in zip(some, found.tolist(), strict=True) if not there]
    placer.remove_clusters(gone)


def stored_clusters(store: Store, *, least: int = 1) -> Iterator[Cluster]:
    """The clusters that a store holds, by id, as the annotations of its documents have them.

    Those with fewer than `least` members are left out; 2 leaves out the documents without near-duplicates. Documents
    that came since the last clustering are in none. Where the canonical document was deleted since, the nearest to it
    stands in its place. Memory: some 160 octets a document beside its id.
    """
    refs = RefTable()
    names = bytearray()
    ranks = bytearray()
    for ref, noted in store.scan_annotations():
        name = cluster_of(noted)
        if name is None or len(octets := name.encode("ascii", "replace")) != CLUSTER_ID_LENGTH:
            continue
        refs.extend((ref,))
        names += octets
        # The canonical document before those at distance 0.
        cluster = noted["cluster"]
        ranks.append(0 if cluster.get("is_canonical") else 1 + cluster.get("distance", 64))
    ids = np.frombuffer(bytes(names), dtype=_ID)
    order = np.argsort(ids, kind="stable")
    ordered = ids[order]
    starts = [0, *(np.flatnonzero(ordered[1:] != ordered[:-1]) + 1).tolist()] if ordered.size else []
    for start, end in pairwise([*starts, int(ordered.size)]):
        if end - start >= least:
            positions = order[start:end]
            found = sorted(
                zip((ranks[position] for position in positions.tolist()), refs.take(positions), strict=True),
                key=lambda pair: (pair[0], ref_order(pair[1])),
            )
            members = tuple(ref for _, ref in found)
            distances = tuple(max(rank - 1, 0) for rank, _ in found)
            yield Cluster(ordered[start].decode("ascii"), members[0], members, distances)
