"""Stores: they keep records and find candidates."""

from indexer.model.counts import Stats
from indexer.stores.base import PutResult, PutStatus, Store, StoreInfo

__all__ = [
    "PutResult",
    "PutStatus",
    "Stats",
    "Store",
    "StoreInfo",
]
