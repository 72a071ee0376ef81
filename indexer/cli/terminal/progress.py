"""The progress of a run, on a terminal."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Self

from rich.console import Console, RenderableType
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from indexer.errors import NeardupError
from indexer.library.opening import RunProgress


class Following(Progress):
    """A line that follows a run; `find_total` finds the number of documents in a thread, for the time left."""

    def __init__(
        self, counts: RunProgress, doing: str, find_total: Callable[[], int | None] | None = None
    ) -> None:  # fmt: skip
        super().__init__(
            TextColumn(doing),
            BarColumn(bar_width=None),
            MofNCompleteColumn(),
            *([TextColumn("{task.fields[rate]:,.0f}/s")] if find_total else []),
            TextColumn("{task.fields[failed]:,} failed"),
            TimeRemainingColumn(compact=True),
            console=Console(stderr=True),
            expand=True,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self._counts, self._find_total = counts, find_total
        self._total: int | None = None
        self._begin = time.monotonic()
        self.add_task(doing, total=None, rate=0.0, failed=0)

    def get_renderables(self) -> Iterable[RenderableType]:
        # Progress renders once before its constructor has ended; then there is no task.
        for task in self.tasks:
            counts, seconds = self._counts, max(time.monotonic() - self._begin, 0.001)
            self.update(
                task.id, completed=counts.done, total=counts.total or self._total, rate=counts.done / seconds,
                failed=counts.failures,
            )  # fmt: skip
        yield from super().get_renderables()

    def __enter__(self) -> Self:
        self._begin = time.monotonic()
        threading.Thread(target=self._look_for_total, daemon=True).start()
        super().__enter__()
        return self

    def _look_for_total(self) -> None:
        with suppress(NeardupError, OSError):
            self._total = self._find_total() if self._find_total else None

    @contextmanager
    def aside(self) -> Iterator[None]:
        self.stop()
        try:
            yield
        finally:
            self.start()
