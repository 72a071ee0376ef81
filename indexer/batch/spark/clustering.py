"""`neardup batch` over shared folders, by tasks of Spark."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from indexer.batch.arrow import arrow, column_of, column_of_strings, numbers_of, parquet, schema_of
from indexer.batch.clusters.clustering import (
    ClusteringOptions,
    Counts,
    RowsBetween,
    finished_in,
    remove_stale,
    said_of,
    sketched_apart,
    write_clusters,
)
from indexer.batch.clusters.grouping import FOUND, ClusteringFigures, columns_of, compared, found_by
from indexer.batch.clusters.judging import (
    VERDICTS,
    lexicon_of,
    near_documents,
    near_in_file,
    near_rows,
    near_schema,
)
from indexer.batch.form import cluster_schema, sketch_schema
from indexer.batch.reading import OLDER, TEXT_COLUMNS, Differing, Sketched, id_hashes, taken
from indexer.batch.spark import tasks
from indexer.batch.spark.frames import MOST_GROUPED, MOST_JOINED, Documents, Run, found, keep
from indexer.batch.spark.session import functions, mapped, partitions_of, plain_errors, sql
from indexer.batch.texts import text_workers
from indexer.clustering.verdicts import Permitted
from indexer.core.text import text_digest
from indexer.errors import ExtractionError
from indexer.matching.rule import MatchRule
from indexer.model.chunking import chunks_by_size
from indexer.relations.lexicon import Lexicon, known_words
from indexer.schemes.base import Positions

_WORD, _COUNTED = schema_of("word int64"), schema_of("words binary, counts binary")
_WORDS_AT_ONCE = 1 << 20
_NO_TEXT, _OTHER_TEXT = "no text of it was given", "another text was given than was sketched"
# Rows with texts that Spark hands to a task at once: as many of the longest still fit its memory.
_ROWS_AT_ONCE = "1000"
_ROWS_SETTING = "spark.sql.execution.arrow.maxRecordsPerBatch"


@contextmanager
def few_rows_at_once(spark: Any) -> Iterator[None]:
    before = spark.conf.get(_ROWS_SETTING)
    spark.conf.set(_ROWS_SETTING, _ROWS_AT_ONCE)
    try:
        yield
    finally:
        spark.conf.set(_ROWS_SETTING, before)


def read_near(batches: Iterable[Any], sketched: Sketched, rule: MatchRule) -> Iterator[Any]:
    with text_workers(1, sketched.form.options) as workers:
        for (number,), rows in tasks.runs(batches, ("file",)):
            yield from near_in_file(sketched, number, rows, rule, workers)


def with_texts(batches: Iterable[Any], rule: MatchRule) -> Iterator[Any]:
    for batch in batches:
        found: list[str | ExtractionError | None] = []
        given = (batch[name].to_pylist() for name in ("text_digest", "is_read", "text"))
        for digest, wanted, text in zip(*given, strict=True):
            if not wanted or (text is not None and text_digest(text) == digest):
                found.append(text if wanted else None)
            else:
                found.append(ExtractionError("unreadable", _NO_TEXT if text is None else _OTHER_TEXT))
        yield near_rows(batch, found, rule)


def words_in(batches: Iterable[Any], rule: MatchRule) -> Iterator[Any]:
    with near_documents(batches, rule) as given:
        for some in chunks_by_size(given.words(), _WORDS_AT_ONCE, len, _WORDS_AT_ONCE):
            yield from tasks.numbers(_WORD, np.concatenate(some).view(np.int64))


def count_words(batches: Iterable[Any]) -> Iterator[Any]:
    words = np.concatenate([np.empty(0, dtype=np.int64), *(numbers_of(batch["word"]) for batch in batches)])
    packed = [arrow.array([each.tobytes()], arrow.binary()) for each in known_words(words.view(np.uint64))]
    yield arrow.RecordBatch.from_arrays(packed, schema=_COUNTED)


def judge(batches: Iterable[Any], rule: MatchRule, permitted: Permitted, lexicon: Lexicon) -> Iterator[Any]:
    with near_documents(batches, rule) as given:
        yield from given.verdicts(permitted, lexicon)


def decided(
    clusters: Any, sketched: Sketched, rule: MatchRule, permitted: Permitted, count: int, kept: ExitStack
) -> Any:
    asked = clusters.where("is_read is not null").repartition(count, "file").sortWithinPartitions("file", "owner")
    texts = mapped(asked, read_near, near_schema(rule), sketched, rule)
    return judged(keep(kept, by_component(texts, count)), rule, permitted, count)


def judged(near: Any, rule: MatchRule, permitted: Permitted, count: int) -> Any:
    return mapped(near, judge, VERDICTS, rule, permitted, lexicon(near, rule, count))


def by_component(near: Any, count: int) -> Any:
    return near.repartition(count, "component").sortWithinPartitions("component", "rank")


def lexicon(near: Any, rule: MatchRule, count: int) -> Lexicon:
    words = mapped(near, words_in, _WORD, rule).repartition(count, "word")
    known = (
        (np.frombuffer(row["words"], dtype=np.uint64), np.frombuffer(row["counts"], dtype=np.int64))
        for row in mapped(words, count_words, _COUNTED).collect()
    )
    components = near.where("text is not null").agg(functions.countDistinct("component").alias("count"))
    return lexicon_of(known, components.head()["count"])


# An owner is the number of its file, and in the lowest bits its place there.
_ROW_BITS = 40
_SAID = schema_of("said string")
# Tasks for each partition, of which each reads some files.
_TASKS = 4


def _with_file(clusters: Any) -> Any:
    number = functions.when(functions.col("owner").isNull(), -1)
    return clusters.withColumn("file", number.otherwise(functions.shiftright("owner", _ROW_BITS)))


def _batches(sketched: Sketched, number: int, columns: Sequence[str]) -> Iterator[tuple[Positions, Any]]:
    for start, batch in sketched.batches_in(number, columns):
        yield np.arange(start, start + batch.num_rows), batch


def read_ids(files: Iterable[Any], sketched: Sketched) -> Iterator[Any]:
    for number, _ in _rows(files):
        for owners, batch in _batches(sketched, number, ["id"]):
            yield from tasks.numbers(tasks.LABELS, owners, id_hashes(batch["id"]).view(np.int64))


def read_files(
    files: Iterable[Any], sketched: Sketched, columns: Sequence[str], step: tasks.Step, *given: Any
) -> Iterator[Any]:
    def read() -> Iterator[Any]:
        for number, gone in _rows(files):
            for owners, batch in _batches(sketched, number, columns):
                kept = column_of(~np.isin(owners, gone))
                yield _with(batch, owner=column_of(owners)).filter(kept)

    return step(read(), *given)


def _rows(files: Iterable[Any]) -> Iterator[tuple[int, Positions]]:
    for batch in files:
        for number, gone in zip(batch["number"].to_pylist(), batch["gone"].to_pylist(), strict=True):
            yield number, np.frombuffer(gone, dtype="<i8").astype(np.int64)


def _with(batch: Any, **columns: Any) -> Any:
    names = [*columns, *batch.schema.names]
    return arrow.RecordBatch.from_arrays([*columns.values(), *batch.columns], names=names)


def read_labelled(batches: Iterable[Any], sketched: Sketched, columns: Sequence[str]) -> Iterator[Any]:
    for (number,), rows in tasks.runs(batches, ("file",)):
        wanted, labels = numbers_of(rows["owner"]), numbers_of(rows["label"])
        for part, batch in taken(sketched.batches_in(number, columns), wanted):
            # Spark takes columns by their places, and a file gives them in its own order.
            given = tasks.spark_batch(batch.select(list(columns)))
            yield _with(given, label=column_of(labels[part]), owner=column_of(wanted[part]))


def write_files(batches: Iterable[Any], sketched: Sketched, out: str, wanted: ClusteringOptions) -> Iterator[Any]:
    for (number,), rows in tasks.runs(batches, ("file",)):
        if number < 0:
            yield arrow.RecordBatch.from_arrays([rows["figures"].combine_chunks()], schema=_SAID)
            continue
        counts = _write_file(rows, number, sketched, out, wanted)
        yield arrow.RecordBatch.from_arrays([column_of_strings([json.dumps(asdict(counts))])], schema=_SAID)


def _write_file(rows: Any, number: int, sketched: Sketched, out: str, wanted: ClusteringOptions) -> Counts:
    gone = np.zeros(parquet.read_metadata(sketched.files[number]).num_rows, dtype=np.bool_)
    [(_, owners)] = _rows([rows.filter(rows["number"].is_valid()).combine_chunks().to_batches()[0]])
    gone[owners - sketched.offsets[number]] = True
    found = _between(rows.filter(rows["cluster"].is_valid()).select(FOUND.names))
    verdicts = _between(rows.filter(rows["keep"].is_valid()).select(VERDICTS.names)) if wanted.permitted else None
    counts = write_clusters(sketched, number, out, wanted, found, verdicts, gone)
    for owners, batch in _batches(sketched, number, found_by(wanted.rule)):
        there = ~gone[owners - sketched.offsets[number]]
        counts.compared += int(np.count_nonzero(compared(batch, wanted.rule) & there))
    return counts


def _between(rows: Any) -> RowsBetween:
    owners = numbers_of(rows["owner"])

    def between(first: int, end: int) -> Any:
        start, stop = np.searchsorted(owners, (first, end)).tolist()
        return rows.slice(start, stop - start)

    return between


def cluster(
    spark: Any, folder: str, out: str, wanted: ClusteringOptions, *, most_joined: int = MOST_JOINED
) -> dict[str, Any]:
    """The work of `indexer.batch.clusters.clustering.cluster` by tasks of Spark: the same files, the same figures.

    Memory here: 8 bytes for each replaced document. Raises StoreError and UsageError.
    """
    folder, out = os.path.abspath(folder), os.path.abspath(out)
    wanted = replace(wanted, against=wanted.against and os.path.abspath(wanted.against))
    sketched, inputs, counts = sketched_apart(folder, out, wanted)
    columns = columns_of(wanted.rule, against=bool(wanted.against))
    count = partitions_of(spark, wanted.parts, sketched.bytes_of(columns))
    most_grouped = wanted.most_grouped or MOST_GROUPED
    against = bool(wanted.against)
    numbered = replace(sketched, offsets=np.arange(len(sketched.files) + 1) << _ROW_BITS)
    run = Run(
        wanted.rule, wanted.canonical, wanted.bound, count, most_joined, most_grouped, against=against, by_arrival=True
    )
    with finished_in(out) as finish, plain_errors(), ExitStack() as kept, few_rows_at_once(spark):
        gone, differing = _gone(_files(spark, numbered, {}, count), numbered, count)
        if not wanted.latest:
            differing.require_none()
        files = _files(spark, numbered, gone, count)

        def read(names: Sequence[str], step: tasks.Step, schema: Any, *given: Any) -> Any:
            return mapped(files, read_files, schema, numbered, list(names), step, *given)

        documents = Documents(read, lambda labels, names: _read_at(labels, numbered, names, count))
        clusters = _with_file(found(documents, run, kept))
        every = files.withColumn("file", functions.col("number"))
        if wanted.permitted:
            clusters = keep(kept, clusters)
            verdicts = decided(clusters, numbered, wanted.rule, wanted.permitted, count, kept)
            every = every.unionByName(_with_file(verdicts), allowMissingColumns=True)
        every = clusters.unionByName(every, allowMissingColumns=True)
        dealt = every.repartition(count, "file").sortWithinPartitions("file", "owner")
        figures, counts.differing = ClusteringFigures(), differing.count
        for row in mapped(dealt, write_files, _SAID, numbered, out, wanted).collect():
            said = json.loads(row["said"])
            if "clusters" in said:
                figures.add(ClusteringFigures(**said))
            else:
                counts.add(Counts(**said))
        remove_stale(sketched, out)
        return finish(said_of(sketched, figures, wanted, counts, inputs, None))


def _files(spark: Any, sketched: Sketched, gone: dict[int, Any], count: int) -> Any:
    rows = [(number, gone.get(number, b"")) for number in range(len(sketched.files))]
    frame = spark.createDataFrame(rows, "number bigint, gone binary")
    return frame.repartition(max(1, min(len(rows), count * _TASKS)))


def _read_at(labels: Any, sketched: Sketched, columns: Sequence[str], count: int) -> Any:
    placed = labels.withColumn("file", functions.shiftright("owner", _ROW_BITS))
    sorted_rows = placed.repartition(count, "file").sortWithinPartitions("file", "owner")
    known = sketch_schema(sketched.form)
    known = arrow.schema([*known, *((name, cluster_schema().field(there).type) for name, there in OLDER.items())])
    kinds = {name: known.field(name).type for name in columns}
    schema = tasks.spark_schema(arrow.schema({"label": arrow.int64(), "owner": arrow.int64(), **kinds}))
    return mapped(sorted_rows, read_labelled, schema, sketched, list(columns))


def _gone(files: Any, sketched: Sketched, count: int) -> tuple[dict[int, bytes], Differing]:
    hashed = mapped(files, read_ids, tasks.LABELS, sketched)
    alike = functions.count("owner").over(sql.Window.partitionBy("label"))
    same = hashed.withColumn("alike", alike).where("alike > 1").drop("alike")
    suspects = _read_at(same, sketched, ["id", *TEXT_COLUMNS], count)
    later = functions.max(functions.struct("owner", *TEXT_COLUMNS)).over(sql.Window.partitionBy("id"))
    older = suspects.withColumn("later", later).where("owner < later.owner")
    column = functions.col
    differs = column("failed").isNotNull() | column("later.failed").isNotNull()
    differs |= ~column("text_digest").eqNullSafe(column("later.text_digest"))
    told = older.select("owner", "id", column("later.owner").alias("last"), differs.alias("differs")).collect()
    differing = Differing()
    for row in told:
        if row["differs"] and (row["owner"] >> _ROW_BITS) >= sketched.older:
            places = (sketched.input_of(row[name]) for name in ("owner", "last"))
            differing.add(row["id"], *places)
    owners = np.sort(np.array([row["owner"] for row in told], dtype="<i8"))
    numbers = owners >> _ROW_BITS
    gone = {number: owners[numbers == number].tobytes() for number in np.unique(numbers).tolist()}
    return gone, differing
