"""The limits of a service."""

from __future__ import annotations

from dataclasses import dataclass

LOCAL_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})


@dataclass(frozen=True, slots=True)
class ServiceLimits:
    """The limits of a service: `threads` answer at once, and `waiting` requests wait for one of them.

    A request has `timeout` seconds and `max_request` bytes.
    """

    threads: int = 4
    waiting: int = 64
    timeout: float = 30.0
    max_request: int = 16_000_000
