"""Clusters on real servers: made at once and as documents come, and search results collapsed on them."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from indexer.clustering.annotations import stored_clusters
from indexer.errors import StoreError
from indexer.library.opening import open_store
from indexer.model import Record
from indexer.stores import Store
from tests.clustered import arrivals_of, cluster_store
from tests.engines.servers import Server
from tests.stores.made import INFO, put, record

FAR = 0xFFFF_0000_FFFF_0000


@pytest.fixture
def store(server: Server, index_name: str) -> Iterator[Store]:
    """An empty store that shows what is written when the engine refreshes by itself, as for a user."""
    with open_store(f"{server.url}/{index_name}", create=INFO) as opened:
        yield opened


def partition(store: Store) -> list[list[str]]:
    return sorted(sorted(ref.id for ref in each.members) for each in stored_clusters(store))


def test_a_store_is_clustered_once(store: Store) -> None:
    put(
        store, record("a", 0), record("b", 1), record("far", FAR), record("short", 0, short=True), record("empty", None)
    )
    assert cluster_store(store).clusters == 1
    assert partition(store) == [["a", "b"], ["empty"], ["far"], ["short"]]
    assert [(each.size, each.canonical.id, each.least_similarity) for each in store.clusters()] == [(2, "a", 0.9844)]
    again = cluster_store(store)
    assert (again.changes.documents, again.changes.clusters, again.changes.removed) == (0, 0, 0)
    put(store, record("c", 0b11))
    grown = cluster_store(store)
    # Three members are another class of size than two.
    assert (grown.changes.documents, grown.changes.clusters) == (3, 1)


@pytest.mark.parametrize("fewest", [1, 500])
def test_what_the_engine_does_not_show_yet_is_found(server: Server, index_name: str, store: Store, fewest: int) -> None:
    # Nothing is refreshed by the clock: only what the store itself asks for is ever seen.
    server.request("PUT", f"/{index_name}/_settings", {"index": {"refresh_interval": "-1"}})
    generator = random.Random(1)
    batches: list[list[Record]] = []
    for batch in range(6):
        batches.append([])
        for place in range(20):
            base = generator.choice([0, FAR, 0x0F0F_0F0F_0F0F_0F0F])
            value = base ^ 1 << generator.randrange(64) if generator.random() < 0.5 else base
            batches[-1].append(record(f"{batch}-{place}", value, indexed_at=f"2026-01-0{batch + 1}"))
    arrivals = arrivals_of(store, fewest=fewest)
    for number, each in enumerate(batches):
        arrivals.examine(each)
        put(store, *each)
        arrivals.stored(each)
        if number % 2:
            arrivals.place()
    assert arrivals.counts.new == 3
    coming = partition(store)
    assert len(coming) == 3
    assert cluster_store(store, dry_run=True).changes.documents == 0
    skipping = arrivals_of(store, skip=True)
    assert [near is not None for near in skipping.examine([record("x", 3), record("y", 0b11_1111 << 20)])] == [
        True,
        False,
    ]


def test_search_results_are_collapsed_and_nothing_is_swallowed(server: Server, index_name: str, store: Store) -> None:
    put(
        store,
        record("a", 0, indexed_at="2026-01-02T00:00:00Z"),
        record("b", 0, indexed_at="2026-01-01T00:00:00Z"),
        record("c", 1, indexed_at="2026-01-03T00:00:00Z"),
        record("one", FAR),
        record("two", FAR << 8 & 0xFFFF_FFFF_FFFF_FFFF),
        record("short-1", 0, short=True),
        record("short-2", 0, short=True),
        record("empty-1", None),
        record("empty-2", None),
    )
    cluster_store(store)
    server.request("POST", f"/{index_name}/_refresh")
    request = {
        "size": 20,
        "query": {"match_all": {}},
        "collapse": {"field": "neardup.cluster.id", "inner_hits": {"name": "copies", "size": 10, "_source": False}},
        "sort": [{"neardup.cluster.is_canonical": "desc"}],
    }
    hits = server.request("POST", f"/{index_name}/_search", request)["hits"]["hits"]
    shown = {hit["_id"]: hit["inner_hits"]["copies"]["hits"]["total"]["value"] for hit in hits}
    alone = ("one", "two", "short-1", "short-2", "empty-1", "empty-2")
    assert shown == {"b": 3, **dict.fromkeys(alone, 1)}


def test_a_damaged_document_beside_an_index_is_named(server: Server, index_name: str, store: Store) -> None:
    put(store, record("a", 0), record("b", 1))
    cluster_store(store)
    [cluster] = store.clusters()
    beside = f"neardup-{index_name}-clusters"
    for name, changed in ((cluster.id, {"exact": '["c", "a"]'}), ("clustering-note", {"note": '{"rule": "x"}'})):
        path = f"/{beside}/_doc/{name}"
        before = server.request("GET", path)["_source"]
        server.request("PUT", f"{path}?refresh=true", {**before, **changed})
        with pytest.raises(StoreError, match=f"{name}' of the index {beside} is damaged.*delete it"):
            _ = list(store.clusters()), store.clustering_notes()
        server.request("PUT", f"{path}?refresh=true", before)
    assert [each.id for each in store.clusters()] == [cluster.id]
