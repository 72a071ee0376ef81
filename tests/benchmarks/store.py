"""Measures the embedded store: rates of storing and looking up, bytes a document, beside one plain table of keys.

`python -m tests.benchmarks.store [--documents N] [--queries N] [--directory DIR]`. Values are random, the worst case
for storing: every key lies elsewhere. A question is a stored value with as many bits flipped as the distance.
"""

from __future__ import annotations

import argparse
import sqlite3
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from indexer import __version__
from indexer.core.sketches import simhash_keys
from indexer.core.text import UNICODE_VERSION
from indexer.library.opening import open_store
from indexer.matching.lookups import lookup
from indexer.matching.question import Question
from indexer.matching.rule import parse_rule
from indexer.model import SIMHASH_DOC, Fingerprint, Record
from indexer.schemes.keys.simhash64 import SIMHASH64_LAYOUT
from indexer.stores import StoreInfo
from indexer.stores.base import Store
from tests.made_records import records

_PART = 20_000
_BATCH = 2000
_SEED = 20_261_121


class PlainTable:
    """What one would write first: one table of keys, one of documents, a transaction for each batch."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._connection = sqlite3.connect(path, isolation_level=None)
        self._connection.executescript(
            """PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA cache_size = -65536;
            CREATE TABLE IF NOT EXISTS documents (
                number INTEGER PRIMARY KEY, id TEXT UNIQUE, value INTEGER, tokens INTEGER, title TEXT, source TEXT,
                format TEXT, extractor TEXT, size INTEGER, indexed_at TEXT, digest TEXT);
            CREATE INDEX IF NOT EXISTS digests ON documents (digest);
            CREATE TABLE IF NOT EXISTS keys (
                key INTEGER, document INTEGER, PRIMARY KEY (key, document)) WITHOUT ROWID;"""
        )
        self._count = 0

    def put(self, records: list[Record]) -> None:
        """Store records, in batches."""
        for start in range(0, len(records), _BATCH):
            self._connection.execute("BEGIN IMMEDIATE")
            for record in records[start : start + _BATCH]:
                self._count += 1
                row = (
                    self._count, record.ref.id, record.fingerprint.bits if record.fingerprint else None, record.tokens,
                    record.title, record.source, record.format, record.extractor, record.size, record.indexed_at,
                    record.source_digest,
                )  # fmt: skip
                self._connection.execute(f"INSERT INTO documents VALUES ({','.join('?' * len(row))})", row)
                number = self._count
                self._connection.executemany(
                    "INSERT INTO keys VALUES (?, ?)", [(key, number) for key in record.sketches[SIMHASH_DOC].keys]
                )
            self._connection.execute("COMMIT")

    def similar(self, value: int) -> list[tuple[int, str]]:
        """The documents within 3 bits."""
        keys = simhash_keys([value])[0].tolist()
        sql = f"""SELECT DISTINCT id, value, title, source FROM keys JOIN documents ON number = document
            WHERE key IN ({",".join("?" * len(keys))})"""
        found = (
            ((value ^ bits & (1 << 64) - 1).bit_count(), name) for name, bits, *_ in self._connection.execute(sql, keys)
        )
        return sorted(pair for pair in found if pair[0] <= 3)

    def close(self) -> None:
        """Close the file."""
        self._connection.close()


def measure_put(documents: int, store: Store, plain: PlainTable) -> tuple[float, float]:
    """Seconds of storing the same documents in both, part by part in turn."""
    generator = np.random.default_rng(_SEED)
    spent = [0.0, 0.0]
    for first in range(0, documents, _PART):
        values = generator.integers(0, 1 << 64, min(_PART, documents - first), dtype=np.uint64, endpoint=False)
        part = records(values, first)
        start = time.perf_counter()
        for _ in store.put(part):
            pass
        between = time.perf_counter()
        plain.put(part)
        spent[0] += between - start
        spent[1] += time.perf_counter() - between
        if sys.stderr.isatty():
            print(f"\r{first + len(part):,} stored", end="", file=sys.stderr)
    return spent[0], spent[1]


def questions(documents: int, distance: int, count: int) -> Iterator[Fingerprint]:
    """Stored values with `distance` bits flipped."""
    stored = np.random.default_rng(_SEED).integers(0, 1 << 64, min(documents, _PART), dtype=np.uint64, endpoint=False)
    generator = np.random.default_rng(distance)
    for value in generator.choice(stored, count).tolist():
        flipped = sum(1 << bit for bit in generator.choice(64, distance, replace=False).tolist())
        yield Fingerprint(value ^ flipped, 500)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=200_000)
    parser.add_argument("--queries", type=int, default=5000)
    parser.add_argument("--directory", help="where the files are made for the time of the run")
    options = parser.parse_args(arguments)
    run(options.documents, options.queries, options.directory)


def run(documents: int = 200_000, queries: int = 5000, directory: str | None = None) -> None:
    """Measure and print, with the files in a folder of their own under `directory`."""
    info = StoreInfo(SIMHASH_DOC, SIMHASH64_LAYOUT, "landmarks", "1", UNICODE_VERSION, __version__)
    with tempfile.TemporaryDirectory(dir=directory) as folder:
        path, plain = Path(folder, "store.db"), PlainTable(Path(folder, "plain.db"))
        with open_store(path, create=info) as store:
            ours, theirs = measure_put(documents, store, plain)
        print(f"{documents:,} documents, SQLite {sqlite3.sqlite_version}; in brackets: of the plain table's")
        print(f"put           {documents / ours:10,.0f} documents/s ({theirs / ours:.2f})")
        size, plain_size = path.stat().st_size, plain.path.stat().st_size
        print(f"size          {size / documents:10,.0f} bytes a document ({size / plain_size:.2f})")
        plain.close()
        with open_store(path, read_only=True) as store:
            plain = PlainTable(plain.path)
            for distance in (3, 5, 7):
                measure_lookups(store, plain if distance == 3 else None, documents, distance, queries)
            plain.close()


def measure_lookups(store: Store, plain: PlainTable | None, documents: int, distance: int, count: int) -> None:
    """Print the rate of exact lookups, which all must find the document that the question was made from."""
    asked = list(questions(documents, distance, count if distance == 3 else count // 5))
    rule = parse_rule(f"simhash-doc@{distance}bits")
    for fingerprint in asked[:500]:
        lookup(store, rule, Question("", fingerprint=fingerprint))
    start = time.perf_counter()
    answers = [lookup(store, rule, Question("", fingerprint=fingerprint)) for fingerprint in asked]
    spent = time.perf_counter() - start
    found = sum(answer.total > 0 for answer in answers)
    beside = ""
    if plain is not None:
        start = time.perf_counter()
        for fingerprint in asked:
            plain.similar(fingerprint.value)
        beside = f" ({(time.perf_counter() - start) / spent:.2f})"
    print(
        f"similar, k={distance}  {len(asked) / spent:10,.0f} lookups/s{beside}, {answers[0].keys:,} probes, "
        f"{found / len(asked):.0%} of the planted found"
    )


if __name__ == "__main__":
    main()
