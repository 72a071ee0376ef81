"""Clients and servers of different versions: what is said, and that the pairs that fit do work."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import downloads
import pytest
from fleet import Servers, missing, running
from made import INFO, put, record
from proxy import Handler, Proxy
from servers import Elasticsearch, Server

from indexer.stores import open_store

USE = """
import sys
sys.path[:0] = sys.argv[2:]
import elasticsearch
from asked import counts_with_keys
from made import INFO, put, record
from indexer.stores import open_store
with open_store(sys.argv[1], create=INFO) as store:
    put(store, record("a", 1), record("b", 1))
    found = counts_with_keys(store, record("a", 1).keys)
    print(elasticsearch.__version__[0], found, len(list(store.scan())), store.delete([r.ref for r in store.scan()]))
"""


def use(url: str, *folders: Path) -> subprocess.CompletedProcess[str]:
    """Write and find, in another process, with the client of the first folder."""
    paths = [*map(str, folders), str(Path(__file__).resolve().parents[2] / "stores")]
    return subprocess.run(
        [sys.executable, "-c", USE, url, *paths], capture_output=True, text=True, timeout=120, env={**os.environ}
    )


@pytest.fixture(scope="module")
def older() -> Iterator[Elasticsearch]:
    """Elasticsearch 8."""
    with running(lambda: Elasticsearch("8.19.21")) as server:
        yield server


@pytest.fixture(scope="module")
def client8() -> Path:
    """The folder of client 8, installed once beside the servers."""
    folder = downloads.CACHE / "elasticsearch-client-8"
    if not (folder / "elasticsearch").is_dir():
        install = [sys.executable, "-m", "pip", "install", "-q", "--target", str(folder), "elasticsearch>=8.15,<9"]
        done = subprocess.run(install, capture_output=True, text=True)
        if done.returncode:
            missing(f"client 8 can't be installed: {done.stderr[-300:]}")
    return folder


def test_client_9_with_server_8_is_one_sentence(older: Elasticsearch) -> None:
    done = use(f"{older.url}/mismatch")
    assert "pip install 'elasticsearch>=8,<9'" in done.stderr.splitlines()[-1]


def test_client_8_with_server_8_and_9(older: Elasticsearch, client8: Path, servers: Servers) -> None:
    newer = servers.get("elasticsearch")
    for url in (older.url, newer.url):
        done = use(f"{url}/client-8", client8)
        assert done.stdout == "8 {1: 2} 2 2\n", done.stderr
    newer.request("DELETE", "/client-8")


@pytest.mark.parametrize(("engine", "package"), [("elasticsearch", "elasticsearch"), ("opensearch", "opensearchpy")])
def test_a_missing_client_is_named_by_its_extra(engine: str, package: str, tmp_path: Path) -> None:
    (tmp_path / f"{package}.py").write_text("raise ImportError('not installed')")
    code = "import sys; sys.path[:0] = [sys.argv[2]]\nfrom indexer.stores import open_store\nopen_store(sys.argv[1])"
    done = subprocess.run(
        [sys.executable, "-c", code, f"{engine}+http://127.0.0.1:9/x", str(tmp_path)], capture_output=True, text=True
    )
    assert f"pip install 'neardup[{engine}]'" in done.stderr.splitlines()[-1]


def test_a_collapse_asks_for_the_doc_values_of_its_own_field(server: Server, index_name: str) -> None:
    """Elasticsearch 8.8 to 8.14 answers 500 to a collapse that asks for doc values, and not for those of its field."""

    def as_older(handler: Handler, body: bytes) -> bool:
        asked = json.loads(body) if body and handler.path.split("?")[0].endswith("/_search") else {}
        fields = asked.get("docvalue_fields")
        if "collapse" not in asked or fields is None or asked["collapse"]["field"] in fields:
            return False
        reason = {"type": "unsupported_operation_exception", "reason": None}
        handler.answer(500, {"Content-Type": "application/json"}, json.dumps({"error": reason, "status": 500}).encode())
        return True

    with contextlib.closing(Proxy(server.url)) as older, open_store(f"{older.url}/{index_name}", create=INFO) as store:
        older.always, store.refresh = as_older, "true"
        put(store, record("a", 1, source_digest="d1"), record("b", 2, source_digest="d1"), record("c", 3))
        found = store.find_digests(["d1", "d2"])
        assert found.keys() == {"d1"}
        assert found["d1"].ref.id in ("a", "b")
