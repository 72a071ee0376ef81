"""Everything between client and engine may break: every document is in, once, or has its reason."""

from __future__ import annotations

import os
import random
import signal
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from indexer.clustering.clusters import cluster
from indexer.engine.client.access import Access
from indexer.engine.client.connection import connect
from indexer.engine.client.retries import RetryPolicy
from indexer.engine.store.store import SearchStore, open_search_store
from indexer.errors import StoreError
from indexer.ingest.indexing import Settings, index, store_info
from indexer.ingest.sources import Input
from indexer.library.opening import open_store
from indexer.matching.rule import parse_rule
from indexer.model import Ref
from indexer.stores import PutStatus
from tests.engines import proxy as faults
from tests.engines.certificates import Authority
from tests.engines.proxy import Proxy
from tests.engines.servers import Server
from tests.stores.asked import values_of
from tests.stores.made import INFO, put, record

QUICK = RetryPolicy(timeout=20, limit=60, first=0.01, longest=0.1)


@pytest.fixture
def proxy(server: Server) -> Iterator[Proxy]:
    between = Proxy(server.url)
    yield between
    between.close()


def through(server: Server, proxy: Proxy, name: str, retry: RetryPolicy = QUICK) -> SearchStore:
    """The store, seen through the proxy."""
    return open_search_store(f"{proxy.url}/{name}", INFO, retry=retry)


def stored(server: Server, name: str) -> list[str]:
    """The ids that the engine has, past neardup."""
    server.request("POST", f"/{name}/_refresh")
    hits = server.request("POST", f"/{name}/_search", {"size": 10_000, "_source": False})["hits"]["hits"]
    return sorted(hit["_id"] for hit in hits)


NAMES = [f"{number:04d}" for number in range(1200)]
RECORDS = [record(name, number) for number, name in enumerate(NAMES)]


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(faults.reset_before, id="reset-before"),
        pytest.param(faults.reset_after, id="reset-after"),
        pytest.param(faults.half_an_answer, id="half-an-answer"),
        pytest.param(faults.refuse(429), id="429"),
        pytest.param(faults.refuse(429, Retry_After="1"), id="429-retry-after"),
        pytest.param(faults.refuse(503), id="503"),
        pytest.param(faults.refuse(503, Retry_After="Fri, 31 Dec 1999 23:59:59 GMT"), id="503-retry-after-date"),
        pytest.param(faults.reject_every(3), id="some-items-429"),
        pytest.param(faults.reject_every(1, 503), id="all-items-503"),
    ],
)
def test_what_may_pass_is_tried_again(server: Server, proxy: Proxy, index_name: str, fault: faults.Fault) -> None:
    with through(server, proxy, index_name) as store:
        proxy.faults.extend([fault] * 4)
        results = list(store.put(RECORDS))
        assert not proxy.faults
        assert {result.status for result in results} <= {PutStatus.CREATED, PutStatus.REPLACED}
        assert [result.ref.id for result in results] == NAMES
    assert stored(server, index_name) == NAMES


def test_documents_done_before_the_answer_was_lost_count_as_created(
    server: Server, proxy: Proxy, index_name: str
) -> None:
    with through(server, proxy, index_name) as store:
        proxy.faults.append(faults.reset_after)
        assert set(put(store, *RECORDS[:100])) == {PutStatus.CREATED}


CUTS = [faults.reset_before, faults.reset_after, faults.half_an_answer, faults.end_early]


def cut_often(seed: int) -> faults.Fault:
    """Every third request, of whatever kind, is cut somewhere; the first one is let through."""
    chance = random.Random(seed)

    def cut(handler: faults.Handler, body: bytes) -> bool:
        return handler.path != "/" and chance.random() < 1 / 3 and chance.choice(CUTS)(handler, body)

    return cut


@pytest.fixture(params=["http", "https"])
def cutting(request: pytest.FixtureRequest, server: Server, tmp_path: Path) -> Iterator[tuple[Proxy, Access]]:
    """A way to the engine on which connections are often cut, also secure ones, and what it takes to go it."""
    tls, access = None, Access()
    if request.param == "https":
        authority = Authority(tmp_path, "authority")
        authority.sign("server")
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(tmp_path / "server.pem", tmp_path / "server.key")
        access = Access(ca_cert=str(authority.path))
    between = Proxy(server.url, tls)
    between.always = cut_often(7)
    yield between, access
    between.close()


def test_connections_that_are_cut_everywhere_lose_and_double_nothing(
    server: Server, cutting: tuple[Proxy, Access], index_name: str
) -> None:
    # What is cut in the middle of such a text is no trouble of the secure connection's.
    names = NAMES[:300]
    told = "an ssl certificate, tls v1, reset by peer"
    records = [record(name, 3 * (number // 2), title=told) for number, name in enumerate(names)]
    between, access = cutting
    client = connect(f"{between.url}/{index_name}", retry=QUICK, access=access)
    with SearchStore(client, create=INFO) as store:
        results = list(store.put(records))
        assert {result.status for result in results} == {PutStatus.CREATED}
        assert [result.ref.id for result in results] == names
        assert sorted(each.ref.id for each in store.scan()) == names
        assert store.get([Ref(name) for name in names]) == records
        cluster(store, parse_rule("simhash-doc@0bits"))
        assert store.stats().documents == len(names)
    with open_store(f"{server.url}/{index_name}", read_only=True) as store:
        assert sorted(each.ref.id for each in store.scan()) == names
        groups = {ref.id: fields["cluster"]["id"] for ref, fields in store.scan_annotations()}
        assert len({each.id for each in store.clusters()}) == len(names) // 2
    assert all(groups[first] == groups[second] for first, second in zip(names[::2], names[1::2], strict=True))


def test_a_stall_is_a_time_out_and_tried_again(server: Server, proxy: Proxy, index_name: str) -> None:
    over = threading.Event()
    with through(server, proxy, index_name, RetryPolicy(timeout=1.5, limit=60, first=0.01, longest=0.1)) as store:
        proxy.faults.append(faults.stall(over))
        results = list(store.put(RECORDS[:300]))
        over.set()
    assert {result.status for result in results} == {PutStatus.CREATED}
    assert stored(server, index_name) == NAMES[:300]


def test_retries_end_and_say_so(server: Server, proxy: Proxy, index_name: str) -> None:
    with through(server, proxy, index_name, RetryPolicy(timeout=5, limit=1, first=0.05, longest=0.2)) as store:
        proxy.faults.extend([faults.refuse(503)] * 10_000)
        with pytest.raises(StoreError, match=r"given up after \d+ tries: 503 .*; run the same command again when"):
            list(store.put(RECORDS[:10]))
        # Nothing was lost in silence: the same put does all of it once the cluster is well.
        proxy.faults.clear()
        assert set(put(store, *RECORDS[:10])) == {PutStatus.CREATED}


def test_a_run_that_the_engine_ends_does_not_wait_for_it_again(
    server: Server, proxy: Proxy, index_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Nothing is written before the end.
    monkeypatch.setattr("indexer.ingest.outcomes._BATCH_SECONDS", 1e9)
    brief = RetryPolicy(timeout=5, limit=1, first=0.05, longest=0.2)
    with open_search_store(f"{proxy.url}/{index_name}", store_info("landmarks"), retry=brief) as store:

        def inputs(end: int = -1) -> Iterator[Input]:
            for number in range(200):
                yield Input(str(number), str(number), "", f"some words of the text {number}".encode())
                if number == end:
                    proxy.requests.clear()
                    proxy.always = faults.refuse(503)

        with pytest.raises(StoreError, match="given up after"):
            index(inputs(100), store, Settings(jobs=0))
        # What it could not ask about was given up; then nothing was sent after it.
        assert {path.partition("?")[0] for _, path in proxy.requests} == {"/_mget"}
        proxy.always = None
        assert index(inputs(), store, Settings(jobs=0)).failures == 0
    assert len(stored(server, index_name)) == 200


def test_a_server_that_asks_for_more_time_than_there_is_is_told(server: Server, proxy: Proxy, index_name: str) -> None:
    with through(server, proxy, index_name) as store:
        proxy.faults.append(faults.refuse(429, Retry_After="3600"))
        with pytest.raises(StoreError, match=r"given up after 1 try: 429 .*; it asks to wait for 3600 seconds; run"):
            list(store.put(RECORDS[:10]))
        assert not proxy.faults


@pytest.mark.parametrize("nth", [1, 3], ids=["all", "some"])
def test_items_that_stay_rejected_end_the_run_and_are_nobodys_fault(
    server: Server, proxy: Proxy, index_name: str, nth: int
) -> None:
    items = [Input(name, name, "", f"some words of the text {name}".encode()) for name in NAMES]
    brief = RetryPolicy(timeout=5, limit=1, first=0.05, longest=0.2)
    with open_search_store(f"{proxy.url}/{index_name}", store_info("landmarks"), retry=brief) as store:
        rejected = faults.reject_every(nth)
        proxy.always = lambda handler, body: b'{"create":' in body and rejected(handler, body)
        with pytest.raises(StoreError, match=r"given up after \d+ tries: the engine does not take \d+ changes? now"):
            index(items, store, Settings(jobs=0))
        proxy.always = None
        # To wait for each batch anew, and to record each document as one that failed, would take days.
        assert list(store.failures()) == []
        already = len(stored(server, index_name))
        done = index(items, store, Settings(jobs=0))
        assert (done.indexed, done.unchanged, done.failures) == (len(NAMES) - already, already, 0)
    assert stored(server, index_name) == NAMES


def test_memory_stays_flat_while_the_cluster_is_slow(server: Server, proxy: Proxy, index_name: str) -> None:
    taken = []
    over = threading.Event()

    def source() -> Iterator[object]:
        for each in (record(str(number), number) for number in range(20_000)):
            taken.append(each.ref.id)
            yield each

    with through(server, proxy, index_name) as store:
        proxy.faults.append(faults.stall(over))
        results = store.put(source())  # type: ignore[arg-type]
        release = threading.Timer(2, over.set)
        release.start()
        next(results)
        release.join()
        # Of the documents to come no more than those at work were read while nothing moved on.
        assert len(taken) <= 3000
        results.close()  # type: ignore[attr-defined]


def test_a_conflict_with_the_mapping_costs_its_document_only(server: Server, index_name: str) -> None:
    with open_store(f"{server.url}/{index_name}", create=INFO) as store:
        bad = record("bad", 1, indexed_at="not a date")
        results = list(store.put([record("a", 1), bad, record("b", 2)]))
    assert [result.status.value for result in results] == ["created", "failed", "created"]
    assert "indexed_at" in results[1].reason
    assert stored(server, index_name) == ["a", "b"]


def test_an_index_made_read_only_is_said_and_not_tried_again(server: Server, index_name: str) -> None:
    with open_search_store(f"{server.url}/{index_name}", INFO, retry=QUICK) as store:
        server.request("PUT", f"/{index_name}/_settings", {"index.blocks.write": True})
        results = list(store.put(RECORDS[:5]))
        assert {result.status for result in results} == {PutStatus.FAILED}
        assert "index write" in results[0].reason
        server.request("PUT", f"/{index_name}/_settings", {"index.blocks.write": None})
        assert set(put(store, *RECORDS[:5])) == {PutStatus.CREATED}


def test_the_disk_watermarks_block_is_waited_for(server: Server, index_name: str) -> None:
    with open_search_store(f"{server.url}/{index_name}", INFO, retry=QUICK) as store:
        server.request("PUT", f"/{index_name}/_settings", {"index.blocks.read_only_allow_delete": True})
        lifted = threading.Timer(
            1.5,
            server.request,
            ("PUT", f"/{index_name}/_settings", {"index.blocks.read_only_allow_delete": None}),
        )
        lifted.start()
        assert set(put(store, *RECORDS[:50])) == {PutStatus.CREATED}
        lifted.join()
    assert stored(server, index_name) == NAMES[:50]


WRITER = """
import sys
from made import INFO, record
from indexer.library.opening import open_store
with open_store(sys.argv[1], create=INFO) as store:
    for result in store.put(record(f"{number:06d}", number) for number in range(int(sys.argv[2]))):
        print(result.ref.id, result.status.value, flush=True)
"""


def writer(url: str, count: int) -> subprocess.Popen[str]:
    """A process that writes, and says what is done."""
    folder = Path(__file__).resolve().parents[2] / "stores"
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, url, str(count)], stdout=subprocess.PIPE, text=True, env=environment
    )


def test_a_killed_command_run_again_has_everything_once(server: Server, index_name: str) -> None:
    url = f"{server.url}/{index_name}"
    process = writer(url, 20_000)
    assert process.stdout
    created = [process.stdout.readline().split()[0] for _ in range(700)]
    process.send_signal(signal.SIGKILL)
    created += [line.split()[0] for line in process.stdout.read().splitlines() if line.endswith("created")]
    process.stdout.close()
    process.wait()
    assert set(created) <= set(stored(server, index_name))
    again = writer(url, 8000)
    output, _ = again.communicate(timeout=120)
    assert again.returncode == 0
    assert "failed" not in output
    server.request("POST", f"/{index_name}/_refresh")
    with open_store(url) as store:
        assert store.stats().documents == len(list(store.scan()))
        assert store.stats().documents >= 8000


def test_a_killed_node_that_comes_back_loses_nothing(own_server: Server) -> None:
    url = f"{own_server.url}/killed"
    open_store(url, create=INFO).close()
    # More than the pipe holds of what is said of them: it can't be at its end.
    process = writer(url, 10_000)
    assert process.stdout
    for _ in range(600):
        process.stdout.readline()
    own_server.kill()
    time.sleep(1)
    own_server.launch()
    output, _ = process.communicate(timeout=170)
    assert process.returncode == 0
    assert "failed" not in output
    with open_store(url) as store:
        assert store.stats().documents == 10_000
        assert len(values_of(store)) == 10_000
