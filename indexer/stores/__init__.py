"""Stores: they keep records and find candidates."""

from indexer.stores.base import Capabilities, PutResult, PutStatus, Stats, Store, StoreInfo

__all__ = [
    "Capabilities",
    "PutResult",
    "PutStatus",
    "Stats",
    "Store",
    "StoreInfo",
]
