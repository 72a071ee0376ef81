"""All documents of an index at one point in time, read in parallel slices into bounded memory."""

from __future__ import annotations

import contextlib
import json
import queue
import threading
from collections.abc import Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, Self

from indexer.errors import STOPPED, StoreError
from indexer.stores.connection import AnswerError, Client
from indexer.stores.search_finding import require_whole

PAGE_OCTETS = 8 << 20
_FIRST_PAGE = 10
_KEEP_ALIVE = "30m"
_POLL_SECONDS = 0.1
_GONE = 404

Page = list[dict[str, Any]]


class Slices:
    """An iterator of pages of hits, and a context manager; each slice is read by a thread of its own.

    `body` is the search without paging; no more than two pages for each slice are ever held. A page has at most `page`
    hits, and about PAGE_OCTETS as far as the page before it tells. StoreError where the cluster does not answer, or the
    point in time ran out.
    """

    def __init__(self, client: Client, path: str, body: Mapping[str, Any], slices: int, page: int) -> None:
        self._client, self._body, self._page = client, body, page
        self._slices = slices
        self._snapshot = client.open_snapshot(path, _KEEP_ALIVE)
        self._pages: queue.Queue[Page | BaseException | None] = queue.Queue(slices)
        self._stop = threading.Event()
        self._threads = [
            threading.Thread(target=self._read, args=(number,), name=f"slice-{number}", daemon=True)
            for number in range(slices)
        ]

    def __enter__(self) -> Self:
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
        # It runs out by itself.
        with contextlib.suppress(StoreError):
            self._client.close_snapshot(self._snapshot)

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
            size = min(self._page, _FIRST_PAGE)
            while not self._stop.is_set():
                hits = self._ask(number, after, size)
                if hits:
                    self._give(hits)
                    after = hits[-1]["sort"]
                if len(hits) < size:
                    break
                size = max(1, min(self._page, PAGE_OCTETS * size // len(json.dumps(hits))))
            self._give(None)
        except BaseException as error:
            # It is raised in the thread that iterates.
            self._give(error)

    def _ask(self, number: int, after: Sequence[Any] | None, size: int) -> Page:
        asked = {
            **self._body,
            "size": size,
            "sort": [{"_shard_doc": "asc"}],
            "track_total_hits": False,
            "pit": {"id": self._snapshot, "keep_alive": _KEEP_ALIVE},
        }
        if self._slices > 1:
            asked["slice"] = {"id": number, "max": self._slices}
        if after is not None:
            asked["search_after"] = after
        try:
            answer = self._client.request("POST", "/_search", asked)
        except AnswerError as error:
            if error.status == _GONE:
                raise StoreError(
                    f"{self._client.target.shown}: the point in time is gone ({error.reason}); "
                    "run the same command again, it goes on from here"
                ) from error
            raise
        require_whole(answer, self._client.target.shown)
        hits: Page = answer["hits"]["hits"]
        return hits

    def _give(self, item: Page | BaseException | None) -> None:
        while not self._stop.is_set():
            with contextlib.suppress(queue.Full):
                self._pages.put(item, timeout=_POLL_SECONDS)
                return
