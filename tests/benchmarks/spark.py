"""Clusters of sketches in files by tasks of Spark, beside one process: time of processors, and what is shuffled.

Run as `python -m benchmarks spark [--documents N]`. The texts are those of `batch` in eight files; of the skewed ones
every tenth begins with one menu of sixty words, so that they share keys and are near. What is shown of Spark counts all
of its processes, their start too.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.batch import USUAL, cost, write

_FILES = 8
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


def on_spark(folder: Path, out: Path, partitions: int) -> dict[str, Any]:
    """What a session of its own takes, with all of its processes."""
    command = [sys.executable, "-m", "benchmarks.spark", "--here", str(folder), str(out), str(partitions)]
    begin = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True, text=True)
    used: dict[int, float] = {}

    def watch() -> None:
        while process.poll() is None:
            used.update(used_by(process.pid))
            time.sleep(0.1)

    watching = threading.Thread(target=watch)
    watching.start()
    printed, _ = process.communicate()
    watching.join()
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    said: dict[str, Any] = json.loads(printed.splitlines()[-1])
    return {**said, "seconds": time.perf_counter() - begin, "processors": sum(used.values())}


def here(folder: str, out: str, partitions: int) -> None:
    """Cluster on two cores, and print what was shuffled and found."""
    from pyspark.sql import SparkSession

    from indexer.batch.clusters.clustering import Wanted
    from indexer.batch.reading import canonical_of, form_in, rule_of
    from indexer.batch.spark.clustering import cluster

    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    spark = builder.config("spark.ui.showConsoleProgress", "false").getOrCreate()
    form = form_in(folder)
    said = cluster(spark, folder, out, Wanted(rule_of(form, None), canonical_of(form, None), parts=partitions))
    context: Any = spark.sparkContext
    nothing = context._gateway.new_array(context._jvm.double, 0)
    stages = context._jsc.sc().statusStore().stageList(None, False, False, nothing, None)
    shuffled = sum(stages.apply(number).shuffleWriteBytes() for number in range(stages.size()))
    print(json.dumps({"shuffled": shuffled, "clusters": said["clusters"], "comparisons": said["comparisons"]}))


def run(documents: int = 200_000, partitions: int = 8) -> dict[str, dict[str, Any]]:
    """Measure and print; gives the figures."""
    figures = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write(folder / "texts.parquet", documents)
        for shape in ("uniform", "skewed"):
            given, out = folder / shape, folder / f"{shape}-sketched"
            split(folder / "texts.parquet", given, skewed=shape == "skewed")
            cost("batch", "sketch", given, "--out", out, "--schemes", USUAL, "--quiet")
            alone = cost("batch", "cluster", out, "--out", out)
            said = on_spark(out, folder / f"{shape}-spark", partitions)
            for path in (out / "clusters").iterdir():
                assert path.read_bytes() == (folder / f"{shape}-spark" / "clusters" / path.name).read_bytes()
            figures[shape] = {**said, "alone": alone.processors}
            print(
                f"{shape:8} {documents:9,} documents  one process {alone.processors:6.1f} s of processors  Spark "
                f"{said['processors']:6.1f} s  {said['shuffled'] / documents:6.0f} bytes shuffled a document  "
                f"{said['clusters']:,} clusters, the same files",
                flush=True,
            )
    return figures


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=200_000)
    parser.add_argument("--partitions", type=int, default=8)
    parser.add_argument("--here", nargs=3, metavar=("DIR", "OUT", "N"), help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.here:
        here(options.here[0], options.here[1], int(options.here[2]))
    else:
        run(options.documents, options.partitions)


if __name__ == "__main__":
    main()
