"""A shard that is away: its documents are never taken for ones that are not there."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from indexer.engine.client.retries import RetryPolicy
from indexer.engine.index.mapping import new_index
from indexer.engine.store.store import SearchStore, open_search_store
from indexer.errors import StoreError
from indexer.model import Failure, Ref
from indexer.stores import PutStatus
from tests.engines import proxy as faults
from tests.engines.proxy import Proxy
from tests.engines.servers import Server
from tests.stores.asked import documents_with_keys, holders_of, values_of
from tests.stores.made import INFO, put, record

QUICK = RetryPolicy(timeout=20, limit=10, first=0.01, longest=0.1)
BRIEF = RetryPolicy(timeout=20, limit=1, first=0.05, longest=0.2)
# As both engines say it while the shard of an index recovers or has no node.
AWAY = {"type": "no_shard_available_action_exception", "reason": "No shard available for [MultiGetShardRequest]"}
CLOSED = {"type": "index_closed_exception", "reason": "closed"}

Away = Callable[..., None]


@pytest.fixture
def proxy(server: Server) -> Iterator[Proxy]:
    between = Proxy(server.url)
    yield between
    between.close()


def away(proxy: Proxy, index: str, times: int, error: dict[str, str] = AWAY) -> list[int]:
    """Have the engine answer this many requests for documents of an index as if its shard were away; those answered."""
    answered: list[int] = []
    lock = threading.Lock()

    def altered(handler: faults.Handler, body: bytes) -> bool:
        if not handler.path.split("?")[0].endswith("/_mget"):
            return False
        status, headers, answer = handler.forward(body)
        docs = json.loads(answer)["docs"]
        with lock:
            if len(answered) < times and any(each["_index"] == index for each in docs):
                answered.append(1)
                docs = [
                    {"_index": index, "_id": each["_id"], "error": {"root_cause": [error], **error}}
                    if each["_index"] == index
                    else each
                    for each in docs
                ]
        handler.answer(status, headers, json.dumps({"docs": docs}).encode())
        return True

    proxy.always = altered
    return answered


def rolled(server: Server, name: str) -> None:
    """An alias over two indices with a store's fields, of which the second is written to."""
    for number in (1, 2):
        body = {**new_index(INFO), "aliases": {name: {"is_write_index": number == 2}}}
        assert "error" not in server.request("PUT", f"/{name}-{number}", body)


def everything(server: Server, name: str) -> list[tuple[str, str]]:
    """Index and id of all documents."""
    server.request("POST", f"/{name}/_refresh")
    hits = server.request("POST", f"/{name}/_search", {"size": 1000, "_source": False})["hits"]["hits"]
    return sorted((hit["_index"], hit["_id"]) for hit in hits)


class TestDocumentsThatCanNotBeRead:
    def store(self, proxy: Proxy, name: str, retry: RetryPolicy = QUICK) -> SearchStore:
        return open_search_store(f"{proxy.url}/{name}", INFO, retry=retry)

    def test_none_is_stored_twice(self, server: Server, index_name: str, proxy: Proxy) -> None:
        rolled(server, index_name)
        with open_search_store(f"{server.url}/{index_name}-1", INFO) as first:
            put(first, record("old", 1), record("other", 2))
        answered = away(proxy, f"{index_name}-1", 2)
        with self.store(proxy, index_name) as store:
            assert put(store, record("old", 3), record("new", 4)) == [PutStatus.REPLACED, PutStatus.CREATED]
        assert len(answered) == 2
        assert everything(server, index_name) == [
            (f"{index_name}-1", "old"),
            (f"{index_name}-1", "other"),
            (f"{index_name}-2", "new"),
        ]

    @pytest.mark.parametrize("error", [AWAY, CLOSED])
    def test_what_stays_away_is_said(
        self, server: Server, index_name: str, proxy: Proxy, error: dict[str, str]
    ) -> None:
        rolled(server, index_name)
        with open_search_store(f"{server.url}/{index_name}-1", INFO) as first:
            put(first, record("old", 1))
        away(proxy, f"{index_name}-1", 1_000_000, error)
        with self.store(proxy, index_name, BRIEF) as store:
            for act in (
                lambda: put(store, record("old", 3)),
                lambda: store.get([Ref("old", f"{index_name}-1")]),
                lambda: store.annotations([Ref("old")]),
                lambda: store.annotate([(Ref("old"), {"x": 1})]),
                lambda: store.delete([Ref("old")]),
            ):
                with pytest.raises(StoreError, match=f"{index_name}-1/old can't be read: {error['type']}"):
                    act()
        assert everything(server, index_name) == [(f"{index_name}-1", "old")]

    def test_no_failure_and_no_cluster_is_forgotten(self, server: Server, index_name: str, proxy: Proxy) -> None:
        with self.store(proxy, index_name) as store:
            store.put_failures([Failure(Ref("a"), "", "broken", "", "", "d")])
            answered = away(proxy, f"neardup-{index_name}-failures", 1)
            put(store, record("a", 1))
            assert answered
            # It is stored, so nothing is left of its failure.
            assert list(store.failures()) == []
            store.put_resource("corpus", b"octets")
            answered = away(proxy, f"neardup-{index_name}-resources", 1)
            assert store.get_resource("corpus") == b"octets"
            assert answered

    def test_what_is_not_there_is_not_waited_for(self, server: Server, index_name: str, proxy: Proxy) -> None:
        with self.store(proxy, index_name) as store:
            assert store.get([Ref("x"), Ref("x", f"{index_name}-gone"), Ref("x", "", "there")]) == [None] * 3
        assert sum(path.startswith("/_mget") for _, path in proxy.requests) == 1


def test_a_search_that_misses_a_shard_is_no_answer(server: Server, index_name: str) -> None:
    """An index without a node: one engine leaves it out of searches, and of points in time, without a word."""
    rolled(server, index_name)
    nowhere = {"index.routing.allocation.require._name": "nobody"}
    body = new_index(INFO)
    body = {**body, "settings": {**body.get("settings", {}), **nowhere}, "aliases": {index_name: {}}}
    server.request("PUT", f"/{index_name}-3?wait_for_active_shards=0", body)
    url = f"{server.url}/{index_name}"
    # What is to be written is waited for as long as an answer may take.
    with open_search_store(url, INFO, retry=replace(BRIEF, timeout=6)) as store:
        for act in (
            store.stats,
            lambda: list(store.scan()),
            lambda: documents_with_keys(store, [1]),
            lambda: values_of(store),
            lambda: holders_of(store, [1]),
            lambda: store.find_each(["a"]),
            lambda: put(store, record("a", 1)),
        ):
            with pytest.raises(StoreError, match=f"{url}: "):
                act()
    assert everything(server, f"{index_name}-1,{index_name}-2") == []
    # It comes back while the command waits.
    back = threading.Timer(
        1.0, server.request, ("PUT", f"/{index_name}-3/_settings", {"index.routing.allocation.require._name": None})
    )
    back.start()
    with open_search_store(url, INFO, retry=RetryPolicy(timeout=20, limit=60, first=0.1, longest=0.5)) as store:
        assert put(store, record("a", 1)) == [PutStatus.CREATED]
        assert store.stats().documents == 1
    back.join()
