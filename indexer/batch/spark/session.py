"""pyspark, imported in one place: sessions, columns, plain errors."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from indexer import errors
from indexer.batch.arrow import arrow
from indexer.errors import NeardupError, UsageError
from indexer.ingest.readers.base import optional

sql: Any = optional("pyspark.sql", "spark", "batches on Spark")
storage: Any = optional("pyspark.storagelevel", "spark", "batches on Spark")
functions: Any = optional("pyspark.sql.functions", "spark", "batches on Spark")

_OURS = re.compile(r"^indexer\.errors\.(\w+): (.*)$", re.MULTILINE)
_USUAL = 200
# What a partition of sketches has, in bytes, and how many there are of few.
_PARTITION, _FEWEST = 64 << 20, 8
_MOST_TASKS = 10_000


@contextmanager
def running(master: str | None = None) -> Iterator[Any]:
    """The running session, or a new one closed after use.

    It is on `master` (a URL of Spark), or as spark-submit or Spark's configuration says if None.
    """
    before = sql.SparkSession.getActiveSession()
    if before is not None:
        yield before
        return
    # Without it tasks run whatever python comes first on the path.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = sql.SparkSession.builder.appName("neardup")
    if not sys.stderr.isatty():
        builder = builder.config("spark.ui.showConsoleProgress", "false")
    made = (builder.master(master) if master else builder).getOrCreate()
    try:
        yield made
    finally:
        made.stop()


def partitions_of(spark: Any, asked: int | None, size: int | None = None) -> int:
    if asked is not None:
        if asked < 1:
            raise UsageError(f"partitions {asked}: at least one")
        return asked
    try:
        configured = int(spark.conf.get("spark.sql.shuffle.partitions"))
    except ValueError:
        # Databricks has "auto", which can't be asked how many it would take.
        configured = _USUAL
    return configured if size is None else max(min(configured, _FEWEST), -(-size // _PARTITION))


def spark_type(kind: Any) -> str:
    types = arrow.types
    if types.is_list(kind):
        return f"array<{spark_type(kind.value_type)}>"
    if types.is_binary(kind) or types.is_fixed_size_binary(kind):
        return "binary"
    simple = {"int32": "int", "int64": "bigint", "string": "string", "bool": "boolean", "double": "double"}
    return simple[str(kind)]


def mapped(frame: Any, step: Callable[..., Iterator[Any]], schema: Any, *given: Any, **named: Any) -> Any:
    def run(batches: Iterator[Any]) -> Iterator[Any]:
        return step(batches, *given, **named)

    return frame.mapInArrow(run, ", ".join(f"`{field.name}` {spark_type(field.type)}" for field in schema))


def dealt(spark: Any, items: Sequence[Any], step: Callable[..., Iterator[Any]], schema: Any, *given: Any) -> Any:
    start, count = os.getcwd(), len(items)

    def run(batches: Iterator[Any]) -> Iterator[Any]:
        with suppress(OSError):
            # Files are named as they were seen from there.
            os.chdir(start)
        return step((items[number] for batch in batches for number in batch["id"].to_pylist()), *given)

    return mapped(spark.range(0, count, 1, max(1, min(count, _MOST_TASKS))), run, schema)


@contextmanager
def plain_errors() -> Iterator[None]:
    try:
        yield
    except NeardupError:
        raise
    except Exception as error:
        found = _OURS.findall(str(error))
        if not found:
            raise
        name, message = found[-1]
        kind = getattr(errors, name, NeardupError)
        raise kind(message) from error
