"""Two processes that change an index's mapping in the same moment: neither loses what the other one recorded there.

Which one comes first is not left to chance: a proxy lets the other one go just before a request.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from indexer.cli import main
from indexer.engine.client.connection import connect
from indexer.engine.index import mapping
from indexer.engine.setup.bulk_load import reduce_settings
from indexer.engine.store.store import open_search_store
from indexer.errors import UsageError
from indexer.ingest.indexing import store_info
from indexer.library.opening import open_store
from indexer.schemes import registry
from indexer.schemes.keys.layout import KeyLayout, SchemeInfo
from tests.engines.proxy import Proxy
from tests.engines.servers import Server
from tests.engines.setup.index_settings import DOWN, NOT_SET, settings

MINHASH, SHINGLES = (registry.scheme(name).info for name in ("minhash", "supershingles"))
OWNERS = {"owner": {"kept": [1, None, "x"]}}


@pytest.fixture
def proxy(server: Server) -> Iterator[Proxy]:
    between = Proxy(server.url)
    yield between
    between.close()


@pytest.fixture
def index(server: Server, index_name: str) -> str:
    """A store, with something of its owner's in _meta."""
    body = mapping.new_index(store_info("landmarks"))
    body["mappings"]["_meta"] |= OWNERS
    server.request("PUT", f"/{index_name}", body)
    return index_name


def before(proxy: Proxy, method: str, path: str, act: Callable[[], object], *, after: int = 0) -> None:
    """Let something else happen just before a request, once; `after` such requests pass before."""
    left = [after]

    def on_request(asked: str, place: str) -> None:
        if asked == method and place.partition("?")[0].endswith(path):
            left[0] -= 1
            if left[0] == -1:
                act()

    proxy.on_request = on_request


def of(server: Server, index: str) -> dict[str, Any]:
    """What a mapping has."""
    found: dict[str, Any] = server.request("GET", f"/{index}/_mapping")[index]["mappings"]
    return found


def schemes(server: Server, index: str) -> set[str]:
    with open_store(f"{server.url}/{index}", read_only=True) as store:
        return {each.name for each in store.info.schemes}


def test_two_schemes(server: Server, proxy: Proxy, index: str) -> None:
    with open_store(f"{proxy.url}/{index}") as one, open_store(f"{server.url}/{index}") as other:
        before(proxy, "PUT", "/_mapping", lambda: other.add_scheme(SHINGLES))
        one.add_scheme(MINHASH)
        assert schemes(server, index) == {"minhash", "supershingles"}
        # And one that is added while another one is removed.
        before(proxy, "PUT", "/_mapping", lambda: other.remove_scheme("supershingles"))
        # Of an id that takes the metadata of several fields.
        third = SchemeInfo("third", "third:x=" + "0123456789" * 50, KeyLayout(4, 12))
        one.add_scheme(third)
        assert third in one.info.schemes
        assert schemes(server, index) == {"minhash", "third"}
        before(proxy, "PUT", "/_mapping", lambda: other.add_scheme(SHINGLES))
        one.remove_scheme("third")
        assert schemes(server, index) == {"minhash", "supershingles"}
        assert {each.name for each in one.info.schemes} == {"minhash", "supershingles"}


def test_a_scheme_and_what_the_owner_says(server: Server, proxy: Proxy, index: str) -> None:
    later = of(server, index)["_meta"] | {"owner": "later"}
    change = {"_meta": later}
    with open_store(f"{proxy.url}/{index}") as store:
        before(proxy, "PUT", "/_mapping", lambda: server.request("PUT", f"/{index}/_mapping", change))
        store.add_scheme(MINHASH)
    assert of(server, index)["_meta"] == later
    assert schemes(server, index) == {"minhash"}


def test_a_scheme_and_a_load(server: Server, proxy: Proxy, index: str) -> None:
    client = connect(f"{server.url}/{index}")
    try:
        with open_store(f"{proxy.url}/{index}") as store:
            before(proxy, "PUT", "/_mapping", lambda: reduce_settings(client, index))
            store.add_scheme(MINHASH)
    finally:
        client.close()
    repaired(server, index)
    assert schemes(server, index) == {"minhash"}


def test_a_scheme_with_too_many_parameters(server: Server, index: str) -> None:
    before = of(server, index)
    with open_store(f"{server.url}/{index}") as store, pytest.raises(UsageError, match="characters, more than"):
        store.add_scheme(SchemeInfo("third", "third:x=" + "0123456789" * 200, KeyLayout(4, 12)))
    assert of(server, index) == before


def test_a_set_up_and_a_load(server: Server, proxy: Proxy, index: str) -> None:
    # Something is left to be set up.
    server.request("PUT", f"/{index}/_mapping", {"_meta": OWNERS})
    client = connect(f"{server.url}/{index}")
    try:
        before(proxy, "PUT", "/_mapping", lambda: reduce_settings(client, index))
        assert main(["setup", "--store", f"{proxy.url}/{index}"]) == 0
    finally:
        client.close()
        server.request("DELETE", "/_component_template/neardup")
    repaired(server, index)


def test_a_load_that_begins_while_another_ends(server: Server, proxy: Proxy, index: str) -> None:
    # The later one has read the note, and the earlier one takes it away before anything is reduced again.
    earlier = open_search_store(f"{server.url}/{index}")
    load = earlier.bulk_load()
    load.__enter__()
    client = connect(f"{proxy.url}/{index}")
    try:
        before(proxy, "PUT", "/_settings", lambda: load.__exit__(None, None, None), after=1)
        reduce_settings(client, index)
    finally:
        client.close()
        earlier.close()
    repaired(server, index)


def test_a_load_that_ends_while_another_begins(server: Server, proxy: Proxy, index: str) -> None:
    client = connect(f"{server.url}/{index}")
    try:
        with open_search_store(f"{proxy.url}/{index}") as ending, ending.bulk_load():
            before(proxy, "PUT", "/_mapping", lambda: reduce_settings(client, index))
    finally:
        client.close()
    repaired(server, index)


def repaired(server: Server, index: str) -> None:
    """A load that was killed can be restored, and the owner's part is whole."""
    assert settings(server, index) == DOWN
    assert main(["setup", "--repair", "--store", f"{server.url}/{index}"]) == 0
    assert settings(server, index) == NOT_SET
    assert of(server, index)["_meta"]["owner"] == OWNERS["owner"]
