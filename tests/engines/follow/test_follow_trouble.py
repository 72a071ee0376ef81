"""`neardup follow` where engines hang, refuse, are slow or start again, and where a signal comes: nothing is lost."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections import Counter
from pathlib import Path
from threading import Event, Thread

import pytest

from indexer.library.engine_options import Alerting, Annotating, Watching
from indexer.library.following import Follower
from tests.cli.written import changed, prose
from tests.engines.annotated import sources, write
from tests.engines.follow.followers import NEVER, followed, follower, started, wait_for
from tests.engines.proxy import Handler, Proxy, refuse, reject_every, reset_after, reset_before
from tests.engines.reclustered import made, partition, require_as_cluster
from tests.engines.servers import Server

# Far more than the second that is promised, and far less than it hangs: a machine may be busy.
_AT_ONCE = 10
_HANGS = 60
ALL = bool(os.environ.get("NEARDUP_ALL"))
every = pytest.mark.skipif(not ALL, reason="takes long; make test-all")


def written(server: Server, index: str, first: int, last: int) -> None:
    """Documents of which every second one repeats another one."""
    lines = []
    for number in range(first, last):
        lines += [{"index": {"_id": str(number)}}, {"body": changed(prose(number // 2), 3 + number % 2)}]
    assert not server.request("POST", f"/{index}/_bulk?refresh=true", lines=lines)["errors"]


@pytest.mark.parametrize("place", ["_stats", "_bulk", "_search"] if ALL else ["_bulk"])
def test_sigterm_ends_it_while_the_engine_hangs(server: Server, index_name: str, place: str) -> None:
    url, between = made(server, index_name, 0), Proxy(server.url)
    written(server, index_name, 0, 40)
    reached, over = Event(), Event()

    def hangs(_method: str, path: str) -> None:
        if place in path:
            reached.set()
            over.wait(_HANGS)

    process = None
    try:
        between.on_request = hangs
        process = started(f"{between.url}/{index_name}")
        assert reached.wait(60)
        process.send_signal(signal.SIGTERM)
        told = process.communicate(timeout=_AT_ONCE)[1]
        assert process.returncode == 0, told
        assert json.loads(told.splitlines()[-1])["message"].startswith("ended")
    finally:
        over.set()
        between.close()
        if process:
            process.kill()
            process.communicate()
    followed(url)
    require_as_cluster(url)


@every
def test_sigterm_at_any_moment_loses_nothing(server: Server, index_name: str) -> None:
    url = made(server, index_name, 0)
    for step in range(5):
        written(server, index_name, 40 * step, 40 * step + 60)
        process = started(url)
        try:
            time.sleep(1.0 + 0.3 * step)
            process.send_signal(signal.SIGTERM)
            told = process.communicate(timeout=_AT_ONCE)[1]
            assert process.returncode in (0, -signal.SIGTERM), told
        finally:
            process.kill()
            process.communicate()
    followed(url)
    assert all("neardup" in source for source in sources(server, index_name).values())
    require_as_cluster(url)


@every
def test_an_engine_that_refuses_and_is_slow_is_waited_for(server: Server, index_name: str) -> None:
    url, between = made(server, index_name, 0), Proxy(server.url)
    written(server, index_name, 0, 60)
    following, stop = follower(f"{between.url}/{index_name}", Watching(interval=0.05, quiet_for=1e6)), Event()
    thread = Thread(target=following.run, args=(stop,))
    refused = Counter[str]()

    def busy(handler: Handler, body: bytes) -> bool:
        time.sleep(0.05)
        # Of each kind of request the first two, then every fifth.
        kind = handler.path.partition("?")[0].rpartition("/")[2]
        refused[kind] += 1
        if refused[kind] > 2 and refused[kind] % 5:
            return False
        return refuse(503 if refused[kind] % 2 else 429, Retry_After="0")(handler, body)

    between.always = busy
    between.faults.extend([reject_every(3), reject_every(2, 503), reset_before, reset_after])
    try:
        thread.start()
        wait_for(lambda: following.state.annotated >= 60)
        written(server, index_name, 60, 80)
        wait_for(lambda: following.state.annotated >= 80)
        between.always = None
        wait_for(lambda: following.state.is_well and not following.state.behind)
        assert following.state.rate > 0
    finally:
        stop.set()
        thread.join()
        between.close()
    followed(url)
    require_as_cluster(url)


def test_fingerprints_beside_are_followed_too(server: Server, index_name: str) -> None:
    made(server, index_name, 0)
    written(server, index_name, 0, 20)
    before, aside = sources(server, index_name), f"{index_name}-own"

    def once(watching: Watching = NEVER) -> Follower:
        following = follower(f"{server.url}/{index_name}", watching, Annotating(field=("body",), to=aside))
        following.run(once=True)
        return following

    assert once().state.annotated == 20
    assert sources(server, index_name) == before
    assert len(partition(f"{server.url}/{aside}")) == 10
    written(server, index_name, 20, 24)
    server.request("DELETE", f"/{index_name}/_doc/0")
    write(server, index_name, "2", {"body": prose(77)})
    state = once(Watching(quiet_for=0.001)).state
    assert (state.annotated, state.removed) == (5, 1)
    assert len(partition(f"{server.url}/{aside}")) == 10
    require_as_cluster(f"{server.url}/{aside}")


def test_alerts_tell_of_what_comes_and_not_of_what_was_there(server: Server, index_name: str, tmp_path: Path) -> None:
    url = made(server, index_name, 0)
    written(server, index_name, 0, 20)
    out, script = tmp_path / "alerts.jsonl", tmp_path / "receive.py"
    script.write_text("import sys; open(sys.argv[1], 'a').write(sys.stdin.read() + '\\n')")
    command = f"{sys.executable} {script} {out}"

    def once() -> dict[str, list[str]]:
        out.unlink(missing_ok=True)
        following = follower(url, alerting=Alerting(on_new_cluster=command, on_copy=command))
        state = following.run(once=True)
        assert (state.alerts_lost, state.alerts_waiting) == (0, 0)
        bodies = [json.loads(line) for line in out.read_text().splitlines()] if out.exists() else []
        found = {body["event"]: [each["id"] for each in body["alerts"]] for body in bodies}
        assert state.alerts_delivered == sum(map(len, found.values()))
        return found

    assert once() == {}
    written(server, index_name, 20, 22)
    write(server, index_name, "again", {"body": prose(3)})
    found = once()
    assert len(found["new-cluster"]) == 1
    # Of a cluster that grows the one that came is told.
    assert "again" in found["copy"]
    assert len(found["copy"]) == 2
    assert set(found["copy"]) < {"again", "20", "21"}
    assert once() == {}


@every
def test_an_engine_that_is_killed_and_starts_again_is_waited_for(own_server: Server) -> None:
    url = made(own_server, "killed", 0)
    written(own_server, "killed", 0, 100)
    following, stop = follower(url, Watching(interval=0.1, quiet_for=1e6)), Event()
    thread = Thread(target=following.run, args=(stop,))
    thread.start()
    try:
        wait_for(lambda: following.state.annotated > 0)
        written(own_server, "killed", 100, 200)
        own_server.kill()
        wait_for(lambda: not following.state.is_well)
        own_server.launch()
        own_server.ready()
        wait_for(lambda: following.state.is_well and not following.state.behind)
        written(own_server, "killed", 200, 240)
        wait_for(lambda: following.state.documents == 240)
    finally:
        stop.set()
        thread.join()
    followed(url)
    require_as_cluster(url)
