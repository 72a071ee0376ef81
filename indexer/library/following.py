"""Keep a store in step with an index or folders."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass
from threading import Event
from typing import Annotated, Any, get_type_hints

from indexer.errors import MachineError, NeardupError, NotFoundError, StoreError
from indexer.library.alerts import AlertCounts, Alerts
from indexer.library.engine_options import Alerting, Watching
from indexer.library.opening import Tell, warned
from indexer.stores import Store
from indexer.text.counts import counted

# Looks that failed are as far apart as this at most, in seconds.
_LONGEST = 60.0
# What may be right the next time.
_PASSING = (StoreError, MachineError, NotFoundError)


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


@dataclass(slots=True)
class FollowState(AlertCounts):
    """The state of a process following an index or folders, for its observers; `error` is the present problem."""

    behind: Annotated[int, "Changes not looked at yet."] = 0
    documents: Annotated[int, "Documents in the index."] = 0
    annotated: Annotated[int, "Documents fingerprinted by this process."] = 0
    failed: Annotated[int, "Documents that could not be fingerprinted by this process."] = 0
    removed: Annotated[int, "Records of gone documents, removed by this process."] = 0
    passes: Annotated[int, "Runs over new documents."] = 0
    regroupings: Annotated[int, "Groupings of everything."] = 0
    errors: Annotated[int, "Looks at the index that failed."] = 0
    rate: Annotated[float, "Documents a second in the last run with any."] = 0.0
    held: Annotated[bool, "1 if nothing is removed because too many documents are gone at once."] = False
    standing_by: Annotated[bool, "1 if another process follows the index."] = False
    error: str = ""
    looked_at: Annotated[float, "When the index was last looked at, in seconds since 1970."] = 0.0

    @property
    def is_well(self) -> bool:
        """True if the index was looked at, nothing is wrong, and nothing is held back."""
        return bool(self.looked_at) and not self.error and not self.held

    def as_dict(self) -> dict[str, Any]:
        """The state as a dict, with `is_well`."""
        return {"well": self.is_well, **asdict(self)}

    def metrics(self, shown: str) -> str:
        """The state as metrics with this store's name, in Prometheus's text format."""
        from indexer.report.metrics import Metric, exposition

        hints = get_type_hints(FollowState, include_extras=True)
        told = {name: hint.__metadata__[0] for name, hint in hints.items() if hasattr(hint, "__metadata__")}
        here, values = {"store": shown}, asdict(self)
        return exposition(Metric(f"neardup_follow_{name}", says, [(here, values[name])]) for name, says in told.items())


class Follower:
    """Follows changes in an index or in folders; `state` reports its progress, also to threads.

    Changed documents are fingerprinted and put into clusters. In quiet times all are grouped anew, which takes a small
    share of the time, and corrects effects of the arrival order. Alerts tell of copies and new clusters. Raises
    UsageError for an invalid receiver of alerts.
    """

    def __init__(
        self,
        followed: Followed,
        watching: Watching = Watching(),
        alerting: Alerting = Alerting(),
        *,
        tell: Tell = warned,
    ) -> None:
        self.state = FollowState()
        self._followed, self._how, self._tell = followed, watching, tell
        self._alerts = Alerts(followed.shown, alerting, self.state, tell)
        self._last_words = alerting.alert_timeout
        self._stop = Event()
        # What was changed since all was grouped, whether clusters were left half made, and when they may be made again.
        self._changed = self._broken = False
        self._quiet_since = self._regroup_at = time.monotonic()

    def run(self, stop: Event | None = None, *, once: bool = False) -> FollowState:
        """Follow until `stop` is set, or with `once` until nothing is left to do.

        Raises UsageError for unfitting fields or schemes at the start, and with `once` every error.
        """
        self._stop = stop or self._stop
        failed = 0
        try:
            while not self._stop.is_set():
                try:
                    worked = self.look()
                    failed = 0
                    self.state.error = ""
                except NeardupError as error:
                    # What is asked for was right if it has worked: now it is the index that is another one.
                    if once or not (self.state.passes or isinstance(error, _PASSING)):
                        raise
                    worked, failed = False, failed + 1
                    self._note_error(error)
                if once and not worked and not self.state.standing_by:
                    break
                if not worked:
                    self._stop.wait(min(_LONGEST, self._how.interval * 2 ** min(failed, 10)))
        finally:
            self.close()
            self._alerts.close(0.0 if self._stop.is_set() else self._last_words)
        return self.state

    def look(self) -> bool:
        """Look once, and take up changes; True if there was anything. Raises StoreError."""
        behind = self._followed.look()
        self.state.looked_at = time.time()
        self.state.behind = behind or 0
        return self._regroup_if_due() if behind is None else self._leased(self._pass)

    def close(self) -> None:
        """Close everything."""
        self._followed.close()

    def _note_error(self, error: NeardupError) -> None:
        self.state.errors += 1
        if str(error) != self.state.error:
            self._tell(f"{error}; nothing is removed for it, and it is tried again", level="warning")
        self.state.error = str(error)
        # There may be another one in its place now.
        self.close()

    def _leased(self, work: Callable[[Event], bool]) -> bool:
        stop = _Either(self._stop)
        with self._followed.held(stop.set) as mine:
            if self.state.standing_by is mine:
                self._tell("stands by: another process follows it" if not mine else "takes over")
            self.state.standing_by = not mine
            if not mine:
                return False
            try:
                return work(stop)
            except KeyboardInterrupt:
                if self._stop.is_set() or not stop.is_set():
                    raise
                raise StoreError("another process took over, since this one was too slow") from None

    def _pass(self, stop: Event) -> bool:
        done, state = self._followed.take_up(self._begin, stop), self.state
        self._quiet_since = time.monotonic()
        self._changed |= done.is_changed or (not state.passes and bool(done.documents))
        failures = sum(done.failed.values())
        state.passes += 1
        state.documents = done.documents
        state.annotated += done.annotated
        state.failed += failures
        state.removed += done.removed
        if done.annotated:
            state.rate = round(done.annotated / done.seconds, 1)
        if done.held and not state.held:
            self._tell(
                f"of {counted(done.known, 'document')} only {done.documents:,} are left: nothing is removed for it "
                "until they are back, or follow is started with --confirm-loss",
                level="warning",
            )
        state.held = done.held
        if done.annotated or failures:
            self._tell(
                f"{counted(done.annotated, 'document')} annotated, {failures:,} failed",
                annotated=done.annotated, failed=dict(done.failed), behind=state.behind, seconds=round(done.seconds, 3),
            )  # fmt: skip
        return True

    def _begin(self, store: Store) -> None:
        from indexer.clustering.memory import last_clustering

        last = last_clustering(store)
        self._broken = last.finished is False
        # What the first clustering of all finds came before anybody asked.
        if last.at or last.finished:
            store.watcher = self._alerts

    def _regroup_if_due(self) -> bool:
        quiet = time.monotonic() - self._quiet_since >= self._how.quiet_for and time.monotonic() >= self._regroup_at
        if self.state.held or not (self._broken or (self._changed and quiet)):
            return False
        return self._leased(self._regroup)

    def _regroup(self, _stop: Event) -> bool:
        from indexer.clustering.memory import last_clustering
        from indexer.library.collection import open as open_collection

        begin = time.monotonic()
        with open_collection(self._followed.target, create=False, tell=self._tell) as collection:
            if last_clustering(collection.store).at:
                collection.store.watcher = self._alerts
            made = collection.cluster()
        took = time.monotonic() - begin
        self._changed = self._broken = False
        self._regroup_at = time.monotonic() + took / self._how.share
        self.state.regroupings += 1
        self._tell(
            f"grouped everything: {counted(made.written.documents, 'document')} changed",
            documents=made.written.documents, seconds=round(took, 3),
        )  # fmt: skip
        return bool(made.written.documents)


class _Either(Event):
    """An event that is also set if another one is."""

    def __init__(self, other: Event) -> None:
        super().__init__()
        self._other = other

    def is_set(self) -> bool:
        return super().is_set() or self._other.is_set()
