"""Clients and servers of different versions: what is said, and that the pairs that fit do work."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from indexer.errors import StoreError
from indexer.library.opening import open_store
from tests.cli.written import prose
from tests.engines import downloads
from tests.engines.annotated import DOCUMENTS, annotate, fill, near, neardup, owners, sources, write
from tests.engines.fleet import ALL_ALONE, ENGINES, OLDER, Servers, missing
from tests.engines.proxy import Handler, Proxy
from tests.engines.servers import Server
from tests.stores.made import INFO, put, record

USE = """
import sys
sys.path[:0] = sys.argv[2:]
import elasticsearch
from asked import counts_with_keys
from made import INFO, put, record
from indexer.library.opening import open_store
from indexer.schemes.keys.simhash64 import simhash_keys
with open_store(sys.argv[1], create=INFO) as store:
    put(store, record("a", 1), record("b", 1))
    found = counts_with_keys(store, simhash_keys(1))
    print(elasticsearch.__version__[0], found, len(list(store.scan())), store.delete([r.ref for r in store.scan()]))
"""


def use(url: str, *folders: Path) -> subprocess.CompletedProcess[str]:
    """Write and find, in another process, with the client of the first folder."""
    paths = [*map(str, folders), str(Path(__file__).resolve().parents[2] / "stores")]
    return subprocess.run(
        [sys.executable, "-c", USE, url, *paths], capture_output=True, text=True, timeout=120, env={**os.environ}
    )


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


def test_each_client_with_each_server(client8: Path, servers: Servers) -> None:
    for name in ("elasticsearch", "elasticsearch-8.19"):
        server = servers.get(name)
        for folders in ((), (client8,)):
            done = use(f"{server.url}/{name}-{len(folders)}", *folders)
            assert done.stdout == f"{8 if folders else 9} {{1: 2}} 2 2\n", done.stderr
        server.request("DELETE", f"/{name}-*,neardup-{name}-*")


@pytest.mark.parametrize("engine", [*ENGINES, *(pytest.param(name, marks=ALL_ALONE) for name in OLDER)])
def test_a_trip_through_the_commands(servers: Servers, engine: str, tmp_path: Path) -> None:
    server = servers.get(engine)
    store = ["--store", f"{server.url}/articles"]
    documents = {name: document for name, document in DOCUMENTS.items() if "body" in document}
    fill(server, "articles", documents)
    (tmp_path / "new.txt").write_text(prose(2))
    neardup("setup", *store)
    assert annotate(store[1], "--field", "body")["annotated"] == 5
    neardup("index", str(tmp_path / "new.txt"), *store)
    assert len(neardup("pairs", *store).stdout.splitlines()) == 2
    assert near(store[1], prose(1)) == {"a", "b"}
    assert json.loads(neardup("cluster", *store, "--json").stdout)["clusters"] == 1
    write(server, "articles", "late", {"body": prose(1)}, refresh="true")
    neardup("follow", *store, "--field", "body", "--once")
    assert near(store[1], prose(1)) == {"a", "b", "late"}
    neardup("report", *store, "--output", str(tmp_path / "report.html"))
    neardup("doctor", *store)
    ignored = [word for name in ("lang", "date", "heading") for word in ("--ignore-field", name)]
    neardup("prune", *store, "--delete", "--with-documents", *ignored, "--yes")
    left = owners(sources(server, "articles"))
    assert len(left.keys() & {"articles/a", "articles/late"}) == 1
    neardup("setup", *store, "--remove", "--yes")
    # What neardup has indexed itself goes too.
    assert owners(sources(server, "articles")) == {name: source for name, source in left.items() if source}
    there = server.request("GET", "/_alias?expand_wildcards=all")
    assert {name for name in there if "articles" in name} == {"articles"}
    server.request("DELETE", "/articles")


def test_a_server_of_another_form_is_one_sentence(servers: Servers) -> None:
    """An answer as Elasticsearch 7 gives it."""

    def as_another(handler: Handler, _: bytes) -> bool:
        if "compatible-with=8" not in handler.headers["Accept"]:
            return False
        error = {"type": "media_type_header_exception", "reason": "Invalid media-type value on headers [Accept]"}
        headers = {"Content-Type": "application/json", "X-Elastic-Product": "Elasticsearch"}
        handler.answer(400, headers, json.dumps({"error": error, "status": 400}).encode())
        return True

    with contextlib.closing(Proxy(servers.get("elasticsearch").url)) as another:
        another.always = as_another
        with pytest.raises(StoreError, match="refuses the form of Elasticsearch 8"):
            open_store(f"elasticsearch+{another.url}/x")


@pytest.mark.parametrize(
    ("engine", "way", "told"),
    [
        ("elasticsearch", "", "7.17.29"),
        ("elasticsearch", "elasticsearch+", "7.17.29"),
        ("opensearch", "", "2.3.0"),
        ("opensearch", "opensearch+", "1.3.20"),
    ],
)
def test_a_version_that_is_too_old_is_named_before_anything_is_written(
    servers: Servers, engine: str, way: str, told: str
) -> None:
    server = servers.get(engine)
    product = {"X-Elastic-Product": "Elasticsearch"} if engine == "elasticsearch" else {}

    def as_older(handler: Handler, _: bytes) -> bool:
        if handler.path.split("?")[0] == "/":
            answer = {"version": {"number": told, "distribution": engine}}
            handler.answer(200, {"Content-Type": "application/json", **product}, json.dumps(answer).encode())
            return True
        return False

    with contextlib.closing(Proxy(server.url)) as older:
        older.always = as_older
        done = neardup("setup", "--store", f"{way}{older.url}/docs", code=3)
        assert f"{told} is too old" in done.stderr
        assert {method for method, _ in older.requests} == {"GET"}


def test_the_doctor_names_a_node_that_is_too_old(server: Server, index_name: str) -> None:
    def as_older(handler: Handler, _: bytes) -> bool:
        if not handler.path.startswith("/_nodes"):
            return False
        product = {"X-Elastic-Product": "Elasticsearch"} if server.name == "elasticsearch" else {}
        answer = {"nodes": {"a": {"version": "1.3.20"}, "b": {"version": "9.1.0"}}}
        handler.answer(200, {"Content-Type": "application/json", **product}, json.dumps(answer).encode())
        return True

    neardup("setup", "--store", f"{server.url}/{index_name}")
    with contextlib.closing(Proxy(server.url)) as older:
        older.always = as_older
        assert "1.3.20 is too old" in neardup("doctor", "--store", f"{older.url}/{index_name}", code=7).stdout


def test_what_an_engine_remarks_on_requests_reaches_nobody(server: Server, index_name: str) -> None:
    def remarking(handler: Handler, body: bytes) -> bool:
        status, headers, answer = handler.forward(body)
        handler.answer(status, {**headers, "Warning": '299 Engine-9.9-abc "this form goes away"'}, answer)
        return True

    with contextlib.closing(Proxy(server.url)) as between:
        between.always = remarking
        done = neardup("setup", "--store", f"{between.url}/{index_name}", "--dry-run")
        assert "goes away" not in done.stderr
        assert "neardup: would" in done.stderr or done.stdout


def test_a_plain_installation_brings_the_client_of_both_engines() -> None:
    project = tomllib.loads(Path(__file__).resolve().parents[3].joinpath("pyproject.toml").read_text())["project"]
    assert any(line.startswith("elasticsearch>=") for line in project["dependencies"])
    assert {"elasticsearch", "opensearch"}.isdisjoint(project["optional-dependencies"])


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
