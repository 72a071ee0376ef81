"""The documents of a batch as records and failures of a store."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from indexer.batch.arrow import arrow, column_of
from indexer.batch.clusters.clustering import BEFORE
from indexer.batch.clusters.describing import DIGESTS
from indexer.batch.form import Form, column_name, read_footer, sketch_schema
from indexer.batch.reading import CLUSTERS, SUMMARY, Sketched, batches_of, clustering_of, clusters_of, rule_of
from indexer.batch.sketches.parts import SKETCHES, Stale, inputs_for
from indexer.clustering.canonical import CanonicalRule, read_canonical
from indexer.clustering.memory import ClusterSettings
from indexer.core.sketches import simhash_keys
from indexer.errors import StoreError
from indexer.model import SIMHASH_DOC, ClusteringNote, Fingerprint, Record, Ref, Sketch, to_unsigned

_NEAR = ("near_to", "near_similarity", "duplicate_of", "relation")
MEMBERSHIP = ("id", "cluster", "is_canonical", "similarity", "size", *_NEAR)
_TOGETHER = 4000


@dataclass(frozen=True, slots=True)
class Places:
    """The fields of a document's metadata with its index and its routing; empty for none.

    An index is one of `indices`. Documents `scattered` over several are searched for if they name none.
    """

    index: str = ""
    routing: str = ""
    indices: frozenset[str] = frozenset()
    scattered: bool = False

    @property
    def named(self) -> bool:
        return bool(self.index or self.routing)

    def of(self, name: str, metadata: Mapping[str, Any]) -> Ref:
        index, routing = (metadata.get(column) if column else None for column in (self.index, self.routing))
        where = "" if index is None else str(index)
        if where in self.indices and not self.scattered:
            # In a store of one index identities don't repeat its name.
            where = ""
        return Ref(name, where, None if routing is None else str(routing))


@dataclass(frozen=True, slots=True)
class BatchRow:
    """A document of a batch: its record, without a time, and the reason if it `failed`."""

    record: Record
    failed: str | None = None


@dataclass(frozen=True)
class Batch:
    """The sketches of a folder, and their clusters if there are any, in the same folder or another one.

    `note` says how the clusters were made, `rule` the same for people. `before` are files with the current clusters of
    older documents.
    """

    sketched: Sketched
    clusters: Path | None
    note: ClusteringNote | None
    rule: str | None = None
    before: tuple[Path, ...] = ()

    @classmethod
    def of(cls, folder: str, clusters: str | None = None, *, stale: Stale = "refuse") -> Batch:
        """The batch of a folder. Raises StoreError without sketches, or for unfinished or other clusters.

        Raises UsageError for missing or changed inputs unless `stale` is "keep"; IncompatibleStoreError for sketches of
        several forms, or of another version of neardup.
        """
        inputs_for(folder, stale=stale)
        sketched, where = Sketched.of(folder), Path(clusters or folder)
        if clusters is None and not (where / SUMMARY).exists() and not (where / CLUSTERS).exists():
            return cls(sketched, None, None)
        clustering_of(os.fspath(where))
        for path in sketched.files:
            made = where / CLUSTERS / path.name
            if not made.exists() or _state(made, CLUSTERS) != _state(path, SKETCHES):
                raise StoreError(f"{made}: the sketches have changed since; run neardup batch cluster again")
        said = read_footer(os.fspath(where / CLUSTERS / sketched.files[0].name), CLUSTERS)
        canonical = read_canonical(said["canonical"])
        if canonical.kind == "earliest" and sketched.form.time_field:
            # What a store calls the earliest is what it was given first.
            canonical = CanonicalRule("field", sketched.form.time_field)
        rule = rule_of(sketched.form, said["rule"])
        noted = ClusterSettings(rule, said["bound"], canonical).note()
        return cls(sketched, where / CLUSTERS, noted, str(rule), tuple(sorted((where / BEFORE).glob("*.parquet"))))

    @property
    def form(self) -> Form:
        return self.sketched.form

    def __len__(self) -> int:
        return int(len(self.sketched) - np.count_nonzero(self.sketched.without))

    def rows(self, places: Places) -> Iterator[list[BatchRow]]:
        for path, batch, _ in self._read(sketch_schema(self.form).names, with_clusters=False):
            said = read_footer(os.fspath(path), SKETCHES)
            yield _rows_of(batch, self.form, places, "" if said["together"] else said["input"])

    def members(self, places: Places) -> Iterator[tuple[list[Ref], Any]]:
        columns = ["id", "metadata"] if places.named else ["id"]
        for _, batch, clusters in self._read(columns, with_clusters=True):
            yield _refs_of(batch, places), clusters

    def older(self) -> Iterator[tuple[list[str], Any]]:
        for path in self.before:
            for _, batch in batches_of(path, 0, MEMBERSHIP):
                kept = batch.filter(batch["cluster"].is_valid())
                yield kept["id"].to_pylist(), arrow.Table.from_batches([kept])

    def _read(self, columns: Sequence[str], *, with_clusters: bool) -> Iterator[tuple[Path, Any, Any]]:
        for path, place in zip(self.sketched.files, self.sketched.offsets.tolist(), strict=False):
            known = clusters_of(path, MEMBERSHIP, self.clusters) if self.clusters and with_clusters else None
            for start, batch in batches_of(path, place, columns):
                for first in range(0, batch.num_rows, _TOGETHER):
                    part = batch.slice(first, _TOGETHER)
                    at = start + first
                    kept = column_of(~self.sketched.without[at : at + part.num_rows])
                    clusters = known and known.slice(at - place, part.num_rows).filter(kept)
                    yield path, part.filter(kept), clusters


def _state(path: Path, kind: str) -> Any:
    return read_footer(os.fspath(path), kind)["state"]


def _refs_of(batch: Any, places: Places) -> list[Ref]:
    names = batch["id"].to_pylist()
    if not places.named:
        return [Ref(name) for name in names]
    return [places.of(name, _json(text)) for name, text in zip(names, batch["metadata"].to_pylist(), strict=True)]


def _json(text: str | None) -> dict[str, Any]:
    return json.loads(text) if text else {}


def _rows_of(batch: Any, form: Form, places: Places, container: str) -> list[BatchRow]:
    columns = {name: batch[name].to_pylist() for name in batch.schema.names}
    values = [0 if bits is None else to_unsigned(bits) for bits in columns[column_name(SIMHASH_DOC)]]
    keys = simhash_keys(np.array(values, dtype=np.uint64)).tolist()
    metadata = [_json(text) for text in columns["metadata"]]
    sketches = [_sketches_of(columns, form, place) for place in range(batch.num_rows)]
    rows = []
    for place, name in enumerate(columns["id"]):
        source, failed = columns["source"][place], columns["failed"][place]
        has_words = columns[column_name(SIMHASH_DOC)][place] is not None
        own = Fingerprint(values[place], columns["tokens"][place]).sketches(keys[place]) if has_words else {}
        taken: dict[str, Any] = {name: columns[name][place] for name in ("short", "title", "format", "extractor")}
        taken |= {name: (columns[name][place] or b"").hex() for name in ("source_digest", *DIGESTS)}
        inside = not container or source == container or source.startswith(f"{container}/")
        record = Record(
            ref=places.of(name, metadata[place]),
            sketches=own if failed else own | sketches[place],
            source=source,
            size=columns["bytes"][place],
            metadata=metadata[place],
            container="" if inside else container,
            **taken,
        )
        rows.append(BatchRow(record, failed))
    return rows


def _sketches_of(columns: Mapping[str, list[Any]], form: Form, place: int) -> dict[str, Sketch]:
    made = {}
    for scheme in form.made:
        name = column_name(scheme.family)
        payload, features = columns[name][place], columns[f"{name}_features"][place]
        keys = tuple(columns[f"{name}_keys"][place])
        made[scheme.family] = Sketch(scheme.id, payload, keys, features)
    return made
