"""Find and scan sketches in the embedded store."""


# ruff: noqa: S608 -- statements are put together of fixed words and numbers

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

from indexer.errors import UsageError
from indexer.model import SIMHASH_DOC, Ref
from indexer.model.chunking import chunks_by_size
from indexer.model.ragged import Ragged
from indexer.stores.sketches import BOUND, Check, Found, LazySequence, Probe, RareKeys, require_schemes
from indexer.stores.sqlite import cells
from indexer.stores.sqlite.rows import RECORD_COLUMNS, Packer, SqlitePart
from indexer.stores.sqlite.tables import FIRST, KEY_TABLES, StoredScheme, joined

T = TypeVar("T")
Each = TypeVar("Each")
# Where no more are found, whole records come at once.
FEW = 200
_READ = 16_384
# SQLite takes 32,766 parameters; longer lists come as one of JSON, which takes it a little longer to read.
_MAX_MARKS = 4000
# Questions whose keys are looked up together, and about how many keys.
_ASKED_AT_ONCE, _KEYS_AT_ONCE = 500, 100_000
_RECORD_WIDTH = len(RECORD_COLUMNS)


class SketchLookups(SqlitePart):
    path: Path
    _packer: Packer
    _schemes: Mapping[str, StoredScheme]

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
        numbers = tuple(self._schemes[name].number for name in names)
        asked = [one for one in probes if one.keys]
        rows: list[Any] = []
        with self._reading() as connection:
            lacking: Mapping[str, int] | None = _lacking(connection, concerned)
            rarest = RareKeys(asked, (), 0)
            if any(one.common for one in asked):
                rarest = RareKeys.of(asked, lambda one, most: self._held(connection, one, most))
            set_aside = rarest.set_aside
            if asked:
                shapes, values = self._shapes(rarest)
                values.append(include_short)
                # Mostly few are found, and then no connection of its own has to keep the moment.
                rows = connection.execute(_probing(shapes, numbers, records=True), values).fetchmany(FEW + 1)
            if len(rows) <= FEW:
                refs = [Ref(cells.text(row[1])) for row in rows]
                answer = Found(
                    refs,
                    _payloads(rows, names, _RECORD_WIDTH),
                    records=self._lazily(rows, lambda row: self._packer.record(row[:_RECORD_WIDTH])),
                    lacking=lacking,
                    set_aside=set_aside,
                )
        if len(rows) <= FEW:
            yield answer
            return
        with self._snapshot() as connection:
            cursor = connection.execute(_probing(shapes, numbers, records=False), values)
            while rows := cursor.fetchmany(_READ):
                refs = [Ref(cells.text(row[0])) for row in rows]
                yield Found(refs, _payloads(rows, names, 1), lacking=lacking, set_aside=set_aside)
                lacking, set_aside = None, 0

    def probe_many(
        self, questions: Sequence[Sequence[Probe]], schemes: Sequence[str] = (), *, include_short: bool = False
    ) -> Iterator[Iterable[Found]]:
        for some in chunks_by_size(
            questions, _ASKED_AT_ONCE, lambda one: sum(len(probe.keys) for probe in one), _KEYS_AT_ONCE
        ):
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
        asked: dict[str, set[int]] = {}
        for probes in questions:
            for probe in probes:
                asked.setdefault(probe.scheme, set()).update(probe.keys)
        self._require(list(asked))
        there: dict[str, set[int]] = {}
        with self._reading() as connection:
            for scheme, keys in asked.items():
                known = self._schemes[scheme]
                rows = connection.execute(_there(known.number), (json.dumps(sorted(known.stored(keys))),))
                there[scheme] = {cells.integer(key) + known.half for (key,) in rows}
        return there

    def _lazily(self, rows: Sequence[T], make: Callable[[T], Each]) -> LazySequence[Each]:
        def made(row: T) -> Each:
            try:
                return make(row)
            except cells.DamagedError:
                # _reading() explains the error; to enter it for each row would take as long as to read the row.
                with self._reading():
                    raise

        return LazySequence(rows, made)

    def _require(self, names: Sequence[str]) -> None:
        require_schemes(self.info.schemes, names, str(self.path))

    def _held(self, connection: sqlite3.Connection, probe: Probe, most: int) -> list[int]:
        scheme = self._schemes[probe.scheme]
        asked = (json.dumps(scheme.stored(probe.keys)), most)
        return [cells.count(count) for (count,) in connection.execute(_holding(scheme.number), asked)]

    def _shapes(self, rarest: RareKeys) -> tuple[tuple[_Shape, ...], list[Any]]:
        shapes: list[_Shape] = []
        values: list[Any] = []
        probes = [*rarest.whole, *rarest.bounded]
        listed = sum(len(probe.keys) for probe in probes) > _MAX_MARKS
        for place, probe in enumerate(probes):
            scheme = self._schemes[probe.scheme]
            keys = scheme.stored(probe.keys)
            values += [json.dumps(keys)] if listed else keys
            if probe.agreeing > 1:
                values += [scheme.half, scheme.info.layout.bits, probe.agreeing]
            shapes.append((scheme.number, 0 if listed else len(keys), probe.agreeing > 1, place >= len(rarest.whole)))
        return tuple(shapes), values

    def scan_sketches(
        self, schemes: Sequence[str], *, keys: Sequence[str] = (), include_short: bool = False
    ) -> Iterator[Found]:
        names, keyed = tuple(dict.fromkeys(schemes)), tuple(dict.fromkeys(keys))
        self._require((*names, *keyed))
        numbers, key_numbers = (tuple(self._schemes[name].number for name in some) for some in (names, keyed))
        with self._snapshot() as connection:
            cursor = connection.execute(_scanning(numbers, key_numbers), (include_short,))
            while rows := cursor.fetchmany(_READ):
                columns = {
                    name: self._schemes[name].unpack_each(
                        [row[place] for row in rows], [row[place + 1] for row in rows]
                    )
                    for place, name in zip(range(1 + len(names), len(rows[0]), 2), keyed, strict=True)
                }
                yield Found(self._lazily(rows, lambda row: Ref(cells.text(row[0]))), _payloads(rows, names, 1), columns)

    def lacking(self, schemes: Sequence[str]) -> Mapping[str, int]:
        self._require(schemes)
        with self._reading() as connection:
            return _lacking(connection, schemes)


def _lacking(connection: sqlite3.Connection, schemes: Sequence[str]) -> dict[str, int]:
    if set(schemes) <= {SIMHASH_DOC}:
        # The other schemes are counted against this one, so none lacks it; most questions are spared the query.
        return dict.fromkeys(schemes, 0)
    rows = connection.execute("SELECT name, comparable FROM schemes")
    have = {cells.name(name): cells.count(number) for name, number in rows}
    if SIMHASH_DOC not in have:
        raise cells.DamagedError("the count of documents that can be compared is gone")
    return {name: have[SIMHASH_DOC] - have.get(name, 0) for name in schemes}


# Of a probe: the number of its scheme, how many keys it has (0: listed in one value), whether tables are counted, and
# whether it finds no more than BOUND sketches.
_Shape = tuple[int, int, bool, bool]


@lru_cache(maxsize=128)
def _probing(shapes: tuple[_Shape, ...], schemes: tuple[int, ...], *, records: bool) -> str:
    start, hits, documents = 1, [], []
    for place, shape in enumerate(shapes):
        part, start = _found_by(*shape, start)
        hits.append(f"h{place}(sketch) AS MATERIALIZED ({part})")
        # A sketch has the number of the first of its documents.
        documents += [
            f"SELECT sketch FROM h{place}",
            f"SELECT e.document FROM h{place} h CROSS JOIN equals_{shape[0]} e ON e.sketch = h.sketch",
        ]
    columns = ", ".join([*(RECORD_COLUMNS if records else ("d.id",)), *(f"v{number}.payload" for number in schemes)])
    joins = " ".join(map(joined, dict.fromkeys([*[FIRST] * records, *schemes])))
    return f"""WITH {", ".join(hits)} SELECT {columns} FROM documents d {joins}
        WHERE d.number IN ({" UNION ALL ".join(documents)}) AND d.short <= ?{start}"""


def _found_by(number: int, count: int, counted: bool, bounded: bool, start: int) -> tuple[str, int]:
    # A join is faster than a list, of which SQLite makes an index first.
    keys, column, end = f"SELECT DISTINCT value FROM json_each(?{start})", "value", start + 1
    if count:
        keys, column = "VALUES " + ",".join(f"(?{start + place})" for place in range(count)), "column1"
        end = start + count
    place = f", (key + ?{end}) >> ?{end + 1} AS place" if counted else ""
    both = " UNION ALL ".join(
        f"SELECT t.sketch{place} FROM ({keys}) k CROSS JOIN {table}_{number} t ON t.key = k.{column}"
        for table in KEY_TABLES
    )
    if counted:
        both = f"SELECT sketch FROM ({both}) GROUP BY sketch HAVING count(DISTINCT place) >= ?{end + 2}"
        end += 3
    return (f"SELECT DISTINCT sketch FROM ({both}) LIMIT {BOUND}" if bounded else both), end


@lru_cache(maxsize=32)
def _scanning(schemes: tuple[int, ...], keyed: tuple[int, ...]) -> str:
    columns = ["d.id", *(f"v{number}.payload" for number in schemes)]
    columns += [f"v{number}.{column}" for number in keyed for column in ("keys", "payload")]
    joins = " ".join(map(joined, dict.fromkeys((*schemes, *keyed))))
    having = " OR ".join(f"v{number}.payload IS NOT NULL" for number in schemes) or "0"
    return f"""SELECT {", ".join(columns)} FROM documents d {joins}
        WHERE d.short <= ?1 AND ({having}) ORDER BY d.number"""


def _payloads(rows: Sequence[Sequence[Any]], schemes: Sequence[str], start: int) -> dict[str, Ragged]:
    return {
        name: Ragged.of_bytes([b"" if row[place] is None else cells.blob(row[place]) for row in rows])
        for place, name in enumerate(schemes, start)
    }


@lru_cache(maxsize=32)
def _holding(number: int) -> str:
    counts = (
        f"(SELECT count(*) FROM (SELECT 1 FROM {table}_{number} t WHERE t.key = k.value LIMIT ?2))"
        for table in KEY_TABLES
    )
    return f"SELECT {' + '.join(counts)} FROM json_each(?1) k ORDER BY k.key"


@lru_cache(maxsize=32)
def _there(number: int) -> str:
    return " UNION ".join(
        f"SELECT t.key FROM json_each(?1) k CROSS JOIN {table}_{number} t ON t.key = k.value" for table in KEY_TABLES
    )
