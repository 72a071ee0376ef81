"""An engine that is waited for: what is said, when, and how often."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from indexer.engine.client import retries
from indexer.engine.client.connection import connect
from indexer.engine.client.retries import RetryPolicy
from indexer.errors import StoreError

BUSY = {"error": {"type": "circuit_breaking_exception", "reason": "too much at once"}, "status": 429}
BRIEF = RetryPolicy(timeout=5, limit=4.0, first=0.2, longest=0.4)


class Engine(BaseHTTPRequestHandler):
    """Takes nobody's request before its moment has come."""

    protocol_version = "HTTP/1.1"
    ready = 0.0

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        busy = time.monotonic() < self.ready and self.path != "/"
        body = json.dumps(BUSY if busy else {}).encode()
        self.send_response(429 if busy else 200)
        for name, value in (("X-Elastic-Product", "Elasticsearch"), ("Content-Type", "application/json")):
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@contextmanager
def engine(seconds: float) -> Iterator[str]:
    kind = type("Kind", (Engine,), {"ready": time.monotonic() + seconds})
    server = ThreadingHTTPServer(("127.0.0.1", 0), kind)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/some-*"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def test_after_two_seconds_it_is_said_what_is_waited_for(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(retries, "SILENT", 0.5)
    with engine(1.5) as url:
        client = connect(url, retry=BRIEF)
        threads = [threading.Thread(target=client.request, args=("GET", "/_x")) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        client.close()
        printed = capfd.readouterr().err
        why = "the cluster answers 429 circuit_breaking_exception: too much at once"
        assert printed == f"neardup: {url}: {why}; trying again\n"


def test_what_passes_soon_is_not_worth_a_word(capfd: pytest.CaptureFixture[str]) -> None:
    with engine(0.8) as url:
        client = connect(url, retry=BRIEF)
        client.request("GET", "/_x")
        client.close()
    assert capfd.readouterr().err == ""


def test_it_is_said_before_it_is_given_up(capfd: pytest.CaptureFixture[str]) -> None:
    """Three seconds are more than anybody wants to wait in silence."""
    with engine(60) as url:
        client = connect(url, retry=BRIEF)
        with pytest.raises(StoreError, match="given up"):
            client.request("GET", "/_x")
        client.close()
    assert "too much at once; trying again" in capfd.readouterr().err
