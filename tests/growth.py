"""How the work of a function grows with what it is given: by its calls, which are the same on a busy machine."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any


def calls_of(work: Callable[..., Any], *given: Any) -> int:
    """The number of functions that a function calls in this thread, of Python and of C, itself among them."""
    count = 0

    def counted(_frame: Any, event: str, _given: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(counted)
    try:
        work(*given)
    finally:
        sys.setprofile(before)
    return count


def require_linear(work: Callable[[Any], Any], make: Callable[[int], Any], size: int) -> None:
    """Fail where four times as much takes far more than four times the calls."""
    few, many = (calls_of(work, make(count)) for count in (size, 4 * size))
    assert many < 6 * few, f"{size:,} take {few:,} calls, {4 * size:,} take {many:,}"
