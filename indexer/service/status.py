"""The health and metrics of a process over HTTP."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from indexer.errors import MachineError
from indexer.library.following import FollowState

# Seconds for one request: whoever sends none does not keep a thread.
_SECONDS = 5.0
# What waiting for the end takes.
_POLL = 0.1


@contextmanager
def status_served(state: FollowState, shown: str, host: str, port: int) -> Iterator[int]:
    """Answer GET /healthz (200, or 503 if something is wrong) and /metrics while entered; returns the port.

    Raises MachineError if it can't listen.
    """

    class _Handler(BaseHTTPRequestHandler):
        timeout = _SECONDS

        def do_GET(self) -> None:
            if self.path == "/metrics":
                self._answer(200, "text/plain; version=0.0.4", state.metrics(shown))
            elif self.path == "/healthz":
                self._answer(200 if state.is_well else 503, "application/json", json.dumps(state.as_dict()))
            else:
                self._answer(404, "text/plain", "")

        def _answer(self, status: int, kind: str, text: str) -> None:
            body = text.encode()
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 the base class's name
            ...

    try:
        server = ThreadingHTTPServer((host, port), _Handler)
    except OSError as error:
        raise MachineError(f"{host}:{port}: can't listen there: {error.strerror or error}") from None
    threading.Thread(target=server.serve_forever, args=(_POLL,), name="status", daemon=True).start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()
