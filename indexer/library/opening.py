"""Open a store by its path or URL."""

from __future__ import annotations

import contextlib
import inspect
import os
import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from indexer.errors import UsageError, takes_named
from indexer.model.findings import Finding
from indexer.model.paths import store_file
from indexer.stores.base import Store, StoreInfo
from indexer.stores.schemes import with_schemes
from indexer.text.hiding import may_be_credential, shown_name
from indexer.text.remarks import Level

if TYPE_CHECKING:
    from indexer.model.times import Refresh

DEFAULT_WAIT = 5.0


@takes_named
def open_store(
    url: str | os.PathLike[str],
    *,
    create: StoreInfo | None = None,
    read_only: bool = False,
    wait: float = DEFAULT_WAIT,
    any_thread: bool = False,
) -> Store:
    """Open the store at a path, a `sqlite:///path` URL or a cluster's URL.

    A missing store is made only with `create`, with its schemes. With `create` the store is opened to be written at
    once: an existing one must be comparable with it (IncompatibleStoreError), and the place of the one writer is taken
    now and kept until close() (StoreBusyError after `wait` seconds). Without it the first write takes the place. With
    `read_only` nothing is ever written; `create` is then only compared. With `any_thread` other threads may use the
    store too, one at a time under the caller's care. Raises StoreError if there is no store or it can't be used,
    UsageError for an unknown kind of URL.
    """
    name = os.fspath(url)
    scheme = _SCHEME.match(name)
    if scheme is None or scheme[1].lower() == "sqlite":
        return with_schemes(_open_sqlite(name, create, read_only, wait, any_thread), create)
    if scheme[1].lower() not in _CLUSTERS:
        raise UsageError(
            f"{shown_name(name)}: {scheme[1]}:// is not supported; give a path, sqlite:///path, or an "
            "index as https://host:9200/INDEX"
        )
    from indexer.engine.store.store import open_search_store

    return with_schemes(open_search_store(name, create, read_only, wait), create)


def examine_place(url: str | os.PathLike[str]) -> Iterator[Finding]:
    """The findings on the place of a URL that need no store; Store.examine() gives the others.

    Raises StoreError, and UsageError for an unknown kind of URL.
    """
    name = os.fspath(url)
    if store_file(name):
        import sqlite3

        yield Finding("engine", "ok", f"SQLite {sqlite3.sqlite_version}")
        return
    from indexer.engine.client.connection import connect
    from indexer.engine.store.examination import of_engine

    client = connect(name)
    try:
        yield from of_engine(client)
    finally:
        client.close()


def _open_sqlite(url: str, create: StoreInfo | None, read_only: bool, wait: float, any_thread: bool) -> Store:
    from indexer.stores.sqlite.store import SqliteStore

    scheme = _SCHEME.match(url)
    path = url[scheme.end() :] if scheme else url
    if scheme:
        # As SQLAlchemy has it: three slashes before a relative path, four before an absolute one.
        if not path.startswith("/"):
            raise UsageError(f"{shown_name(url)}: write sqlite:///relative/path or sqlite:////absolute/path")
        path = path[1:]
    if not path or "\0" in path:
        raise UsageError(f"{shown_name(url)!r}: is not the path of a store")
    if may_be_credential(path):
        # Not even as the name of a new file.
        raise UsageError(
            f"{shown_name(path)}: is not the path of a store; the address of a search engine is written https://host:9200/INDEX"
        )
    return SqliteStore(Path(path), create=create, read_only=read_only, wait=wait, any_thread=any_thread)


_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
_CLUSTERS = (
    "https",
    "http",
    *(f"{engine}+{way}" for engine in ("elasticsearch", "opensearch") for way in ("https", "http")),
)

# What is said meanwhile

_PASSED_OVER = (str(Path(__file__).parents[1]) + os.sep, contextlib.__file__)


class Tell(Protocol):
    """Called with a sentence about a request that can't be met; `fields` are the counts in it."""

    def __call__(self, text: str, *, level: Level = "info", **fields: object) -> None:
        """Tell it."""


class RunProgress(Protocol):
    """The counts of a run in progress: `done` of `total` documents (0 if unknown)."""

    total: int

    @property
    def done(self) -> int:
        """The number of documents dealt with."""

    @property
    def failures(self) -> int:
        """The number of failed documents."""


Follow = Callable[[RunProgress], AbstractContextManager[object]]
"""Called with the counts of a run; what it gives is entered while they change."""


def warned(text: str, *, level: Level = "info", **_fields: object) -> None:
    """Warn the user with a UserWarning at the responsible line outside this package."""
    if level == "info":
        return
    frame, depth = inspect.currentframe(), 1
    while frame and frame.f_back and frame.f_code.co_filename.startswith(_PASSED_OVER):
        frame, depth = frame.f_back, depth + 1
    warnings.warn(text, stacklevel=depth)


def opened(
    store: str | os.PathLike[str],
    tell: Tell,
    *,
    read_only: bool = False,
    refresh: Refresh = "wait",
    **more: Any,
) -> Store:
    """Open a store as `open_store` does, and tell of a new index, and what may be wrong if it is only read."""
    opened_store = open_store(store, read_only=read_only, **more)
    opened_store.refresh = refresh
    try:
        tell_made(opened_store, os.fspath(store), tell)
        for notice in opened_store.notices() if read_only else ():
            tell(notice, level="warning")
    except BaseException:
        opened_store.close()
        raise
    return opened_store


def tell_made(store: Store, name: str, tell: Tell) -> None:
    """Tell that an index was made, in case its name was mistyped."""
    if store.created and not store.embedded:
        tell(f"there was no index {shown_name(name)}, so it was made")


def tell_contended(store: Store, tell: Tell) -> int:
    """Tell about documents left as they are because others change them constantly; returns how many."""
    if sentence := store.contended.sentence():
        tell(sentence, level="warning", contended=store.contended.count)
    return store.contended.count
