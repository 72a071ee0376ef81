"""The pauses before retries, with remarks."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from indexer.text.remarks import remark

# Seconds to wait for a server to listen at a URL that has not answered yet.
FIRST_CONTACT = 8.0
# Seconds of waiting before a remark is made, and those between two remarks about one engine, however many requests to
# it wait at once.
SILENT = 2.0
BETWEEN = 30.0
_guard = threading.Lock()
_said_at: dict[str, float] = {}


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """The limits: `timeout` seconds for one request, `limit` seconds in all, waits from `first` to `longest`."""

    timeout: float = 60.0
    limit: float = 180.0
    first: float = 0.25
    longest: float = 15.0

    def wait(self, attempt: int, asked: float | None) -> float:
        """Seconds to wait before another attempt: doubling, jittered by half, at least the server's wish."""
        doubled = min(self.longest, self.first * 2.0 ** min(attempt, 16))
        return max(doubled * random.uniform(0.5, 1.0), min(asked or 0.0, self.limit))  # noqa: S311 no secret


class Waiting:
    """The pauses between the tries of one request; after SILENT seconds of them the user is told the reason.

    `shown` names the engine, `pause` waits for this many seconds. Remarks go to standard error.
    """

    def __init__(self, shown: str, pause: Callable[[float], None]) -> None:
        self._shown, self._pause = shown, pause
        self._start = time.monotonic()

    def __call__(self, seconds: float, why: str) -> None:
        before = self._start + SILENT - time.monotonic()
        if 0 < before < seconds:
            self._pause(before)
            seconds -= before
            before = 0
        if before <= 0:
            self._tell(why)
        self._pause(seconds)

    def _tell(self, why: str) -> None:
        with _guard:
            now = time.monotonic()
            if now - _said_at.get(self._shown, -BETWEEN) < BETWEEN:
                return
            _said_at[self._shown] = now
        remark(f"{self._shown}: {why}; trying again", level="warning")
