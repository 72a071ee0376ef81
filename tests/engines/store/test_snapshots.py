"""Points in time: a slow reader loses none, and none spoils a command by ending."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from indexer.cli import main
from indexer.engine.client import snapshots
from indexer.engine.client.base import Client
from indexer.engine.client.connection import connect
from indexer.engine.client.retries import RetryPolicy
from indexer.engine.client.snapshots import Search, Slices, Snapshot
from indexer.engine.index.bodies import is_record
from indexer.engine.store.store import SearchStore, open_search_store
from indexer.errors import StoreError
from indexer.library.opening import open_store
from tests.engines import proxy as faults
from tests.engines.proxy import Proxy
from tests.engines.servers import Server
from tests.stores.made import INFO, put, record

COUNT = 2500
# Here the engines look for ended ones each second, and OpenSearch keeps none for less than 4.
KEPT, SLOW = 3, 8.0


@pytest.fixture
def url(server: Server, index_name: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """A store of more than two pages; points in time end soon after the last that was heard of them."""
    with open_store(f"{server.url}/{index_name}", create=INFO) as store:
        put(store, *[record(f"{number:04d}", number) for number in range(COUNT)])
    monkeypatch.setattr(snapshots, "KEEP_ALIVE", KEPT)
    return f"{server.url}/{index_name}"


def slowly(store: SearchStore) -> Iterator[str]:
    """The ids of a scan, by somebody who takes his time on the second page."""
    for number, each in enumerate(store.scan()):
        if number == 1500:
            time.sleep(SLOW)
        yield each.ref.id


def open_contexts(server: Server, name: str) -> int:
    answer = server.request("GET", f"/{name}/_stats/search")
    return int(answer["_all"]["total"]["search"]["open_contexts"])


def test_a_slow_reader_finds_the_next_page(server: Server, index_name: str, url: str) -> None:
    with open_search_store(url, read_only=True) as store:
        reading = slowly(store)
        first = [next(reading) for _ in range(100)]
        # What is written meanwhile is no part of it.
        server.request("PUT", f"/{index_name}/_doc/late?refresh=true", {"neardup": {"tokens": 1}})
        assert sorted([*first, *reading]) == [f"{number:04d}" for number in range(COUNT)]
    assert open_contexts(server, index_name) == 0


def test_slices_that_are_read_slowly(server: Server, index_name: str, url: str) -> None:
    client = connect(url)
    found = []
    with Slices(client, [Search(index_name, {"query": is_record(), "_source": False}, 2)], 200) as pages:
        for number, hits in enumerate(pages):
            if number == 2:
                time.sleep(SLOW)
            found += [hit["_id"] for hit in hits]
    assert open_contexts(server, index_name) == 0
    client.close()
    assert sorted(found) == [f"{number:04d}" for number in range(COUNT)]


def test_what_matches_a_range_alone_is_found_on_all_pages(server: Server, index_name: str, url: str) -> None:
    """OpenSearch 3.4 gives the first page of such a query, and says of the second that it is empty."""
    documents = [json for number in range(COUNT) for json in ({"index": {"_id": f"{number}"}}, {"number": number})]
    server.request("POST", "/numbers/_bulk?refresh=true", lines=documents)
    client = connect(url)
    try:
        for query in ({"range": {"number": {"gte": 0}}}, {"query_string": {"query": "number:[0 TO *]"}}):
            with Slices(client, [Search("numbers", {"query": query, "_source": False}, 1)], 200) as pages:
                assert len({hit["_id"] for hits in pages for hit in hits}) == COUNT
            with open_search_store(url, read_only=True) as store:
                found = snapshots.pages(store.client, "numbers", {"query": query, "_source": False}, 200)
                assert len({hit["_id"] for hits in found for hit in hits}) == COUNT
    finally:
        client.close()
        server.request("DELETE", "/numbers")


def test_documents_of_several_indices_are_all_read(server: Server, index_name: str) -> None:
    """Their numbers in the shards of each index are the same."""
    names = [f"{index_name}-{number}" for number in range(3)]
    written = sorted(f"{name}-{number}" for name in names for number in range(50))
    for name in names:
        with open_store(f"{server.url}/{name}", create=INFO) as store:
            put(store, *[record(f"{name}-{number}", number) for number in range(50)])
    client = connect(f"{server.url}/{index_name}-*")
    for size in (7, 20):
        for slices in (1, 2):
            with Slices(client, [Search(f"{index_name}-*", {"query": is_record()}, slices)], size) as pages:
                assert sorted(hit["_id"] for hits in pages for hit in hits) == written
    client.close()
    with open_search_store(f"{server.url}/{index_name}-*", read_only=True) as store:
        read = store.pages({"query": is_record()}, 7)
        assert sorted(hit["_id"] for hits in read for hit in hits) == written


def test_documents_of_several_shards_that_are_equal_in_order_are_all_read_once(server: Server, index_name: str) -> None:
    """OpenSearch before 3.3 has no order in which none are equal."""
    server.request("PUT", f"/{index_name}", {"settings": {"number_of_shards": 4}})
    names = sorted(str(number) for number in range(60))
    lines = [json for name in names for json in ({"index": {"_id": name}}, {"number": 1})]
    server.request("POST", f"/{index_name}/_bulk?refresh=true", lines=lines)
    client = connect(f"{server.url}/{index_name}")
    client.hit_order = snapshots._TIED_ORDER
    for slices, size in ((1, 2), (1, 7), (3, 5)):
        with Slices(client, [Search(index_name, {"query": {"match_all": {}}}, slices)], size) as pages:
            assert sorted(hit["_id"] for hits in pages for hit in hits) == names
    client.close()


def test_without_being_kept_it_would_be_gone_and_that_is_said(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Snapshot, "keep", lambda _: None)
    with (
        open_search_store(url, read_only=True) as store,
        pytest.raises(StoreError, match=f"{url}: the point in time is"),
    ):
        list(slowly(store))


def test_one_that_nobody_reads_is_not_kept_for_ever(
    server: Server, index_name: str, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshots, "LONGEST_PAGE", 2)
    with open_search_store(url, read_only=True) as store:
        reading = store.scan()
        next(reading)
        assert open_contexts(server, index_name) > 0
        limit = time.monotonic() + 30
        while open_contexts(server, index_name):
            assert time.monotonic() < limit
            time.sleep(0.5)


def test_the_last_page_needs_none(server: Server, index_name: str, url: str) -> None:
    with open_search_store(url, read_only=True) as store:
        store.narrow("neardup.tokens:500")
        reading = store.pages({"query": {"ids": {"values": ["0001"]}}}, 10)
        assert [hit["_id"] for hit in next(reading)] == ["0001"]
        assert open_contexts(server, index_name) == 0
        assert list(reading) == []


@pytest.mark.parametrize("end", [faults.reset_before, faults.reset_after, faults.refuse(404), faults.refuse(503)])
def test_closing_fails_no_command(
    server: Server, index_name: str, url: str, end: faults.Fault, capsys: pytest.CaptureFixture[str]
) -> None:
    between = Proxy(server.url)
    asked = []

    def closing(handler: faults.Handler, body: bytes) -> bool:
        if handler.command != "DELETE":
            return False
        asked.append(handler.path)
        return end(handler, body)

    between.always = closing
    try:
        assert main(["pairs", "-k", "0", "--store", f"{between.url}/{index_name}"]) == 0
        assert "0 pairs" in capsys.readouterr().err
        with open_search_store(f"{between.url}/{index_name}", read_only=True) as store:
            assert len(list(store.scan())) == COUNT
    finally:
        between.close()
    # Once each: nobody waits for it.
    assert len(asked) == 2


def test_one_that_has_ended_is_closed_all_the_same(url: str) -> None:
    client: Client = connect(url, retry=RetryPolicy(timeout=10, limit=5))
    name = client.target.name
    with Snapshot(client, name) as snapshot:
        assert snapshot.search({"size": 1})["hits"]["hits"]
        client.perform_once("DELETE", client.snapshots, {client.snapshot_id: snapshot._id})
    client.close()
