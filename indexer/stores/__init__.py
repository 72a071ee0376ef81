"""Stores: where records are kept and candidates are found; `open_store` opens one by its URL or path."""

from __future__ import annotations

from indexer.stores.base import (
    Candidate,
    Capabilities,
    PutResult,
    PutStatus,
    Stats,
    Store,
    StoreInfo,
    ValueBatch,
)

__all__ = [
    "Candidate",
    "Capabilities",
    "PutResult",
    "PutStatus",
    "Stats",
    "Store",
    "StoreInfo",
    "ValueBatch",
    "open_store",
]

DEFAULT_WAIT = 5.0


def open_store(
    url: str, *, create: StoreInfo | None = None, read_only: bool = False, wait: float = DEFAULT_WAIT
) -> Store:
    """Open the store at a path, a `sqlite:///path` URL or a cluster's URL.

    A store that is not there is made only where `create` is given. With `create` the store is opened to be written at
    once: a store that is there must be comparable with it (IncompatibleStoreError), and the place of the one writer is
    taken now (StoreBusyError after `wait` seconds). Without it the writer's place is taken by the first write. With
    `read_only` nothing is ever written; `create` is then only compared. Raises StoreError where there is no store.
    """
    raise NotImplementedError
