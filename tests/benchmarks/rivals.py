"""What removing duplicates takes and removes, beside text-dedup's script for Spark and datatrove, on the same texts.

Run as `python -m tests.benchmarks rivals [--documents N] [--environment FOLDER]`. The others run as they come, in an
environment of their own that pip makes: text-dedup 0.3.1, the last one whose script needs no packages of Java, with its
reader of a table in BigQuery put on a file of Parquet, and with 8 parts in its shuffles in place of 512; datatrove
0.10.1 with two workers. Each keeps its defaults, but that
neardup goes by sketches alone, as the others do: its rule is from 0.6 on, text-dedup's from 0.7 on, datatrove's is 14
buckets of 8.

Removed wrongly is what shares less than half (30%) of its 5-word shingles with each document that is kept; left is what
shares 80% and more with another that is kept. Both are counted exactly. The texts are those of `batch`; chains, in
which each text shares three quarters with the next and the ends nothing; and real pages, where they are at hand.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from indexer.batch.arrow import arrow, parquet
from indexer.matching.measures.exact import jaccard_pairs, shingle_sets
from tests.benchmarks.batch import USUAL, write
from tests.benchmarks.spark import watched
from tests.judging import texts_of

PACKAGES = ["datatrove[io,processing]==0.10.1", "spacy>=3.8", "scipy", "rich"]
# It asks for releases of others from before Python 3.12, which its script runs without.
ALONE = ["text-dedup==0.3.1"]
SPARK = "pyspark>=3.5.3,<4" if sys.version_info < (3, 12) else "pyspark>=4,<5"
_CHAINS, _LINKS, _WORDS, _NEW = 100, 30, 300, 38
_FAR, _HALF, _NEAR = 0.3, 0.5, 0.8
_PARTITIONS = 8

Texts = dict[str, str]
Remover = Callable[[Path, Path, str], tuple[Set[str], float]]


def environment(folder: Path) -> str:
    """The Python of an environment with the others, which is made where it isn't yet."""
    python = folder / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        pip = [str(python), "-m", "pip", "install", "--quiet"]
        subprocess.run([*pip, *PACKAGES, SPARK], check=True)
        subprocess.run([*pip, "--no-deps", *ALONE], check=True)
    return str(python)


def neardup(given: Path, folder: Path, _python: str, *options: str) -> tuple[Set[str], float]:
    """What is removed, and the seconds of processors."""
    used = 0.0
    command = [sys.executable, "-m", "indexer", "batch"]
    out, kept = ["--out", str(folder)], folder.with_name(f"{folder.name}-kept")
    for step in (
        ["sketch", str(given), *out, "--schemes", USUAL, "--quiet", *options],
        ["cluster", str(folder), *out, "--verify", "sketch", *options],
        ["filter", str(given), "--clusters", str(folder), "--out", str(kept)],
    ):
        used += watched([*command, *step])[1].processors
    return set(parquet.read_table(f"{kept}.removed.parquet")["id"].to_pylist()), used


def neardup_on_spark(given: Path, folder: Path, python: str) -> tuple[Set[str], float]:
    """The same by tasks of Spark."""
    return neardup(given, folder, python, "--run-on", "spark")


_TEXT_DEDUP = """
import runpy, sys
from pyspark.sql import DataFrameReader
read = DataFrameReader.parquet
DataFrameReader.load = lambda reader: read(reader, sys.argv[sys.argv.index("--table") + 1])
runpy.run_module("text_dedup.minhash_spark", run_name="__main__", alter_sys=True)
"""


def text_dedup(given: Path, folder: Path, python: str) -> tuple[Set[str], float]:
    """See `neardup`."""
    out = folder / "kept"
    command = [python, "-c", _TEXT_DEDUP, "--table", str(given), "--column", "text", "--output", str(out)]
    # Else each of its shuffles has 512 parts, which on one machine takes longer than the work.
    few = {"PYSPARK_SUBMIT_ARGS": f"--conf spark.default.parallelism={_PARTITIONS} pyspark-shell"}
    used = watched(command, {"PYSPARK_PYTHON": python, **few})[1].processors
    kept = {row["id"] for row in _lines(out.glob("*.json"))}
    return _ids(given) - kept, used


_DATATROVE = """
import sys
from datatrove.executor import LocalPipelineExecutor
from datatrove.pipeline.dedup import (
    MinhashDedupBuckets, MinhashDedupCluster, MinhashDedupFilter, MinhashDedupSignature,
)
from datatrove.pipeline.readers import ParquetReader
from datatrove.pipeline.writers import JsonlWriter
from datatrove.utils.typeshelper import Languages

given, folder = sys.argv[1:]

def steps():
    reader = ParquetReader(given, glob_pattern="*.parquet")
    yield 2, [reader, MinhashDedupSignature(f"{folder}/signatures", language=Languages.english)]
    yield 14, [MinhashDedupBuckets(f"{folder}/signatures", f"{folder}/buckets")]
    yield 1, [MinhashDedupCluster(f"{folder}/buckets", f"{folder}/remove")]
    removed = JsonlWriter(f"{folder}/removed", compression=None)
    kept = JsonlWriter(f"{folder}/kept", compression=None)
    yield 2, [reader, MinhashDedupFilter(f"{folder}/remove", exclusion_writer=removed), kept]

if __name__ == "__main__":
    for number, (tasks, pipeline) in enumerate(steps()):
        logs = f"{folder}/logs/{number}"
        LocalPipelineExecutor(pipeline, tasks=tasks, workers=min(tasks, 2), logging_dir=logs).run()
"""


def datatrove(given: Path, folder: Path, python: str) -> tuple[Set[str], float]:
    """See `neardup`."""
    folder.mkdir()
    script = folder / "script.py"
    script.write_text(_DATATROVE)
    used = watched([python, str(script), str(given), str(folder)])[1].processors
    kept = {row["id"] for row in _lines((folder / "kept").glob("*.jsonl"))}
    return _ids(given) - kept, used


REMOVERS: dict[str, Remover] = {
    "neardup": neardup,
    "neardup, Spark": neardup_on_spark,
    "text-dedup, Spark": text_dedup,
    "datatrove": datatrove,
}


def _lines(paths: Iterable[Path]) -> Iterator[dict[str, str]]:
    for path in paths:
        with path.open(encoding="utf-8") as lines:
            yield from map(json.loads, lines)


def _ids(given: Path) -> set[str]:
    return set(parquet.read_table(given, columns=["id"])["id"].to_pylist())


def chains() -> Texts:
    """Texts of which each shares three quarters of its passages with the next one of its chain."""
    draw = random.Random(3)
    made = {}
    for chain in range(_CHAINS):
        words = [f"w{draw.randrange(1 << 40):x}" for _ in range(_WORDS)]
        for link in range(_LINKS):
            made[f"chain-{chain}-{link}"] = " ".join(words)
            start = link * _NEW % (_WORDS - _NEW)
            words[start : start + _NEW] = [f"w{draw.randrange(1 << 40):x}" for _ in range(_NEW)]
    return made


@dataclass(frozen=True)
class Judged:
    """How many were `removed`; of them those that share less than `half` and 30% with all that is kept; how many are
    `left` though they share 80% with another that is kept.
    """

    removed: int
    half: int
    third: int
    left: int


def judged(texts: Texts, removed: Set[str]) -> Judged:
    """Judge what was removed of some texts."""
    names = np.array(list(texts))
    pairs = jaccard_pairs(shingle_sets(list(texts.values())), _FAR)
    is_kept = ~np.isin(names, list(removed))
    nearest = np.zeros(names.size)
    for one, other in ((pairs.left, pairs.right), (pairs.right, pairs.left)):
        kept = is_kept[other]
        np.maximum.at(nearest, one[kept], pairs.jaccard[kept])
    gone = nearest[~is_kept]
    return Judged(
        gone.size,
        int(np.count_nonzero(gone < _HALF)),
        int(np.count_nonzero(gone < _FAR)),
        int(np.count_nonzero(nearest[is_kept] >= _NEAR)),
    )


def sets(documents: int, folder: Path) -> Iterator[tuple[str, Path, Texts]]:
    """The name of each set of texts, the folder of its files and what is in them."""
    from tests.benchmarks.__main__ import SHARED_DATA

    write(folder / "texts.parquet", documents)
    made = {"texts": _of(parquet.read_table(folder / "texts.parquet")), "chains": chains()}
    if SHARED_DATA.is_dir():
        made["pages"] = {f"page-{number}": text for number, text in enumerate(texts_of(SHARED_DATA / "html/mixed"))}
    for name, texts in made.items():
        given = folder / name
        given.mkdir()
        rows = arrow.table({"id": list(texts), "text": list(texts.values())})
        half = rows.num_rows // 2
        for number, part in enumerate((rows.slice(0, half), rows.slice(half))):
            parquet.write_table(part, given / f"{number}.parquet")
        yield name, given, texts


def _of(rows: Any) -> Texts:
    return dict(zip(rows["id"].to_pylist(), rows["text"].to_pylist(), strict=True))


def run(documents: int = 20_000, where: Path | None = None) -> dict[tuple[str, str], Judged]:
    """Measure and print; gives what each removed of each set."""
    found = {}
    with tempfile.TemporaryDirectory() as name:
        python = environment(where or Path(name, "environment"))
        for about, given, texts in sets(documents, Path(name)):
            for number, (remover, remove) in enumerate(REMOVERS.items()):
                removed, used = remove(given, given.with_name(f"{about}-by-{number}"), python)
                one = found[about, remover] = judged(texts, removed)
                print(
                    f"{about:7} {len(texts):7,} texts  {remover:18} {used:8.1f} s of processors  removed "
                    f"{one.removed:6,}  wrongly {one.half:6,} ({one.third:,} under 30%)  left {one.left:,}",
                    flush=True,
                )
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=20_000)
    parser.add_argument("--environment", type=Path, metavar="FOLDER", help="where the others are installed, and stay")
    options = parser.parse_args(arguments)
    run(options.documents, options.environment)


if __name__ == "__main__":
    main()
