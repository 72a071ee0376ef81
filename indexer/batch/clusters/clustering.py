"""Clusters of sketches in files, by one process, in bounded memory, and the rows that say what was found."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from indexer.batch.arrow import arrow, column_of, compute, numbers_of
from indexer.batch.clusters.grouping import FOUND, ClusteringFigures, alone, clusters_of, columns_of
from indexer.batch.clusters.judging import VERDICTS, decided
from indexer.batch.clusters.partitioning import Parts, equal_documents, parts_for, whole
from indexer.batch.clusters.spilling import OwnerRows
from indexer.batch.form import cluster_schema, read_footer, writer, written_footer
from indexer.batch.reading import CLUSTERS, SUMMARY, Sketched, batches_of
from indexer.batch.reading import clusters_of as known_clusters
from indexer.batch.sketches.parts import SKETCHES, Inputs, Stale, inputs_for
from indexer.clustering.canonical import CanonicalRule
from indexer.clustering.grouping import radius_of
from indexer.clustering.verdicts import Permitted
from indexer.errors import StoreError, UsageError
from indexer.ingest.indexing import default_jobs
from indexer.matching.rule import MatchRule
from indexer.model import own_files
from indexer.model.counts import DecidedCounts

_NO_ID, _NO_SIMILARITY = arrow.scalar(None, arrow.string()), arrow.scalar(None, arrow.float64())
JUDGED = tuple(field.name for field in VERDICTS if field.name not in ("owner", "id"))
DECIDED = (*JUDGED, "near_to", "near_similarity")


@dataclass
class Counts(DecidedCounts):
    """The counts of documents, with older ones of `new` documents, and those of them `repeating` older ones."""

    new: int = 0
    repeating: int = 0

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
    near = {name: found[name] for name in ("near_to", "near_similarity")}
    if verdicts is None:
        decided: dict[str, Any] = {name: arrow.nulls(gone.size, VERDICTS.field(name).type) for name in JUDGED}
        decided["keep"] = near["near_to"].is_null()
        decided |= {"duplicate_of": near["near_to"], "duplicate_similarity": near["near_similarity"]}
    else:
        decided = {name: verdicts[name] for name in JUDGED}
        decided["keep"] = compute.coalesce(decided["keep"], True)
    older = None if is_older is None else column_of(is_older)
    for name, column in before.items():
        # What was kept then may be near another one of these, and what was not is near what it was.
        if name in near:
            near[name] = compute.coalesce(near[name], column)
        else:
            decided[name] = compute.if_else(older, column, decided[name])
    columns = {name: documents[name] for name in ("id", "row") if name in documents.schema.names}
    columns |= {"version": found["version"], **decided, **near}
    columns |= {name: compute.coalesce(found[name], own) for name, own in alone(ids, gone).items()}
    columns["keep"] = compute.and_(decided["keep"], there)
    # What stands for a document of this id is another of the same.
    columns["duplicate_of"] = compute.if_else(is_gone, ids, decided["duplicate_of"])
    columns["duplicate_similarity"] = compute.if_else(is_gone, _NO_SIMILARITY, decided["duplicate_similarity"])
    if older is not None:
        columns["repeats"] = compute.if_else(older, _NO_ID, found["before"])
        columns["repeats_similarity"] = compute.if_else(older, _NO_SIMILARITY, found["to_before"])
    return columns


def rows_beside(rows: Any, first: int, count: int) -> Any:
    """The rows of owners from `first` on, sorted, each at its place among so many documents; nulls beside others."""
    place, at = np.full(count, -1, dtype=np.int64), numbers_of(rows["owner"]) - first
    place[at] = np.arange(at.size)
    if not at.size:
        nothing = [arrow.nulls(count, each.type) for each in rows.schema]
        return arrow.RecordBatch.from_arrays(nothing, schema=rows.schema)
    return rows.take(column_of(np.maximum(place, 0), place < 0)).combine_chunks().to_batches()[0]


def write_clusters(
    sketched: Sketched,
    number: int,
    out: str,
    wanted: ClusteringOptions,
    found: RowsBetween,
    verdicts: RowsBetween | None,
    gone: npt.NDArray[np.bool_],
) -> Counts:
    """Write the clusters of a file of sketches, complete or not at all, by the rows of FOUND and VERDICTS.

    Later documents replace those that are `gone`; without verdicts sketches alone decide. Raises StoreError.
    """
    path, target, against = sketched.files[number], target_of(sketched, number, out), bool(wanted.against)
    known = read_footer(os.fspath(path), SKETCHES)
    copied = {name: known[name] for name in ("input", "state", "together", "read")}
    schema, first = cluster_schema(against=against), int(sketched.offsets[number])
    footer = written_footer(CLUSTERS, sketched.form, {**rules_of(wanted), **copied, **_not_compared(path)})
    target.parent.mkdir(parents=True, exist_ok=True)
    counts = Counts(replaced=int(np.count_nonzero(gone)))
    older = known_clusters(path, DECIDED) if number < sketched.older else None
    with own_files.written_whole(target) as file, writer(file, schema, footer) as clusters:
        for start, batch in sketched.batches_in(number, ["id", "row"]):
            count, before, place = batch.num_rows, {}, start - first
            if older is not None:
                decided = older.slice(place, count).combine_chunks()
                before = {name: decided[name].combine_chunks() for name in DECIDED}
            near = rows_beside(found(start, start + count), start, count)
            judged = verdicts and rows_beside(verdicts(start, start + count), start, count)
            is_older = np.full(count, older is not None) if against else None
            columns = cluster_rows(batch, near, judged, gone[place : place + count], is_older, before)
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


BEFORE = "clusters-before"
MEMORY = 2 << 30


@dataclass(frozen=True)
class ClusteringOptions:
    """The options of clustering: `bound` as for `indexer.clustering.clusters.cluster`, `memory` in bytes for sketches.

    `parts` is the number of partitions, by default as the memory requires. `against` is an older folder with sketches
    and clusters; its documents are compared too, and its clusters keep their ids. Components with more than
    `most_grouped` documents are verified bucket by bucket before grouping. `stale` decides on sketches with a missing
    or changed input. With `latest` the last of several documents with one id counts. `permitted` lists the relations
    besides plain copies that may go, by the texts; None lets sketches alone decide.
    """

    rule: MatchRule
    canonical: CanonicalRule
    bound: float | None = None
    memory: int = MEMORY
    parts: int | None = None
    against: str | None = None
    most_grouped: int | None = None
    stale: Stale = "refuse"
    latest: bool = False
    threads: int = field(default_factory=default_jobs)
    permitted: Permitted | None = field(default_factory=Permitted)


def cluster(folder: str, out: str, wanted: ClusteringOptions) -> dict[str, Any]:
    """Write the clusters of a folder's sketches to `out`/clusters, a file for each of sketches; returns the figures.

    Memory: at most 120 bytes a document and its id, and the sketches of a partition or of a larger component. Raises
    StoreError, and UsageError, also for different texts with one id.
    """
    sketched, inputs, counts = sketched_apart(folder, out, wanted)
    figures, against, seconds = ClusteringFigures(), bool(wanted.against), None
    if not wanted.latest:
        sketched.differing.require_none()
    columns = columns_of(wanted.rule, against=against)
    count = wanted.parts or parts_for(sketched.bytes_of(columns), wanted.memory)
    counts.differing = sketched.differing.count
    how = (wanted.rule, wanted.canonical, radius_of(wanted.bound), wanted.threads)
    with finished_in(out) as finish, own_files.temporary_folder(out) as folder_of_spill:
        spill = Path(folder_of_spill)
        found = OwnerRows(spill, "found", FOUND, len(sketched))
        parts = whole(sketched, columns, wanted.rule)
        if count > 1:
            dealt = Parts(
                sketched, wanted.rule, count, spill, figures, wanted.memory, wanted.most_grouped, wanted.threads
            )
            parts = dealt.tables(columns)
        for equal, tables in ((False, parts), (True, equal_documents(sketched, columns))):
            for table, owners in tables:
                counts.compared += 0 if equal else owners.size
                clusters, more = clusters_of(table, owners, *how, equal=equal)
                found.add(clusters)
                figures.add(more)
        verdicts = None
        if wanted.permitted:
            verdicts, seconds = decided(sketched, found, wanted.rule, wanted.permitted, spill, wanted.threads)
        judged = verdicts.between if verdicts else None
        for number in range(len(sketched.files)):
            gone = sketched.without[slice(*sketched.offsets[number : number + 2])]
            counts.add(write_clusters(sketched, number, out, wanted, found.between, judged, gone))
        remove_stale(sketched, out)
        return finish(said_of(sketched, figures, wanted, counts, inputs, seconds))


def sketched_apart(folder: str, out: str, wanted: ClusteringOptions) -> tuple[Sketched, Inputs, Counts]:
    """The sketches of a folder and of the older one, their changed inputs, and the first counts.

    Raises UsageError for an output into the older one, for missing or changed inputs, and if no document has the field
    of the canonical rule; StoreError.
    """
    if wanted.against and os.path.realpath(out) == os.path.realpath(wanted.against):
        raise UsageError(f"--out {out}: is the older batch; name another folder")
    inputs = inputs_for(folder, wanted.against, wanted.stale)
    sketched = Sketched.of(folder, wanted.against)
    return sketched, inputs, Counts(without_field=sketched.lacking(wanted.canonical))


@contextmanager
def finished_in(out: str) -> Iterator[Callable[[dict[str, Any]], dict[str, Any]]]:
    def finish(said: dict[str, Any]) -> dict[str, Any]:
        with own_files.written_whole(Path(out, SUMMARY)) as file:
            file.write(json.dumps(said, indent=1).encode() + b"\n")
        return said

    try:
        Path(out, CLUSTERS).mkdir(parents=True, exist_ok=True)
        for folder in (out, Path(out, CLUSTERS), Path(out, BEFORE)):
            own_files.remove_left(folder)
        Path(out, SUMMARY).unlink(missing_ok=True)
        yield finish
    except OSError as error:
        raise StoreError(f"{error.filename or out}: can't be written: {error.strerror or error}") from error


def remove_stale(sketched: Sketched, out: str) -> None:
    written = {target_of(sketched, number, out) for number in range(len(sketched.files))}
    for stale in (*Path(out, CLUSTERS).glob("*.parquet"), *Path(out, BEFORE).glob("*.parquet")):
        if stale not in written:
            stale.unlink()


def target_of(sketched: Sketched, number: int, out: str) -> Path:
    return Path(out, BEFORE if number < sketched.older else CLUSTERS, sketched.files[number].name)


def rules_of(wanted: ClusteringOptions) -> dict[str, Any]:
    return {
        "rule": wanted.rule.written(whole=True),
        "bound": wanted.bound,
        "canonical": str(wanted.canonical),
        "similarity": wanted.rule.measure.similarity,
        "by_hash_alone": wanted.rule.by_hash_alone,
        "verify": "text" if wanted.permitted else "sketch",
    }


def said_of(
    sketched: Sketched,
    figures: ClusteringFigures,
    wanted: ClusteringOptions,
    counts: Counts,
    inputs: Inputs,
    reading_seconds: float | None,
) -> dict[str, Any]:
    older = sketched.first_new if wanted.against else None
    return {
        **rules_of(wanted),
        **asdict(counts),
        "rule": str(wanted.rule),
        "documents": len(sketched) - counts.replaced,
        "older": older,
        **({"new": None, "repeating": None} if older is None else {}),
        "reading_seconds": reading_seconds and round(reading_seconds, 3),
        "unseen": list(inputs.unseen),
        "stale": list(inputs.stale),
        **figures.shown(),
    }
