"""Put records made elsewhere into a store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, Protocol

from indexer.model import Record
from indexer.stores.base import PutStatus, Store

Status = Literal["created", "replaced", "unchanged", "missing", "failed"]
_STATUSES: Mapping[PutStatus, Status] = {
    PutStatus.CREATED: "created", PutStatus.REPLACED: "replaced", PutStatus.FAILED: "failed",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Landed:
    """The outcome for a record: the `status` of its document, and the `reason` if it failed."""

    record: Record
    status: Status
    reason: str = ""


class RecordDestination(Protocol):
    """A place for records: a store, or an owner's index; `store` is None before there is one."""

    @property
    def store(self) -> Store | None: ...

    def put(self, records: Sequence[Record]) -> list[Landed]:
        """Put records there, of different identities; one result each, in order."""

    def finish(self) -> None:
        """Make the records visible."""


class LoadedStore:
    def __init__(self, store: Store | None, *, dry_run: bool = False) -> None:
        self.store, self._dry_run = store, dry_run

    def put(self, records: Sequence[Record]) -> list[Landed]:
        store = self.store
        if store is None:
            return [Landed(record, "created") for record in records]
        old: Sequence[Record | None] = [None] * len(records)
        if not store.created:
            old = store.get([record.ref for record in records])
        same = [known is not None and _is_same(known, record) for known, record in zip(old, records, strict=True)]
        left = [record for record, known in zip(records, same, strict=True) if not known]
        if self._dry_run:
            there = [known is not None for known, is_same in zip(old, same, strict=True) if not is_same]
            new = [Landed(one, "replaced" if known else "created") for one, known in zip(left, there, strict=True)]
        else:
            results = zip(left, store.put(left), strict=True)
            new = [Landed(record, _STATUSES[result.status], result.reason) for record, result in results]
        following = iter(new)
        return [
            Landed(record, "unchanged") if known else next(following)
            for record, known in zip(records, same, strict=True)
        ]

    def finish(self) -> None: ...


def _is_same(known: Record, record: Record) -> bool:
    def seen(one: Record) -> Record:
        return replace(one.without_sketches(), indexed_at="")

    return known.sketches.keys() == record.sketches.keys() and seen(known) == seen(record)
