"""Sketches in the embedded store: each distinct one is kept once.

A scheme has four tables of its own: its distinct sketches, each with the number of its first document; the other
documents with an equal one; and in two tables the keys, each with the number of its sketch. The digest of a sketch is
one more key, below all those of the layout, so equal sketches are found and written like keys.
"""

# ruff: noqa: S608 -- statements are put together of fixed words and numbers

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
import numpy.typing as npt

from indexer.model import Sketch
from indexer.stores.sqlite import cells
from indexer.stores.sqlite.rows import insert_keys, insert_rows, merge_steps
from indexer.stores.sqlite.tables import FIRST, KEY_TABLES, StoredScheme, features, joined, read_schemes

# A document's number, and its sketches.
Linked = tuple[int, Mapping[str, Sketch]]

# Up to this many distinct sketches the large table of keys is small enough to be written to at once.
_SMALL_STORE = 1 << 15
_DIGEST_BYTES = 8


def sketch_digest(payload: bytes, keys: bytes) -> bytes:
    return hashlib.blake2b(payload + keys, digest_size=_DIGEST_BYTES).digest()


@dataclass(slots=True)
class _SchemeCounts:
    """The changes to the counts of a scheme: comparable documents, documents, distinct sketches."""

    comparable: int = 0
    documents: int = 0
    sketches: int = 0


class SketchChanges:
    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._schemes = read_schemes(connection)
        self._lost: dict[str, set[int]] = {name: set() for name in self._schemes}
        self._counts = {name: _SchemeCounts() for name in self._schemes}

    def last_number(self) -> int:
        tables = ("documents", *(f"sketches_{scheme.number}" for scheme in self._schemes.values()))
        rows = (self._connection.execute(f"SELECT coalesce(max(number), 0) FROM {table}") for table in tables)
        return max(cells.count(row.fetchone()[0], 1 << 62) for row in rows)

    def unlink(self, documents: Sequence[tuple[int, bool]]) -> None:
        listed = json.dumps([number for number, _ in documents])
        compared = {number for number, short in documents if not short}
        for name, scheme in self._schemes.items() if documents else ():
            rows = self._connection.execute(
                f"""SELECT document, sketch FROM equals_{scheme.number}
                WHERE document IN (SELECT value FROM json_each(?1))
                UNION ALL SELECT number, number FROM sketches_{scheme.number}
                WHERE number IN (SELECT value FROM json_each(?1))""",
                (listed,),
            ).fetchall()
            if scheme.number == FIRST:
                # Without words a document is compared with nothing.
                compared &= {document for document, _ in rows}
            self._lost[name].update(cells.count(sketch) for _, sketch in rows)
            self._counts[name].documents -= len(rows)
            self._counts[name].comparable -= sum(document in compared for document, _ in rows)
            self._connection.executemany(
                f"DELETE FROM equals_{scheme.number} WHERE document = ?", [(document,) for document, _ in rows]
            )

    def link(self, documents: Sequence[Linked], compared: set[int]) -> None:
        for name, scheme in self._schemes.items():
            rows = [(document, sketches[name]) for document, sketches in documents if name in sketches]
            if rows:
                self._counts[name].sketches += self._link(scheme, rows)
                self._counts[name].documents += len(rows)
                self._counts[name].comparable += sum(document in compared for document, _ in rows)

    def _link(self, scheme: StoredScheme, rows: Sequence[tuple[int, Sketch]]) -> int:
        packed = scheme.pack_each([sketch for _, sketch in rows])
        digests = [
            scheme.digest_key(sketch_digest(sketch.payload, keys)) if sketch.payload else 0
            for (_, sketch), keys in zip(rows, packed, strict=True)
        ]
        numbers = self._equal(scheme, {digest for digest in digests if digest})
        table = f"sketches_{scheme.number}"
        (top,) = self._connection.execute(f"SELECT coalesce(max(number), 0) FROM {table}").fetchone()
        own, equal, posted = [], [], []
        for (document, sketch), keys, digest in zip(rows, packed, digests, strict=True):
            number = numbers.setdefault((sketch.payload, keys), document) if digest else document
            if number != document:
                equal.append((document, sketch.features, number))
                continue
            own.append((document, sketch.features, sketch.payload or None, keys))
            if digest:
                posted.append((document, sketch.keys, digest))
        insert_rows(self._connection, table, own)
        insert_rows(self._connection, f"equals_{scheme.number}", equal)
        if posted:
            self._post(scheme, posted, cells.count(top, 1 << 62))
        return len(posted)

    def _equal(self, scheme: StoredScheme, keys: Collection[int]) -> dict[tuple[bytes, bytes], int]:
        if not keys:
            return {}
        rows = self._connection.execute(
            f"""WITH asked(key) AS (SELECT value FROM json_each(?))
            SELECT v.number, v.payload, v.keys FROM (
                SELECT sketch FROM postings_{scheme.number} WHERE key IN asked
                UNION SELECT sketch FROM recent_{scheme.number} WHERE key IN asked) p
                CROSS JOIN sketches_{scheme.number} v ON v.number = p.sketch""",
            (json.dumps(list(keys)),),
        )
        return {(cells.blob(payload), cells.blob(packed)): cells.count(number) for number, payload, packed in rows}

    def _post(self, scheme: StoredScheme, new: Sequence[tuple[int, Sequence[int], int]], top: int) -> None:
        own = np.fromiter(chain.from_iterable(keys for _, keys, _ in new), dtype=np.int64) - scheme.half
        keys = np.append(own, np.array([digest for *_, digest in new], dtype=np.int64))
        numbers = np.array([number for number, *_ in new], dtype=np.int64)
        numbers = np.append(np.repeat(numbers, [len(some) for _, some, _ in new]), numbers)
        order: npt.NDArray[np.int64] = np.lexsort((numbers, keys))
        table = "postings" if top < _SMALL_STORE else "recent"
        rows = np.column_stack((keys[order], numbers[order]))
        insert_keys(self._connection, f"{table}_{scheme.number}", rows)
        # More steps than tables would find nothing further.
        for step in merge_steps(top, new[-1][0])[: scheme.info.layout.tables + 1]:
            ends = scheme.key_range(step)
            self._connection.execute(
                f"""INSERT OR IGNORE INTO postings_{scheme.number} SELECT key, sketch FROM recent_{scheme.number}
                WHERE key BETWEEN ? AND ? ORDER BY key, sketch""",
                ends,
            )
            self._connection.execute(f"DELETE FROM recent_{scheme.number} WHERE key BETWEEN ? AND ?", ends)

    def finish(self) -> None:
        for name, scheme in self._schemes.items():
            changed = self._counts[name]
            if self._lost[name]:
                changed.sketches -= self._forget(scheme, self._lost[name])
            self._connection.execute(
                """UPDATE schemes SET comparable = comparable + ?, documents = documents + ?, sketches = sketches + ?
                WHERE number = ?""",
                (changed.comparable, changed.documents, changed.sketches, scheme.number),
            )

    def _forget(self, scheme: StoredScheme, lost: Iterable[int]) -> int:
        unused = self._connection.execute(
            f"""SELECT v.number, v.payload, v.keys FROM json_each(?) l
            CROSS JOIN sketches_{scheme.number} v ON v.number = l.value
            WHERE NOT EXISTS (SELECT 1 FROM documents d WHERE d.number = v.number)
            AND NOT EXISTS (SELECT 1 FROM equals_{scheme.number} e WHERE e.sketch = v.number)""",
            (json.dumps(sorted(lost)),),
        ).fetchall()
        posted = [(sketch, cells.blob(payload), cells.blob(keys)) for sketch, payload, keys in unused if payload]
        gone = sorted(
            (key, sketch)
            for sketch, payload, packed in posted
            for key in (
                scheme.digest_key(sketch_digest(payload, packed)),
                *scheme.stored(scheme.unpack(packed, payload)),
            )
        )
        for table in KEY_TABLES:
            self._connection.executemany(f"DELETE FROM {table}_{scheme.number} WHERE key = ? AND sketch = ?", gone)
        numbers = [(sketch,) for sketch, _, _ in unused]
        self._connection.executemany(f"DELETE FROM sketches_{scheme.number} WHERE number = ?", numbers)
        return len(posted)


def sketches_of(
    connection: sqlite3.Connection, schemes: Iterable[StoredScheme], documents: Sequence[int]
) -> dict[int, dict[str, Sketch]]:
    sketches: dict[int, dict[str, Sketch]] = {}
    for scheme in schemes:
        number = scheme.number
        rows = connection.execute(
            f"""SELECT d.number, {features(number)}, v{number}.payload, v{number}.keys FROM documents d {joined(number)}
            WHERE d.number IN (SELECT value FROM json_each(?))""",
            (json.dumps(documents),),
        )
        if there := [row for row in rows if row[1] is not None]:
            numbers, *columns = zip(*there, strict=True)
            for document, sketch in zip(numbers, scheme.sketches(*columns), strict=True):
                sketches.setdefault(document, {})[scheme.info.name] = sketch
    return sketches
