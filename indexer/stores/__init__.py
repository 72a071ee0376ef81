"""Stores: they keep records and find candidates."""

from indexer.stores.base import PutResult, PutStatus, Stats, Store, StoreInfo

__all__ = [
    "PutResult",
    "PutStatus",
    "Stats",
    "Store",
    "StoreInfo",
]
