"""`indexer.batch.cutting` by tasks of Spark: the same files as from one machine."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from indexer.batch.arrow import arrow
from indexer.batch.cutting import CUT, Cutting, CuttingSteps, PartCuts, WordsRead, read_words, write_cut
from indexer.batch.sketches.parts import Part
from indexer.batch.spark.session import numbered, plain_errors, storage
from indexer.model.chunking import chunks, chunks_by_size

_WORDS = arrow.schema(
    [("part", arrow.int64()), ("id", arrow.string()), ("time", arrow.string()), ("words", arrow.binary())]
)
_AT_ONCE, _BYTES = 256, 64 << 20


def steps(spark: Any) -> CuttingSteps:
    return CuttingSteps(partial(read, spark), partial(write, spark))


def read(spark: Any, parts: Sequence[Part], asked: Cutting) -> Iterator[WordsRead]:
    with plain_errors():
        # All tasks at once; what they read waits on their disks until it is asked for.
        frame = numbered(spark, len(parts), _read_some, _WORDS, parts, asked).persist(storage.StorageLevel.DISK_ONLY)
        try:
            frame.count()
            for row in frame.toLocalIterator():
                yield WordsRead(row["part"], row["id"], row["time"], np.frombuffer(row["words"], dtype=np.uint64))
        finally:
            frame.unpersist()


def _read_some(numbers: Iterable[Sequence[int]], parts: Sequence[Part], asked: Cutting) -> Iterator[Any]:
    for some in numbers:
        for number in some:
            read = read_words([parts[number]], asked)
            for rows in chunks_by_size(read, _AT_ONCE, lambda row: row.words.nbytes, _BYTES):
                made = [(number, row.id, row.time, row.words.tobytes()) for row in rows]
                columns = zip(zip(*made, strict=True), _WORDS, strict=True)
                yield arrow.RecordBatch.from_arrays(
                    [arrow.array(values, each.type) for values, each in columns], schema=_WORDS
                )


def write(spark: Any, chosen: Sequence[tuple[Part, PartCuts]], asked: Cutting, out: str) -> Iterator[Any]:
    with plain_errors():
        frame = numbered(spark, len(chosen), _write_some, CUT, chosen, asked, out)
        for rows in chunks(frame.collect(), _AT_ONCE):
            yield arrow.RecordBatch.from_pylist([row.asDict() for row in rows], schema=CUT)


def _write_some(
    numbers: Iterable[Sequence[int]], chosen: Sequence[tuple[Part, PartCuts]], asked: Cutting, out: str
) -> Iterator[Any]:
    for some in numbers:
        yield from write_cut((chosen[number] for number in some), asked, out)
