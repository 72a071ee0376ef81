"""The limits of a service."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from indexer.model.declared import Option

LOCAL_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})


@dataclass(frozen=True, slots=True)
class ServiceLimits:
    """The limits of a service."""

    threads: Annotated[int, Option("How many requests to answer at once.", least=1, most=256)] = 4
    waiting: Annotated[int, Option("How many requests may wait for a thread. More are answered with 503.", least=0,
        most=100_000)] = 64  # fmt: skip
    timeout: Annotated[float, Option("Time limit for each request.", kind="seconds")] = 30.0
    max_request: Annotated[int, Option("The largest request.", kind="size")] = 16_000_000
