"""Real servers, one of each engine for the whole run."""

from __future__ import annotations

import itertools
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "stores"))

from downloads import MissingError
from servers import Elasticsearch, OpenSearch, Server

pytest.register_assert_rewrite("contract", "contract_clusters")

_NUMBERS = itertools.count(1)

ENGINES: dict[str, type[Server]] = {"elasticsearch": Elasticsearch, "opensearch": OpenSearch}


def missing(reason: str) -> NoReturn:
    """Skip loudly, or fail where the engines have to be there."""
    if os.environ.get("NEARDUP_REQUIRE_ENGINES") == "1":
        pytest.fail(f"NEARDUP_REQUIRE_ENGINES is set: {reason}")
    pytest.skip(f"NEEDS A REAL SERVER: {reason}")


class Servers:
    """Launches every engine at the first need, so that they start side by side."""

    def __init__(self) -> None:
        self._servers: dict[str, Server | MissingError] = {}

    def get(self, engine: str) -> Server:
        """The running server of an engine."""
        for name, kind in ENGINES.items():
            if name not in self._servers:
                try:
                    self._servers[name] = kind()
                except MissingError as error:
                    self._servers[name] = error
                else:
                    self._servers[name].launch()
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


@pytest.fixture(scope="session")
def servers() -> Iterator[Servers]:
    """Every engine, by name."""
    before = signal.signal(signal.SIGTERM, lambda *_: pytest.exit("stopped by SIGTERM", 143))
    started = Servers()
    try:
        yield started
    finally:
        started.stop()
        signal.signal(signal.SIGTERM, before)


@pytest.fixture(scope="session", params=list(ENGINES))
def server(request: pytest.FixtureRequest, servers: Servers) -> Server:
    """The running server of each engine in turn."""
    return servers.get(request.param)


@pytest.fixture
def index_name(server: Server) -> Iterator[str]:
    """A name that no index of the server has; all that begin with it are removed after the test."""
    name = f"test-{next(_NUMBERS)}"
    yield name
    server.request("DELETE", f"/{name},{name}-*?ignore_unavailable=true")


@pytest.fixture(params=list(ENGINES))
def own_server(request: pytest.FixtureRequest) -> Iterator[Server]:
    """A server for one test, which may kill it."""
    try:
        server = ENGINES[request.param]()
    except MissingError as error:
        missing(str(error))
    try:
        server.launch()
        server.ready()
        yield server
    finally:
        server.stop()
