"""Fingerprints for documents already in an index of a search engine, once or as they change."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from dataclasses import asdict, replace
from threading import Event
from typing import TYPE_CHECKING
from urllib.parse import quote

from indexer.engine.client.base import Client
from indexer.engine.client.connection import connect
from indexer.engine.client.names import reading_path
from indexer.engine.client.retries import RetryPolicy
from indexer.engine.documents.annotating import AnnotationSummary
from indexer.engine.documents.annotating import annotate as run
from indexer.engine.documents.fields import AnnotateOptions
from indexer.engine.documents.lease import Lease
from indexer.engine.documents.marks import Marks, read_shards
from indexer.errors import StoreError, UsageError
from indexer.library.engine_options import Annotating, Watching
from indexer.library.following import Followed, TakenUp
from indexer.library.indexing import arrivals
from indexer.library.opening import Follow, Tell, warned
from indexer.library.options import Fingerprinting, WorkerLimits
from indexer.library.outcomes import AnnotatedDocuments
from indexer.matching.store_schemes import schemes_of_new
from indexer.model.kinds import DOCUMENTS
from indexer.model.paths import store_file
from indexer.model.times import Refresh, now
from indexer.stores import Store
from indexer.text.hiding import shown_name

if TYPE_CHECKING:
    from indexer.clustering.arrivals import Arrivals

    ArrivalsOf = Callable[[Store], AbstractContextManager[Arrivals | None]]


def annotate(
    store: str,
    annotating: Annotating = Annotating(),
    making: Fingerprinting = Fingerprinting(),
    worker: WorkerLimits = WorkerLimits(),
    *,
    refresh: Refresh = "wait",
    following: Follow = nullcontext,
    tell: Tell = warned,
) -> AnnotatedDocuments:
    """Fingerprint the documents of an index from their own fields, as `neardup annotate` does.

    Finished work is not repeated, and documents not written since the last run are not read. `following` is called with
    the counts of the run, and its result is entered as a context. Raises StoreError if it would harm the documents of
    the index's owner, UsageError for a missing field and for a store without an index.
    """
    if store_file(store):
        raise UsageError(
            f"{shown_name(store)}: only an index in a search engine has documents to annotate; name "
            "https://host:9200/INDEX"
        )
    wanted = annotate_options(annotating, making, worker, refresh)
    summary = AnnotationSummary()
    with ExitStack() as stack:
        client = connect(store)
        stack.callback(client.close)
        aside = None
        if annotating.to is not None:
            aside = connect(beside(store, annotating.to))
            stack.callback(aside.close)
        stack.enter_context(following(summary))
        coming = arriving_in(summary, tell) if annotating.cluster and not annotating.dry_run else None
        run(client, wanted, aside=aside, summary=summary, arriving=coming)
        shown, to = client.target.shown, aside.target.shown if aside else None
    if summary.sourceless and summary.annotated:
        tell(
            "the documents do not say where they came from, so reports and dashboards count all of them as unknown; "
            "--source-field names a field with their URL, path or place"
        )
    return AnnotatedDocuments.of(summary, store=shown, to=to, dry_run=wanted.dry_run, seconds=round(summary.seconds, 3))


def arriving_in(summary: AnnotationSummary, tell: Tell, *, since: str = "") -> ArrivalsOf:
    """The function that puts new documents into the clusters of a store, and repairs clusters after deletions.

    `since` is that of `neardup.clustering.arrivals.Arrivals`.
    """

    @contextmanager
    def arriving(store: Store) -> Iterator[Arrivals | None]:
        from indexer.clustering.placing import miscounted
        from indexer.library.options import Arriving as Wanted

        with arrivals(store, Wanted(cluster=True), tell, since=since, found_again=True) as coming:
            yield coming
            if coming and summary.lost and not summary.held:
                coming.leave(miscounted(store))
        if coming:
            summary.reading_seconds, summary.clusters = coming.reading_seconds, coming.changes.clusters

    return arriving


def annotate_options(
    annotating: Annotating, making: Fingerprinting, worker: WorkerLimits, refresh: Refresh
) -> AnnotateOptions:
    """The options of a run."""
    return AnnotateOptions(
        **asdict(annotating), jobs=making.processes, min_tokens=making.min_tokens, kind=making.kind,
        limits=worker.limits, refresh=refresh, schemes=making.scheme,
        new_schemes=tuple(schemes_of_new(making.schemes, making.scheme, made=False, kind=making.kind or DOCUMENTS)),
        exactly=None if making.schemes is None else tuple(schemes_of_new(making.schemes)),
    )  # fmt: skip


def beside(store: str, name: str) -> str:
    """The URL of an index of the same engine as a store's. Raises UsageError unless the name is that of one index."""
    # What stands before an "@" may be a password.
    if set("/*,:@") & set(name):
        raise UsageError(f"--to {shown_name(name)}: name one index of the same engine")
    return f"{store.rstrip('/').rpartition('/')[0]}/{quote(name, safe='')}"


# Sooner than a command gives up: the next look tries again.
_PATIENCE = RetryPolicy(timeout=30.0, limit=20.0)


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
        self._options = replace(options, most_lost=watching.most_lost, all=watching.confirm_loss)
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
        self._options = replace(self._options, all=False)
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
