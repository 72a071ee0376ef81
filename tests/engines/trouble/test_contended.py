"""A document that somebody else changes all the time: the others are done, it is reported, and the next run does it."""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Callable, Iterator
from http.client import HTTPConnection

import pytest

from indexer.cli import main
from indexer.library.opening import open_store
from tests.cli.written import prose
from tests.engines import proxy as faults
from tests.engines.annotated import annotate, fill
from tests.engines.proxy import Proxy
from tests.engines.servers import Server

Changing = Callable[[str], contextlib.AbstractContextManager[Proxy]]
NAMES = [f"{letter}{number}" for letter in "ab" for number in range(20)]
HOT = "a7"


@pytest.fixture
def changing(server: Server, index_name: str) -> Changing:
    """A way to the store on which somebody is always quicker to change a document: before each bulk request."""

    @contextlib.contextmanager
    def between(hot: str) -> Iterator[Proxy]:
        proxy = Proxy(server.url)

        def first(handler: faults.Handler, body: bytes) -> bool:
            if "_bulk" in handler.path and f'"_id":"{hot}"'.encode() in body:
                server.request("POST", f"/{index_name}/_update/{hot}", {"doc": {"counter": time.monotonic_ns()}})
            return False

        proxy.always = first
        yield proxy
        proxy.close()

    return between


@pytest.fixture
def documents(server: Server, index_name: str) -> str:
    """An owner's index of two texts, twenty times each, in clusters; its URL."""
    texts = {name: {"body": prose("ab".index(name[0])), "counter": 0} for name in NAMES}
    fill(server, index_name, texts, {"properties": {"body": {"type": "text"}, "counter": {"type": "long"}}})
    url = f"{server.url}/{index_name}"
    annotate(url, "--field", "body")
    return url


def ran(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[dict[str, object], str]:
    """What a command answers, and what it says."""
    capsys.readouterr()
    assert main([*words, "--json"]) == 0
    out, err = capsys.readouterr()
    return json.loads(out), err


def clusters(url: str) -> dict[str, str]:
    with open_store(url, read_only=True) as store:
        return {ref.id: fields.get("cluster", {}).get("id", "") for ref, fields in store.scan_annotations()}


def test_clustering(index_name: str, documents: str, changing: Changing, capsys: pytest.CaptureFixture[str]) -> None:
    with changing(HOT) as proxy:
        answer, said = ran(capsys, "cluster", "--store", f"{proxy.url}/{index_name}")
    assert answer["contended"] == 1
    assert answer["written"] == {"documents": 39, "clusters": 2, "removed": 0}
    assert f"others keep changing 1 document ({HOT})" in said
    found = clusters(documents)
    assert not found.pop(HOT)
    assert len(set(found.values())) == 2
    answer, said = ran(capsys, "cluster", "--store", documents)
    assert answer["contended"] == 0
    assert answer["written"] == {"documents": 1, "clusters": 0, "removed": 0}
    assert clusters(documents)[HOT] == found["a1"]
    assert "changed by others" not in said


# What pruning has done, where it has done nothing.
NOTHING = {"surplus": [], "marked": 0, "unmarked": 0, "deleted": 0, "stripped": 0, "contended": 0, "outdated": 0}


def test_pruning_and_deleting(
    server: Server, index_name: str, documents: str, changing: Changing, capsys: pytest.CaptureFixture[str]
) -> None:
    ran(capsys, "cluster", "--store", documents)
    with open_store(documents, read_only=True) as store:
        canonical = {each.canonical.id for each in store.clusters()}
        before = {each.id for each in store.clusters()}
    hot = next(name for name in NAMES if name not in canonical and name[0] == "a")
    with changing(hot) as proxy:
        url = f"{proxy.url}/{index_name}"
        answer, said = ran(capsys, "prune", "--unverified", "--store", url)
        assert answer == {**NOTHING, "marked": 37, "contended": 1}
        assert hot in said
        answer, _ = ran(capsys, "delete", hot, "--store", url)
        assert answer == {"deleted": 0, "stripped": 0, "missing": 0, "contended": 1, "listed": []}
        answer, _ = ran(capsys, "prune", "--unverified", "--delete", "--yes", "--store", url)
        assert answer == {**NOTHING, "stripped": 37, "contended": 1}
    with open_store(documents, read_only=True) as store:
        # Its cluster is still one of two.
        assert {record.ref.id for record in store.scan()} == canonical | {hot}
        assert len(before & {each.id for each in store.clusters()}) == 1
    answer, _ = ran(capsys, "prune", "--unverified", "--delete", "--yes", "--store", documents)
    # What others have counted in it is theirs.
    assert answer == {**NOTHING, "stripped": 1}
    assert server.request("GET", f"/{index_name}/_doc/{hot}")["_source"]["counter"] > 0


def test_a_writer_that_never_rests(
    server: Server, index_name: str, documents: str, capsys: pytest.CaptureFixture[str]
) -> None:
    stop = threading.Event()
    written: list[int] = []

    def write() -> None:
        connection = HTTPConnection("127.0.0.1", server.port)
        path = f"/{index_name}/_update/{HOT}?retry_on_conflict=20"
        while not stop.is_set():
            body = json.dumps({"doc": {"counter": len(written)}})
            connection.request("POST", path, body, {"Content-Type": "application/json"})
            connection.getresponse().read()
            written.append(1)
        connection.close()

    writers = [threading.Thread(target=write) for _ in range(3)]
    for writer in writers:
        writer.start()
    try:
        answers = [ran(capsys, "cluster", "-k", str(distance), "--store", documents)[0] for distance in (3, 0)]
    finally:
        stop.set()
        for writer in writers:
            writer.join()
    assert len(written) > 100
    assert all(answer["contended"] in (0, 1) for answer in answers)
    answer, _ = ran(capsys, "cluster", "--store", documents)
    assert answer["contended"] == 0
    found = clusters(documents)
    assert len({found[name] for name in NAMES if name[0] == "a"}) == 1
    assert len(set(found.values())) == 2
