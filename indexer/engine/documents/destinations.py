"""Destinations of the records of a batch: a store that neardup made, or the documents of somebody else's index."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import Protocol

from indexer.engine.client.connection import connect
from indexer.engine.client.names import reading_path
from indexer.engine.documents.given import Landed, Owned, Status, require_same_schemes
from indexer.engine.index.mapping import Mappings, read_mappings
from indexer.engine.store.store import SearchStore
from indexer.errors import NoStoreError
from indexer.model import Record
from indexer.model.paths import store_file
from indexer.model.times import Refresh
from indexer.opening import open_store
from indexer.stores import StoreInfo
from indexer.stores.base import PutStatus, Store

_STATUSES: Mapping[PutStatus, Status] = {
    PutStatus.CREATED: "created", PutStatus.REPLACED: "replaced", PutStatus.FAILED: "failed",
}  # fmt: skip


class Destination(Protocol):
    """A place for records: a store, or the documents of an owner's index; `store` is None where there is none yet."""

    @property
    def store(self) -> Store | None:
        """The store that keeps what stands beside the records."""

    def put(self, records: Sequence[Record]) -> list[Landed]:
        """Put records there, of different identities; one result each, in order."""

    def finish(self) -> None:
        """Make what was put there visible."""


class Stored:
    """A store, which takes every record; with `dry_run` it is only looked at."""

    def __init__(self, store: Store | None, *, dry_run: bool = False) -> None:
        self.store, self._dry_run = store, dry_run

    def put(self, records: Sequence[Record]) -> list[Landed]:
        """See Destination. A record that is there already is left alone."""
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

    def finish(self) -> None:
        """See Destination: a store does so when it is closed."""


class Completed:
    """The documents of an owner's index, and new ones for what it lacks."""

    def __init__(self, owned: Owned) -> None:
        self._owned = owned

    @property
    def store(self) -> Store | None:
        """See Destination."""
        return self._owned.store

    def put(self, records: Sequence[Record]) -> list[Landed]:
        """See Destination."""
        landed = self._owned.put(records)
        made = iter(Stored(self.store).put([one.record for one in landed if one.status == "missing"]))
        return [next(made) if one.status == "missing" else one for one in landed]

    def finish(self) -> None:
        """See Destination."""
        self._owned.finish()


def _is_same(known: Record, record: Record) -> bool:
    """True if a store has a record already; the sketches are those of the digest, if they are by the same schemes."""

    def seen(one: Record) -> Record:
        return replace(one, indexed_at="", keys=(), sketches={})

    return known.sketches.keys() == record.sketches.keys() and seen(known) == seen(record)


@dataclass(frozen=True, slots=True)
class Opening:
    """The options of opening a destination: without `create` only one that is there.

    `create_missing` also makes documents that an owner's index lacks; for the rest see `Wanted`.
    """

    create: bool = True
    create_missing: bool = False
    dry_run: bool = False
    refresh: Refresh = "wait"
    allow_version_change: bool = False


@dataclass(frozen=True, slots=True)
class Opened:
    """A destination, the `indices` behind its name, and whether documents lie in one that is not named by it."""

    destination: Destination
    indices: frozenset[str] = frozenset()
    scattered: bool = False


@contextmanager
def opened(name: str, info: StoreInfo, how: Opening) -> Iterator[Opened]:
    """The destination that a store's name stands for: a file or an index, which is made where there is none.

    An index is the owner's where neardup has not made it, or it has fields of somebody else's. Raises StoreError,
    NoStoreError where none is to be made, IncompatibleStoreError where its sketches are of another form than `info`.
    """
    with ExitStack() as stack:
        mappings = Mappings()
        if not store_file(name):
            client = connect(name)
            stack.callback(client.close)
            mappings = read_mappings(client, reading_path(client.target.name))
        if not mappings:
            yield Opened(stack.enter_context(_stored(name, info, how)))
            return
        indices, scattered = frozenset(mappings), list(mappings) != [client.target.name]
        if not all(mapping.seems_made for mapping in mappings.values()):
            owned = Owned(
                client, info, dry_run=how.dry_run, refresh=how.refresh, allow_version_change=how.allow_version_change
            )
            yield Opened(Completed(owned) if how.create_missing else owned, indices, scattered)
            return
        store = stack.enter_context(SearchStore(client, create=info, read_only=how.dry_run))
        require_same_schemes(store.info.schemes, info, client.target.shown)
        store.refresh = how.refresh
        yield Opened(Stored(store, dry_run=how.dry_run), indices, scattered)


@contextmanager
def _stored(name: str, info: StoreInfo, how: Opening) -> Iterator[Stored]:
    """A store that is made where there is none, unless it is a dry run."""
    if not how.create:
        open_store(name, read_only=True).close()
    try:
        store = open_store(name, create=info, read_only=how.dry_run)
    except NoStoreError:
        if not how.dry_run:
            raise
        yield Stored(None, dry_run=True)
        return
    with store:
        require_same_schemes(store.info.schemes, info, name)
        store.refresh = how.refresh
        yield Stored(store, dry_run=how.dry_run)
