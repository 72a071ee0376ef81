"""Annotations of stored documents: their clusters, the documents that they repeat, versions, marks."""

from __future__ import annotations

import sys
from array import array
from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from indexer.model import CLUSTER_ID_LENGTH, Ref, named_ref, naming, own_cluster_id, size_class
from indexer.model.chunking import chunks
from indexer.model.refs import RefTable, ref_order
from indexer.relations.relation import verdict_of
from indexer.stores.base import Store

READ_AT_ONCE = 2000


def membership(cluster: str, is_canonical: bool, similarity: float, size: int) -> dict[str, Any]:
    """The annotation `cluster` of a document in a cluster of `size` members, with this similarity to the
    canonical one.
    """
    kept = {"size_class": size_class(size)} if size > 1 else {}
    return {"id": cluster, "is_canonical": is_canonical, "similarity": similarity, **kept}


def repeating(ref: Ref, other: Ref, similarity: float) -> dict[str, Any]:
    return {**naming("repeats", ref, other), "repeats_similarity": similarity}


def repeated_by(ref: Ref, annotations: Mapping[str, Any]) -> Ref | None:
    cluster = annotations.get("cluster")
    return named_ref("repeats", ref, cluster) if isinstance(cluster, dict) else None


def annotate(
    store: Store, changed: Sequence[tuple[Ref, dict[str, Any]]], versions: Mapping[Ref, Hashable] | None = None
) -> int:
    """Write annotations; returns how many were written, without those of documents that changed meanwhile."""
    if not changed:
        return 0
    before = store.contended.count
    store.annotate(changed, versions=versions)
    return len(changed) - (store.contended.count - before)


def leaving(store: Store, refs: Collection[Ref]) -> set[Ref]:
    """Those that repeat another document and do not differ from it, as forms and renditions do, which stay."""
    found: set[Ref] = set()
    for page in chunks(refs, READ_AT_ONCE):
        for ref, fields in zip(page, store.annotations(page), strict=True):
            if fields and repeated_by(ref, fields) and verdict_of(fields["cluster"].get("relation")) != "differs":
                found.add(ref)
    return found


def alone(ref: Ref) -> dict[str, Any]:
    return membership(own_cluster_id(ref), True, 1.0, 1)


def is_alone(ref: Ref, annotations: Mapping[str, Any]) -> bool:
    name = cluster_of(annotations)
    if name is None:
        return True
    said = annotations["cluster"]
    return name == own_cluster_id(ref) and not said.get("size_class") and not said.get("repeats")


def cluster_of(annotations: Mapping[str, Any]) -> str | None:
    cluster = annotations.get("cluster")
    name = cluster.get("id") if isinstance(cluster, dict) else None
    return name if isinstance(name, str) else None


def version_of(annotations: Mapping[str, Any]) -> tuple[int | None, bool]:
    version = annotations.get("version")
    ordinal = version.get("ordinal") if isinstance(version, Mapping) else None
    return (ordinal, bool(version["is_latest"])) if isinstance(version, Mapping) and ordinal else (None, True)


# The annotation of a marked document: the id of the document that stands for it.
MARK = "duplicate_of"


_ID = f"S{CLUSTER_ID_LENGTH}"


@dataclass(frozen=True, slots=True)
class StoredCluster:
    """Documents that belong together: `members` has the canonical one first, the others by similarity to it, then ref.

    `similarities[i]` (0 to 1) is that of `members[i]` to the canonical document. `repeats[i]` is the kept document,
    maybe of another cluster, for which it could be removed, None for a kept one; `shares[i]` (0 to 1) is their
    similarity, and `relations[i]` the noted relation, empty without one. `repeating[i]` is the number of documents of
    the store repeating the same one, 0 for a kept one. A cluster of one is a document without near-duplicates, or one
    cut off from its component.
    """

    id: str
    canonical: Ref
    members: tuple[Ref, ...]
    similarities: tuple[float, ...]
    repeats: tuple[Ref | None, ...]
    shares: tuple[float, ...]
    relations: tuple[str, ...]
    repeating: tuple[int, ...]


def stored_clusters(store: Store, *, least: int = 1, repeating: bool = False) -> Iterator[StoredCluster]:
    """The clusters of a store, by id, from the annotations of its documents.

    Memory: some 190 bytes a document beside its id.
    """
    refs, others = RefTable(), RefTable()
    # By document: the place of what it repeats, below 0 where it is kept, and how similar it is to that one.
    of, shares, relations = array("q"), array("d"), list[str]()
    repeated = array("q")
    names = bytearray()
    ranks: list[float] = []
    for ref, fields in store.scan_annotations(clustered=least > 1):
        name = cluster_of(fields)
        if name is None:
            if least > 1:
                continue
            name = own_cluster_id(ref)
        encoded = name.encode("ascii", "replace")
        if len(encoded) != CLUSTER_ID_LENGTH:
            continue
        refs.extend((ref,))
        names += encoded
        cluster = fields.get("cluster", {"is_canonical": True})
        # The canonical document before those that equal it.
        ranks.append(2.0 if cluster.get("is_canonical") else similarity_of(cluster))
        other = repeated_by(ref, fields)
        of.append(len(others) if other else -1)
        shares.append(cluster.get("repeats_similarity", 0.0) if other else 1.0)
        # Of so few words each is held once.
        relations.append(sys.intern(str(cluster.get("relation") or "")))
        others.extend((other,) if other else ())
        repeated.extend((hash(other),) if other else ())
    _, numbers, counts = np.unique(np.array(repeated, dtype=np.int64), return_inverse=True, return_counts=True)
    ids = np.frombuffer(bytes(names), dtype=_ID)
    order = np.argsort(ids, kind="stable")
    ordered = ids[order]
    starts = [0, *(np.flatnonzero(ordered[1:] != ordered[:-1]) + 1).tolist()] if ordered.size else []
    for start, end in pairwise([*starts, int(ordered.size)]):
        positions = order[start:end].tolist()
        if end - start >= least or (repeating and any(of[position] >= 0 for position in positions)):
            in_order = sorted(
                zip(refs.take(positions), positions, strict=True),
                key=lambda pair: (-ranks[pair[1]], ref_order(pair[0])),
            )
            places = [place for _, place in in_order]
            yield StoredCluster(
                ordered[start].decode("ascii"),
                in_order[0][0],
                tuple(ref for ref, _ in in_order),
                tuple(min(ranks[place], 1.0) for place in places),
                tuple(others.take([of[place]])[0] if of[place] >= 0 else None for place in places),
                tuple(shares[place] for place in places),
                tuple(relations[place] for place in places),
                tuple(int(counts[numbers[of[place]]]) if of[place] >= 0 else 0 for place in places),
            )


def similarity_of(cluster: Mapping[str, Any]) -> float:
    similarity = cluster.get("similarity")
    return 0.0 if similarity is None else float(similarity)
