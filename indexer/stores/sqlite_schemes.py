"""The part of the embedded store that has to do with schemes beside the first, and with named resources."""

# ruff: noqa: D102 -- what the methods of a store do is said once, in base.py and sketches.py

from __future__ import annotations

import dataclasses
import json
import sqlite3
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from indexer.keys import KeyLayout, SchemeInfo
from indexer.model import Ref, Sketch
from indexer.stores import sqlite_cells as cells
from indexer.stores.base import StoreInfo
from indexer.stores.sketches import SketchBatch, check_resource, is_new, scheme_named
from indexer.stores.sqlite_parts import OnFile

_READ = 4096
_MIN_MERGE_BITS = 12
# Up to so many documents the large table of keys is small enough to be written to at once.
_SMALL_STORE = 1 << 15
# More tables or bits than any scheme has; a packed key fits into a signed 64-bit integer.
_MOST_TABLES, _MOST_BITS = 1 << 16, 62

Sketches = Mapping[str, Sketch]


class SchemeTables(OnFile):
    """Sketches in a table by scheme and document, their keys in two tables as those of the first scheme."""

    path: Path

    @abstractmethod
    def _described(self, info: StoreInfo) -> None:
        """Take note of what the store is made of now."""

    def add_scheme(self, scheme: SchemeInfo) -> None:
        if not is_new(self.info.schemes, scheme, str(self.path)):
            return
        with self._writing() as connection:
            there = read_schemes(connection)
            if is_new(there, scheme, str(self.path)):
                connection.execute(
                    "INSERT INTO schemes (name, id, tables, bits) VALUES (?, ?, ?, ?)",
                    (scheme.name, scheme.id, scheme.layout.tables, scheme.layout.bits),
                )
            there = read_schemes(connection)
        self._described(dataclasses.replace(self.info, schemes=there))

    def remove_scheme(self, name: str) -> None:
        with self._writing() as connection:
            row = connection.execute("SELECT number FROM schemes WHERE name = ?", (name,)).fetchone()
            if row:
                for table in ("scheme_postings", "scheme_recent", "sketches"):
                    connection.execute(f"DELETE FROM {table} WHERE scheme = ?", row)  # noqa: S608 one of three names
                connection.execute("DELETE FROM schemes WHERE number = ?", row)
            there = read_schemes(connection)
        self._described(dataclasses.replace(self.info, schemes=there))

    def sketched(
        self, name: str, keys: Sequence[int], *, agreeing: int = 1, include_short: bool = False
    ) -> Iterator[SketchBatch]:
        scheme = scheme_named(self.info.schemes, name, str(self.path))
        asked = (json.dumps(list(keys)), scheme.layout.bits, agreeing, include_short)
        # Mostly few are found, and then no connection of its own has to keep the moment.
        with self._reading() as connection:
            rows = connection.execute(_SKETCHED, (_number(connection, name), *asked)).fetchmany(_READ)
            if len(rows) < _READ:
                if rows:
                    yield _batch(rows)
                return
        with self._snapshot() as connection:
            cursor = connection.execute(_SKETCHED, (_number(connection, name), *asked))
            while rows := cursor.fetchmany(_READ):
                yield _batch(rows)

    def scan_sketches(self, name: str, *, include_short: bool = False) -> Iterator[SketchBatch]:
        scheme = scheme_named(self.info.schemes, name, str(self.path))
        kind = _kind(scheme)
        with self._snapshot() as connection:
            cursor = connection.execute(_SCANNED, (_number(connection, name), include_short))
            while rows := cursor.fetchmany(_READ):
                yield SketchBatch(
                    [Ref(cells.text(row[0])) for row in rows],
                    [cells.blob(row[1]) for row in rows],
                    [cells.numbers(row[2], kind, scheme.layout.end).astype(np.int64) for row in rows],
                )

    def sketch_counts(self) -> Mapping[str, int]:
        with self._snapshot() as connection:
            sql = "SELECT name, (SELECT count(*) FROM sketches WHERE scheme = number) FROM schemes ORDER BY number"
            return {cells.name(name): count for name, count in connection.execute(sql)}

    def put_resource(self, name: str, octets: bytes) -> None:
        check_resource(name, octets)
        with self._writing() as connection:
            connection.execute("INSERT OR REPLACE INTO resources VALUES (?, ?)", (name, octets))

    def get_resource(self, name: str) -> bytes | None:
        with self._reading() as connection:
            row = connection.execute("SELECT octets FROM resources WHERE name = ?", (name,)).fetchone()
            return cells.blob(row[0]) if row else None

    def resources(self) -> list[str]:
        with self._reading() as connection:
            return [cells.name(name) for (name,) in connection.execute("SELECT name FROM resources ORDER BY name")]


def read_schemes(connection: sqlite3.Connection) -> tuple[SchemeInfo, ...]:
    """The schemes beside the first, in the order in which they came."""
    rows = connection.execute("SELECT name, id, tables, bits FROM schemes ORDER BY number")
    return tuple(
        SchemeInfo(cells.name(name), cells.name(full), read_layout(tables, bits)) for name, full, tables, bits in rows
    )


def read_layout(tables: Any, bits: Any) -> KeyLayout:
    """The key layout of two cells."""
    if not (cells.count(tables, _MOST_TABLES) and cells.count(bits, _MOST_BITS) > 0 and tables << bits <= 1 << 63):
        raise cells.DamagedError(f"{tables} tables of {bits} bits")
    return KeyLayout(tables, bits)


class SketchRows:
    """Sketches of documents as rows, inside of a transaction of the store; does nothing in a store without schemes."""

    def __init__(self, schemes: Sequence[SchemeInfo]) -> None:
        self._schemes = {scheme.name: scheme for scheme in schemes}

    def add(self, connection: sqlite3.Connection, sketches: Mapping[int, Sketches]) -> None:
        """Add the sketches of new documents, given by their numbers."""
        for name, scheme in self._schemes.items():
            rows = [(number, found[name]) for number, found in sketches.items() if name in found]
            if rows:
                self._add(connection, _number(connection, name), scheme, rows)

    def _add(
        self, connection: sqlite3.Connection, number: int, scheme: SchemeInfo, rows: Sequence[tuple[int, Sketch]]
    ) -> None:
        top = connection.execute("SELECT coalesce(max(document), 0) FROM sketches WHERE scheme = ?", (number,))
        before = cells.count(top.fetchone()[0])
        kind = _kind(scheme)
        connection.executemany(
            "INSERT INTO sketches VALUES (?, ?, ?, ?, ?)",
            [
                (number, document, sketch.features, sketch.payload, np.array(sketch.keys, dtype=kind).tobytes())
                for document, sketch in rows
            ],
        )
        keys = np.fromiter(chain.from_iterable(sketch.keys for _, sketch in rows), dtype=np.int64)
        owners = np.repeat([document for document, _ in rows], [len(sketch.keys) for _, sketch in rows])
        order = np.lexsort((owners, keys))
        table = "scheme_postings" if before < _SMALL_STORE else "scheme_recent"
        postings = zip(keys[order].tolist(), owners[order].tolist(), strict=True)
        connection.executemany(
            f"INSERT OR IGNORE INTO {table} VALUES (?, ?, ?)",  # noqa: S608 one of two names
            ((number, key, owner) for key, owner in postings),
        )
        self._merge(connection, number, scheme, before, max(document for document, _ in rows))

    @staticmethod
    def _merge(connection: sqlite3.Connection, number: int, scheme: SchemeInfo, before: int, after: int) -> None:
        """Move the recent keys of one table after the other to the large table, as those of the first scheme."""
        bits = max(_MIN_MERGE_BITS, after.bit_length() - 8)
        first = (before >> bits) + 1
        # More steps than tables would find nothing any more.
        for step in range(first, min(after >> bits, first + scheme.layout.tables - 1) + 1):
            table = step % scheme.layout.tables
            part = (number, scheme.layout.pack(table, 0), scheme.layout.pack(table, (1 << scheme.layout.bits) - 1))
            where = "scheme = ? AND key >= ? AND key <= ?"
            connection.execute(
                "INSERT OR IGNORE INTO scheme_postings SELECT scheme, key, document FROM scheme_recent "  # noqa: S608
                f"WHERE {where} ORDER BY scheme, key, document",
                part,
            )
            connection.execute(f"DELETE FROM scheme_recent WHERE {where}", part)  # noqa: S608 fixed words

    def remove(self, connection: sqlite3.Connection, documents: Sequence[int]) -> None:
        """Remove the sketches and keys of documents, given by their numbers."""
        for name, scheme in self._schemes.items():
            number, kind = _number(connection, name), _kind(scheme)
            sql = """SELECT document, keys FROM sketches
                WHERE scheme = ? AND document IN (SELECT value FROM json_each(?))"""
            gone = [
                (number, key, document)
                for document, keys in connection.execute(sql, (number, json.dumps(documents)))
                for key in cells.numbers(keys, kind, scheme.layout.end).tolist()
            ]
            gone.sort()
            for table in ("scheme_postings", "scheme_recent"):
                connection.executemany(
                    f"DELETE FROM {table} WHERE scheme = ? AND key = ? AND document = ?",  # noqa: S608 one of two
                    gone,
                )
            connection.executemany(
                "DELETE FROM sketches WHERE scheme = ? AND document = ?", [(number, document) for document in documents]
            )

    def of(self, connection: sqlite3.Connection, documents: Sequence[int]) -> dict[int, dict[str, Sketch]]:
        """The sketches of documents, given by their numbers; a document without any is left out."""
        found: dict[int, dict[str, Sketch]] = {}
        for name, scheme in self._schemes.items():
            sql = """SELECT document, features, payload, keys FROM sketches
                WHERE scheme = ? AND document IN (SELECT value FROM json_each(?))"""
            kind = _kind(scheme)
            for document, features, payload, keys in connection.execute(
                sql, (_number(connection, name), json.dumps(documents))
            ):
                unpacked = tuple(cells.numbers(keys, kind, scheme.layout.end).tolist())
                found.setdefault(document, {})[name] = Sketch(
                    scheme.id, cells.blob(payload), unpacked, cells.count(features)
                )
        return found


def _batch(rows: Sequence[tuple[bytes, bytes]]) -> SketchBatch:
    return SketchBatch([Ref(cells.text(name)) for name, _ in rows], [cells.blob(payload) for _, payload in rows])


def _number(connection: sqlite3.Connection, name: str) -> int:
    row: Any = connection.execute("SELECT number FROM schemes WHERE name = ?", (name,)).fetchone()
    return int(row[0]) if row else 0


def _kind(scheme: SchemeInfo) -> npt.DTypeLike:
    return np.dtype("<u4") if scheme.layout.end <= 1 << 32 else np.dtype("<i8")


_SKETCHED = """
WITH asked(key) AS (SELECT value FROM json_each(?2)),
holders(document) AS (
    SELECT document FROM (
        SELECT document, key >> ?3 AS place FROM scheme_postings WHERE scheme = ?1 AND key IN asked
        UNION ALL SELECT document, key >> ?3 FROM scheme_recent WHERE scheme = ?1 AND key IN asked)
    GROUP BY document HAVING count(DISTINCT place) >= ?4)
SELECT d.id, s.payload FROM holders h CROSS JOIN documents d ON d.number = h.document AND d.short <= ?5
    CROSS JOIN sketches s ON s.scheme = ?1 AND s.document = h.document
"""
_SCANNED = """
SELECT d.id, s.payload, s.keys FROM sketches s CROSS JOIN documents d ON d.number = s.document
    WHERE s.scheme = ? AND s.payload <> x'' AND d.short <= ? ORDER BY s.document
"""
