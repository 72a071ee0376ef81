"""Spark for tests of batches, and what compares its files with those of one process."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from tests.batch.javas import java_missing

NO_SPARK = "NEEDS SPARK: pyspark is not installed; batches on Spark were not tested"
if missing := java_missing():
    pytest.skip(f"NEEDS JAVA {missing}: batches on Spark were not tested", allow_module_level=True)

QUIET = pytest.mark.filterwarnings(
    "ignore:distutils Version classes", "ignore:PySpark does not yet", "ignore::ResourceWarning"
)
"""Spark looks at versions with what Python itself no longer has."""
every = pytest.mark.skipif(not os.environ.get("NEARDUP_ALL"), reason="takes long; make test-all")


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


LARGEST = {"shared_keys": "texts", "chains": "documents"}
"""What is named of the largest buckets and components, and their sizes."""


def same_said(
    one: dict[str, Any],
    other: dict[str, Any],
    *,
    verified_before: bool = False,
) -> bool:
    """Whether two runs say the same; of buckets and components that are equally large they may name others.

    One that verified some components bucket by bucket first compared more.
    """
    one, other = ({**said, "reading_seconds": None} for said in (one, other))
    for name, size in LARGEST.items():
        assert [each[size] for each in one.pop(name)] == [each[size] for each in other.pop(name)]
    if verified_before:
        assert one.pop("comparisons") > other.pop("comparisons")
    return one == other
