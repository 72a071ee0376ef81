"""Clusters of sketches in files, by one process, in bounded memory."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from indexer.batch.clusters.deciding import decided
from indexer.batch.clusters.grouping import FOUND, ClusteringFigures, clusters_of, columns_of
from indexer.batch.clusters.partitioning import Parts, equal_documents, parts_for, whole
from indexer.batch.clusters.spilling import OwnerRows
from indexer.batch.clusters.writing import Counts, RowsBeside, write_clusters
from indexer.batch.reading import CLUSTERS, SUMMARY, Sketched
from indexer.batch.sketches.inputs import Inputs, Stale, inputs_for
from indexer.clustering.canonical import CanonicalRule
from indexer.clustering.grouping import radius_of
from indexer.clustering.verdicts import Permitted
from indexer.errors import StoreError, UsageError
from indexer.ingest.indexing import default_jobs
from indexer.matching.rule import MatchRule
from indexer.model import own_files

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
        for number, path in enumerate(sketched.files):
            first, end = sketched.offsets[number : number + 2].tolist()
            judged, gone = verdicts.between if verdicts else None, sketched.without[first:end]
            rows = RowsBeside(first, found.between, judged, gone, number < sketched.older)
            target = target_of(sketched, number, out)
            counts.add(write_clusters(path, target, sketched.form, rules_of(wanted), rows, against=against))
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
