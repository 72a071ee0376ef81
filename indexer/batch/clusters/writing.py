"""Clusters as the rows of files, and the figures of all together."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from indexer.batch.arrow import (
    arrow,
    column_of,
    column_of_names,
    compute,
    joined_of,
    numbers_of,
    scalar,
)
from indexer.batch.clusters.judging import VERDICTS
from indexer.batch.form import Form, cluster_schema, read_footer, writer, written_footer
from indexer.batch.reading import CLUSTERS, batches_of, older_clusters
from indexer.batch.sketches.inputs import SKETCHES
from indexer.core.sketches import cluster_ids
from indexer.model import own_files

# Not by arrow.scalar(), which imports pandas.
_NO_SIMILARITY: Any = column_of(np.zeros(1), np.ones(1, dtype=np.bool_))[0]
JUDGED = tuple(field.name for field in VERDICTS if field.name not in ("owner", "id"))
DECIDED = (*JUDGED, "near_to", "near_similarity")


@dataclass(slots=True)
class Counts:
    """Counts of documents; `neardup.library.batch_outcomes.BatchClustered` explains them.

    `lost` and `relations` are of the removed ones, `stays` of those near a kept one and kept themselves.
    """

    replaced: int = 0
    differing: int = 0
    without_field: int = 0
    compared: int = 0
    new: int = 0
    repeating: int = 0
    kept: int = 0
    removed: int = 0
    lost: int = 0
    relations: dict[str, int] = field(default_factory=dict)
    stays: dict[str, int] = field(default_factory=dict)

    def add(self, other: Counts) -> None:
        for name, value in asdict(other).items():
            known = getattr(self, name)
            setattr(self, name, dict(Counter(known) + Counter(value)) if isinstance(value, dict) else known + value)


RowsBetween = Callable[[int, int], Any]
"""Gives the rows of owners from one number up to another one, sorted."""


def cluster_rows(
    documents: Any,
    found: Any,
    verdicts: Any,
    gone: npt.NDArray[np.bool_],
    is_older: npt.NDArray[np.bool_] | None = None,
    before: Mapping[str, Any] = MappingProxyType({}),
) -> dict[str, Any]:
    """The columns of files of clusters for some documents, by the rows of FOUND and of VERDICTS beside each, or nulls.

    A later document counts in place of each `gone` one. Without verdicts sketches alone decide. With `is_older` columns
    tell the repeats of older documents by new ones; what was decided `before` of older ones stays.
    """
    ids, there, is_gone = documents["id"], column_of(~gone), column_of(gone)
    ones = np.ones(gone.size, dtype=np.int64)
    near = {name: found[name] for name in ("near_to", "near_similarity")}
    if verdicts is None:
        decided: dict[str, Any] = {name: arrow.nulls(gone.size, VERDICTS.field(name).type) for name in JUDGED}
        decided["keep"] = near["near_to"].is_null()
        decided |= {"duplicate_of": near["near_to"], "duplicate_similarity": near["near_similarity"]}
    else:
        decided = {name: verdicts[name] for name in JUDGED}
        decided["keep"] = compute.coalesce(decided["keep"], scalar(True))
    older = None if is_older is None else column_of(is_older)
    for name, column in before.items():
        # What was kept then may be near another one of these, and what was not is near what it was.
        if name in near:
            near[name] = compute.coalesce(near[name], column)
        else:
            decided[name] = compute.if_else(older, column, decided[name])
    alone = {
        "cluster": column_of_names(cluster_ids(joined_of(ids)), gone),
        "is_canonical": there,
        "similarity": column_of(ones.astype(np.float64), gone),
        **dict.fromkeys(("size", "origins"), column_of(ones, gone)),
        "canonical": ids,
        "is_latest": column_of(ones > 0, gone),
    }
    columns = {name: documents[name] for name in ("id", "row") if name in documents.schema.names}
    columns |= {"version": found["version"], **decided, **near}
    columns |= {name: compute.coalesce(found[name], own) for name, own in alone.items()}
    columns["keep"] = compute.and_(decided["keep"], there)
    # What stands for a document of this id is another of the same.
    columns["duplicate_of"] = compute.if_else(is_gone, ids, decided["duplicate_of"])
    columns["duplicate_similarity"] = compute.if_else(is_gone, _NO_SIMILARITY, decided["duplicate_similarity"])
    if older is not None:
        columns["repeats"] = compute.if_else(older, scalar(None), found["before"])
        columns["repeats_similarity"] = compute.if_else(older, _NO_SIMILARITY, found["to_before"])
    return columns


def rows_beside(rows: Any, first: int, count: int) -> Any:
    """The rows of owners from `first` on, sorted, each at its place among so many documents; nulls beside others."""
    place, at = np.full(count, -1, dtype=np.int64), numbers_of(rows["owner"].combine_chunks()) - first
    place[at] = np.arange(at.size)
    if not at.size:
        nothing = [arrow.nulls(count, each.type) for each in rows.schema]
        return arrow.RecordBatch.from_arrays(nothing, schema=rows.schema)
    return rows.take(column_of(np.maximum(place, 0), place < 0)).combine_chunks().to_batches()[0]


@dataclass(frozen=True, slots=True)
class RowsBeside:
    """The rows of FOUND and VERDICTS for the documents of a file of sketches, whose owners are counted from `first` on.

    `gone` are those replaced by later ones; without verdicts sketches alone decide.
    """

    first: int
    found: RowsBetween
    verdicts: RowsBetween | None
    gone: npt.NDArray[np.bool_]
    is_older: bool


def write_clusters(
    path: Path, target: Path, form: Form, more: Mapping[str, Any], rows: RowsBeside, *, against: bool
) -> Counts:
    """Write the clusters of a file of sketches to `target`, complete or not at all. Raises StoreError."""
    known = read_footer(os.fspath(path), SKETCHES)
    copied = {name: known[name] for name in ("input", "state", "together", "read")}
    schema = cluster_schema(against=against)
    footer = written_footer(CLUSTERS, form, {**more, **copied, **_not_compared(path)})
    target.parent.mkdir(parents=True, exist_ok=True)
    counts = Counts(replaced=int(np.count_nonzero(rows.gone)))
    older = older_clusters(path, DECIDED) if rows.is_older else None
    with own_files.written_whole(target) as file, writer(file, schema, footer) as clusters:
        for start, batch in batches_of(path, 0, ["id", "row"]):
            count, before = batch.num_rows, {}
            first = rows.first + start
            if older is not None:
                decided = older.slice(start, count).combine_chunks()
                before = {name: decided[name].combine_chunks() for name in DECIDED}
            found = rows_beside(rows.found(first, first + count), first, count)
            verdicts = rows.verdicts and rows_beside(rows.verdicts(first, first + count), first, count)
            is_older = np.full(count, rows.is_older) if against else None
            columns = cluster_rows(batch, found, verdicts, rows.gone[start : start + count], is_older, before)
            made = arrow.RecordBatch.from_arrays([columns[name] for name in schema.names], schema=schema)
            clusters.write_batch(made)
            if older is None:
                there = made["cluster"].is_valid()
                total = compute.sum(there).as_py() or 0
                kept = compute.sum(made["keep"]).as_py() or 0
                left = made.filter(compute.and_(there, compute.invert(made["keep"])))
                lost = compute.sum(left["lost"]).as_py() or 0
                counts.add(Counts(kept=kept, removed=total - kept, lost=lost))
                counts.add(Counts(relations=_counted(left["relation"]), stays=_counted(made["stays_for"])))
                if against:
                    repeating = compute.sum(compute.and_(there, made["repeats"].is_valid())).as_py() or 0
                    counts.add(Counts(repeating=repeating, new=total - repeating))
    return counts


def _not_compared(path: Path) -> dict[str, int]:
    """The numbers of documents of a file of sketches that are too short to be compared, and that have no words."""
    short = empty = 0
    for _, batch in batches_of(path, 0, ["short", "tokens", "failed"]):
        short += compute.sum(batch["short"]).as_py() or 0
        empty += compute.sum(compute.and_(compute.equal(batch["tokens"], 0), batch["failed"].is_null())).as_py() or 0
    return {"short": short, "empty": empty}


def _counted(column: Any) -> dict[str, int]:
    return {each["values"]: each["counts"] for each in compute.value_counts(column.drop_null()).to_pylist()}
