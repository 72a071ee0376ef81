"""`indexer.batch.deduping` by tasks of Spark: the same files as from one machine."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from indexer.batch.arrow import arrow
from indexer.batch.copying import Output
from indexer.batch.deduping import Steps
from indexer.batch.filtering import write_parts
from indexer.batch.sketches.parts import Part
from indexer.batch.spark.clustering import cluster
from indexer.batch.spark.frames import MOST_JOINED
from indexer.batch.spark.session import numbered, plain_errors
from indexer.batch.spark.sketching import sketch

_NOTHING = arrow.schema([("nothing", arrow.int64())])


def steps(spark: Any, *, most_joined: int = MOST_JOINED) -> Steps:
    return Steps(partial(sketch, spark), partial(cluster, spark, most_joined=most_joined), partial(write, spark))


def write(spark: Any, chosen: Sequence[tuple[Part, Path]], output: Output, standing: Any) -> None:
    there = replace(output, out=os.path.abspath(output.out), jobs=1)
    with plain_errors():
        numbered(spark, len(chosen), write_some, _NOTHING, chosen, there, standing).collect()


def write_some(
    numbers: Iterable[Sequence[int]], chosen: Sequence[tuple[Part, Path]], output: Output, standing: Any
) -> Iterator[Any]:
    for some in numbers:
        write_parts((chosen[number] for number in some), output, standing)
    yield arrow.RecordBatch.from_pylist([], schema=_NOTHING)
