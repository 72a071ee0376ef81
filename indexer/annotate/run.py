"""Fingerprints for documents that are in an index already: added to them, or kept beside in an index of their own."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from indexer.engine.client.base import Client
from indexer.engine.client.bulk import BATCH_RECORDS, in_flight, rounds
from indexer.engine.client.gets import multi_get
from indexer.engine.client.names import reading_path
from indexer.engine.client.slices import Slices
from indexer.engine.documents.fields import AnnotateOptions, described, fields_of_run, remember_fields
from indexer.engine.documents.guards import mappings_of, require_own_version, require_unharmed, show
from indexer.engine.documents.sinks import Done, Known, Sidecar, Sink, WriteResult, in_place
from indexer.engine.index.bodies import OWNERS_FIELD
from indexer.engine.index.mapping import Mappings, named
from indexer.engine.index.source_fields import (
    ASIDE,
    BOM,
    text_at,
)
from indexer.errors import StoreError
from indexer.extract.base import Extracted, Failed, Item, Options
from indexer.ingest.indexing import store_info
from indexer.ingest.outcomes import ExtractionWorkers, RunCounts, record_of, sketching
from indexer.ingest.sketching import Sketched
from indexer.matching.kept import schemes_of_new
from indexer.model import Failure, Ref
from indexer.model.times import now
from indexer.stores import StoreInfo
from indexer.stores.digests import source_digest
from indexer.stores.schemes import require_exactly
from indexer.versions.declared import with_declared

_CHANGED = 409
_FORBIDDEN = 403
_PAGE = 250
_BATCH_SECONDS = 1.0


@dataclass(slots=True)
class Annotated(RunCounts):
    """The outcomes for the documents of a run; each that was read is in exactly one of the first five counts.

    `annotated` were given a fingerprint (in a dry run: would be), `unchanged` have the right one, `without` have none
    of the fields, `gone` were deleted meanwhile, `failed` counts by reason. Of the annotated, `missing` had none before
    and `stale` another text's, `empty` have no text and `short` too few tokens. `changed` were changed by others at the
    same moment and done again. `removed` are documents of a sidecar whose originals are gone. `total` is how many
    documents there were at the start. `forgotten` tells that the index's owner forbids noting the fields in it.
    """

    total: int = 0
    annotated: int = 0
    without: int = 0
    gone: int = 0
    missing: int = 0
    stale: int = 0
    changed: int = 0
    removed: int = 0
    forgotten: bool = False

    @property
    def done(self) -> int:
        """The number of documents dealt with."""
        return self.annotated + self.unchanged + self.without + self.gone + self.failures


def annotate(
    client: Client, wanted: AnnotateOptions, *, aside: Client | None = None, summary: Annotated | None = None
) -> Annotated:
    """Give the documents of an index, alias or data stream their fingerprints; doing it again does what is left.

    In place, by partial updates that only happen where the document is as it was read; with `aside`, in the index that
    this client names, which is made where it is not there. Both clients stay open. `summary` is kept up to date
    meanwhile. Raises StoreError where that would harm the owner's documents, UsageError for a field that is not there.
    """
    run = _Run(client, wanted, aside, summary if summary is not None else Annotated())
    run.run()
    return run.summary


@dataclass(slots=True, eq=False)
class _Pending:
    """A document whose text is with the workers."""

    place: Ref
    digest: str
    size: int
    conditions: Mapping[str, Any]
    known: Known
    source: str
    title: str
    # Workers end in any order.
    at: str


class _Run:
    def __init__(self, client: Client, wanted: AnnotateOptions, aside: Client | None, summary: Annotated) -> None:
        self.client, self.wanted, self.summary = client, wanted, summary
        self.shown = client.target.shown
        self._path = reading_path(client.target.name)
        mappings = mappings_of(client, self._path)
        self._fields = fields_of_run(client, aside, mappings, wanted)
        self._paths = self._fields.names
        self._aside = aside is not None
        self._indices = frozenset(mappings)
        self.info = self._info(Mappings() if aside else mappings)
        self._options = Options(content=self.info.content, format="html" if self._fields.html else "text")  # type: ignore[arg-type]
        if not aside:
            require_unharmed(client, self._path, mappings, allow_version_change=wanted.allow_version_change)
        self._sink: Sink = (
            Sidecar(aside, client, self.info, dry_run=wanted.dry_run, refresh=wanted.refresh)
            if aside
            else in_place(
                client,
                self.info,
                wanted.schemes,
                single=list(mappings) == [client.target.name],
                dry_run=wanted.dry_run,
                refresh=wanted.refresh,
            )
        )
        if aside and self._sink.had is not None:
            self._require_exactly(self._sink.had)
        self._sink.use(wanted.schemes)
        if not wanted.dry_run:
            self.summary.forgotten = not remember_fields(client, aside, mappings, self._fields)
        self._changed: list[Ref] = []
        self._failures: list[Failure] = []
        self._retrying = False
        self._due = 0.0

    # What is there

    def _info(self, mappings: Mappings) -> StoreInfo:
        first = next(iter(mappings.infos(self.shown).values()), None)
        made = store_info(
            self.wanted.content or (first.content if first else "landmarks"),  # type: ignore[arg-type]
            self.wanted.new_schemes,
        )
        if first is None:
            return made
        there = mappings.schemes()
        self._require_exactly(there)
        return dataclasses.replace(made, schemes=tuple(there.values()))

    def _require_exactly(self, there: Collection[str]) -> None:
        if self.wanted.exactly is not None:
            require_exactly(schemes_of_new(self.wanted.exactly), there, self.wanted.schemes)

    # The run

    def run(self) -> None:
        begin = time.monotonic()
        try:
            self._rounds()
            self._sink.finish()
            self.summary.removed = self._sink.removed
        finally:
            self.summary.seconds = time.monotonic() - begin

    def _rounds(self) -> None:
        show(self.client, self._path, required=not (self._aside or self.wanted.dry_run))
        self.summary.total = int(self.client.request("GET", f"/{self._path}/_count")["count"])
        about = filter(None, (self._fields.source, self._fields.title))
        fields = [*self._paths, *about, *self._sink.fields]
        body = {"query": {"match_all": {}}, "_source": fields, "version": True, "seq_no_primary_term": True}
        rate = self.wanted.docs_per_second
        # A page waits for its turn while its point in time is open.
        page = _PAGE if rate is None else max(1, min(_PAGE, int(rate * 10)))
        with sketching(self.wanted.jobs, self._options, self.wanted.limits, self._sink.schemes) as workers:
            with Slices(self.client, self._path, body, self.wanted.slices, page) as pages:
                self._pass(workers, pages)
            self._retrying = True
            for _ in rounds():
                again, self._changed = self._changed, []
                if not again:
                    break
                self._pass(workers, self._read_again(again, fields))
        for place in self._changed:
            self._fail(Failed(place, "changing", "others change it all the time; run the same command again"))
        self._write_failures()

    def _read_again(self, places: Sequence[Ref], fields: Sequence[str]) -> Iterator[list[dict[str, Any]]]:
        for start in range(0, len(places), _PAGE):
            docs = [
                {"_index": place.index, "_id": place.id, "_source": list(fields)}
                | ({"routing": place.routing} if place.routing is not None else {})
                for place in places[start : start + _PAGE]
            ]
            hits = multi_get(self.client, docs)
            present = [hit for hit in hits if hit.get("found")]
            self.summary.gone += len(hits) - len(present)
            yield present

    def _pass(self, workers: ExtractionWorkers[Sketched], pages: Iterable[list[dict[str, Any]]]) -> None:
        records = self._records(workers, pages)
        for written in in_flight(self._sink.write, _timely(records), lambda done: done.place):
            self._settle(written)
        self._write_failures()

    def _records(self, workers: ExtractionWorkers[Sketched], pages: Iterable[list[dict[str, Any]]]) -> Iterator[Done]:
        for outcome in workers.outcomes(self._items(pages)):
            if isinstance(outcome, Extracted):
                yield self._done(outcome)
            elif isinstance(outcome.key, _Pending):
                self._fail(Failed(outcome.key.place, outcome.reason, outcome.detail), outcome.key.digest)
            else:
                self._fail(Failed(outcome.key, outcome.reason, outcome.detail))

    # One document

    def _items(self, pages: Iterable[list[dict[str, Any]]]) -> Iterator[Item[_Pending] | Failed[Ref]]:
        for hits in pages:
            self._require_checked(hits)
            for hit, known in zip(hits, self._sink.known(hits), strict=True):
                if not self._aside and not self.wanted.allow_version_change and not self._retrying:
                    require_own_version(hit, self.shown)
                item = self._item(hit, known)
                if isinstance(item, Item):
                    self._pace()
                if item:
                    yield item

    def _require_checked(self, hits: Sequence[Mapping[str, Any]]) -> None:
        """Raise StoreError for documents of an index that came after its likes were looked at, as by a rollover."""
        new = {hit["_index"] for hit in hits} - self._indices
        if new and not self._aside:
            raise StoreError(
                f"{self.shown}: {named(sorted(new))} new behind this name since the command began; run the "
                "same command again, it resumes from here"
            )

    def _item(self, hit: Mapping[str, Any], known: Known) -> Item[_Pending] | Failed[Ref] | None:
        """The item that the workers get for a document; None if nothing is to be done."""
        if known.owners:
            return Failed(Ref(hit["_id"], hit["_index"], hit.get("_routing")), "owner's field", OWNERS_FIELD)
        document = hit.get("_source") or {}
        exact, data = text_at(document, self._paths)
        place = Ref(hit["_id"], hit["_index"], hit.get("_routing"))
        source, title = described(self._fields, document)
        usual = self._sink.source(place)
        if data is None and (not known.digest or known.source not in ("", usual, source)):
            # Without the fields, or made by `neardup index` from a file.
            self.summary.without += 1
            return None
        digest = source_digest(exact, self.info, self._options)
        source = source or usual
        same = known.source == source and (not title or known.title == title)
        current = known.digest == digest and known.complete and same
        if current and (self._retrying or not self.wanted.everything):
            # An update whose answer was lost is found done when it is tried again.
            self.summary.annotated += self._retrying
            self.summary.unchanged += not self._retrying
            return None
        if not self._retrying:
            self.summary.missing += not known.digest
            self.summary.stale += bool(known.digest) and not current
        if self.wanted.dry_run:
            self.summary.annotated += 1
            return None
        data = data or b""
        conditions = {"if_seq_no": hit["_seq_no"], "if_primary_term": hit["_primary_term"]}
        pending = _Pending(place, digest, len(data), conditions, known, source, title, now())
        return Item(pending, BOM + data)

    def _pace(self) -> None:
        if self.wanted.docs_per_second is None:
            return
        moment = time.monotonic()
        if self._due > moment:
            time.sleep(self._due - moment)
        self._due = max(self._due, moment) + 1.0 / self.wanted.docs_per_second

    def _done(self, outcome: Extracted[_Pending, Sketched]) -> Done:
        pending = outcome.key
        ref = self._sink.ref(pending.place)
        record = record_of(
            outcome,
            ref,
            pending.digest,
            min_tokens=self.wanted.min_tokens,
            source=pending.source,
            title=pending.title,
            size=pending.size,
            metadata=with_declared({}, outcome.document.declared),
        )
        return Done(pending.place, replace(record, indexed_at=pending.at), pending.conditions, pending.known)

    def _settle(self, written: WriteResult) -> None:
        place, status = written.done.place, written.status
        if 200 <= status < 300:
            self.summary.annotated += 1
            self.summary.taken(written.done.record)
        elif status == _CHANGED:
            self.summary.changed += 1
            self._changed.append(place)
        elif status == 404:
            self.summary.gone += 1
        elif status == _FORBIDDEN:
            raise StoreError(f"{self.shown}: {place.index} can't be written: {written.reason}; lift that, or {ASIDE}")
        else:
            self._fail(Failed(place, "refused", written.reason), written.done.record.source_digest)

    def _fail(self, failed: Failed[Ref], digest: str = "") -> None:
        self.summary.failed[failed.reason] += 1
        place = failed.key
        name = f"{place.index}/{place.id}"
        self._failures.append(Failure(self._sink.ref(place), name, failed.reason, failed.detail, now(), digest))
        if len(self._failures) >= BATCH_RECORDS:
            self._write_failures()

    def _write_failures(self) -> None:
        failures, self._failures = self._failures, []
        if failures:
            self._sink.put_failures(failures)


def _timely(records: Iterable[Done]) -> Iterator[list[Done]]:
    """Batches of a bounded size, and none older than a second when a document comes: a kill loses little."""
    iterator = iter(records)
    for first in iterator:
        batch, begin = [first], time.monotonic()
        for item in islice(iterator, BATCH_RECORDS - 1):
            batch.append(item)
            if time.monotonic() - begin >= _BATCH_SECONDS:
                break
        yield batch
