"""What the tests of batches share: the same documents as files and in a store, and what either says of them."""

from __future__ import annotations

import random
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from indexer.batch.clusters.clustering import MEMORY, ClusteringOptions
from indexer.batch.clusters.clustering import cluster as cluster_batch
from indexer.batch.form import Form, Making
from indexer.batch.reading import rule_of
from indexer.batch.sketches.parts import parts_of
from indexer.batch.sketches.sketching import sketch
from indexer.clustering.annotations import version_of
from indexer.clustering.canonical import CanonicalRule
from indexer.clustering.clusters import cluster as cluster_store
from indexer.extract.base import Limits
from indexer.ingest.indexing import Settings, index, store_info
from indexer.ingest.sources import Selection, Sources
from indexer.library.opening import open_store
from indexer.matching.rule import parse_rule
from indexer.model import own_cluster_id
from indexer.model.counts import SketchingCounts
from indexer.schemes import registry

MINHASH = registry.scheme("minhash").id
LONGEST = CanonicalRule("longest")
Row = tuple[str, bool, float, int | None, bool]


@dataclass(frozen=True)
class Case:
    """Documents by id, with their time, and how they are compared; `schemes` are those beside simhash-doc.

    With `versions` they have URLs with version numbers.
    """

    texts: Mapping[str, str]
    rule: str | None = None
    schemes: tuple[str, ...] = (MINHASH,)
    canonical: CanonicalRule = LONGEST
    bound: float | None = None
    versions: bool = False

    @property
    def form(self) -> Form:
        return Form(self.schemes, time_field="seen")

    def rows(self) -> list[dict[str, Any]]:
        # No two at one time: between these a store and a batch decide by what each of them knows.
        rows = [{"id": name, "text": text, "seen": seen_of(name)} for name, text in self.texts.items()]
        if self.versions:
            # Of each cluster some are versions of one page, and some of others.
            for place, row in enumerate(rows):
                row["url"] = f"https://e.org/{place * 7 % 5}.{place * 11 % 13}/{'abc'[place % 3]}.html"
        return rows


def seen_of(name: str) -> str:
    """When a document was there first, of which some were on the same day."""
    return f"2026-01-{sum(name.encode()) % 28 + 1:02}T00:00:00.{zlib.crc32(name.encode()) % 1_000_000:06}Z"


def write_files(folder: Path, rows: Sequence[Mapping[str, Any]], files: int, seed: int = 0) -> Path:
    """The rows in any order as so many files of Parquet."""
    folder.mkdir(parents=True, exist_ok=True)
    order = list(rows)
    random.Random(seed).shuffle(order)
    for number in range(min(files, len(order))):
        pq.write_table(pa.Table.from_pylist(order[number::files]), folder / f"{number}.parquet")
    return folder


def sketched(path: Path, out: Path, form: Form, jobs: int = 2, **selection: Any) -> SketchingCounts:
    sources = Sources([str(path)], Selection(base=str(out.parent), **selection))
    return sketch(sources, parts_of(sources, print), str(out), Making(form, Limits(), jobs))


def clusters_in(out: Path) -> dict[str, Row]:
    """By id: its cluster, whether it is the canonical document, how similar to that, its version, if the latest."""
    found: dict[str, Row] = {}
    for path in sorted(out.glob("clusters/*.parquet")):
        for row in pq.read_table(path).to_pylist():
            if row["cluster"] is not None:
                assert row["id"] not in found
                found[row["id"]] = row_of(row)
    return found


def row_of(row: Any) -> Row:
    """What the clusters of a batch say of a document, by the columns of files or of frames."""
    return row["cluster"], row["is_canonical"], row["similarity"], row["version"], row["is_latest"]


def by_batch(
    case: Case,
    folder: Path,
    *,
    files: int = 1,
    parts: int | None = None,
    seed: int = 0,
    most_grouped: int | None = None,
    memory: int = MEMORY,
) -> tuple[dict[str, Row], dict[str, Any]]:
    """What a batch makes of the documents, in so many files and partitions, and what it says of it."""
    given = write_files(folder / "in", case.rows(), files, seed)
    sketched(given, folder / "out", case.form)
    rule, canonical = rule_of(case.form, case.rule), case.canonical
    wanted = ClusteringOptions(rule, canonical, case.bound, memory, parts, most_grouped=most_grouped, threads=1)
    said = cluster_batch(str(folder / "out"), str(folder / "out"), wanted)
    # No two runs take the same.
    del said["reading_seconds"]
    return clusters_in(folder / "out"), said


def by_store(case: Case, folder: Path) -> tuple[dict[str, Row], Any]:
    """What a new store makes of them."""
    folder.mkdir(parents=True, exist_ok=True)
    given = write_files(folder / "stored", case.rows(), 1)
    schemes = [registry.scheme(name) for name in case.schemes]
    info = store_info("landmarks", schemes)
    with open_store(folder / "first.neardup", create=info) as store:
        done = index(Sources([str(given)]), store, Settings(jobs=1, schemes=schemes))
        assert not done.failures
        # What a store notes as the time is that of the indexing.
        records = [replace(record, indexed_at=seen_of(record.ref.id)) for record in store.scan()]
    with open_store(folder / "second.neardup", create=info) as store:
        assert all(result.status.value == "created" for result in store.put(records))
        rule = parse_rule(case.rule, store) if case.rule else None
        from indexer.matching.rule import default_rule

        said = cluster_store(store, rule or default_rule(store), bound=case.bound, canonical=case.canonical, threads=1)
        found: dict[str, Row] = {}
        for ref, noted in store.scan_annotations():
            known = noted.get("cluster") or {"id": own_cluster_id(ref), "is_canonical": True, "similarity": 1.0}
            found[ref.id] = (known["id"], known["is_canonical"], known["similarity"], *version_of(noted))
    return found, said
