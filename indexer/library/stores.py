"""A store held open by a program."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from types import TracebackType
from typing import TYPE_CHECKING, Self, TypeVar

from indexer.errors import StoreError
from indexer.library import asking
from indexer.library.opening import Tell, tell_contended, warned
from indexer.library.records import Described
from indexer.library.results import described
from indexer.library.rows import html_table
from indexer.matching.rule import MatchRule
from indexer.matching.shorthand import AnyRule, explained, rule_asked, rule_of
from indexer.model import Ref
from indexer.stores import Store
from indexer.text.counts import counted

if TYPE_CHECKING:
    from indexer.extract import WorkerPool

__all__ = ["AT_ONCE", "MatchRule", "OpenStore", "Progress", "explained", "rule_of"]

T = TypeVar("T")
Progress = Callable[[int, int | None], None]
"""Told how many documents are done, and how many there are in all, None where that is not known."""

AT_ONCE = 500


class OpenStore:
    """An open store, under the user's `name`; `tell` is called with messages for the user.

    `workers` read files as questions; without them, each call starts some and ends them.
    """

    workers: WorkerPool[None] | None = None

    def __init__(self, store: Store, name: str, schemes: Sequence[str] = (), tell: Tell = warned) -> None:
        self.store, self.name, self.tell = store, name, tell
        self._added = tuple(schemes)
        self._lock = threading.RLock()

    def kept_workers(self, most: int) -> WorkerPool[None]:
        from indexer.extract import WorkerPool
        from indexer.ingest.indexing import default_jobs
        from indexer.library.options import Extraction, content_of

        reading = Extraction().reading(content_of(self.store))
        return WorkerPool(min(most, default_jobs()), *reading, is_shared=True)

    def rule(self, match: AnyRule = None, *, hashes: bool = False) -> MatchRule:
        """The requested rule, else the store's default; with `hashes` for hashes of simhash-doc alone.

        Raises UsageError, and IncompatibleStoreError if the store has a scheme with other parameters.
        """
        with self._lock:
            return rule_of(match, self.store, hashes=hashes)

    def rule_asked(self, match: AnyRule) -> MatchRule | None:
        """The requested rule, or None. Raises the errors of `rule`."""
        with self._lock:
            return rule_asked(match, self.store)

    def tell_plan(self, rule: MatchRule) -> None:
        for line in explained(rule):
            self.tell(line)

    def tell_size(self, rule: MatchRule) -> None:
        from indexer.matching import memory_needed

        if sentence := memory_needed.remark_on(self.store.count(), rule, memory_needed.available_memory()):
            self.tell(sentence, level="warning")

    def tell_contended(self, before: int = 0) -> int:
        return tell_contended(self.store, self.tell) - before if self.store.contended.count > before else 0

    def close(self) -> None:
        """Close the store; it may be called twice."""
        with self._lock:
            self.store.close()

    def __len__(self) -> int:
        with self._lock:
            return self.store.count()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Collection({self.name!r}): {self._said()}"

    def _repr_html_(self) -> str:
        return html_table((), [("collection", self.name), ("documents", self._said())])

    def _said(self) -> str:
        try:
            return counted(len(self), "document")
        except StoreError:
            return "closed"

    def _refs(self, given: str | Iterable[str]) -> list[Ref]:
        names = asking.names_of(given)
        found = zip(names, asking.found_each(self.store, names), strict=True)
        return [asking.only(name, refs) for name, refs in found if refs]

    def _stored(self, refs: Sequence[Ref]) -> list[Described]:
        return [described(*known) for known in self.store.described(refs) if known is not None]

    def _turns(self, make: Callable[[], Iterator[T]], at_once: int = AT_ONCE) -> Iterator[T]:
        """The items of an iterator over the store, some at a time, so that other threads have their turn between."""
        with self._lock:
            items = make()
        while True:
            with self._lock:
                page = list(islice(items, at_once))
            if not page:
                return
            yield from page

    @property
    def _folder(self) -> str:
        return asking.folder_of(self.store)
