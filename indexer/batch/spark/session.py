"""pyspark, imported in one place, and what every use of it here needs: sessions, columns, plain errors."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from indexer import errors
from indexer.batch.arrow import arrow
from indexer.errors import NeardupError, UsageError
from indexer.ingest.readers.base import optional

sql: Any = optional("pyspark.sql", "spark", "batches on Spark")
functions: Any = optional("pyspark.sql.functions", "spark", "batches on Spark")

_OURS = re.compile(r"^indexer\.errors\.(\w+): (.*)$", re.MULTILINE)
_USUAL = 200


@contextmanager
def running(master: str | None = None) -> Iterator[Any]:
    """The session that runs already, or a new one, which ends after use.

    It is on `master` (a URL of Spark), or where spark-submit or Spark's configuration says if None.
    """
    before = sql.SparkSession.getActiveSession()
    if before is not None:
        yield before
        return
    # Without it tasks run whatever python comes first on the path.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = sql.SparkSession.builder.appName("neardup")
    made = (builder.master(master) if master else builder).getOrCreate()
    try:
        yield made
    finally:
        made.stop()


def partitions_of(spark: Any, asked: int | None) -> int:
    """How many partitions what is shuffled has: as many as asked for, else as Spark is configured."""
    if asked is not None:
        if asked < 1:
            raise UsageError(f"partitions {asked}: at least one")
        return asked
    try:
        return int(spark.conf.get("spark.sql.shuffle.partitions"))
    except ValueError:
        # Databricks has "auto", which can't be asked how many it would take.
        return _USUAL


def ddl(schema: Any) -> str:
    """Columns of Arrow as Spark writes them."""
    return ", ".join(f"`{field.name}` {_written(field.type)}" for field in schema)


def _written(kind: Any) -> str:
    types = arrow.types
    if types.is_list(kind):
        return f"array<{_written(kind.value_type)}>"
    if types.is_binary(kind) or types.is_fixed_size_binary(kind):
        return "binary"
    simple = {"int32": "int", "int64": "bigint", "string": "string", "bool": "boolean", "double": "double"}
    return simple[str(kind)]


def mapped(frame: Any, step: Callable[..., Iterator[Any]], schema: Any, *given: Any, **named: Any) -> Any:
    """What a step makes of the batches of each partition, in columns of Arrow."""

    def run(batches: Iterator[Any]) -> Iterator[Any]:
        return step(batches, *given, **named)

    return frame.mapInArrow(run, ddl(schema))


@contextmanager
def plain_errors() -> Iterator[None]:
    """Raise an error of a task as what it is, without what Spark says of where it came from."""
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
