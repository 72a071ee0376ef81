"""Decide on documents of clusters by their texts, in tasks of Spark.

A task reads the texts of a file; they travel compressed to the tasks that judge them component by component. The known
words come to this process first, and go to all of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from indexer.batch.arrow import arrow, column_of, column_of_bytes, schema_of
from indexer.batch.clusters.deciding import near_in_file
from indexer.batch.clusters.judging import VERDICTS, in_blocks, lexicon_of, near_documents, near_rows, near_schema
from indexer.batch.reading import Sketched
from indexer.batch.spark import tasks
from indexer.batch.spark.components import Kept
from indexer.batch.spark.session import functions, mapped
from indexer.batch.texts import text_workers
from indexer.clustering.verdicts import Permitted
from indexer.core.text import text_digest
from indexer.errors import ExtractionError
from indexer.matching.rule import MatchRule
from indexer.model.ragged import Ragged
from indexer.relations.lexicon import Hashes, Lexicon, known_words

_WORDS = schema_of("block int64, words binary, counts binary")
# The block of a row that has no words but the number of components that a task saw.
_COMPONENTS = -1
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


def read_near(batches: Iterable[Any], sketched: Sketched, row_bits: int, rule: MatchRule) -> Iterator[Any]:
    with text_workers(1, sketched.form.options) as workers:
        for (number,), rows in tasks.runs(batches, ("file",)):
            path, stays = sketched.files[number], number < sketched.older
            yield from near_in_file(path, rows, number << row_bits, rule, workers, stays=stays)


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
    components = 0
    with near_documents(batches, rule) as given:
        for count, some in in_blocks(given.words(), _WORDS_AT_ONCE):
            components += count
            for number, inside in some:
                yield _packed(number, inside, np.empty(0, dtype=np.int64))
    yield _packed(_COMPONENTS, np.empty(0, dtype=np.uint64), np.array([components]))


def count_words(batches: Iterable[Any]) -> Iterator[Any]:
    for (block,), rows in tasks.runs(batches, ("block",)):
        if block == _COMPONENTS:
            yield from rows.to_batches()
            continue
        words = np.frombuffer(b"".join(rows["words"].to_pylist()), dtype=np.uint64)
        yield _packed(block, *known_words(words))


def judge(batches: Iterable[Any], rule: MatchRule, permitted: Permitted, lexicon: Lexicon) -> Iterator[Any]:
    with near_documents(batches, rule) as given:
        yield from given.verdicts(permitted, lexicon)


def _packed(block: int, words: Hashes, counts: Any) -> Any:
    packed = [column_of_bytes(Ragged.of_bytes([np.ascontiguousarray(each).tobytes()])) for each in (words, counts)]
    return arrow.RecordBatch.from_arrays([column_of(np.array([block])), *packed], schema=_WORDS)


def decided(
    clusters: Any, sketched: Sketched, row_bits: int, rule: MatchRule, permitted: Permitted, count: int, kept: Kept
) -> Any:
    asked = clusters.where("is_read is not null").repartition(count, "file").sortWithinPartitions("file", "owner")
    texts = mapped(asked, read_near, near_schema(rule), sketched, row_bits, rule)
    return judged(kept.keep(by_component(texts, count)), rule, permitted, count)


def judged(near: Any, rule: MatchRule, permitted: Permitted, count: int) -> Any:
    return mapped(near, judge, VERDICTS, rule, permitted, lexicon(near, rule, count))


def by_component(near: Any, count: int) -> Any:
    return near.repartition(count, "component").sortWithinPartitions("component", "rank")


def lexicon(near: Any, rule: MatchRule, count: int) -> Lexicon:
    words = mapped(near, words_in, _WORDS, rule)
    counted = mapped(words.repartition(count, "block").sortWithinPartitions("block"), count_words, _WORDS).collect()
    components = sum(
        int(np.frombuffer(row["counts"], dtype=np.int64)[0]) for row in counted if row["block"] == _COMPONENTS
    )
    known = (
        (np.frombuffer(row["words"], dtype=np.uint64), np.frombuffer(row["counts"], dtype=np.int64))
        for row in counted
        if row["block"] != _COMPONENTS
    )
    return lexicon_of(known, components)


def with_file(clusters: Any, row_bits: int) -> Any:
    number = functions.when(functions.col("owner").isNull(), -1)
    return clusters.withColumn("file", number.otherwise(functions.shiftright("owner", row_bits)))
