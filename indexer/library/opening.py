"""Opening of stores for actions, and the sentences that go with it."""

from __future__ import annotations

import contextlib
import inspect
import os
import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from indexer.opening import open_store
from indexer.text.hiding import shown_name
from indexer.text.remarks import Level

if TYPE_CHECKING:
    from indexer.model.times import Refresh
    from indexer.stores import Store, StoreInfo


_PASSED_OVER = (str(Path(__file__).parents[1]) + os.sep, contextlib.__file__)


class Tell(Protocol):
    """Called with a sentence about what an action can't do as asked; `fields` are the counts of which it speaks."""

    def __call__(self, text: str, *, level: Level = "info", **fields: object) -> None:
        """Tell it."""


class Underway(Protocol):
    """The counts of a run that is under way: of `total` documents (0 if unknown), so many are `done`."""

    total: int

    @property
    def done(self) -> int:
        """The number of documents dealt with."""

    @property
    def failures(self) -> int:
        """The number of those that failed."""


Follow = Callable[[Underway], AbstractContextManager[object]]
"""Called with the counts of a run; what it gives is entered while they change."""


def warned(text: str, *, level: Level = "info", **_fields: object) -> None:
    """Warn of what needs attention, as a UserWarning at the line outside this package that is responsible."""
    if level == "info":
        return
    frame, depth = inspect.currentframe(), 1
    while frame and frame.f_back and frame.f_code.co_filename.startswith(_PASSED_OVER):
        frame, depth = frame.f_back, depth + 1
    warnings.warn(text, stacklevel=depth)


def opened(
    store: str | os.PathLike[str],
    tell: Tell,
    *,
    create: StoreInfo | None = None,
    read_only: bool = False,
    refresh: Refresh = "wait",
) -> Store:
    """Open a store; one that is not there is made only where `create` says with what."""
    opened_store = open_store(store, create=create, read_only=read_only)
    opened_store.refresh = refresh
    tell_made(opened_store, os.fspath(store), tell)
    for notice in opened_store.notices() if read_only else ():
        tell(notice, level="warning")
    return opened_store


def tell_made(store: Store, name: str, tell: Tell) -> None:
    """Tell that an index was made, whose name may have been mistyped."""
    if store.created and not store.capabilities.embedded:
        tell(f"there was no index {shown_name(name)}, so it was made")


def tell_contended(store: Store, tell: Tell) -> int:
    """Tell which documents were left as they are, because others change them all the time; how many."""
    if sentence := store.contended.sentence():
        tell(sentence, level="warning", contended=store.contended.count)
    return store.contended.count
