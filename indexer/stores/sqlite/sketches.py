"""The sketches in the embedded store: each distinct one is kept once, with one set of keys, whatever the scheme.

A scheme has four tables of its own: its distinct sketches, by numbers; the sketch of each document; and the keys, each
with the number of a sketch that has it, in two tables. The digest of a sketch is one more key, below all those of the
layout, so that an equal one is found in the same tables and by the same ways of writing.
"""

# ruff: noqa: S608 -- statements are put together of fixed words and numbers

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain

import numpy as np
import numpy.typing as npt

from indexer.model import Sketch
from indexer.stores.sqlite import cells, parts
from indexer.stores.sqlite.tables import FIRST, KEY_TABLES, StoredScheme, read_schemes

# A document's number, and its sketches.
Linked = tuple[int, Mapping[str, Sketch]]

# Up to this many distinct sketches the large table of keys is small enough to be written to at once.
_SMALL_STORE = 1 << 15
_DIGEST_BYTES = 8


def sketch_digest(payload: bytes, keys: bytes) -> bytes:
    """The digest of a sketch with its packed keys as they are stored."""
    return hashlib.blake2b(payload + keys, digest_size=_DIGEST_BYTES).digest()


class SketchChanges:
    """The changes of one transaction to the sketches of documents, and so to the counts and keys of the sketches."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._schemes = read_schemes(connection)
        self._lost: dict[str, set[int]] = {name: set() for name in self._schemes}
        self._comparable = dict.fromkeys(self._schemes, 0)

    def unlink(self, documents: Sequence[tuple[int, bool]]) -> None:
        """Take the sketches away from documents, given by number and whether they are short."""
        listed = json.dumps([number for number, _ in documents])
        compared = {number for number, short in documents if not short}
        for name, scheme in self._schemes.items() if documents else ():
            table = f"document_sketches_{scheme.number}"
            rows = self._connection.execute(
                f"SELECT document, sketch FROM {table} WHERE document IN (SELECT value FROM json_each(?))", (listed,)
            ).fetchall()
            if scheme.number == FIRST:
                # Without words a document is compared with nothing.
                compared &= {document for document, _ in rows}
            self._lost[name].update(cells.count(sketch) for _, sketch in rows if sketch is not None)
            self._comparable[name] -= sum(document in compared for document, _ in rows)
            self._connection.executemany(
                f"DELETE FROM {table} WHERE document = ?", [(document,) for document, _ in rows]
            )

    def link(self, documents: Sequence[Linked], compared: set[int]) -> None:
        """Give new documents their sketches; `compared` are those that are not short and have words."""
        for name, scheme in self._schemes.items():
            rows = [(document, sketches[name]) for document, sketches in documents if name in sketches]
            if rows:
                self._link(scheme, rows)
                self._comparable[name] += sum(document in compared for document, _ in rows)

    def _link(self, scheme: StoredScheme, rows: Sequence[tuple[int, Sketch]]) -> None:
        packed = scheme.pack_each([sketch.keys for _, sketch in rows])
        stored = [(sketch.payload, keys) for (_, sketch), keys in zip(rows, packed, strict=True)]
        keys = {pair: scheme.digest_key(sketch_digest(*pair)) for pair in stored if pair[0]}
        numbers = self._equal(scheme, keys.values()) if keys else {}
        last = self._connection.execute(f"SELECT coalesce(max(number), 0) FROM sketches_{scheme.number}").fetchone()
        top = cells.count(last[0], 1 << 62)
        new = [pair for pair in keys if pair not in numbers]
        numbers.update((pair, top + place) for place, pair in enumerate(new, 1))
        parts.insert_rows(self._connection, f"sketches_{scheme.number}", [(numbers[pair], *pair) for pair in new])
        parts.insert_rows(
            self._connection,
            f"document_sketches_{scheme.number}",
            [
                (document, sketch.features, numbers.get(pair))
                for (document, sketch), pair in zip(rows, stored, strict=True)
            ],
        )
        if new:
            own = {pair: sketch.keys for pair, (_, sketch) in zip(stored, rows, strict=True)}
            self._post(scheme, [own[pair] for pair in new], [keys[pair] for pair in new], top)

    def _equal(self, scheme: StoredScheme, keys: Iterable[int]) -> dict[tuple[bytes, bytes], int]:
        """The distinct sketches with one of these digest keys: by payload and keys their numbers."""
        rows = self._connection.execute(
            f"""WITH asked(key) AS (SELECT value FROM json_each(?))
            SELECT v.number, v.payload, v.keys FROM (
                SELECT sketch FROM postings_{scheme.number} WHERE key IN asked
                UNION SELECT sketch FROM recent_{scheme.number} WHERE key IN asked) p
                CROSS JOIN sketches_{scheme.number} v ON v.number = p.sketch""",
            (json.dumps(list(keys)),),
        )
        return {(cells.blob(payload), cells.blob(packed)): cells.count(number) for number, payload, packed in rows}

    def _post(self, scheme: StoredScheme, new: Sequence[Sequence[int]], digests: Sequence[int], top: int) -> None:
        """Add the keys of new sketches, numbered from `top` on, with the keys of their digests; move what is due."""
        own = np.fromiter(chain.from_iterable(new), dtype=np.int64) - scheme.half
        keys = np.append(own, np.array(digests, dtype=np.int64))
        numbers = np.arange(top + 1, top + 1 + len(new), dtype=np.int64)
        numbers = np.append(np.repeat(numbers, [len(some) for some in new]), numbers)
        order: npt.NDArray[np.int64] = np.lexsort((numbers, keys))
        table = "postings" if top < _SMALL_STORE else "recent"
        rows = np.column_stack((keys[order], numbers[order]))
        parts.insert_keys(self._connection, f"{table}_{scheme.number}", rows)
        # More steps than tables would find nothing further.
        for step in parts.merge_steps(top, top + len(new))[: scheme.info.layout.tables + 1]:
            ends = scheme.key_range(step)
            self._connection.execute(
                f"""INSERT OR IGNORE INTO postings_{scheme.number} SELECT key, sketch FROM recent_{scheme.number}
                WHERE key BETWEEN ? AND ? ORDER BY key, sketch""",
                ends,
            )
            self._connection.execute(f"DELETE FROM recent_{scheme.number} WHERE key BETWEEN ? AND ?", ends)

    def finish(self) -> None:
        """Remove the sketches that no document uses, with their keys, and write the counts."""
        for name, scheme in self._schemes.items():
            if self._lost[name]:
                self._forget(scheme, self._lost[name])
            change = (self._comparable[name], scheme.number)
            self._connection.execute("UPDATE schemes SET comparable = comparable + ? WHERE number = ?", change)

    def _forget(self, scheme: StoredScheme, lost: Iterable[int]) -> None:
        unused = self._connection.execute(
            f"""SELECT v.number, v.payload, v.keys FROM json_each(?) l
            CROSS JOIN sketches_{scheme.number} v ON v.number = l.value
            WHERE NOT EXISTS (SELECT 1 FROM document_sketches_{scheme.number} k WHERE k.sketch = v.number)""",
            (json.dumps(sorted(lost)),),
        ).fetchall()
        gone = sorted(
            (key, sketch)
            for sketch, payload, packed in unused
            for key in (
                scheme.digest_key(sketch_digest(cells.blob(payload), cells.blob(packed))),
                *scheme.stored(scheme.unpack(packed)),
            )
        )
        for table in KEY_TABLES:
            self._connection.executemany(f"DELETE FROM {table}_{scheme.number} WHERE key = ? AND sketch = ?", gone)
        numbers = [(sketch,) for sketch, _, _ in unused]
        self._connection.executemany(f"DELETE FROM sketches_{scheme.number} WHERE number = ?", numbers)


def sketches_of(
    connection: sqlite3.Connection, schemes: Iterable[StoredScheme], documents: Sequence[int]
) -> dict[int, dict[str, Sketch]]:
    """The sketches of documents, given by their numbers; a document without any is left out."""
    sketches: dict[int, dict[str, Sketch]] = {}
    for scheme in schemes:
        rows = connection.execute(
            f"""SELECT l.document, l.features, v.payload, v.keys FROM document_sketches_{scheme.number} l
            LEFT JOIN sketches_{scheme.number} v ON v.number = l.sketch
            WHERE l.document IN (SELECT value FROM json_each(?))""",
            (json.dumps(documents),),
        )
        for document, features, payload, packed in rows:
            keys = () if packed is None else scheme.unpack(packed)
            data = cells.blob(b"" if payload is None else payload)
            sketches.setdefault(document, {})[scheme.info.name] = Sketch(
                scheme.info.id, data, keys, cells.count(features)
            )
    return sketches
