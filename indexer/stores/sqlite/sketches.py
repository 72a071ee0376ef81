"""How sketches are kept in the embedded store: each distinct one once, with one set of keys, whatever the scheme.

A distinct sketch of a scheme has a number; documents refer to it, and so do the keys. Its digest is one more key, below
all those of the layout, so that an equal one is found in the same tables and by the same ways of writing.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from indexer.model import Sketch
from indexer.schemes.keys.layout import KeyLayout, SchemeInfo
from indexer.stores.sqlite import cells, parts

Sketches = Mapping[str, Sketch]
# A document's number, its fingerprint's number and whether it is short.
StoredDocument = tuple[int, int | None, int]

# More tables or bits than any scheme has; a packed key fits into a signed 64-bit integer.
_MOST_TABLES, _MOST_BITS = 1 << 16, 62
# Up to this many distinct sketches the large table of keys is small enough to be written to at once.
_SMALL_STORE = 1 << 15
_DIGEST_BYTES = 16
# What is equal by its digest is compared, so the key may be short; SQLite takes six bytes for these.
_DIGEST_KEY_BITS = 47


def read_schemes(connection: sqlite3.Connection) -> tuple[SchemeInfo, ...]:
    """The secondary schemes, in the order in which they came."""
    rows = connection.execute("SELECT name, id, tables, bits FROM schemes ORDER BY number")
    return tuple(
        SchemeInfo(cells.name(name), cells.name(full), read_layout(tables, bits)) for name, full, tables, bits in rows
    )


def read_layout(tables: Any, bits: Any) -> KeyLayout:
    """The key layout of two cells."""
    if not (cells.count(tables, _MOST_TABLES) and cells.count(bits, _MOST_BITS) > 0 and tables << bits <= 1 << 63):
        raise cells.DamagedError(f"{tables} tables of {bits} bits")
    return KeyLayout(tables, bits)


def scheme_number(connection: sqlite3.Connection, name: str) -> int:
    """The number of a scheme in the file, 0 where it is no longer there."""
    row = connection.execute("SELECT number FROM schemes WHERE name = ?", (name,)).fetchone()
    return cells.count(row[0]) if row else 0


def key_kind(layout: KeyLayout) -> npt.DTypeLike:
    """How a sketch's keys stand in one BLOB."""
    return np.dtype("<u4") if layout.end <= 1 << 32 else np.dtype("<i8")


def sketch_digest(payload: bytes, keys: bytes) -> bytes:
    """The digest of a sketch with its packed keys as they are stored."""
    hashed = hashlib.blake2b(keys, digest_size=_DIGEST_BYTES)
    hashed.update(len(keys).to_bytes(8, "big"))
    hashed.update(payload)
    return hashed.digest()


def digest_key(digest: bytes) -> int:
    """The key, negative, that stands for a digest."""
    return -1 - (int.from_bytes(digest[:8], "big") >> (64 - _DIGEST_KEY_BITS))


def equal_sketches(connection: sqlite3.Connection, scheme: int, keys: Iterable[int]) -> dict[tuple[bytes, bytes], int]:
    """The distinct sketches with one of these digest keys: by payload and keys their numbers."""
    rows = connection.execute(_EQUAL, (json.dumps(list(keys)), scheme))
    return {(cells.blob(payload), cells.blob(packed)): cells.count(number) for number, payload, packed in rows}


@dataclass(slots=True)
class _Change:
    """What happens to one scheme in a transaction: sketches that lost a document, and the count of comparable ones."""

    lost: set[int] = field(default_factory=set)
    comparable: int = 0


class SketchChanges:
    """What one transaction does to the sketches of documents; does nothing in a store without other schemes."""

    def __init__(self, schemes: Sequence[SchemeInfo]) -> None:
        self._schemes = {scheme.name: scheme for scheme in schemes}
        self._changes = {name: _Change() for name in self._schemes}

    def unlink(self, connection: sqlite3.Connection, documents: Sequence[StoredDocument]) -> None:
        """Take the sketches away from documents that are removed, or written anew."""
        listed = json.dumps([number for number, _, _ in documents])
        compared = {number for number, value, short in documents if value is not None and not short}
        for name in self._schemes if documents else ():
            scheme, change = scheme_number(connection, name), self._changes[name]
            rows = connection.execute(
                """SELECT document, sketch FROM document_sketches
                WHERE scheme = ? AND document IN (SELECT value FROM json_each(?))""",
                (scheme, listed),
            ).fetchall()
            change.lost.update(cells.count(sketch) for _, sketch in rows if sketch is not None)
            change.comparable -= sum(document in compared for document, _ in rows)
            connection.executemany(
                "DELETE FROM document_sketches WHERE scheme = ? AND document = ?",
                [(scheme, document) for document, _ in rows],
            )

    def link(self, connection: sqlite3.Connection, documents: Sequence[tuple[StoredDocument, Sketches]]) -> None:
        """Give new documents their sketches."""
        for name, scheme in self._schemes.items():
            rows = [(document, numbers_of[name]) for document, numbers_of in documents if name in numbers_of]
            if rows:
                self._link(connection, scheme, rows)

    def _link(
        self, connection: sqlite3.Connection, scheme: SchemeInfo, rows: Sequence[tuple[StoredDocument, Sketch]]
    ) -> None:
        number, kind = scheme_number(connection, scheme.name), key_kind(scheme.layout)
        stored = [(sketch.payload, cells.packed(sketch.keys, kind)) for _, sketch in rows]
        keys = {pair: digest_key(sketch_digest(*pair)) for pair in stored if pair[0]}
        numbers = equal_sketches(connection, number, keys.values()) if keys else {}
        last = connection.execute(
            "SELECT coalesce(max(number), 0) FROM distinct_sketches WHERE scheme = ?", (number,)
        ).fetchone()
        top = cells.count(last[0], 1 << 62)
        new = [pair for pair in keys if pair not in numbers]
        numbers.update((pair, top + place) for place, pair in enumerate(new, 1))
        parts.insert_rows(connection, "distinct_sketches", [(number, numbers[pair], *pair) for pair in new])
        parts.insert_rows(
            connection,
            "document_sketches",
            [
                (number, document, sketch.features, numbers.get(pair))
                for ((document, _, _), sketch), pair in zip(rows, stored, strict=True)
            ],
        )
        self._changes[scheme.name].comparable += sum(value is not None and not short for (_, value, short), _ in rows)
        self._post(connection, number, scheme, {numbers[pair]: (keys[pair], pair[1]) for pair in new}, top)

    @staticmethod
    def _post(
        connection: sqlite3.Connection, number: int, scheme: SchemeInfo, new: Mapping[int, tuple[int, bytes]], top: int
    ) -> None:
        """Add the keys of new distinct sketches, given with the keys of their digests."""
        if not new:
            return
        packed = [keys for _, keys in new.values()]
        own = np.frombuffer(b"".join(packed), dtype=key_kind(scheme.layout)).astype(np.int64)
        keys = np.append(own, np.array([digest for digest, _ in new.values()], dtype=np.int64))
        numbers = np.array(list(new), dtype=np.int64)
        itemsize = np.dtype(key_kind(scheme.layout)).itemsize
        owners = np.append(np.repeat(numbers, [len(keys_of_sketch) // itemsize for keys_of_sketch in packed]), numbers)
        order = np.lexsort((owners, keys))
        table = "scheme_postings" if top < _SMALL_STORE else "scheme_recent"
        rows = np.column_stack((np.full(order.size, number, dtype=np.int64), keys[order], owners[order]))
        parts.insert_keys(connection, table, rows)
        _merge(connection, number, scheme, top, max(new))

    def finish(self, connection: sqlite3.Connection) -> None:
        """Remove the sketches that no document uses, with their keys, and write the counts."""
        for name, scheme in self._schemes.items():
            change = self._changes[name]
            if change.lost:
                _forget(connection, scheme, change.lost)
            if change.comparable:
                connection.execute(
                    "UPDATE schemes SET comparable = comparable + ? WHERE name = ?", (change.comparable, name)
                )


def sketches_of(
    connection: sqlite3.Connection, schemes: Sequence[SchemeInfo], documents: Sequence[int]
) -> dict[int, dict[str, Sketch]]:
    """The sketches of documents, given by their numbers; a document without any is left out."""
    sketches: dict[int, dict[str, Sketch]] = {}
    for scheme in schemes:
        kind = key_kind(scheme.layout)
        asked = (scheme_number(connection, scheme.name), json.dumps(documents))
        for document, features, payload, packed in connection.execute(_OF_DOCUMENTS, asked):
            keys = tuple(cells.numbers(b"" if packed is None else packed, kind, scheme.layout.end).tolist())
            data = cells.blob(b"" if payload is None else payload)
            sketches.setdefault(document, {})[scheme.name] = Sketch(scheme.id, data, keys, cells.count(features))
    return sketches


def _forget(connection: sqlite3.Connection, scheme: SchemeInfo, lost: Iterable[int]) -> None:
    number, kind = scheme_number(connection, scheme.name), key_kind(scheme.layout)
    unused = connection.execute(_UNUSED, (json.dumps(sorted(lost)), number)).fetchall()
    gone = sorted(
        (number, key, sketch)
        for sketch, payload, packed in unused
        for key in (
            digest_key(sketch_digest(cells.blob(payload), cells.blob(packed))),
            *cells.numbers(packed, kind, scheme.layout.end).tolist(),
        )
    )
    for table in ("scheme_postings", "scheme_recent"):
        connection.executemany(
            f"DELETE FROM {table} WHERE scheme = ? AND key = ? AND sketch = ?",  # noqa: S608 one of two names
            gone,
        )
    connection.executemany(
        "DELETE FROM distinct_sketches WHERE scheme = ? AND number = ?", [(number, sketch) for sketch, _, _ in unused]
    )


def _merge(connection: sqlite3.Connection, number: int, scheme: SchemeInfo, before: int, after: int) -> None:
    """Move the recent keys of one table after the other to the large table, as those of the first scheme.

    The digests count as the table before the first.
    """
    tables = scheme.layout.tables + 1
    # More steps than tables would find nothing further.
    for step in parts.merge_steps(before, after)[:tables]:
        table = step % tables - 1
        part = (number, scheme.layout.pack(table, 0), scheme.layout.pack(table, (1 << scheme.layout.bits) - 1))
        if table < 0:
            part = (number, -1 << _DIGEST_KEY_BITS, -1)
        where = "scheme = ? AND key >= ? AND key <= ?"
        connection.execute(
            "INSERT OR IGNORE INTO scheme_postings SELECT scheme, key, sketch FROM scheme_recent "  # noqa: S608
            f"WHERE {where} ORDER BY scheme, key, sketch",
            part,
        )
        connection.execute(f"DELETE FROM scheme_recent WHERE {where}", part)  # noqa: S608 fixed words


_EQUAL = """
WITH asked(key) AS (SELECT value FROM json_each(?1))
SELECT d.number, d.payload, d.keys FROM (
    SELECT sketch FROM scheme_postings WHERE scheme = ?2 AND key IN asked
    UNION SELECT sketch FROM scheme_recent WHERE scheme = ?2 AND key IN asked) p
    CROSS JOIN distinct_sketches d ON d.scheme = ?2 AND d.number = p.sketch
"""
_OF_DOCUMENTS = """
SELECT l.document, l.features, d.payload, d.keys FROM document_sketches l
    LEFT JOIN distinct_sketches d ON d.scheme = l.scheme AND d.number = l.sketch
    WHERE l.scheme = ? AND l.document IN (SELECT value FROM json_each(?))
"""
_UNUSED = """
SELECT d.number, d.payload, d.keys FROM json_each(?1) l
    CROSS JOIN distinct_sketches d ON d.scheme = ?2 AND d.number = l.value
    WHERE NOT EXISTS (SELECT 1 FROM document_sketches k WHERE k.scheme = ?2 AND k.sketch = d.number)
"""
