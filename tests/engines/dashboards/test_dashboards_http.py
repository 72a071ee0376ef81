"""`neardup setup --dashboards` against receivers that speak as Kibana and OpenSearch Dashboards do."""

from __future__ import annotations

import base64
import email.policy
import json
import os
import ssl
import threading
from collections.abc import Iterator
from email.parser import BytesParser
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

from indexer.engine.client.access import Access
from indexer.engine.client.retries import RetryPolicy
from indexer.engine.setup.dashboards import Dashboards
from indexer.errors import StoreError, UsageError
from tests import warm
from tests.engines.certificates import Authority
from tests.engines.servers import Server, free_port

SOON = RetryPolicy(limit=2.0, first=0.05, longest=0.2)


class Receiver:
    """Saved objects by space or tenant, kept as long as it runs; `headers` tell one product from the other."""

    def __init__(self, product: str, *, password: str = "", tls: ssl.SSLContext | None = None) -> None:
        self.kept: dict[str, dict[tuple[str, str], Any]] = {}
        self.asked: list[tuple[str, str]] = []
        self.product, self.password = product, password
        self.busy = 0
        self.refused: dict[str, Any] | None = None
        self.spaces = {"", "team"}
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *_: Any) -> None:
                pass

            def answer(self, status: int, body: Any) -> None:
                content = json.dumps(body).encode()
                self.send_response(status)
                self.send_header(f"{receiver.product}-name", "receiver")
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def handle_one(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                receiver.asked.append((self.command, self.path))
                self.answer(*receiver.respond(self, body))

            do_GET = do_POST = do_DELETE = handle_one  # noqa: N815

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        if tls:
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True)
        self.url = f"http{'s' if tls else ''}://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def respond(self, request: BaseHTTPRequestHandler, body: bytes) -> tuple[int, Any]:
        """The status and the body."""
        if self.busy:
            self.busy -= 1
            return 503, "not ready yet"
        wanted = "Basic " + base64.b64encode(f"elastic:{self.password}".encode()).decode()
        if self.password and request.headers.get("Authorization") != wanted:
            return 401, {"statusCode": 401, "message": "Unauthorized"}
        path, _, parameters = request.path.partition("?")
        space = request.headers.get("securitytenant", "") if self.product == "osd" else ""
        if self.product == "kbn" and path.startswith("/s/"):
            space, _, path = path[3:].partition("/")
            path = "/" + path
        if path == "/api/status":
            return 200, {"name": "receiver", "version": {"number": "9.2.0" if self.product == "kbn" else "3.4.0"}}
        if path.startswith("/api/spaces/space/"):
            return (200, {}) if path.rpartition("/")[2] in self.spaces else (404, {"statusCode": 404})
        if request.command != "GET" and request.headers.get(f"{self.product}-xsrf") != "true":
            return 400, {"statusCode": 400, "message": "Request must contain an xsrf header"}
        kept = self.kept.setdefault(space, {})
        if path == "/api/saved_objects/_import":
            assert parameters == "overwrite=true"
            return 200, self.refused or self.take(kept, request.headers["Content-Type"], body)
        kind, _, name = path.removeprefix("/api/saved_objects/").partition("/")
        place = (kind, unquote(name))
        if place not in kept:
            return 404, {"statusCode": 404}
        return 200, kept.pop(place) if request.command == "DELETE" else kept[place]

    @staticmethod
    def take(kept: dict[tuple[str, str], Any], content_type: str, body: bytes) -> dict[str, Any]:
        """Keep the objects of the form's file."""
        form = BytesParser(policy=email.policy.HTTP).parsebytes(f"Content-Type: {content_type}\r\n\r\n".encode() + body)
        [part] = form.iter_parts()
        assert part.get_param("name", header="content-disposition") == "file"
        assert str(part.get_filename()).endswith(".ndjson")
        objects = [json.loads(line) for line in part.get_content().splitlines() if line]
        kept.update({(each["type"], each["id"]): each for each in objects})
        return {"success": True, "successCount": len(objects)}


@pytest.fixture(params=["kbn", "osd"])
def receiver(request: pytest.FixtureRequest) -> Iterator[Receiver]:
    made = Receiver(request.param)
    yield made
    made.stop()


def do(boards: Dashboards, *, remove: bool = False) -> list[str]:
    return list(boards.carry_out(boards.removal() if remove else boards.set_up()))


def test_put_there_twice_and_taken_away(receiver: Receiver) -> None:
    boards = Dashboards(receiver.url, "articles", access=Access())
    assert boards.product == {"kbn": "kibana", "osd": "opensearch-dashboards"}[receiver.product]
    [message] = do(boards)
    assert f"{len(receiver.kept[''])} objects" in message
    assert message.endswith(f"; open {receiver.url}/app/dashboards#/view/neardup-articles-duplicates")
    first = dict(receiver.kept[""])
    assert ("dashboard", "neardup-articles-duplicates") in first
    assert first["index-pattern", "neardup-articles-clusters"]["attributes"]["title"] == "neardup-articles-clusters"
    assert "INDEX_NAME" not in json.dumps(list(first.values()))
    do(boards)
    assert receiver.kept[""] == first
    # Those of another index stay.
    do(Dashboards(receiver.url, "letters", access=Access()))
    assert len(do(boards, remove=True)) == len(first)
    assert len(receiver.kept[""]) == len(first)
    assert all("-letters-" in name for _, name in receiver.kept[""])
    assert do(boards, remove=True) == []


def test_what_refers_to_others_is_taken_away_first(receiver: Receiver) -> None:
    boards = Dashboards(receiver.url, "articles", access=Access())
    do(boards)
    kinds = [step.path.split("/")[3] for step in boards.removal()]
    assert kinds[0] == "dashboard"
    assert set(kinds[-4:]) == {"index-pattern"}


def test_a_space_or_tenant(receiver: Receiver) -> None:
    boards = Dashboards(receiver.url, "articles", space="team", access=Access())
    do(boards)
    assert not receiver.kept.get("")
    assert ("dashboard", "neardup-team-articles-duplicates") in receiver.kept["team"]
    do(boards, remove=True)
    assert receiver.kept["team"] == {}
    if receiver.product == "kbn":
        with pytest.raises(UsageError, match="no space 'nobody'"):
            Dashboards(receiver.url, "articles", space="nobody", access=Access())


def test_who_asks_is_said_and_refusals_are_sentences() -> None:
    receiver = Receiver("kbn", password="let-me-in")
    try:
        with pytest.raises(StoreError, match=r"Kibana asks for credentials \(401\); set NEARDUP_API_KEY"):
            Dashboards(receiver.url, "articles", access=Access())
        with pytest.raises(StoreError, match="does not accept the user elastic with this password") as caught:
            Dashboards(receiver.url, "articles", access=Access(username="elastic", password="wrong-word"))
        assert "wrong-word" not in str(caught.value)
        do(Dashboards(receiver.url, "articles", access=Access(username="elastic", password="let-me-in")))
        assert receiver.kept[""]
    finally:
        receiver.stop()


def test_an_import_that_is_refused_in_part_is_an_error(receiver: Receiver) -> None:
    boards = Dashboards(receiver.url, "articles", access=Access())
    error = {"type": "missing_references", "references": [{"type": "index-pattern", "id": "gone"}]}
    receiver.refused = {"success": False, "errors": [{"type": "search", "id": "s", "error": error}]}
    with pytest.raises(StoreError, match=r"refused 1 of .* objects; search s: refers to gone"):
        do(boards)


def test_one_that_is_starting_is_waited_for(receiver: Receiver) -> None:
    receiver.busy = 2
    assert do(Dashboards(receiver.url, "articles", access=Access(), retry=SOON))
    receiver.busy = 1000
    with pytest.raises(StoreError, match=r"no answer after .* status 503"):
        Dashboards(receiver.url, "articles", access=Access(), retry=SOON)


@pytest.mark.parametrize("product", ["x", "kbn"])
def test_what_is_no_dashboards(product: str) -> None:
    receiver = Receiver(product)
    try:
        with pytest.raises(StoreError, match=r"neither Kibana nor OpenSearch Dashboards answers there .*base path"):
            Dashboards(f"{receiver.url}{'/wrong' if product == 'kbn' else ''}", "articles", access=Access())
    finally:
        receiver.stop()


def test_nobody_listens() -> None:
    with pytest.raises(StoreError, match=r"no answer after .* is the URL right"):
        Dashboards(f"http://127.0.0.1:{free_port()}", "articles", access=Access(), retry=SOON)


@pytest.mark.parametrize(
    ("url", "name", "why"),
    [
        ("http://user:secret@127.0.0.1:1", "articles", "NEARDUP_USERNAME"),
        ("ftp://127.0.0.1", "articles", "https://host:5601"),
        ("https://127.0.0.1:1", "a'b", "letters, digits"),
    ],
)
def test_what_can_not_be_used(url: str, name: str, why: str) -> None:
    with pytest.raises(UsageError, match=why) as caught:
        Dashboards(url, name, access=Access())
    assert "secret" not in str(caught.value)


def test_an_authority_of_ones_own(tmp_path: Path) -> None:
    authority = Authority(tmp_path / "ours", "authority")
    authority.sign("server")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(authority.folder / "server.pem", authority.folder / "server.key")
    receiver = Receiver("osd", tls=context)
    try:
        with pytest.raises(StoreError, match="NEARDUP_CA_CERT"):
            Dashboards(receiver.url, "articles", access=Access(), retry=SOON)
        do(Dashboards(receiver.url, "articles", access=Access(ca_cert=str(authority.path))))
        assert receiver.kept[""]
    finally:
        receiver.stop()


def test_the_command(server: Server, index_name: str) -> None:
    receiver = Receiver({"elasticsearch": "kbn", "opensearch": "osd"}[server.name], password="let-me-in")
    environment = {**os.environ, "NEARDUP_USERNAME": "elastic", "NEARDUP_PASSWORD": "let-me-in"}

    def run(*flags: str) -> str:
        command = ["setup", "--store", f"{server.url}/{index_name}", "--dashboards", receiver.url, *flags]
        done = warm.run_text(*command, env=environment)
        assert done.returncode == 0, done.stderr
        return done.stdout + done.stderr

    try:
        shown = run("--dry-run")
        assert not receiver.kept.get("")
        assert "POST /api/saved_objects/_import?overwrite=true" in shown
        assert f"PUT /neardup-{index_name}-clusters" in shown
        run()
        objects = [json.loads(line) for line in shown.splitlines() if line.startswith('{"id":"neardup-')]
        assert list(receiver.kept[""].values()) == objects
        # The panels have indices to look at before there is a cluster or a failure.
        found = server.request("GET", f"/neardup-{index_name}-*/_mapping")
        assert found[f"neardup-{index_name}-clusters"]["mappings"]["properties"]["neardup"]
        assert found[f"neardup-{index_name}-failures"]["mappings"]["properties"]["failed_at"]["type"] == "date"
        assert found[f"neardup-{index_name}-passages"]["mappings"]["properties"]["made_at"]["type"] == "date"
        run("--remove")
        assert receiver.kept[""] == {}
        assert index_name in server.request("GET", f"/{index_name}/_mapping")
    finally:
        receiver.stop()
        server.request("DELETE", "/_component_template/neardup")


def test_a_pattern_has_dashboards_of_all_that_it_matches(server: Server, index_name: str) -> None:
    receiver = Receiver({"elasticsearch": "kbn", "opensearch": "osd"}[server.name])
    pattern, stream = f"{index_name}-*", f"{index_name}-stream"

    def run(name: str, *flags: str, code: int = 0) -> str:
        done = warm.run_text("setup", "--store", f"{server.url}/{name}", *flags)
        assert done.returncode == code, done.stderr
        return done.stderr

    try:
        assert "none of its indices has neardup's fields" in run(pattern, "--dashboards", receiver.url, code=2)
        server.request("PUT", f"/{index_name}-owned", {})
        template = {"index_patterns": [stream], "data_stream": {}}
        assert "error" not in server.request("PUT", f"/_index_template/{stream}", template)
        server.request("PUT", f"/_data_stream/{stream}")
        for name in (f"{index_name}-own", stream):
            run(name)
        assert "a pattern is only for reading" in run(pattern, code=2)
        assert "dashboards only" in run(pattern, "--dashboards", receiver.url, "--search-templates", code=2)
        run(pattern, "--dashboards", receiver.url)
        views = {
            each["attributes"]["title"] for (kind, _), each in receiver.kept[""].items() if kind == "index-pattern"
        }
        beside = {f"neardup-{pattern}-{kind}" for kind in ("clusters", "failures", "passages")}
        assert views == {pattern, *beside}
        for view in beside:
            found = server.request("GET", f"/{view}/_mapping")
            assert set(found) == {view.replace("*", part) for part in ("own", "stream")}
        run(pattern, "--dashboards", receiver.url, "--remove")
        assert receiver.kept[""] == {}
    finally:
        receiver.stop()
        server.request("DELETE", f"/_data_stream/{stream}")
        server.request("DELETE", f"/_index_template/{stream}")


def test_the_engine_itself_is_recognised(server: Server) -> None:
    with pytest.raises(StoreError, match=r"Elasticsearch itself|OpenSearch itself|neither Kibana nor"):
        Dashboards(server.url, "articles", access=Access())
