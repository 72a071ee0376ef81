"""A rollover between two writes of one id: there is one copy of it, in the index where it lay."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import pytest

from indexer.engine.index.mapping import new_index
from indexer.engine.store.context import Landings
from indexer.library.opening import open_store
from indexer.model import Record, Ref
from indexer.stores import PutStatus
from tests.engines.servers import OpenSearch, Server
from tests.stores.made import INFO, put, record

CREATED, REPLACED = PutStatus.CREATED, PutStatus.REPLACED


@pytest.fixture(params=["alias", "data stream"])
def name(request: pytest.FixtureRequest, server: Server, index_name: str) -> Iterator[str]:
    """An alias, or a data stream, with one index, where nothing is found until somebody asks for a refresh."""
    target = f"{index_name}-all"
    mappings = new_index(INFO)["mappings"]
    settings = {"refresh_interval": "-1"}
    if request.param == "alias":
        aliases = {target: {"is_write_index": True}}
        body = {"mappings": mappings, "settings": settings, "aliases": aliases}
        assert "error" not in server.request("PUT", f"/{index_name}-000001", body)
    elif not isinstance(server, OpenSearch):
        pytest.skip("this build of Elasticsearch has no data streams")
    else:
        template = {"mappings": {**mappings, "properties": {**mappings["properties"], "@timestamp": {"type": "date"}}}}
        template = {**template, "settings": settings}
        body = {"index_patterns": [target], "data_stream": {}, "priority": 900, "template": template}
        assert "error" not in server.request("PUT", f"/_index_template/{index_name}", body)
        assert "error" not in server.request("PUT", f"/_data_stream/{target}")
    yield target
    if request.param != "alias":
        server.request("DELETE", f"/_data_stream/{target}")
        server.request("DELETE", f"/_index_template/{index_name}")


@pytest.fixture
def roll(server: Server, name: str) -> Callable[[], None]:
    """Rolls the name over to another index."""

    def rolled() -> None:
        body = {}
        if server.request("GET", f"/_alias/{name}").get("error") is None:
            body = {"mappings": new_index(INFO)["mappings"], "settings": {"refresh_interval": "-1"}}
        answer = server.request("POST", f"/{name}/_rollover", body or None)
        assert answer.get("rolled_over"), answer

    return rolled


def copies(server: Server, name: str) -> list[tuple[str, str]]:
    """The number of its index, and the id, of every document."""
    server.request("POST", f"/{name}/_refresh")
    hits = server.request("POST", f"/{name}/_search", {"size": 10_000, "_source": False})["hits"]["hits"]
    return sorted((hit["_index"][-6:], hit["_id"]) for hit in hits)


def test_between_two_calls(server: Server, name: str, roll: Callable[[], None]) -> None:
    with open_store(f"{server.url}/{name}", create=INFO) as store:
        assert put(store, record("a", 1), record("b", 2)) == [CREATED, CREATED]
        roll()
        assert put(store, record("a", 3), record("c", 4)) == [REPLACED, CREATED]
        assert put(store, record("c", 5), record("b", 6)) == [REPLACED, REPLACED]
        roll()
        assert put(store, record("a", 7), record("c", 8), record("d", 9)) == [REPLACED, REPLACED, CREATED]
        found = store.get([Ref(each) for each in "abcd"])
        assert [each.fingerprint.value for each in found if each and each.fingerprint] == [7, 6, 8, 9]
    assert copies(server, name) == [("000001", "a"), ("000001", "b"), ("000002", "c"), ("000003", "d")]


def test_within_one_run(server: Server, name: str, roll: Callable[[], None]) -> None:
    def coming() -> Iterator[Record]:
        yield from (record(f"{number:04d}", number) for number in range(1200))
        roll()
        yield from (record(f"{number:04d}", number + 1) for number in range(600, 1800))

    with open_store(f"{server.url}/{name}", create=INFO) as store:
        results = list(store.put(coming()))
    statuses = [result.status for result in results]
    assert statuses == [CREATED] * 1200 + [REPLACED] * 600 + [CREATED] * 600
    found = [each for _, each in copies(server, name)]
    assert found == sorted(set(found)) == [f"{number:04d}" for number in range(1800)]


def test_landings_forget_only_what_a_refresh_has_shown() -> None:
    landings = Landings()
    landings.note(["one"])
    begun, done = threading.Event(), threading.Event()

    def refresh() -> None:
        begun.set()
        assert done.wait(10)

    thread = threading.Thread(target=landings.refreshed, args=(refresh,))
    thread.start()
    assert begun.wait(10)
    # Until the refresh has ended nothing is sure to be found.
    assert landings.indices() == {"one"}
    landings.note(["two"])
    done.set()
    thread.join()
    assert landings.indices() == {"two"}
