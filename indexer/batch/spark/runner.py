"""The steps of batches by tasks of Spark: the same files as from one machine, in shared folders."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from indexer.batch.arrow import arrow, column_of_strings, schema_of
from indexer.batch.copying import Output
from indexer.batch.cutting import CUT, Cutting, PartCuts, WordsRead, read_words, write_cut
from indexer.batch.filtering import write_parts
from indexer.batch.form import Making
from indexer.batch.sketches.parts import Part
from indexer.batch.sketches.sketching import begin, forget, sketch_parts, unfinished
from indexer.batch.spark.clustering import cluster
from indexer.batch.spark.frames import MOST_JOINED
from indexer.batch.spark.session import dealt, plain_errors, storage
from indexer.batch.steps import Steps
from indexer.ingest.sources import Selection, Sources
from indexer.model.chunking import chunks, chunks_by_size
from indexer.model.counts import SketchingCounts

_SAID, _NOTHING = schema_of("said string"), schema_of("nothing int64")
_WORDS = schema_of("part int64, id string, time string, words binary")
_AT_ONCE, _BYTES = 256, 64 << 20


def steps(spark: Any, *, most_joined: int = MOST_JOINED) -> Steps:
    return Steps(
        partial(sketch, spark), partial(cluster, spark, most_joined=most_joined), partial(write, spark),
        partial(read, spark), partial(cut, spark),
    )  # fmt: skip


def sketch(
    spark: Any,
    sources: Sources,
    parts: Sequence[Part],
    folder: str,
    making: Making,
    *,
    summary: SketchingCounts | None = None,
) -> SketchingCounts:
    """The work of `indexer.batch.sketches.sketching.sketch`, a part in a task of Spark, each with one process.

    Raises IncompatibleStoreError and StoreError.
    """
    counts = summary if summary is not None else SketchingCounts()
    with plain_errors():
        begin(folder, making.form)
        # What a task that failed has left is written again, so that it is counted.
        left = list(unfinished(sources, parts, folder, counts))
        if left:
            given = sources.selection, replace(making, jobs=1), os.path.abspath(folder)
            for row in dealt(spark, left, _sketch_some, _SAID, *given).collect():
                for name, value in json.loads(row["said"]).items():
                    known = getattr(counts, name)
                    if isinstance(known, Counter):
                        known.update(value)
                    elif name == "first_failure":
                        counts.first_failure = known or value
                    else:
                        setattr(counts, name, known + value)
        counts.forgotten += forget(sources, parts, folder)
        counts.left_out += sources.passed_over.total
    return counts


def _sketch_some(parts: Iterable[Part], selection: Selection, making: Making, folder: str) -> Iterator[Any]:
    summary, sources = SketchingCounts(), Sources([], selection)
    sketch_parts(sources, parts, folder, making, summary)
    summary.left_out = sources.passed_over.total
    said = {each.name: getattr(summary, each.name) for each in fields(summary)}
    yield arrow.RecordBatch.from_arrays([column_of_strings([json.dumps(said)])], schema=_SAID)


def write(spark: Any, chosen: Sequence[tuple[Part, Path]], output: Output, standing: Any) -> None:
    there = replace(output, out=os.path.abspath(output.out), jobs=1)
    with plain_errors():
        dealt(spark, chosen, _write_some, _NOTHING, there, standing).collect()


def _write_some(chosen: Iterable[tuple[Part, Path]], output: Output, standing: Any) -> Iterator[Any]:
    write_parts(chosen, output, standing)
    yield arrow.RecordBatch.from_pylist([], schema=_NOTHING)


def read(spark: Any, parts: Sequence[Part], asked: Cutting) -> Iterator[WordsRead]:
    with plain_errors():
        # All tasks at once; what they read waits on their disks until it is asked for.
        frame = dealt(spark, list(enumerate(parts)), _read_some, _WORDS, asked).persist(storage.StorageLevel.DISK_ONLY)
        try:
            frame.count()
            for row in frame.toLocalIterator():
                yield WordsRead(row["part"], row["id"], row["time"], np.frombuffer(row["words"], dtype=np.uint64))
        finally:
            frame.unpersist()


def _read_some(parts: Iterable[tuple[int, Part]], asked: Cutting) -> Iterator[Any]:
    for number, part in parts:
        for rows in chunks_by_size(read_words([part], asked), _AT_ONCE, lambda row: row.words.nbytes, _BYTES):
            made = [(number, row.id, row.time, row.words.tobytes()) for row in rows]
            columns = zip(zip(*made, strict=True), _WORDS.types, strict=True)
            arrays = [arrow.array(values, kind) for values, kind in columns]
            yield arrow.RecordBatch.from_arrays(arrays, schema=_WORDS)


def cut(spark: Any, chosen: Sequence[tuple[Part, PartCuts]], asked: Cutting, out: str) -> Iterator[Any]:
    with plain_errors():
        frame = dealt(spark, chosen, write_cut, CUT, asked, out)
        for rows in chunks(frame.collect(), _AT_ONCE):
            yield arrow.RecordBatch.from_pylist([row.asDict() for row in rows], schema=CUT)
