"""What is said while an engine is waited for that does not answer, or asks for patience."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable

from indexer.text.visible import printable

# Seconds that nobody minds, and those between two remarks about one engine, whatever is asked of it at once.
SILENT = 2.0
BETWEEN = 30.0

_guard = threading.Lock()
_told: dict[str, float] = {}


class Waiting:
    """The pauses between the tries of one request; after SILENT seconds of them somebody is told what for.

    `shown` names the engine, `pause` waits for so many seconds. Remarks go to standard error.
    """

    def __init__(self, shown: str, pause: Callable[[float], None]) -> None:
        self._shown, self._pause = shown, pause
        self._start = time.monotonic()

    def __call__(self, seconds: float, why: str) -> None:
        """Wait before the next try, because of this."""
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
            if now - _told.get(self._shown, -BETWEEN) < BETWEEN:
                return
            _told[self._shown] = now
        print(f"neardup: {self._shown}: {printable(why)}; trying again", file=sys.stderr, flush=True)
