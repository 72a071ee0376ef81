"""Times as records have them: ISO 8601 in UTC, in an order that tells which of two documents came first."""

from __future__ import annotations

import threading
import time
from datetime import UTC, datetime
from functools import lru_cache
from typing import Literal

Refresh = Literal["wait", "none", "true"]
"""The time at which others find what was written, see `indexer.stores.Store.refresh`."""

_lock = threading.Lock()
_latest = 0


def now() -> str:
    """This moment, ISO 8601 in UTC with six decimal places; in one process each is later than the one before."""
    global _latest  # noqa: PLW0603 one clock for the process
    with _lock:
        _latest = moment = max(_latest + 1, time.time_ns() // 1000)
    return f"{_second(moment // 1_000_000)}.{moment % 1_000_000:06d}Z"


@lru_cache(maxsize=1)
def _second(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S")


def to_the_second(moment: str) -> str:
    """A time for people: without the decimal places of now()."""
    return moment[:19] + "Z" if moment[19:20] == "." and moment.endswith("Z") else moment


def in_order(moment: str) -> str:
    """A key that sorts times with and without decimal places."""
    return moment.removesuffix("Z")
