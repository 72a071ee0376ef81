"""Worker processes kept for several threads."""

from __future__ import annotations

import queue
from collections.abc import Iterable, Iterator
from types import TracebackType
from typing import Any, Self

from indexer.extract.base import Extracted, Failed, Item, Key, Limits, Options
from indexer.extract.pool import WorkerPool, require_jobs


class KeptWorkers:
    """`jobs` worker processes that give texts to the threads of a process, for as long as it likes; a context manager.

    A worker reads one document at a time, within `limits`. Workers start on demand, and again after an end; a thread
    waits if all are busy.
    """

    def __init__(self, jobs: int, options: Options, limits: Limits) -> None:
        require_jobs(jobs)
        self.options, self.limits = options, limits
        # The one that was used last is taken first, so that none is started without need.
        self._free: queue.LifoQueue[WorkerPool] = queue.LifoQueue()
        for _ in range(jobs):
            self._free.put(self._pool())
        self._jobs = jobs

    def outcomes(self, items: Iterable[Item[Key]]) -> Iterator[Extracted[Key, None] | Failed[Key]]:
        for item in items:
            yield self._outcome(item)

    def _outcome(self, item: Item[Key]) -> Extracted[Key, Any] | Failed[Key]:
        pool = self._free.get()
        try:
            [outcome] = pool.map([item])
            return outcome
        finally:
            self._free.put(self._pool() if pool.closed else pool)

    def _pool(self) -> WorkerPool:
        return WorkerPool(1, self.options, self.limits)

    def close(self) -> None:
        for _ in range(self._jobs):
            self._free.get().close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
