"""Answers to requests, given by threads, within limits."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from indexer.errors import ExtractionError, IncompatibleStoreError, NeardupError, NotFoundError, StoreError, UsageError
from indexer.library.collection import Collection
from indexer.model.declared import as_json
from indexer.service.guards import RefusedError
from indexer.service.limits import ServiceLimits

# The status of an answer by the kind of error; the first that fits.
_STATUS: tuple[tuple[type[NeardupError], int], ...] = (
    (IncompatibleStoreError, 409),
    (StoreError, 503),
    (UsageError, 400),
    (NotFoundError, 404),
    (ExtractionError, 422),
)
_SECONDS_LATER = "1"

Told = TypeVar("Told")


class Answerers:
    def __init__(self, opened: Callable[[], Collection], limits: ServiceLimits) -> None:
        self._opened, self._limits = opened, limits
        self._local = threading.local()
        self._pool = ThreadPoolExecutor(limits.threads, thread_name_prefix="answer")
        self._under_way = 0

    async def answer(self, ask: Callable[[Collection], Told]) -> Told:
        """The answer of a collection.

        Raises RefusedError if it can't be answered (503 if too many wait, 504 if it takes too long).
        """
        if self._under_way >= self._limits.threads + self._limits.waiting:
            raise RefusedError(503, "too many requests wait; try again later", {"Retry-After": _SECONDS_LATER})
        self._under_way += 1
        future = asyncio.get_running_loop().run_in_executor(self._pool, self._answered, ask)
        # One that took too long still has its thread, and counts until that is done.
        future.add_done_callback(self._done)
        try:
            return await asyncio.wait_for(asyncio.shield(future), self._limits.timeout)
        except TimeoutError:
            raise RefusedError(
                504, f"the answer took more than {self._limits.timeout:g} seconds; ask about less"
            ) from None

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _done(self, future: asyncio.Future[Any]) -> None:
        self._under_way -= 1
        if not future.cancelled():
            future.exception()

    def _answered(self, ask: Callable[[Collection], Told]) -> Told:
        try:
            return ask(self._collection())
        except NeardupError as error:
            if isinstance(error, StoreError):
                self._forget()
            status = next((status for kind, status in _STATUS if isinstance(error, kind)), 500)
            raise RefusedError(status, str(error)) from error

    def _collection(self) -> Collection:
        if not hasattr(self._local, "collection"):
            self._local.collection = self._opened()
        collection: Collection = self._local.collection
        return collection

    def _forget(self) -> None:
        if hasattr(self._local, "collection"):
            self._local.collection.close()
            del self._local.collection


def as_bytes(answer: Any) -> bytes:
    """The JSON of an answer, in ASCII, so half a character is still JSON."""
    return json.dumps(as_json(answer), allow_nan=False).encode("ascii")
