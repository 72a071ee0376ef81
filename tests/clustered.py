"""What the tests of clusters share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from indexer.cluster import stored_clusters
from indexer.keys import SIMHASH64_LAYOUT, simhash_keys
from indexer.model import SIMHASH_DOC, Fingerprint, Record, Ref
from indexer.stores import Store, StoreInfo

INFO = StoreInfo(
    scheme=SIMHASH_DOC, layout=SIMHASH64_LAYOUT, content="landmarks", extractor="1", unicode="16.0.0", version="0.1.0"
)


def record(name: str, value: int | None, **fields: Any) -> Record:
    """A record with the true keys of its value."""
    fingerprint = None if value is None else Fingerprint(value, fields.pop("tokens", 500))
    return Record(Ref(name), fingerprint, () if value is None else simhash_keys(value), **fields)


def partition(store: Store) -> dict[str, str]:
    """The members of each cluster, their ids in order and run together, and the canonical one's id."""
    return {"".join(sorted(ref.id for ref in each.members)): each.canonical.id for each in stored_clusters(store)}


def wide(values: Sequence[int], bound: int) -> bool:
    """Whether any two are further apart than the bound."""
    return any((a ^ b).bit_count() > bound for a in values for b in values)
