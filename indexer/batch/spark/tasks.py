"""The work of a task of Spark: stateless functions of Arrow batches, safe to repeat."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from indexer.batch.arrow import (
    arrow,
    column_of,
    column_of_bytes,
    column_of_names,
    column_of_strings,
    compute,
    joined_of,
    numbers_of,
    present_in,
    repeated,
    replaced,
    scalar,
)
from indexer.batch.clusters.blocking import Forest, connected, finder_blocks
from indexer.batch.clusters.grouping import clusters_of, compared, only_equal, sketches_of, whole_runs
from indexer.batch.clusters.rereading import compared_texts
from indexer.batch.clusters.stars import dealt, labels_of, large_stars, small_stars
from indexer.batch.clusters.verifying import shared, verified
from indexer.batch.clusters.writing import ClusteringFigures
from indexer.batch.form import OLDER_KEEP, Making
from indexer.batch.sketches.documents import DOCUMENTS
from indexer.batch.sketches.kernels import sketched
from indexer.clustering.canonical import CanonicalRule
from indexer.core.sketches import cluster_ids
from indexer.errors import IncompatibleStoreError, UsageError
from indexer.matching.rule import MatchRule
from indexer.model.chunking import chunks_by_size
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

BLOCKED = arrow.schema(
    [("finder", arrow.int32()), ("block", arrow.int32()), ("held", arrow.binary()), ("owners", arrow.binary())]
)
PAIRS = arrow.schema([("one", arrow.binary()), ("other", arrow.binary()), ("changed", arrow.int64())])
"""Pairs of documents, packed; and in how many of the blocks that they come from this round of stars changed them."""
DEALT = PAIRS.append(arrow.field("block", arrow.int32()))
VERIFIED = PAIRS.append(arrow.field("figures", arrow.string()))
"""Pairs, and a row of each task with the `figures` of what it compared, a JSON object."""
LABELS = arrow.schema([("owner", arrow.int64()), ("label", arrow.int64())])
TEXTS = arrow.schema([("owner", arrow.int64()), ("digest", arrow.binary())])
FOUND = arrow.schema(
    [
        ("owner", arrow.int64()),
        ("id", arrow.string()),
        ("cluster", arrow.string()),
        ("is_canonical", arrow.bool_()),
        ("similarity", arrow.float64()),
        ("size", arrow.int64()),
        ("origins", arrow.int64()),
        ("canonical", arrow.string()),
        ("before", arrow.string()),
        ("to_before", arrow.float64()),
        ("duplicate_of", arrow.string()),
        ("duplicate_similarity", arrow.float64()),
        ("stand_in", arrow.int64()),
        ("version", arrow.int64()),
        ("is_latest", arrow.bool_()),
        ("component", arrow.int64()),
        ("rank", arrow.int64()),
        ("is_read", arrow.bool_()),
        ("figures", arrow.string()),
    ]
)
"""A row for each document that is near others; one of each task with the `figures` of its clusters, a JSON object.

`duplicate_of` is what sketches would keep in its place, by its owner the `stand_in`. `is_read` says whether its text is
compared to decide on documents, null where the document is not needed for it.
"""


def sketch(batches: Iterable[Any], making: Making, written: str) -> Iterator[Any]:
    for batch in batches:
        if batch["id"].null_count:
            raise UsageError("a document has no id (null): each needs an id of its own")
        documents = arrow.RecordBatch.from_arrays(batch.columns, schema=DOCUMENTS)
        made = sketched(documents, making)
        schema = spark_schema(made.schema).append(arrow.field("form", arrow.string()))
        columns = [*spark_batch(made).columns, repeated(written, made.num_rows)]
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


def with_own_clusters(batches: Iterable[Any]) -> Iterator[Any]:
    for batch in batches:
        alone = ~present_in(batch["cluster"]) & present_in(batch["counts"])
        own = cluster_ids(joined_of(batch["id"]))
        filled = {
            "cluster": column_of_names(own, ~alone),
            "is_canonical": column_of(alone),
            "is_latest": column_of(np.ones(alone.size, dtype=np.bool_), ~alone),
            "similarity": column_of(np.ones(alone.size), ~alone),
            **dict.fromkeys(("size", "origins"), column_of(np.ones(alone.size, dtype=np.int64), ~alone)),
            "canonical": batch["id"],
        }
        counts = present_in(batch["counts"])
        names = [name for name in batch.schema.names if name not in ("counts", OLDER_KEEP)]
        columns = [compute.coalesce(batch[name], filled[name]) if name in filled else batch[name] for name in names]
        keep = compute.coalesce(batch["keep"], scalar(True))
        if OLDER_KEEP in batch.schema.names:
            keep = compute.coalesce(batch[OLDER_KEEP], keep)
        columns[names.index("keep")] = compute.and_(keep, column_of(counts))
        yield arrow.RecordBatch.from_arrays(columns, names=names)


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


def equal_texts(batches: Iterable[Any]) -> Iterator[Any]:
    for batch in batches:
        kept = batch.filter(column_of(only_equal(batch)))
        digests = compute.cast(kept["text_digest"], arrow.binary())
        yield arrow.RecordBatch.from_arrays([kept["owner"], digests], schema=TEXTS)


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
    yield from _pairs(*forest.pairs(), changed=0)


def unite(batches: Iterable[Any]) -> Iterator[Any]:
    forest = Forest()
    for batch in batches:
        forest.add(_unpacked(batch["one"]), _unpacked(batch["other"]))
    yield from _labels(*forest.labels())


def deal(batches: Iterable[Any], blocks: int) -> Iterator[Any]:
    for batch in batches:
        one, other = _unpacked(batch["one"]), _unpacked(batch["other"])
        yield from _dealt(np.concatenate((one, other)), np.concatenate((other, one)), blocks, changed=0)


def together(batches: Iterable[tuple[Positions, Positions]], blocks: int) -> Iterator[Any]:
    for some in chunks_by_size(batches, _MOST, lambda pair: pair[0].size, _MOST):
        ones, others = (np.concatenate(each) for each in zip(*some, strict=True))
        yield from _dealt(ones, others, blocks, changed=0)


def same(batches: Iterable[Any]) -> Iterator[Any]:
    for _, rows in runs(batches, ("block",)):
        numbers, owners = _unpacked(rows["one"]), _unpacked(rows["other"])
        places = replaced([numbers.view(np.uint64)])
        yield from _labels(owners[places], numbers[places])


def large_star(batches: Iterable[Any], blocks: int) -> Iterator[Any]:
    for _, rows in runs(batches, ("block",)):
        larger, smaller, others = large_stars(_unpacked(rows["one"]), _unpacked(rows["other"]))
        yield from _dealt(larger, smaller, blocks, sum(rows["changed"].to_pylist()) + others)


def small_star(batches: Iterable[Any]) -> Iterator[Any]:
    for _, rows in runs(batches, ("block",)):
        larger, smaller, others = small_stars(_unpacked(rows["one"]), _unpacked(rows["other"]))
        yield from _pairs(larger, smaller, changed=sum(rows["changed"].to_pylist()) + others)


def label(batches: Iterable[Any]) -> Iterator[Any]:
    for _, rows in runs(batches, ("block",)):
        yield from _labels(*labels_of(_unpacked(rows["one"]), _unpacked(rows["other"])))


def _pairs(one: Positions, other: Positions, changed: int) -> Iterator[Any]:
    if one.size:
        first, second = _packed(one), _packed(other)
        noted = np.zeros(len(first), dtype=np.int64)
        noted[0] = changed
        yield arrow.RecordBatch.from_arrays([first, second, column_of(noted)], schema=PAIRS)


def _dealt(one: Positions, other: Positions, blocks: int, changed: int) -> Iterator[Any]:
    for block, first, second in dealt(one, other, blocks):
        for batch in _pairs(first, second, changed):
            number = arrow.array([block] * batch.num_rows, arrow.int32())
            yield arrow.RecordBatch.from_arrays([*batch.columns, number], schema=DEALT)
        changed = 0


def _labels(owners: Positions, labels: Positions) -> Iterator[Any]:
    for start in range(0, owners.size, _TOGETHER):
        part = slice(start, start + _TOGETHER)
        yield arrow.RecordBatch.from_arrays([column_of(owners[part]), column_of(labels[part])], schema=LABELS)


def share(batches: Iterable[Any]) -> Iterator[Any]:
    for (finder, _), rows in runs(batches, ("finder", "block")):
        yield from _labels(*shared(finder, _unpacked(rows["held"]), _unpacked(rows["owners"])))


def verify(batches: Iterable[Any], rule: MatchRule) -> Iterator[Any]:
    forest, figures = Forest(), ClusteringFigures()
    for table in whole_runs(batches):
        found = verified(table, rule, 1)
        forest.add(found.one, found.other)
        figures.add(ClusteringFigures(comparisons=found.comparisons, buckets=found.buckets))
    for batch in _pairs(*forest.pairs(), changed=0):
        none = arrow.nulls(batch.num_rows, arrow.string())
        yield arrow.RecordBatch.from_arrays([*batch.columns, none], schema=VERIFIED)
    yield _said(figures, VERIFIED)


def _said(figures: ClusteringFigures, schema: Any) -> Any:
    nothing = [arrow.nulls(1, field.type) for field in schema][:-1]
    return arrow.RecordBatch.from_arrays([*nothing, column_of_strings([json.dumps(figures.said())])], schema=schema)


def group(
    batches: Iterable[Any],
    rule: MatchRule,
    canonical: CanonicalRule,
    radius: float | None,
    *,
    against: bool,
    by_arrival: bool,
    equal: bool = False,
) -> Iterator[Any]:
    """The clusters of documents, in FOUND; they come with their `owner` and sorted by `label`, their component.

    With `equal` those of equal texts.
    """
    figures = ClusteringFigures()
    for table in whole_runs(batches):
        rows = np.arange(table.num_rows)
        owners = table["owner"].combine_chunks()
        arrivals = numbers_of(owners) if by_arrival else None
        given = table.drop_columns(["owner", "label"])
        found = clusters_of(given, rows, rule, canonical, radius, 1, arrivals=arrivals, equal=equal)
        figures.add(ClusteringFigures.of(found))
        members = column_of(found.positions)
        stand_in = numbers_of(owners)[found.stand_in]
        judged, read = compared_texts(found.positions, found.stand_in, found.identical)
        names = [column_of_strings(each).take(column_of(found.of)) for each in (found.ids, found.names, found.before)]
        names = [each.cast(arrow.string()) for each in names]
        columns = [
            owners.take(members),
            table["id"].combine_chunks().take(members),
            names[0],
            column_of(found.canonical),
            column_of(found.similarity),
            *(column_of(np.array(each, dtype=np.int64)[found.of]) for each in (found.sizes, found.origins)),
            names[1],
            names[2] if against else arrow.nulls(len(members), arrow.string()),
            column_of(found.to_before, np.isnan(found.to_before)),
            column_of_strings([None, *found.kept]).take(column_of(found.repeats + 1)).cast(arrow.string()),
            column_of(found.to_kept, np.isnan(found.to_kept)),
            column_of(stand_in, found.stand_in < 0),
            column_of(found.version, found.version == 0),
            column_of(found.latest),
            column_of(numbers_of(owners)[found.component]),
            column_of(found.ranks),
            column_of(read, ~judged),
            arrow.nulls(len(members), arrow.string()),
        ]
        yield arrow.RecordBatch.from_arrays(columns, schema=FOUND)
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
