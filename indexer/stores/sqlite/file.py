"""The file of an embedded store: schema, opening, errors."""

from __future__ import annotations

import os
import re
import sqlite3
from collections.abc import Iterator
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import TypeVar
from urllib.parse import quote

from indexer.errors import IncompatibleStoreError, NoStoreError, StoreBusyError, StoreError, UsageError
from indexer.model import SHORT_IDS, SIMHASH_DOC
from indexer.model.kinds import DOCUMENTS, kind_named
from indexer.schemes.keys.layout import SchemeInfo
from indexer.stores.base import StoreInfo
from indexer.stores.kept import CLUSTERS, DECISIONS, FAILURES
from indexer.stores.sqlite import cells
from indexer.stores.sqlite.tables import FIRST, add_scheme, read_schemes

APPLICATION_ID = 0x6E647570  # "ndup", in the header of the file: marks a store among SQLite files

T = TypeVar("T")

# The number of this form of the file, in its header; a file of another one is refused.
FORM = 6
# A string from outside is kept as a BLOB of UTF-8 in which lone surrogates pass, because file names hold them and
# SQLite's text can't.
_TABLES = (
    "CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
    # Where the source is NULL it is the id; the last five may be empty, and first_indexed_at then is indexed_at. Times
    # are microseconds where they are of the usual form.
    """CREATE TABLE documents (
        number INTEGER PRIMARY KEY, id BLOB NOT NULL, id_digest INTEGER NOT NULL, short INTEGER NOT NULL,
        size INTEGER NOT NULL, format BLOB NOT NULL, source BLOB, title BLOB NOT NULL, extractor BLOB NOT NULL,
        indexed_at NOT NULL, digest_crc INTEGER, source_digest BLOB NOT NULL, metadata TEXT,
        text_digest BLOB NOT NULL, container BLOB NOT NULL, read_digest BLOB NOT NULL,
        beside_digest BLOB NOT NULL, first_indexed_at NOT NULL)""",
    # Of a few bytes of the id's digest, which are as good as the id, and a tenth of a URL.
    "CREATE INDEX documents_by_id ON documents (id_digest)",
    # Of the digest's CRC-32, not of the digest: a tenth of the size.
    "CREATE INDEX documents_by_digest ON documents (digest_crc) WHERE digest_crc IS NOT NULL",
    # Each has tables of its own, named by its number, which no other one is given later (tables.py).
    # Documents are those with a sketch, comparable those of them that are not short and have words; sketches, the
    # distinct ones with features.
    """CREATE TABLE schemes (
        number INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE, id TEXT NOT NULL, tables INTEGER NOT NULL,
        bits INTEGER NOT NULL, comparable INTEGER NOT NULL, documents INTEGER NOT NULL, sketches INTEGER NOT NULL)""",
    "CREATE TABLE annotations (document INTEGER PRIMARY KEY, fields TEXT NOT NULL, cluster BLOB)",
    # The members of a cluster are looked up for each document that joins it.
    "CREATE INDEX annotations_by_cluster ON annotations (cluster) WHERE cluster IS NOT NULL",
    # What is kept by name; `exact` is its JSON.
    *(
        f"CREATE TABLE {kind.name} (id BLOB PRIMARY KEY, exact TEXT NOT NULL) WITHOUT ROWID"
        for kind in (CLUSTERS, FAILURES, DECISIONS)
    ),
    "CREATE TABLE resources (name TEXT PRIMARY KEY, octets BLOB NOT NULL)",
)

# The fields of a StoreInfo that `meta` holds.
_INFO = ("content", "extractor", "unicode", "version")

_HEADER_BYTES = 100
_OLDEST_SQLITE = (3, 35, 0)
# Twice SQLite's default: keys are scattered, so a write touches a page for each, and a wider tree is flatter.
_PAGE_BYTES = 8192
_CACHE_KIB = 65_536
# A lookup reads pages all over the file; mapped ones need no call and no copy.
_MAPPED_BYTES = 1 << 31
# A page that several batches touch goes from the log to the file once for all of them: in a large file, whose batches
# touch more pages, the log is larger, up to 512 MB.
_LOG_PAGES, _MOST_LOG_PAGES, _LOG_SHARE = 8192, 65_536, 16


class StoreFile:
    """A path and ways to open connections to it; `real` is the path without links, next to SQLite's log."""

    def __init__(self, path: Path, *, read_only: bool, wait: float, any_thread: bool = False) -> None:
        self.path = path
        self.real = os.path.realpath(path)
        self._places: dict[str, os.stat_result] = {}
        self.read_only = read_only
        self.immutable = False
        self._wait, self._one_thread = wait, not any_thread
        if sqlite3.sqlite_version_info < _OLDEST_SQLITE:
            raise StoreError(f"SQLite {sqlite3.sqlite_version} is too old: the embedded store needs 3.35 or newer")

    def connect(self, *, make: bool = False, any_thread: bool = False) -> sqlite3.Connection:
        mode = "rwc" if make else "rw"
        uri = self._uri("immutable=1" if self.immutable else f"mode={mode}")
        connection = sqlite3.connect(
            uri, uri=True, isolation_level=None, timeout=self._wait, cached_statements=256,
            check_same_thread=self._one_thread and not any_thread,
        )  # fmt: skip
        try:
            if make:
                connection.execute(f"PRAGMA page_size = {_PAGE_BYTES}")
            # A file from somewhere else runs nothing of its own.
            connection.execute("PRAGMA trusted_schema = OFF")
            connection.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
            connection.execute(f"PRAGMA mmap_size = {_MAPPED_BYTES}")
            # NORMAL would be safe against a kill of the process, but a power cut could undo batches that were reported
            # as stored. A batch is large, so that writing it through takes a small part of its time.
            connection.execute("PRAGMA synchronous = FULL")
            fit_log(connection)
            if self.read_only:
                connection.execute("PRAGMA query_only = ON")
            connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        except BaseException:
            connection.close()
            raise
        return connection

    def _uri(self, options: str) -> str:
        return f"file:{quote(os.fsencode(self.real))}?{options}"

    def _refuse_others(self) -> None:
        """Raise StoreError for a file with another program's first page.

        The page is read as it is: SQLite would merge the other program's log or journal into the file.
        """
        with suppress(sqlite3.Error), closing(sqlite3.connect(self._uri("immutable=1"), uri=True)) as connection:
            (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
            (owner,) = connection.execute("PRAGMA application_id").fetchone()
            if owner != APPLICATION_ID and (tables or owner):
                raise _not_a_store(self.path)

    def open(self) -> sqlite3.Connection:
        with self.explained():
            self._require_file()
            if not self.path.exists():
                raise NoStoreError(f"{self.path}: there is no store here; index some documents first")
            self._refuse_others()
            try:
                return self.connect()
            except sqlite3.OperationalError as error:
                log = Path(f"{self.real}-wal")
                has_log = log.exists() and log.stat().st_size > 0
                if has_log or not _name_of(error).startswith(("SQLITE_CANTOPEN", "SQLITE_READONLY")):
                    raise
            # Nothing can be written beside the file, not even the log's index, and no log is there to be read: no
            # writer is at work, so the file is read as it stands.
            self.immutable = True
            return self.connect()

    def make(self) -> sqlite3.Connection:
        with self.explained():
            self.require_place()
            return self.connect(make=True)

    def require_place(self) -> None:
        """Raise StoreError if no store can be made or opened for writing at the path."""
        with self.explained():
            if not self.path.parent.is_dir():
                raise StoreError(f"{self.path}: the directory {self.path.parent} does not exist; create it first")
            self._require_file()
            if self.path.exists():
                self._refuse_others()

    def _require_file(self) -> None:
        if self.path.is_dir():
            raise StoreError(f"{self.path}: is a directory; name the file of the store")
        # SQLite takes a file shorter than its header for an empty one, and would write over it. Only its size is asked
        # for: closing the file here would drop the locks that another store object of this process has on it.
        if self.path.exists() and 0 < self.path.stat().st_size < _HEADER_BYTES:
            raise StoreError(f"{self.path}: is not a store: it is not an SQLite file. Name another file")

    def size(self) -> int:
        names = (Path(self.real), Path(f"{self.real}-wal"))
        return sum(name.stat().st_size for name in names if name.exists())

    def require_one_name(self) -> None:
        """Raise StoreError for a file with hard links: SQLite's log lies beside one name, and another would lack it."""
        with self.explained():
            links = os.stat(self.real).st_nlink if os.path.exists(self.real) else 1
            if links > 1:
                raise StoreError(
                    f"{self.path}: the file has {links} names (hard links), and a program that opens it by another "
                    "name would miss what is written, or damage it; copy it to a file of its own, or remove the others"
                )

    def require_in_place(self) -> None:
        """Raise StoreError if the file, its log or the log's index was moved, removed or replaced since first use.

        Nobody would find later writes again.
        """
        for suffix in ("", "-wal", "-shm"):
            name = self.real + suffix
            try:
                now = os.stat(name)
            except OSError:
                if suffix not in self._places:
                    continue
                gone = True
            else:
                gone = not os.path.samestat(self._places.setdefault(suffix, now), now)
            if gone:
                raise StoreError(
                    f"{name}: was moved, removed or replaced by another program while the store was written; the "
                    "latest documents may be lost. Put it back, and run the same command again"
                )

    def explained(self) -> StoreErrors[None]:
        """Turn SQLite's errors into StoreError, StoreBusyError or IncompatibleStoreError with advice."""
        return StoreErrors(self.path, None)


class StoreErrors(AbstractContextManager[T]):
    """Gives a value, such as a connection, and turns SQLite's errors in its use into those of a store.

    A class, because a generator would cost each lookup some microseconds.
    """

    def __init__(self, path: Path, given: T) -> None:
        self._path, self._given = path, given

    def __enter__(self) -> T:
        return self._given

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, sqlite3.Error):
            raise _explain(self._path, error) from error
        if isinstance(error, OSError):
            raise StoreError(f"{self._path}: {error.strerror}") from error
        if isinstance(error, cells.DamagedError | UnicodeDecodeError):
            # The latter where SQLite's own message quotes what is no text.
            raise StoreError(f"{self._path}: {_DAMAGED} ({error})") from error


_NO_TABLE = re.compile(r"no such table: \w+_\d+")
_REMOVED = (
    "a scheme was removed since the store was opened; open it again. If none was, the file is damaged: restore it from "
    "a copy"
)
_DAMAGED = "the file is damaged or cut short. Restore it from a copy, or index into a new file"
_NO_LOCKS = "the file system has no locks that hold, as some network file systems. Put the store on a local disk"
_EXPLANATIONS = (
    (
        "SQLITE_FULL",
        "the disk is full; what was stored before is intact. Free some space, and run it again",
    ),
    ("SQLITE_NOTADB", "is not a store: it is not an SQLite file. Name another file"),
    # Every statement is fixed, and every value was checked on its way in: where one of the latter ones fails, the file
    # is not what was written.
    *((f"SQLITE_{name}", _DAMAGED) for name in ("CORRUPT", "ERROR", "CONSTRAINT", "MISMATCH", "TOOBIG", "FORMAT")),
    ("SQLITE_READONLY", "the file or its directory can't be written to. Check their permissions"),
    ("SQLITE_CANTOPEN", "can't be opened, or its log can't be made beside it. Check the directory and permissions"),
    ("SQLITE_PERM", "can't be opened. Check the permissions of the file"),
    ("SQLITE_AUTH", "can't be opened. Check the permissions of the file"),
    *((name, _NO_LOCKS) for name in ("SQLITE_PROTOCOL", "SQLITE_IOERR_LOCK", "SQLITE_IOERR_SHMLOCK", "SQLITE_NOLFS")),
    ("SQLITE_IOERR", "the disk refused to read or write, or is full, or a size limit was met"),
)


def _explain(path: Path, error: sqlite3.Error) -> StoreError:
    name = _name_of(error)
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return StoreBusyError(f"{path}: another program keeps the file locked; try again when it has ended")
    if _NO_TABLE.match(str(error)):
        return StoreError(f"{path}: {_REMOVED} ({error})")
    for start, text in _EXPLANATIONS:
        if name.startswith(start):
            return StoreError(f"{path}: {text} ({error})")
    if isinstance(error, sqlite3.ProgrammingError):
        return StoreError(f"{path}: {error}. A store object is used by the thread that opened it, until it is closed")
    return StoreError(f"{path}: {error if name else _DAMAGED}" + ("" if name else f" ({error})"))


def _name_of(error: sqlite3.Error) -> str:
    return getattr(error, "sqlite_errorname", "")


def fit_log(connection: sqlite3.Connection) -> None:
    (pages,) = connection.execute("PRAGMA page_count").fetchone()
    log = min(max(_LOG_PAGES, pages // _LOG_SHARE), _MOST_LOG_PAGES)
    connection.execute(f"PRAGMA wal_autocheckpoint = {log}")
    connection.execute(f"PRAGMA journal_size_limit = {log * _PAGE_BYTES}")


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def is_empty(connection: sqlite3.Connection) -> bool:
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    pragmas = ("application_id", "user_version", "page_count")
    owner, version, pages = (connection.execute(f"PRAGMA {name}").fetchone()[0] for name in pragmas)
    # More pages than the first hold something, of which a damaged first one may say nothing.
    return (tables, owner, version) == (0, 0, 0) and pages <= 1


def check(connection: sqlite3.Connection, path: Path) -> None:
    if is_empty(connection):
        raise NoStoreError(f"{path}: the file is empty; index some documents first")
    (owner,) = connection.execute("PRAGMA application_id").fetchone()
    if owner != APPLICATION_ID:
        raise _not_a_store(path)
    (triggers,) = connection.execute("SELECT count(*) FROM sqlite_master WHERE type = 'trigger'").fetchone()
    if triggers:
        raise StoreError(f"{path}: holds triggers, which another program made and which could undo what is stored")
    (form,) = connection.execute("PRAGMA user_version").fetchone()
    if form != FORM:
        raise IncompatibleStoreError(
            f"{path}: was made by another version of neardup, in another form ({form}; this one reads {FORM}). "
            "Index the documents anew, into a new file"
        )


def _not_a_store(path: Path) -> StoreError:
    return StoreError(f"{path}: is an SQLite file of another program, not a store. Name another file")


def create(connection: sqlite3.Connection, info: StoreInfo) -> None:
    (mode,) = connection.execute("PRAGMA journal_mode = WAL").fetchone()
    if mode != "wal":
        raise StoreError("the file system can't hold a write-ahead log; put the store on a local disk")
    with transaction(connection):
        for statement in _TABLES:
            connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {FORM}")
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        kept = (*_INFO, *(["kind"] if info.kind != DOCUMENTS else []))
        connection.executemany("INSERT INTO meta VALUES (?, ?)", [(name, getattr(info, name)) for name in kept])
        add_scheme(connection, SchemeInfo(SIMHASH_DOC, info.scheme, info.layout), FIRST)


def read_info(connection: sqlite3.Connection) -> StoreInfo:
    values = {cells.name(name): cells.name(value) for name, value in connection.execute("SELECT name, value FROM meta")}
    schemes = read_schemes(connection)
    try:
        first = schemes.pop(SIMHASH_DOC)
        if first.number != FIRST or first.info.id not in SHORT_IDS:
            raise ValueError(f"a scheme {first.info.id!r}, which does not exist")
        return StoreInfo(
            scheme=first.info.id,
            layout=first.info.layout,
            schemes=tuple(each.info for each in schemes.values()),
            kind=kind_named(values.get("kind", DOCUMENTS)).name,
            **{name: values[name] for name in _INFO},
        )
    except (KeyError, ValueError, UsageError) as error:
        raise cells.DamagedError(f"what it says of itself: {error}") from None
