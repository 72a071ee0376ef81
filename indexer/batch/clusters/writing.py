"""Clusters as the rows of files, and the figures of all together."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from indexer.batch.arrow import (
    arrow,
    column_of,
    column_of_names,
    column_of_strings,
    compute,
    joined_of,
    numbers_of,
    scalar,
)
from indexer.batch.clusters.grouping import GroupedClusters
from indexer.batch.clusters.judging import VERDICTS
from indexer.batch.form import Form, cluster_schema, read_footer, writer, written_footer
from indexer.batch.reading import CLUSTERS, batches_of, older_clusters
from indexer.batch.sketches.inputs import SKETCHES
from indexer.core.sketches import cluster_ids
from indexer.model import CLUSTER_ID_LENGTH, own_files
from indexer.schemes.base import Positions

_SHOWN = 10
# Not by arrow.scalar(), which imports pandas.
_NO_SIMILARITY: Any = column_of(np.zeros(1), np.ones(1, dtype=np.bool_))[0]
JUDGED = tuple(field.name for field in VERDICTS if field.name not in ("owner", "id"))
DECIDED = (*JUDGED, "near_to", "near_similarity")


@dataclass(slots=True)
class ClusteringFigures:
    """The figures of the clusters of some partitions: see `indexer.batch.clusters.grouping.Clusters`.

    The distribution over partitions changes only the comparisons per bucket and component.
    """

    clusters: int = 0
    clustered: int = 0
    largest: int = 0
    split: int = 0
    unordered: int = 0
    comparisons: int = 0
    buckets: list[dict[str, Any]] = field(default_factory=list)
    components: list[dict[str, Any]] = field(default_factory=list)

    @classmethod
    def of(cls, found: GroupedClusters) -> ClusteringFigures:
        sizes = [size for size in found.sizes if size > 1]
        return cls(
            len(sizes), sum(sizes), max(sizes, default=0), found.split, found.unordered, found.comparisons,
            found.buckets, found.components,
        )  # fmt: skip

    def add(self, other: ClusteringFigures) -> None:
        self.clusters += other.clusters
        self.clustered += other.clustered
        self.largest = max(self.largest, other.largest)
        self.split += other.split
        self.unordered += other.unordered
        self.comparisons += other.comparisons
        buckets, components = _whole([*self.buckets, *other.buckets]), [*self.components, *other.components]
        self.buckets = sorted(buckets, key=lambda one: (-one["nodes"], one["digest"], one["scheme"]))[:_SHOWN]
        self.components = sorted(components, key=lambda one: (-one["documents"], one["digest"]))[:_SHOWN]

    def said(self) -> dict[str, Any]:
        return asdict(self)

    def shown(self) -> dict[str, Any]:
        said = self.said()
        for name in ("buckets", "components"):
            said[name] = [
                {key: value for key, value in one.items() if key not in ("digest", "key")} for one in said[name]
            ]
        return said


def _whole(buckets: Sequence[dict[str, Any]]) -> Iterable[dict[str, Any]]:
    by_key: dict[tuple[str, int], dict[str, Any]] = {}
    for one in sorted(buckets, key=lambda one: -one["nodes"]):
        known = by_key.setdefault((one["scheme"], one["key"]), {**one, "comparisons": 0})
        known["comparisons"] += one["comparisons"]
    return by_key.values()


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


@dataclass(slots=True)
class FoundClusters:
    """The clusters of documents in a row: document i is in number `of[i]` of them, -1 if alone.

    Sketches alone would remove it for number `repeats[i]` of `kept`, at `stand_in[i]`, or keep it (-1). `identical`,
    `version`, `latest`, `component` and `ranks` are as in `GroupedClusters`.
    """

    of: Positions
    similarity: npt.NDArray[np.float64]
    canonical: npt.NDArray[np.bool_]
    to_before: npt.NDArray[np.float64]
    repeats: Positions
    to_kept: npt.NDArray[np.float64]
    stand_in: Positions
    identical: npt.NDArray[np.bool_]
    version: Positions
    latest: npt.NDArray[np.bool_]
    component: Positions
    ranks: Positions
    ids: list[str] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    origins: list[int] = field(default_factory=list)
    before: list[str | None] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)

    @classmethod
    def alone(cls, count: int) -> FoundClusters:
        none, nowhere = np.full(count, -1, dtype=np.int64), np.full(count, np.nan)
        return cls(
            none, np.ones(count), np.ones(count, dtype=np.bool_), nowhere, none.copy(), nowhere.copy(), none.copy(),
            np.zeros(count, dtype=np.bool_), np.zeros(count, dtype=np.int64), np.ones(count, dtype=np.bool_),
            none.copy(), none.copy(),
        )  # fmt: skip

    def add(self, clusters: GroupedClusters) -> None:
        places = clusters.positions
        self.of[places] = clusters.of + len(self.ids)
        self.similarity[places] = clusters.similarity
        self.canonical[places] = clusters.canonical
        self.to_before[places] = clusters.to_before
        self.repeats[places] = np.where(clusters.repeats < 0, -1, clusters.repeats + len(self.kept))
        self.to_kept[places] = clusters.to_kept
        self.stand_in[places], self.identical[places] = clusters.stand_in, clusters.identical
        self.version[places], self.latest[places] = clusters.version, clusters.latest
        self.component[places], self.ranks[places] = clusters.component, clusters.ranks
        self.before += clusters.before
        self.ids += clusters.ids
        self.names += clusters.names
        self.sizes += clusters.sizes
        self.origins += clusters.origins
        self.kept += clusters.kept

    def part(self, start: int, stop: int) -> FoundClusters:
        inside = slice(start, stop)
        return FoundClusters(
            self.of[inside], self.similarity[inside], self.canonical[inside], self.to_before[inside],
            self.repeats[inside], self.to_kept[inside], self.stand_in[inside], self.identical[inside],
            self.version[inside], self.latest[inside], self.component[inside], self.ranks[inside], self.ids, self.names,
            self.sizes, self.origins, self.before, self.kept,
        )  # fmt: skip


class ClusterRows:
    """The rows of files of clusters, for documents by their places among those clustered.

    A later document counts in place of each `gone` one. With `against` columns tell the repeats of older documents by
    new ones. Documents of an older batch repeat nothing and keep their earlier decision. Repeats are kept unless the
    `verdicts` (see VERDICTS; their owners are places in order) or `by_sketch` remove them.
    """

    def __init__(
        self, found: FoundClusters, gone: npt.NDArray[np.bool_], *, against: bool, by_sketch: bool, verdicts: Any = None
    ) -> None:
        self.schema = cluster_schema(against=against)
        self.verdicts, self._by_sketch = verdicts, by_sketch
        self._found, self._gone = found, gone
        # One more before the first, for those that are alone.
        self._sizes = np.array([1, *found.sizes], dtype=np.int64)
        self._origins = np.array([1, *found.origins], dtype=np.int64)
        self._ids = np.array([b"", *(name.encode() for name in found.ids)], dtype=f"S{CLUSTER_ID_LENGTH}")
        self._names = column_of_strings([None, *found.names])
        self._kept = column_of_strings([None, *found.kept])
        self._before = column_of_strings([None, *found.before]) if against else None

    def of(self, place: int, batch: Any, older: Any = None) -> Any:
        part = slice(place, place + batch.num_rows)
        found, gone = self._found.part(part.start, part.stop), self._gone[part]
        number = found.of + 1
        alone = number == 0
        own = np.where(alone, cluster_ids(joined_of(batch["id"])), self._ids[number])
        taken = column_of(number)
        near = {
            "near_to": self._kept.take(column_of(found.repeats + 1)).cast(arrow.string()),
            "near_similarity": column_of(found.to_kept, np.isnan(found.to_kept)),
        }
        decided = self._decided(part, found, near) | near
        if older is not None:
            # What was kept then may be near another one of these, and what was not is near what it was.
            decided = {name: older[name] for name in JUDGED}
            decided |= {name: compute.coalesce(column, older[name]) for name, column in near.items()}
        columns = [
            batch["id"],
            batch["row"],
            column_of_names(own, gone),
            column_of(found.canonical & ~gone),
            compute.and_(decided["keep"], column_of(~gone)),
            column_of(found.similarity, gone),
            column_of(self._sizes[number], gone),
            column_of(self._origins[number], gone),
            compute.if_else(column_of(alone), batch["id"], self._names.take(taken).cast(arrow.string())),
            compute.if_else(column_of(gone), batch["id"], decided["duplicate_of"]),
            compute.if_else(column_of(gone), _NO_SIMILARITY, decided["duplicate_similarity"]),
            *(decided[name] for name in ("near_to", "near_similarity", "relation", "evidence", "lost", "stays_for")),
            column_of(found.version, gone | (found.version == 0)),
            column_of(found.latest, gone),
        ]
        if self._before is not None:
            is_older = np.full(batch.num_rows, older is not None)
            repeats = self._before.take(taken).cast(arrow.string())
            columns += [
                compute.if_else(column_of(is_older), scalar(None), repeats),
                column_of(found.to_before, is_older | np.isnan(found.to_before)),
            ]
        return arrow.RecordBatch.from_arrays(columns, schema=self.schema)

    def _decided(self, part: slice, found: FoundClusters, near: Mapping[str, Any]) -> dict[str, Any]:
        count = found.repeats.size
        decided = {name: arrow.nulls(count, VERDICTS.field(name).type) for name in JUDGED}
        if self._by_sketch:
            decided["keep"] = column_of(found.repeats < 0)
            decided["duplicate_of"], decided["duplicate_similarity"] = near["near_to"], near["near_similarity"]
            return decided
        decided["keep"] = column_of(np.ones(count, dtype=np.bool_))
        if self.verdicts is not None and self.verdicts.num_rows:
            owners = numbers_of(self.verdicts["owner"].combine_chunks())
            start, end = np.searchsorted(owners, (part.start, part.stop)).tolist()
            row = np.full(count, -1, dtype=np.int64)
            row[owners[start:end] - part.start] = np.arange(start, end)
            taken = self.verdicts.take(column_of(np.maximum(row, 0), row < 0)).combine_chunks()
            decided = {name: taken[name].combine_chunks() for name in JUDGED}
            decided["keep"] = compute.coalesce(decided["keep"], scalar(True))
        return decided


def write_clusters(
    path: Path,
    target: Path,
    rows: ClusterRows,
    form: Form,
    more: Mapping[str, Any],
    *,
    place: int,
    is_older: bool = False,
) -> Counts:
    """Write the clusters of a file of sketches to `target`, complete or not at all.

    Raises StoreError.
    """
    known = read_footer(os.fspath(path), SKETCHES)
    copied = {name: known[name] for name in ("input", "state", "together", "read")}
    footer = written_footer(CLUSTERS, form, {**more, **copied, **_not_compared(path)})
    target.parent.mkdir(parents=True, exist_ok=True)
    counts, older = Counts(), older_clusters(path, DECIDED) if is_older else None
    with own_files.written_whole(target) as file, writer(file, rows.schema, footer) as clusters:
        for start, batch in batches_of(path, place, ["id", "row"]):
            decided = older.slice(start - place, batch.num_rows).combine_chunks().to_batches() if older else []
            made = rows.of(start, batch, *decided)
            clusters.write_batch(made)
            if not is_older:
                there = made["cluster"].is_valid()
                total = compute.sum(there).as_py() or 0
                kept = compute.sum(made["keep"]).as_py() or 0
                counts.kept += kept
                counts.removed += total - kept
                gone = made.filter(compute.and_(there, compute.invert(made["keep"])))
                counts.lost += compute.sum(gone["lost"]).as_py() or 0
                counts.add(Counts(relations=_counted(gone["relation"]), stays=_counted(made["stays_for"])))
                if "repeats" in made.schema.names:
                    repeating = compute.sum(compute.and_(there, made["repeats"].is_valid())).as_py() or 0
                    counts.repeating += repeating
                    counts.new += total - repeating
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
