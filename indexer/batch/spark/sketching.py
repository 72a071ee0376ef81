"""Sketch files by tasks of Spark, into a shared folder."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields, replace
from typing import Any

from indexer.batch.arrow import arrow, column_of_strings
from indexer.batch.form import Making
from indexer.batch.sketches.parts import Part
from indexer.batch.sketches.sketching import Summary, begin, forget, sketch_parts, unfinished
from indexer.batch.spark.session import numbered, plain_errors
from indexer.ingest.sources import Selection, Sources

_SAID = arrow.schema([("said", arrow.string())])


def write_parts(
    numbers: Iterable[Sequence[int]], parts: Sequence[Part], selection: Selection, making: Making, folder: str
) -> Iterator[Any]:
    summary = Summary()
    sources = Sources([], selection)
    for some in numbers:
        sketch_parts(sources, [parts[number] for number in some], folder, making, summary)
    summary.left_out = sources.passed_over.total
    said = {each.name: getattr(summary, each.name) for each in fields(summary)}
    yield arrow.RecordBatch.from_arrays([column_of_strings([json.dumps(said)])], schema=_SAID)


def sketch(
    spark: Any,
    sources: Sources,
    parts: Sequence[Part],
    folder: str,
    making: Making,
    *,
    summary: Summary | None = None,
) -> Summary:
    """The work of `indexer.batch.sketches.sketching.sketch`, a part in a task of Spark, each with one process.

    Raises IncompatibleStoreError and StoreError.
    """
    counts = summary if summary is not None else Summary()
    with plain_errors():
        begin(folder, making.form)
        # What a task that failed has left is written again, so that it is counted.
        left = list(unfinished(parts, folder, counts))
        if left:
            given = left, sources.selection, replace(making, jobs=1), os.path.abspath(folder)
            done = numbered(spark, len(left), write_parts, _SAID, *given)
            for row in done.collect():
                _add(counts, json.loads(row["said"]))
        counts.forgotten += forget(sources, parts, folder)
        counts.left_out += sources.passed_over.total
    return counts


def _add(counts: Summary, said: dict[str, Any]) -> None:
    counts.failed.update(Counter(said.pop("failed")))
    for name, value in said.items():
        setattr(counts, name, getattr(counts, name) + value)
