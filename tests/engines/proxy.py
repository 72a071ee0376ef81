"""A proxy between client and engine that misbehaves as it is told."""

from __future__ import annotations

import http.client
import json
import socket
import ssl
import struct
import threading
from collections import deque
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

Fault = Callable[["Handler", bytes], bool]


class Proxy:
    """Forwards to a server; each request to `_bulk` takes the next fault from `faults`, while there is one."""

    def __init__(self, url: str, tls: ssl.SSLContext | None = None) -> None:
        self.target = urlsplit(url)
        self.faults: deque[Fault] = deque()
        # Asked about every request.
        self.always: Fault | None = None
        self.requests: list[tuple[str, str]] = []
        self.headers: list[dict[str, str]] = []
        # The bytes of all answers' bodies, as they were sent.
        self.answered = 0
        # Called with method and path before a request goes on.
        self.on_request: Callable[[str, str], None] | None = None
        self._scheme = "https" if tls else "http"
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        if tls:
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True)
        self._server.daemon_threads = True
        self._server.proxy = self  # type: ignore[attr-defined]
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"{self._scheme}://127.0.0.1:{self._server.server_port}"

    def close(self) -> None:
        """Stop listening."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # An answer goes out at once: without this each one would wait for the client's acknowledgement.
    wbufsize = -1
    disable_nagle_algorithm = True

    def log_message(self, *_: Any) -> None:
        pass

    def _handle(self) -> None:
        proxy: Proxy = self.server.proxy  # type: ignore[attr-defined]
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        proxy.requests.append((self.command, self.path))
        proxy.headers.append(dict(self.headers))
        if proxy.on_request:
            proxy.on_request(self.command, self.path)
        fault = proxy.faults.popleft() if "_bulk" in self.path and proxy.faults else None
        if proxy.always and proxy.always(self, body):
            return
        if fault is None or not fault(self, body):
            self.answer(*self.forward(body))

    do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = _handle  # noqa: N815

    def forward(self, body: bytes) -> tuple[int, dict[str, str], bytes]:
        """Ask the server."""
        proxy: Proxy = self.server.proxy  # type: ignore[attr-defined]
        connection = http.client.HTTPConnection(proxy.target.hostname or "", proxy.target.port, timeout=60)
        try:
            headers = {
                name: value for name, value in self.headers.items() if name.lower() not in ("host", "content-length")
            }
            connection.request(self.command, self.path, body or None, headers)
            answer = connection.getresponse()
            kept = {name: value for name, value in answer.getheaders() if name.lower() not in _HOP}
            return answer.status, kept, answer.read()
        except OSError:
            return 502, {}, b"the server is away"
        finally:
            connection.close()

    def answer(self, status: int, headers: dict[str, str], body: bytes) -> None:
        """Answer the client."""
        self.server.proxy.answered += len(body)  # type: ignore[attr-defined]
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()

    def reset(self) -> None:
        """Break the connection as a crash would."""
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close_connection = True
        self.connection.close()


_HOP = frozenset({"connection", "transfer-encoding", "content-length", "keep-alive"})


def reset_before(handler: Handler, _body: bytes) -> bool:
    """The request never arrives."""
    handler.reset()
    return True


def reset_after(handler: Handler, body: bytes) -> bool:
    """The work is done, and the answer is lost."""
    handler.forward(body)
    handler.reset()
    return True


def half_an_answer(handler: Handler, body: bytes) -> bool:
    """The work is done, and the answer breaks off in the middle."""
    status, headers, answer = handler.forward(body)
    handler.send_response(status)
    for name, value in {**headers, "Content-Length": str(len(answer))}.items():
        handler.send_header(name, value)
    handler.end_headers()
    handler.wfile.write(answer[: len(answer) // 2])
    handler.wfile.flush()
    handler.reset()
    return True


def end_early(handler: Handler, body: bytes) -> bool:
    """The work is done, and the answer, which does not say how long it is, ends in the middle as if it were whole."""
    status, headers, answer = handler.forward(body)
    handler.send_response(status)
    for name, value in {**headers, "Connection": "close"}.items():
        handler.send_header(name, value)
    handler.end_headers()
    handler.wfile.write(answer[: len(answer) // 2])
    handler.wfile.flush()
    handler.close_connection = True
    return True


def stall(seconds: threading.Event) -> Fault:
    """No answer, until the event is set."""

    def stalled(handler: Handler, body: bytes) -> bool:
        handler.forward(body)
        seconds.wait(30)
        handler.reset()
        return True

    return stalled


def refuse(status: int, **headers: str) -> Fault:
    """The whole request is refused."""

    def refused(handler: Handler, _body: bytes) -> bool:
        product = {"X-Elastic-Product": "Elasticsearch", "Content-Type": "application/json"}
        answer = {"error": {"type": "es_rejected_execution_exception", "reason": "too busy"}, "status": status}
        names = {name.replace("_", "-"): value for name, value in headers.items()}
        handler.answer(status, {**product, **names}, json.dumps(answer).encode())
        return True

    return refused


def reject_every(nth: int, status: int = 429) -> Fault:
    """Of a bulk request every n-th item is taken out and rejected; the others are done."""

    def rejected(handler: Handler, body: bytes) -> bool:
        lines = body.decode().splitlines()
        pairs = list(zip(lines[::2], lines[1::2], strict=True))
        kept = [line for number, pair in enumerate(pairs) if number % nth for line in pair]
        answered: list[Any] = []
        code, headers = 200, {"X-Elastic-Product": "Elasticsearch", "Content-Type": "application/json"}
        if kept:
            code, headers, answer = handler.forward(("\n".join(kept) + "\n").encode())
            answered = json.loads(answer)["items"]
        error = {"type": "es_rejected_execution_exception", "reason": "queue is full"}
        items = iter(answered)
        merged = [
            next(items) if number % nth else {next(iter(json.loads(pair[0]))): {"status": status, "error": error}}
            for number, pair in enumerate(pairs)
        ]
        handler.answer(code, headers, json.dumps({"items": merged}).encode())
        return True

    return rejected
