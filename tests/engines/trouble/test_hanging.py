"""An engine that hangs, or that asks to wait, does not keep anybody from stopping."""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from indexer.clustering.clusters import cluster
from indexer.clustering.memory import require_remembered
from indexer.engine.client.bulk import Action, send
from indexer.engine.client.connection import connect
from indexer.engine.client.retries import RetryPolicy
from indexer.errors import StoreError
from indexer.ingest.indexing import store_info
from indexer.library.opening import open_store
from indexer.matching.rule import parse_rule
from tests.cli.written import prose
from tests.engines import proxy as faults
from tests.engines.annotated import fill, neardup
from tests.engines.proxy import Proxy
from tests.engines.servers import Server
from tests.stores.made import put, record

# Far longer than a test may take.
PATIENT = RetryPolicy(timeout=300, limit=600, first=200, longest=300)


class Hanging:
    """A proxy whose server hangs at requests to some paths, once it does."""

    def __init__(self, server: Server) -> None:
        self.proxy = Proxy(server.url)
        self.reached, self._over = threading.Event(), threading.Event()

    def at(self, method: str, *paths: str) -> None:
        """Let it hang at requests to paths that end so; one that begins with = is all of the path."""
        ends = tuple(path for path in paths if path[0] != "=")
        wholes = {path[1:] for path in paths if path[0] == "="}

        def on_request(asked: str, place: str) -> None:
            path = place.partition("?")[0]
            if asked == method and (path in wholes or path.endswith(ends)):
                self.reached.set()
                self._over.wait(120)

        self.proxy.on_request = on_request

    def wait(self, process: subprocess.Popen[str]) -> None:
        """Wait until a process is held up there."""
        while not self.reached.wait(0.1):
            assert process.poll() is None, process.communicate()

    def let_go(self) -> None:
        """Hang no more."""
        self._over.set()

    def close(self) -> None:
        self.let_go()
        self.proxy.close()


@pytest.fixture
def hanging(server: Server) -> Iterator[Hanging]:
    between = Hanging(server)
    yield between
    between.close()


@pytest.fixture
def index(server: Server, index_name: str) -> str:
    """An owner's documents, and near-duplicates beside them."""
    fill(server, index_name, {str(number): {"body": prose(number)} for number in range(20)})
    with open_store(f"{server.url}/{index_name}-own", create=store_info("landmarks")) as store:
        put(store, *[record(str(number), 7 if number == 4 else 1) for number in range(5)])
        cluster(store, parse_rule("simhash-doc@3bits"))
    return index_name


def started(*arguments: str, folder: Path) -> subprocess.Popen[str]:
    """A command that is running."""
    command = [sys.executable, "-m", "indexer", *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=folder)


def ended(process: subprocess.Popen[str]) -> str:
    """What a process that is about to end said; far sooner than a request is given up."""
    try:
        _, err = process.communicate(timeout=30)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        raise
    assert process.returncode == 130, err
    assert "Traceback" not in err
    return err


@pytest.mark.parametrize(
    ("method", "path"), [("POST", "=/_search"), ("POST", "/_bulk"), ("POST", "/_refresh"), ("GET", "/_mapping")]
)
@pytest.mark.parametrize("aside", [False, True], ids=["in place", "aside"])
def test_annotate_is_stopped_by_one_interrupt(
    index: str, hanging: Hanging, tmp_path: Path, method: str, path: str, aside: bool
) -> None:
    hanging.at(method, path)
    flags = ["--to", f"{index}-aside"] if aside else []
    url = f"{hanging.proxy.url}/{index}"
    process = started("annotate", "--store", url, "--field", "body", "--jobs", "1", *flags, folder=tmp_path)
    hanging.wait(process)
    process.send_signal(signal.SIGINT)
    ended(process)


COMMANDS = [
    ("POST", "/_bulk", ["index", "a.txt", "--jobs", "1"]),
    ("POST", "/_bulk", ["index", "a.txt", "--jobs", "1", "--bulk-load"]),
    ("POST", "/_bulk", ["delete", "0"]),
    ("POST", "/_bulk", ["cluster", "-k", "0"]),
    ("POST", "/_search", ["cluster"]),
    ("POST", "/_bulk", ["prune", "--unverified", "--delete", "--yes"]),
    ("POST", "/_search", ["prune", "--dry-run"]),
    ("POST", "/_search", ["pairs"]),
    ("POST", "/_search", ["similar", "--id", "0"]),
    ("POST", "/_mget", ["similar", "--id", "0"]),
    ("POST", "/_search", ["stats"]),
    ("POST", "/_search", ["report", "-o", "-"]),
    ("POST", "/_search", ["show", "0"]),
    ("POST", "/_search", ["failures"]),
    ("PUT", "/_mapping", ["setup"]),
    ("POST", "/_search", ["setup", "--remove", "--yes"]),
    ("DELETE", "/_pit", ["pairs"]),
    ("DELETE", "/point_in_time", ["pairs"]),
]


@pytest.mark.parametrize(("method", "path", "command"), COMMANDS, ids=str)
def test_every_command_ends_at_the_second_interrupt(
    server: Server, index: str, hanging: Hanging, tmp_path: Path, method: str, path: str, command: list[str]
) -> None:
    if path == ("/point_in_time" if server.name == "elasticsearch" else "/_pit"):
        pytest.skip("the other engine's path")
    (tmp_path / "a.txt").write_text(prose(1))
    name = f"{index}-own"
    if command == ["setup"]:
        # Something is left to be set up.
        server.request("PUT", f"/{name}/_mapping", {"_meta": {"owner": 1}})
    if command == ["failures"]:
        with open_store(f"{server.url}/{name}") as store:
            put(store, record("failed", None))
        server.request("PUT", f"/neardup-{name}-failures/_doc/1?refresh=true", {"reason": "x"})
    hanging.at(method, path)
    process = started(*command, "--store", f"{hanging.proxy.url}/{name}", folder=tmp_path)
    hanging.wait(process)
    process.send_signal(signal.SIGINT)
    # The first may be enough.
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(timeout=2)
    if process.poll() is None:
        process.send_signal(signal.SIGINT)
    ended(process)


@pytest.mark.parametrize("own", [True, False], ids=["own", "owner's"])
def test_a_load_ends_at_the_second_interrupt_and_the_same_again_completes_it(
    server: Server, index: str, hanging: Hanging, tmp_path: Path, own: bool
) -> None:
    given, batch, name = str(tmp_path / "docs.jsonl"), str(tmp_path / "batch"), f"{index}-loaded" if own else index
    lines = [json.dumps({"id": str(number), "text": prose(number)}) for number in range(20)]
    Path(given).write_text("\n".join(lines))
    neardup("batch", "sketch", given, "--out", batch)
    neardup("batch", "cluster", batch, "--out", batch)
    if own:
        neardup("setup", "--store", f"{server.url}/{name}")
    hanging.at("POST", "/_bulk")
    process = started("batch", "load", batch, "--store", f"{hanging.proxy.url}/{name}", folder=tmp_path)
    hanging.wait(process)
    process.send_signal(signal.SIGINT)
    # The first may be enough.
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(timeout=2)
    if process.poll() is None:
        process.send_signal(signal.SIGINT)
    ended(process)
    hanging.let_go()
    for done in (range(21), [20]):
        counts = json.loads(neardup("batch", "load", batch, "--store", f"{server.url}/{name}", "--json").stdout)
        assert counts["created"] + counts["replaced"] + counts["unchanged"] == 20
        assert counts["unchanged"] in done
        assert (counts["others"], counts["contended"]) == (0, 0)
    with open_store(f"{server.url}/{name}", read_only=True) as store:
        assert require_remembered(store).at


@pytest.mark.parametrize("fault", [faults.refuse(503), faults.reject_every(1)], ids=["a request", "an item of it"])
def test_closing_ends_what_waits_to_be_tried_again(hanging: Hanging, index_name: str, fault: faults.Fault) -> None:
    client = connect(f"{hanging.proxy.url}/{index_name}", retry=PATIENT)
    refused: list[StoreError] = []

    def try_again() -> None:
        try:
            send(client, [Action("index", index_name, "a", None, b"{}")])
        except StoreError as error:
            refused.append(error)

    # It may pass, so it would be tried again in some minutes.
    hanging.proxy.faults.append(fault)
    thread = threading.Thread(target=try_again, daemon=True)
    thread.start()
    while hanging.proxy.faults:
        assert thread.is_alive()
    thread.join(2)
    client.close()
    thread.join(20)
    assert not thread.is_alive()
    assert "closed" in str(refused[0])
    with pytest.raises(StoreError, match="closed"):
        client.request("GET", "/_cluster/health")


INSIDE = """
import hashlib
from indexer.cli.terminal.interrupts import second_ends
with second_ends():
    while True:
        try:
            print("ready", flush=True)
            hashlib.pbkdf2_hmac("sha256", b"", b"", 1_500_000_000)
        except KeyboardInterrupt:
            pass
"""


def test_a_long_call_into_c_does_not_hold_up_the_second_interrupt() -> None:
    with subprocess.Popen([sys.executable, "-c", INSIDE], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout
        assert process.stdout.readline() == b"ready\n"
        for _ in range(2):
            process.send_signal(signal.SIGINT)
            # Two that come at once are one.
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(timeout=1)
        try:
            assert process.wait(timeout=30) == 130
        finally:
            process.kill()
