"""What the tests of stores are made with."""

from __future__ import annotations

from typing import Any

from indexer.model import SIMHASH_DOC, ClusterRecord, Fingerprint, Record, Ref
from indexer.schemes.keys.simhash64 import SIMHASH64_LAYOUT
from indexer.schemes.simhash import sketched
from indexer.stores import PutStatus, Store, StoreInfo

INFO = StoreInfo(
    scheme=SIMHASH_DOC, layout=SIMHASH64_LAYOUT, content="landmarks", extractor="1", unicode="16.0.0", version="0.1.0"
)


def record(name: str, value: int | None = 0x0123_4567_89AB_CDEF, **fields: Any) -> Record:
    """A record with the true keys of its value."""
    own = {} if value is None else sketched(Fingerprint(value, fields.pop("tokens", 500)))
    return Record(Ref(name), own | fields.pop("sketches", {}), **fields)


def put(store: Store, *records: Record) -> list[PutStatus]:
    """Store records and give what became of each."""
    return [result.status for result in store.put(records)]


def cluster(name: str, **fields: Any) -> ClusterRecord:
    """A cluster of two."""
    numbers = {"size": 2, "total_bytes": 0}
    known = {"canonical": Ref("a"), "title": "", **numbers, "first_seen": "", "last_seen": ""}
    return ClusterRecord(id=name, **{**known, **fields})
