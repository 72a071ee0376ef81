"""Clusters of sketches in files, by one process, in memory that is bounded by what it is told."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from indexer import core, own_files
from indexer.batch.arrow import arrow, compute, joined_of, parquet
from indexer.batch.form import Form, cluster_schema, column_name, form_of, read_footer, writer, written_footer
from indexer.batch.grouping import (
    Clusters,
    clusters_of,
    columns_of,
    compared,
    joined,
    key_blocks,
    meets_by_keys,
    partitions,
    replaced,
    scanned,
    sketches_of,
)
from indexer.batch.sketching import SKETCHES, sketch_files
from indexer.clustering.canonical import CanonicalRule
from indexer.clustering.components import Components
from indexer.clustering.grouping import radius_of
from indexer.core_sketch import cluster_ids
from indexer.errors import StoreError, UsageError
from indexer.ingest.indexing import default_jobs
from indexer.matching.rule import DEFAULT_SHARE, LEAN_RULE, PREFERRED, Finder, MatchRule, Reading, parse_rule
from indexer.model import CLUSTER_ID_LENGTH, SIMHASH_DOC
from indexer.model.ragged import Ragged
from indexer.model.tokens import Tokens
from indexer.schemes import registry
from indexer.schemes.base import Positions, Scheme, Sketches

CLUSTERS = "clusters"
SUMMARY = "clustering.json"
MEMORY = 2 << 30
_ROWS = 1 << 16
# What sketches take while they are grouped, in proportion to themselves.
_TIMES = 4
_SHOWN = 10


@dataclass(frozen=True)
class Sketched:
    """The sketches of a folder: `files` by name, all of one form; document i of all stands in them at `offsets`."""

    files: tuple[Path, ...]
    form: Form
    offsets: Positions

    @classmethod
    def of(cls, folder: str) -> Sketched:
        """Those of a folder. Raises StoreError, and IncompatibleStoreError where the files are of several forms."""
        files = tuple(sketch_files(folder))
        forms = [form_of(read_footer(os.fspath(path), SKETCHES)) for path in files]
        for path, form in zip(files, forms, strict=True):
            forms[0].require_same(form, os.fspath(path), os.fspath(files[0]))
        rows = [parquet.read_metadata(path).num_rows for path in files]
        return cls(files, forms[0], np.cumsum([0, *rows]))

    def __len__(self) -> int:
        return int(self.offsets[-1])

    def batches(self, columns: Sequence[str]) -> Iterator[tuple[int, Any]]:
        """(place of its first document, batch) of all files, in order."""
        for path, place in zip(self.files, self.offsets.tolist(), strict=False):
            yield from _batches(path, place, columns)

    def octets(self, columns: Sequence[str]) -> int:
        """What these columns take, not compressed."""
        total = 0
        for path in self.files:
            known = parquet.read_metadata(path)
            for group in (known.row_group(number) for number in range(known.num_row_groups)):
                chunks = (group.column(number) for number in range(group.num_columns))
                total += sum(
                    one.total_uncompressed_size for one in chunks if one.path_in_schema.partition(".")[0] in columns
                )
        return total

    @cached_property
    def without(self) -> Positions:
        """The documents in whose place a later one with the same id stands."""
        hashes, ids = [], list[str]()
        for _, batch in self.batches(["id"]):
            hashes.append(_hashes(batch["id"]))
        suspects = replaced(hashes)
        if not suspects.size:
            return suspects
        for place, batch in self.batches(["id"]):
            inside = suspects[(suspects >= place) & (suspects < place + batch.num_rows)] - place
            ids += batch["id"].take(arrow.array(inside)).to_pylist()
        last = dict(zip(ids, suspects.tolist(), strict=True))
        return np.setdiff1d(suspects, np.array(list(last.values()), dtype=np.int64))


def _batches(path: Path, place: int, columns: Sequence[str]) -> Iterator[tuple[int, Any]]:
    try:
        with parquet.ParquetFile(path) as file:
            for batch in file.iter_batches(_ROWS, columns=list(columns)):
                yield place, batch
                place += batch.num_rows
    except (OSError, arrow.ArrowException) as error:
        raise StoreError(f"{path}: can't be read: {error}; remove it, and run neardup batch sketch again") from error


def _hashes(ids: Any) -> npt.NDArray[np.uint64]:
    texts = joined_of(ids)
    starts = np.concatenate((np.zeros(1, dtype=np.uintp), texts.ends[:-1])) if len(texts) else texts.ends
    return core.hash_tokens(Tokens(bytes(texts.data), starts, texts.ends))


def rule_of(form: Form, text: str | None) -> MatchRule:
    """The rule that is asked for, by the schemes that sketches are of; where none is, the one a store of them has.

    Raises UsageError for a scheme that there are no sketches of, and for a rule that verifies by reading.
    """

    def scheme(name: str) -> Scheme:
        family, parameters = registry.split(name)
        own = form.scheme(family)
        if own is None:
            there = ", ".join((SIMHASH_DOC, *form.schemes))
            raise UsageError(f"there are no sketches of {family}, only of {there}; sketch again with --scheme {family}")
        if parameters and registry.scheme(name).id != own.id:
            raise UsageError(f"{name}: the sketches are of {own.id}; name {family} alone")
        return own

    share = f"{PREFERRED}@{DEFAULT_SHARE:.12g}"
    usual = f"{LEAN_RULE}/{share}+{share}" if form.scheme(PREFERRED) else LEAN_RULE
    rule = parse_rule(text or usual, scheme=scheme)
    if isinstance(rule.verifier, Reading):
        raise UsageError(f"{rule}: a batch has no texts to read again; verify by a sketch")
    return rule


def canonical_of(form: Form, asked: CanonicalRule | None) -> CanonicalRule:
    """The rule for the canonical document: earliest where a time is known, else longest, unless another is asked for.

    Raises UsageError for "earliest" without a time.
    """
    if asked is None:
        return CanonicalRule("earliest" if form.time_field else "longest")
    if asked.kind == "earliest" and not form.time_field:
        raise UsageError("--canonical earliest: the sketches have no time; sketch again with --time-field NAME")
    return asked


@dataclass(frozen=True)
class Wanted:
    """How clusters are made: `bound` as for `indexer.clustering.clusters.cluster`, `memory` in bytes for sketches.

    `parts` is how many partitions there are, as many as the memory takes where None.
    """

    rule: MatchRule
    canonical: CanonicalRule
    bound: float | None = None
    memory: int = MEMORY
    parts: int | None = None
    threads: int = field(default_factory=default_jobs)


@dataclass(slots=True)
class _Found:
    """The clusters of all documents, partition after partition."""

    of: Positions
    similarity: npt.NDArray[np.float64]
    canonical: npt.NDArray[np.bool_]
    ids: list[str] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    split: int = 0
    comparisons: int = 0
    costliest: list[tuple[str, str, int, int]] = field(default_factory=list)

    def add(self, clusters: Clusters) -> None:
        self.of[clusters.positions] = clusters.of + len(self.ids)
        self.similarity[clusters.positions] = clusters.similarity
        self.canonical[clusters.positions] = clusters.canonical
        self.ids += clusters.ids
        self.names += clusters.names
        self.sizes += clusters.sizes
        self.split += clusters.grouped.split
        self.comparisons += clusters.comparisons
        self.costliest = sorted([*self.costliest, *clusters.costly], key=lambda one: -one[3])[:_SHOWN]


def cluster(folder: str, out: str, wanted: Wanted) -> dict[str, Any]:
    """Write the clusters of a folder's sketches to `out`/clusters, a file for each of sketches; what was found.

    They are those that `indexer.clustering.clusters.cluster` makes of the same documents in a new store, whatever the
    files, their order and the number of partitions. Memory: 60 bytes a document and its id, the sketches of a
    partition, and where one component is larger than that, the sketches of it. Raises StoreError and UsageError.
    """
    sketched = Sketched.of(folder)
    found = _Found(
        np.full(len(sketched), -1, dtype=np.int64), np.ones(len(sketched)), np.ones(len(sketched), dtype=np.bool_)
    )
    columns = columns_of(wanted.rule, wanted.canonical)
    count = wanted.parts or max(1, -(-_TIMES * sketched.octets(columns) // wanted.memory))
    radius = radius_of(wanted.bound)
    compared_count = 0
    try:
        Path(out, CLUSTERS).mkdir(parents=True, exist_ok=True)
        Path(out, SUMMARY).unlink(missing_ok=True)
        for table, positions in _partitioned(sketched, columns, wanted, count, out):
            compared_count += positions.size
            found.add(clusters_of(table, positions, wanted.rule, wanted.canonical, radius, wanted.threads))
        _write(sketched, found, out, wanted)
        said = _said(sketched, found, wanted, compared_count)
        with own_files.written_whole(Path(out, SUMMARY)) as file:
            file.write(json.dumps(said, indent=1).encode() + b"\n")
    except OSError as error:
        raise StoreError(f"{error.filename or out}: can't be written: {error.strerror or error}") from error
    return said


def _partitioned(
    sketched: Sketched, columns: Sequence[str], wanted: Wanted, count: int, out: str
) -> Iterator[tuple[Any, Positions]]:
    """The documents that the rule compares, in tables, what may be near always in one, each with its positions."""
    without = np.zeros(len(sketched), dtype=np.bool_)
    without[sketched.without] = True
    if count == 1:
        tables, places = [], []
        for place, batch in sketched.batches(columns):
            kept = compared(batch, wanted.rule) & ~without[place : place + batch.num_rows]
            tables.append(batch.filter(arrow.array(kept)))
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
            found = sketches_of(batch.take(arrow.array(inside)), rule)
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
        self._writers[path].write_table(arrow.table([keys, owners], schema=self._SCHEMA))

    def read(self) -> Iterator[tuple[Positions, Positions]]:
        self._close()
        for path in sorted(self._folder.glob("*.parquet")):
            table = parquet.read_table(path)
            yield table["key"].to_numpy(), table["owner"].to_numpy()
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
            table = arrow.Table.from_batches([batch.take(arrow.array(inside))])
            if number not in writers:
                writers[number] = parquet.ParquetWriter(spill / f"{number:05}.parquet", table.schema)
            writers[number].write_table(table)
    for out in writers.values():
        out.close()
    for number in sorted(writers):
        path = spill / f"{number:05}.parquet"
        yield parquet.read_table(path).combine_chunks(), kept[of == number]
        path.unlink()


def _write(sketched: Sketched, found: _Found, out: str, wanted: Wanted) -> None:
    """A file of clusters for each file of sketches, with its rows in its order."""
    sizes = np.array([1, *found.sizes], dtype=np.int64)
    # One more, for those that are alone.
    ids = np.array([b"", *(name.encode() for name in found.ids)], dtype=f"S{CLUSTER_ID_LENGTH}")
    names = arrow.array([None, *found.names], arrow.string())
    without = np.zeros(len(sketched), dtype=np.bool_)
    without[sketched.without] = True
    footer = written_footer(CLUSTERS, sketched.form, _rules(wanted))
    for path, start in zip(sketched.files, sketched.offsets.tolist(), strict=False):
        with (
            own_files.written_whole(Path(out, CLUSTERS, path.name)) as file,
            writer(file, cluster_schema(), footer) as target,
        ):
            for place, batch in _batches(path, start, ["id", "row"]):
                part = slice(place, place + batch.num_rows)
                number, gone = found.of[part] + 1, without[part]
                alone = number == 0
                own = np.where(alone, cluster_ids(joined_of(batch["id"])), ids[number])
                named = names.take(arrow.array(number))
                columns = [
                    batch["id"],
                    batch["row"],
                    arrow.array(own.astype(f"U{CLUSTER_ID_LENGTH}"), arrow.string(), mask=gone),
                    arrow.array(found.canonical[part] & ~gone),
                    arrow.array(found.similarity[part], mask=gone),
                    arrow.array(sizes[number], mask=gone),
                    compute.if_else(arrow.array(alone), batch["id"], named),
                ]
                target.write_batch(arrow.RecordBatch.from_arrays(columns, schema=cluster_schema()))
    known = {path.name for path in sketched.files}
    for stale in Path(out, CLUSTERS).glob("*.parquet"):
        if stale.name not in known:
            stale.unlink()


def _rules(wanted: Wanted) -> dict[str, Any]:
    return {
        "rule": wanted.rule.written(whole=True),
        "bound": wanted.bound,
        "canonical": str(wanted.canonical),
    }


def _said(sketched: Sketched, found: _Found, wanted: Wanted, compared_count: int) -> dict[str, Any]:
    """What was found, for people and programs."""
    return {
        **_rules(wanted),
        "rule": str(wanted.rule),
        "documents": len(sketched) - int(sketched.without.size),
        "replaced": int(sketched.without.size),
        "compared": compared_count,
        "clusters": len(found.ids),
        "clustered": sum(found.sizes),
        "largest": max(found.sizes, default=0),
        "split": found.split,
        "comparisons": found.comparisons,
        "costliest": [
            {"id": name, "scheme": scheme, "documents": documents, "comparisons": comparisons}
            for name, scheme, documents, comparisons in found.costliest
        ],
    }
