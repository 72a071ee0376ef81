"""Indexing: documents brought into a store, from files or a program."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import replace
from itertools import chain, islice
from threading import Event
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar

from indexer.errors import NoStoreError, UsageError
from indexer.ingest.dead_letters import PATTERN, DeadLetters, letters_path
from indexer.ingest.indexing import Settings, store_info
from indexer.ingest.indexing import index as run_index
from indexer.ingest.readers import ColumnNames
from indexer.ingest.remembered import KnownColumns
from indexer.ingest.sources import STDIN, Input, Rejected, Selection, Sources
from indexer.library.asking import folder_of
from indexer.library.opening import Tell, open_store, opened, tell_contended, warned
from indexer.library.options import USUAL_CONTENT, Arriving, Extraction, Fingerprinting, Walk, content_of
from indexer.library.outcomes import Indexed
from indexer.matching.store_schemes import schemes_of, schemes_of_new
from indexer.model import own_files
from indexer.model.kinds import DOCUMENTS
from indexer.model.paths import store_file
from indexer.model.times import Refresh
from indexer.stores.texts import OUTDATED
from indexer.text.counts import counted
from indexer.text.hiding import shown_name

if TYPE_CHECKING:
    from indexer.clustering.arrivals import Arrivals
    from indexer.ingest.left_out import DuplicateFilter
    from indexer.model import Record, Ref
    from indexer.schemes.base import Scheme
    from indexer.stores import Store, StoreInfo

Each = TypeVar("Each")
_NO_COLUMNS = "the store can't remember the names of the columns; give them wherever these files are read again"


class Indexing:
    """A run that brings documents into a store, as `neardup index`; a context manager that keeps its own files unread.

    The documents are those of `paths`, or `given`. `into` is the store if it is open. `summary` and `count` report
    progress, `opened` whether the store was opened. `dead_letters` names the file for refused documents, by default one
    of its own unless `into` is given, and `tell` gets sentences about requests that can't be met. Raises UsageError,
    and NotFoundError for a missing path.
    """

    def __init__(  # noqa: PLR0913 - what a run is about
        self, store: str, paths: Sequence[str], walk: Walk, making: Fingerprinting, extraction: Extraction, *,
        tell: Tell = warned, dead_letters: str | None = None, into: Store | None = None,
        given: Iterable[Input | Rejected] | None = None, columns: ColumnNames | None = None,
    ) -> None:  # fmt: skip
        if not paths and not walk.paths_from and given is None:
            raise UsageError("name at least one file, folder or pattern, or - for JSON lines on standard input")
        if walk.paths_from == STDIN and STDIN in paths:
            raise UsageError("standard input can't be the list of paths and JSON lines at once")
        self.summary, self.opened = Indexed(store=shown_name(store)), False
        # Those of its files that are read, what gets the store when it is opened, and ids that several documents have.
        self.only: Callable[[str], bool] | None = None
        self.on_open: Callable[[Store], None] | None = None
        self.shared: Callable[[Ref, Record | Input, Input], None] | None = None
        self._store, self._paths, self._walk = store, paths, replace(walk, exclude=(*walk.exclude, PATTERN))
        self._making, self._extraction, self._known = making, extraction, KnownColumns()
        self._kind: str = DOCUMENTS
        self._letters = letters_path(dead_letters, paths) if dead_letters or into is None else None
        self._own, self._tell, self._into, self._given = ExitStack(), tell, into, given
        self._columns = columns or walk.columns.columns(extraction)

    def __enter__(self) -> Self:
        if self._letters:
            self._own.enter_context(own_files.in_use(self._letters))
        if self._into is None and (path := store_file(self._store)):
            self._own.enter_context(own_files.in_use(path, store=True))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._own.close()

    def sources(self) -> Sources:
        """The documents behind the paths."""
        base = folder_of(self._into) if self._into is not None else os.path.dirname(store_file(self._store))
        selection = self._walk.selection(self._extraction, base, self._known)
        selection = replace(selection, only=self.only, columns=self._columns)
        return Sources(self._paths, selection, paths_from=self._walk.listed())

    def count(self) -> int | None:
        """The number of documents, found by walking; None if it takes reading."""
        return self.sources().count()

    def run(  # noqa: PLR0913 - they are options of the command
        self,
        arriving: Arriving,
        *,
        create: bool = True,
        refresh: Refresh = "wait",
        bulk_load: bool = False,
        retry_failed: bool = False,
        stop: Event | None = None,
        on_new: Callable[[str], None] | None = None,
        following: AbstractContextManager[object] | None = None,
        progress: Callable[[int], None] = lambda _: None,
    ) -> Indexed:
        """Bring the documents into the store; the first of them makes a missing one, unless not to `create`.

        `on_new` is called with the id of each document without near-duplicates on arrival, unless `arriving` names a
        file for these. `following` is entered while documents are read, and `progress` is called with the number of
        those done before each further one. On an interruption by `stop`, finished work is stored, and the result says
        so. Raises StoreError, NoStoreError, IncompatibleStoreError and UsageError.
        """
        if self._given is None:
            self.sources()
        settings, exists = self._settings(create=create, retry_failed=retry_failed)
        sources = self.sources() if self._given is None else Sources((), Selection())
        every: Iterable[Input | Rejected] = sources if self._given is None else self._given
        inputs = every if exists else begun(every)
        if inputs is None:
            self._tell("no document was found, so no store was made")
            return self._done(sources.passed_over.total)
        making, coming, stopped = self._making, None, False
        letters = DeadLetters(self._letters, settings.options, settings.limits, self._tell) if self._letters else None
        with self._target(arriving, settings, exists=exists, refresh=refresh) as target:
            self.opened = True
            if self.on_open:
                self.on_open(target)
            try:
                settings = replace(settings, schemes=with_added(target, making.scheme, making.schemes))
                with (
                    target.bulk_load() if bulk_load else nullcontext(),
                    letters or nullcontext(),
                    _lines_to(arriving.new_to if arriving else None, on_new) as write,
                    arrivals(target, arriving, self._tell, write) as coming,
                    versions_kept(target, coming) as looking,
                    following or nullcontext(),
                ):
                    run_index(
                        self._told(inputs, progress), target, settings, summary=self.summary, stop=stop,
                        arrivals=looking, refused=letters, has_read=sources.has_read if self._given is None else None,
                    )  # fmt: skip
                tell_contended(target, self._tell)
            except KeyboardInterrupt:
                if stop is None or not stop.is_set():
                    raise
                stopped = True
            if not stopped and self._given is None:
                sources.passed_over.keep(target, sources.roots)
            if not self._known.keep(target):
                self._tell(_NO_COLUMNS)
        return self._done(sources.passed_over.total, coming, letters, stopped=stopped)

    def _done(
        self, left_out: int, coming: Arrivals | None = None, letters: DeadLetters | None = None, *,
        stopped: bool = False,
    ) -> Indexed:  # fmt: skip
        done = self.summary
        done.left_out, done.stopped, done.seconds = left_out, stopped, round(done.seconds, 3)
        if coming:
            done.new, done.near, done.marked = coming.counts.new, coming.counts.near, coming.counts.marked
            done.reading_seconds = coming.reading_seconds
        if letters and letters.count:
            done.refused, done.dead_letters = letters.count, os.fspath(letters.path)
        return done

    def _target(
        self, arriving: Arriving, settings: Settings, *, exists: bool, refresh: Refresh
    ) -> AbstractContextManager[Store]:
        if self._into is not None:
            return nullcontext(self._into)
        making, kind = self._making, self._making.kind or self._kind
        usual = schemes_of_new(making.schemes, making.scheme, made=not exists, kind=kind)
        made = store_info(settings.options.content, usual, kind)
        if not exists:
            _require_rule(arriving, made, self._store)
        return opened(self._store, self._tell, create=made, refresh=refresh)

    def _told(self, inputs: Iterable[Each], progress: Callable[[int], None]) -> Iterator[Each]:
        for item in inputs:
            progress(self.summary.done)
            yield item

    def _settings(self, *, create: bool, retry_failed: bool) -> tuple[Settings, bool]:
        content, exists = self._extraction.content, True
        try:
            with open_store(self._store, read_only=True) if self._into is None else nullcontext(self._into) as there:
                content = content or content_of(there)
                self._known, self._kind = KnownColumns(there), there.info.kind
        except NoStoreError:
            if not create:
                raise
            exists = False
        settings = Settings(
            options=self._extraction.options(content or USUAL_CONTENT),
            limits=self._extraction.limits,
            jobs=self._making.processes,
            min_tokens=self._making.least_words(self._making.kind or self._kind),
            retry_failed=retry_failed,
            shared=self.shared,
        )
        return settings, exists


def with_added(store: Store, added: Sequence[str], exactly: str | None = None) -> list[Scheme]:
    """The secondary schemes of a store, with those `added` to it; raises as `schemes_of`."""
    schemes = schemes_of(store, added, exactly)
    for scheme in schemes:
        store.add_scheme(scheme.info)
    return schemes


@contextmanager
def arrivals(
    store: Store,
    arriving: Arriving,
    tell: Tell,
    on_new: Callable[[str], None] | None = None,
    *,
    since: str = "",
    found_again: bool = False,
) -> Iterator[Arrivals | None]:
    """The `Arrivals` that look at documents as they come, None if nothing is asked about near-duplicates.

    After an interruption new documents are put into their clusters, unless the next run finds them again.
    """
    if not arriving:
        yield None
        return
    from indexer.clustering.arrivals import NOT_CLUSTERED, Arrivals, rule_for

    by = rule_for(
        store,
        arriving.rule(store),
        bound=arriving.clustering.bound,
        canonical=arriving.clustering.canonical_rule,
        cluster=arriving.cluster,
    )
    if by.refused:
        tell(f"{NOT_CLUSTERED}: {by.refused}", level="warning")

    def note(ref: Ref) -> None:
        if on_new:
            on_new(ref.id)

    coming = Arrivals(
        store,
        by,
        cluster=arriving.cluster,
        skip=arriving.examines,
        policy=None if arriving.verify == "sketch" else arriving.policy,
        on_new=note,
        since=since,
    )
    try:
        yield coming
    except KeyboardInterrupt:
        # The same run again passes over what is stored already.
        if not found_again:
            coming.place()
        raise
    coming.close()
    if coming.counts.outdated:
        stored = counted(coming.counts.outdated, "document was stored", "documents were stored")
        tell(f"{stored}: the document it repeats {OUTDATED}", level="warning")


@contextmanager
def versions_kept(store: Store, coming: Arrivals | None) -> Iterator[DuplicateFilter[Any] | None]:
    """The filter for documents: `coming`, else, with clusters, one that keeps versions in order."""
    if coming or not store.clustering_notes():
        yield coming
        return
    from indexer.clustering.versions import ReplacedVersions

    replaced = ReplacedVersions(store)
    yield replaced
    replaced.close()


def begun(inputs: Iterable[Each]) -> Iterable[Each] | None:
    """The inputs after the first exists; None without any, so that no store is made for it.

    Errors in a name or a pattern are raised before a store is made.
    """
    rest = iter(inputs)
    first = list(islice(rest, 1))
    return chain(first, rest) if first else None


def _require_rule(arriving: Arriving, made: StoreInfo, name: str) -> None:
    """Raise UsageError for a rule a new store can't serve, before it is made."""
    from indexer.stores.sketches import require_schemes

    rule = arriving.rule()
    if rule is None:
        return
    # What finds parts is refused whatever sketches there are: to make those would be no help.
    if arriving.examines:
        rule.require_copies()
    require_schemes(made.schemes, rule.schemes, shown_name(name))


@contextmanager
def _lines_to(name: str | None, answer: Callable[[str], None] | None) -> Iterator[Callable[[str], None] | None]:
    if name is None or name == STDIN:
        yield answer
        return
    try:
        lines = open(name, "w", encoding="utf-8", errors="backslashreplace", opener=own_files.writer)  # noqa: SIM115
        with lines as file, own_files.in_use(name):
            yield lambda line: print(line, file=file)
    except OSError as error:
        raise UsageError(f"--new-to {name}: {error.strerror}") from error
