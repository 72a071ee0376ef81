"""Spark, and frames, decide as one process on documents that differ beside equal texts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from indexer.batch.clusters.clustering import cluster
from indexer.batch.form import Form
from tests.batch.batched import MINHASH, sketched
from tests.batch.beside import decided, mail, options, page, written
from tests.batch.on_spark import NO_SPARK, QUIET
from tests.cli.written import prose

pytest.importorskip("pyspark", reason=NO_SPARK)
from indexer.batch.spark import clustering, tables

pytestmark = QUIET


def test_spark_decides_alike(spark: Any, tmp_path: Path) -> None:
    given, out = written(tmp_path / "in", "eml", mail), tmp_path / "out"
    for name, head in (("p1", "Bill for the quay"), ("p2", "Bill for the mill")):
        (given / f"{name}.pdf").write_bytes(page(head))
    sketched(given, out, Form((MINHASH,)), id_from="relative")
    cluster(str(out), str(tmp_path / "here"), options())
    clustering.cluster(spark, str(out), str(tmp_path / "there"), options())
    found = decided(tmp_path / "here")
    assert sum(not keep for keep, *_ in found.values()) == 1
    assert decided(tmp_path / "there") == found


def test_rows_of_a_frame_with_other_titles_stay(spark: Any) -> None:
    rows = [(name, prose(4), title) for name, title in (("a", "The quay"), ("b", "The mill"), ("c", "The mill"))]
    documents = spark.createDataFrame(rows, "id string, text string, title string")
    sketches = tables.sketches(documents, title="title")
    found = {row["id"]: row for row in tables.clusters(sketches, texts=documents).collect()}
    assert sorted(name for name, row in found.items() if row["keep"]) == ["a", "b"]
    assert found["b"]["evidence"] == "1 fact differs: title The mill / The quay"
