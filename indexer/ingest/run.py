"""Bring documents from a source to a destination."""

from __future__ import annotations

import contextlib
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from indexer.errors import STOPPED, StoreError
from indexer.extract.base import Extracted, Failed, Item, Key, Limits, Options
from indexer.ingest.outcomes import InlineSketching, sketching
from indexer.model import Failure, Record

if TYPE_CHECKING:
    from indexer.ingest.sketching import DigestedSketches
    from indexer.schemes.base import Scheme

Returned = TypeVar("Returned")

# What is written at once.
BATCH_RECORDS = 8000
_BATCH_SECONDS = 1.0


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
