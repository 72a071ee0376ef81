"""The tables of schemes, and the form of keys there."""

from __future__ import annotations

import sqlite3
import struct
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain, pairwise
from operator import add
from typing import Any

import numpy as np
import numpy.typing as npt

from indexer.errors import PayloadError
from indexer.model import Sketch
from indexer.model.ragged import Ragged
from indexer.schemes.keys.layout import KeyLayout, SchemeInfo
from indexer.schemes.registry import known_class
from indexer.stores.sqlite import cells

# The number of the first scheme, simhash-doc, which every store has.
FIRST = 0
# More tables or bits than any scheme has; a packed key fits into a signed 64-bit integer.
_MOST_TABLES, _MOST_BITS = 1 << 16, 62
# Sketches found equal by this key of their digest are compared, so it may be short; SQLite takes six bytes for it.
_DIGEST_KEY_BITS = 47

_TABLES = (
    # A million equal documents are one row with one set of keys. Its number is that of the first document that had it,
    # which needs no other row as long as it is there. Without a payload the scheme found no features; keys that the
    # payload holds in itself are empty here.
    """CREATE TABLE sketches_{0} (
        number INTEGER PRIMARY KEY, features INTEGER NOT NULL, payload BLOB, keys BLOB NOT NULL)""",
    # The documents that have an equal sketch.
    """CREATE TABLE equals_{0} (
        document INTEGER PRIMARY KEY, features INTEGER NOT NULL, sketch INTEGER NOT NULL)""",
    "CREATE INDEX equals_by_sketch_{0} ON equals_{0} (sketch)",
    # A key arrives in `recent`, which is small, and moves to `postings` table by table in key order: random inserts
    # into a large tree would write a page each.
    "CREATE TABLE postings_{0} (key INTEGER, sketch INTEGER, PRIMARY KEY (key, sketch)) WITHOUT ROWID",
    "CREATE TABLE recent_{0} (key INTEGER, sketch INTEGER, PRIMARY KEY (key, sketch)) WITHOUT ROWID",
)
KEY_TABLES = ("postings", "recent")


@dataclass(frozen=True, slots=True)
class StoredScheme:
    """A scheme of the file: the number in its table names, and the store's description."""

    number: int
    info: SchemeInfo
    _codes: struct.Struct = field(init=False, repr=False, compare=False)
    _firsts: tuple[int, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        layout = self.info.layout
        object.__setattr__(self, "_codes", struct.Struct(f"<{layout.tables}I"))
        object.__setattr__(self, "_firsts", tuple(layout.pack(table, 0) for table in range(layout.tables)))

    @property
    def _kind(self) -> npt.DTypeLike:
        return np.dtype("<u4") if self.info.layout.end <= 1 << 32 else np.dtype("<i8")

    @property
    def half(self) -> int:
        """The number subtracted from a key to bring keys near zero, where SQLite needs the fewest bytes."""
        return self.info.layout.end >> 1

    def stored(self, keys: Iterable[int]) -> list[int]:
        half = self.half
        return [key - half for key in keys]

    def digest_key(self, digest: bytes) -> int:
        return -1 - self.half - (int.from_bytes(digest, "big") >> (64 - _DIGEST_KEY_BITS))

    def key_range(self, step: int) -> tuple[int, int]:
        layout, table = self.info.layout, step % (self.info.layout.tables + 1) - 1
        if table < 0:
            return -(1 << _DIGEST_KEY_BITS) - self.half, -1 - self.half
        return layout.pack(table, 0) - self.half, layout.pack(table + 1, 0) - 1 - self.half

    def pack_each(self, sketches: Sequence[Sketch]) -> list[bytes]:
        """The keys of each of these sketches in one BLOB, empty if the payload holds them.

        Usually there is one in every table, in order, and each takes four bytes. Others are stored as they are, marked
        by one more byte.
        """
        layout = self.info.layout
        packed = [b""] * len(sketches)
        rest = [place for place, sketch in enumerate(sketches) if sketch.payload]
        if (own := self._own_keys([sketches[place].payload for place in rest])) is not None:
            keys_of, ends = own.values.tolist(), own.offsets.tolist()
            rest = [
                place
                for place, start, end in zip(rest, ends, ends[1:], strict=False)
                if tuple(keys_of[start:end]) != sketches[place].keys
            ]
        # A row of each sketch that may be of the short form.
        full = [place for place in rest if len(sketches[place].keys) == layout.tables and layout.bits <= 32]
        flat = np.fromiter(chain.from_iterable(sketches[place].keys for place in full), dtype=np.int64)
        keys = flat.reshape(-1, layout.tables) - np.array(self._firsts, dtype=np.int64)
        fits = ((keys >= 0) & (keys < 1 << layout.bits)).all(axis=1)
        data, size = keys.astype("<u4").tobytes(), self._codes.size
        for row in np.flatnonzero(fits).tolist():
            packed[full[row]] = data[row * size : (row + 1) * size]
        for place in rest:
            if not packed[place]:
                packed[place] = cells.packed(sketches[place].keys, self._kind) + b"\0"
        return packed

    def _own_keys(self, payloads: Sequence[bytes]) -> Ragged | None:
        made = known_class(self.info.name)
        with suppress(PayloadError):
            return made.keys_of(Ragged.of_bytes(payloads)) if made and payloads else None
        return None

    def unpack(self, cell: Any, payload: Any) -> tuple[int, ...]:
        data = cells.blob(cell)
        if not data:
            own = None if payload is None else self._own_keys([cells.blob(payload)])
            if own is None:
                raise cells.DamagedError("a sketch without keys")
            return tuple(own.values.tolist())
        if len(data) % 2:
            return tuple(cells.numbers(data[:-1], self._kind, self.info.layout.end).tolist())
        if len(data) != self._codes.size or self.info.layout.bits > 32:
            raise cells.DamagedError(f"{len(data)} bytes are no keys")
        keys = self._codes.unpack(data)
        if max(keys) >> self.info.layout.bits:
            raise cells.DamagedError("a key outside the layout")
        return tuple(map(add, keys, self._firsts))

    def sketches(self, features: Sequence[Any], payloads: Sequence[Any], packed: Sequence[Any]) -> list[Sketch]:
        if any(cells.count(count) and payload is None for count, payload in zip(features, payloads, strict=True)):
            raise cells.DamagedError("a document's sketch is gone")
        keys = self.unpack_each(packed, payloads)
        listed, bounds = keys.values.tolist(), pairwise(keys.offsets.tolist())
        return [
            Sketch.without_features(self.info.id)
            if payload is None
            else Sketch(self.info.id, cells.blob(payload), tuple(listed[start:end]), count)
            for count, payload, (start, end) in zip(features, payloads, bounds, strict=True)
        ]

    def unpack_each(self, packed: Sequence[Any], payloads: Sequence[Any]) -> Ragged:
        size, layout = self._codes.size, self.info.layout
        if layout.bits <= 32 and all(type(cell) is bytes and len(cell) == size for cell in packed):
            keys = np.frombuffer(b"".join(packed), dtype="<u4").reshape(-1, layout.tables).astype(np.int64)
            if keys.size and int(keys.max()) >> layout.bits:
                raise cells.DamagedError("a key outside the layout")
            return Ragged.of_matrix(keys + np.array(self._firsts, dtype=np.int64))
        there = [place for place, payload in enumerate(payloads) if payload is not None]
        if not any(cells.blob(packed[place]) for place in there):
            own = self._own_keys([cells.blob(payloads[place]) for place in there])
            if own is not None:
                sizes = np.zeros(len(packed) + 1, dtype=np.int64)
                sizes[np.array(there) + 1] = own.sizes
                return Ragged(own.values, np.cumsum(sizes))
        rows = [
            () if payload is None else self.unpack(cell, payload)
            for cell, payload in zip(packed, payloads, strict=True)
        ]
        return Ragged.of_integers(rows)


def read_schemes(connection: sqlite3.Connection) -> dict[str, StoredScheme]:
    rows = connection.execute("SELECT number, name, id, tables, bits FROM schemes ORDER BY number")
    return {
        cells.name(name): StoredScheme(
            cells.count(number), SchemeInfo(cells.name(name), cells.name(full), _read_layout(tables, bits))
        )
        for number, name, full, tables, bits in rows
    }


def _read_layout(tables: Any, bits: Any) -> KeyLayout:
    if not (cells.count(tables, _MOST_TABLES) and cells.count(bits, _MOST_BITS) > 0 and tables << bits <= 1 << 63):
        raise cells.DamagedError(f"{tables} tables of {bits} bits")
    return KeyLayout(tables, bits)


def add_scheme(connection: sqlite3.Connection, scheme: SchemeInfo, number: int | None = None) -> None:
    row = (number, scheme.name, scheme.id, scheme.layout.tables, scheme.layout.bits)
    made = connection.execute("INSERT INTO schemes VALUES (?, ?, ?, ?, ?, 0, 0, 0)", row).lastrowid
    for statement in _TABLES:
        connection.execute(statement.format(made))


def remove_scheme(connection: sqlite3.Connection, scheme: StoredScheme) -> None:
    for table in ("sketches", "equals", *KEY_TABLES):
        connection.execute(f"DROP TABLE {table}_{scheme.number}")
    connection.execute("DELETE FROM schemes WHERE number = ?", (scheme.number,))


def features(number: int) -> str:
    return f"coalesce(e{number}.features, v{number}.features)"


def joined(number: int) -> str:
    return (
        f"LEFT JOIN equals_{number} e{number} ON e{number}.document = d.number "
        f"LEFT JOIN sketches_{number} v{number} ON v{number}.number = coalesce(e{number}.sketch, d.number)"
    )
