"""All documents of an index, read in parallel slices."""

from __future__ import annotations

import contextlib
import json
import queue
import threading
from collections.abc import Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, Self

from indexer.engine.client.base import Client
from indexer.engine.client.snapshots import Page, Snapshot
from indexer.errors import STOPPED

PAGE_BYTES = 8 << 20
_FIRST_PAGE = 10
_POLL_SECONDS = 0.1


class Slices:
    """An iterator of pages of hits, and a context manager; each slice is read by a thread of its own.

    `body` is the search without paging, `preference` selects shards; at most two pages for each slice are held. A page
    has at most `page` hits, and about PAGE_BYTES judging by the page before. Raises StoreError if the engine does not
    answer, or the point in time is gone.
    """

    def __init__(
        self, client: Client, path: str, body: Mapping[str, Any], slices: int, page: int, *, preference: str = ""
    ) -> None:
        self._body, self._page, self._slices = body, page, slices
        self._snapshot = Snapshot(client, path, preference)
        self._pages: queue.Queue[Page | BaseException | None] = queue.Queue(slices)
        self._stop = threading.Event()
        self._threads = [
            threading.Thread(target=self._read, args=(number,), name=f"slice-{number}", daemon=True)
            for number in range(slices)
        ]

    def __enter__(self) -> Self:
        self._snapshot.keep()
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        if kind and issubclass(kind, STOPPED):
            # A thread that waits for an engine that hangs is left to itself; the point in time runs out.
            return
        for thread in self._threads:
            thread.join()
        self._snapshot.close()

    def __iter__(self) -> Iterator[Page]:
        left = self._slices
        while left:
            item = self._pages.get()
            if isinstance(item, BaseException):
                raise item
            if item is None:
                left -= 1
            else:
                yield item

    def _read(self, number: int) -> None:
        try:
            after: Sequence[Any] | None = None
            size, more = min(self._page, _FIRST_PAGE), True
            body = self._body if self._slices == 1 else {**self._body, "slice": {"id": number, "max": self._slices}}
            while more and not self._stop.is_set():
                hits, more = self._snapshot.page(body, size, after)
                if hits:
                    self._give(hits)
                    after = hits[-1]["sort"]
                    size = max(1, min(self._page, PAGE_BYTES * len(hits) // len(json.dumps(hits))))
            self._give(None)
        except BaseException as error:
            # The error is raised in the thread that iterates.
            self._give(error)

    def _give(self, item: Page | BaseException | None) -> None:
        while not self._stop.is_set():
            with contextlib.suppress(queue.Full):
                self._pages.put(item, timeout=_POLL_SECONDS)
                return
