"""Each engine keeps the contract of every store."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from indexer.engine.store.store import SearchStore
from indexer.library.opening import open_store
from indexer.stores import Store, StoreInfo
from tests.engines.fleet import ALL_ALONE, OLDER, Servers
from tests.engines.servers import Server
from tests.stores.contract import StoreContract
from tests.stores.made import INFO


class TestClusterStore(StoreContract):
    @pytest.fixture
    def opened(self, server: Server, index_name: str) -> Iterator[Callable[..., Store]]:
        with ExitStack() as stores:

            def opened(create: StoreInfo | None = None, read_only: bool = False, **more: Any) -> Store:
                store = open_store(f"{server.url}/{index_name}", create=create, read_only=read_only, **more)
                assert isinstance(store, SearchStore)
                # What the contract asks for right after writing has to be found.
                store.refresh = "true"
                return stores.enter_context(store)

            yield opened


@ALL_ALONE
class TestOlderClusterStore(TestClusterStore):
    @pytest.fixture(scope="session", params=list(OLDER))
    @classmethod
    def server(cls, request: pytest.FixtureRequest, servers: Servers) -> Server:
        return servers.get(request.param)


assert INFO
