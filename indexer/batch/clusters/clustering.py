"""Clusters of sketches in files, by one process, in memory that is bounded by what it is told."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
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
    numbers_of,
    parquet,
    scalar,
)
from indexer.batch.clusters.grouping import (
    Clusters,
    clusters_of,
    columns_of,
    compared,
    joined,
    key_blocks,
    partitions,
    scanned,
    sketches_of,
)
from indexer.batch.form import cluster_schema, column_name, read_footer, writer, written_footer
from indexer.batch.reading import CLUSTERS, SUMMARY, Sketched, batches_of
from indexer.batch.sketches.sketching import SKETCHES
from indexer.clustering.canonical import CanonicalRule
from indexer.clustering.components import Components
from indexer.clustering.grouping import meets_by_keys, radius_of
from indexer.core_sketch import cluster_ids
from indexer.errors import StoreError, UsageError
from indexer.ingest.indexing import default_jobs
from indexer.matching.rule import Finder, MatchRule
from indexer.model import CLUSTER_ID_LENGTH
from indexer.model.ragged import Ragged
from indexer.schemes.base import Positions, Sketches

BEFORE = "clusters-before"
MEMORY = 2 << 30
# What sketches take while they are grouped, in proportion to themselves.
_TIMES = 4
# A file is open for each partition and scheme at a time.
_MOST_PARTITIONS = 256
_SHOWN = 10


@dataclass(frozen=True)
class Wanted:
    """How clusters are made: `bound` as for `indexer.clustering.clusters.cluster`, `memory` in bytes for sketches.

    `parts` is how many partitions there are, as many as the memory takes where None. `against` is an older folder with
    sketches and clusters, whose documents are compared too, and whose clusters keep their ids.
    """

    rule: MatchRule
    canonical: CanonicalRule
    bound: float | None = None
    memory: int = MEMORY
    parts: int | None = None
    against: str | None = None
    threads: int = field(default_factory=default_jobs)


@dataclass(slots=True)
class _Found:
    """The clusters of all documents, partition after partition."""

    of: Positions
    similarity: npt.NDArray[np.float64]
    canonical: npt.NDArray[np.bool_]
    to_before: npt.NDArray[np.float64]
    ids: list[str] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    before: list[str | None] = field(default_factory=list)
    split: int = 0
    comparisons: int = 0
    buckets: list[dict[str, Any]] = field(default_factory=list)
    components: list[dict[str, Any]] = field(default_factory=list)

    @classmethod
    def alone(cls, count: int) -> _Found:
        """What is known before any clusters are: each document is alone."""
        return cls(
            np.full(count, -1, dtype=np.int64), np.ones(count), np.ones(count, dtype=np.bool_), np.full(count, np.nan)
        )

    def add(self, clusters: Clusters) -> None:
        self.of[clusters.positions] = clusters.of + len(self.ids)
        self.similarity[clusters.positions] = clusters.similarity
        self.canonical[clusters.positions] = clusters.canonical
        self.to_before[clusters.positions] = clusters.to_before
        self.before += clusters.before
        self.ids += clusters.ids
        self.names += clusters.names
        self.sizes += clusters.sizes
        self.split += clusters.split
        self.comparisons += clusters.comparisons
        self.buckets = sorted([*self.buckets, *clusters.buckets], key=lambda one: -one["nodes"])[:_SHOWN]
        several = [*self.components, *clusters.components]
        self.components = sorted(several, key=lambda one: -one["documents"])[:_SHOWN]


def cluster(folder: str, out: str, wanted: Wanted) -> dict[str, Any]:
    """Write the clusters of a folder's sketches to `out`/clusters, a file for each of sketches; what was found.

    With an older folder its documents, whose clusters keep their ids, come before; they go to `out`/clusters-before.

    They are those that `indexer.clustering.clusters.cluster` makes of the same documents in a new store, whatever the
    files, their order and the number of partitions. Memory: 60 bytes a document and its id, the sketches of a
    partition, and where one component is larger than that, the sketches of it. Raises StoreError and UsageError.
    """
    if wanted.against and os.path.realpath(out) == os.path.realpath(wanted.against):
        raise UsageError(f"--out {out}: is the older batch; name another folder")
    sketched = Sketched.of(folder, wanted.against)
    found = _Found.alone(len(sketched))
    columns = columns_of(wanted.rule, wanted.canonical, against=bool(wanted.against))
    count = wanted.parts or _partitions_for(_TIMES * sketched.bytes_of(columns), wanted.memory)
    radius = radius_of(wanted.bound)
    compared_count = 0
    try:
        Path(out, CLUSTERS).mkdir(parents=True, exist_ok=True)
        Path(out, SUMMARY).unlink(missing_ok=True)
        for table, positions in _partitioned(sketched, columns, wanted, count, out):
            compared_count += positions.size
            found.add(clusters_of(table, positions, wanted.rule, wanted.canonical, radius, wanted.threads))
        new, repeating = _write(sketched, found, out, wanted)
        said = _said(sketched, found, wanted, compared_count)
        if wanted.against:
            said |= {"older": sketched.first_new, "new": new, "repeating": repeating}
        with own_files.written_whole(Path(out, SUMMARY)) as file:
            file.write(json.dumps(said, indent=1).encode() + b"\n")
    except OSError as error:
        raise StoreError(f"{error.filename or out}: can't be written: {error.strerror or error}") from error
    return said


def _partitions_for(needed: int, memory: int) -> int:
    """How many partitions what takes so many bytes has. Raises UsageError for more than can be open at once."""
    count = max(1, -(-needed // memory))
    if count > _MOST_PARTITIONS:
        raise UsageError(
            f"--memory {memory:,}: too little for these sketches; give at least {-(-needed // _MOST_PARTITIONS):,}"
        )
    return count


def _partitioned(
    sketched: Sketched, columns: Sequence[str], wanted: Wanted, count: int, out: str
) -> Iterator[tuple[Any, Positions]]:
    """The documents that the rule compares, in tables, what may be near always in one, each with its positions."""
    without = sketched.without
    if count == 1:
        tables, places = [], []
        for place, batch in sketched.batches(columns):
            kept = compared(batch, wanted.rule) & ~without[place : place + batch.num_rows]
            tables.append(batch.filter(column_of(kept)))
            places.append(place + np.flatnonzero(kept))
        if tables:
            yield arrow.Table.from_batches(tables), np.concatenate(places)
        return
    with _spill(out) as spill:
        labels, inside = _labels(sketched, wanted, without, count, spill)
        yield from _shuffled(sketched, columns, inside, partitions(labels[inside], count), spill)


@contextmanager
def _spill(out: str) -> Iterator[Path]:
    folder = tempfile.mkdtemp(prefix=".spilled-", dir=out)
    try:
        yield Path(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _labels(
    sketched: Sketched, wanted: Wanted, without: npt.NDArray[np.bool_], count: int, spill: Path
) -> tuple[Positions, Positions]:
    """The component of each document by what may be near, verified or not; and which documents the rule compares."""
    rule = wanted.rule
    components = Components(len(sketched))
    names = ["short", *(column_name(family) for family in rule.schemes)]
    names += [f"{column_name(one.name)}_keys" for one in rule.finders if one.scheme.joins_keys]
    own: dict[str, list[Sketches]] = {one.name: [] for one in rule.finders if not meets_by_keys(one)}
    places: list[Positions] = []
    with _BlockFiles(spill, count) as blocks:
        for place, batch in sketched.batches(list(dict.fromkeys(names))):
            inside = np.flatnonzero(compared(batch, rule) & ~without[place : place + batch.num_rows])
            found = sketches_of(batch.take(column_of(inside)), rule)
            places.append(place + inside)
            for finder in rule.finders:
                if finder.name in own:
                    own[finder.name].append(found[finder.name])
                else:
                    for number, keys, owners in key_blocks(found[finder.name].keys, place + inside, count):
                        blocks.add(finder.name, number, keys, owners)
        for keys, owners in blocks.read():
            components.join(*scanned(keys, owners))
    kept = np.concatenate(places)
    for finder in rule.finders:
        if finder.name in own:
            _join_own(components, own.pop(finder.name), kept, finder, wanted.threads)
    return components.labels(), kept


def _join_own(components: Components, parts: Sequence[Sketches], kept: Positions, finder: Finder, threads: int) -> None:
    every = Sketches(
        Ragged.joined([one.payloads for one in parts]), Ragged.joined([one.keys for one in parts], np.int64)
    )
    there = np.flatnonzero(every.payloads.sizes)
    for left, right in joined(every.take(there), kept[there], finder, threads):
        components.join(left, right)


class _BlockFiles:
    """Keys and who holds them, spilled to a file for each scheme and block."""

    _SCHEMA = arrow.schema([("key", arrow.int64()), ("owner", arrow.int64())])

    def __init__(self, folder: Path, count: int) -> None:
        self._folder, self._count = folder, count
        self._writers: dict[Path, Any] = {}

    def __enter__(self) -> _BlockFiles:
        return self

    def __exit__(self, *_error: object) -> None:
        self._close()

    def add(self, family: str, number: int, keys: Positions, owners: Positions) -> None:
        path = self._folder / f"{column_name(family)}-{number:05}.parquet"
        if path not in self._writers:
            self._writers[path] = parquet.ParquetWriter(path, self._SCHEMA, compression="none", use_dictionary=False)
        self._writers[path].write_table(
            arrow.Table.from_arrays([column_of(keys), column_of(owners)], schema=self._SCHEMA)
        )

    def read(self) -> Iterator[tuple[Positions, Positions]]:
        self._close()
        for path in sorted(self._folder.glob("*.parquet")):
            table = parquet.read_table(path)
            yield numbers_of(table["key"].combine_chunks()), numbers_of(table["owner"].combine_chunks())
            path.unlink()

    def _close(self) -> None:
        for out in self._writers.values():
            out.close()
        self._writers = {}


def _shuffled(
    sketched: Sketched, columns: Sequence[str], kept: Positions, of: Positions, spill: Path
) -> Iterator[tuple[Any, Positions]]:
    """The documents of each partition, spilled to a file for each, and read again one after the other."""
    writers: dict[int, Any] = {}
    for place, batch in sketched.batches(columns):
        first, last = np.searchsorted(kept, (place, place + batch.num_rows))
        for number in np.unique(of[first:last]).tolist():
            inside = kept[first:last][of[first:last] == number] - place
            table = arrow.Table.from_batches([batch.take(column_of(inside))])
            if number not in writers:
                writers[number] = parquet.ParquetWriter(spill / f"{number:05}.parquet", table.schema)
            writers[number].write_table(table)
    for out in writers.values():
        out.close()
    for number in sorted(writers):
        path = spill / f"{number:05}.parquet"
        yield parquet.read_table(path).combine_chunks(), kept[of == number]
        path.unlink()


class _Rows:
    """The rows of the files of clusters, of documents by their places."""

    def __init__(self, sketched: Sketched, found: _Found, *, against: bool) -> None:
        self.schema = cluster_schema(against=against)
        self._found = found
        # One more before the first, for those that are alone.
        self._sizes = np.array([1, *found.sizes], dtype=np.int64)
        self._ids = np.array([b"", *(name.encode() for name in found.ids)], dtype=f"S{CLUSTER_ID_LENGTH}")
        self._names = column_of_strings([None, *found.names])
        self._before = column_of_strings([None, *found.before]) if against else None
        self._first_new = sketched.first_new
        self._without = sketched.without

    def of(self, place: int, batch: Any) -> Any:
        """Those of some documents, from their ids and rows; the first stands at `place`."""
        part = slice(place, place + batch.num_rows)
        found, gone = self._found, self._without[part]
        number = found.of[part] + 1
        alone = number == 0
        own = np.where(alone, cluster_ids(joined_of(batch["id"])), self._ids[number])
        taken = column_of(number)
        columns = [
            batch["id"],
            batch["row"],
            column_of_names(own, gone),
            column_of(found.canonical[part] & ~gone),
            column_of(found.similarity[part], gone),
            column_of(self._sizes[number], gone),
            compute.if_else(column_of(alone), batch["id"], self._names.take(taken).cast(arrow.string())),
        ]
        if self._before is not None:
            # What an older document repeats was said when it came.
            is_older = np.arange(part.start, part.stop) < self._first_new
            nothing = scalar(None)
            repeats = compute.if_else(column_of(is_older), nothing, self._before.take(taken).cast(arrow.string()))
            to_before = found.to_before[part]
            columns += [repeats, column_of(to_before, is_older | np.isnan(to_before))]
        return arrow.RecordBatch.from_arrays(columns, schema=self.schema)


def _write(sketched: Sketched, found: _Found, out: str, wanted: Wanted) -> tuple[int, int]:
    """A file of clusters for each file of sketches, with its rows in its order; how many documents are new, repeat."""
    rows = _Rows(sketched, found, against=bool(wanted.against))
    written: set[Path] = set()
    new = repeating = 0
    for number, (path, start) in enumerate(zip(sketched.files, sketched.offsets.tolist(), strict=False)):
        known = read_footer(os.fspath(path), SKETCHES)
        more = {**_rules(wanted), "input": known["input"], "state": known["state"]}
        footer = written_footer(CLUSTERS, sketched.form, more)
        target = Path(out, BEFORE if number < sketched.older else CLUSTERS, path.name)
        target.parent.mkdir(parents=True, exist_ok=True)
        written.add(target)
        with own_files.written_whole(target) as file, writer(file, rows.schema, footer) as clusters:
            for place, batch in batches_of(path, start, ["id", "row"]):
                made = rows.of(place, batch)
                clusters.write_batch(made)
                if wanted.against and number >= sketched.older:
                    there = made["cluster"].is_valid()
                    repeats = compute.and_(there, made["repeats"].is_valid())
                    repeating += compute.sum(repeats).as_py() or 0
                    new += (compute.sum(there).as_py() or 0) - (compute.sum(repeats).as_py() or 0)
    for stale in (*Path(out, CLUSTERS).glob("*.parquet"), *Path(out, BEFORE).glob("*.parquet")):
        if stale not in written:
            stale.unlink()
    return new, repeating


def _rules(wanted: Wanted) -> dict[str, Any]:
    return {
        "rule": wanted.rule.written(whole=True),
        "bound": wanted.bound,
        "canonical": str(wanted.canonical),
        "similarity": wanted.rule.measure.similarity,
        "by_hash_alone": wanted.rule.by_hash_alone,
    }


def _said(sketched: Sketched, found: _Found, wanted: Wanted, compared_count: int) -> dict[str, Any]:
    """What was found, for people and programs."""
    replaced = int(np.count_nonzero(sketched.without))
    return {
        **_rules(wanted),
        "rule": str(wanted.rule),
        "documents": len(sketched) - replaced,
        "replaced": replaced,
        "compared": compared_count,
        "clusters": len(found.ids),
        "clustered": sum(found.sizes),
        "largest": max(found.sizes, default=0),
        "split": found.split,
        "comparisons": found.comparisons,
        "buckets": found.buckets,
        "components": found.components,
    }
