"""The service, as a real process that is asked over HTTP."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import indexer
from indexer.ingest.indexing import default_jobs
from indexer.model.declared import as_json
from tests.service.process import serving, workers
from tests.warm import run_text

TEXTS = {
    "tea": "Pour hot water on the leaves, wait for four minutes, and take them out before the tea is bitter to drink.",
    "rye": "Mix the rye flour with water and salt, let it rest over night in a warm place, and bake it in the morning.",
}
COPY = TEXTS["tea"] + " Milk is a matter of taste."
TOKEN = "correct horse battery staple"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("service")
    with indexer.open(folder / "texts.neardup") as collection:
        collection.add_many(TEXTS.items())
    return folder


@pytest.fixture(scope="module")
def url(folder: Path) -> Iterator[str]:
    with serving(folder, "--max-request", "100kB") as url:
        yield url


def ask(
    url: str, body: bytes | object | None = None, kind: str = "application/json", **headers: str
) -> tuple[int, Any]:
    data = body if isinstance(body, bytes | None) else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"Content-Type": kind, **headers})
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


def test_similar_is_what_the_command_prints(folder: Path, url: str) -> None:
    status, made = ask(f"{url}/similar", {"documents": [{"text": COPY}, {"id": "rye"}, {"id": "none"}]})
    assert status == 200
    of_text, of_id, of_none = made["answers"]
    printed = run_text(
        "similar", "--store", "texts.neardup", "--text", COPY, "--no-relation", "--json", cwd=folder
    ).stdout
    assert of_text["matches"] == json.loads(printed)["matches"]
    assert [match["id"] for match in of_text["matches"]] == ["tea"]
    assert of_id["matches"] == []
    assert of_none["error"] == "none: no document with this id is stored"


def test_a_file_is_read_by_a_worker(url: str) -> None:
    page = f"<title>Tea</title><nav>Home</nav><main><p>{COPY}</p></main>".encode()
    status, made = ask(f"{url}/similar", page, "application/octet-stream")
    assert (status, [match["id"] for match in made["answers"][0]["matches"]]) == (200, ["tea"])
    assert made["answers"][0]["query"]["title"] == "Tea"
    status, made = ask(f"{url}/seen", b"%PDF-1.4 and no more", "application/octet-stream")
    assert status == 200
    assert "malformed" in made["answers"][0]["error"]


def test_files_are_read_by_workers_that_are_kept(tmp_path: Path) -> None:
    page = f"<title>Tea</title><main><p>{COPY}</p></main>".encode()
    with indexer.open(tmp_path / "texts.neardup") as collection:
        collection.add_many(TEXTS.items())

    def asked(url: str) -> None:
        status, made = ask(f"{url}/seen", page, "application/octet-stream")
        assert (status, made["answers"][0]["match"]["id"]) == (200, "tea")

    with serving(tmp_path, "--threads", "8") as url:
        assert workers(tmp_path) == set()
        asked(url)
        [first] = workers(tmp_path)
        asked(url)
        assert workers(tmp_path) == {first}
        os.kill(first, signal.SIGKILL)
        asked(url)
        [second] = workers(tmp_path)
        assert second != first
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda _: asked(url), range(24)))
        assert second in workers(tmp_path)
        assert len(workers(tmp_path)) <= default_jobs()
    assert workers(tmp_path) == set()


def test_seen_leaves_out_the_document_itself(url: str) -> None:
    documents = [{"text": COPY}, {"text": COPY, "id": "tea"}, {"text": "Something else " * 20}]
    status, made = ask(f"{url}/seen", {"documents": documents})
    assert (status, [one["seen"] for one in made["answers"]]) == (200, [True, False, False])
    assert made["answers"][0]["match"]["id"] == "tea"


def test_hits_are_folded_in_their_order(folder: Path, url: str) -> None:
    hits = [{"id": "rye"}, {"text": TEXTS["tea"].upper()}, {"id": "tea"}, {"id": "gone"}]
    status, made = ask(f"{url}/distinct", {"hits": hits})
    assert status == 200
    assert [hit["position"] for hit in made["hits"]] == [0, 1, 3]
    [copy] = made["hits"][1]["copies"]
    assert copy == {"position": 2, "id": "tea", "similarity": 1.0, "relation": "identical"}
    assert made["hits"][2]["error"] == "gone: no document with this id is stored"
    with indexer.open(folder / "texts.neardup", read_only=True) as collection:
        folded = collection.distinct([(hit.get("id"), hit.get("text")) for hit in hits])
    assert as_json(folded) == made["hits"]


def test_two_documents_are_compared(url: str) -> None:
    status, made = ask(f"{url}/compare", {"a": {"id": "tea"}, "b": {"text": COPY}})
    assert (status, made["near"]) == (200, True)
    assert ask(f"{url}/compare", {"a": {"id": "tea"}, "b": {"id": "gone"}})[0] == 404


def test_fingerprints_are_those_of_the_library(url: str) -> None:
    status, made = ask(f"{url}/fingerprint", {"texts": [COPY], "scheme": "minhash"})
    assert status == 200
    assert made["answers"][0]["hash"] == str(indexer.fingerprint(COPY))
    assert made["answers"][0]["sketch"].startswith("mh3-")


@pytest.mark.parametrize(
    ("verb", "body", "says"),
    [
        ("similar", b"{", "is no JSON"),
        ("similar", b"[" * 50_000, "is no JSON"),
        ("similar", b'{"documents": [{"text": "a"}], "at_least": NaN, "limit": 5}', "NaN is no number"),
        ("similar", b'{"documents": [{"text": "a"}], "at_least": 1e999, "limit": 5}', "must be from 0 to 1"),
        ("similar", b'{"documents": [{"text": "a"}], "at_least": ' + b"9" * 400 + b', "limit": 5}', "is too large"),
        ("similar", b'{"documents": [{"text": "a"}], "limit": ' + b"9" * 5000 + b"}", "is no JSON"),
        ("seen", b'{"documents": [{"text": "a", "text": "b"}]}', "'text' is given twice"),
        ("similar", [], "must be an object"),
        ("similar", {"documents": [], "path": "/etc/passwd"}, "'path' is unknown"),
        ("similar", {"documents": [{"path": "/etc/passwd"}]}, "'path' is unknown"),
        ("similar", {"documents": [{}]}, "neither a text nor an id"),
        ("similar", {"documents": [{"text": 1}]}, "'text': must be a text"),
        ("similar", {"documents": [{"text": "a"}], "limit": True}, "'limit': must be a whole number"),
        (
            "similar",
            {"documents": [{"text": "a"}], "at_least": 0, "limit": 1001},
            "'limit': must be 1,000 at most with",
        ),
        (
            "similar",
            {"documents": [{"text": "a"}], "at_least": 0, "limit": None},
            "'limit': must be 1,000 at most with",
        ),
        ("similar", {"documents": [{"text": "a"}], "match": "nothing@2"}, "nothing"),
        ("seen", {"documents": [{"text": "a"}] * 1001}, "1000 documents at most"),
        ("distinct", {"hits": [{"text": "a"}], "match": "simhash-doc@3bits+text@0.6"}, "can't be read again"),
        ("compare", {"a": {"text": "a"}}, "'b' is missing"),
    ],
)
def test_a_wrong_request_is_told_what_is_wrong(url: str, verb: str, body: object, says: str) -> None:
    status, made = ask(f"{url}/{verb}", body)
    assert status == 400
    assert says in made["error"]


def test_an_id_is_never_a_path(folder: Path, url: str) -> None:
    page = folder / "page.html"
    page.write_text(COPY, "utf-8")
    _, made = ask(f"{url}/similar", {"documents": [{"id": str(page)}, {"id": f"id:{page}"}]})
    assert all("no document with this id" in one["error"] for one in made["answers"])
    assert ask(f"{url}/compare", {"a": {"id": str(page)}, "b": {"text": COPY}})[0] == 404


def test_sizes_kinds_names_and_origins_are_checked(url: str) -> None:
    large = {"documents": [{"text": "word " * 50_000}]}
    assert ask(f"{url}/similar", large)[0] == 413
    assert ask(f"{url}/compare", b"text", "text/plain")[0] == 415
    assert ask(f"{url}/", Host="evil.example")[0] == 421
    assert ask(f"{url}/", Host="localhost.")[0] == 200
    port = int(url.rpartition(":")[2])
    for name in ("evil@localhost", "localhost/", "localhost#", "localhost:http", f"localhost.evil.example:{port}", ""):
        assert ask(f"{url}/", Host=name)[0] == 421
    for origin in (
        f"http://127.0.0.1:{port + 1}",
        f"https://127.0.0.1:{port}",
        "http://127.0.0.1",
        "null",
        "",
        f"//127.0.0.1:{port}",
    ):
        assert ask(f"{url}/", Origin=origin)[0] == 403
    assert ask(f"{url}/", Host="localhost", Origin="http://localhost:80")[0] == 200
    assert ask(f"{url}/seen", {"documents": []}, Origin="https://evil.example")[0] == 403
    assert ask(f"{url}/seen", {"documents": []}, Origin=url)[0] == 200
    assert ask(f"{url}/nothing")[0] == 404
    assert ask(f"{url}/seen")[0] == 405


def test_a_body_without_a_stated_length_is_limited_too(url: str) -> None:
    import http.client

    host = url.removeprefix("http://")
    connection = http.client.HTTPConnection(host, timeout=60)
    pieces = (b"x" * 10_000 for _ in range(20))
    connection.request("POST", "/similar", pieces, {"Content-Type": "application/json"}, encode_chunked=True)
    assert connection.getresponse().status == 413
    connection.close()


def test_its_description_names_every_member(url: str) -> None:
    status, made = ask(f"{url}/openapi.json")
    assert (status, made["openapi"]) == (200, "3.1.0")
    assert set(made["paths"]) == {f"/{verb}" for verb in ask(f"{url}/")[1]["verbs"]}
    assert all(each["post"]["summary"] and each["post"]["description"] for each in made["paths"].values())
    request = made["paths"]["/similar"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    assert set(request["properties"]) >= {"documents", "match", "limit", "at_least", "passages"}
    answer = made["paths"]["/seen"]["post"]["responses"]["200"]["content"]["application/json"]["schema"]
    _, seen = ask(f"{url}/seen", {"documents": [{"text": COPY}]})
    [described], [given] = answer["properties"].values(), seen["answers"]
    assert set(described["items"]["properties"]) == set(given)
    assert set(described["items"]["properties"]["match"]["properties"]) == set(given["match"])


def test_many_ask_at_once(url: str) -> None:
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda _: ask(f"{url}/seen", {"documents": [{"text": COPY}] * 20}), range(24)))
    assert {status for status, _ in made} == {200}
    assert all(one["seen"] for _, answer in made for one in answer["answers"])


def test_who_has_no_thread_and_no_room_to_wait_is_sent_away(folder: Path) -> None:
    with serving(folder, "--threads", "1", "--waiting", "0") as url, ThreadPoolExecutor(8) as pool:
        large = {"documents": [{"text": COPY * 50}] * 500}
        statuses = [status for status, _ in pool.map(lambda _: ask(f"{url}/seen", large), range(8))]
    assert statuses.count(200) >= 1
    assert statuses.count(503) >= 1
    assert set(statuses) <= {200, 503}


def test_a_request_that_takes_too_long_is_ended(folder: Path) -> None:
    with serving(folder, "--timeout", "0.001") as url:
        assert ask(f"{url}/seen", {"documents": [{"text": COPY * 50}] * 500})[0] == 504


def test_pages_of_an_allowed_name_may_come_by_the_tls_of_a_proxy(folder: Path) -> None:
    with serving(folder, "--allow-host", "find.example") as url:
        for host, origin, status in (
            ("find.example", "https://find.example", 200),
            ("find.example:8443", "https://find.example:8443", 200),
            ("find.example", "http://find.example", 200),
            ("find.example", "https://find.example:8443", 403),
            ("find.example", "https://localhost", 403),
            ("localhost", "https://localhost", 403),
        ):
            assert ask(f"{url}/", Host=host, Origin=origin)[0] == status, (host, origin)


def test_a_token_is_asked_for(folder: Path) -> None:
    with serving(folder, env={"NEARDUP_SERVE_TOKEN": TOKEN}) as url:
        assert ask(f"{url}/healthz") == (200, {"status": "ok"})
        for wrong in ("", TOKEN, f"Basic {TOKEN}", f"Bearer {TOKEN}x", "Bearer"):
            assert ask(f"{url}/", **({"Authorization": wrong} if wrong else {}))[0] == 401
        assert ask(f"{url}/", Authorization=f"Bearer {TOKEN}")[0] == 200
        assert "security" in ask(f"{url}/openapi.json", Authorization=f"Bearer {TOKEN}")[1]


def test_what_others_reach_needs_a_token_and_tls(folder: Path) -> None:
    def refused(*options: str, **environment: str) -> str:
        made = run_text(
            "serve", "--store", "texts.neardup", "--port", "0", *options, cwd=folder, env={**os.environ, **environment}
        )
        assert made.returncode == 2
        return made.stderr

    assert "--token-file" in refused("--host", "0.0.0.0")
    assert "--tls-certificate" in refused("--host", "0.0.0.0", NEARDUP_SERVE_TOKEN=TOKEN)
    assert "too short" in refused(NEARDUP_SERVE_TOKEN="secret")
    assert "go together" in refused("--tls-key", "key.pem")
    (folder / "empty").write_text("\n", "utf-8")
    assert "is empty" in refused("--token-file", "empty")
    assert "can't be read" in refused("--token-file", "gone")


def test_a_store_that_is_not_there_is_said_at_once(tmp_path: Path) -> None:
    made = run_text("serve", "--store", "gone.neardup", "--port", "0", cwd=tmp_path)
    assert made.returncode == 3
    assert "gone.neardup" in made.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("lacks", ["starlette", "uvicorn", "h11", "mcp", "anyio"])
def test_a_command_without_its_extra_names_it(folder: Path, lacks: str) -> None:
    extra = "mcp" if lacks in ("mcp", "anyio") else "serve"
    run = f"import sys; sys.modules[{lacks!r}] = None; from indexer.__main__ import main; sys.exit(main())"
    made = subprocess.run(
        [sys.executable, "-c", run, extra, "--store", "texts.neardup"], cwd=folder, capture_output=True, text=True
    )
    assert (made.returncode, f"pip install 'neardup[{extra}]'" in made.stderr) == (1, True), made.stderr


def test_what_is_indexed_meanwhile_is_found(folder: Path) -> None:
    text = (
        "A new page about the harbour and its ferries, written while the service was answering "
        + "other questions. " * 5
    )
    with serving(folder) as url:
        assert not ask(f"{url}/seen", {"documents": [{"text": text}]})[1]["answers"][0]["seen"]
        with indexer.open(folder / "texts.neardup") as collection:
            collection.add_many([("harbour", text)])
        assert ask(f"{url}/seen", {"documents": [{"text": text}]})[1]["answers"][0]["match"]["id"] == "harbour"
