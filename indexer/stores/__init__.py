"""Stores: where records are kept and candidates are found."""

from indexer.stores.base import Capabilities, PutResult, PutStatus, Stats, Store, StoreInfo

__all__ = [
    "Capabilities",
    "PutResult",
    "PutStatus",
    "Stats",
    "Store",
    "StoreInfo",
]
