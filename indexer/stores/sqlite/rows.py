"""Records as rows of the embedded store and back, exactly."""

from __future__ import annotations

import hashlib
import json
import re
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache
from typing import Any

from indexer.model import SIMHASH_DOC, Failure, Record, Ref, Sketch, first_arrival
from indexer.model.paths import MovableFolder
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

    def failure_row(self, failure: Failure) -> tuple[bytes, ...]:
        source = self._folder.kept(failure.source)
        texts = (failure.ref.id, source, failure.reason, failure.detail, failure.failed_at, failure.source_digest)
        return tuple(map(pack_text, texts))

    def failure(self, row: Sequence[Any]) -> Failure:
        name, source, reason, detail, failed_at, digest = map(cells.text, row)
        return Failure(Ref(name), self._folder.now(source), reason, detail, failed_at, digest)
