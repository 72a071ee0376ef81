"""The destination of a batch: a store, or an owner's index."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from indexer.errors import NoStoreError
from indexer.library.opening import open_store
from indexer.model.paths import store_file
from indexer.model.times import Refresh
from indexer.stores import StoreInfo
from indexer.stores.loading import LoadedStore, RecordDestination


@dataclass(frozen=True, slots=True)
class Opening:
    """The options of opening a destination: without `create` only an existing one.

    `create_missing` also makes documents missing in an owner's index; for the rest see `Wanted`.
    """

    create: bool = True
    create_missing: bool = False
    dry_run: bool = False
    refresh: Refresh = "wait"
    allow_version_change: bool = False


@dataclass(frozen=True, slots=True)
class Opened:
    """A destination, the `indices` behind its name, and whether documents may be in an index with another name.

    `is_owners` says that the indices belong to an owner.
    """

    destination: RecordDestination
    indices: frozenset[str] = frozenset()
    scattered: bool = False
    is_owners: bool = False


@contextmanager
def opened(name: str, info: StoreInfo, how: Opening) -> Iterator[Opened]:
    """The destination behind a store's name: a file or an index, made if missing.

    An index is an owner's if neardup has not made it, or others have fields in it. Raises StoreError, NoStoreError if
    none may be made, IncompatibleStoreError if its sketches have another form than `info`.
    """
    with ExitStack() as stack:
        indices, scattered = frozenset[str](), False
        if not store_file(name):
            from indexer.engine.client.connection import connect
            from indexer.engine.client.names import reading_path
            from indexer.engine.documents.owned_index import CompletedIndex, OwnedIndex
            from indexer.engine.index.mapping import read_mappings

            client = connect(name)
            stack.callback(client.close)
            mappings = read_mappings(client, reading_path(client.target.name))
            indices, scattered = frozenset(mappings), list(mappings) not in ([], [client.target.name])
            if not all(mapping.seems_made for mapping in mappings.values()):
                owned = OwnedIndex(
                    client,
                    info,
                    dry_run=how.dry_run,
                    refresh=how.refresh,
                    allow_version_change=how.allow_version_change,
                )
                yield Opened(CompletedIndex(owned) if how.create_missing else owned, indices, scattered, True)
                return
        yield Opened(stack.enter_context(_stored(name, info, how)), indices, scattered)


@contextmanager
def _stored(name: str, info: StoreInfo, how: Opening) -> Iterator[LoadedStore]:
    if not how.create:
        open_store(name, read_only=True).close()
    try:
        store = open_store(name, create=info, read_only=how.dry_run)
    except NoStoreError:
        if not how.dry_run:
            raise
        yield LoadedStore(None, dry_run=True)
        return
    with store:
        info.require_same_schemes(store.info.schemes, name)
        store.refresh = how.refresh
        yield LoadedStore(store, dry_run=how.dry_run)
