"""Load a batch into a store: its documents as records and failures, with its clusters and rule."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from indexer.batch.arrow import arrow, bytes_of, column_of, compute, flags_of, numbers_of, present_in, schema_of
from indexer.batch.clusters.clustering import BEFORE
from indexer.batch.clusters.describing import DIGESTS
from indexer.batch.form import Form, column_name, read_footer, sketch_schema
from indexer.batch.reading import CLUSTERS, SUMMARY, Sketched, batches_of, clustering_of, clusters_of, rule_of
from indexer.batch.sketches.parts import SKETCHES, Stale, inputs_for
from indexer.clustering.annotations import READ_AT_ONCE
from indexer.clustering.assign import Assigner, Changes
from indexer.clustering.canonical import CanonicalRule, read_canonical
from indexer.clustering.choosing import Choice
from indexer.clustering.memory import ClusterSettings
from indexer.core.sketches import simhash_keys
from indexer.errors import IncompatibleStoreError, StoreError
from indexer.model import (
    CLUSTER_ID_LENGTH,
    SIMHASH_DOC,
    ClusteringNote,
    Failure,
    Fingerprint,
    Record,
    Ref,
    Sketch,
    name_of,
    own_cluster_id,
    to_unsigned,
)
from indexer.model.chunking import chunks, chunks_by_size
from indexer.model.counts import LoadingCounts
from indexer.model.refs import RefTable, ref_order
from indexer.model.times import now
from indexer.relations.relation import WORDS
from indexer.schemes.base import Positions
from indexer.stores.base import Store
from indexer.stores.loading import Landed, RecordDestination

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
            there = made.exists() and read_footer(os.fspath(made), CLUSTERS)["state"]
            if there != read_footer(os.fspath(path), SKETCHES)["state"]:
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

    def rows(self, places: Places) -> Iterator[list[tuple[Record, str | None]]]:
        """The documents: the record of each, without a time, and the reason if it failed."""
        for path, batch, _ in self._read(sketch_schema(self.form).names, with_clusters=False):
            said = read_footer(os.fspath(path), SKETCHES)
            yield _rows_of(batch, self.form, places, "" if said["together"] else said["input"])

    def members(self, places: Places) -> Iterator[tuple[list[Ref], Any]]:
        columns = ["id", "metadata"] if places.named else ["id"]
        for _, batch, clusters in self._read(columns, with_clusters=True):
            names = batch["id"].to_pylist()
            texts = batch["metadata"].to_pylist() if places.named else [None] * len(names)
            yield [places.of(name, _json(text)) for name, text in zip(names, texts, strict=True)], clusters

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


def _json(text: str | None) -> dict[str, Any]:
    return json.loads(text) if text else {}


def _rows_of(batch: Any, form: Form, places: Places, container: str) -> list[tuple[Record, str | None]]:
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
        rows.append((record, failed))
    return rows


def _sketches_of(columns: Mapping[str, list[Any]], form: Form, place: int) -> dict[str, Sketch]:
    made = {}
    for scheme in form.made:
        name = column_name(scheme.family)
        payload, features = columns[name][place], columns[f"{name}_features"][place]
        keys = tuple(columns[f"{name}_keys"][place])
        made[scheme.family] = Sketch(scheme.id, payload, keys, features)
    return made


_ID = f"S{CLUSTER_ID_LENGTH}"
_GIVEN = schema_of(
    "cluster string, is_canonical bool, similarity double, near_to string, near_similarity double, relation string, "
    "duplicate_of string"
)
# A rank above every similarity.
_CANONICAL = 2.0
_SHOWN = 5


@dataclass
class Loaded(LoadingCounts):
    """The counts of a load, and the `changes` of clusters."""

    changes: Changes = field(default_factory=Changes)


def load(
    batch: Batch,
    into: RecordDestination,
    *,
    places: Places | None = None,
    dry_run: bool = False,
    summary: Loaded | None = None,
) -> Loaded:
    """Put the documents of a batch into a store, with their clusters and rule; another run does the rest.

    Memory: 100 bytes and three ids for each document of a cluster. Raises StoreError, and IncompatibleStoreError if the
    store's clusters have another rule.
    """
    counts = summary if summary is not None else Loaded()
    run = _LoadRun(batch, into, places or Places(), counts)
    counts.total = len(batch)
    run.require_same_rule()
    if dry_run:
        run.put_records(dry_run=True)
        return counts
    run.begin()
    run.put_records()
    into.finish()
    run.put_clusters()
    run.end()
    into.finish()
    return counts


class _LoadRun:
    def __init__(self, batch: Batch, into: RecordDestination, places: Places, summary: Loaded) -> None:
        self._batch, self._into, self._places, self.summary = batch, into, places, summary
        store = into.store
        self._notes = {} if store is None or store.created else store.clustering_notes()
        self._had_clusters = bool(self._notes) or bool(store and next(store.clusters(), None))
        self._broken = not all(note.finished for note in self._notes.values())
        self._older = 0

    @property
    def _store(self) -> Store:
        assert self._into.store is not None  # noqa: S101 only a dry run has none
        return self._into.store

    def require_same_rule(self) -> None:
        wanted = self._batch.note
        for note in self._notes.values() if wanted and self._into.store else ():
            kinds = [(each.rule, each.bound, each.canonical) for each in (note, wanted) if each]
            if kinds[0] != kinds[1] and self._store.count():
                named = (f"{rule}" + f", bound {bound}" * bool(bound) + f", {kind}" for rule, bound, kind in kinds)
                raise IncompatibleStoreError(
                    f"the clusters of the store are by {next(named)}; those of the batch by {next(named)}: cluster one "
                    "of them again by the rule of the other, or load into a new store"
                )

    def begin(self) -> None:
        if self._batch.note:
            self._store.put_clustering_note(replace(self._batch.note, finished=False))

    def end(self) -> None:
        store, noted = self._store, self._batch.note
        self.summary.others = max(0, store.count() - self.summary.stored - self._older)
        if noted is None:
            return
        noted = replace(noted, at=now())
        if self.summary.others:
            # Documents of the batch were not compared with those.
            notes = self._notes.values()
            noted = replace(
                noted,
                at=min((note.at for note in notes), default=""),
                arrived=tuple(run for note in notes for run in note.arrived),
            )
            if self._broken:
                store.put_clustering_note(replace(noted, finished=False))
                return
        store.put_clustering_note(noted)

    # Records

    def put_records(self, *, dry_run: bool = False) -> None:
        at, store = now(), self._into.store
        known = {} if store is None else {failure.ref: (failure.reason, failure.detail) for failure in store.failures()}
        for rows in self._batch.rows(self._places):
            failures = []
            for landed in self._landed(rows):
                record = landed.record
                reason, _, detail = landed.reason.partition(": ")
                self._count(landed, reason)
                if landed.status == "failed" and known.get(record.ref) != (reason, detail):
                    failures.append(Failure(record.ref, record.source, reason, detail, at))
            if store is not None and not dry_run:
                store.put_failures(failures)

    def _landed(self, rows: Sequence[tuple[Record, str | None]]) -> list[Landed]:
        wanted, landed = [], []
        for record, failed in rows:
            index = record.ref.index
            if failed is not None:
                landed.append(Landed(record, "failed", failed))
            elif index and index not in self._places.indices:
                landed.append(Landed(record, "failed", f"refused: {index!r} is not an index of this store"))
            else:
                # One after the other, so that the store knows the order of the batch.
                wanted.append(replace(record, indexed_at=now()))
        put = self._into.put(wanted)
        return landed + [
            replace(one, reason=f"refused: {one.reason}") if one.status == "failed" else one for one in put
        ]

    def _count(self, landed: Landed, reason: str) -> None:
        counts, status = self.summary, landed.status
        if status == "failed":
            counts.failed[reason] += 1
        elif status == "missing":
            counts.missing += 1
            if len(counts.first_missing) < _SHOWN:
                counts.first_missing.append(name_of(landed.record.ref))
        else:
            counts.created += status == "created"
            counts.replaced += status == "replaced"
            counts.unchanged += status == "unchanged"
            counts.empty += not landed.record.has_words
            counts.short += landed.record.short

    # Clusters

    def put_clusters(self) -> None:
        if self._batch.note is None:
            return
        assigner = Assigner(self._store, CanonicalRule())
        members = _Members()
        for refs, rows in self._batch.members(self._places):
            singles = members.add(self._lying(refs), rows)
            assigner.set_alone(singles if self._had_clusters else ())
        for names, rows in self._batch.older():
            refs = self._lying(list(map(Ref, names)), searched=self._places.named)
            self._older += sum(known is not None for known in self._store.annotations(refs))
            singles = members.add(refs, rows)
            assigner.set_alone(singles if self._had_clusters else ())
        kept = members.assign(assigner, lambda refs: self._lying(refs, searched=self._places.named))
        if self._had_clusters:
            _forget(self._store, assigner, kept)
        self.summary.changes = assigner.changes

    def _lying(self, refs: Sequence[Ref], *, searched: bool = False) -> list[Ref]:
        if not (searched or self._places.scattered):
            return list(refs)
        loose = list(dict.fromkeys(ref.id for ref in refs if not ref.index))
        found = dict(zip(loose, self._store.find_each(loose), strict=True)) if loose else {}
        whole = []
        for ref in refs:
            lie = [
                place for place in found.get(ref.id, ()) if place.id == ref.id and ref.routing in (None, place.routing)
            ]
            whole.append(lie[0] if len(lie) == 1 else ref)
        return whole


class _Members:
    """The documents of clusters, and documents alone in theirs that repeat one of another."""

    def __init__(self) -> None:
        self._refs, self._rows = RefTable(), [_GIVEN.empty_table()]

    def add(self, refs: Sequence[Ref], rows: Any) -> list[Ref]:
        # What is alone and equal is too short to be compared, and stands by itself in a store.
        differs = compute.less(compute.fill_null(rows["near_similarity"], 1.0), 1.0)
        together = compute.or_(compute.greater(rows["size"], 1), differs)
        self._rows.append(rows.select(_GIVEN.names).filter(together))
        inside = flags_of(together)
        self._refs.extend(refs[place] for place in np.flatnonzero(inside).tolist())
        return [refs[place] for place in np.flatnonzero(~inside).tolist()]

    def assign(self, assigner: Assigner, lying: Callable[[Sequence[Ref]], Sequence[Ref]]) -> npt.NDArray[np.bytes_]:
        rows = arrow.concat_tables(self._rows).combine_chunks()
        ranks = np.where(flags_of(rows["is_canonical"]), _CANONICAL, numbers_of(rows["similarity"]))
        parts = [bytes_of(part).matrix(CLUSTER_ID_LENGTH).reshape(-1) for part in rows["cluster"].chunks]
        names = np.concatenate([np.empty(0, dtype=np.uint8), *parts]).view(_ID)
        order = np.argsort(names, kind="stable")
        starts = np.flatnonzero(names[order][1:] != names[order][:-1]) + 1
        groups = np.split(order, starts) if order.size else []

        def similar(_canonical: Positions, members: Positions) -> npt.NDArray[np.float64]:
            return np.asarray(np.minimum(ranks[members], 1.0), dtype=np.float64)

        stands, shares = self._repeated(rows, lying)

        def choice(members: Positions, _ranks: Positions) -> Choice:
            return Choice(stands[members], shares[members])

        kept: list[str] = []
        for some in chunks_by_size(groups, READ_AT_ONCE, len, READ_AT_ONCE):
            positions = np.concatenate(some)
            refs = self._refs.take(positions)
            assigner.rule = _Given(
                ranks={ref.id: float(ranks[place]) for ref, place in zip(refs, positions, strict=True)}
            )
            told = rows.select(["near_to", "relation", "duplicate_of"]).take(column_of(positions)).to_pydict().values()
            known = [
                (ref, *each) for ref, *each in zip(refs, *told, strict=True) if each[0] is not None and each[1] in WORDS
            ]
            assigner.relations.given = {ref: word for ref, _, word, _ in known}
            assigner.relations.given_to = {ref: gone for ref, near, _, gone in known if gone not in (None, near)}
            kept += assigner.assign(self._refs, some, similar, choice)
        return np.sort(np.array(kept, dtype=_ID))

    def _repeated(
        self, rows: Any, lying: Callable[[Sequence[Ref]], Sequence[Ref]]
    ) -> tuple[Positions, npt.NDArray[np.float64]]:
        count, ids = len(self._refs), rows["near_to"].drop_null().to_pylist()
        wanted, place = set(ids), dict[str, int]()
        place.update((ref.id, at) for at, ref in enumerate(self._refs) if ref.id in wanted)
        alone = sorted(wanted - place.keys())
        place.update((name, count + at) for at, name in enumerate(alone))
        self._refs.extend(lying([Ref(name) for name in alone]))
        stands, shares = np.arange(count), np.ones(count)
        repeating = present_in(rows["near_to"])
        stands[repeating] = [place[name] for name in ids]
        shares[repeating] = numbers_of(rows["near_similarity"])[repeating]
        return stands, shares


@dataclass(frozen=True, slots=True)
class _Given(CanonicalRule):
    """The canonical documents chosen by a batch, by the rank of each member; the nearest if one is gone."""

    ranks: Mapping[str, float] = field(default_factory=dict)

    def key(self, record: Record, owners: Mapping[str, Any] = {}) -> tuple[Any, ...]:  # noqa: ARG002 the ranks say it
        return -self.ranks.get(record.ref.id, 0.0), *ref_order(record.ref)


def _forget(store: Store, assigner: Assigner, kept: npt.NDArray[np.bytes_]) -> None:
    gone: list[str] = []
    for page in chunks(store.clusters(), READ_AT_ONCE):
        names = np.array([cluster.id.encode("utf-8", "replace") for cluster in page])
        others = [one.id for one, there in zip(page, np.isin(names, kept).tolist(), strict=True) if not there]
        members = store.cluster_members(others) if others else ()
        # The document that a cluster was named after keeps the name where it is alone.
        there = {name for name, ref in members if name != own_cluster_id(ref)}
        gone += [name for name in others if name not in there]
    assigner.remove_clusters(gone)
