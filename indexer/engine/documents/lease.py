"""A lease: of several followers of an index one works."""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from indexer.engine.client.base import Client
from indexer.engine.client.errors import AnswerError
from indexer.engine.client.names import path_of
from indexer.engine.index.side_index import resources_index
from indexer.errors import StoreError

_DOCUMENT = "follow-lease"
_CHANGED = 409
# Seconds that an end waits for the lease to be given back; else it runs out.
_BRIEFLY = 0.5


class Lease:
    """A document beside an index that names the worker; it changes only if it is as read.

    No clocks are compared: a waiting process takes it over after seeing the same version for `seconds`. The holder
    renews it three times in this time. A worker reconnecting after the engine was away is known by its `holder`, and
    need not wait for its own lease.
    """

    def __init__(self, client: Client, seconds: float, holder: str = "") -> None:
        self._client, self._me, self._seconds = client, holder or uuid.uuid4().hex, seconds
        self._beside = resources_index(client)
        self._path = path_of(self._beside.name)
        self._version: tuple[int, int] | None = None
        self._watched: tuple[tuple[int, int] | None, float] = None, 0.0

    @contextmanager
    def held(self, lost: Callable[[], None]) -> Iterator[bool]:
        """Hold it while entered; False if another process has it. `lost` is called on a takeover.

        Raises StoreError.
        """
        if not self._take():
            yield False
            return
        ended = threading.Event()
        keeper = threading.Thread(target=self._keep, args=(ended, lost), name="lease", daemon=True)
        keeper.start()
        try:
            yield True
        finally:
            ended.set()
            # An engine that hangs does not hold up the end.
            giving = threading.Thread(target=self._give_back, args=(keeper,), name="lease", daemon=True)
            giving.start()
            giving.join(_BRIEFLY)

    def _take(self) -> bool:
        there = self._client.found(f"{self._path}/_doc/{_DOCUMENT}")
        if there is None or not there.get("found"):
            self._beside.make()
            return self._put(self._me, op_type="create")
        version = int(there["_seq_no"]), int(there["_primary_term"])
        if there["_source"].get("holder") not in ("", self._me):
            if self._watched[0] != version:
                self._watched = version, time.monotonic()
            if time.monotonic() - self._watched[1] < self._seconds:
                return False
        self._version = version
        return self._put(self._me)

    def _put(self, holder: str, **params: str) -> bool:
        if self._version and not params:
            params = {"if_seq_no": str(self._version[0]), "if_primary_term": str(self._version[1])}
        try:
            path = f"{self._path}/_doc/{_DOCUMENT}"
            answer = self._client.request("PUT", path, {"holder": holder}, **params)  # type: ignore[arg-type]
        except AnswerError as error:
            if error.status == _CHANGED:
                return False
            raise
        self._version = int(answer["_seq_no"]), int(answer["_primary_term"])
        return True

    def _keep(self, ended: threading.Event, lost: Callable[[], None]) -> None:
        while not ended.wait(self._seconds / 3):
            try:
                if not self._put(self._me):
                    lost()
                    return
            except StoreError:
                # The work itself meets the same trouble.
                continue

    def _give_back(self, keeper: threading.Thread) -> None:
        keeper.join(_BRIEFLY)
        with suppress(StoreError):
            self._put("")
