"""Follow an index of an engine."""

from __future__ import annotations

import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from threading import Event
from typing import TYPE_CHECKING

from indexer.engine.client.base import Client
from indexer.engine.client.connection import connect
from indexer.engine.client.names import reading_path
from indexer.engine.client.retries import RetryPolicy
from indexer.engine.documents.annotating import AnnotationSummary
from indexer.engine.documents.annotating import annotate as run
from indexer.engine.documents.lease import Lease
from indexer.engine.documents.marks import Marks, read_shards
from indexer.errors import StoreError, UsageError
from indexer.library.annotating import annotate_options, arriving_in, beside
from indexer.library.engine_options import Annotating, Watching
from indexer.library.opening import Tell, warned
from indexer.library.options import Fingerprinting, Refresh, WorkerLimits
from indexer.model.paths import store_file
from indexer.model.times import now
from indexer.stores import Store
from indexer.text.hiding import shown_name

if TYPE_CHECKING:
    from indexer.clustering.arrivals import Arrivals

# Sooner than a command gives up: the next look tries again.
_PATIENCE = RetryPolicy(timeout=30.0, limit=20.0)


@dataclass(frozen=True, slots=True)
class TakenUp:
    """The outcome of a run over new documents.

    There are so many `documents`, and `known` before; `annotated` got a fingerprint, `failed` counts by reason,
    `removed` records went. `held` says that nothing was removed because too many documents are gone at once;
    `is_changed` that clusters may need a new run.
    """

    documents: int
    known: int
    annotated: int
    failed: Mapping[str, int]
    removed: int
    held: bool
    is_changed: bool
    seconds: float


class Followed(ABC):
    """A place of changing documents, and the store with their fingerprints, `target`."""

    shown: str
    target: str

    @abstractmethod
    def look(self) -> int | None:
        """The number of unseen changes, possibly 0; None if there is nothing to take up.

        Raises StoreError.
        """

    @abstractmethod
    def take_up(self, begun: Callable[[Store], None], stop: Event) -> TakenUp:
        """Fingerprint new documents, put them into clusters and remove missing ones; `begun` gets the store before.

        Raises StoreError, and KeyboardInterrupt if `stop` is set.
        """

    def held(self, lost: Callable[[], None]) -> AbstractContextManager[bool]:  # noqa: ARG002
        """A time as the only working process; False if another one works. `lost` is called if it takes over."""
        return nullcontext(True)

    @abstractmethod
    def close(self) -> None:
        """Close everything, so that the next look begins anew."""


class FollowedIndex(Followed):
    """An index, alias or data stream of an engine.

    One request a look tells about changes (see `neardup.engine.documents.marks`), and the run of `neardup annotate
    --cluster` takes them up, under a lease. Raises UsageError unless it is one index of an engine.
    """

    def __init__(
        self,
        store: str,
        annotating: Annotating = Annotating(),
        making: Fingerprinting = Fingerprinting(),
        worker: WorkerLimits = WorkerLimits(),
        watching: Watching = Watching(),
        *,
        refresh: Refresh = "wait",
        tell: Tell = warned,
    ) -> None:
        self.shown = shown_name(store)
        if store_file(store):
            raise UsageError(f"{self.shown}: name the folders that are followed into a file")
        if set("*,") & set(store.rpartition("/")[2]):
            raise UsageError(f"{self.shown}: follow one index, alias or data stream")
        self._store, self._to, self._how, self._tell = store, annotating.to, watching, tell
        self.target = beside(store, annotating.to) if annotating.to else store
        options = annotate_options(annotating, making, worker, refresh)
        self._options = replace(options, most_lost=watching.most_lost, everything=watching.confirm_loss)
        self._client: Client | None = None
        self._aside: Client | None = None
        self._lease: Lease | None = None
        self._marks: Marks | None = None
        self._since, self._me = now(), uuid.uuid4().hex

    def look(self) -> int | None:
        """Compare the sequence numbers of the shards with the marks."""
        client = self._connected()
        shards = read_shards(client, reading_path(client.target.name))
        if not shards:
            raise StoreError(
                f"{client.target.shown}: no numbers of changes: there is no such index, a shard is away, or this user "
                "may not ask for statistics (monitor)"
            )
        marks, there = self._marks, {shard.key for shard in shards}
        if marks is None:
            return sum(shard.latest + 1 for shard in shards)
        behind = marks.behind(shards)
        return behind if behind or not marks.seen.keys() <= there else None

    def held(self, lost: Callable[[], None]) -> AbstractContextManager[bool]:
        """Hold the lease of the index."""
        self._connected()
        assert self._lease  # noqa: S101 connected
        return self._lease.held(lost)

    def take_up(self, begun: Callable[[Store], None], stop: Event) -> TakenUp:
        """Annotate new documents and put them into clusters."""
        summary = AnnotationSummary()
        usual = arriving_in(summary, self._tell, since=self._since)
        moved = 0

        @contextmanager
        def arriving(store: Store) -> Iterator[Arrivals | None]:
            nonlocal moved
            begun(store)
            with usual(store) as coming:
                yield coming
            moved = coming.changes.documents + coming.changes.removed if coming else 0

        run(
            self._connected(), self._options, aside=self._aside, summary=summary, arriving=arriving, stop=stop
        )  # fmt: skip
        self._marks = summary.marks
        self._options = replace(self._options, everything=False)
        return TakenUp(
            documents=summary.total,
            known=summary.marks.documents,
            annotated=summary.annotated,
            failed=dict(summary.failed),
            removed=summary.removed,
            held=summary.held,
            is_changed=bool(summary.annotated or summary.removed or moved),
            seconds=summary.seconds,
        )

    def close(self) -> None:
        """Let go of the connections."""
        for client in (self._client, self._aside):
            if client:
                with suppress(StoreError):
                    client.close()
        self._client = self._aside = self._lease = None

    def _connected(self) -> Client:
        if self._client is None:
            self._client = connect(self._store, retry=_PATIENCE)
            if self._to:
                self._aside = connect(self.target, retry=_PATIENCE)
            self._lease = Lease(self._aside or self._client, self._how.lease, self._me)
        return self._client
