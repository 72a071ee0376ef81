"""The base class and helpers of the parts of the embedded store."""

from __future__ import annotations

import json
import sqlite3
from abc import abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from contextlib import AbstractContextManager
from itertools import chain
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from indexer.model import Ref
from indexer.model.chunking import chunks
from indexer.stores.base import Store
from indexer.stores.sqlite import cells
from indexer.stores.sqlite.rows import Replaced, id_digest

T = TypeVar("T")

READ_ROWS = 1000
# In one statement, where this SQLite takes as many.
_PARAMETERS = 30_000
_MIN_MERGE_BITS = 12


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
