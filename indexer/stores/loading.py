"""Put records made elsewhere into a store."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, Protocol

from indexer.model import Record
from indexer.stores.base import Store

Status = Literal["created", "replaced", "unchanged", "missing", "failed"]


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
        old = [None] * len(records) if store.created else store.get([record.ref for record in records])
        landed = [
            Landed(record, "created" if not known else "unchanged" if _is_same(known, record) else "replaced")
            for record, known in zip(records, old, strict=True)
        ]
        left = [place for place, one in enumerate(landed) if one.status != "unchanged"]
        if not self._dry_run:
            for place, result in zip(left, store.put([records[place] for place in left]), strict=True):
                landed[place] = Landed(records[place], result.status.value, result.reason)
        return landed

    def finish(self) -> None: ...


def _is_same(known: Record, record: Record) -> bool:
    def seen(one: Record) -> Record:
        return replace(one.without_sketches(), indexed_at="")

    return known.sketches.keys() == record.sketches.keys() and seen(known) == seen(record)
