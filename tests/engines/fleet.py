"""Which engines there are, and how a test asks for one."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from typing import NoReturn, TypeVar

import pytest

from tests.engines.downloads import MissingError
from tests.engines.servers import Elasticsearch, OpenSearch, Server

Launched = TypeVar("Launched", bound=Server)

ENGINES: dict[str, type[Server]] = {"elasticsearch": Elasticsearch, "opensearch": OpenSearch}
# What many people still run.
OLDER: dict[str, Callable[[], Server]] = {
    "elasticsearch-8.19": lambda: Elasticsearch("8.19.21"),
    "opensearch-2.19": lambda: OpenSearch("2.19.1.0"),
}
EVERY: dict[str, Callable[[], Server]] = {**ENGINES, **OLDER}
ALL_ALONE = pytest.mark.skipif(not os.environ.get("NEARDUP_ALL"), reason="takes long; make test-all")


def missing(reason: str) -> NoReturn:
    """Skip loudly, or fail where the engines have to be there."""
    if os.environ.get("NEARDUP_REQUIRE_ENGINES") == "1":
        pytest.fail(f"NEARDUP_REQUIRE_ENGINES is set: {reason}")
    pytest.skip(f"NEEDS A REAL SERVER: {reason}")


@contextlib.contextmanager
def running(make: Callable[[], Launched]) -> Iterator[Launched]:
    """A server for as long as it is used; what it needs and lacks is said."""
    try:
        server = make()
    except MissingError as error:
        missing(str(error))
    try:
        server.launch()
        server.ready()
        yield server
    finally:
        server.stop()


class Servers:
    """Launches each engine at the first need."""

    def __init__(self) -> None:
        self._servers: dict[str, Server | MissingError] = {}

    def get(self, engine: str) -> Server:
        """The running server of an engine."""
        if engine not in self._servers:
            try:
                self._servers[engine] = launched = EVERY[engine]()
            except MissingError as error:
                self._servers[engine] = error
            else:
                launched.launch()
        server = self._servers[engine]
        if isinstance(server, MissingError):
            missing(str(server))
        server.ready()
        return server

    def stop(self) -> None:
        """Stop them all."""
        for server in self._servers.values():
            if isinstance(server, Server):
                server.stop()
