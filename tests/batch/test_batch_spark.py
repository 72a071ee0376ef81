"""Batches on Spark give what one process gives, whatever the partitions, the order, and tasks that run again."""

from __future__ import annotations

import json
import os
import random
import shutil
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from batched import LONGEST, MINHASH, Case, Row, by_batch, sketched, write_files
from planted import collection, named
from test_batch_clusters import EARLIEST, RULES, chain, hot

from indexer.batch.clusters.clustering import Wanted, cluster
from indexer.batch.reading import canonical_of, rule_of
from indexer.clustering.canonical import CanonicalRule
from indexer.errors import IncompatibleStoreError, UsageError

pytest.importorskip("pyspark", reason="NEEDS SPARK: pyspark is not installed; batches on Spark were not tested")
if not shutil.which("java") and not os.environ.get("JAVA_HOME"):
    pytest.skip("NEEDS JAVA: none is installed; batches on Spark were not tested", allow_module_level=True)

from indexer.batch.spark import folders, tables

# Spark looks at versions with what Python itself no longer has.
pytestmark = pytest.mark.filterwarnings("ignore:distutils Version classes", "ignore::ResourceWarning")
every = pytest.mark.skipif(not os.environ.get("NEARDUP_ALL"), reason="takes long; make test-all")


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    from pyspark.sql import SparkSession

    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": "1g",
        "spark.sql.shuffle.partitions": "2",
        "spark.local.dir": str(tmp_path_factory.mktemp("spark")),
        "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse")),
    }
    # Of two at a time, each may fail three times.
    builder = SparkSession.builder.master("local[2,3]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    made = builder.getOrCreate()
    made.sparkContext.setLogLevel("OFF")
    yield made
    made.stop()


def mixed() -> dict[str, str]:
    """Versions of documents, a chain, and pages with one boilerplate."""
    return {**named(collection(1, 120)), **chain(60), **hot(100)}


def by_frames(spark: Any, case: Case, partitions: int, seed: int = 0) -> dict[str, Row]:
    """What Spark makes of the documents, in any order and as many partitions."""
    rows = case.rows()
    random.Random(seed).shuffle(rows)
    documents = spark.createDataFrame(rows).repartition(partitions)
    schemes = ",".join(("simhash-doc", *case.schemes))
    metadata = ["seen"] if case.canonical.kind == "field" else []
    made = tables.sketches(documents, time="seen", metadata=metadata, schemes=schemes)
    found = tables.clusters(
        made, match=case.rule, canonical=str(case.canonical), bound=case.bound, partitions=partitions
    )
    clusters = {row["id"]: (row["cluster"], row["is_canonical"], row["similarity"]) for row in found.collect()}
    assert len(clusters) == len(rows)
    return clusters


def same_files(one: Path, other: Path) -> bool:
    """Whether two folders have the same files of clusters, to the footer."""
    for name in ("clusters", "clusters-before"):
        files = sorted((one / name).glob("*"))
        assert [path.name for path in files] == [path.name for path in sorted((other / name).glob("*"))]
        for path in files:
            twin = other / name / path.name
            assert pq.read_table(path).to_pylist() == pq.read_table(twin).to_pylist()
            assert pq.read_schema(path).equals(pq.read_schema(twin), check_metadata=True)
    return True


@pytest.mark.parametrize(
    ("case", "partitions"),
    [(Case({}), 2), *(pytest.param(case, parts, marks=every) for case in RULES for parts in (1, 2, 7))],
    ids=lambda value: str(value) if isinstance(value, int) else f"{value.rule} {value.canonical} {value.bound}",
)
def test_clusters_of_frames_are_those_of_one_process(
    case: Case, partitions: int, spark: Any, tmp_path: Path
) -> None:
    tried = replace(case, texts=mixed())
    wanted, said = by_batch(tried, tmp_path)
    assert said["clusters"] > 10
    assert by_frames(spark, tried, partitions, seed=partitions) == wanted


def test_clusters_of_folders_are_those_of_one_process(spark: Any, tmp_path: Path) -> None:
    case = Case(mixed(), "minhash@0.4", canonical=EARLIEST, bound=0.3)
    _, said = by_batch(case, tmp_path, files=5, parts=1)
    assert said["split"] > 0
    rule = Wanted(rule_of(case.form, case.rule), case.canonical, case.bound)
    for count in (1, 2, 7):
        out = tmp_path / str(count)
        again = folders.cluster(spark, str(tmp_path / "out"), str(out), replace(rule, parts=count))
        assert again == said
        assert json.loads((out / "clustering.json").read_bytes()) == said
        assert same_files(tmp_path / "out", out)
