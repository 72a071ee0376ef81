"""The embedded store: one SQLite file with a write-ahead log."""

from __future__ import annotations

import os
import sqlite3
import time
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any

from indexer.errors import StoreError, UsageError
from indexer.model import SIMHASH_DOC, Record, Ref, Sketch, own_files
from indexer.model.chunking import chunks
from indexer.model.counts import Stats
from indexer.model.paths import MovableFolder
from indexer.model.times import in_order
from indexer.schemes.keys.layout import SchemeInfo
from indexer.stores.base import PutResult, PutStatus, StoreInfo, results_of
from indexer.stores.sketches import check_resource, is_new
from indexer.stores.sqlite import cells, file
from indexer.stores.sqlite.clusters import RELATIONS, ClusterTable, cluster_name
from indexer.stores.sqlite.file import StoreErrors, StoreFile, fit_log, read_info, transaction
from indexer.stores.sqlite.probing import SketchLookups
from indexer.stores.sqlite.rows import (
    READ_ROWS,
    RECORD_COLUMNS,
    Packer,
    RefusedRecordError,
    StoredRow,
    digest_crc,
    document_numbers,
    id_digest,
    insert_rows,
    marks,
    pack_digest,
    pack_json,
    pack_ref,
    replaced_documents,
    stored_annotations,
)
from indexer.stores.sqlite.sketches import SketchChanges, sketches_of
from indexer.stores.sqlite.tables import FIRST, StoredScheme, add_scheme, joined, read_schemes, remove_scheme
from indexer.stores.sqlite.writer import WriterLock, WritingThread

# A batch is one transaction: large enough that its keys, sorted, share pages; ended early by size and by time, so that
# slow documents are safe soon.
BATCH_RECORDS = 8000
BATCH_BYTES = 32 << 20
BATCH_SECONDS = 2.0


class SqliteStore(ClusterTable, SketchLookups):
    """A store in one file of this machine, for one writer and any number of readers at once.

    Beside the file stand SQLite's log (`-wal`, `-shm`, while it is open) and the writer's lock file (`-lock`).
    """

    embedded = True

    def __init__(
        self,
        path: Path,
        *,
        create: StoreInfo | None = None,
        read_only: bool = False,
        wait: float = 5.0,
        any_thread: bool = False,
    ) -> None:
        self.path = path
        self.folder = MovableFolder.of_file(path)
        self._file = StoreFile(path, read_only=read_only, wait=wait, any_thread=any_thread)
        self._in_use = ExitStack()
        self._lock, self._in_turns = WriterLock(path, wait), False
        self._process = os.getpid()
        self._connection: sqlite3.Connection | None = None
        self._behind: WritingThread[list[PutResult]] = WritingThread(self._connected_behind)
        try:
            self._in_use.enter_context(own_files.in_use(self._file.real, store=True))
            self._connection = self._made(create) if create is not None and not read_only else self._opened()
            self._file.require_in_place()
            with self._file.explained():
                self._described(file.read_info(self._connection), read_schemes(self._connection))
            if create is not None:
                self.info.require_comparable(create, str(path))
        except BaseException:
            self.close()
            raise

    def _described(self, info: StoreInfo, schemes: Mapping[str, StoredScheme]) -> None:
        self.info, self._schemes = info, schemes
        self._packer = Packer(schemes, self.folder)

    def _made(self, info: StoreInfo) -> sqlite3.Connection:
        self._file.require_place()
        self._take_place()
        connection = self._connection = self._file.make()
        with self._file.explained():
            empty = self.created = file.is_empty(connection)
            if empty:
                file.create(connection, info)
            else:
                file.check(connection, self.path)
        return connection

    def _opened(self) -> sqlite3.Connection:
        connection = self._connection = self._file.open()
        with self._file.explained():
            file.check(connection, self.path)
        return connection

    def _take_place(self) -> None:
        self._file.require_one_name()
        self._lock.take()

    def _reading(self) -> StoreErrors[sqlite3.Connection]:
        if self._connection is None:
            raise StoreError(f"{self.path}: the store is closed")
        if os.getpid() != self._process:
            raise StoreError(f"{self.path}: a store object is used by the process that opened it; open another one")
        return StoreErrors(self.path, self._behind.connection or self._connection)

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        self._behind.settle()
        with self._reading() as connection:
            if self._file.read_only:
                raise StoreError(f"{self.path}: the store was opened read-only")
            with self.turn():
                self._file.require_in_place()
                with transaction(connection):
                    yield connection
                self._file.require_in_place()

    def take_turns(self) -> None:
        self._behind.settle()
        self._in_turns = True
        self._lock.release()

    @contextmanager
    def turn(self, *, wanted: bool = True) -> Iterator[None]:
        self._behind.settle()
        if not wanted or self._file.read_only or self._lock.held:
            yield
            return
        self._take_place()
        try:
            yield
        finally:
            if self._in_turns:
                self._behind.settle()
                self._lock.release()

    def put(self, records: Iterable[Record]) -> Iterator[PutResult]:
        for batch in self._batches(records):
            yield from self._put_batch(batch)

    def begin_put(self, records: Sequence[Record]) -> Callable[[], list[PutResult]]:
        if not sqlite3.threadsafety:
            # This SQLite was built for one thread.
            return super().begin_put(records)
        batches = list(self._batches(records))
        with self._reading():
            begun = self._behind.begin(lambda: [result for batch in batches for result in self._put_batch(batch)])
        return begun.result

    def _connected_behind(self) -> sqlite3.Connection:
        self._file.require_in_place()
        return self._file.connect(any_thread=True)

    def _batches(self, records: Iterable[Record]) -> Iterator[list[StoredRow | PutResult]]:
        batch: list[StoredRow | PutResult] = []
        size, started = 0, time.monotonic()
        for record in records:
            if not batch:
                started = time.monotonic()
            try:
                row = self._packer.row(record)
                size += row.written_bytes
                batch.append(row)
            except RefusedRecordError as error:
                batch.append(PutResult(record.ref, PutStatus.FAILED, str(error)))
            full = len(batch) >= BATCH_RECORDS or size >= BATCH_BYTES
            if full or time.monotonic() - started >= BATCH_SECONDS:
                yield batch
                batch, size = [], 0
        if batch:
            yield batch

    def _put_batch(self, batch: list[StoredRow | PutResult]) -> list[PutResult]:
        # Of equal refs in one batch the last is stored; the others were there for a moment that nobody saw.
        last = {entry.id: entry for entry in batch if isinstance(entry, StoredRow)}
        with self._writing() as connection:
            stored = document_numbers(connection, list(last))
            before = replaced_documents(connection, [number for number, _ in stored.values()])
            changes = SketchChanges(connection)
            _remove(connection, changes, list(stored.values()))
            kept = {}
            for name, (number, _) in stored.items():
                old = before[number]
                last[name] = self._packer.replacing(last[name], old)
                if old.annotations and old.keeps(last[name]):
                    kept[name] = old.annotations
            numbers = _add(connection, changes, list(last.values()))
            changes.finish()
            insert_rows(connection, "annotations", [(numbers[name], *known) for name, known in kept.items()])
            failed = connection.execute("SELECT 1 FROM failures LIMIT 1").fetchone()
            for some in chunks(last if failed else (), READ_ROWS):
                connection.execute(f"DELETE FROM failures WHERE id IN ({marks(len(some))})", some)  # noqa: S608 marks
        with self._reading() as connection:
            fit_log(connection)
        statuses = {row.ref: PutStatus.REPLACED if name in stored else PutStatus.CREATED for name, row in last.items()}
        return results_of(batch, {ref: PutResult(ref, status) for ref, status in statuses.items()})

    def get(self, refs: Sequence[Ref], *, sketches: bool = True) -> list[Record | None]:
        names = [pack_ref(ref) for ref in refs]
        records: dict[bytes, Record] = {}
        with self._reading() as connection:
            for chunk in chunks([name for name in names if name is not None], READ_ROWS):
                wanted = set(chunk)
                rows = connection.execute(_select(f"d.id_digest IN ({marks(len(chunk))})"), [*map(id_digest, chunk)])
                found = [row for row in rows if row[1] in wanted]
                records.update(self._read(connection, found, sketches=sketches))
        return [None if name is None else records.get(name) for name in names]

    def _read(
        self, connection: sqlite3.Connection, rows: Sequence[Sequence[Any]], *, sketches: bool
    ) -> Iterator[tuple[bytes, Record]]:
        made: Mapping[int, Mapping[str, Sketch]] = {}
        if rows and sketches:
            made = sketches_of(connection, self._schemes.values(), [number for number, *_ in rows])
        for row in rows:
            yield row[1], self._packer.record(row, made.get(row[0], {}) if sketches else None)

    @contextmanager
    def _snapshot(self) -> Iterator[sqlite3.Connection]:
        # A connection of its own: what is written through the store meanwhile stays out of the scan.
        in_use = own_files.in_use(self._file.real, store=True)
        with self._reading(), in_use, closing(self._file.connect()) as connection:
            connection.execute("BEGIN")
            yield connection

    def scan(self, *, sketches: bool = True) -> Iterator[Record]:
        with self._snapshot() as connection:
            cursor = connection.execute(_select("1") + " ORDER BY d.number")
            while rows := cursor.fetchmany(READ_ROWS):
                for _, record in self._read(connection, rows, sketches=sketches):
                    yield record

    def annotate(
        self, annotations: Iterable[tuple[Ref, Mapping[str, Any]]], *, versions: Mapping[Ref, Hashable] | None = None
    ) -> int:
        count = 0
        for chunk in chunks(annotations, BATCH_RECORDS):
            count += self._annotate_batch(chunk, versions)
        return count

    def _annotate_batch(
        self, batch: Sequence[tuple[Ref, Mapping[str, Any]]], versions: Mapping[Ref, Hashable] | None
    ) -> int:
        count = 0
        with self._writing() as connection:
            if versions is not None:
                unchanged = set(self._unchanged([ref for ref, _ in batch], versions))
                batch = [change for change in batch if change[0] in unchanged]
            names = [pack_ref(ref) for ref, _ in batch]
            numbers = {
                name: document
                for name, (document, _) in document_numbers(connection, [n for n in names if n is not None]).items()
            }
            fields = stored_annotations(connection, list(numbers.values()))
            for name, (ref, added) in zip(names, batch, strict=True):
                if name is None or name not in numbers:
                    continue
                count += 1
                merged = {**fields.get(numbers[name], {}), **added}
                fields[numbers[name]] = {key: value for key, value in merged.items() if value is not None}
                try:
                    pack_json(fields[numbers[name]], "annotation")
                except RefusedRecordError as error:
                    raise UsageError(f"{ref.id!r}: {error}") from error
            connection.executemany(
                "INSERT OR REPLACE INTO annotations VALUES (?, ?, ?)",
                [(number, pack_json(merged, "annotation"), cluster_name(merged)) for number, merged in fields.items()],
            )
        return count

    def annotations(self, refs: Sequence[Ref]) -> list[Mapping[str, Any] | None]:
        names = [pack_ref(ref) for ref in refs]
        with self._reading() as connection:
            stored = document_numbers(connection, [name for name in names if name is not None])
            numbers = {name: document for name, (document, _) in stored.items()}
            fields = stored_annotations(connection, list(numbers.values()))
        return [None if name is None or name not in numbers else fields.get(numbers[name], {}) for name in names]

    def find_digests(self, digests: Sequence[str]) -> Mapping[str, Record]:
        records: dict[str, Record] = {}
        with self._reading() as connection:
            for digest in set(digests) - {""}:
                packed = pack_digest(digest)
                # One row each: a thousand documents may have one content.
                where = _select("d.digest_crc = ? AND d.source_digest = ? ORDER BY d.number LIMIT 1")
                rows = connection.execute(where, (digest_crc(packed), packed)).fetchall()
                for _, record in self._read(connection, rows, sketches=True):
                    records[digest] = record
        return records

    def delete(
        self,
        refs: Sequence[Ref],
        *,
        versions: Mapping[Ref, Hashable] | None = None,
        owners: bool = False,  # noqa: ARG002 there are none
    ) -> int:
        count = 0
        for batch in chunks(refs, BATCH_RECORDS):
            with self._writing() as connection:
                chunk = [name for ref in self._unchanged(batch, versions) if (name := pack_ref(ref)) is not None]
                stored = list(document_numbers(connection, chunk).values())
                changes = SketchChanges(connection)
                _remove(connection, changes, stored)
                changes.finish()
                connection.executemany("DELETE FROM failures WHERE id = ?", [(name,) for name in chunk])
            count += len(stored)
        return count

    def count(self) -> int:
        with self._snapshot() as connection:
            (documents,) = connection.execute("SELECT count(*) FROM documents").fetchone()
            return int(documents)

    def stats(self) -> Stats:
        with self._snapshot() as connection:
            formats = connection.execute(
                """SELECT format, count(*), sum(short), max(indexed_at) FROM documents
                GROUP BY format, typeof(indexed_at)"""
            ).fetchall()
            (distinct, fingerprinted) = connection.execute(
                "SELECT sketches, documents FROM schemes WHERE number = ?", (FIRST,)
            ).fetchone()
            reasons = connection.execute(
                "SELECT json_extract(exact, '$[2]'), count(*) FROM failures GROUP BY 1"
            ).fetchall()
            relations = connection.execute(RELATIONS).fetchall()
            (schema,) = connection.execute("PRAGMA user_version").fetchone()
            by_format: Counter[str] = Counter()
            for kind, count, *_ in formats:
                by_format[cells.text(kind)] += count
            documents = by_format.total()
            return Stats(
                documents=documents,
                fingerprinted=cells.count(fingerprinted, documents),
                distinct=cells.count(distinct, documents),
                short=sum(cells.count(short, count) for _, count, short, _ in formats),
                empty=documents - fingerprinted,
                failures={cells.name(reason): count for reason, count in reasons},
                formats=by_format,
                bytes_on_disk=self._file.size(),
                last_indexed_at=max((cells.moment(at) for *_, at in formats), key=in_order, default=""),
                relations={str(word): count for word, count in relations},
                extra={"schema": schema},
            )

    def add_scheme(self, scheme: SchemeInfo) -> None:
        if not is_new(self.info.schemes, scheme, str(self.path)):
            return
        with self._writing() as connection:
            there = [each.info for name, each in read_schemes(connection).items() if name != SIMHASH_DOC]
            if is_new(there, scheme, str(self.path)):
                add_scheme(connection, scheme)
            self._described(read_info(connection), read_schemes(connection))

    def remove_scheme(self, name: str) -> None:
        with self._writing() as connection:
            scheme = read_schemes(connection).get(name)
            if scheme is not None and name != SIMHASH_DOC:
                remove_scheme(connection, scheme)
            self._described(read_info(connection), read_schemes(connection))

    def sketch_counts(self) -> Mapping[str, int]:
        with self._reading() as connection:
            rows = connection.execute("SELECT name, documents FROM schemes ORDER BY number").fetchall()
            return {cells.name(name): cells.count(documents) for name, documents in rows if name != SIMHASH_DOC}

    def put_resource(self, name: str, data: bytes) -> None:
        check_resource(name, data)
        with self._writing() as connection:
            connection.execute("INSERT OR REPLACE INTO resources VALUES (?, ?)", (name, data))

    def get_resource(self, name: str) -> bytes | None:
        with self._reading() as connection:
            row = connection.execute("SELECT octets FROM resources WHERE name = ?", (name,)).fetchone()
            return cells.blob(row[0]) if row else None

    def close(self) -> None:
        # In the order from the last to the first, each of them also where another one fails.
        with self._file.explained(), ExitStack() as ending:
            ending.callback(self._lock.release)
            ending.callback(self._in_use.close)
            ending.callback(self._disconnect)
            ending.callback(self._behind.close)

    def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()


def _remove(connection: sqlite3.Connection, changes: SketchChanges, stored: Sequence[tuple[int, bool]]) -> None:
    changes.unlink(stored)
    gone = [(document,) for document, _ in stored]
    connection.executemany("DELETE FROM documents WHERE number = ?", gone)
    connection.executemany("DELETE FROM annotations WHERE document = ?", gone)


def _add(connection: sqlite3.Connection, changes: SketchChanges, rows: Sequence[StoredRow]) -> dict[bytes, int]:
    numbered = list(enumerate(rows, changes.last_number() + 1))
    insert_rows(connection, "documents", [(number, row.id, *row.columns) for number, row in numbered])
    compared = {number for number, row in numbered if not row.short and SIMHASH_DOC in row.sketches}
    changes.link([(number, row.sketches) for number, row in numbered], compared)
    return {row.id: number for number, row in numbered}


@lru_cache(maxsize=64)
def _select(where: str) -> str:
    return f"SELECT {', '.join(RECORD_COLUMNS)} FROM documents d {joined(FIRST)} WHERE {where}"  # noqa: S608
