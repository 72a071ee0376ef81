"""Points in time of an index, kept open while somebody reads."""

from __future__ import annotations

import contextlib
import json
import queue
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Any, NamedTuple, Self

from indexer.engine.client.base import BY_INDEX, Client
from indexer.engine.client.errors import AnswerError
from indexer.errors import STOPPED, StoreError

# Seconds for which the engine keeps a point in time that is not searched. It outlives a killed command by no more.
KEEP_ALIVE = 300
# Seconds for which one is kept for a reader who does not ask for the next page, as behind a pager.
LONGEST_PAGE = 12 * 3600
_GONE = 404
# OpenSearch before 3.3 has no `_shard_doc`: a document of each shard may have the same place in this order.
_TIED_ORDER = ({"_seq_no": {"order": "asc", "unmapped_type": "long"}}, BY_INDEX)

Page = list[dict[str, Any]]
PAGE_BYTES = 8 << 20
_FIRST_PAGE = 10
_POLL_SECONDS = 0.1


class Snapshot:
    """A point in time over an index, alias or pattern; a context manager for several threads.

    A background thread keeps it alive for slow readers between searches. Raises StoreError if it can't be opened.
    """

    def __init__(self, client: Client, path: str, preference: str = "") -> None:
        self._client = client
        self._id = client.open_snapshot(path, f"{KEEP_ALIVE}s", preference)
        self._asked = time.monotonic()
        self._closed = threading.Event()
        self._keeper: threading.Thread | None = None

    def search(self, body: Mapping[str, Any]) -> Any:
        if "query" in body:
            # OpenSearch 3 ends a range alone after one page of hits, and so loses those of the next pages.
            body = {**body, "query": {"constant_score": {"filter": body["query"]}}}
        try:
            answer = self._client.search("", {**body, "pit": self._pit()})
        except AnswerError as error:
            if error.status == _GONE:
                raise StoreError(
                    f"{self._client.target.shown}: the point in time is gone ({error.reason}); run the same command "
                    "again"
                ) from error
            raise
        self._id = answer.get("pit_id", self._id)
        self._asked = time.monotonic()
        return answer

    def page(self, body: Mapping[str, Any], size: int, after: Sequence[Any] | None = None) -> tuple[Page, bool]:
        order = [*body.get("sort", ()), *self._client.hit_order]
        asked = {**body, "size": size, "sort": order, "track_total_hits": False}
        if after is not None:
            asked["search_after"] = after
        try:
            hits: Page = self.search(asked)["hits"]["hits"]
        except AnswerError as error:
            if "[_shard_doc]" not in error.reason:
                raise
            self._client.hit_order = _TIED_ORDER
            return self.page(body, size, after)
        if len(hits) < size or self._client.hit_order != _TIED_ORDER:
            return hits, len(hits) == size
        # The page may have cut a row of equal hits: the next page begins with that row.
        whole = [hit for hit in hits if hit["sort"] != hits[-1]["sort"]]
        return (whole, True) if whole else self.page(body, 2 * size, after)

    def keep(self) -> None:
        if self._keeper is None:
            self._keeper = threading.Thread(target=self._keep, name="snapshot", daemon=True)
            self._keeper.start()

    def close(self) -> None:
        if not self._closed.is_set():
            self._closed.set()
            self._client.close_snapshot(self._id)

    def _pit(self) -> dict[str, str]:
        return {"id": self._id, "keep_alive": f"{KEEP_ALIVE}s"}

    def _keep(self) -> None:
        kept = 0.0
        while not self._closed.wait(KEEP_ALIVE / 4):
            idle = time.monotonic() - max(self._asked, kept)
            if idle < KEEP_ALIVE / 4 or time.monotonic() - self._asked > LONGEST_PAGE:
                continue
            # Where that fails, the next search says so.
            with suppress(Exception):
                self._client.perform_once("POST", "/_search", {"size": 0, "pit": self._pit()})
                kept = time.monotonic()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Search(NamedTuple):
    """A search to be read to its end: its path, its body without paging, the number of slices, and the shards."""

    path: str
    body: Mapping[str, Any]
    slices: int = 1
    preference: str = ""


class Slices:
    """An iterator of the pages of searches, one search after the other, and a context manager.

    Each slice of a search is read by a thread of its own; at most two pages for each slice are held. A page has at most
    `page` hits, and about PAGE_BYTES judging by the page before. Raises StoreError if the engine does not answer, or a
    point in time is gone.
    """

    def __init__(self, client: Client, searches: Iterable[Search], page: int) -> None:
        self._client, self._searches, self._page = client, searches, page
        self._snapshot: Snapshot | None = None
        self._pages: queue.Queue[Page | BaseException | None] = queue.Queue()
        self._stop = threading.Event()
        self._threads: list[threading.Thread] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        # A thread that waits for an engine that hangs is left to itself; the point in time runs out.
        if not (kind and issubclass(kind, STOPPED)):
            self._end()

    def __iter__(self) -> Iterator[Page]:
        for search in self._searches:
            self._begin(search)
            left = search.slices
            while left:
                item = self._pages.get()
                if isinstance(item, BaseException):
                    raise item
                if item is None:
                    left -= 1
                else:
                    yield item
            self._end()

    def _begin(self, search: Search) -> None:
        self._snapshot = snapshot = Snapshot(self._client, search.path, search.preference)
        self._pages = queue.Queue(search.slices)
        snapshot.keep()
        for number in range(search.slices):
            given = snapshot, search, number
            self._threads.append(threading.Thread(target=self._read, args=given, name=f"slice-{number}", daemon=True))
            self._threads[-1].start()

    def _end(self) -> None:
        while self._threads:
            self._threads.pop().join()
        if self._snapshot:
            self._snapshot.close()

    def _read(self, snapshot: Snapshot, search: Search, number: int) -> None:
        try:
            after: Sequence[Any] | None = None
            size, more = min(self._page, _FIRST_PAGE), True
            body = {**search.body, **({"slice": {"id": number, "max": search.slices}} if search.slices > 1 else {})}
            while more and not self._stop.is_set():
                hits, more = snapshot.page(body, size, after)
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


def pages(client: Client, path: str, body: Mapping[str, Any], size: int) -> Iterator[Page]:
    """The hits of a search at one moment, at most `size` at once."""
    after: Sequence[Any] | None = None
    with Snapshot(client, path) as snapshot:
        while True:
            hits, more = snapshot.page(body, size, after)
            if not more:
                snapshot.close()
                if hits:
                    yield hits
                return
            snapshot.keep()
            yield hits
            after = hits[-1]["sort"]
