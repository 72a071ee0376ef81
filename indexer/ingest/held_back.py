"""Hold changed documents back for a later one with their id."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Generic

from indexer.extract.base import Item, Key
from indexer.model import Ref

_MOST_BYTES, _MOST_SECONDS = 64 << 20, 30.0


class HeldBack(Generic[Key]):
    """The documents of a run with changed bytes, held back in case they come again; `ref_of` is their identity.

    Otherwise a file with two lines of one id would write both at each run. They wait for at most 30 seconds, and 64 MB
    of them.
    """

    def __init__(self, ref_of: Callable[[Key], Ref]) -> None:
        self._ref_of = ref_of
        self._held: dict[Ref, tuple[float, Item[Key]]] = {}
        self._bytes = 0

    def hold(self, item: Item[Key]) -> None:
        self._held[self._ref_of(item.key)] = time.monotonic(), item
        self._bytes += len(item.data)

    def drop(self, ref: Ref) -> Key | None:
        if ref not in self._held:
            return None
        _, item = self._held.pop(ref)
        self._bytes -= len(item.data)
        return item.key

    def due(self, *, at_the_end: bool = False) -> list[Item[Key]]:
        due: list[Item[Key]] = []
        for ref, (since, item) in list(self._held.items()):
            if not at_the_end and self._bytes <= _MOST_BYTES and time.monotonic() - since < _MOST_SECONDS:
                break
            self.drop(ref)
            due.append(item)
        return due
