"""Clusters of near-duplicates over a store: what a cluster is, and how it is read back."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from indexer.model import Ref
from indexer.stores.base import Store


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


def stored_clusters(store: Store) -> Iterator[Cluster]:
    """The clusters that a store holds, singletons too, as the annotations of its documents have them."""
    raise NotImplementedError
