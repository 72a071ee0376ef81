"""Clusters that were found, as the rows of files, and what is said of all of them together."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from indexer import own_files
from indexer.batch.arrow import (
    arrow,
    column_of,
    column_of_names,
    column_of_strings,
    compute,
    joined_of,
    scalar,
)
from indexer.batch.clusters.grouping import Clusters
from indexer.batch.form import Form, cluster_schema, read_footer, writer, written_footer
from indexer.batch.reading import CLUSTERS, batches_of
from indexer.batch.sketches.inputs import SKETCHES
from indexer.core_sketch import cluster_ids
from indexer.model import CLUSTER_ID_LENGTH
from indexer.schemes.base import Positions

_SHOWN = 10
# A similarity is written to four decimal places.
_ROUNDED = 5e-5


@dataclass(slots=True)
class Figures:
    """What was found in some partitions: see `indexer.batch.clusters.grouping.Clusters`.

    How documents are dealt to partitions changes nothing but the comparisons that a bucket or a component took.
    """

    clusters: int = 0
    clustered: int = 0
    largest: int = 0
    split: int = 0
    comparisons: int = 0
    buckets: list[dict[str, Any]] = field(default_factory=list)
    components: list[dict[str, Any]] = field(default_factory=list)

    @classmethod
    def of(cls, found: Clusters) -> Figures:
        """Those of one partition."""
        sizes = found.sizes
        return cls(
            len(sizes), sum(sizes), max(sizes, default=0), found.split, found.comparisons, found.buckets,
            found.components,
        )  # fmt: skip

    def add(self, other: Figures) -> None:
        """Take in those of other partitions."""
        self.clusters += other.clusters
        self.clustered += other.clustered
        self.largest = max(self.largest, other.largest)
        self.split += other.split
        self.comparisons += other.comparisons
        buckets, components = _whole([*self.buckets, *other.buckets]), [*self.components, *other.components]
        self.buckets = sorted(buckets, key=lambda one: (-one["nodes"], one["digest"], one["scheme"]))[:_SHOWN]
        self.components = sorted(components, key=lambda one: (-one["documents"], one["digest"]))[:_SHOWN]

    def said(self) -> dict[str, Any]:
        """The same for other processes."""
        return asdict(self)

    def shown(self) -> dict[str, Any]:
        """The same for people and programs, without what tells them apart."""
        said = self.said()
        for name in ("buckets", "components"):
            said[name] = [
                {key: value for key, value in one.items() if key not in ("digest", "key")} for one in said[name]
            ]
        return said


def _whole(buckets: Sequence[dict[str, Any]]) -> Iterable[dict[str, Any]]:
    """Each bucket once: one that was verified before its documents were grouped comes again in parts."""
    by_key: dict[tuple[str, int], dict[str, Any]] = {}
    for one in sorted(buckets, key=lambda one: -one["nodes"]):
        known = by_key.setdefault((one["scheme"], one["key"]), {**one, "comparisons": 0})
        known["comparisons"] += one["comparisons"]
    return by_key.values()


@dataclass(slots=True)
class Found:
    """The clusters of documents in a row: document i is in number `of[i]` of them, -1 for one that is alone."""

    of: Positions
    similarity: npt.NDArray[np.float64]
    canonical: npt.NDArray[np.bool_]
    to_before: npt.NDArray[np.float64]
    ids: list[str] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    before: list[str | None] = field(default_factory=list)

    @classmethod
    def alone(cls, count: int) -> Found:
        """What is known before any clusters are: each document is alone."""
        return cls(
            np.full(count, -1, dtype=np.int64), np.ones(count), np.ones(count, dtype=np.bool_), np.full(count, np.nan)
        )

    def add(self, clusters: Clusters) -> None:
        """Take in the clusters of a partition, whose positions are places in the row."""
        self.of[clusters.positions] = clusters.of + len(self.ids)
        self.similarity[clusters.positions] = clusters.similarity
        self.canonical[clusters.positions] = clusters.canonical
        self.to_before[clusters.positions] = clusters.to_before
        self.before += clusters.before
        self.ids += clusters.ids
        self.names += clusters.names
        self.sizes += clusters.sizes

    def part(self, start: int, stop: int) -> Found:
        """Those of some documents of the row."""
        inside = slice(start, stop)
        return Found(
            self.of[inside], self.similarity[inside], self.canonical[inside], self.to_before[inside],
            self.ids, self.names, self.sizes, self.before,
        )  # fmt: skip


def keeps(
    canonical: npt.NDArray[np.bool_], similarity: npt.NDArray[np.float64], gone: npt.NDArray[np.bool_], least: float
) -> npt.NDArray[np.bool_]:
    """Which documents stay where duplicates are removed: those that are no more similar to the canonical one than the
    rule asks (`least`, 0 to 1) are near to others of their cluster only. What is `gone` does not stay.
    """
    return np.asarray(~gone & (canonical | (similarity < least - _ROUNDED)), dtype=np.bool_)


class Rows:
    """The rows of files of clusters, of documents by their places among those of which clusters were found.

    `gone` are documents in whose place a later one counts; `least` is the similarity that the rule asks. With `against`
    columns say what new documents repeat; those of an older batch (`is_older`) repeat nothing, because that was said
    when they came.
    """

    def __init__(self, found: Found, gone: npt.NDArray[np.bool_], least: float, *, against: bool) -> None:
        self.schema = cluster_schema(against=against)
        self._found, self._gone, self._least = found, gone, least
        # One more before the first, for those that are alone.
        self._sizes = np.array([1, *found.sizes], dtype=np.int64)
        self._ids = np.array([b"", *(name.encode() for name in found.ids)], dtype=f"S{CLUSTER_ID_LENGTH}")
        self._names = column_of_strings([None, *found.names])
        self._before = column_of_strings([None, *found.before]) if against else None

    def of(self, place: int, batch: Any, *, is_older: bool = False) -> Any:
        """Those of some documents, from their ids and rows; the first stands at `place`."""
        part = slice(place, place + batch.num_rows)
        found, gone = self._found.part(part.start, part.stop), self._gone[part]
        number = found.of + 1
        alone = number == 0
        own = np.where(alone, cluster_ids(joined_of(batch["id"])), self._ids[number])
        taken = column_of(number)
        columns = [
            batch["id"],
            batch["row"],
            column_of_names(own, gone),
            column_of(found.canonical & ~gone),
            column_of(keeps(found.canonical, found.similarity, gone, self._least)),
            column_of(found.similarity, gone),
            column_of(self._sizes[number], gone),
            compute.if_else(column_of(alone), batch["id"], self._names.take(taken).cast(arrow.string())),
        ]
        if self._before is not None:
            older = np.full(batch.num_rows, is_older)
            repeats = self._before.take(taken).cast(arrow.string())
            columns += [
                compute.if_else(column_of(older), scalar(None), repeats),
                column_of(found.to_before, older | np.isnan(found.to_before)),
            ]
        return arrow.RecordBatch.from_arrays(columns, schema=self.schema)


def write_clusters(
    path: Path, target: Path, rows: Rows, form: Form, more: Mapping[str, Any], *, place: int, is_older: bool = False
) -> tuple[int, int]:
    """Write the clusters of a file of sketches to `target`, which is there when it is complete.

    Its first document stands at `place` among those of `rows`. Gives how many of its documents, of those that count,
    repeat no older one, and how many do; (0, 0) for those of an older batch, and without one. Raises StoreError.
    """
    known = read_footer(os.fspath(path), SKETCHES)
    footer = written_footer(
        CLUSTERS, form, {**more, "input": known["input"], "state": known["state"], "together": known["together"]}
    )
    target.parent.mkdir(parents=True, exist_ok=True)
    new = repeating = 0
    with own_files.written_whole(target) as file, writer(file, rows.schema, footer) as clusters:
        for start, batch in batches_of(path, place, ["id", "row"]):
            made = rows.of(start, batch, is_older=is_older)
            clusters.write_batch(made)
            if "repeats" in made.schema.names and not is_older:
                there = made["cluster"].is_valid()
                repeats = compute.sum(compute.and_(there, made["repeats"].is_valid())).as_py() or 0
                repeating += repeats
                new += (compute.sum(there).as_py() or 0) - repeats
    return new, repeating
