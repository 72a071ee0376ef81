"""Index documents: read, skip known ones, extract, fingerprint, store."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from indexer.errors import StoreError
from indexer.extract.base import EXTRACTOR_VERSION, Content, Extracted, Failed, Item, Limits, Options
from indexer.extract.brought import missing
from indexer.extract.fields import remark_on, remarked
from indexer.extract.ocr.names import is_lacking
from indexer.ingest.digests import content_id, source_digest
from indexer.ingest.left_out import (
    DUPLICATE,
    REFUSED_DUPLICATE,
    DuplicateFilter,
    HeldBack,
    KnownFailures,
    LeftOutRepeats,
)
from indexer.ingest.mail_frame import MailFrame
from indexer.ingest.outcomes import IngestRun, RunDestination, WriteInProgress, is_short, read_one, record_of, take
from indexer.ingest.rereading import sketched_without_frame
from indexer.ingest.sources import Input, Rejected
from indexer.model import DECLARED, DEFAULT_MIN_TOKENS, SIMHASH_DOC, Failure, Record, Ref, with_declared
from indexer.model.counts import IndexingSummary
from indexer.model.kinds import DOCUMENTS, kind_named
from indexer.model.mails import is_mail
from indexer.model.paths import path_of_printable
from indexer.model.release import VERSION
from indexer.model.times import now
from indexer.stores.base import PutResult

if TYPE_CHECKING:
    from indexer.ingest.sketching import DigestedSketches
    from indexer.schemes.base import Scheme
    from indexer.stores import Store, StoreInfo

# What is read ahead of the workers.
_GROUP_ITEMS, _MOST_GROUP_ITEMS = 64, 256
_GROUP_BYTES, _GROUP_SECONDS = 8_000_000, 0.05
# So many documents are named that a later one with their id took the place of.
_MOST_NAMED = 10
# Equal documents wait for the first of them to be extracted; beyond this many, they are extracted like any other.
_MOST_WAITING = 10_000


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of a run: `jobs` worker processes; documents under `min_tokens` tokens are marked short.

    With 0 jobs this process itself fingerprints plain texts, best for texts already in memory. A failed document is
    tried again if its bytes or the rules changed, or with `retry_failed`. `schemes` are the secondary schemes for
    documents; they are added to the store. `shared` is called with each id used by an earlier document, and with both.
    """

    options: Options = field(default_factory=Options)
    limits: Limits = field(default_factory=Limits)
    jobs: int = 1
    min_tokens: int = DEFAULT_MIN_TOKENS
    retry_failed: bool = False
    schemes: Sequence[Scheme] = ()
    shared: Callable[[Ref, Record | Input, Input], None] | None = None


TellRefused = Callable[[Input, Record, str], None]


def store_info(content: Content, schemes: Sequence[Scheme] = (), kind: str = DOCUMENTS) -> StoreInfo:
    """This version's settings for the fingerprints of a new store with a content mode.

    Raises UsageError for another kind.
    """
    from indexer.core.text import UNICODE_VERSION
    from indexer.schemes.keys.simhash64 import SIMHASH64_LAYOUT
    from indexer.stores import StoreInfo

    return StoreInfo(
        scheme=SIMHASH_DOC,
        layout=SIMHASH64_LAYOUT,
        content=Options(content).content,
        extractor=EXTRACTOR_VERSION,
        unicode=UNICODE_VERSION,
        version=VERSION,
        schemes=tuple(scheme.info for scheme in schemes),
        kind=kind_named(kind).name,
    )


def index(
    inputs: Iterable[Input | Rejected],
    store: Store,
    settings: Settings | None = None,
    *,
    summary: IndexingSummary | None = None,
    stop: threading.Event | None = None,
    arrivals: DuplicateFilter[Any] | None = None,
    refused: TellRefused | None = None,
    has_read: Callable[[str], bool] | None = None,
) -> IndexingSummary:
    """Bring documents into a store and return the counts. Doing the same again resumes.

    A document with a stored id and source digest is skipped; one with a digest stored under another id is stored
    without extraction. An unreadable document is recorded with its reason, and its older record is kept. `arrivals`
    looks at each batch before and after storing, and may leave documents out. `refused` is called with each refused
    document before it is recorded. `has_read` says whether a source was read completely: then its old failures not met
    again are removed. `summary` is kept up to date. On interruption (KeyboardInterrupt, or `stop` set, which raises it)
    finished work is written first. Raises StoreError, and IncompatibleStoreError if the store has another content mode,
    scheme or rules.
    """
    counts = summary if summary is not None else IndexingSummary()
    indexing = _StoreRun(store, settings or Settings(), counts, stop, arrivals, refused)
    indexing.index(inputs)
    if has_read:
        indexing.known.forget_read(has_read)
    return counts


@dataclass(slots=True, eq=False)
class PendingInput:
    """A document on its way into a store: its input, identity, source digest and a remark; `at` is the time of reading.

    Workers end in any order; this time tells which document came first.
    """

    given: Input
    ref: Ref
    digest: str
    at: str
    remark: str = ""


_Read = Item[PendingInput]
_Unread = Failed[Input | Rejected]


class _StoreRun(RunDestination[PendingInput, PutResult]):
    def __init__(
        self,
        store: Store,
        settings: Settings,
        summary: IndexingSummary,
        stop: threading.Event | None,
        arrivals: DuplicateFilter[Any] | None,
        refused: TellRefused | None,
    ) -> None:
        self._arrivals, self._refused = arrivals, refused
        self._repeats: LeftOutRepeats[PendingInput] = LeftOutRepeats(arrivals)
        self.compares = arrivals is not None
        self.store, self.settings, self.summary = store, settings, summary
        self.options = settings.options
        store.info.require_comparable(store_info(self.options.content, kind=store.info.kind), "the store")
        for scheme in self.settings.schemes:
            store.add_scheme(scheme.info)
        self.known, self._since = KnownFailures(store), now()
        # The newest document of each id that is on its way, so that the last of several with one id wins.
        self._newest: dict[Ref, PendingInput] = {}
        self._held: HeldBack[PendingInput] = HeldBack(lambda pending: pending.ref)
        # Equal documents wait here for the one that is being extracted.
        self._waiting: dict[str, list[PendingInput]] = {}
        # Also those of the batch that is being written.
        self._unwritten: dict[str, Record] = {}
        self._kinds: dict[str | None, Options] = {}
        self._frame = MailFrame(store)
        self._run = IngestRun(self, self.options, settings.limits, settings.jobs, settings.schemes, stop)

    def index(self, inputs: Iterable[Input | Rejected]) -> None:
        begin = time.monotonic()
        try:
            self._run.bring(self._items(inputs))
            for record in sketched_without_frame(
                self.store, self._frame, self.settings.schemes, self.settings.min_tokens
            ):
                if self._arrivals:
                    self._arrivals.found(record.ref, is_settled=False)
        except StoreError:
            self._frame.changed = False  # to keep it would be refused too, after as long a wait
            raise
        finally:
            self._frame.keep(self.store)
            self.summary.seconds = time.monotonic() - begin

    # From the inputs to the items that workers get

    def _items(self, inputs: Iterable[Input | Rejected]) -> Iterator[_Read | _Unread]:
        for group in self._groups(inputs):
            if isinstance(group, Failed):
                yield group
                continue
            yield from self._wanted(group)
            yield from self._wanted(self._held.due(), may_wait=False)
        yield from self._wanted(self._held.due(at_the_end=True), may_wait=False)

    def _wanted(self, group: list[_Read], *, may_wait: bool = True) -> Iterator[_Read]:
        # Everything is decided before the first item is given: what the store said is stale after that.
        wanted = self._examine(group, may_wait=may_wait) if group else deque()
        group.clear()
        while wanted:
            item = wanted.popleft()
            yield replace(item, told=self._frame.told) if is_mail(item.key.given.source) else item
            self._run.halt_when_told()
        self._run.write_when_due()

    def _groups(self, inputs: Iterable[Input | Rejected]) -> Iterator[list[_Read] | _Unread]:
        group: list[_Read] = []
        size, begin = 0, time.monotonic()
        for given in inputs:
            self._run.halt_when_told()
            item = self._read(given)
            if isinstance(item, Failed):
                yield item
            else:
                group.append(item)
                size += len(item.data)
            # What is read fast is looked up in larger groups; what trickles in does not wait for one to be full.
            many = len(group) >= _GROUP_ITEMS and time.monotonic() - begin >= _GROUP_SECONDS
            if many or len(group) >= _MOST_GROUP_ITEMS or size >= _GROUP_BYTES:
                yield group
                group, size, begin = [], 0, time.monotonic()
            self._run.write_when_due()
        yield group

    def _read(self, given: Input | Rejected) -> _Read | _Unread:
        read = read_one(given, self.settings.limits.input_bytes)
        if isinstance(read, Failed):
            return read
        source, data = read.key, read.data
        self.summary.bytes += len(data)
        digest = source_digest(
            data, self.store.info, self._options_for(read.format), name=read.name, title=source.title
        )
        remark = remark_on(source.field, source.format, data)
        pending = PendingInput(source, Ref(source.id or content_id(data)), digest, now(), remark)
        return Item(pending, data, read.name, read.format)

    def _options_for(self, kind: str | None) -> Options:
        if kind not in self._kinds:
            self._kinds[kind] = replace(self.options, format=kind) if kind else self.options
        return self._kinds[kind]

    def _examine(self, group: Sequence[_Read], *, may_wait: bool) -> deque[_Read]:
        stored = self.store.get([item.key.ref for item in group])
        twins = self.store.find_digests([item.key.digest for item in group])
        wanted: deque[_Read] = deque()
        for item, old in zip(group, stored, strict=True):
            pending = item.key
            newest = self._newest.get(pending.ref)
            before = newest or old
            if self.settings.shared and before:
                known = before if isinstance(before, Record) else before.given
                self.settings.shared(pending.ref, known, pending.given)
            if held := self._held.drop(pending.ref):
                self.summary.unchanged += 1
                self._note_same_id(held, pending)
            if self._settled(pending, None if newest else old, newest):
                continue
            if may_wait and old and not newest and not pending.given.path:
                self._held.hold(item)
                continue
            if before:
                self._note_same_id(before, pending)
            self._newest[pending.ref] = pending
            twin = twins.get(pending.digest) or self._unwritten.get(pending.digest)
            waiting = self._waiting.get(pending.digest)
            if twin and self._is_complete(twin):
                self._run.records += self._reused(pending, twin)
            elif waiting is not None and len(waiting) < _MOST_WAITING:
                waiting.append(pending)
            else:
                self._waiting.setdefault(pending.digest, [])
                wanted.append(item)
        return wanted

    def _settled(self, pending: PendingInput, old: Record | None, newest: PendingInput | None) -> bool:
        given = pending.given
        known_digest = old.source_digest if old else newest.digest if newest else ""
        known_source = old.source if old else newest.given.source if newest else given.source
        if given.path and known_source != given.source and os.path.lexists(path_of_printable(known_source)):
            if known_digest == pending.digest:
                self.summary.unchanged += 1
            else:
                # Listed by its path: the id is another file's.
                said = f"{known_source} has the id {given.id!r}"
                self._fail(Ref(given.source), given.source, "duplicate-id", said)
            return True
        if old and not self.options.format and (gone := missing(old.extractor)):
            # Read as something else it would take the place of what the plug-in read.
            self._fail(pending.ref, given.source, "unsupported", gone, pending.digest)
            return True
        failed = self.known.digest(pending.ref, given.source)
        same = old and known_digest == pending.digest and not failed and self._is_complete(old)
        if old and same and self._adopt(pending, old) == old:
            self.summary.unchanged += 1
            self.known.forget(given)
            return True
        if failed == pending.digest and not (self.settings.retry_failed or given.again) and not newest:
            self.summary.failed_before += 1
            self.known.stays(pending.ref)
            return True
        return False

    def _note_same_id(self, before: PendingInput | Record, pending: PendingInput) -> None:
        given = pending.given
        if isinstance(before, Record):
            known, place = before.source_digest, before.container or before.source
            is_other = place != (given.container or given.source) and os.path.lexists(path_of_printable(place))
            replaces = is_other or before.indexed_at >= self._since
        else:
            known, place, replaces = before.digest, before.given.place_in_file, True
        if replaces and known != pending.digest and not given.again:
            self.summary.same_id += 1
            if len(self.summary.same_ids) < _MOST_NAMED:
                self.summary.same_ids.append(f"{pending.ref.id}: {given.place_in_file} instead of {place}")

    def _reused(self, pending: PendingInput, twin: Record) -> list[tuple[PendingInput, Record]]:
        self.summary.reused += 1
        self._frame.repeat(pending.ref, twin.ref)
        record = replace(self._adopt(pending, twin), indexed_at=pending.at, first_indexed_at="")
        return [(pending, record)] if self._accept(pending, record) else []

    def _adopt(self, pending: PendingInput, record: Record) -> Record:
        return replace(
            record,
            ref=pending.ref,
            source=pending.given.source,
            container=pending.given.container,
            extractor=remarked(record.extractor, pending.remark),
            metadata=with_declared(pending.given.metadata, record.metadata.get(DECLARED, {})),
            short=is_short(record.fingerprint, self.settings.min_tokens),
        )

    def _is_complete(self, record: Record) -> bool:
        if self.options.ocr and is_lacking(record.extractor, self.options.ocr):
            return False
        return bool(record.text_digest) and all(scheme.family in record.sketches for scheme in self.settings.schemes)

    # What becomes of them

    def sketched(self, outcome: Extracted[PendingInput, DigestedSketches]) -> Iterable[tuple[PendingInput, Record]]:
        pending = outcome.key
        given = pending.given
        record = record_of(
            outcome,
            pending.ref,
            pending.digest,
            min_tokens=self.settings.min_tokens,
            source=given.source,
            title=given.title,
            metadata=with_declared(given.metadata, outcome.document.declared),
            container=given.container,
            indexed_at=pending.at,
            remark=pending.remark,
        )
        self._frame.note(pending.ref, outcome.made[-1])
        if self._accept(pending, record):
            yield pending, record
        for one in self._waiting.pop(pending.digest, []):
            yield from self._reused(one, record)

    def failed(self, outcome: Failed[PendingInput] | _Unread) -> None:
        known = outcome.key
        if not isinstance(known, PendingInput):
            self._fail(Ref(known.id or known.source), known.source, outcome.reason, outcome.detail)
            return
        for one in (known, *self._waiting.pop(known.digest, [])):
            self._fail_pending(one, outcome.reason, outcome.detail)

    def _accept(self, pending: PendingInput, record: Record) -> bool:
        if self._newest.get(pending.ref) is not pending:
            self.summary.replaced += 1
            return False
        self._unwritten[pending.digest] = record
        return True

    def _fail_pending(self, pending: PendingInput, reason: str, detail: str) -> None:
        newest = self._newest.get(pending.ref)
        if newest is pending:
            del self._newest[pending.ref]
        elif newest:
            self.summary.replaced += 1
            return
        self._fail(pending.ref, pending.given.source, reason, detail, pending.digest)

    def _fail(self, ref: Ref, source: str, reason: str, detail: str, digest: str = "") -> None:
        # Storing a record clears a failure of the same id, so the one that came first must be written first.
        if ref in self._newest and any(record.ref == ref for _, record in self._run.records):
            self._run.write()
        self.summary.failed[reason] += 1
        self.summary.first_failure = self.summary.first_failure or f"{ref.id}: {detail or reason}"
        failure = Failure(ref, source, reason, detail, now(), digest)
        self._run.failures.append(failure)
        self.known.note(failure)

    def put_failures(self, failures: Sequence[Failure]) -> None:
        self.store.put_failures(failures)

    def begin_write(self, batch: Sequence[tuple[PendingInput, Record]]) -> WriteInProgress[PendingInput, PutResult]:
        kept = self._repeats.sift(batch)
        return WriteInProgress(kept, self.store.begin_put([record for _, record in kept]))

    def written(self, records: Sequence[tuple[PendingInput, Record]], results: Sequence[PutResult]) -> None:
        self._leave_out({result.ref: result.status.value == "failed" for result in results})
        stored, refused = [], []
        for (pending, record), result in zip(records, results, strict=True):
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

    def _end(self, pending: PendingInput, record: Record) -> None:
        if self._newest.get(pending.ref) is pending:
            del self._newest[pending.ref]
        if self._unwritten.get(pending.digest) is record:
            del self._unwritten[pending.digest]

    def _leave_out(self, refused: Mapping[Ref, bool]) -> None:
        left_out, again = self._repeats.settle(refused)
        failures = []
        for (pending, record), said, refuses in left_out:
            self._end(pending, record)
            ref, source = record.ref, pending.given.source
            if refuses:
                self._fail(ref, source, REFUSED_DUPLICATE, said, pending.digest)
            else:
                failures.append(Failure(ref, source, DUPLICATE, said, record.indexed_at, pending.digest))
        self.store.put_failures(failures)
        self.summary.duplicates += len(failures)
        first: list[tuple[PendingInput, Record]] = []
        for documents in again:
            for place, (pending, record) in enumerate(documents, 1):
                if self._accept(pending, record):
                    first.append((pending, record))
                    self._repeats.wait(record.ref, documents[place:])
                    break
                self._end(pending, record)
        self._run.records[:0] = first

    def _refuse(self, pending: PendingInput, record: Record, result: PutResult) -> None:
        if self._refused:
            self._refused(pending.given, record, result.reason)
        # Without a digest the next run tries it again.
        digest = "" if result.passing else pending.digest
        self._fail(pending.ref, pending.given.source, "refused", result.reason, digest)

    def _count(self, pending: PendingInput, record: Record, result: PutResult) -> None:
        self.known.stored(pending.ref)
        self.known.forget(pending.given)
        self.summary.indexed += result.status.value == "created"
        self.summary.replaced += result.status.value == "replaced"
        take(self.summary, record)


def default_jobs() -> int:
    with contextlib.suppress(AttributeError):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
