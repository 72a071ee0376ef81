"""Records as rows of the embedded store and back, exactly, and the base of the parts of the store."""

from __future__ import annotations

import hashlib
import json
import re
import sqlite3
import zlib
from abc import abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache
from itertools import chain
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from indexer.model import SIMHASH_DOC, Record, Ref, Sketch, first_arrival
from indexer.model.chunking import chunks
from indexer.model.paths import MovableFolder
from indexer.stores.base import Store
from indexer.stores.sketches import refusal
from indexer.stores.sqlite import cells
from indexer.stores.sqlite.tables import FIRST, StoredScheme, features

MAX_RECORD_BYTES = 16 << 20
_MAX_INTEGER = (1 << 63) - 1
_FINGERPRINT_BYTES = 8
_MOMENT = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{6}))?Z", re.ASCII)

# The order of the columns in every query that reads whole records, the document's number before them, after joined() of
# the first scheme.
RECORD_COLUMNS = (
    "d.number", "d.id", features(FIRST), f"v{FIRST}.payload", "d.short", "d.source", "d.title",
    "d.format", "d.extractor", "d.size", "d.source_digest", "d.indexed_at", "d.metadata", "d.text_digest",
    "d.container", "d.read_digest", "d.beside_digest", "d.first_indexed_at",
)  # fmt: skip


# Places in the columns of a row.
_INDEXED_AT, _TEXT_DIGEST = 7, 11
T = TypeVar("T")
READ_ROWS = 1000
# In one statement, where this SQLite takes as many.
_PARAMETERS = 30_000
_MIN_MERGE_BITS = 12


class RefusedRecordError(Exception):
    """A record can't be stored as it is; the text is the reason."""


@dataclass(slots=True)
class StoredRow:
    """A checked record in stored form, with its sketches of all schemes."""

    ref: Ref
    id: bytes
    short: bool
    columns: tuple[Any, ...]
    written_bytes: int
    sketches: Mapping[str, Sketch]


@dataclass(frozen=True, slots=True)
class Replaced:
    """The values left by a record to its replacement: times, the digest of its text, its annotations, packed."""

    indexed_at: str
    first_indexed_at: str
    text_digest: bytes
    annotations: tuple[str, bytes | None] | None

    def keeps(self, row: StoredRow) -> bool:
        return bool(self.text_digest) and self.text_digest == row.columns[_TEXT_DIGEST]


def pack_text(text: str) -> bytes:
    """UTF-8 with lone surrogates, so that any Python string is restored exactly (cells.text)."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")


def pack_moment(moment: str) -> int | bytes:
    """The stored form of a time: a number, see cells.moment(); of another form than the usual ones its text."""
    if not (usual := _MOMENT.fullmatch(moment)):
        return pack_text(moment)
    try:
        seconds = _seconds(usual[1])
    except ValueError:
        return pack_text(moment)
    return (seconds * 1_000_000 + int(usual[2] or 0)) * 2 + (usual[2] is not None)


@lru_cache(maxsize=64)
def _seconds(moment: str) -> int:
    return int(datetime.fromisoformat(f"{moment}+00:00").timestamp())


def pack_ref(ref: Ref) -> bytes | None:
    return pack_text(ref.id) if not ref.index and ref.routing is None else None


def pack_digest(digest: str) -> bytes:
    """The stored form of a digest: its bytes after a byte of 1; a text that isn't hexadecimal after one of 0."""
    if not digest:
        return b""
    try:
        data = bytes.fromhex(digest)
    except ValueError:
        return b"\0" + pack_text(digest)
    if data.hex() != digest:
        return b"\0" + pack_text(digest)
    return b"\1" + data


def unpack_digest(cell: Any) -> str:
    data = cells.blob(cell)
    return data[1:].hex() if data[:1] == b"\1" else cells.text(data[1:])


def id_digest(name: bytes) -> int:
    """The index number of a stored id, from its BLAKE2b digest (RFC 7693): SQLite takes six bytes for it."""
    return int.from_bytes(hashlib.blake2b(name, digest_size=6).digest(), "big", signed=True)


def digest_crc(digest: bytes) -> int | None:
    return zlib.crc32(digest) if digest else None


def pack_json(value: Mapping[str, Any], name: str) -> str:
    """Exact JSON of an object. Raises RefusedRecordError, naming the field, for anything else."""
    try:
        text = json.dumps(value if isinstance(value, dict) else dict(value), allow_nan=False, separators=(",", ":"))
        same = json.loads(text) == value
    except (TypeError, ValueError, RecursionError, AttributeError) as error:
        raise RefusedRecordError(f"{name} is not made of JSON types: {error}") from error
    if not same:
        raise RefusedRecordError(f"{name} is not made of JSON types: it would not read back as it is")
    return text


class Packer:
    def __init__(self, schemes: Mapping[str, StoredScheme], folder: MovableFolder) -> None:
        self._folder = folder
        self._schemes = [scheme.info for scheme in schemes.values()]
        self._first = schemes[SIMHASH_DOC].info.id

    def row(self, record: Record) -> StoredRow:
        name = pack_ref(record.ref)
        if name is None:
            raise RefusedRecordError("an embedded store has no index names and no routing")
        if reason := refusal(self._schemes, record.sketches):
            raise RefusedRecordError(reason)
        if not 0 <= min(record.size, record.tokens) <= max(record.size, record.tokens) <= _MAX_INTEGER:
            raise RefusedRecordError(f"size {record.size} or tokens {record.tokens} is out of range")
        metadata = pack_json(record.metadata, "metadata") if record.metadata else None
        source = pack_text(self._folder.kept(record.source))
        kind, title = pack_text(record.format), pack_text(record.title)
        extractor, at = pack_text(record.extractor), pack_moment(record.indexed_at)
        container = pack_text(self._folder.kept(record.container)) if record.container else b""
        first = pack_moment(record.first_indexed_at)
        digests = record.source_digest, record.text_digest, record.read_digest, record.beside_digest
        digest, same, read, beside = map(pack_digest, digests)
        size = sum(map(len, (name, source, kind, title, extractor, digest, same, metadata or "", container)))
        size += len(read) + len(beside)
        size += sum(len(sketch.payload) + 8 * len(sketch.keys) for sketch in record.sketches.values())
        if size > MAX_RECORD_BYTES:
            raise RefusedRecordError(
                f"id, titles, metadata and sketches take {size} bytes, more than {MAX_RECORD_BYTES}"
            )
        columns = (
            id_digest(name), record.short, record.size, kind, None if source == name else source, title, extractor, at,
            digest_crc(digest), digest, metadata, same, container, read, beside, first,
        )  # fmt: skip
        return StoredRow(record.ref, name, record.short, columns, size, record.sketches)

    def replacing(self, row: StoredRow, before: Replaced) -> StoredRow:
        *columns, first = row.columns
        at = cells.moment(columns[_INDEXED_AT])
        first = first_arrival(at, cells.moment(first), before.first_indexed_at, before.indexed_at)
        return replace(row, columns=(*columns, pack_moment(first)))

    def record(self, row: Sequence[Any], sketches: Mapping[str, Sketch] | None = None) -> Record:
        _, name, tokens, payload, short, source, title, kind, extractor, size, digest, *rest = row
        at, metadata, same, container, read, beside, first = rest
        if sketches is None:
            sketches = {} if tokens is None else {SIMHASH_DOC: self._fingerprint(payload, tokens)}
        return Record(
            ref=Ref(cells.text(name)),
            sketches=sketches,
            short=bool(cells.count(short, 1)),
            source=self._folder.now(cells.text(name if source is None else source)),
            title=cells.text(title),
            format=cells.text(kind),
            extractor=cells.text(extractor),
            size=cells.count(size),
            source_digest=unpack_digest(digest),
            text_digest=unpack_digest(same),
            read_digest=unpack_digest(read),
            beside_digest=unpack_digest(beside),
            indexed_at=cells.moment(at),
            first_indexed_at=cells.moment(first),
            metadata={} if metadata is None else cells.json_object(metadata),
            container=self._folder.now(cells.text(container)),
        )

    def _fingerprint(self, payload: Any, tokens: Any) -> Sketch:
        if len(cells.blob(payload)) > _FINGERPRINT_BYTES:
            raise cells.DamagedError("something else instead of a fingerprint")
        return Sketch(self._first, payload, (), cells.count(tokens))


class SqlitePart(Store):
    @abstractmethod
    def _reading(self) -> AbstractContextManager[sqlite3.Connection]: ...

    @abstractmethod
    def _writing(self) -> AbstractContextManager[sqlite3.Connection]: ...

    @abstractmethod
    def _snapshot(self) -> AbstractContextManager[sqlite3.Connection]: ...

    def _unchanged(self, refs: Sequence[Ref], versions: Mapping[Ref, Hashable] | None) -> Sequence[Ref]:
        if versions is None:
            return refs
        read = zip(refs, self.versioned(refs), strict=True)
        return [ref for ref, document in read if document is None or document.version == versions.get(ref)]


def merge_bits(values: int) -> int:
    """As a power of two, the number of new values until a table's recent keys move to the large table of keys.

    Every batch rewrites all pages of the recent keys, since its own lie anywhere among them, and every move rewrites
    those of one table of the large one. With n values, batches of b and r values with recent keys, a document costs r /
    b + n / (2 r) times the size of its keys; r = sqrt(n b / 2) is cheapest: 70,000 of a million, 220,000 of ten.
    """
    return max(_MIN_MERGE_BITS, 13 + (values.bit_length() - 20) // 2)


def merge_steps(before: int, after: int) -> range:
    bits = merge_bits(after)
    return range((before >> bits) + 1, (after >> bits) + 1)


def marks(count: int) -> str:
    return ",".join("?" * count)


def insert_keys(connection: sqlite3.Connection, table: str, rows: npt.NDArray[np.int64]) -> None:
    """Insert rows of integers, shape (n, columns), unless they exist."""
    _insert(connection, f"INSERT OR IGNORE INTO {table}", rows.ravel().tolist(), rows.shape[1])


def insert_rows(connection: sqlite3.Connection, table: str, rows: Sequence[tuple[Any, ...]]) -> None:
    if rows:
        _insert(connection, f"INSERT INTO {table}", list(chain.from_iterable(rows)), len(rows[0]))


def _insert(connection: sqlite3.Connection, what: str, flat: list[Any], width: int) -> None:
    # Many rows in a statement take half the time, and other threads go on as long as it runs.
    size = min(_PARAMETERS, connection.getlimit(sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER)) // width * width
    for start in range(0, len(flat), size):
        some = flat[start : start + size]
        values = ",".join([f"({marks(width)})"] * (len(some) // width))
        connection.execute(f"{what} VALUES {values}", some)


def document_numbers(connection: sqlite3.Connection, names: Sequence[bytes]) -> dict[bytes, tuple[int, bool]]:
    numbers: dict[bytes, tuple[int, bool]] = {}
    for chunk in chunks(names, READ_ROWS):
        wanted, digests = set(chunk), list(map(id_digest, chunk))
        sql = f"SELECT id, number, short FROM documents WHERE id_digest IN ({marks(len(chunk))})"  # noqa: S608 only marks
        numbers.update(
            (name, (number, bool(cells.count(short, 1))))
            for name, number, short in connection.execute(sql, digests)
            if name in wanted
        )
    return numbers


def replaced_documents(connection: sqlite3.Connection, numbers: Sequence[int]) -> dict[int, Replaced]:
    sql = """SELECT d.number, d.indexed_at, d.first_indexed_at, d.text_digest, a.fields, a.cluster FROM documents d
        LEFT JOIN annotations a ON a.document = d.number WHERE d.number IN (SELECT value FROM json_each(?))"""
    return {
        number: Replaced(cells.moment(at), cells.moment(first), same, None if fields is None else (fields, cluster))
        for number, at, first, same, fields, cluster in connection.execute(sql, (json.dumps(numbers),))
    }


def stored_annotations(connection: sqlite3.Connection, numbers: Sequence[int]) -> dict[int, dict[str, Any]]:
    sql = "SELECT document, fields FROM annotations WHERE document IN (SELECT value FROM json_each(?))"
    rows = connection.execute(sql, (json.dumps(numbers),))
    return {number: cells.json_object(fields) for number, fields in rows}
