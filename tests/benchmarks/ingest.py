"""Texts as JSON lines or Parquet into a new embedded store in its default form: documents a second, and peak memory.

Run as `python -m tests.benchmarks ingest [--documents N] [--jobs N] [--kind jsonl] [--arriving N] [--store URL]`.
Beside the time that passed stands what processors spent, of this process and of its workers, which a busy machine
changes less. At the end texts are put into their clusters as they come, beside the same indexed and then clustered: in
a file, or with `--store` in indices of an engine whose names begin so, which are made and left there.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from indexer.clustering.arrivals import Arrivals, rule_for
from indexer.clustering.clusters import cluster
from indexer.ingest.indexing import Settings, default_jobs, index, store_info
from indexer.ingest.sources import Sources
from indexer.library.opening import open_store
from indexer.matching.rule import default_rule
from indexer.schemes import registry

KINDS = ("jsonl", "parquet")
_WORDS, _BYTES, _PART = 50_000, 2000, 5000


def texts(documents: int) -> Iterator[str]:
    """Texts of about 2 kB, each of its own words."""
    draw = random.Random(1)
    words = ["".join(draw.choices("abcdefghijklmnopqrstuvwxyz", k=draw.randint(2, 9))) for _ in range(_WORDS)]
    for _ in range(documents):
        yield " ".join(draw.choices(words, k=_BYTES * 2 // 13))


def write(path: Path, documents: int) -> None:
    """The texts as a file of the kind that its suffix says."""
    if path.suffix == ".jsonl":
        with open(path, "w", encoding="utf-8") as file:
            file.writelines(
                json.dumps({"id": f"doc-{number}", "text": text}) + "\n" for number, text in enumerate(texts(documents))
            )
        return
    import pyarrow
    from pyarrow import parquet

    schema = pyarrow.schema([("id", pyarrow.string()), ("text", pyarrow.string())])
    with parquet.ParquetWriter(path, schema) as out:
        rows: list[dict[str, str]] = []
        for number, text in enumerate(texts(documents)):
            rows.append({"id": f"doc-{number}", "text": text})
            if len(rows) == _PART or number == documents - 1:
                out.write_batch(pyarrow.RecordBatch.from_pylist(rows, schema=schema))
                rows = []


def run(documents: int = 200_000, jobs: int | None = None, kinds: Sequence[str] = KINDS) -> None:
    """Measure and print."""
    index_texts(documents, jobs, kinds)
    compare_arrivals(20_000, jobs)


def index_texts(documents: int, jobs: int | None, kinds: Sequence[str]) -> None:
    """What indexing takes."""
    schemes = [registry.scheme("minhash")]
    for kind in kinds:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, f"texts.{kind}")
            write(path, documents)
            before = os.times()
            begin = time.perf_counter()
            with open_store(Path(folder, "c.neardup"), create=store_info("landmarks", schemes)) as store:
                summary = index(Sources([str(path)]), store, Settings(jobs=jobs or default_jobs(), schemes=schemes))
            spent = time.perf_counter() - begin
            after = os.times()
            own = after.user + after.system - before.user - before.system
            workers = after.children_user + after.children_system - before.children_user - before.children_system
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            if summary.indexed + summary.reused != documents:
                print(f"{kind}: only {summary.indexed:,} of {documents:,} were indexed", file=sys.stderr)
            print(
                f"{kind:8} {documents:9,} documents  {documents / spent:8,.0f} documents/s  "
                f"{1e6 * own / documents:6.0f} + {1e6 * workers / documents:.0f} microseconds of processors each, "
                f"here and in workers  peak {peak:,.0f} MB"
            )


def families(documents: int, size: int) -> Iterator[tuple[str, str]]:
    """Texts of 200 words in families of that size, in which each has four words of its own, in no order."""
    draw = random.Random(1)
    words = ["".join(draw.choices("abcdefghijklmnopqrstuvwxyz", k=draw.randint(2, 9))) for _ in range(_WORDS)]
    made = []
    for number in range(documents):
        if number % size == 0:
            first = draw.choices(words, k=200)
        text = list(first)
        for place in draw.sample(range(200), 4 if number % size else 0):
            text[place] = draw.choice(words)
        made.append((f"doc-{number}", " ".join(text)))
    draw.shuffle(made)
    yield from made


def compare_arrivals(documents: int, jobs: int | None, url: str = "") -> None:
    """What `index --cluster` takes beside `index` and then `cluster`, for texts near nothing and in families."""
    schemes = [registry.scheme("minhash")]
    for size in (1, 16):
        spent: list[tuple[float, float]] = []
        for arriving in (False, True):
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder, "texts.jsonl")
                with open(path, "w", encoding="utf-8") as file:
                    file.writelines(
                        json.dumps({"id": name, "text": text}) + "\n" for name, text in families(documents, size)
                    )
                place = f"{url}-{size}-{'arriving' if arriving else 'after'}" if url else Path(folder, "c.neardup")
                with open_store(place, create=store_info("landmarks", schemes)) as store:
                    begin, used = time.perf_counter(), time.process_time()
                    coming = Arrivals(store, rule_for(store)) if arriving else None
                    settings = Settings(jobs=jobs or default_jobs(), schemes=schemes)
                    index(Sources([str(path)]), store, settings, arrivals=coming)
                    if coming:
                        coming.close()
                    else:
                        cluster(store, default_rule(store))
                    spent.append((time.perf_counter() - begin, time.process_time() - used))
        (after, used_after), (together, used_together) = spent
        print(
            f"{documents:,} texts in families of {size}: indexed and then clustered {after:.1f} s, as they come "
            f"{together:.1f} s: {together / after:.2f} times; of processor time here "
            f"{used_together / used_after:.2f} times"
        )


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=200_000)
    parser.add_argument("--jobs", type=int)
    parser.add_argument("--kind", choices=KINDS, action="append")
    parser.add_argument("--arriving", type=int, default=20_000, help="how many are put into clusters as they come")
    parser.add_argument("--store", default="", help="an index of an engine for these: http://127.0.0.1:9200/NAME")
    options = parser.parse_args(arguments)
    if options.documents:
        index_texts(options.documents, options.jobs, options.kind or KINDS)
    if options.arriving:
        compare_arrivals(options.arriving, options.jobs, options.store)


if __name__ == "__main__":
    main()
