"""Both engines keep the contract of every store."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from indexer.engine.store.store import SearchStore
from indexer.library.opening import open_store
from indexer.stores import Store, StoreInfo
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


@pytest.mark.skipif(not os.environ.get("NEARDUP_ALL"), reason="takes long; make test-all")
class TestElasticsearch8(TestClusterStore):
    @pytest.fixture
    def server(self, older: Server) -> Server:
        return older


assert INFO
