"""One stream of outcomes, documents read and extracted, or failures, which a run brings to a destination.

Indexing, annotating, corpus statistics and evaluations all read their documents through it, and count alike.
"""

from __future__ import annotations

import contextlib
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

from indexer.errors import STOPPED, ExtractionError, StoreError
from indexer.extract.base import Extracted, Failed, Item, Key, Limits, Options
from indexer.extract.declared import canonical_url
from indexer.extract.fields import field_read_as_text
from indexer.extract.ocr.names import is_lacking
from indexer.ingest.regular_files import UnreadableError, read_file
from indexer.ingest.sketching import DigestedSketches, fingerprint_of, sketch_document
from indexer.ingest.sources import Input, Rejected
from indexer.model import CANONICAL_URL, SIMHASH_DOC, Document, Failure, Fingerprint, Record, Ref, Sketch
from indexer.model.counts import ReadCounts
from indexer.model.times import now
from indexer.text.digests import with_title

if TYPE_CHECKING:
    from indexer.extract import WorkerPool
    from indexer.schemes.base import Scheme

Other = TypeVar("Other")
Returned = TypeVar("Returned")
# What is written at once.
BATCH_RECORDS = 8000
_BATCH_SECONDS = 1.0


def take(counts: ReadCounts, record: Record) -> None:
    counts.empty += not record.has_words
    counts.short += record.short
    counts.scanned += is_lacking(record.extractor)
    take_extractor(counts, record.extractor)


def take_extractor(counts: ReadCounts, extractor: str, count: int = 1) -> None:
    if name := field_read_as_text(extractor):
        counts.html_as_text[name] += count


def read(inputs: Iterable[Input | Rejected], limit: int) -> Iterator[Item[Input] | Failed[Input | Rejected]]:
    for source in inputs:
        yield read_one(source, limit)


def read_one(source: Input | Rejected, limit: int) -> Item[Input] | Failed[Input | Rejected]:
    """The document behind an input, of at most `limit` bytes; a page's declared canonical URL is metadata."""
    if isinstance(source, Rejected):
        return Failed(source, source.reason, source.detail)
    try:
        data = read_file(source.path, limit) if source.path else source.data
    except UnreadableError as error:
        return Failed(source, error.reason, error.detail)
    if source.format in (None, "html") and CANONICAL_URL not in source.metadata and (url := canonical_url(data)):
        source = replace(source, metadata={**source.metadata, CANONICAL_URL: url})
    return Item(source, data, source.path or source.name, source.format, source.extractor)


class InlineSketching:
    """Sketching without processes of its own, for texts already in this process.

    Other documents go to the one worker of `indexer.extract`, with its limits.
    """

    def __init__(self, options: Options, limits: Limits, schemes: Sequence[Scheme]) -> None:
        self._options, self._limits, self._schemes = options, limits, schemes

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None: ...

    def outcomes(
        self, items: Iterable[Item[Key] | Failed[Other]]
    ) -> Iterator[Extracted[Key, DigestedSketches] | Failed[Key] | Failed[Other]]:
        for item in items:
            if isinstance(item, Failed):
                yield item
                continue
            try:
                document = self._read(item)
            except ExtractionError as error:
                yield Failed(item.key, error.reason, error.detail)
                continue
            made = sketch_document(self._schemes, document, item.told)
            yield Extracted(item.key, replace(document, text=""), made)

    def _read(self, item: Item[Any]) -> Document:
        from indexer.extract import extract
        from indexer.extract.document import read_document

        options = item.options(self._options)
        if item.format == "text":
            return read_document(item.data, item.name, options, self._limits)
        return extract(item.data, name=item.name, options=options, limits=self._limits)


def sketching(jobs: int, options: Options, limits: Limits, schemes: Sequence[Scheme]) -> WorkerPool[DigestedSketches]:
    """Workers that make fingerprints, and sketches by schemes, and keep the texts to themselves.

    Short plain texts in memory are fingerprinted in this process, by as many threads, if the C core alone does it.
    """
    from indexer.extract import WorkerPool
    from indexer.ingest.short_texts import ShortTexts

    direct = ShortTexts(jobs, options, limits, schemes) if ShortTexts.serves(schemes) else None
    task = "indexer.ingest.sketching:sketch_document"
    return WorkerPool(jobs, options, limits, task=task, given=(schemes,), keep_text=False, direct=direct)


def texts(jobs: int, options: Options, limits: Limits) -> WorkerPool[None]:
    from indexer.extract import WorkerPool

    return WorkerPool(jobs, options, limits)


def record_of(  # noqa: PLR0913 - they are fields of the record
    extracted: Extracted[Any, DigestedSketches],
    ref: Ref,
    source_digest: str,
    *,
    min_tokens: int,
    source: str = "",
    title: str = "",
    size: int | None = None,
    metadata: Mapping[str, Any] | None = None,
    container: str = "",
    indexed_at: str = "",
    remark: str = "",
) -> Record:
    """The record of a sketched document.

    `title`, and `size` in bytes, default to the document's own; `indexed_at` is now. `remark` is added to the
    extractor's name.
    """
    (sketches, same, read, beside, _), document = extracted.made, extracted.document
    record = Record(
        ref=ref,
        source=source,
        title=title or document.title,
        format=document.format,
        extractor=document.extractor + remark,
        size=document.size if size is None else size,
        source_digest=source_digest,
        text_digest=same,
        read_digest=with_title(read, title),
        beside_digest=beside,
        indexed_at=indexed_at or now(),
        metadata={} if metadata is None else metadata,
        container=container,
    )
    return with_sketches(record, sketches, min_tokens)


def with_sketches(record: Record, sketches: Mapping[str, Sketch], min_tokens: int) -> Record:
    fingerprint = fingerprint_of(sketches)
    there = {family: sketch for family, sketch in sketches.items() if fingerprint or family != SIMHASH_DOC}
    return replace(record, sketches=there, short=is_short(fingerprint, min_tokens))


def is_short(fingerprint: Fingerprint | None, min_tokens: int) -> bool:
    return fingerprint is not None and fingerprint.tokens < min_tokens


@dataclass(frozen=True, slots=True)
class WriteInProgress(Generic[Key, Returned]):
    """Records being written; `results` waits for their results, one each, in order."""

    records: Sequence[tuple[Key, Record]]
    results: Callable[[], Sequence[Returned]]


class RunDestination(ABC, Generic[Key, Returned]):
    """The end of a run: it chooses records for each document, writes them, and notes the outcome.

    A document is known by its `Key`, which came with its item. All methods are called by one thread.
    """

    compares: bool = False
    """True if documents are compared with one another as they come, which takes less for each in larger batches."""

    ends_at_once: bool = False
    """True if an interruption leaves what is not written to the next run, as where a request may hang for long."""

    @abstractmethod
    def sketched(self, outcome: Extracted[Key, DigestedSketches]) -> Iterable[tuple[Key, Record]]:
        """The records to write for a sketched document."""

    @abstractmethod
    def failed(self, outcome: Failed[Any]) -> None:
        """Note a failed document, also one that never became an item."""

    @abstractmethod
    def begin_write(self, batch: Sequence[tuple[Key, Record]]) -> WriteInProgress[Key, Returned]:
        """Begin to write the records it does not leave out."""

    @abstractmethod
    def written(self, records: Sequence[tuple[Key, Record]], results: Sequence[Returned]) -> None:
        """Take note of the results of writing records."""

    @abstractmethod
    def put_failures(self, failures: Sequence[Failure]) -> None: ...


class IngestRun(Generic[Key, Returned]):
    """Brings items to a destination: finished ones are written in batches while workers extract the next.

    `records` and `failures` wait to be written; the destination may add to them. With 0 `jobs` no process is started.
    `stop` ends the run when it is set.
    """

    def __init__(
        self,
        destination: RunDestination[Key, Returned],
        options: Options,
        limits: Limits,
        jobs: int,
        schemes: Sequence[Scheme],
        stop: threading.Event | None = None,
    ) -> None:
        self.records: list[tuple[Key, Record]] = []
        self.failures: list[Failure] = []
        self._destination, self._stop = destination, stop or threading.Event()
        given = options, limits, schemes
        self._workers = sketching(jobs, *given) if jobs else InlineSketching(*given)
        self._writing: WriteInProgress[Key, Returned] | None = None
        self._written_at, self._took = time.monotonic(), 0.0

    def bring(self, *passes: Iterable[Item[Key] | Failed[Any]]) -> None:
        """Bring items to the destination; each iterable begins when the ones before it are written.

        However it ends, finished work is written, except after a StoreError (the rest would be refused too, after as
        long a wait) and after a second interruption. Raises StoreError, and KeyboardInterrupt when it is stopped.
        """
        try:
            with self._workers as workers:
                for items in passes:
                    for outcome in workers.outcomes(items):
                        if isinstance(outcome, Failed):
                            self._destination.failed(outcome)
                        else:
                            self.records.extend(self._destination.sketched(outcome))
                        self.write_when_due()
                        self.halt_when_told()
                    self.write_all()
        except StoreError:
            if self._writing:
                with contextlib.suppress(StoreError):
                    self._writing.results()
            self._drop()
            raise
        except STOPPED:
            if self._destination.ends_at_once:
                self._drop()
            raise
        finally:
            self.write_all()

    def _drop(self) -> None:
        self.records, self.failures, self._writing = [], [], None

    def halt_when_told(self) -> None:
        if self._stop.is_set():
            raise KeyboardInterrupt

    def write_when_due(self) -> None:
        """Begin to write if much is waiting, or for a second."""
        waiting = len(self.records) + len(self.failures)
        # Where documents are compared as they come, a batch waits as long as the one before it took.
        seconds = max(_BATCH_SECONDS, self._took if self._destination.compares else 0)
        if waiting >= BATCH_RECORDS or (waiting and time.monotonic() - self._written_at >= seconds):
            self.write()

    def write(self) -> None:
        begin = time.monotonic()
        self._settle()
        if self.failures:
            failures, self.failures = self.failures, []
            self._destination.put_failures(failures)
        if self.records:
            batch, self.records = self.records, []
            self._writing = self._destination.begin_write(batch)
        self._written_at = time.monotonic()
        self._took = self._written_at - begin

    def write_all(self) -> None:
        while self.records or self.failures or self._writing:
            self.write()

    def _settle(self) -> None:
        # To note what was refused may begin another batch.
        while writing := self._writing:
            results = writing.results()
            self._writing = None
            self._destination.written(writing.records, results)
