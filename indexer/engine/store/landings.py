"""In which indices new documents have landed that a search may not show yet, so that a rollover doubles none."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable


class Landings:
    """Behind an alias or in a data stream: where documents were created since the last refresh; used by many threads.

    A document's earlier copy is found by a search, or, in the index that it is written to, by the engine itself. In
    another index, after a rollover, it is found only once a refresh has shown it.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._ticks: dict[str, int] = {}
        self._tick = 0

    def indices(self) -> frozenset[str]:
        """The indices that hold such documents."""
        with self._lock:
            return frozenset(self._ticks)

    def note(self, indices: Iterable[str]) -> None:
        """Documents were created in these."""
        with self._lock:
            self._tick += 1
            self._ticks.update(dict.fromkeys(indices, self._tick))

    def refreshed(self, refresh: Callable[[], object]) -> None:
        """Call `refresh`, and forget what it shows; not what is created meanwhile."""
        with self._lock:
            before = self._tick
        refresh()
        with self._lock:
            self._ticks = {index: tick for index, tick in self._ticks.items() if tick > before}
