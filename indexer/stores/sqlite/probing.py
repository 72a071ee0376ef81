"""The part of the embedded store that finds and scans sketches, those of the first scheme like any other's."""

# ruff: noqa: D102 -- what the methods of a store do is said once, in sketches.py
# ruff: noqa: S608 -- statements are put together of fixed words and numbers

from __future__ import annotations

import json
import sqlite3
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from indexer.errors import UsageError
from indexer.model import SIMHASH_DOC, Record, Ref
from indexer.model.chunking import chunks_by_size
from indexer.model.ragged import Ragged
from indexer.schemes.keys.layout import KeyLayout
from indexer.stores.sketches import Check, Few, Found, Probe, require_schemes
from indexer.stores.sqlite import cells
from indexer.stores.sqlite.parts import OnFile
from indexer.stores.sqlite.rows import RECORD_COLUMNS, Packer
from indexer.stores.sqlite.sketches import key_kind

# Where no more are found, whole records come at once.
FEW = 200
_READ = 16_384
# SQLite takes 32,766 parameters; longer lists come as one of JSON, which takes it a little longer to read.
_MAX_MARKS = 4000
# Questions whose keys are looked up together, and about how many keys.
_ASKED_AT_ONCE, _KEYS_AT_ONCE = 500, 100_000
_RECORD_WIDTH = RECORD_COLUMNS.count(",") + 1


class SketchLookups(OnFile):
    """Lookups by keys, scans and counts of sketches."""

    path: Path
    _packer: Packer

    def probe(
        self,
        probes: Sequence[Probe],
        schemes: Sequence[str] = (),
        *,
        check: Check | None = None,
        include_short: bool = False,
    ) -> Iterator[Found]:
        if check is not None:
            raise UsageError(f"{self.path}: this store is a file: candidates are always verified on this machine")
        names = tuple(dict.fromkeys(schemes))
        concerned = (*names, *(one.scheme for one in probes))
        self._require(concerned)
        asked = [one for one in probes if one.keys]
        rows: list[Any] = []
        with self._reading() as connection:
            lacking: Mapping[str, int] | None = _lacking(connection, concerned)
            if asked:
                shapes, values = self._shapes(asked)
                values.append(include_short)
                # Mostly few are found, and then no connection of its own has to keep the moment.
                rows = connection.execute(_probing(shapes, names, records=True), values).fetchmany(FEW + 1)
            if len(rows) <= FEW:
                refs = [Ref(cells.text(row[1])) for row in rows]
                answer = Found(
                    refs, _payloads(rows, names, _RECORD_WIDTH), records=Few(rows, self._record), lacking=lacking
                )
        if len(rows) <= FEW:
            yield answer
            return
        with self._snapshot() as connection:
            cursor = connection.execute(_probing(shapes, names, records=False), values)
            while rows := cursor.fetchmany(_READ):
                yield Found([Ref(cells.text(row[0])) for row in rows], _payloads(rows, names, 1), lacking=lacking)
                lacking = None

    def probe_many(
        self, questions: Sequence[Sequence[Probe]], schemes: Sequence[str] = (), *, include_short: bool = False
    ) -> Iterator[Iterable[Found]]:
        for some in chunks_by_size(questions, _ASKED_AT_ONCE, _key_count, _KEYS_AT_ONCE):
            there = self._there(some)
            payloads = {name: Ragged.joined([]) for name in schemes}
            lacking = self.lacking([*schemes, *there])
            for probes in some:
                # Most documents that come are near nothing, and a query for each takes far longer than one for all.
                if any(not there[probe.scheme].isdisjoint(probe.keys) for probe in probes):
                    yield self.probe(probes, schemes, include_short=include_short)
                else:
                    missing = {name: lacking[name] for name in (*schemes, *(probe.scheme for probe in probes))}
                    yield (Found([], payloads, records=(), lacking=missing),)

    def _there(self, questions: Sequence[Sequence[Probe]]) -> dict[str, set[int]]:
        """Those of the keys, by scheme, that some document has."""
        asked: dict[str, set[int]] = {}
        for probes in questions:
            for probe in probes:
                asked.setdefault(probe.scheme, set()).update(probe.keys)
        self._require(list(asked))
        there: dict[str, set[int]] = {}
        with self._reading() as connection:
            for scheme, keys in asked.items():
                given = list(keys)
                stored = self._packer.stored_keys(given) if scheme == SIMHASH_DOC else given
                by_stored = dict(zip(stored, given, strict=True))
                values = (json.dumps(sorted(stored)), *([] if scheme == SIMHASH_DOC else [scheme]))
                rows = connection.execute(_THERE[scheme == SIMHASH_DOC], values)
                there[scheme] = {by_stored[key] for (key,) in rows}
        return there

    def _record(self, row: Sequence[Any]) -> Record:
        with self._reading():
            return self._packer.record(row[:_RECORD_WIDTH])

    def _require(self, names: Sequence[str]) -> None:
        require_schemes(self.info.schemes, names, str(self.path))

    def _layout(self, scheme: str) -> KeyLayout:
        if scheme == SIMHASH_DOC:
            return self.info.layout
        return next(known.layout for known in self.info.schemes if known.name == scheme)

    def _shapes(self, probes: Sequence[Probe]) -> tuple[tuple[_Shape, ...], list[Any]]:
        """The shapes of these probes, and the values of their parameters in order."""
        shapes: list[_Shape] = []
        values: list[Any] = []
        listed = sum(len(probe.keys) for probe in probes) > _MAX_MARKS
        for probe in probes:
            layout = self._layout(probe.scheme)
            first = probe.scheme == SIMHASH_DOC
            keys = self._packer.stored_keys(probe.keys) if first else list(probe.keys)
            values += [json.dumps(keys)] if listed else keys
            if not first:
                values.append(probe.scheme)
            if probe.agreeing > 1:
                # Keys of the first scheme lie around zero.
                values += [layout.end >> 1 if first else 0, layout.bits, probe.agreeing]
            shapes.append((first, 0 if listed else len(keys), probe.agreeing > 1))
        return tuple(shapes), values

    def scan_sketches(
        self, schemes: Sequence[str], *, keys: Sequence[str] = (), include_short: bool = False
    ) -> Iterator[Found]:
        names, keyed = tuple(dict.fromkeys(schemes)), tuple(dict.fromkeys(keys))
        self._require((*names, *keyed))
        layouts = [self._layout(name) for name in keyed]
        with self._snapshot() as connection:
            cursor = connection.execute(_scanning(names, keyed), (include_short,))
            while rows := cursor.fetchmany(_READ):
                refs = [Ref(cells.text(row[0])) for row in rows]
                columns = {
                    name: _keys([row[place] for row in rows], layout)
                    for place, (name, layout) in enumerate(zip(keyed, layouts, strict=True), 1 + len(names))
                }
                yield Found(refs, _payloads(rows, names, 1), columns)

    def lacking(self, schemes: Sequence[str]) -> Mapping[str, int]:
        self._require(schemes)
        with self._reading() as connection:
            return _lacking(connection, schemes)


def _key_count(probes: Sequence[Probe]) -> int:
    return sum(len(probe.keys) for probe in probes)


def _lacking(connection: sqlite3.Connection, schemes: Sequence[str]) -> dict[str, int]:
    missing = dict.fromkeys(schemes, 0)
    # Every document with words has a fingerprint.
    if missing.keys() - {SIMHASH_DOC}:
        rows = connection.execute(_COMPARABLE)
        have = {cells.name(name): cells.count(number) for name, number in rows}
        if "" not in have:
            raise cells.DamagedError("the count of documents that can be compared is gone")
        missing = {name: 0 if name == SIMHASH_DOC else have[""] - have.get(name, 0) for name in missing}
    return missing


# Of a probe: whether it is of the first scheme, how many keys it has (0: listed in one value), whether tables are
# counted.
_Shape = tuple[bool, int, bool]


@lru_cache(maxsize=128)
def _probing(shapes: tuple[_Shape, ...], schemes: tuple[str, ...], *, records: bool) -> str:
    """The query for documents, with payloads, that satisfy probes of these shapes."""
    start, parts = 1, []
    for shape in shapes:
        condition, start = _found_by(*shape, start)
        parts.append(condition)
    where = f"d.{parts[0]}"
    if len(parts) > 1 or not shapes[0][0]:
        numbers = (f"SELECT {column} FROM {source}" for column, source in map(_holding, parts, shapes))
        where = f"d.number IN ({' UNION ALL '.join(numbers)})"
    columns = [RECORD_COLUMNS] if records else ["d.id"]
    joins = ["LEFT JOIN hashes h ON h.number = d.hash"] if records or SIMHASH_DOC in schemes else []
    for place, name in enumerate(schemes):
        columns.append("h.value" if name == SIMHASH_DOC else f"v{place}.payload")
        if name != SIMHASH_DOC:
            joins.append(_joined(place, name))
    return f"SELECT {', '.join(columns)} FROM documents d {' '.join(joins)} WHERE {where} AND d.short <= ?{start}"


def _holding(condition: str, shape: _Shape) -> tuple[str, str]:
    """The column and the rest of a query for the numbers of documents that satisfy a condition of _found_by()."""
    if shape[0]:
        return "number", f"documents WHERE {condition}"
    return "document", f"document_sketches WHERE {condition}"


def _found_by(first: bool, count: int, counted: bool, start: int) -> tuple[str, int]:
    """The condition for a document's fingerprint or sketch to satisfy a probe, and the next parameter's number."""
    marks = ",".join(f"?{start + place}" for place in range(count))
    keys, end = (marks, start + count) if count else (f"SELECT value FROM json_each(?{start})", start + 1)
    column, tables, scheme = "hash", ("postings", "recent"), ""
    if not first:
        column, tables = "sketch", ("scheme_postings", "scheme_recent")
        scheme, end = f"scheme = (SELECT number FROM schemes WHERE name = ?{end}) AND ", end + 1
    place = f", (key + ?{end}) >> ?{end + 1} AS place" if counted else ""
    selects = (f"SELECT {column}{place} FROM {table} WHERE {scheme}key IN ({keys})" for table in tables)
    both = " UNION ALL ".join(selects)
    if counted:
        both = f"SELECT {column} FROM ({both}) GROUP BY {column} HAVING count(DISTINCT place) >= ?{end + 2}"
        end += 3
    return f"{scheme}{column} IN ({both})", end


def _joined(place: int, scheme: str) -> str:
    return (
        f"LEFT JOIN document_sketches l{place} ON l{place}.document = d.number AND l{place}.scheme = "
        f"(SELECT number FROM schemes WHERE name = {_quoted(scheme)}) LEFT JOIN distinct_sketches v{place} "
        f"ON v{place}.scheme = l{place}.scheme AND v{place}.number = l{place}.sketch"
    )


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


@lru_cache(maxsize=32)
def _scanning(schemes: tuple[str, ...], keyed: tuple[str, ...]) -> str:
    """The query for all documents with features for one of the schemes, with payloads, then keys."""
    places = {name: place for place, name in enumerate(dict.fromkeys((*schemes, *keyed)))}
    payloads = ["h.value" if name == SIMHASH_DOC else f"v{places[name]}.payload" for name in schemes]
    keys = ["h.keys" if name == SIMHASH_DOC else f"v{places[name]}.keys" for name in keyed]
    columns = ", ".join(["d.id", *payloads, *keys])
    if schemes == (SIMHASH_DOC,) and set(keyed) <= {SIMHASH_DOC}:
        # All of it but the value from one index, in its order.
        return f"""SELECT {columns} FROM documents d INDEXED BY documents_by_hash
            CROSS JOIN hashes h ON h.number = d.hash WHERE d.hash IS NOT NULL AND d.short <= ?1
            ORDER BY d.hash, d.id"""
    joins = ["LEFT JOIN hashes h ON h.number = d.hash"] if SIMHASH_DOC in places else []
    joins += [_joined(place, name) for name, place in places.items() if name != SIMHASH_DOC]
    fields = ["d.hash" if name == SIMHASH_DOC else f"l{places[name]}.sketch" for name in schemes]
    having = " OR ".join(f"{field} IS NOT NULL" for field in fields) or "0"
    return f"SELECT {columns} FROM documents d {' '.join(joins)} WHERE d.short <= ?1 AND ({having}) ORDER BY d.number"


def _payloads(rows: Sequence[Sequence[Any]], schemes: Sequence[str], start: int) -> dict[str, Ragged]:
    """The payloads in rows, by scheme, from the column `start` on."""
    return {
        name: _values([row[place] for row in rows])
        if name == SIMHASH_DOC
        else Ragged.of_bytes([b"" if row[place] is None else cells.blob(row[place]) for row in rows])
        for place, name in enumerate(schemes, start)
    }


def _values(values: Sequence[int | None]) -> Ragged:
    """Signed 64-bit values as rows of 8 bytes, big-endian; None as an empty one."""
    present = [value for value in values if value is not None]
    try:
        packed = np.frombuffer(struct.pack(f">{len(present)}q", *present), dtype=np.uint8)
    except struct.error:
        raise cells.DamagedError("something else in place of a fingerprint") from None
    if len(present) == len(values):
        return Ragged.of_matrix(packed.reshape(-1, 8))
    sizes = np.array([0 if value is None else 8 for value in values], dtype=np.int64)
    return Ragged(packed, np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(sizes))))


def _keys(packed: Sequence[Any], layout: KeyLayout) -> Ragged:
    """Keys as they are stored, None for none, as rows of int64."""
    kind = key_kind(layout)
    rows = Ragged.of_bytes([b"" if cell is None else cells.blob(cell) for cell in packed])
    itemsize = np.dtype(kind).itemsize
    if np.any(rows.sizes % itemsize):
        raise cells.DamagedError("bytes that are no keys")
    return Ragged(cells.numbers(rows.values.tobytes(), kind, layout.end).astype(np.int64), rows.offsets // itemsize)


# Without a name: of all schemes.
_COMPARABLE = "SELECT '', number FROM counts WHERE name = 'comparable' UNION ALL SELECT name, comparable FROM schemes"

# Which of the keys, of a secondary scheme and of the first one, are there.
_THERE = tuple(
    " UNION ".join(
        f"SELECT t.key FROM json_each(?1) k CROSS JOIN {table} t ON {scheme}t.key = k.value" for table in tables
    )
    for scheme, tables in (
        ("scheme = (SELECT number FROM schemes WHERE name = ?2) AND ", ("scheme_postings", "scheme_recent")),
        ("", ("postings", "recent")),
    )
)
