"""Clusters of sketches in files by tasks of Spark, beside one process: time of processors, and what is shuffled.

Run as `python -m tests.benchmarks spark [--documents N] [--hashes N]`. The texts are those of `batch` in eight files;
of the skewed ones every tenth begins with one menu of sixty words, so that they share keys and are near. Hashes are
random simhashes without a sketch, of which every twentieth lies within 3 bits of another. What is shown of Spark counts
all of its processes, their start too.
"""

from __future__ import annotations

import argparse
import filecmp
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from indexer.batch.arrow import arrow, column_of
from indexer.batch.form import Form, column_name, sketch_schema, writer, written_footer
from indexer.batch.sketches.parts import SKETCHES
from indexer.model import SIMHASH_DOC, own_files
from tests.benchmarks.batch import USUAL, cost, write

_FILES = 8
_PART, _GROUP = 1_000_000, 1 << 16
_MEMORY = "4g"
_MENU = " ".join(f"menu{number}" for number in range(60))
_TICKS = os.sysconf("SC_CLK_TCK")


def split(path: Path, folder: Path, *, skewed: bool) -> None:
    """The rows of a file in _FILES of them."""
    import pyarrow
    from pyarrow import parquet

    folder.mkdir()
    rows = parquet.read_table(path)
    if skewed:
        texts = rows["text"].to_pylist()
        texts[::10] = [f"{_MENU} {' '.join(text.split()[:15])}" for text in texts[::10]]
        rows = rows.set_column(1, "text", pyarrow.array(texts))
    each = -(-rows.num_rows // _FILES)
    for number in range(_FILES):
        parquet.write_table(rows.slice(number * each, each), folder / f"{number}.parquet")


def used_by(session: int) -> dict[int, float]:
    """The seconds of processors of each process of a session that runs now."""
    found = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[3]) == session:
            found[int(path.parent.name)] = (int(fields[11]) + int(fields[12])) / _TICKS
    return found


@dataclass(frozen=True)
class Used:
    """What a command and all processes that it starts took: seconds, and those of processors."""

    seconds: float
    processors: float


def watched(command: Sequence[str], environment: Mapping[str, str] | None = None) -> tuple[str, Used]:
    """What a command prints, in a session of its own, and what it took; CalledProcessError where it fails."""
    begin = time.perf_counter()
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        text=True,
        env={**os.environ, **(environment or {})},
    )
    used: dict[int, float] = {}

    def watch() -> None:
        while process.poll() is None:
            used.update(used_by(process.pid))
            time.sleep(0.1)

    watching = threading.Thread(target=watch)
    watching.start()
    printed, said = process.communicate()
    watching.join()
    if process.returncode:
        print(said, file=sys.stderr)
        raise subprocess.CalledProcessError(process.returncode, command)
    return printed, Used(time.perf_counter() - begin, sum(used.values()))


def on_spark(folder: Path, out: Path, partitions: int) -> dict[str, Any]:
    """What a session of its own takes, with all of its processes."""
    command = [sys.executable, "-m", "benchmarks.spark", "--here", str(folder), str(out), str(partitions)]
    printed, used = watched(command)
    said: dict[str, Any] = json.loads(printed.splitlines()[-1])
    return {**said, "seconds": used.seconds, "processors": used.processors}


def here(folder: str, out: str, partitions: int) -> None:
    """Cluster on two cores, and print what was shuffled and found."""
    from pyspark.sql import SparkSession

    from indexer.batch.clusters.clustering import ClusteringOptions
    from indexer.batch.reading import form_in, rule_of
    from indexer.batch.spark.clustering import cluster
    from indexer.clustering.canonical import CanonicalRule

    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    # One process is all of Spark here, and has a gigabyte unless it is told.
    builder = builder.config("spark.driver.memory", _MEMORY)
    spark = builder.config("spark.ui.showConsoleProgress", "false").getOrCreate()
    form = form_in(folder)
    wanted = ClusteringOptions(rule_of(form, None), CanonicalRule(), parts=partitions, permitted=None)
    said = cluster(spark, folder, out, wanted)
    context: Any = spark.sparkContext
    nothing = context._gateway.new_array(context._jvm.double, 0)
    stages = context._jsc.sc().statusStore().stageList(None, False, False, nothing, None)
    shuffled = sum(stages.apply(number).shuffleWriteBytes() for number in range(stages.size()))
    print(json.dumps({"shuffled": shuffled, "clusters": said["clusters"], "comparisons": said["comparisons"]}))


def write_hashes(out: Path, count: int) -> None:
    """Sketches of random simhashes, as `neardup batch sketch` writes them, in files of _PART."""
    form = Form(())
    (out / "sketches").mkdir(parents=True)
    footer = written_footer(
        SKETCHES, form, {"input": "s3://made", "first": "s3://made", "state": "", "seen": "", "together": 0, "read": {}}
    )
    for first in range(0, count, _PART):
        draw = np.random.default_rng((20_261_122, first))
        values = draw.integers(0, 1 << 64, min(_PART, count - first), dtype=np.uint64, endpoint=False)
        copied = values[: values.size // 20]
        for _ in range(3):
            copied = copied ^ (np.uint64(1) << draw.integers(0, 64, copied.size, dtype=np.uint64))
        values[values.size - copied.size :] = copied
        path = out / "sketches" / f"{first:012}.parquet"
        with own_files.written_whole(path) as file, writer(file, sketch_schema(form), footer) as rows:
            for start in range(0, values.size, _GROUP):
                rows.write_batch(_of_hashes(values[start : start + _GROUP], first + start, form))


def _of_hashes(values: npt.NDArray[np.uint64], first: int, form: Form) -> Any:
    numbers = column_of(np.arange(first, first + values.size))
    known = {
        "id": numbers.cast(arrow.string()),
        "row": numbers,
        "tokens": arrow.repeat(arrow.scalar(500, arrow.int64()), values.size),
        "short": arrow.repeat(arrow.scalar(False), values.size),
        column_name(SIMHASH_DOC): column_of(values.view(np.int64)),
    }
    schema = sketch_schema(form)
    columns = [known.get(field.name, arrow.nulls(values.size, field.type)) for field in schema]
    return arrow.RecordBatch.from_arrays(columns, schema=schema)


def run(documents: int = 200_000, partitions: int = 8, hashes: int = 1_000_000) -> dict[str, dict[str, Any]]:
    """Measure and print; gives the figures."""
    figures = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if documents:
            write(folder / "texts.parquet", documents)
            for shape in ("uniform", "skewed"):
                given, out = folder / shape, folder / f"{shape}-sketched"
                split(folder / "texts.parquet", given, skewed=shape == "skewed")
                cost("batch", "sketch", given, "--out", out, "--schemes", USUAL, "--quiet")
                figures[shape] = _both(shape, out, documents, partitions)
        if hashes:
            write_hashes(folder / "hashes", hashes)
            figures["hashes"] = _both("hashes", folder / "hashes", hashes, partitions)
    return figures


def _both(shape: str, sketched: Path, documents: int, partitions: int) -> dict[str, Any]:
    """The clusters of sketches by one process and by Spark, which have to be the same files."""
    alone = cost("batch", "cluster", sketched, "--out", sketched, "--verify", "sketch")
    out = sketched.with_name(f"{shape}-spark")
    said = on_spark(sketched, out, partitions)
    for path in (sketched / "clusters").iterdir():
        assert filecmp.cmp(path, out / "clusters" / path.name, shallow=False)
    print(
        f"{shape:8} {documents:11,} documents  one process {alone.processors:6.1f} s of processors  Spark "
        f"{said['processors']:6.1f} s  {said['shuffled'] / documents:6.0f} bytes shuffled a document  "
        f"{said['clusters']:,} clusters, the same files",
        flush=True,
    )
    return {**said, "alone": alone.processors}


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=200_000)
    parser.add_argument("--partitions", type=int, default=8)
    parser.add_argument("--hashes", type=int, default=1_000_000)
    parser.add_argument("--here", nargs=3, metavar=("DIR", "OUT", "N"), help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.here:
        here(options.here[0], options.here[1], int(options.here[2]))
    else:
        run(options.documents, options.partitions, options.hashes)


if __name__ == "__main__":
    main()
