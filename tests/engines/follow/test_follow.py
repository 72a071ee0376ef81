"""`neardup follow` on real servers: an index is kept right while others write, and nothing is taken away unasked."""

from __future__ import annotations

import json
import random
import signal
import time
import urllib.request
from threading import Event, Thread
from urllib.error import HTTPError

import pytest

from indexer.engine.client.connection import connect
from indexer.engine.documents.lease import Lease
from indexer.library.engine_options import Watching
from indexer.service.status import status_served
from tests.cli.written import changed, prose
from tests.engines.annotated import sources, write
from tests.engines.follow.followers import followed, follower, numbers, started, wait_for
from tests.engines.proxy import Handler, Proxy
from tests.engines.reclustered import SETTINGS, made, partition, require_as_cluster
from tests.engines.servers import Server


def test_a_quiet_index_gets_no_writes_and_one_request_a_look(server: Server, index_name: str) -> None:
    url, between = made(server, index_name, 4), Proxy(server.url)
    following = follower(f"{between.url}/{index_name}", Watching(quiet_for=0.001))
    try:
        while following.look():
            pass
        # What is left to do in quiet times, once.
        assert following.state.regroupings == 1
        before, between.requests[:] = numbers(server, index_name), []
        for _ in range(20):
            assert not following.look()
        assert [method for method, _ in between.requests] == ["GET"] * 20
        assert all("_stats" in path for _, path in between.requests)
        assert numbers(server, index_name) == before
        # Nor does the next process, whose first look is a pass over nothing.
        assert followed(url).annotated == 0
        assert numbers(server, index_name) == before
    finally:
        following.close()
        between.close()


def test_more_is_gone_than_is_taken_for_gone(server: Server, index_name: str) -> None:
    url = made(server, index_name, 0)
    for number in range(20):
        write(server, index_name, str(number), {"body": prose(number // 2)})
    assert followed(url).documents == 20
    assert len(partition(url)) == 10
    for number in range(10):
        server.request("DELETE", f"/{index_name}/_doc/{number}")
    write(server, index_name, "new", {"body": prose(15 // 2)})
    for _ in range(2):
        state = followed(url)
        assert (state.held, state.is_well) == (True, False)
        known = server.request("GET", f"/neardup-{index_name}-clusters/_search?size=100")["hits"]["hits"]
        assert len([hit for hit in known if hit["_id"] != "clustering-note"]) == 10
    # What came is taken up all the same.
    assert "neardup" in sources(server, index_name)[f"{index_name}/new"]
    assert not followed(url, Watching(quiet_for=1e6, confirm_loss=True)).held
    assert len(partition(url)) == 5
    require_as_cluster(url)


def test_an_index_that_is_gone_or_does_not_answer_is_told_and_waited_for(server: Server, index_name: str) -> None:
    url, between = made(server, index_name, 3), Proxy(server.url)
    following, stop = follower(f"{between.url}/{index_name}", Watching(interval=0.05, quiet_for=1e6)), Event()
    thread = Thread(target=following.run, args=(stop,))
    try:
        following.look()
        thread.start()

        def refused(handler: Handler, _body: bytes) -> bool:
            handler.answer(403, {"Content-Type": "application/json"}, b'{"error": {"type": "x", "reason": "no"}}')
            return True

        between.always = refused
        wait_for(lambda: following.state.errors > 0)
        assert not following.state.is_well
        with status_served(following.state, "x", "127.0.0.1", 0) as port:
            with pytest.raises(HTTPError) as raised:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=5)
            assert (raised.value.code, json.loads(raised.value.read())["well"]) == (503, False)
            write(server, index_name, "late", {"body": prose(1)})
            between.always = None
            wait_for(lambda: following.state.annotated == 4)
            wait_for(lambda: following.state.is_well)
            assert json.load(urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=5))["well"]
            told = urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5).read().decode()
            assert 'neardup_follow_annotated{store="x"} 4\n' in told
    finally:
        stop.set()
        thread.join()
        between.close()
    require_as_cluster(url)


def test_an_index_that_is_made_again_without_its_fields_is_waited_for(server: Server, index_name: str) -> None:
    url = made(server, index_name, 3)
    following, stop = follower(url, Watching(interval=0.05, quiet_for=1e6)), Event()
    thread = Thread(target=following.run, args=(stop,))
    try:
        thread.start()
        wait_for(lambda: following.state.annotated == 3)
        server.request("DELETE", f"/{index_name}")
        server.request("PUT", f"/{index_name}", {})
        wait_for(lambda: "body" in following.state.error)
        write(server, index_name, "late", {"body": prose(1)})
        wait_for(lambda: following.state.annotated == 4)
        # What was there before is gone: that is held to be a loss.
        wait_for(lambda: following.state.held and not following.state.error)
    finally:
        stop.set()
        thread.join()


def test_who_connects_anew_takes_its_own_lease_at_once(server: Server, index_name: str) -> None:
    clients = [connect(made(server, index_name, 1)) for _ in range(3)]
    # The engine was away when it should have been given back.
    with Lease(clients[0], 600.0, "one").held(lambda: None) as first:
        assert first
        with Lease(clients[1], 600.0).held(lambda: None) as other:
            assert not other
        with Lease(clients[2], 600.0, "one").held(lambda: None) as again:
            assert again


def test_a_lease_is_held_by_one_and_runs_out(server: Server, index_name: str) -> None:
    clients = [connect(made(server, index_name, 1)) for _ in range(2)]
    # The second renews it every three seconds, which is too seldom for the first.
    quick, slow = Lease(clients[0], 1.0), Lease(clients[1], 9.0)
    lost: list[str] = []
    with quick.held(lambda: lost.append("quick")) as first, slow.held(lambda: lost.append("slow")) as second:
        assert (first, second) == (True, False)
    with slow.held(lambda: lost.append("slow")) as second:
        assert second
        taken = []

        def takes_over() -> bool:
            with quick.held(lambda: lost.append("quick")) as mine:
                taken.append(mine)
            return mine

        wait_for(takes_over)
        assert taken.count(True) == 1
        # Who renews it too late is told that it is lost.
        wait_for(lambda: bool(lost))
    assert lost == ["slow"]
    for client in clients:
        client.close()


def test_of_two_one_works_and_sigterm_ends_it(server: Server, index_name: str) -> None:
    url = made(server, index_name, 3)
    both = [started(url) for _ in range(2)]
    try:
        marked = {"query": {"exists": {"field": "neardup.tokens"}}}

        def recorded() -> int:
            server.request("POST", f"/{index_name}/_refresh")
            return int(server.request("POST", f"/{index_name}/_count", marked)["count"])

        wait_for(lambda: recorded() == 3)
        both[0].send_signal(signal.SIGTERM)
        ended = both[0].communicate(timeout=30)[1]
        assert both[0].returncode == 0, ended
        # The log is JSON, a line a remark.
        assert all(json.loads(line)["message"] for line in ended.splitlines())
        write(server, index_name, "late", {"body": prose(1)})
        wait_for(lambda: recorded() == 4)
        both[1].send_signal(signal.SIGTERM)
        assert both[1].wait(30) == 0
    finally:
        for process in both:
            process.kill()
            process.communicate()
    followed(url)
    require_as_cluster(url)


def test_clusters_end_as_a_fresh_clustering_makes_them(server: Server, index_name: str) -> None:
    """Writers that create, update, delete and roll over, while it is killed and started."""
    chance = random.Random(11)
    alias = f"{index_name}-alias"
    server.request("PUT", f"/{index_name}-000001", {**SETTINGS, "aliases": {alias: {"is_write_index": True}}})
    url = f"{server.url}/{alias}"
    write(server, alias, "first", {"body": prose(0)})
    index, there = f"{index_name}-000001", set[tuple[str, str]]()
    for step in range(3):
        process = started(url)
        for count in range(60):
            name, text = str(chance.randrange(40)), prose(chance.randrange(8))
            document = {"body": changed(text) if chance.random() < 0.5 else text}
            act = chance.choice(["write", "write", "write", "update", "delete"])
            place = (index, name)
            if act == "delete" and place in there:
                server.request("DELETE", f"/{index}/_doc/{name}")
                there.discard(place)
            elif act == "update" and place in there:
                server.request("POST", f"/{index}/_update/{name}?retry_on_conflict=20", {"doc": document})
            else:
                write(server, index, name, document)
                there.add(place)
            if count == 30 and step == 1:
                server.request("POST", f"/{alias}/_rollover", SETTINGS)
                index = f"{index_name}-000002"
            time.sleep(0.05)
        process.kill()
        process.communicate()
    state = followed(url, Watching(quiet_for=0.001, most_lost=1, lease=2))
    assert state.behind == 0
    assert len(partition(url)) > 2
    require_as_cluster(url)
