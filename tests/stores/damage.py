"""Damage to a store's file, of every kind, and all that can be done with a store afterwards."""

from __future__ import annotations

import json
import random
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from indexer.library.opening import open_store
from indexer.model import ClusteringNote, Failure, Ref, Sketch
from indexer.model.decisions import DecidedDocument, Decision
from indexer.schemes.keys.layout import KeyLayout, SchemeInfo
from indexer.schemes.keys.simhash64 import simhash_keys
from indexer.stores import Store
from indexer.stores.sketches import Found, Probe
from tests.stores.made import INFO, cluster, put, record

SMALL = SchemeInfo("small", "small:x=1", KeyLayout(tables=4, bits=4))
WIDE = SchemeInfo("wide", "wide:x=1", KeyLayout(tables=2, bits=40))
DOCUMENTS = 80


def sketches(number: int) -> dict[str, Sketch]:
    number //= 2
    small = Sketch(SMALL.id, bytes([number % 256]) * 8, (number % 64, number * 7 % 64), 9)
    wide = Sketch(WIDE.id, number.to_bytes(16, "big"), (number, number << 20), 5)
    return {"small": small, "wide": wide} if number % 5 else {"small": Sketch.without_features(SMALL.id)}


def build(path: Path) -> None:
    """A store in which every table has rows."""
    with open_store(path, create=INFO) as store:
        store.add_scheme(SMALL)
        store.add_scheme(WIDE)
        texts = {"source": "/a/b", "title": "a title " * 5, "format": "html", "extractor": "x", "indexed_at": "2024"}
        documents = (
            record(
                f"document-{number}",
                None if number % 10 == 9 else number // 2 * 0x1234_5678_9ABC % 2**64,
                short=number % 7 == 0,
                source_digest=f"digest-{number}",
                metadata={"number": number, "list": [1, "b", None]},
                sketches=sketches(number),
                **texts,
            )
            for number in range(DOCUMENTS)
        )
        put(store, *documents)
        names = [Ref(f"document-{number}") for number in range(DOCUMENTS)]
        store.annotate((name, {"cluster": {"id": f"c{place // 4}"}, "n": place}) for place, name in enumerate(names))
        store.put_clusters(cluster(f"c{n}", formats=("html",), origins=("/a",), title="t") for n in range(100))
        store.put_failures(Failure(Ref(f"failed-{n}"), "/s", "why", "detail", "2024", "d") for n in range(50))
        store.put_resource("resource", b"r" * 5000)
        store.put_resource("second", b"s")
        store.put_clustering_note(ClusteringNote("simhash-doc@3bits", at="2024"))
        store.put_decisions(decision(number) for number in range(50))


def decision(number: int) -> Decision:
    """A decision about two documents."""
    names = (f"document-{number}", f"document-{number + 1}")
    return Decision(tuple(DecidedDocument(name, f"{number:032x}", "keep") for name in names))


# What happens to a file


def flip_bits(path: Path, chance: random.Random) -> None:
    content = bytearray(path.read_bytes() or b"x")
    for _ in range(chance.choice([1, 3, 20, 200])):
        content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
    path.write_bytes(content)


def flip_bits_of_the_first_page(path: Path, chance: random.Random) -> None:
    content = bytearray(path.read_bytes() or b"x")
    for _ in range(chance.choice([1, 3, 20])):
        content[chance.randrange(min(len(content), chance.choice([100, 8192])))] ^= 1 << chance.randrange(8)
    path.write_bytes(content)


def cut_short(path: Path, chance: random.Random) -> None:
    size = max(1, path.stat().st_size)
    with path.open("r+b") as file:
        file.truncate(
            chance.choice([chance.randrange(size), chance.randrange(200), chance.randrange(size // 8192 + 1) * 8192])
        )


def overwrite_pages(path: Path, chance: random.Random) -> None:
    content = bytearray(path.read_bytes() or b"x")
    pages = max(1, len(content) // 8192)
    for _ in range(chance.choice([1, 1, 5])):
        page, other = chance.randrange(pages) * 8192, chance.randrange(pages) * 8192
        content[page : page + 8192] = chance.choice(
            [bytes(8192), b"\xff" * 8192, chance.randbytes(8192), content[other : other + 8192]]
        )
    path.write_bytes(content)


def add_a_foreign_log(path: Path, chance: random.Random) -> None:
    Path(f"{path}-wal").write_bytes(chance.choice([b"\x37\x7f\x06\x82", b""]) + chance.randbytes(20_000))


@contextmanager
def changed(path: Path) -> Iterator[sqlite3.Connection]:
    """A connection of another program; what it writes need not survive a power cut."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA synchronous = OFF")
        yield connection


def tables(connection: sqlite3.Connection) -> list[str]:
    return [
        name
        for (name,) in connection.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
        )
    ]


def strange_value(chance: random.Random) -> tuple[str, tuple[Any, ...]]:
    """An SQL expression and its parameters: a value of any type, mostly none that belongs there."""
    plain = (
        None, 0, 1, -1, 2, 7, 1 << 31, (1 << 63) - 1, -(1 << 63), 1.5, -0.0, float("inf"), 1e300, "", "x", "17", "sd1",
        "[]", "{}", "null", "[1]", '["a"]', '{"cluster": 5}', '{"cluster": {"id": 5}}', "{", '"\\ud800"', "[" * 100_000,
        b"", b"\0", b"\xff\xfe", b"x" * 7, b"x" * 63, b"x" * 64, b"\xff" * 64, b"\0" * 128, b"\xed\xa0\x80",
        b"y" * 100_000, "nan", "1e999", "١٢", "\0", "a\0b", "\u202e", "text " * 1000,
    )  # fmt: skip
    kind = chance.randrange(6)
    if kind == 0:
        return "CAST(? AS TEXT)", (chance.choice([b"\xff", b"ok\xc3", b"\xed\xa0\x80", b"\0\xff"]),)
    if kind == 1:
        return "?", (chance.randbytes(chance.randrange(200)),)
    return "?", (chance.choice(plain),)


def change_cells(path: Path, chance: random.Random) -> None:
    """Values of any type in any column of any table."""
    with changed(path) as connection:
        connection.execute("PRAGMA ignore_check_constraints = ON")
        for _ in range(chance.choice([1, 1, 2, 5])):
            table = chance.choice(tables(connection))
            columns = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
            column = chance.choice(columns)
            value, parameters = strange_value(chance)
            if chance.random() < 0.25 and column != "number":
                value, parameters = f"substr({column}, 1, length({column}) - ?)", (chance.choice([1, 3, 8]),)
            rows = chance.choice(
                ["1", f"{columns[0]} IN (SELECT {columns[0]} FROM {table} LIMIT 1)", "random() % 3 = 0"]
            )
            try:
                connection.execute(f"UPDATE OR REPLACE {table} SET {column} = {value} WHERE {rows}", parameters)
            except sqlite3.Error:
                continue  # some tables take no second row of the kind, or no NULL


def delete_rows(path: Path, chance: random.Random) -> None:
    with changed(path) as connection:
        for _ in range(chance.choice([1, 3])):
            table = chance.choice(tables(connection))
            connection.execute(f"DELETE FROM {table} WHERE random() % 3 < ?", (chance.choice([1, 3]),))


def change_what_it_says_of_itself(path: Path, chance: random.Random) -> None:
    with changed(path) as connection:
        names = [name for (name,) in connection.execute("SELECT name FROM meta")]
        for name in chance.sample(names, chance.choice([1, 1, 3])):
            value, parameters = strange_value(chance)
            if chance.random() < 0.2:
                connection.execute("DELETE FROM meta WHERE name = ?", (name,))
            else:
                connection.execute(f"UPDATE meta SET value = ifnull({value}, 'x') WHERE name = ?", (*parameters, name))


def change_what_is_kept(path: Path, chance: random.Random) -> None:
    """Values of any type in the JSON of failures, clusters and decisions, and of the note."""
    strange = (None, True, 0, -5, 1.5, 1 << 70, "", "x", "nan", [], [1], ["a", "", None], [[["a"]]], {}, {"a": 1})
    with changed(path) as connection:
        place = chance.choice(["failures", "clusters", "decisions", "meta"])
        name, cell = ("name", "value") if place == "meta" else ("id", "exact")
        where = "WHERE name = 'clustering'" if place == "meta" else "ORDER BY random() LIMIT 5"
        for row, exact in connection.execute(f"SELECT {name}, {cell} FROM {place} {where}").fetchall():
            kept = json.loads(exact)
            inner = kept
            while isinstance(inner, list | dict) and inner:
                within, key = inner, chance.choice(list(inner) if isinstance(inner, dict) else range(len(inner)))
                inner = inner[key] if chance.random() < 0.3 else None
            within[key] = chance.choice(strange)
            connection.execute(f"UPDATE {place} SET {cell} = ? WHERE {name} = ?", (json.dumps(kept), row))


def change_the_schema(path: Path, chance: random.Random) -> None:
    with changed(path) as connection:
        table = chance.choice(tables(connection))
        columns = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
        version = chance.choice([0, 1, 2, 3, 4, 5, -1, 1 << 30])
        statements = [
            f"DROP TABLE {table}",
            f"ALTER TABLE {table} RENAME TO other",
            f"ALTER TABLE {table} RENAME COLUMN {chance.choice(columns)} TO other",
            f"ALTER TABLE {table} DROP COLUMN {columns[-1]}",
            "DROP INDEX equals_by_sketch_0",
            "DROP INDEX documents_by_digest",
            f"DROP TABLE {table}; CREATE VIEW {table} AS SELECT 1 AS number, 'x' AS id, 'y' AS name, 'z' AS value",
            f"CREATE TRIGGER t AFTER INSERT ON {table} BEGIN DELETE FROM {table}; END",
            f"PRAGMA user_version = {version}",
            "PRAGMA application_id = 0",
            "PRAGMA writable_schema = ON; UPDATE sqlite_master SET sql = CAST(x'ff80' AS TEXT) WHERE random() % 2 = 0",
            "PRAGMA writable_schema = ON; UPDATE sqlite_master SET name = CAST(x'ff80' AS TEXT), sql = NULL",
            "PRAGMA writable_schema = ON; UPDATE sqlite_master SET rootpage = abs(random() % 50)",
            "PRAGMA journal_mode = DELETE; PRAGMA encoding = 'UTF-16'; VACUUM",
        ]
        try:
            connection.executescript(chance.choice(statements))
        except sqlite3.Error:
            connection.execute("DELETE FROM meta")


DAMAGES: tuple[Callable[[Path, random.Random], None], ...] = (
    flip_bits,
    flip_bits_of_the_first_page,
    cut_short,
    overwrite_pages,
    add_a_foreign_log,
    change_cells,
    change_cells,
    change_cells,
    delete_rows,
    change_what_it_says_of_itself,
    change_what_is_kept,
    change_the_schema,
)


# What is done with a store


def _value(number: int) -> int:
    return number // 2 * 0x1234_5678_9ABC % 2**64


_NAMES = [Ref(f"document-{number}") for number in range(0, DOCUMENTS, 3)]
_KEYS = [key for number in range(0, DOCUMENTS, 5) for key in simhash_keys(_value(number))]

_PROBES = [Probe("small", [1, 2, 70]), Probe("wide", list(range(99))), Probe("simhash-doc", _KEYS)]


def _all_of(found: Found) -> list[str]:
    """All that a lookup or a scan gives, looked at."""
    sums = [int(each.values.sum()) for each in (*found.payloads.values(), *found.keys.values())]
    return [str(sums), *map(repr, found.records or ()), *(ref.id for ref in found.refs)]


READS: tuple[Callable[[Store], Any], ...] = (
    lambda store: store.stats(),
    lambda store: [str(each.fingerprint) for each in store.get(_NAMES) if each],
    lambda store: store.get(_NAMES, sketches=False),
    lambda store: store.find_each([name.id for name in _NAMES]),
    lambda store: [_all_of(found) for found in store.probe([Probe("simhash-doc", _KEYS)], ["simhash-doc"])],
    lambda store: list(store.probe([Probe("simhash-doc", [*_KEYS, *range(4000)])], include_short=True)),
    lambda store: [repr(each) for each in store.scan()],
    lambda store: list(store.scan(sketches=False)),
    lambda store: [_all_of(found) for found in store.scan_sketches(["simhash-doc"], include_short=True)],
    lambda store: [sorted(fields) for fields in store.annotations(_NAMES) if fields],
    lambda store: [sorted(fields) for _, fields in store.scan_annotations()],
    lambda store: [sorted(fields) for _, fields in store.scan_annotations(clustered=True)],
    lambda store: list(store.cluster_members([f"c{number}" for number in range(50)])),
    lambda store: [each.size + each.total_bytes for each in store.get_clusters([f"c{n}" for n in range(60)]) if each],
    lambda store: [(each.size, *each.formats, *each.origins) for each in store.clusters()],
    lambda store: store.find_digests([f"digest-{number}" for number in range(100)]),
    lambda store: [each.source + each.reason for each in store.failures()],
    lambda store: [_all_of(found) for found in store.probe([Probe("small", list(range(64)))], ["small"])],
    lambda store: [_all_of(found) for found in store.probe([Probe("wide", list(range(64)), 2)], ["wide"])],
    lambda store: [
        _all_of(found) for found in store.probe([Probe("simhash-doc", _KEYS[:160])], ["simhash-doc", "wide"])
    ],
    lambda store: [_all_of(found) for found in store.probe([Probe("small", list(range(64)), 2)], ["small"])],
    lambda store: [_all_of(found) for found in store.probe(_PROBES, ["small", "wide"], include_short=True)],
    lambda store: [_all_of(each) for found in store.probe_many([_PROBES[:1]] * 3, ["small"]) for each in found],
    lambda store: [_all_of(found) for found in store.scan_sketches(["wide"], keys=["wide", "simhash-doc"])],
    lambda store: [_all_of(found) for found in store.scan_sketches(["simhash-doc"], keys=["simhash-doc"])],
    lambda store: list(store.scan_sketches(["small", "simhash-doc"], include_short=True)),
    lambda store: store.lacking(["small", "wide", "simhash-doc"])["wide"] + 1,
    lambda store: [each.rule + each.at for each in store.clustering_notes().values()],
    lambda store: [one.digest for each in store.decisions() for one in each.documents],
    lambda store: store.sketch_counts(),
    lambda store: [store.get_resource(name) for name in ("resource", "second")],
)
WRITES: tuple[Callable[[Store], Any], ...] = (
    lambda store: put(store, *(record(f"document-{n}", n * 77, sketches=sketches(n)) for n in range(0, 500, 3))),
    lambda store: put(store, *(record(f"new-{n}", n << 40, source_digest="d") for n in range(300))),
    lambda store: store.annotate((name, {"more": 1, "n": None}) for name in _NAMES),
    lambda store: store.delete(_NAMES[::2]),
    lambda store: store.put_clusters(cluster(f"c{number}") for number in range(90, 120)),
    lambda store: store.delete_clusters([f"c{number}" for number in range(10)]),
    lambda store: store.put_failures(Failure(Ref(f"failed-{n}"), "", "", "", "", "") for n in range(60)),
    lambda store: store.put_resource("resource", b"new"),
    lambda store: store.add_scheme(SchemeInfo("third", "third:x=1", KeyLayout(tables=1, bits=8))),
    lambda store: store.remove_scheme("small"),
    lambda store: store.put_clustering_note(ClusteringNote("simhash-doc@3bits")),
    lambda store: store.put_decisions(decision(number) for number in range(40, 60)),
    lambda store: store.delete_decisions([decision(number).id for number in range(10)]),
)
