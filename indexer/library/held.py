"""A store that a program holds open: its lock, its turns and its names."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from types import TracebackType
from typing import Self, TypeVar

from indexer.errors import StoreError
from indexer.library import asking
from indexer.library.records import Described
from indexer.library.rows import html_table
from indexer.matching.rule import MatchRule, default_rule, parse_rule
from indexer.model import Ref
from indexer.stores import Store
from indexer.text.counts import counted

T = TypeVar("T")
Progress = Callable[[int, int | None], None]
"""Told how many documents are done, and how many there are in all, None where that is not known."""

AT_ONCE = 500


class Held:
    """A store that is open, under the `name` that its user gave."""

    def __init__(self, store: Store, name: str, schemes: Sequence[str] = ()) -> None:
        self.store, self.name = store, name
        self._added = tuple(schemes)
        self._lock = threading.RLock()

    def notices(self) -> list[str]:
        """The remarks on the state of the store that its user should know, a sentence each."""
        with self._lock:
            made = self.store.created and not self.store.capabilities.embedded
            return [f"there was no index {self.name}, so it was made"] * made + self.store.notices()

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

    def _rule(self, match: str | MatchRule | None) -> MatchRule:
        if match is None:
            return default_rule(self.store)
        return match if isinstance(match, MatchRule) else parse_rule(match, self.store)

    def _refs(self, given: str | Iterable[str]) -> list[Ref]:
        """The identities that names mean, without those that mean none. UsageError where one means several."""
        names = asking.names_of(given)
        found = zip(names, self.store.find_each(names), strict=True)
        return [asking.only(name, refs) for name, refs in found if refs]

    def _stored(self, refs: Sequence[Ref]) -> list[Described]:
        return asking.stored_rows(self.store, refs)

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
        """The folder that ids of files are seen from: that of an embedded store's file, empty for another."""
        path = getattr(self.store, "path", None)
        return os.path.dirname(os.path.abspath(path)) if isinstance(path, os.PathLike) else ""
