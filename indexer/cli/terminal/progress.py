"""The progress of a run, on a terminal."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Self

from rich.console import Console, RenderableType
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, TextColumn, TimeRemainingColumn

from indexer.errors import NeardupError
from indexer.library.indexing import Indexing
from indexer.library.opening import RunProgress


class _Line(Progress):
    def __init__(self, doing: str, *more: ProgressColumn) -> None:
        super().__init__(
            TextColumn(doing),
            BarColumn(bar_width=None),
            MofNCompleteColumn(),
            *more,
            TextColumn("{task.fields[failed]:,} failed"),
            TimeRemainingColumn(compact=True),
            console=Console(stderr=True),
            expand=True,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )

    @contextmanager
    def aside(self) -> Iterator[None]:
        self.stop()
        try:
            yield
        finally:
            self.start()


class Bar(_Line):
    """A line that follows a run; a second walk over the files finds the total, for the time left."""

    def __init__(self, run: Indexing) -> None:
        super().__init__("indexing", TextColumn("{task.fields[rate]:,.0f}/s"))
        self._run = run
        self._begin = time.monotonic()
        self._bar = self.add_task("indexing", total=None, rate=0.0, failed=0)

    def get_renderables(self) -> Iterable[RenderableType]:
        # Progress renders once before its constructor has ended.
        if hasattr(self, "_bar"):
            done = self._run.summary.done
            rate = done / max(time.monotonic() - self._begin, 0.001)
            self.update(self._bar, completed=done, rate=rate, failed=self._run.summary.failures)
        yield from super().get_renderables()

    def __enter__(self) -> Self:
        self._begin = time.monotonic()
        threading.Thread(target=self._find_total, daemon=True).start()
        super().__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        super().__exit__(kind, error, trace)

    def _find_total(self) -> None:
        try:
            self.update(self._bar, total=self._run.count())
        except (NeardupError, OSError):
            return


class Following(_Line):
    def __init__(self, summary: RunProgress, doing: str) -> None:
        super().__init__(doing)
        self._summary = summary
        self.add_task(doing, total=None, failed=0)

    def get_renderables(self) -> Iterable[RenderableType]:
        for task in self.tasks:
            counts = self._summary
            self.update(task.id, completed=counts.done, total=counts.total or None, failed=counts.failures)
        yield from super().get_renderables()
