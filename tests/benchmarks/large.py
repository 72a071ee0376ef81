"""A large store from put to report: time, processor time and peak memory of each command, and the size on disk.

Run as `python -m tests.benchmarks large [--documents N] [--lean] [--store URL]`; URL is a new index in a search
cluster, which is deleted afterwards. Hashes and sketches are random, the worst case for storing: every key lies
elsewhere. One document in twenty is a copy of another, with up to 3 bits flipped and about 90% of the sketch's values
equal.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from indexer.core.sketches import simhash_keys
from indexer.engine.client.connection import connect
from indexer.engine.setup.provision import Provision
from indexer.errors import NeardupError
from indexer.ingest.indexing import store_info
from indexer.library.opening import open_store
from indexer.matching.lookups import lookup
from indexer.matching.question import Question
from indexer.matching.rule import default_rule
from indexer.model import Fingerprint, Record, Ref, Sketch
from indexer.schemes import registry
from indexer.stores.base import PutStatus

DOCUMENTS = 300_000
_PART, _ASKED, _SEED = 20_000, 500, 20_261_121
_SHARE = 0.9


def run(
    documents: int = DOCUMENTS, *, lean: bool = False, url: str | None = None, directory: str | None = None
) -> dict[str, Any]:
    """Fill a store and go over all of it; gives seconds and peak bytes of memory by command."""
    with tempfile.TemporaryDirectory(dir=directory) as folder:
        name = url or str(Path(folder, "store.neardup"))
        try:
            return _measure(documents, name, lean, Path(folder))
        finally:
            if url:
                remove(url)


def _measure(documents: int, name: str, lean: bool, folder: Path) -> dict[str, Any]:
    begin, used = time.perf_counter(), time.process_time()
    schemes = [] if lean else [registry.scheme("minhash")]
    with open_store(name, create=store_info("landmarks", schemes)) as store:
        for first in range(0, documents, _PART):
            for result in store.put(records(first, min(_PART, documents - first), lean=lean)):
                if result.status is PutStatus.FAILED:
                    raise NeardupError(f"{result.ref.id}: {result.reason}")
            if sys.stderr.isatty():
                print(f"\r{first + _PART:,} stored", end="", file=sys.stderr)
    spent, used = time.perf_counter() - begin, time.process_time() - used
    form = "lean" if lean else "default"
    rate = f"{documents / spent:,.0f} a second"
    print(f"{documents:,} documents in the {form} form: put in {spent:,.0f} s ({used:,.0f} s of processor), {rate}")
    with open_store(name, read_only=True) as store:
        size = store.stats().bytes_on_disk
        print(f"size: {size / 1e6:,.0f} MB, {size / documents:,.0f} bytes a document")
        rule, asked = default_rule(store), list(records(0, _PART, lean=lean))[:: _PART // _ASKED]
        begin, used = time.perf_counter(), time.process_time()
        found = sum(lookup(store, rule, Question("", record=record)).total > 0 for record in asked)
        each = [
            1000 * (now - then) / len(asked)
            for now, then in ((time.perf_counter(), begin), (time.process_time(), used))
        ]
        print(f"similar: {each[0]:.2f} ms each ({each[1]:.2f} ms of processor); {found} found a document", flush=True)
    figures: dict[str, Any] = {"put": spent, "size": size}
    pairs = folder / "pairs.csv"
    for what, arguments in (
        ("similar, the command", ["similar", "--id", asked[0].ref.id]),
        ("pairs", ["pairs", "--output", str(pairs)]),
        ("cluster", ["cluster"]),
        ("cluster again", ["cluster"]),
        ("report", ["report", "--output", str(folder / "report.html")]),
        ("prune --dry-run", ["prune", "--dry-run"]),
    ):
        seconds, used, peak = _child([sys.executable, "-m", "indexer", *arguments, "--store", name])
        beside = f", {seconds / figures['pairs']['seconds']:.1f} x pairs" if what.startswith("cluster") else ""
        times = f"{seconds:,.1f} s ({used:,.1f} s of processor)"
        print(f"{what}: {times}{beside}, peak memory {peak / 1e6:,.0f} MB", flush=True)
        figures[what] = {"seconds": seconds, "peak": peak}
    with pairs.open("rb") as lines:
        print(f"{sum(1 for _ in lines) - 1:,} pairs")
    return figures


def records(first: int, count: int, *, lean: bool) -> Iterator[Record]:
    """Records as documents have them, numbered from `first` on; the last twentieth are copies of the first ones."""
    generator = np.random.default_rng((_SEED, first))
    values, copies = _values(generator, count)
    sketches_of = _sketches(generator, count, copies, lean)
    rows = zip(values.tolist(), simhash_keys(values).tolist(), sketches_of, strict=True)
    for number, (value, keys, sketches) in enumerate(rows, first):
        name = f"collection/{number % 1000:03d}/document-{number:09d}.html"
        digest = hashlib.sha256(name.encode()).hexdigest()
        yield Record(
            Ref(name), Fingerprint(value, 500).sketches(keys) | sketches, source=name,
            title=f"The title of document {number}", format="html", extractor="lexbor 2.4", size=20_000,
            source_digest=digest, text_digest=digest[:32], indexed_at="2026-01-01T00:00:00Z",
        )  # fmt: skip


def _values(generator: np.random.Generator, count: int) -> tuple[npt.NDArray[np.uint64], int]:
    values = generator.integers(0, 1 << 64, count, dtype=np.uint64, endpoint=False)
    copies = values[: count // 20].copy()
    for _ in range(3):
        flipped = generator.integers(0, 64, copies.size, dtype=np.uint64)
        copies ^= generator.integers(0, 2, copies.size, dtype=np.uint64) << flipped
    values[count - copies.size :] = copies
    return values, copies.size


def _sketches(generator: np.random.Generator, count: int, copies: int, lean: bool) -> Iterator[dict[str, Sketch]]:
    if lean:
        yield from ({} for _ in range(count))
        return
    info = registry.scheme("minhash").info
    payloads = generator.integers(0, 256, (count, 128), dtype=np.uint8)
    keys = generator.integers(0, 1 << info.layout.bits, (count, info.layout.tables), dtype=np.int64)
    # A value of one bit differs in half of the places whose minima differ; a band of 4 rows is equal where all are.
    payloads[count - copies :] = payloads[:copies] ^ np.packbits(
        generator.random((copies, 1024)) < (1 - _SHARE) / 2, axis=1
    )
    kept = generator.random((copies, info.layout.tables)) < _SHARE**4
    keys[count - copies :] = np.where(kept, keys[:copies], keys[count - copies :])
    keys += np.arange(info.layout.tables, dtype=np.int64) << info.layout.bits
    for payload, row in zip(payloads, keys.tolist(), strict=True):
        yield {info.name: Sketch(info.id, payload.tobytes(), tuple(row), 500)}


def _child(command: list[str]) -> tuple[float, float, int]:
    """Seconds by the clock, seconds of the processor, and peak bytes without mapped files; NeardupError on failure."""
    begin, before, peak = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN), 0
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as child:
        status = Path(f"/proc/{child.pid}/status")
        while child.poll() is None:
            found = re.search(r"RssAnon:\s+(\d+) kB", status.read_text())
            peak = max(peak, int(found[1]) * 1024 if found else 0)
            time.sleep(0.05)
    if child.returncode:
        raise NeardupError(f"neardup {command[3]} ended with exit code {child.returncode}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return time.perf_counter() - begin, used, peak


def remove(url: str) -> None:
    """Take a store out of a search cluster again."""
    client = connect(url)
    try:
        provision = Provision(client)
        list(provision.carry_out(provision.removal()))
    finally:
        client.close()


def main(arguments: Sequence[str]) -> None:
    """Run with the options of the command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks large", description=__doc__.splitlines()[0])
    parser.add_argument("--documents", type=int, default=DOCUMENTS, metavar="N")
    parser.add_argument("--lean", action="store_true", help="with the simhash alone")
    parser.add_argument("--store", metavar="URL", help="a new index in a search cluster")
    parser.add_argument("--directory", help="where the file is made for the time of the run")
    options = parser.parse_args(arguments)
    run(options.documents, lean=options.lean, url=options.store, directory=options.directory)


if __name__ == "__main__":
    main(sys.argv[1:])
