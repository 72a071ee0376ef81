"""Fingerprint the documents of an index."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from typing import Any

from indexer.engine.client.base import Client
from indexer.engine.client.bulk import (
    BATCH_RECORDS,
    ROUNDS,
    BulkOutcome,
    in_flight,
    item_at,
    multi_get,
    pause,
    place_of,
    started,
    unchanged,
)
from indexer.engine.client.names import reading_path
from indexer.engine.client.snapshots import Slices
from indexer.engine.documents.fields import (
    AnnotateOptions,
    fields_of_run,
    mappings_of,
    remember_fields,
    require_own_version,
    require_unharmed,
    show,
)
from indexer.engine.documents.marks import Marks, Shard, parts_to_read, read_shards, settings_of
from indexer.engine.documents.sinks import Change, Known, Sidecar, Sink, in_place, require_allowed
from indexer.engine.index.bodies import OWNERS_FIELD
from indexer.engine.index.mapping import Mappings, named, read_mappings
from indexer.engine.index.source_fields import BOM, described, text_at
from indexer.engine.store.store import SearchStore
from indexer.errors import StoreError
from indexer.extract.base import Extracted, Failed, Item, Options
from indexer.extract.fields import format_of, remark_on
from indexer.ingest.digests import source_digest
from indexer.ingest.indexing import store_info
from indexer.ingest.left_out import DuplicateFilter
from indexer.ingest.outcomes import IngestRun, RunDestination, WriteInProgress, record_of, take
from indexer.ingest.sketching import DigestedSketches
from indexer.model import Failure, Record, Ref, with_declared
from indexer.model.chunking import chunks
from indexer.model.counts import AnnotationCounts
from indexer.model.kinds import DOCUMENTS, kind_named
from indexer.model.times import now
from indexer.stores import Store, StoreInfo
from indexer.stores.schemes import require_exactly

_PAGE = 250


@dataclass
class AnnotationSummary(AnnotationCounts):
    """The counts of a run, and what the next one needs.

    `lost` says that documents may have been deleted, or overwritten with their fingerprints; `held` that too many are
    gone to remove anything, `sourceless` that no field says where they came from. `marks` record the changes looked at.
    """

    lost: bool = False
    held: bool = False
    sourceless: bool = False
    marks: Marks = field(default_factory=lambda: Marks("", {}))


OpenFilter = Callable[[Store], AbstractContextManager[DuplicateFilter[Any] | None]]


def annotate(
    client: Client,
    options: AnnotateOptions,
    *,
    aside: Client | None = None,
    summary: AnnotationSummary | None = None,
    arriving: OpenFilter | None = None,
    stop: threading.Event | None = None,
) -> AnnotationSummary:
    """Give the documents of an index, alias or data stream their fingerprints; doing it again does the rest.

    In place, by partial updates conditional on the document being as read; with `aside`, in this client's index, made
    if missing. Only documents written since the last whole run are read (see `indexer.engine.documents.marks`), unless
    the options say otherwise. `arriving` returns a context for the store that looks at documents before and after they
    get their fingerprint. Raises StoreError if it would harm the owner's documents, UsageError for a missing field.
    """
    run = _AnnotateRun(client, options, aside, summary if summary is not None else AnnotationSummary(), stop)
    run.run(arriving or (lambda _: nullcontext()))
    return run.summary


@dataclass(slots=True, eq=False)
class PendingDocument:
    """A document on its way to its fingerprint: its place, its state, and its text.

    `conditions` hold as long as nobody changes it; `at` is the time of reading, since workers end in any order.
    """

    place: Ref
    known: Known
    conditions: Mapping[str, Any]
    digest: str
    size: int
    source: str
    title: str
    at: str
    remark: str


_Unread = Failed[Ref]


class _AnnotateRun(RunDestination[PendingDocument, BulkOutcome]):
    ends_at_once = True

    def __init__(
        self,
        client: Client,
        options: AnnotateOptions,
        aside: Client | None,
        summary: AnnotationSummary,
        stop: threading.Event | None,
    ) -> None:
        self.client, self.options, self.summary = client, options, summary
        self.shown = client.target.shown
        self._path = reading_path(client.target.name)
        mappings = mappings_of(client, self._path)
        self._fields = fields_of_run(client, aside, mappings, options)
        self._aside = aside is not None
        summary.sourceless = not (aside or self._fields.source)
        self._indices = frozenset(mappings)
        there = read_mappings(aside, reading_path(aside.target.name)) if aside else mappings
        kind = options.kind or there.kind(self.shown)
        self.info = self._info(Mappings() if aside else mappings, kind or DOCUMENTS)
        self._extraction = Options(
            content=self.info.content,  # type: ignore[arg-type] # a store's mode
            format=format_of(self._fields.format, b""),
        )
        if not aside:
            require_unharmed(client, self._path, mappings, allow_version_change=options.allow_version_change)
        self._sink = self._sink_for(aside, single=list(mappings) == [client.target.name])
        if aside and self._sink.had is not None:
            self._require_exactly(self._sink.had)
        self._sink.use(options.schemes)
        if not options.dry_run:
            self.summary.forgotten = not remember_fields(client, aside, mappings, self._fields)
        usual = kind_named(self.info.kind).min_tokens
        self._least_words = usual if options.min_tokens is None else options.min_tokens
        self._marks = Marks("", {})
        self._arrivals: DuplicateFilter[Any] | None = None
        self._changed: list[Ref] = []
        # Of those read, all and with a record.
        self._read = self._recorded = 0
        self._retrying = False
        self._due = 0.0
        self._run = IngestRun(self, self._extraction, options.limits, options.jobs, self._sink.schemes, stop)

    def _info(self, mappings: Mappings, kind: str) -> StoreInfo:
        first = next(iter(mappings.infos(self.shown).values()), None)
        made = store_info(
            self.options.content or (first.content if first else "landmarks"),  # type: ignore[arg-type]
            self.options.new_schemes,
            kind,
        )
        if first is None:
            return made
        there = mappings.schemes()
        self._require_exactly(there)
        return replace(made, schemes=tuple(there.values()))

    def _require_exactly(self, there: Collection[str]) -> None:
        if self.options.exactly is not None:
            require_exactly(self.options.exactly, there, self.options.schemes)

    def _sink_for(self, aside: Client | None, *, single: bool) -> Sink:
        dry_run, refresh = self.options.dry_run, self.options.refresh
        if aside:
            return Sidecar(aside, self.client, self.info, dry_run=dry_run, refresh=refresh)
        return in_place(self.client, self.info, self.options.schemes, single=single, dry_run=dry_run, refresh=refresh)

    def run(self, arriving: OpenFilter) -> None:
        begin, at = time.monotonic(), now()
        before, wrote = read_shards(self.client, self._path), self.client.written.copy()
        self._marks = self._looked_at()
        try:
            show(self.client, self._path, required=not (self._aside or self.options.dry_run))
            self.summary.total = int(self.client.request("GET", f"/{self._path}/_count")["count"])
            about = filter(None, (self._fields.source, self._fields.title))
            fields = [*self._fields.names, *about, *self._sink.fields]
            body = {"_source": fields, "version": True, "seq_no_primary_term": True}
            rate = self.options.docs_per_second
            # A page waits for its turn while its point in time is open.
            page = _PAGE if rate is None else max(1, min(_PAGE, int(rate * 10)))
            self.summary.held = self.summary.total < (1 - self.options.most_lost) * self._marks.documents
            parts = parts_to_read(self._path, self._marks, before, body, self.options.slices)
            store = self._sink.store
            recorded = store.count() if store and self._marks.seen else 0
            with arriving(store) if store else nullcontext() as self._arrivals:
                with Slices(self.client, parts, page) as pages:
                    again = (self._again(number, fields) for number in range(ROUNDS))
                    self._run.bring(self._items(pages), *again, self._given_up())
                there = {shard.key for shard in before or ()}
                self.summary.lost |= self._marks.behind(before or ()) > self._read
                self.summary.lost |= not self._marks.seen.keys() <= there
                may_remove = self.summary.lost or not self._marks.seen
                self._sink.finish(whole=may_remove and not self.summary.held)
            if store and store.refresh != "none":
                # Also what was put into clusters at the end.
                store.settle()
            self.summary.removed = self._sink.removed
            self.summary.trusted = max(0, recorded - self._recorded - self._sink.removed)
            self.summary.unchanged += self.summary.trusted
            if store and not self.options.dry_run:
                self._keep_marks(store, before or (), self.client.written - wrote, at)
        finally:
            self.summary.seconds = time.monotonic() - begin

    # The marks of what was looked at

    def _looked_at(self) -> Marks:
        schemes = sorted(scheme.id for scheme in self._sink.schemes)
        settings = settings_of(self._fields, replace(self.info, schemes=(), version=""), schemes, self._sink.identity)
        store = self._sink.store
        if store is None or self.options.all or self.options.again:
            return Marks(settings, {})
        return Marks.read(store, settings)

    def _keep_marks(self, store: SearchStore, before: Sequence[Shard], wrote: Mapping[str, int], at: str) -> None:
        after = read_shards(self.client, self._path) if before else None
        seen = self._marks.moved(before, after or (), wrote)
        # What is held back is measured by what there was before.
        documents = self._marks.documents if self.summary.held else self.summary.total
        self.summary.marks = replace(self._marks, seen=seen, at=at, documents=documents)
        if seen != self._marks.seen:
            self.summary.marks.keep(store)

    # From the documents to the items that workers get

    def _again(self, number: int, fields: Sequence[str]) -> Iterator[Item[PendingDocument] | _Unread]:
        self._retrying = True
        places, self._changed = self._changed, []
        if places:
            pause(number)
            yield from self._items(self._read_again(places, fields))

    def _read_again(self, places: Sequence[Ref], fields: Sequence[str]) -> Iterator[list[dict[str, Any]]]:
        for some in chunks(places, _PAGE):
            hits = multi_get(self.client, [{**item_at(place), "_source": list(fields)} for place in some])
            present = [hit for hit in hits if hit.get("found")]
            self.summary.gone += len(hits) - len(present)
            yield present

    def _given_up(self) -> Iterator[_Unread]:
        for place in self._changed:
            yield Failed(place, "changing", "others change it all the time; run the same command again")

    def _items(self, pages: Iterable[list[dict[str, Any]]]) -> Iterator[Item[PendingDocument] | _Unread]:
        for hits in pages:
            self._require_checked(hits)
            known_of = self._sink.known(hits)
            if not self._retrying:
                self._read += len(hits)
                self._recorded += sum(known.there for known in known_of)
            for hit, known in zip(hits, known_of, strict=True):
                if not self._aside and not self.options.allow_version_change and not self._retrying:
                    require_own_version(hit, self.shown)
                item = self._item(hit, known)
                if isinstance(item, Item):
                    self._pace()
                if item:
                    yield item

    def _require_checked(self, hits: Sequence[Mapping[str, Any]]) -> None:
        new = {hit["_index"] for hit in hits} - self._indices
        if new and not self._aside:
            raise StoreError(
                f"{self.shown}: {named(sorted(new))} new behind this name since the command began; run the "
                "same command again, it resumes from here"
            )

    def _item(self, hit: Mapping[str, Any], known: Known) -> Item[PendingDocument] | _Unread | None:
        place = place_of(hit)
        if known.owners:
            return Failed(place, "owner's field", OWNERS_FIELD)
        document = hit.get("_source") or {}
        exact, data = text_at(document, self._fields.names)
        source, title = described(self._fields, document)
        usual = self._sink.source(place)
        if data is None and (not known.digest or known.source not in ("", usual, source)):
            # Without the fields, or made by `neardup index` from a file.
            self.summary.without += 1
            return None
        kind = format_of(self._fields.format, data or b"")
        digest = source_digest(exact, self.info, replace(self._extraction, format=kind))
        source = source or usual
        same = known.source == source and (not title or known.title == title)
        current = known.digest == digest and known.complete and same
        if current and (self._retrying or not self.options.again):
            # An update whose answer was lost is found done when it is tried again.
            self.summary.annotated += self._retrying
            self.summary.unchanged += not self._retrying
            if self._arrivals:
                self._arrivals.found(self._sink.ref(place), is_settled=known.is_clustered)
            return None
        if not self._retrying:
            # What was written as a whole may have been a member of a cluster.
            self.summary.lost |= not known.there and hit["_version"] > 1
            self.summary.missing += not known.digest
            self.summary.stale += known.digest not in ("", digest)
            self.summary.renewed += known.digest == digest
        if self.options.dry_run:
            self.summary.annotated += 1
            return None
        data = data or b""
        remark = remark_on(", ".join(self._fields.names), self._fields.format, data)
        pending = PendingDocument(place, known, unchanged(hit), digest, len(data), source, title, now(), remark)
        return Item(pending, BOM + data, format=kind)

    def _pace(self) -> None:
        if self.options.docs_per_second is None:
            return
        moment = time.monotonic()
        if self._due > moment:
            time.sleep(self._due - moment)
        self._due = max(self._due, moment) + 1.0 / self.options.docs_per_second

    # What becomes of them

    def sketched(
        self, outcome: Extracted[PendingDocument, DigestedSketches]
    ) -> Iterable[tuple[PendingDocument, Record]]:
        pending = outcome.key
        record = record_of(
            outcome,
            self._sink.ref(pending.place),
            pending.digest,
            min_tokens=self._least_words,
            source=pending.source,
            title=pending.title,
            size=pending.size,
            metadata=with_declared({}, outcome.document.declared),
            indexed_at=pending.at,
            remark=pending.remark,
        )
        return [(pending, record)]

    def failed(self, outcome: Failed[PendingDocument] | _Unread) -> None:
        known = outcome.key
        if isinstance(known, PendingDocument):
            self._fail(known.place, outcome.reason, outcome.detail, known.digest)
        else:
            self._fail(known, outcome.reason, outcome.detail)

    def _fail(self, place: Ref, reason: str, detail: str, digest: str = "") -> None:
        self.summary.failed[reason] += 1
        name = f"{place.index}/{place.id}"
        self._run.failures.append(Failure(self._sink.ref(place), name, reason, detail, now(), digest))

    def put_failures(self, failures: Sequence[Failure]) -> None:
        self._sink.put_failures(failures)

    def begin_write(
        self, batch: Sequence[tuple[PendingDocument, Record]]
    ) -> WriteInProgress[PendingDocument, BulkOutcome]:
        if self._arrivals:
            self._arrivals.examine([record for _, record in batch])
        changes = [Change(pending.place, record, pending.conditions, pending.known) for pending, record in batch]

        def write(changes: list[Change]) -> list[BulkOutcome]:
            return list(in_flight(self._sink.write, chunks(changes, BATCH_RECORDS), lambda change: change.place))

        return WriteInProgress(batch, started(write, changes).result)

    def written(self, records: Sequence[tuple[PendingDocument, Record]], results: Sequence[BulkOutcome]) -> None:
        stored = [record for (_, record), result in zip(records, results, strict=True) if result.ok]
        if self._arrivals:
            self._arrivals.stored(stored)
        for (pending, record), result in zip(records, results, strict=True):
            if result.ok:
                self.summary.annotated += 1
                self.summary.beside += result.is_beside
                take(self.summary, record)
            elif result.is_changed:
                self.summary.changed += 1
                self._changed.append(pending.place)
            elif result.is_gone:
                self.summary.gone += 1
            else:
                require_allowed(result, self.shown, pending.place)
                self._fail(pending.place, "refused", result.reason, pending.digest)
