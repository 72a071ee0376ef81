"""Texts in Parquet to clusters in files, without a store, beside the same through the embedded store.

Run as `python -m tests.benchmarks batch [--documents N] [--without-store]`: every fourth text is another with a few
words changed. With `--kept` it prints what is kept of texts of which half drift (`write_drifting`), and whether any are
near. With `--read-again FOLDER` it prints how many texts `batch cluster` reads a second time, of the files of FOLDER,
or without one (`-`) of texts with copies of several kinds (`write_repeating`). Each command runs as a process of its
own, of which the time that passed, that of processors, and peak memory are shown.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from tests.benchmarks.ingest import texts
from tests.relations.edits import misread
from tests.relations.filled import reformatted

_PART = 5000
_CHANGED = 6
LEAN, USUAL = "simhash-doc", "simhash-doc,minhash"


@dataclass(frozen=True)
class Cost:
    """What a command took: seconds, seconds of processors, and the largest memory of its process in MB."""

    seconds: float
    processors: float
    peak: float

    def __add__(self, other: Cost) -> Cost:
        return Cost(self.seconds + other.seconds, self.processors + other.processors, max(self.peak, other.peak))


def write(path: Path, documents: int) -> None:
    """The texts as Parquet, of which every fourth is near an earlier one."""
    import pyarrow
    from pyarrow import parquet

    draw = random.Random(2)
    schema = pyarrow.schema([("id", pyarrow.string()), ("text", pyarrow.string())])
    recent: list[str] = []
    rows: list[dict[str, str]] = []
    with parquet.ParquetWriter(path, schema, compression="zstd") as out:
        for number, text in enumerate(texts(documents)):
            if number % 4 == 3:
                words = draw.choice(recent).split()
                for _ in range(_CHANGED):
                    words[draw.randrange(len(words))] = "changed"
                shown = " ".join(words)
            else:
                shown = text
                recent = [*recent[-999:], text]
            rows.append({"id": f"doc-{number}", "text": shown})
            if len(rows) == _PART or number == documents - 1:
                out.write_batch(pyarrow.RecordBatch.from_pylist(rows, schema=schema))
                rows = []


def write_drifting(path: Path, documents: int, family: int = 16, share: float = 0.02) -> None:
    """Texts as JSON lines, of which every other one is of a family, as the one before it with some words changed.

    The others are as those of `write`.
    """
    draw, words = random.Random(3), [f"drift{number}" for number in range(20_000)]
    plain = path.with_suffix(".plain")
    write(plain, documents // 2)
    from pyarrow import parquet

    lines = [json.dumps(row) for row in parquet.read_table(plain).to_pylist()]
    plain.unlink()
    for number in range(documents - len(lines)):
        if number % family == 0:
            text = draw.choices(words, k=draw.choice((60, 100, 200)))
        lines.append(json.dumps({"id": f"drift-{number}", "text": " ".join(text)}))
        for place in draw.sample(range(len(text)), round(share * len(text))):
            text[place] = draw.choice(words)
    draw.shuffle(lines)
    path.write_text("\n".join(lines) + "\n")


def write_repeating(path: Path, documents: int) -> None:
    """Texts as Parquet: of each ten rows six repeat one of the others.

    One is a copy, one has its title twice, one has other lines, one lacks a sentence, one says another number, and one
    has misread words.
    """
    import pyarrow
    from pyarrow import parquet

    draw, given = random.Random(4), texts(documents)
    schema = pyarrow.schema([("id", pyarrow.string()), ("title", pyarrow.string()), ("text", pyarrow.string())])
    with parquet.ParquetWriter(path, schema, compression="zstd") as out:
        for first in range(0, documents, _PART):
            rows: list[tuple[str, str]] = []
            while len(rows) < _PART:
                own = [_in_sentences(next(given), len(rows) + place) for place in range(4)]
                titled = [(f"Title {first + len(rows) + place}", text) for place, text in enumerate(own)]
                less = own[3].partition(". ")[2]
                form = own[0].replace(" Number 1", " Number 2")
                again = f"{titled[1][0]} | {titled[1][0]}", own[1]
                others = [reformatted(own[2], draw), less, form, misread(own[3], draw)]
                rows += [*titled, titled[0], again, *(("", text) for text in others)]
            columns = [[f"doc-{first + place}" for place in range(len(rows))], *map(list, zip(*rows, strict=True))]
            out.write_batch(pyarrow.RecordBatch.from_arrays(list(map(pyarrow.array, columns)), schema=schema))


def _in_sentences(text: str, number: int) -> str:
    words = text.split()
    said = [" ".join(words[start : start + 12]).capitalize() for start in range(0, len(words), 12)]
    return ". ".join([*said, f"Number 1{number:07}."])


def read_again(given: str, documents: int) -> None:
    """Print how many texts are read a second time to decide on what goes, and what that takes."""
    from indexer.library.batch_options import BatchOutput
    from indexer.library.batches import dedupe

    deciding: Any = import_module("indexer.batch.clusters.judging")
    asked, whole = 0, deciding.read_texts

    def counting(path: Path, places: Any, *more: Any) -> Any:
        nonlocal asked
        asked += places.size
        return whole(path, places, *more)

    deciding.read_texts = counting
    with tempfile.TemporaryDirectory() as folder:
        if given == "-":
            given = f"{folder}/texts.parquet"
            write_repeating(Path(given), documents)
        begin = time.process_time()
        done = dedupe([given], BatchOutput(f"{folder}/out"))
        print(
            f"{done.kept + done.removed:,} documents, {done.removed:,} removed, {asked:,} texts read again  "
            f"{time.process_time() - begin:.1f} s of processors, reading {done.reading_seconds} s; {done.relations}"
        )


def kept(documents: int = 100_000) -> None:
    """Print what `batch dedupe` keeps by sketches alone, what that takes, and how many pairs of these are near."""
    import indexer

    with tempfile.TemporaryDirectory() as folder:
        path, out = Path(folder, "texts.jsonl"), Path(folder, "kept")
        write_drifting(path, documents)
        show("batch dedupe", documents, cost("batch", "dedupe", path, "--out", out, "--verify", "sketch"))
        left = [json.loads(line)["text"] for line in (out / path.name).read_text().splitlines()]
        pairs = sum(1 for _ in indexer.pairs_of(left))
        print(f"kept {len(left):,} of {documents:,}; {pairs:,} pairs of these are near")


def cost(*arguments: str | Path) -> Cost:
    """What `neardup` takes with these arguments; CalledProcessError where it fails."""
    command = [sys.executable, "-m", "indexer", *map(str, arguments)]
    begin = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    return Cost(time.perf_counter() - begin, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)


def show(name: str, documents: int, found: Cost) -> None:
    print(
        f"{name:34} {documents:9,} documents  {found.seconds:7.1f} s  {found.processors:7.1f} s of processors  "
        f"peak {found.peak:,.0f} MB",
        flush=True,
    )


def run(documents: int = 200_000, *, store: bool = True) -> dict[str, Cost]:
    """Measure and print; gives the figures."""
    found: dict[str, Cost] = {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "texts.parquet")
        write(path, documents)
        for schemes in (LEAN, USUAL):
            out = Path(folder, schemes)
            steps = {
                "batch sketch": cost("batch", "sketch", path, "--out", out, "--schemes", schemes, "--quiet"),
                "batch cluster": cost("batch", "cluster", out, "--out", out, "--verify", "sketch"),
            }
            for name, each in steps.items():
                show(f"{schemes}: {name}", documents, each)
            size = sum(file.stat().st_size for file in (out / "sketches").iterdir())
            print(f"{schemes}: {size / documents:.0f} bytes a document in files of sketches")
            found[schemes] = steps["batch sketch"] + steps["batch cluster"]
            show(f"{schemes}: together", documents, found[schemes])
        found["texts"] = cost("batch", "cluster", out, "--out", out)
        show("batch cluster, by the texts", documents, found["texts"])
        if store:
            file = Path(folder, "c.neardup")
            indexed = cost("index", path, "--store", file, "--quiet") + cost("cluster", "--store", file)
            found["store"] = indexed
            show("index and cluster, by the store", documents, indexed)
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=200_000)
    parser.add_argument("--without-store", action="store_true")
    parser.add_argument("--kept", action="store_true")
    parser.add_argument("--read-again", metavar="FOLDER")
    options = parser.parse_args(arguments)
    if options.kept:
        kept(min(options.documents, 100_000))
        return
    if options.read_again:
        read_again(options.read_again, options.documents)
        return
    run(options.documents, store=not options.without_store)


if __name__ == "__main__":
    main()
