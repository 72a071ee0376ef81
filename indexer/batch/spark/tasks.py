"""The work of a task of Spark: stateless functions of Arrow batches, safe to repeat."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict
from itertools import pairwise
from typing import Any

import numpy as np

from indexer.batch.arrow import (
    arrow,
    column_of,
    column_of_bytes,
    column_of_strings,
    compute,
    flags_of,
    numbers_of,
    present_in,
    schema_of,
)
from indexer.batch.clusters.blocking import Forest, connected, finder_blocks, shared, verified
from indexer.batch.clusters.clustering import cluster_rows
from indexer.batch.clusters.grouping import FOUND as FOUND_ROWS
from indexer.batch.clusters.grouping import (
    ClusteringFigures,
    clusters_of,
    compared,
    equal_keys,
    sketches_of,
    whole_runs,
)
from indexer.batch.form import OLDER_KEEP, Making
from indexer.batch.sketches.kernels import DOCUMENTS, sketched
from indexer.clustering.canonical import CanonicalRule
from indexer.errors import IncompatibleStoreError, UsageError
from indexer.matching.rule import MatchRule
from indexer.model.ragged import Ragged
from indexer.schemes.base import Positions

Step = Callable[..., Iterator[Any]]
Blocking = Callable[..., Iterator[tuple[int, Positions, Positions]]]

# Spark hands ten thousand rows at once to a task, however large: as many of these still fit a column of Arrow.
_PACKED = 1024
# Values that are gathered before they are sent to their blocks, at least and at most.
_LEAST, _MOST = 1 << 18, 1 << 23
# Rows of numbers that are handed over at once.
_TOGETHER = 1 << 16

BLOCKED = schema_of("finder int32, block int32, held binary, owners binary")
PAIRS = schema_of("one int64, other int64")
VERIFIED = PAIRS.append(arrow.field("figures", arrow.string()))
"""Pairs, and a row of each task with the `figures` of what it compared, a JSON object."""
LABELS = schema_of("owner int64, label int64")
EQUAL = schema_of("owner int64, key binary")
FOUND = FOUND_ROWS.append(arrow.field("figures", arrow.string()))
"""Documents near others, and a row of each task with the `figures` of its clusters, a JSON object."""


def sketch(batches: Iterable[Any], making: Making, written: str) -> Iterator[Any]:
    for batch in batches:
        if batch["id"].null_count:
            raise UsageError("a document has no id (null): each needs an id of its own")
        documents = arrow.RecordBatch.from_arrays(batch.columns, schema=DOCUMENTS)
        made = sketched(documents, making)
        schema = spark_schema(made.schema).append(arrow.field("form", arrow.string()))
        columns = [*spark_batch(made).columns, arrow.repeat(written, made.num_rows)]
        yield arrow.RecordBatch.from_arrays(columns, schema=schema)


def spark_schema(schema: Any) -> Any:
    fixed = arrow.types.is_fixed_size_binary
    return arrow.schema([(one.name, arrow.binary() if fixed(one.type) else one.type) for one in schema])


def spark_batch(batch: Any) -> Any:
    schema = spark_schema(batch.schema)
    columns = [column.cast(field.type) for column, field in zip(batch.columns, schema, strict=True)]
    return arrow.RecordBatch.from_arrays(columns, schema=schema)


def checked(batches: Iterable[Any], written: str, step: Step, *given: Any) -> Iterator[Any]:
    def passed() -> Iterator[Any]:
        for batch in batches:
            if set(compute.unique(batch["form"]).to_pylist()) - {written}:
                raise IncompatibleStoreError(
                    "the sketches are of several forms (schemes, least number of words, versions), and can't be "
                    "compared: sketch all documents in one way"
                )
            yield batch

    return step(passed(), *given)


def rows_of_clusters(batches: Iterable[Any], schema: Any, *, by_sketch: bool) -> Iterator[Any]:
    """The columns of files of clusters for documents with their rows of FOUND and VERDICTS beside them.

    `counts` is null for one replaced by another one; the columns `older` and OLDER_KEEP may be there.
    """
    for batch in batches:
        is_older, before, more = None, {}, {}
        if "older" in schema.names:
            is_older, more = flags_of(batch["older"]), {"older": batch["older"]}
            before = {"keep": compute.coalesce(batch[OLDER_KEEP], True)}
        gone = ~present_in(batch["counts"])
        # The rows are those of its id, so also beside a replaced document.
        own = ("id", "owner", "older", OLDER_KEEP)
        beside = {
            name: column if name in own else compute.if_else(column_of(gone), arrow.nulls(1, column.type)[0], column)
            for name, column in zip(batch.schema.names, batch.columns, strict=True)
        }
        known = arrow.RecordBatch.from_arrays(list(beside.values()), names=list(beside))
        columns = cluster_rows(known, known, None if by_sketch else known, gone, is_older, before) | more
        yield arrow.RecordBatch.from_arrays([columns[name] for name in schema.names], schema=schema)


def block_values(
    batches: Iterable[Any], rule: MatchRule, blocks: int, blocking: Blocking = finder_blocks
) -> Iterator[Any]:
    enough = min(max(_LEAST, blocks * _PACKED), _MOST)
    waiting: dict[tuple[int, int], list[tuple[Positions, Positions]]] = {}
    count = 0
    for batch in batches:
        inside = compared(batch, rule)
        kept = batch.filter(column_of(inside))
        owners, found = numbers_of(kept["owner"]), sketches_of(kept, rule)
        for place, finder in enumerate(rule.finders):
            for block, held, holders in blocking(finder, found[finder.name], owners, blocks):
                waiting.setdefault((place, block), []).append((held, holders))
                count += held.size
        if count > enough:
            yield from _sent(waiting)
            waiting, count = {}, 0
    yield from _sent(waiting)


def equal_documents(batches: Iterable[Any]) -> Iterator[Any]:
    for batch in batches:
        made = arrow.RecordBatch.from_arrays([batch["owner"], equal_keys(batch)], schema=EQUAL)
        yield made.filter(made["key"].is_valid())


def _sent(waiting: dict[tuple[int, int], list[tuple[Positions, Positions]]]) -> Iterator[Any]:
    for (finder, block), parts in waiting.items():
        held, owners = (_packed(np.concatenate(each)) for each in zip(*parts, strict=True))
        count = len(held)
        numbers = [arrow.array([value] * count, arrow.int32()) for value in (finder, block)]
        yield arrow.RecordBatch.from_arrays([*numbers, held, owners], schema=BLOCKED)


def _packed(values: Positions) -> Any:
    ends = np.append(np.arange(0, values.size, _PACKED), values.size) * 8
    return column_of_bytes(Ragged(np.ascontiguousarray(values, dtype="<i8").view(np.uint8), ends))


def _unpacked(rows: Iterable[Any]) -> Positions:
    return np.frombuffer(b"".join(row.as_py() for row in rows), dtype="<i8").astype(np.int64)


def connect(batches: Iterable[Any], rule: MatchRule) -> Iterator[Any]:
    forest = Forest()
    for (finder, _), rows in runs(batches, ("finder", "block")):
        held, owners = _unpacked(rows["held"]), _unpacked(rows["owners"])
        for left, right in connected(rule.finders[finder], held, owners):
            forest.add(left, right)
    yield from numbers(PAIRS, *forest.pairs())


def unite(batches: Iterable[Any]) -> Iterator[Any]:
    forest = Forest()
    for batch in batches:
        forest.add(numbers_of(batch["one"]), numbers_of(batch["other"]))
    yield from numbers(LABELS, *forest.labels())


def numbers(schema: Any, *columns: Positions) -> Iterator[Any]:
    for start in range(0, columns[0].size, _TOGETHER):
        some = [column_of(each[start : start + _TOGETHER]) for each in columns]
        yield arrow.RecordBatch.from_arrays(some, schema=schema)


def share(batches: Iterable[Any]) -> Iterator[Any]:
    for (finder, _), rows in runs(batches, ("finder", "block")):
        yield from numbers(LABELS, *shared(finder, _unpacked(rows["held"]), _unpacked(rows["owners"])))


def verify(batches: Iterable[Any], rule: MatchRule) -> Iterator[Any]:
    forest, figures = Forest(), ClusteringFigures()
    for table in whole_runs(batches):
        forest.add(*verified(table, rule, figures, 1))
    for batch in numbers(PAIRS, *forest.pairs()):
        none = arrow.nulls(batch.num_rows, arrow.string())
        yield arrow.RecordBatch.from_arrays([*batch.columns, none], schema=VERIFIED)
    yield _said(figures, VERIFIED)


def _said(figures: ClusteringFigures, schema: Any) -> Any:
    nothing = [arrow.nulls(1, field.type) for field in schema][:-1]
    return arrow.RecordBatch.from_arrays([*nothing, column_of_strings([json.dumps(asdict(figures))])], schema=schema)


def group(
    batches: Iterable[Any],
    rule: MatchRule,
    canonical: CanonicalRule,
    radius: float | None,
    *,
    by_arrival: bool,
    equal: bool = False,
) -> Iterator[Any]:
    """The clusters of documents, in FOUND; they come with their `owner` and sorted by `label`, their component.

    With `equal` those of equal ones.
    """
    figures = ClusteringFigures()
    for table in whole_runs(batches):
        owners = numbers_of(table["owner"])
        given = table.drop_columns(["owner"])
        found, more = clusters_of(given, owners, rule, canonical, radius, 1, by_arrival=by_arrival, equal=equal)
        figures.add(more)
        yield arrow.RecordBatch.from_arrays([*found.columns, arrow.nulls(len(found), arrow.string())], schema=FOUND)
    yield _said(figures, FOUND)


def runs(batches: Iterable[Any], names: tuple[str, ...]) -> Iterator[tuple[tuple[int, ...], Any]]:
    waiting: list[Any] = []
    last: tuple[int, ...] | None = None
    for batch in batches:
        if not batch.num_rows:
            continue
        numbers = np.column_stack([numbers_of(compute.cast(batch[name], arrow.int64())) for name in names])
        fresh = np.flatnonzero(np.any(numbers[1:] != numbers[:-1], axis=1)) + 1
        bounds = [0, *fresh.tolist(), batch.num_rows]
        for start, end in pairwise(bounds):
            run = tuple(numbers[start].tolist())
            if last is not None and run != last:
                yield last, arrow.Table.from_batches(waiting)
                waiting = []
            waiting.append(batch.slice(start, end - start))
            last = run
    if last is not None:
        yield last, arrow.Table.from_batches(waiting)
