"""An engine that has Painless, and an index of it for each test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.engines.fleet import Servers
from tests.engines.pipelines.pipelined import with_ingest
from tests.engines.servers import Server


@pytest.fixture(scope="module")
def painless(servers: Servers) -> Server:
    """The engine at hand that has Painless."""
    return with_ingest(servers.get("opensearch"))


@pytest.fixture
def index(painless: Server, request: pytest.FixtureRequest) -> Iterator[str]:
    name = f"piped-{abs(hash(request.node.name)) % 10**8}"
    yield name
    painless.request("DELETE", f"/{name},{name}-*,neardup-{name}*?ignore_unavailable=true")
    painless.request("DELETE", f"/_index_template/neardup-{name}")
    for kind in ("keys", "simhash"):
        painless.request("DELETE", f"/_ingest/pipeline/neardup-{kind}-{name}")
