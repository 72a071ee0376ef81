"""A server that sends elsewhere: who is there gets no credentials, and the user is told."""

from __future__ import annotations

import http.server
import threading
from collections.abc import Iterator

import pytest

from indexer.engine.client.access import SETTINGS
from indexer.engine.client.connection import connect
from indexer.engine.client.retries import RetryPolicy
from indexer.engine.setup.dashboards import Dashboards
from indexer.errors import StoreError

QUICK = RetryPolicy(timeout=10, limit=2, first=0.05, longest=0.2)


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def _handle(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.server.seen.append(dict(self.headers))  # type: ignore[attr-defined]
        self.send_response(self.server.status)  # type: ignore[attr-defined]
        self.send_header("Location", self.server.where + self.path)  # type: ignore[attr-defined]
        self.send_header("X-Elastic-Product", "Elasticsearch") if self.path != "/" else None
        self.send_header("kbn-name", "kibana")
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_GET = do_POST = do_PUT = do_HEAD = _handle  # noqa: N815

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def pair(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[http.server.ThreadingHTTPServer]]:
    """One server that sends every request to the other, which would answer; `seen` are the headers of each."""
    for name in (*SETTINGS, "credentials"):
        monkeypatch.delenv(f"NEARDUP_{name.upper()}", raising=False)
    monkeypatch.setenv("NEARDUP_API_KEY", "c2VjcmV0")
    servers = [http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Handler) for _ in range(2)]
    for server in servers:
        server.seen, server.status = [], 200  # type: ignore[attr-defined]
        server.where = f"http://user:pass@localhost:{servers[1].server_port}"  # type: ignore[attr-defined]
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    yield servers
    for server in servers:
        server.shutdown()
        server.server_close()


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("way", ["", "elasticsearch+", "opensearch+", "dashboards"])
def test_no_credentials_go_where_a_redirect_leads(
    pair: list[http.server.ThreadingHTTPServer], way: str, status: int
) -> None:
    first, second = pair
    first.status = status  # type: ignore[attr-defined]
    url = f"http://127.0.0.1:{first.server_port}"

    def ask() -> None:
        if way == "dashboards":
            Dashboards(url, "docs", retry=QUICK)
            return
        client = connect(f"{way}{url}/docs", retry=QUICK)
        try:
            for method in ("GET", "POST"):
                client.request(method, "/docs/_search", {"query": {"match_all": {}}} if method == "POST" else None)
        finally:
            client.close()

    with pytest.raises(StoreError) as caught:
        ask()
    assert first.seen  # type: ignore[attr-defined]
    assert {headers.get("Authorization", headers.get("authorization")) for headers in first.seen} == {  # type: ignore[attr-defined]
        "ApiKey c2VjcmV0"
    }
    assert second.seen == []  # type: ignore[attr-defined]
    said = str(caught.value)
    assert str(status) in said
    assert "pass" not in said
    if not way:
        assert f"http://localhost:{second.server_port}" in said
