"""The sinks for annotate's fingerprints."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from indexer.engine.client.base import Client, InexactRecordError
from indexer.engine.client.bulk import BATCH_RECORDS, Action, BulkOutcome, item_at, place_of, send, update
from indexer.engine.client.names import indices_of, matches, reading_path
from indexer.engine.index.bodies import ROOT, Bodies, is_owners, own_part, unpacked_digest
from indexer.engine.index.keys_beside import KeysRecord, records_beside
from indexer.engine.index.mapping import named
from indexer.engine.index.sketches import BESIDE, FEATURES
from indexer.engine.index.source_fields import ASIDE
from indexer.engine.setup.provision import Provision
from indexer.engine.store.store import SearchStore
from indexer.errors import StoreError, UsageError
from indexer.model import SIMHASH_DOC, Failure, Record, Ref
from indexer.model.chunking import chunks
from indexer.model.times import Refresh
from indexer.schemes import registry
from indexer.schemes.base import Scheme
from indexer.schemes.keys.layout import SchemeInfo
from indexer.schemes.registry import split
from indexer.stores import PutStatus, StoreInfo
from indexer.stores.schemes import corpus_of, wanted_schemes, with_schemes
from indexer.stores.texts import document_of, metadata_of
from indexer.text.corpus import Corpus

_DONE, _REFUSED, _FORBIDDEN = 200, 400, 403
_ROUTING = "?routing="


@dataclass(frozen=True, slots=True)
class Known:
    """The stored state of a document: nothing (`there` False), or its record's digest, source and title.

    `pending` says that an ingest pipeline left a mark instead of a fingerprint; `complete` that the digest of the text
    and all wanted sketches are there; `owners` that the document has a field `neardup` of its owner's; `is_clustered`
    that it is known to be in a cluster with others. `own` is neardup's part.
    """

    there: bool = False
    digest: str = ""
    source: str = ""
    title: str = ""
    complete: bool = True
    pending: bool = False
    owners: bool = False
    is_clustered: bool = False
    own: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class Change:
    """The new record of a document: its place, the conditions of its being as read, and its former state."""

    place: Ref
    record: Record
    conditions: Mapping[str, Any]
    known: Known


def require_allowed(outcome: BulkOutcome, shown: str, place: Ref) -> None:
    if outcome.status == _FORBIDDEN:
        raise StoreError(f"{shown}: {place.index} can't be written: {outcome.reason}; lift that, or {ASIDE}")


class Sink(ABC):
    """The destination of records; write() is called by several threads at once, everything else by one."""

    # The index with the fingerprints; none in a dry run that would make it.
    store: SearchStore | None = None
    fields: Sequence[str] = ()
    schemes: Sequence[Scheme] = ()
    # The names of the schemes of an index beside that was there before.
    had: Sequence[str] | None = None
    removed = 0

    @property
    def identity(self) -> str:
        """The identity of an index beside; a later one of the same name has another."""
        return ""

    def use(self, specifications: Sequence[str]) -> None:
        """Keep sketches by these schemes, and by existing ones; a dry run only remembers them."""
        if self.store:
            self.schemes = wanted_schemes(self.store, specifications)
            for scheme in self.schemes if not self.store.read_only else ():
                self.store.add_scheme(scheme.info)

    @abstractmethod
    def ref(self, place: Ref) -> Ref:
        """The identity under which the document at (index, id, routing) is stored."""

    def source(self, place: Ref) -> str:  # noqa: ARG002 a document says itself where it is
        return ""

    @abstractmethod
    def known(self, hits: Sequence[Mapping[str, Any]]) -> list[Known]:
        """The stored state of each of these documents; their `_source` has this sink's `fields`."""

    @abstractmethod
    def write(self, batch: list[Change]) -> list[BulkOutcome]: ...

    def put_failures(self, failures: Sequence[Failure]) -> None:
        if self.store:
            self.store.put_failures(failures)

    @abstractmethod
    def finish(self, *, whole: bool = True) -> None:
        """Make changes visible, and clear up; not `whole` if no document can be gone."""


def in_place(
    client: Client, info: StoreInfo, specifications: Sequence[str], *, single: bool, dry_run: bool, refresh: Refresh
) -> InPlace:
    """The sink in the owner's documents; puts neardup's fields into the mapping first, unless in a dry run.

    Raises UsageError if the mapping lacks room for all, or one can't be made. Then none is added, because no mapping
    can give up a field.
    """
    provision = Provision(client)
    # Annotating needs the fields; templates are for `neardup setup`, which may ask for more privileges.
    steps = provision.fields(info, _asked(client, provision, specifications))
    if dry_run:
        return InPlace(Bodies(info), single, None)
    list(provision.carry_out(steps))
    store = SearchStore(client)
    store.refresh = refresh
    store.put_back()
    return InPlace(Bodies(info), single, store)


def _asked(client: Client, provision: Provision, specifications: Sequence[str]) -> list[SchemeInfo]:
    there = provision.schemes()
    new = [each for each in specifications if split(each)[0] not in (SIMHASH_DOC, *(there or ()))]

    def corpus(name: str) -> Corpus:
        if there is None:
            raise UsageError(
                f"{provision.shown}: has no statistics of a corpus ({name}): annotate without that scheme, gather them "
                "(neardup corpus --from-store), and annotate again"
            )
        return corpus_of(SearchStore(client, read_only=True))(name)

    return [registry.scheme(each, corpus).info for each in new]


class InPlace(Sink):
    """Partial updates of the part under `neardup`, each conditional on the document being as read."""

    def __init__(self, bodies: Bodies, single: bool, store: SearchStore | None) -> None:
        self._bodies, self._single, self.store = bodies, single, store
        self._wanted = [scheme.name for scheme in bodies.info.schemes]
        # All of it: whether it is neardup's at all is seen anew in every document.
        self.fields = [ROOT]

    def use(self, specifications: Sequence[str]) -> None:
        super().use(specifications)
        if self.store:
            self._bodies = self.store.bodies
        names = [scheme.family for scheme in self.schemes] or [
            split(specification)[0] for specification in specifications
        ]
        self._wanted = list(dict.fromkeys([*self._wanted, *names]))

    def ref(self, place: Ref) -> Ref:
        return Ref(place.id, "" if self._single else place.index, place.routing)

    def known(self, hits: Sequence[Mapping[str, Any]]) -> list[Known]:
        return [self._known(hit.get("_source")) for hit in hits]

    def _known(self, source: Mapping[str, Any] | None) -> Known:
        own = own_part(source) or {}
        return Known(
            owners=is_owners(source),
            there="tokens" in own,
            digest=unpacked_digest(own.get("source_digest") or ""),
            source=own.get("source") or "",
            title=own.get("title") or "",
            pending="pending" in own,
            is_clustered=bool((own.get("cluster") or {}).get("size_class")),
            complete=bool(own.get("text_digest"))
            and all(not {FEATURES, BESIDE}.isdisjoint(_given(own.get(name))) for name in self._wanted),
            own=own,
        )

    def write(self, batch: list[Change]) -> list[BulkOutcome]:
        assert self.store  # noqa: S101 a dry run writes nothing
        store = self.store
        actions: list[Action] = []
        refused: dict[int, BulkOutcome] = {}
        beside: list[KeysRecord] = []
        longs: list[bool] = []
        for number, change in enumerate(batch):
            try:
                fields, long = self._fields(change)
                actions.append(update(change.place, {"doc": {ROOT: fields}}, change.conditions))
                beside += records_beside(change.place, fields, long)
                longs.append(bool(long))
            except InexactRecordError as error:
                refused[number] = BulkOutcome(_REFUSED, "", str(error))
        if not {action.index for action in actions} <= store.mappings.keys():
            store.require_mapped(anew=True)
        store.beside.put(beside)
        outcomes = send(store.client, actions) if actions else []
        sent = (dataclasses.replace(one, is_beside=long) for one, long in zip(outcomes, longs, strict=True))
        results = [refused.get(number) or next(sent) for number in range(len(batch))]
        store.unseen = True
        done = [change for change, result in zip(batch, results, strict=True) if result.ok]
        store.forget_failures([change.record.ref for change in done])
        store.beside.forget((change.place for change in done), beside)
        if store.refresh == "true":
            store.show()
        return results

    def _fields(self, change: Change) -> tuple[dict[str, Any], Mapping[str, Mapping[str, Any]]]:
        fields, beside = self._bodies.within(self._bodies.fields(change.record))
        if change.known.pending:
            fields |= dict.fromkeys(("pending", "pending_detail"))
        if not change.known.there:
            return fields, beside
        return self._bodies.replacing(fields, change.known.own), beside

    def finish(self, *, whole: bool = True) -> None:
        if not self.store:
            return
        if whole:
            self.store.beside.forget_gone()
        if self.store.refresh != "none":
            self.store.settle()


class Sidecar(Sink):
    """Records in an index of their own; the id there is INDEX/ID, and the metadata have index, id and routing."""

    def __init__(self, client: Client, origin: Client, info: StoreInfo, *, dry_run: bool, refresh: Refresh) -> None:
        self._client, self._origin = client, origin
        if client.target.name == origin.target.name:
            raise UsageError(f"{client.target.shown}: --to names the index itself; name another one, or leave it out")
        there = self._require_apart()
        if not there and matches(origin.target.name, client.target.name):
            raise UsageError(
                f"{client.target.shown}: --store {origin.target.name} would read the new index too; name one that it "
                "does not match"
            )
        if there or not dry_run:
            self.store = with_schemes(SearchStore(client, create=info, read_only=dry_run), info)
            self.store.refresh = refresh
            if not self.store.created:
                self.had = [scheme.name for scheme in self.store.info.schemes]
        # A template may have given the new index an alias.
        self._require_apart()

    @property
    def identity(self) -> str:
        found = self._client.found(f"/{reading_path(self._client.target.name)}/_settings/index.uuid") or {}
        return ",".join(sorted(one["settings"]["index"]["uuid"] for one in found.values()))

    def _require_apart(self) -> bool:
        own = indices_of(self._client)
        both = sorted(own & indices_of(self._origin))
        if both:
            raise UsageError(
                f"{self._client.target.shown}: behind --to {named(both)} what --store "
                f"{self._origin.target.name} reads; nothing is written there. Name an index of its own"
            )
        return bool(own)

    def ref(self, place: Ref) -> Ref:
        name = f"{place.index}/{place.id}"
        if place.routing is not None:
            name += _ROUTING + quote(place.routing, safe="")
        elif _ROUTING in place.id:
            name += "?"
        return Ref(name)

    def source(self, place: Ref) -> str:
        return f"{place.index}/{place.id}"

    def known(self, hits: Sequence[Mapping[str, Any]]) -> list[Known]:
        if not self.store:
            return [Known()] * len(hits)
        refs = [self.ref(place_of(hit)) for hit in hits]
        return [self._known(record) if record else Known() for record in self.store.get(refs)]

    def _known(self, record: Record) -> Known:
        complete = bool(record.text_digest) and all(scheme.family in record.sketches for scheme in self.schemes)
        return Known(True, record.source_digest, record.source, record.title, complete=complete)

    def write(self, batch: list[Change]) -> list[BulkOutcome]:
        assert self.store  # noqa: S101 a dry run writes nothing
        # An alias may have been moved or rolled over since the batch before.
        self._require_apart()
        records = [dataclasses.replace(change.record, metadata=metadata_of(change.place)) for change in batch]
        return [
            BulkOutcome(_REFUSED if result.status is PutStatus.FAILED else _DONE, "", result.reason)
            for result in self.store.put(records)
        ]

    def finish(self, *, whole: bool = True) -> None:
        if not self.store or self.store.read_only:
            return
        self.store.settle()
        self._require_apart()
        for places in self._origins(self.store) if whole else ():
            if gone := self._gone(places):
                # A run beside this one may bring a document and its record back: then the record is another one.
                refs = [ref for ref, _ in gone]
                versioned = dict(zip(refs, self.store.versioned(refs), strict=True))
                versions = {ref: read.version for ref, _ in self._gone(gone) if (read := versioned[ref])}
                self.removed += self.store.delete(list(versions), versions=versions)
        if self.store.refresh != "none":
            self.store.settle()

    def _gone(self, places: list[tuple[Ref, Ref]]) -> list[tuple[Ref, Ref]]:
        # Without a field that is asked for, the engines leave the routing out.
        docs = [{**item_at(place), "_source": False, "stored_fields": ["_routing"]} for _, place in places]
        hits = self._origin.request("POST", "/_mget", {"docs": docs})["docs"]
        return [one for one, hit in zip(places, hits, strict=True) if _is_gone(hit, one[1])]

    def _origins(self, store: SearchStore) -> Iterator[list[tuple[Ref, Ref]]]:
        origins = ((record.ref, document) for record in store.scan(sketches=False) if (document := document_of(record)))
        yield from chunks(origins, BATCH_RECORDS)


def _given(fields: Any) -> set[str]:
    return {name for name, value in fields.items() if value is not None} if isinstance(fields, Mapping) else set()


def _is_gone(hit: Mapping[str, Any], place: Ref) -> bool:
    if error := hit.get("error"):
        # An index that is closed, or does not answer, still has its documents.
        return bool(error.get("type") == "index_not_found_exception")
    return not hit.get("found") or hit.get("_routing") != place.routing
