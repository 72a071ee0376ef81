"""Fingerprints made elsewhere, put onto their documents in an index."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from indexer.engine.client.base import Client, InexactRecordError
from indexer.engine.client.bulk import BATCH_RECORDS, in_flight, item_at, multi_get, place_of, rounds, unchanged
from indexer.engine.client.names import reading_path
from indexer.engine.documents.fields import mappings_of, require_own_version, require_unharmed, show
from indexer.engine.documents.sinks import Change, Known, in_place, require_allowed
from indexer.engine.index.bodies import OWNERS_FIELD, ROOT, check_id, unpacked_digest
from indexer.engine.store.context import located
from indexer.engine.store.store import SearchStore
from indexer.model import Record, Ref, name_of
from indexer.model.chunking import chunks
from indexer.model.times import Refresh
from indexer.stores import StoreInfo
from indexer.stores.loading import Landed, LoadedStore


class OwnedIndex:
    """An index, alias or data stream of an owner's; its documents are given records and stay otherwise unchanged.

    Raises StoreError if there is none, or a change would harm its documents, and IncompatibleStoreError if its
    fingerprints have another form than `info`. Without `dry_run` neardup's fields are put into the mapping first. With
    `create_missing` records without a document become documents. The client stays open.
    """

    def __init__(
        self,
        client: Client,
        info: StoreInfo,
        *,
        dry_run: bool,
        refresh: Refresh,
        allow_version_change: bool,
        create_missing: bool,
    ) -> None:
        self._client, self._dry_run, self._any_version = client, dry_run, allow_version_change
        self._create_missing = create_missing
        self.shown, self._path = client.target.shown, reading_path(client.target.name)
        mappings = mappings_of(client, self._path)
        self.indices = frozenset(mappings)
        self._single = list(mappings) == [client.target.name]
        require_unharmed(client, self._path, mappings, allow_version_change=allow_version_change)
        if mappings.is_set_up:
            info.require_same_schemes(mappings.schemes().values(), self.shown)
        if not self._single:
            show(client, self._path, required=not dry_run)
        self._sink = in_place(client, info, (), single=self._single, dry_run=dry_run, refresh=refresh)
        self._sink.use([scheme.id for scheme in info.schemes])

    @property
    def store(self) -> SearchStore | None:
        return self._sink.store

    def put(self, records: Sequence[Record]) -> list[Landed]:
        landed = list(in_flight(self._put, chunks(records, BATCH_RECORDS), lambda record: record.ref.id))
        if not self._create_missing:
            return landed
        made = iter(LoadedStore(self.store).put([one.record for one in landed if one.status == "missing"]))
        return [next(made) if one.status == "missing" else one for one in landed]

    def finish(self) -> None:
        self._sink.finish()

    def _put(self, records: list[Record]) -> list[Landed]:
        landed: dict[Ref, Landed] = {}
        left = {record.ref: record for record in records}
        for _ in rounds():
            done = self._changes(left, landed)
            if self._dry_run:
                landed |= {ref: Landed(left[ref], "replaced") for ref in done}
            elif done:
                self._write(done, left, landed)
            left = {ref: record for ref, record in left.items() if ref not in landed}
            if not left:
                break
        for ref, record in left.items():
            landed[ref] = Landed(record, "failed", "others change it all the time; run the same command again")
        return [landed[record.ref] for record in records]

    def _changes(self, left: Mapping[Ref, Record], landed: dict[Ref, Landed]) -> dict[Ref, Change]:
        places = self._places(left, landed)
        found: dict[Ref, dict[str, Any]] = {}
        asked = [{**item_at(place), "_source": [ROOT]} for place in places.values()]
        for (ref, place), hit in zip(places.items(), multi_get(self._client, asked) if asked else (), strict=True):
            if hit.get("found") and hit.get("_routing") == place.routing:
                found[ref] = hit
            else:
                landed[ref] = Landed(left[ref], "missing")
        changes = {}
        for (ref, hit), known in zip(found.items(), self._sink.known(list(found.values())), strict=True):
            if not self._any_version:
                require_own_version(hit, self.shown)
            if known.owners:
                landed[ref] = Landed(left[ref], "failed", OWNERS_FIELD)
            elif is_known(known, left[ref]):
                landed[ref] = Landed(left[ref], "unchanged")
            else:
                place = place_of(hit)
                # The rest of what is known of a document stands in its owner's fields.
                own = replace(left[ref], ref=self._sink.ref(place), metadata={}, container="")
                changes[ref] = Change(place, own, unchanged(hit), known)
        return changes

    def _places(self, left: Mapping[Ref, Record], landed: dict[Ref, Landed]) -> dict[Ref, Ref]:
        places: dict[Ref, Ref] = {}
        loose = [ref.id for ref in left if not ref.index and not self._single]
        known = located(self._client, self._path, loose)
        for ref, record in left.items():
            try:
                check_id(ref.id)
            except InexactRecordError as error:
                landed[ref] = Landed(record, "failed", str(error))
                continue
            if ref.index or self._single:
                places[ref] = Ref(ref.id, ref.index or self._client.target.name, ref.routing)
                continue
            lie = [place for place in known.get(ref.id, ()) if ref.routing in (None, place.routing)]
            if len(lie) > 1:
                named = ", ".join(map(name_of, lie))
                landed[ref] = Landed(record, "failed", f"the id is ambiguous: {named}")
            elif lie:
                places[ref] = lie[0]
            else:
                landed[ref] = Landed(record, "missing")
        return places

    def _write(self, changes: Mapping[Ref, Change], left: Mapping[Ref, Record], landed: dict[Ref, Landed]) -> None:
        results = self._sink.write(list(changes.values()))
        for (ref, change), result in zip(changes.items(), results, strict=True):
            if result.ok:
                landed[ref] = Landed(left[ref], "replaced")
            elif result.is_gone:
                landed[ref] = Landed(left[ref], "missing")
            elif not result.is_changed:
                require_allowed(result, self.shown, change.place)
                landed[ref] = Landed(left[ref], "failed", result.reason)


def is_known(known: Known, record: Record) -> bool:
    same = (known.digest, unpacked_digest(known.own.get("text_digest") or ""), known.source, known.title)
    return known.complete and same == (record.source_digest, record.text_digest, record.source, record.title)
