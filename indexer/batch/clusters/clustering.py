"""Clusters of sketches in files, by one process, in memory that is bounded by what it is told."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from indexer import own_files
from indexer.batch.arrow import arrow, column_of, numbers_of, parquet
from indexer.batch.clusters.grouping import (
    clusters_of,
    columns_of,
    compared,
    found_by,
    joined,
    key_blocks,
    partitions,
    scanned,
    sketches_of,
)
from indexer.batch.clusters.writing import Figures, Found, Rows, write_clusters
from indexer.batch.form import column_name
from indexer.batch.reading import CLUSTERS, SUMMARY, Sketched
from indexer.clustering.canonical import CanonicalRule
from indexer.clustering.components import Components
from indexer.clustering.grouping import meets_by_keys, radius_of
from indexer.errors import StoreError, UsageError
from indexer.ingest.indexing import default_jobs
from indexer.matching.rule import Finder, MatchRule
from indexer.model.ragged import Ragged
from indexer.schemes.base import Positions, Sketches

BEFORE = "clusters-before"
MEMORY = 2 << 30
# What sketches take while they are grouped, in proportion to themselves.
_TIMES = 4
# A file is open for each partition and scheme at a time.
_MOST_PARTITIONS = 256


@dataclass(frozen=True)
class Wanted:
    """How clusters are made: `bound` as for `indexer.clustering.clusters.cluster`, `memory` in bytes for sketches.

    `parts` is how many partitions there are, as many as the memory takes where None. `against` is an older folder with
    sketches and clusters, whose documents are compared too, and whose clusters keep their ids. Components of what may
    be near that have more than `most_grouped` documents, as many as a partition holds where None, are verified bucket
    by bucket before they are grouped.
    """

    rule: MatchRule
    canonical: CanonicalRule
    bound: float | None = None
    memory: int = MEMORY
    parts: int | None = None
    against: str | None = None
    most_grouped: int | None = None
    threads: int = field(default_factory=default_jobs)


def cluster(folder: str, out: str, wanted: Wanted) -> dict[str, Any]:
    """Write the clusters of a folder's sketches to `out`/clusters, a file for each of sketches; what was found.

    With an older folder its documents, whose clusters keep their ids, come before; they go to `out`/clusters-before.

    They are those that `indexer.clustering.clusters.cluster` makes of the same documents in a new store, whatever the
    files, their order and the number of partitions. Memory: 60 bytes a document and its id, the sketches of a
    partition, and where one component is larger than that, the sketches of it. Raises StoreError and UsageError.
    """
    sketched = sketched_apart(folder, out, wanted)
    found, figures = Found.alone(len(sketched)), Figures()
    columns = columns_of(wanted.rule, wanted.canonical, against=bool(wanted.against))
    count = wanted.parts or _partitions_for(_TIMES * sketched.bytes_of(columns), wanted.memory)
    radius = radius_of(wanted.bound)
    counts = Counts(replaced=int(np.count_nonzero(sketched.without)))
    with finished_in(out) as finish:
        for table, positions in _partitioned(sketched, columns, wanted, count, out):
            counts.compared += positions.size
            clusters = clusters_of(table, positions, wanted.rule, wanted.canonical, radius, wanted.threads)
            found.add(clusters)
            figures.add(Figures.of(clusters))
        _write(sketched, found, out, wanted, counts)
        return finish(said_of(sketched, figures, wanted, counts))


@dataclass(slots=True)
class Counts:
    """How many documents are `replaced` by a later one of their id, `compared`, `new`, and `repeating` older ones."""

    replaced: int = 0
    compared: int = 0
    new: int = 0
    repeating: int = 0

    def add(self, other: Counts) -> None:
        """Take in those of other files."""
        self.replaced += other.replaced
        self.compared += other.compared
        self.new += other.new
        self.repeating += other.repeating


def sketched_apart(folder: str, out: str, wanted: Wanted) -> Sketched:
    """The sketches of a folder and of the older one. Raises UsageError for an output into that one, and StoreError."""
    if wanted.against and os.path.realpath(out) == os.path.realpath(wanted.against):
        raise UsageError(f"--out {out}: is the older batch; name another folder")
    return Sketched.of(folder, wanted.against)


@contextmanager
def finished_in(out: str) -> Iterator[Callable[[dict[str, Any]], dict[str, Any]]]:
    """What notes that the clusters of a folder are finished, and what was found; until then they are not."""

    def finish(said: dict[str, Any]) -> dict[str, Any]:
        with own_files.written_whole(Path(out, SUMMARY)) as file:
            file.write(json.dumps(said, indent=1).encode() + b"\n")
        return said

    try:
        Path(out, CLUSTERS).mkdir(parents=True, exist_ok=True)
        Path(out, SUMMARY).unlink(missing_ok=True)
        yield finish
    except OSError as error:
        raise StoreError(f"{error.filename or out}: can't be written: {error.strerror or error}") from error


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
    own: dict[str, list[Sketches]] = {one.name: [] for one in rule.finders if not meets_by_keys(one)}
    places: list[Positions] = []
    with _BlockFiles(spill, count) as blocks:
        for place, batch in sketched.batches(found_by(rule)):
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


def _write(sketched: Sketched, found: Found, out: str, wanted: Wanted, counts: Counts) -> None:
    """A file of clusters for each file of sketches, with its rows in its order."""
    rows = Rows(found, sketched.without, wanted.rule.measure.similarity, against=bool(wanted.against))
    for number, (path, start) in enumerate(zip(sketched.files, sketched.offsets.tolist(), strict=False)):
        target, is_older = target_of(sketched, number, out), number < sketched.older
        new, repeating = write_clusters(
            path, target, rows, sketched.form, rules_of(wanted), place=start, is_older=is_older
        )
        counts.new += new
        counts.repeating += repeating
    remove_stale(sketched, out)


def remove_stale(sketched: Sketched, out: str) -> None:
    """Remove the files of clusters of an earlier run that are of no file of sketches."""
    written = {target_of(sketched, number, out) for number in range(len(sketched.files))}
    for stale in (*Path(out, CLUSTERS).glob("*.parquet"), *Path(out, BEFORE).glob("*.parquet")):
        if stale not in written:
            stale.unlink()


def target_of(sketched: Sketched, number: int, out: str) -> Path:
    """Where the clusters of a file of sketches go."""
    return Path(out, BEFORE if number < sketched.older else CLUSTERS, sketched.files[number].name)


def rules_of(wanted: Wanted) -> dict[str, Any]:
    """What the footers of files of clusters say of how they were made."""
    return {
        "rule": wanted.rule.written(whole=True),
        "bound": wanted.bound,
        "canonical": str(wanted.canonical),
        "similarity": wanted.rule.measure.similarity,
        "by_hash_alone": wanted.rule.by_hash_alone,
    }


def said_of(sketched: Sketched, figures: Figures, wanted: Wanted, counts: Counts) -> dict[str, Any]:
    """What was found, for people and programs."""
    said = {
        **rules_of(wanted),
        "rule": str(wanted.rule),
        "documents": len(sketched) - counts.replaced,
        "replaced": counts.replaced,
        "compared": counts.compared,
        **figures.shown(),
    }
    if wanted.against:
        said |= {"older": sketched.first_new, "new": counts.new, "repeating": counts.repeating}
    return said
