"""The clusters that a store holds, read back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from indexer.clustering.assign import cluster_of
from indexer.model import CLUSTER_ID_LENGTH, Ref, own_cluster_id
from indexer.model.refs import RefTable, ref_order
from indexer.stores.base import Store

_ID = f"S{CLUSTER_ID_LENGTH}"


@dataclass(frozen=True, slots=True)
class Cluster:
    """Documents that belong together: `members` has the canonical one first, the others by similarity to it, then ref.

    `similarities[i]` (0 to 1) is that of `members[i]` to the canonical document, by the rule that made the clusters. A
    cluster of one is a document without near-duplicates.
    """

    id: str
    canonical: Ref
    members: tuple[Ref, ...]
    similarities: tuple[float, ...]


def stored_clusters(store: Store, *, least: int = 1) -> Iterator[Cluster]:
    """The clusters that a store holds, by id, as the annotations of its documents have them.

    Those with fewer than `least` members are left out; 2 leaves out the documents without near-duplicates. A document
    of which nothing is said, as one that came since the last clustering, is alone. Where the canonical document was
    deleted since, the nearest to it stands in its place. Memory: some 160 bytes a document beside its id.
    """
    refs = RefTable()
    names = bytearray()
    ranks: list[float] = []
    for ref, fields in store.scan_clustered() if least > 1 else store.scan_annotations():
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
    ids = np.frombuffer(bytes(names), dtype=_ID)
    order = np.argsort(ids, kind="stable")
    ordered = ids[order]
    starts = [0, *(np.flatnonzero(ordered[1:] != ordered[:-1]) + 1).tolist()] if ordered.size else []
    for start, end in pairwise([*starts, int(ordered.size)]):
        if end - start >= least:
            positions = order[start:end]
            in_order = sorted(
                zip((ranks[position] for position in positions.tolist()), refs.take(positions), strict=True),
                key=lambda pair: (-pair[0], ref_order(pair[1])),
            )
            members = tuple(ref for _, ref in in_order)
            yield Cluster(
                ordered[start].decode("ascii"), members[0], members, tuple(min(rank, 1.0) for rank, _ in in_order)
            )


def similarity_of(cluster: Mapping[str, Any]) -> float:
    """The similarity to the canonical document in a document's annotation; older ones hold a distance of 0 to 64."""
    similarity = cluster.get("similarity")
    return float(similarity) if similarity is not None else 1 - cluster.get("distance", 64) / 64
