"""Times in records: ISO 8601 in UTC, in strict order."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterable
from datetime import UTC, datetime
from decimal import Decimal
from functools import lru_cache
from typing import Any, Literal

from indexer.errors import UsageError, shown

Refresh = Literal["wait", "none", "true"]
"""The time at which others find what was written, see `indexer.stores.Store.refresh`."""

_NUMBER = re.compile(r"[+-]?\d{1,1000}(?:\.\d{0,1000})?(?:[eE][+-]?\d{1,6})?", re.ASCII)
_KINDS = {"n": "a number", "t": "an ISO 8601 time", "x": "neither a number nor an ISO 8601 time"}
_COMPLEMENT = str.maketrans("0123456789", "9876543210")

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
    return moment[:19] + "Z" if moment[19:20] == "." and moment.endswith("Z") else moment


def in_order(moment: str) -> str:
    """A key to sort times with and without decimal places."""
    return moment.removesuffix("Z")


def sort_key(value: Any) -> str:
    """A text to sort values by: numbers, also written as text, then ISO 8601 times, then other text.

    Times without an offset count as UTC. The first letter tells the three apart.
    """
    text = str(int(value) if isinstance(value, bool) else value).strip()
    if _NUMBER.fullmatch(text):
        return f"n{_number_key(Decimal(text))}"
    try:
        moment = datetime.fromisoformat(text)
        moment = moment.astimezone(UTC) if moment.tzinfo else moment
        return f"t{moment.replace(tzinfo=None).isoformat(timespec='microseconds')}"
    except (ValueError, OverflowError):
        return f"x{value}"


def moment_key(value: Any) -> str:
    key = sort_key(value) if isinstance(value, str | int | float) else ""
    return "" if key[:1] == "x" else key


def _number_key(number: Decimal) -> str:
    if not number:
        return "1"
    digits = "".join(map(str, number.as_tuple().digits)).rstrip("0")
    size = f"{number.adjusted() + 5_000_000:07d}{digits}"
    # Of two negative numbers the one with more digits is the smaller.
    return f"0{size.translate(_COMPLEMENT)}~" if number < 0 else f"2{size}"


def time_keys(values: Iterable[Any]) -> list[str]:
    """The sort keys of the times of documents, empty for a missing time.

    Raises UsageError for a mixture of numbers and times, and for anything else.
    """
    keys, first = [], dict[str, Any]()
    for value in values:
        key = "" if value is None or value == "" else sort_key(value)
        keys.append(key)
        first.setdefault(key[:1], value)
    found = [f"{shown(value)} is {_KINDS[kind]}" for kind, value in sorted(first.items()) if kind]
    if "x" in first or len(found) > 1:
        raise UsageError(
            f"--time-field: {' and '.join(found)}; name a field that has only numbers or only times, in all documents"
        )
    return keys
