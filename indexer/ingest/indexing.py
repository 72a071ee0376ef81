"""The way of documents into a store: read, recognise what is known, extract and fingerprint in workers, store."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from indexer import __version__
from indexer.errors import StoreError
from indexer.extract.base import EXTRACTOR_VERSION, Content, Format, Limits, Options
from indexer.ingest.failures import DUPLICATE, KnownFailures
from indexer.ingest.outcomes import (
    Arrivals,
    AtHand,
    Counts,
    Extracted,
    Failed,
    Item,
    Repeats,
    content_id,
    is_short,
    read_one,
    record_of,
    sketching,
    source_digest,
)
from indexer.ingest.sources import Input, Rejected
from indexer.model import Failure, Record, Ref
from indexer.model.paths import path_of_printable
from indexer.model.times import now

if TYPE_CHECKING:
    from indexer.ingest.sketching import Sketched
    from indexer.schemes.base import Scheme
    from indexer.stores import PutResult, Store, StoreInfo

DEFAULT_MIN_TOKENS = 20

# Reasons of failure beside those of `indexer.extract.REASONS`.
REASONS: Mapping[str, str] = {
    "special-file": "A pipe, socket, device or folder, or a file of the store itself; it was not opened.",
    "duplicate-id": "Another file, which still exists, is stored under this id.",
    "refused": "The store did not take the record.",
    "duplicate": "A near-duplicate of a stored document, left out as asked for; it is no error.",
}

# What is read ahead of the workers, and what is written at once.
_GROUP_ITEMS, _MOST_GROUP_ITEMS = 64, 256
_GROUP_BYTES, _GROUP_SECONDS = 8_000_000, 0.05
_BATCH_RECORDS = 8000
_BATCH_SECONDS = 1.0
# Equal documents wait for the first of them to be extracted; beyond this many, they are extracted like any other.
_MOST_WAITING = 10_000


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of a run: `jobs` worker processes; documents under `min_tokens` tokens are marked short.

    With 0 jobs this process itself fingerprints plain texts, which suits those that it has at hand. A document
    that failed before is tried again if its bytes or the rules changed, or with `retry_failed`. `schemes` are the
    secondary schemes whose sketches documents get; they are added to the store.
    """

    options: Options = field(default_factory=Options)
    limits: Limits = field(default_factory=Limits)
    jobs: int = 1
    min_tokens: int = DEFAULT_MIN_TOKENS
    retry_failed: bool = False
    schemes: Sequence[Scheme] = ()


Refused = Callable[[Input, Record, str], None]


@dataclass(slots=True)
class Summary(Counts):
    """The counts of a run by what became of documents; every input is in exactly one of the first five or `duplicates`.

    `indexed` are new, `replaced` took the place of a record with the same id, `unchanged` were passed over,
    `failed` counts by reason, `failed_before` were passed over because they failed before and have not changed.
    Of the indexed and replaced, `reused` took the fingerprint of an equal document without extraction, `empty` have
    no text and `short` too few tokens. `duplicates` were left out as near-duplicates. `bytes_read` is the input's
    size. `first_failure` says what failed first, and why.
    """

    indexed: int = 0
    replaced: int = 0
    failed_before: int = 0
    reused: int = 0
    duplicates: int = 0
    bytes_read: int = 0
    first_failure: str = ""

    @property
    def done(self) -> int:
        """The number of inputs dealt with."""
        return self.indexed + self.replaced + self.unchanged + self.failures + self.failed_before + self.duplicates


def store_info(content: Content, schemes: Sequence[Scheme] = ()) -> StoreInfo:
    """The description of this version's fingerprints for a content mode, which a new store is made for.

    `schemes` are those beside simhash-doc that a new store keeps sketches of.
    """
    from indexer.schemes import simhash
    from indexer.schemes.keys.simhash64 import SIMHASH64_LAYOUT
    from indexer.stores import StoreInfo

    return StoreInfo(
        scheme=simhash.SCHEME,
        layout=SIMHASH64_LAYOUT,
        content=Options(content).content,
        extractor=EXTRACTOR_VERSION,
        unicode=simhash.UNICODE_VERSION,
        version=__version__,
        schemes=tuple(scheme.info for scheme in schemes),
    )


def index(
    inputs: Iterable[Input | Rejected],
    store: Store,
    settings: Settings | None = None,
    *,
    summary: Summary | None = None,
    stop: threading.Event | None = None,
    arrivals: Arrivals[Any] | None = None,
    refused: Refused | None = None,
    has_read: Callable[[str], bool] | None = None,
) -> Summary:
    """Bring documents into a store and say what became of them. Doing the same again goes on where it ended.

    A document whose id and source digest are stored is passed over, one whose digest is stored under another id is
    stored without extraction. A document that can't be read is recorded with its reason, and an older record of it is
    kept. `arrivals` looks at each batch before and after it is stored, and may leave documents out; they are recorded
    with the reason "duplicate", and examined again where the store refused what they repeat. `refused` is called with
    each document that the store refused, before that is recorded. `has_read` says of a source whether the inputs were
    all that is there: failures recorded of it that are not met again are removed. `summary` is kept up to date. When
    interrupted (KeyboardInterrupt, or `stop` set, which raises it) what is done is written first. Raises StoreError,
    and IncompatibleStoreError where the store's content mode, scheme or rules are others.
    """
    run = _Run(store, settings or Settings(), summary if summary is not None else Summary(), stop, arrivals, refused)
    run.run(inputs)
    if has_read:
        run.known.forget_read(has_read)
    return run.summary


@dataclass(slots=True, eq=False)
class _Pending:
    item: Input
    ref: Ref
    digest: str
    data: bytes
    # Workers end in any order; the time of reading tells which document came first.
    at: str


_Pair = tuple[_Pending, Record]


@dataclass(frozen=True, slots=True)
class _Batch:
    """Records that are being written; `results` waits for it."""

    records: Sequence[_Pair]
    results: Callable[[], Sequence[PutResult]]


_Unread = Failed[Input | Rejected]


class _Run:
    def __init__(
        self,
        store: Store,
        settings: Settings,
        summary: Summary,
        stop: threading.Event | None,
        arrivals: Arrivals[Any] | None,
        refused: Refused | None,
    ) -> None:
        self._arrivals, self._refused = arrivals, refused
        self._repeats: Repeats[_Pending] = Repeats(arrivals)
        self.store, self.settings, self.summary = store, settings, summary
        self.options = settings.options
        self._stop = stop or threading.Event()
        store.info.require_comparable(store_info(self.options.content), "the store")
        for scheme in self.settings.schemes:
            store.add_scheme(scheme.info)
        self.known = KnownFailures(store)
        # The newest document of each id that is on its way, so that the last of several with one id wins.
        self._newest: dict[Ref, _Pending] = {}
        # Equal documents wait here for the one that is being extracted.
        self._waiting: dict[str, list[_Pending]] = {}
        self._records: list[_Pair] = []
        # Also those of the batch that is being written.
        self._unwritten: dict[str, Record] = {}
        self._failures: list[Failure] = []
        self._batch: _Batch | None = None
        self._written, self._took = time.monotonic(), 0.0
        self._kinds: dict[Format | None, Options] = {}

    def run(self, inputs: Iterable[Input | Rejected]) -> None:
        begin = time.monotonic()
        settings = self.settings
        try:
            given = self.options, settings.limits, settings.schemes
            with sketching(settings.jobs, *given) if settings.jobs else AtHand(*given) as workers:
                for outcome in workers.outcomes(self._items(inputs)):
                    self._take(outcome)
                    self._write_when_due()
                    self._halt_when_told()
        except StoreError:
            # What is left would be refused too, after as long a wait; doing the same again brings it.
            if self._batch:
                with contextlib.suppress(StoreError):
                    self._batch.results()
            self._records, self._failures, self._batch = [], [], None
            raise
        finally:
            while self._records or self._failures or self._batch:
                self._write()
            self.summary.seconds = time.monotonic() - begin

    def _halt_when_told(self) -> None:
        if self._stop.is_set():
            raise KeyboardInterrupt

    def _items(self, inputs: Iterable[Input | Rejected]) -> Iterator[Item[_Pending] | _Unread]:
        for group in self._groups(inputs):
            if isinstance(group, Failed):
                yield group
                continue
            # Everything is decided before the first item is given: what the store said is stale after that.
            for pending in self._examine(group):
                data, pending.data = pending.data, b""
                yield Item(pending, data, pending.item.path or pending.item.name, pending.item.format)
                self._halt_when_told()
            self._write_when_due()

    def _groups(self, inputs: Iterable[Input | Rejected]) -> Iterator[list[_Pending] | _Unread]:
        group: list[_Pending] = []
        size, begin = 0, time.monotonic()
        for item in inputs:
            self._halt_when_told()
            item_read = self._read(item)
            if isinstance(item_read, Failed):
                yield item_read
            else:
                group.append(item_read)
                size += len(item_read.data)
            # What is read fast is looked up in larger groups; what trickles in does not wait for one to be full.
            many = len(group) >= _GROUP_ITEMS and time.monotonic() - begin >= _GROUP_SECONDS
            if many or len(group) >= _MOST_GROUP_ITEMS or size >= _GROUP_BYTES:
                yield group
                group, size, begin = [], 0, time.monotonic()
            self._write_when_due()
        yield group

    def _read(self, given: Input | Rejected) -> _Pending | _Unread:
        outcome = read_one(given, self.settings.limits.input_bytes)
        if isinstance(outcome, Failed):
            return outcome
        item, data = outcome.key, outcome.data
        self.summary.bytes_read += len(data)
        options = self._options_for(item.format)
        digest = source_digest(data, self.store.info, options, name=item.path or item.name, title=item.title)
        return _Pending(item, Ref(item.id or content_id(data)), digest, data, now())

    def _options_for(self, kind: Format | None) -> Options:
        if kind not in self._kinds:
            self._kinds[kind] = dataclasses.replace(self.options, format=kind) if kind else self.options
        return self._kinds[kind]

    def _examine(self, group: list[_Pending]) -> list[_Pending]:
        """The documents that have to be extracted; the others are dealt with."""
        stored = dict(zip(group, self.store.get([pending.ref for pending in group]), strict=True))
        twins = self.store.find_digests([pending.digest for pending in group])
        wanted = []
        for pending in group:
            newest = self._newest.get(pending.ref)
            if self._settled(pending, None if newest else stored[pending], newest):
                continue
            self._newest[pending.ref] = pending
            twin = twins.get(pending.digest) or self._unwritten.get(pending.digest)
            waiting = self._waiting.get(pending.digest)
            if twin and self._is_complete(twin):
                self._reuse(pending, twin)
            elif waiting is not None and len(waiting) < _MOST_WAITING:
                waiting.append(pending)
            else:
                self._waiting.setdefault(pending.digest, [])
                wanted.append(pending)
        return wanted

    def _settled(self, pending: _Pending, old: Record | None, newest: _Pending | None) -> bool:
        """True if nothing has to be stored for a document, given the record or the document with its id."""
        item = pending.item
        known_digest = old.source_digest if old else newest.digest if newest else ""
        known_source = old.source if old else newest.item.source if newest else item.source
        if item.path and known_source != item.source and os.path.lexists(path_of_printable(known_source)):
            if known_digest == pending.digest:
                self.summary.unchanged += 1
            else:
                # Listed by its path: the id is another file's.
                self._fail(Ref(item.source), item.source, "duplicate-id", f"{known_source} has the id {item.id!r}")
            return True
        failed = self.known.digest(pending.ref, item.source)
        same = old and known_digest == pending.digest and not failed and self._is_complete(old)
        if old and same and self._adopt(pending, old) == old:
            self.summary.unchanged += 1
            self.known.forget(item)
            return True
        if failed == pending.digest and not (self.settings.retry_failed or item.again) and not newest:
            self.summary.failed_before += 1
            self.known.stays(pending.ref)
            return True
        return False

    def _reuse(self, pending: _Pending, twin: Record) -> None:
        self.summary.reused += 1
        self._accept(
            pending, dataclasses.replace(self._adopt(pending, twin), indexed_at=pending.at, first_indexed_at="")
        )

    def _adopt(self, pending: _Pending, record: Record) -> Record:
        """The record of a document that equals the one of `record`, byte for byte."""
        return dataclasses.replace(
            record,
            ref=pending.ref,
            source=pending.item.source,
            container=pending.item.container,
            metadata=pending.item.metadata,
            short=is_short(record.fingerprint, self.settings.min_tokens),
        )

    def _is_complete(self, record: Record) -> bool:
        """True if a record has a sketch of every scheme that is wanted, and the digest of its text."""
        return bool(record.text_digest) and all(scheme.family in record.sketches for scheme in self.settings.schemes)

    def _take(self, outcome: Extracted[_Pending, Sketched] | Failed[_Pending] | _Unread) -> None:
        pending = outcome.key
        if not isinstance(pending, _Pending):
            assert isinstance(outcome, Failed)  # noqa: S101 - what was not read has no document
            self._fail(Ref(pending.id or pending.source), pending.source, outcome.reason, outcome.detail)
            return
        waiting = self._waiting.pop(pending.digest, [])
        if isinstance(outcome, Failed):
            for one in (pending, *waiting):
                self._fail_pending(one, outcome.reason, outcome.detail)
            return
        item = pending.item
        record = record_of(
            outcome,
            pending.ref,
            pending.digest,
            min_tokens=self.settings.min_tokens,
            source=item.source,
            title=item.title,
            metadata=item.metadata,
            container=item.container,
            indexed_at=pending.at,
        )
        self._accept(pending, record)
        for one in waiting:
            self._reuse(one, record)

    def _accept(self, pending: _Pending, record: Record) -> bool:
        """Let a document be written, unless a newer one has its id."""
        if self._newest.get(pending.ref) is not pending:
            self.summary.replaced += 1
            return False
        self._records.append((pending, record))
        self._unwritten[pending.digest] = record
        return True

    def _fail_pending(self, pending: _Pending, reason: str, detail: str) -> None:
        newest = self._newest.get(pending.ref)
        if newest is pending:
            del self._newest[pending.ref]
        elif newest:
            self.summary.replaced += 1
            return
        self._fail(pending.ref, pending.item.source, reason, detail, pending.digest)

    def _fail(self, ref: Ref, source: str, reason: str, detail: str, digest: str = "") -> None:
        # Storing a record clears a failure of the same id, so the one that came first must be written first.
        if ref in self._newest and any(record.ref == ref for _, record in self._records):
            self._write()
        self.summary.failed[reason] += 1
        self.summary.first_failure = self.summary.first_failure or f"{ref.id}: {detail or reason}"
        self._failures.append(Failure(ref, source, reason, detail, now(), digest))
        self.known.note(self._failures[-1])

    def _write_when_due(self) -> None:
        waiting = len(self._records) + len(self._failures)
        # Where documents are compared as they come, larger batches take less for each: a batch then waits as long as
        # the one before it took.
        seconds = max(_BATCH_SECONDS, self._took if self._arrivals else 0)
        if waiting >= _BATCH_RECORDS or (waiting and time.monotonic() - self._written >= seconds):
            self._write()

    def _write(self) -> None:
        """Begin to write the records that wait, once the batch before them is written."""
        begin = time.monotonic()
        self._settle()
        if self._failures:
            self.store.put_failures(self._failures)
            self._failures = []
        if self._records:
            kept, self._records = self._repeats.sift(self._records), []
            self._batch = _Batch(kept, self.store.begin_put([record for _, record in kept]))
        self._written = time.monotonic()
        self._took = self._written - begin

    def _settle(self) -> None:
        """Wait for the batch that is being written, and take note of what became of it."""
        # To note what the store refused may begin another batch.
        while batch := self._batch:
            results = batch.results()
            self._batch = None
            self._leave_out({result.ref: result.status.value == "failed" for result in results})
            stored, refused = [], []
            for (pending, record), result in zip(batch.records, results, strict=True):
                self._end(pending, record)
                if result.status.value == "failed":
                    refused.append((pending, record, result))
                else:
                    self._count(pending, record, result)
                    stored.append(record)
            if self._arrivals:
                self._arrivals.stored(stored)
            for one in refused:
                self._refuse(*one)

    def _end(self, pending: _Pending, record: Record) -> None:
        """Forget a document that no longer waits to be written."""
        if self._newest.get(pending.ref) is pending:
            del self._newest[pending.ref]
        if self._unwritten.get(pending.digest) is record:
            del self._unwritten[pending.digest]

    def _leave_out(self, refused: Mapping[Ref, bool]) -> None:
        """Record what is left out of a batch; what repeats a refused document comes once more, before all others."""
        left_out, again = self._repeats.settle(refused)
        failures = []
        for (pending, record), said in left_out:
            self._end(pending, record)
            failures.append(
                Failure(record.ref, pending.item.source, DUPLICATE, said, record.indexed_at, pending.digest)
            )
        self.store.put_failures(failures)
        self.summary.duplicates += len(failures)
        later, self._records = self._records, []
        for documents in again:
            for place, (pending, record) in enumerate(documents, 1):
                if self._accept(pending, record):
                    self._repeats.wait(record.ref, documents[place:])
                    break
                self._end(pending, record)
        self._records += later

    def _refuse(self, pending: _Pending, record: Record, result: PutResult) -> None:
        if self._refused:
            self._refused(pending.item, record, result.reason)
        # Without a digest the next run tries it again.
        digest = "" if result.passing else pending.digest
        self._fail(pending.ref, pending.item.source, "refused", result.reason, digest)

    def _count(self, pending: _Pending, record: Record, result: PutResult) -> None:
        self.known.stored(pending.ref)
        self.known.forget(pending.item)
        self.summary.indexed += result.status.value == "created"
        self.summary.replaced += result.status.value == "replaced"
        self.summary.taken(record)


def default_jobs() -> int:
    """As many workers as this process may use processors."""
    with contextlib.suppress(AttributeError):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
