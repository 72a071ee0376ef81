"""Records as rows of the embedded store and back: checked on the way in, exact on the way out."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt

from indexer.model import Failure, Fingerprint, Record, Ref, Sketch, first_arrival, to_signed, to_unsigned
from indexer.model.paths import MovableFolder
from indexer.stores.base import StoreInfo
from indexer.stores.sketches import refusal
from indexer.stores.sqlite import cells

MAX_RECORD_BYTES = 16 << 20
_MAX_INTEGER = (1 << 63) - 1

# The order of the columns in every query that reads whole records, the document's number before them.
RECORD_COLUMNS = (
    "d.number, d.id, d.hash, h.value, d.tokens, h.keys, d.short, d.source, d.title, d.format, d.extractor, d.size, "
    "d.source_digest, d.indexed_at, d.metadata, d.text_digest, d.container, d.first_indexed_at"
)


# Places in the columns of a row.
_INDEXED_AT, _TEXT_DIGEST = 7, 11


class RefusedError(Exception):
    """A record can't be stored as it is; the text is the reason."""


@dataclass(slots=True)
class Row:
    """A checked record in the form that is stored; `value` is signed, None where there is no fingerprint."""

    ref: Ref
    id: bytes
    value: int | None
    keys: Sequence[int]
    short: bool
    columns: tuple[Any, ...]
    written_bytes: int
    sketches: Mapping[str, Sketch]


@dataclass(frozen=True, slots=True)
class Replaced:
    """What a record leaves to the one that takes its place: times, the digest of its text, its annotations, packed."""

    indexed_at: str
    first_indexed_at: str
    text_digest: bytes
    annotations: tuple[str, bytes | None] | None

    def keeps(self, row: Row) -> bool:
        """Whether what is known of the document stays: the text is the same, but for case and white space."""
        return bool(self.text_digest) and self.text_digest == row.columns[_TEXT_DIGEST]


def pack_text(text: str) -> bytes:
    """UTF-8 in which lone surrogates pass, so that any Python string comes back as it was (cells.text)."""
    return text.encode("utf-8", "surrogatepass")


def pack_ref(ref: Ref) -> bytes | None:
    """The stored form of an identity, None where an embedded store can't have it."""
    return pack_text(ref.id) if not ref.index and ref.routing is None else None


def digest_crc(digest: bytes) -> int | None:
    """What source digests are indexed by; None for no digest."""
    return zlib.crc32(digest) if digest else None


def pack_json(value: Mapping[str, Any], name: str) -> str:
    """JSON that reads back as an equal object; RefusedError, naming the field, for anything else."""
    try:
        text = json.dumps(value if isinstance(value, dict) else dict(value), allow_nan=False, separators=(",", ":"))
        same = json.loads(text) == value
    except (TypeError, ValueError, RecursionError, AttributeError) as error:
        raise RefusedError(f"{name} is not made of JSON types: {error}") from error
    if not same:
        raise RefusedError(f"{name} is not made of JSON types: it would not read back as it is")
    return text


class Packer:
    """Turns records into rows for a store with this info; paths below `folder` are kept relative to it."""

    def __init__(self, info: StoreInfo, folder: MovableFolder) -> None:
        self._folder = folder
        self._scheme = info.scheme
        self._schemes = info.schemes
        self._layout = info.layout
        self._end = info.layout.end
        self._half = self._end >> 1
        self._kind = np.dtype("<u4") if self._end <= 1 << 32 else np.dtype("<u8")

    def stored_keys(self, keys: Iterable[int]) -> list[int]:
        """Packed keys as they are stored: moved to lie around zero, where SQLite needs the fewest bytes."""
        half = self._half
        return [key - half for key in keys]

    def postings(self, keys: Sequence[Sequence[int]], numbers: Sequence[int]) -> npt.NDArray[np.int64]:
        """A row of stored key and number for each key of each number, in the order of the table that they go to."""
        flat = np.fromiter(chain.from_iterable(keys), dtype=np.int64) - self._half
        owners = np.repeat(np.array(numbers, dtype=np.int64), [len(row_keys) for row_keys in keys])
        order = np.argsort(flat, kind="stable")
        return np.column_stack((flat[order], owners[order]))

    def table_range(self, step: int) -> tuple[int, int]:
        """The first stored key of table `step` modulo their number, and the first one after it."""
        table = step % self._layout.tables
        first, end = self.stored_keys((self._layout.pack(table, 0), self._layout.pack(table + 1, 0)))
        return first, end

    def pack_keys(self, keys: Sequence[int]) -> bytes:
        """Keys as the little-endian array that a value's row keeps."""
        return cells.packed(keys, self._kind)

    def unpack_keys(self, cell: Any) -> tuple[int, ...]:
        """The reverse of pack_keys."""
        return tuple(cells.numbers(cell, self._kind, self._end).tolist())

    def row(self, record: Record) -> Row:
        """The row of a record; RefusedError with the reason where it can't be stored exactly."""
        name = pack_ref(record.ref)
        if name is None:
            raise RefusedError("an embedded store has no index names and no routing")
        self._check_fingerprint(record)
        if record.sketches and (reason := refusal(self._schemes, record.sketches)):
            raise RefusedError(reason)
        for label, number in (("size", record.size), ("tokens", record.tokens)):
            if not 0 <= number <= _MAX_INTEGER:
                raise RefusedError(f"{label} {number} is out of range")
        metadata = pack_json(record.metadata, "metadata") if record.metadata else None
        strings = (record.format, self._folder.kept(record.source), record.title, record.extractor, record.indexed_at)
        container = self._folder.kept(record.container)
        others = (record.source_digest, record.text_digest, container, record.first_indexed_at)
        *packed, digest, same, packed_container, first = map(pack_text, (*strings, *others))
        size = len(name) + sum(map(len, packed)) + len(digest) + len(same) + len(metadata or "") + len(packed_container)
        size += sum(len(sketch.payload) + 8 * len(sketch.keys) for sketch in record.sketches.values())
        if size > MAX_RECORD_BYTES:
            raise RefusedError(f"id, titles, metadata and sketches take {size} bytes, more than {MAX_RECORD_BYTES}")
        known = record.short, record.tokens, record.size, *packed, digest_crc(digest), digest, metadata, same
        value = None if record.fingerprint is None else to_signed(record.fingerprint.value)
        columns = (*known, packed_container, first)
        return Row(record.ref, name, value, record.keys, record.short, columns, size, record.sketches)

    def replacing(self, row: Row, before: Replaced) -> Row:
        """The row of a record that takes the place of another one: the time of its arrival stays."""
        *columns, first = row.columns
        at = cells.text(columns[_INDEXED_AT])
        first = first_arrival(at, cells.text(first), before.first_indexed_at, before.indexed_at)
        return replace(row, columns=(*columns, pack_text(first)))

    def _check_fingerprint(self, record: Record) -> None:
        if record.fingerprint is None:
            if record.keys:
                raise RefusedError("keys without a fingerprint")
            return
        if record.fingerprint.scheme != self._scheme:
            raise RefusedError(f"a fingerprint of {record.fingerprint.scheme} in a store of {self._scheme}")
        if not record.keys:
            raise RefusedError("a fingerprint without keys")
        if min(record.keys) < 0 or max(record.keys) >= self._end:
            raise RefusedError("a key outside the store's key layout")

    def record(self, row: Sequence[Any], sketches: Mapping[str, Sketch] | None = None) -> Record:
        """A record from RECORD_COLUMNS."""
        _, name, number, value, tokens, keys, short, source, title, kind, extractor, size, digest, *rest = row
        at, metadata, same, container, first = rest
        fingerprint = None
        if number is not None:
            fingerprint = Fingerprint(to_unsigned(cells.integer(value)), cells.count(tokens), self._scheme)
        return Record(
            ref=Ref(cells.text(name)),
            fingerprint=fingerprint,
            keys=() if fingerprint is None else self.unpack_keys(keys),
            short=bool(cells.count(short, 1)),
            source=self._folder.now(cells.text(source)),
            title=cells.text(title),
            format=cells.text(kind),
            extractor=cells.text(extractor),
            size=cells.count(size),
            source_digest=cells.text(digest),
            text_digest=cells.text(same),
            indexed_at=cells.text(at),
            first_indexed_at=cells.text(first),
            metadata={} if metadata is None else cells.json_object(metadata),
            sketches=sketches or {},
            container=self._folder.now(cells.text(container)),
        )

    def failure_row(self, failure: Failure) -> tuple[bytes, ...]:
        """The row of a failure."""
        source = self._folder.kept(failure.source)
        texts = (failure.ref.id, source, failure.reason, failure.detail, failure.failed_at, failure.source_digest)
        return tuple(map(pack_text, texts))

    def failure(self, row: Sequence[Any]) -> Failure:
        """The reverse of failure_row."""
        name, source, reason, detail, failed_at, digest = map(cells.text, row)
        return Failure(Ref(name), self._folder.now(source), reason, detail, failed_at, digest)
