"""Points in time of an index, kept open while somebody reads."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Any, Self

from indexer.engine.client.base import BY_INDEX, Client
from indexer.engine.client.errors import AnswerError
from indexer.errors import StoreError

# Seconds for which the engine keeps a point in time that is not searched. It outlives a killed command by no more.
KEEP_ALIVE = 300
# Seconds for which one is kept for a reader who does not ask for the next page, as behind a pager.
LONGEST_PAGE = 12 * 3600
_GONE = 404
# OpenSearch before 3.3 has no `_shard_doc`: a document of each shard may have the same place in this order.
_TIED_ORDER = ({"_seq_no": {"order": "asc", "unmapped_type": "long"}}, BY_INDEX)

Page = list[dict[str, Any]]


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

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
