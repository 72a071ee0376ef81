"""Writing to a store in a search engine: records, annotations, deletions."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from indexer.engine.client.base import InexactRecordError, encoded
from indexer.engine.client.bulk import (
    BATCH_RECORDS,
    ROUNDS,
    Action,
    BulkOutcome,
    batches,
    in_flight,
    item_at,
    multi_get,
    pause,
    place_of,
    rounds,
    send,
    unchanged,
    update,
    version_of,
)
from indexer.engine.index.bodies import (
    OWNERS_FIELD,
    ROOT,
    annotation_fields,
    annotations_of,
    check_id,
    is_owners,
    merged,
    own_part,
)
from indexer.engine.index.keys_beside import KeysRecord, records_beside
from indexer.engine.index.mapping import OWN, Mappings
from indexer.engine.index.source_fields import differing_fields, source_paths
from indexer.engine.setup.removal import foreign_names, lost
from indexer.engine.store.context import EnginePart, located
from indexer.errors import StoreError, UsageError
from indexer.model import Record, Ref
from indexer.model.chunking import chunks
from indexer.stores.base import PutResult, PutStatus, results_of

_FORBIDDEN = 403


@dataclass(frozen=True, slots=True)
class _StoredRecord:
    """A record to be stored: the part under neardup, and its encoded document."""

    ref: Ref
    fields: Mapping[str, Any]
    document: bytes


class WritePart(EnginePart):
    # Records

    def put(self, records: Iterable[Record]) -> Iterator[PutResult]:
        self.require_writable()
        if not self._settled_once:
            self.show()
            self._settled_once = True
        rows = (self._row(record) for record in records)
        try:
            yield from in_flight(
                self._put_batch,
                batches(rows, lambda row: len(row.document) if isinstance(row, _StoredRecord) else 0),
                lambda row: row.ref,
            )
        finally:
            self.wrote()

    def _row(self, record: Record) -> _StoredRecord | PutResult:
        try:
            check_id(record.ref.id)
            fields = self.bodies.fields(record)
            body: dict[str, Any] = {ROOT: fields}
            if self.data_stream:
                body = {"@timestamp": record.indexed_at or "1970-01-01T00:00:00Z", **body}
            encoded({"_id": record.ref.id, "routing": record.ref.routing})
            return _StoredRecord(record.ref, fields, encoded(body))
        except InexactRecordError as error:
            return PutResult(record.ref, PutStatus.FAILED, str(error))

    def _put_batch(self, batch: list[_StoredRecord | PutResult]) -> list[PutResult]:
        self.require_mapped(self.info.schemes, anew=True)
        # Of equal refs in one batch the last is stored; the others were there for a moment that nobody saw.
        last = {row.ref: row for row in batch if isinstance(row, _StoredRecord)}
        done = self._store_rows(list(last.values()))
        self.unseen = True
        stored = [ref for ref, result in done.items() if result.status is not PutStatus.FAILED]
        self.forget_failures(stored)
        return results_of(batch, done)

    def _store_rows(self, rows: list[_StoredRecord]) -> dict[Ref, PutResult]:
        done: dict[Ref, PutResult] = {}
        places: dict[Ref, Ref] = {}
        before = self._landings.indices()
        for row, lie in self._lying(rows) if not self.single else ():
            if len(lie) > 1:
                named = ", ".join(f"{place.index}/{place.id}" for place in lie)
                done[row.ref] = PutResult(row.ref, PutStatus.FAILED, f"the id is ambiguous: {named}")
            elif lie:
                places[row.ref] = lie[0]
        left = [row for row in rows if row.ref not in done]
        # Documents that an earlier try, whose answer was lost, may have created.
        own: set[Ref] = set()
        for number in range(ROUNDS):
            # The first round may only find out which documents are there already.
            pause(max(0, number - 1))
            left = self._replace(left, places, done, own)
            left = self._create(left, places, done, own, before)
            if not left:
                break
        for row in left:
            reason = "others create and delete it all the time"
            done[row.ref] = PutResult(row.ref, PutStatus.FAILED, reason, passing=True)
        return done

    def _lying(self, rows: Sequence[_StoredRecord]) -> Iterator[tuple[_StoredRecord, list[Ref]]]:
        unplaced = [row for row in rows if not row.ref.index]
        known = located(self.client, self.path, [row.ref.id for row in unplaced])
        for row in unplaced:
            yield row, [place for place in known.get(row.ref.id, ()) if row.ref.routing in (None, place.routing)]

    def _create(
        self,
        rows: list[_StoredRecord],
        places: dict[Ref, Ref],
        done: dict[Ref, PutResult],
        own: set[Ref],
        before: frozenset[str],
    ) -> list[_StoredRecord]:
        new = [row for row in rows if row.ref not in places]
        left = [row for row in rows if row.ref in places]
        if not new:
            return left
        name = self.name
        actions = [Action("create", row.ref.index or name, row.ref.id, row.ref.routing, row.document) for row in new]
        created: dict[Ref, tuple[_StoredRecord, BulkOutcome]] = {}
        for row, outcome in zip(new, send(self.client, actions), strict=True):
            if outcome.ok:
                done[row.ref] = PutResult(row.ref, PutStatus.CREATED)
                created[row.ref] = (row, outcome)
            elif outcome.is_changed:
                left.append(row)
                if outcome.again:
                    own.add(row.ref)
                places[row.ref] = Ref(row.ref.id, outcome.index or row.ref.index or name, row.ref.routing)
            else:
                done[row.ref] = _failed(row, outcome)
        if not self.single:
            left += self._undone(created, before, places, done)
        return left

    def _undone(
        self,
        created: Mapping[Ref, tuple[_StoredRecord, BulkOutcome]],
        before: frozenset[str],
        places: dict[Ref, Ref],
        done: dict[Ref, PutResult],
    ) -> list[_StoredRecord]:
        landed = {outcome.index for _, outcome in created.values()}
        self._landings.note(landed)
        if len(landed | before) < 2:
            return []
        self._landings.refreshed(self.show)
        left, actions = [], []
        for row, lie in self._lying([row for row, _ in created.values()]):
            outcome = created[row.ref][1]
            older = [place for place in lie if place.index != outcome.index]
            if len(older) == 1 and len(lie) == 2:
                conditions = {"if_seq_no": outcome.seq_no, "if_primary_term": outcome.primary_term}
                actions.append(Action("delete", outcome.index, row.ref.id, row.ref.routing, conditions=conditions))
                places[row.ref] = older[0]
                left.append(row)
        if not actions:
            return []
        outcomes = send(self.client, actions)
        # A search would go on showing them.
        self.show()
        for row, outcome in zip(list(left), outcomes, strict=True):
            if outcome.ok or outcome.is_gone:
                del done[row.ref]
            else:
                # Somebody has changed it already; then it is his, and both are there.
                left.remove(row)
                done[row.ref] = _failed(row, outcome)
        return left

    def _replace(
        self, rows: list[_StoredRecord], places: dict[Ref, Ref], done: dict[Ref, PutResult], own: set[Ref]
    ) -> list[_StoredRecord]:
        known = [row for row in rows if row.ref in places]
        if not known:
            return rows
        # What stands under the name may have become something of the owner's since the index was set up.
        wanted = [{**item_at(places[row.ref]), "_source": [ROOT]} for row in known]
        hits = multi_get(self.client, wanted)
        actions, asked, gone = [], [], []
        beside: list[KeysRecord] = []
        for row, hit in zip(known, hits, strict=True):
            place = places[row.ref]
            if not hit.get("found"):
                gone.append(row)
            elif reason := self._refusal(hit, place):
                done[row.ref] = PutResult(row.ref, PutStatus.FAILED, reason)
            elif row.ref in own and hit["_source"].get(ROOT) == row.fields:
                done[row.ref] = PutResult(row.ref, PutStatus.CREATED)
            else:
                fields, long = self._within(row, place)
                fields = self.bodies.replacing(fields, own_part(hit["_source"]) or {})
                beside += records_beside(place, fields, long)
                actions.append(update(place, {"doc": {ROOT: fields}}, unchanged(hit)))
                asked.append(row)
        self.beside.put(beside)
        replaced = []
        for row, outcome in zip(asked, send(self.client, actions) if actions else [], strict=True):
            if outcome.ok:
                done[row.ref] = PutResult(row.ref, PutStatus.REPLACED)
                replaced.append(places[row.ref])
            elif outcome.is_gone:
                gone.append(row)
            elif not outcome.is_changed:
                done[row.ref] = _failed(row, outcome)
        self.beside.forget(replaced, beside)
        for row in gone:
            del places[row.ref]
        return [row for row in rows if row.ref not in done]

    def _within(self, row: _StoredRecord, place: Ref) -> tuple[Mapping[str, Any], Mapping[str, Mapping[str, Any]]]:
        if self.mapping_of(place.index).seems_made:
            return row.fields, {}
        return self.bodies.within(row.fields)

    def _refusal(self, hit: Mapping[str, Any], place: Ref) -> str:
        if hit.get("_routing") != place.routing:
            return f"its shard holds the same id with routing {hit.get('_routing')!r}"
        if is_owners(hit.get("_source")):
            return OWNERS_FIELD
        reason = self._loss(hit["_index"])
        return f"{reason}; a change would lose what is left out" if reason else ""

    # Annotations

    def annotate(
        self, annotations: Iterable[tuple[Ref, Mapping[str, Any]]], *, versions: Mapping[Ref, Hashable] | None = None
    ) -> int:
        self.require_writable()
        self.require_mapped(anew=True)
        parts = chunks(annotations, BATCH_RECORDS)
        try:
            # The same document may be named in more than one way, but not by another id.
            count = 0
            write = partial(self._annotate_batch, versions=versions)
            for changed, left in in_flight(write, parts, lambda change: change[0].id):
                count += changed
                self.contended.add(left)
            return count
        finally:
            self.forget_read()
            self.wrote()

    def _annotate_batch(
        self, batch: list[tuple[Ref, Mapping[str, Any]]], versions: Mapping[Ref, Hashable] | None
    ) -> list[tuple[int, list[Ref]]]:
        changes: dict[Ref, dict[str, Any]] = {}
        named: dict[Ref, int] = {}
        for ref, added in batch:
            changes[ref] = {**changes.get(ref, {}), **added}
            named[ref] = named.get(ref, 0) + 1
        count = 0
        left: list[Ref] = []
        for _ in rounds():
            actions, asked = [], []
            for ref, hit in self.remembered(list(changes)).items():
                if hit is None or (versions is not None and version_of(hit) != versions.get(ref)):
                    left += [ref] if hit else []
                    del changes[ref]
                    continue
                try:
                    source = hit["_source"][ROOT]
                    known = merged(annotations_of(source), changes[ref])
                    fields = annotation_fields(self.ref(hit), known, source.get("cluster"))
                    actions.append(update(place_of(hit), {"doc": {ROOT: fields}}, unchanged(hit)))
                except InexactRecordError as error:
                    raise UsageError(f"{ref.id!r}: {error}") from error
                asked.append(ref)
            self._require_whole(
                {action.index for action in actions},
                "to write clusters and marks there would lose what _source leaves out; keep the fingerprints beside "
                "the index (neardup annotate --to)",
            )
            for ref, outcome in zip(asked, send(self.client, actions) if actions else [], strict=True):
                if outcome.ok:
                    count += named[ref]
                elif not (outcome.is_changed or outcome.is_gone):
                    raise StoreError(f"{self.shown}: {ref.id!r} can't be annotated: {outcome.reason}")
                if outcome.ok or outcome.is_gone:
                    del changes[ref]
            self.unseen = True
            if not changes:
                break
        return [(count, [*left, *changes])]

    # Deleting

    def differing(self, pairs: Sequence[tuple[Ref, Ref]]) -> list[list[str]]:
        refs = list(dict.fromkeys(ref for pair in pairs for ref in pair))
        hits = dict(zip(refs, self.fetch(refs, whole=True), strict=True))
        indices = self.mappings.keys() | {hit["_index"] for hit in hits.values() if hit}
        self._require_whole(
            indices, "so what else differs in its documents can't be told; delete in the cluster's own way"
        )
        texts: set[str] = set()
        for index in indices:
            found = self.mapping_of(index)
            if any(field.get("type") == "join" for field in found.properties.values()):
                raise StoreError(
                    f"{self.shown}: {index}: documents have others below them; delete in the cluster's own way"
                )
            known = found.text_fields()
            if known.keys() - {OWN}:
                where = ", ".join(sorted(known.keys() - {OWN}))
                raise UsageError(f"{self.shown}: it has records alone, of documents in {where}; delete there")
            if OWN in known:
                texts.update(source_paths(Mappings({index: found}), known[OWN].names, self.shown))
        return [self._differing(hits[one], hits[other], texts) for one, other in pairs]

    def _differing(
        self, one: Mapping[str, Any] | None, other: Mapping[str, Any] | None, texts: Collection[str]
    ) -> list[str]:
        if one is None or other is None:
            return ["_id"]
        named = differing_fields(one["_source"], other["_source"], texts)
        fields = {name for name in named if name.partition(".")[0] != ROOT}
        for hit in (one, other):
            foreign = foreign_names(hit["_source"], self.mapping_of(hit["_index"]).own_names)
            fields.update(f"{ROOT}.{name}" for name in foreign)
        if one.get("_routing") != other.get("_routing"):
            fields.add("_routing")
        return sorted(fields)

    def delete(
        self, refs: Sequence[Ref], *, versions: Mapping[Ref, Hashable] | None = None, owners: bool = False
    ) -> int:
        """Delete documents; one with fields of its owner's too keeps them, and loses neardup's.

        Raises StoreError for an index whose source does not show which documents these are.
        """
        self.require_writable()
        count = 0
        try:
            for chunk in chunks(dict.fromkeys(refs), BATCH_RECORDS):
                deleted, kept, left = self._delete_batch(chunk, versions, owners)
                count += deleted
                self.contended.add([*left, *kept])
                self.forget_failures([ref for ref in chunk if ref not in kept and ref not in left])
        finally:
            self.wrote()
        return count

    def _delete_batch(
        self, refs: list[Ref], versions: Mapping[Ref, Hashable] | None, owners: bool
    ) -> tuple[int, set[Ref], list[Ref]]:
        count = 0
        kept: set[Ref] = set()
        left = refs
        for _ in rounds():
            hits = {ref: hit for ref, hit in zip(left, self.fetch(left, whole=True), strict=True) if hit}
            self._require_whole(
                {hit["_index"] for hit in hits.values()},
                "so neardup can't tell an owner's document from its own, and to take its values out would lose what "
                "_source leaves out; delete in the cluster's own way",
            )
            if versions is not None:
                kept |= {ref for ref, hit in hits.items() if version_of(hit) != versions.get(ref)}
                hits = {ref: hit for ref, hit in hits.items() if ref not in kept}
            left, stripped = [], []
            for ref, outcome in zip(hits, self._stripper.strip(list(hits.values()), owners=owners), strict=True):
                if outcome.ok:
                    count += 1
                    stripped.append(place_of(hits[ref]))
                    if outcome.result != "deleted":
                        self.stripped.append(ref)
                elif outcome.is_changed:
                    left.append(ref)
                elif not outcome.is_gone:
                    raise StoreError(f"{self.shown}: {ref.id!r} can't be deleted: {outcome.reason}")
            self.beside.forget(stripped)
            self.unseen = self.unseen or bool(hits)
            if not left:
                break
        return count, kept, left

    def _loss(self, index: str) -> str:
        if index not in self._losses:
            self._losses[index] = lost(self.client, self.mapping_of(index))
        return self._losses[index]

    def _require_whole(self, indices: Iterable[str], act: str) -> None:
        for index in sorted(set(indices)):
            if reason := self._loss(index):
                raise StoreError(f"{self.shown}: {index}: {reason}; {act}")


def _failed(row: _StoredRecord, outcome: BulkOutcome) -> PutResult:
    # An index that may not be written now is no fault of the document's.
    passing = outcome.is_changed or outcome.status == _FORBIDDEN
    return PutResult(row.ref, PutStatus.FAILED, outcome.reason, passing=passing)
