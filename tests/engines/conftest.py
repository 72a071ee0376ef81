"""Real servers, one of each engine for the whole run."""

from __future__ import annotations

import itertools
import signal
from collections.abc import Iterator

import pytest

from tests.engines.fleet import ENGINES, Servers, running
from tests.engines.servers import Server

for _name in ("asked", "contract", "contract_clusters", "contract_opening", "contract_probes", "contract_schemes"):
    pytest.register_assert_rewrite(f"tests.stores.{_name}")

_NUMBERS = itertools.count(1)


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
    server.request("DELETE", f"/{name},{name}-*,neardup-{name}*?ignore_unavailable=true")


@pytest.fixture
def clean(server: Server) -> Iterator[None]:
    """Without templates of neardup's, before and after: tests that share a server share its templates."""
    _without_templates(server)
    yield
    _without_templates(server)


def _without_templates(server: Server) -> None:
    for kind in ("_index_template", "_component_template"):
        found = server.request("GET", f"/{kind}").get(f"{kind[1:]}s", [])
        for name in (each["name"] for each in found if each["name"].startswith("neardup")):
            server.request("DELETE", f"/{kind}/{name}")


@pytest.fixture(params=list(ENGINES))
def own_server(request: pytest.FixtureRequest) -> Iterator[Server]:
    """A server for one test, which may kill it."""
    with running(ENGINES[request.param]) as server:
        yield server
