"""A server that speaks the protocol of Google's object store, with the bucket `data`; it prints its port.

A process of its own: pyarrow keeps the interpreter's lock in some calls while it waits for an answer. Files below the
folder cut-at-N are cut off at their byte N, and those below cut-once in the middle of the first answer.
"""

from __future__ import annotations

import re
from functools import partial
from http.server import ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote

from gcp_storage_emulator.handlers import buckets
from gcp_storage_emulator.server import RequestHandler
from gcp_storage_emulator.storage import Storage

_CUT = re.compile(r"/data/(?:o/)?cut-(?:at-([0-9]+)|once)/")


class _Short:
    """What sends no more than so many bytes."""

    def __init__(self, file: Any, left: int) -> None:
        self._file, self._left = file, left

    def write(self, data: bytes) -> int:
        self._file.write(data[: self._left])
        return len(data)

    def flush(self) -> None:
        self._file.flush()

    def close(self) -> None:
        self._file.close()

    @property
    def closed(self) -> bool:
        return bool(self._file.closed)


class Handler(RequestHandler):  # type: ignore[misc]
    """Answers as the emulator does, but for files that are to be cut off."""

    cut_before: set[str] = set()  # noqa: RUF012 - of all connections

    def end_headers(self) -> None:
        """Send the headers, and no more of the body than is to be sent."""
        super().end_headers()
        matched = _CUT.search(path := unquote(self.path))
        first = int(re.sub(r"^bytes=|-.*", "", self.headers.get("Range", "0")))
        if self.command != "GET" or not matched or ("/o/" in path and "alt=media" not in path):
            return
        if matched[1]:
            self._cut(max(0, int(matched[1]) - first))
        elif path not in self.cut_before:
            self.cut_before.add(path)
            self._cut(1000)

    def _cut(self, left: int) -> None:
        self.wfile = _Short(self.wfile, left)  # type: ignore[assignment]
        self.close_connection = True


def main() -> None:
    storage = Storage(use_memory_fs=True)
    buckets.create_bucket("data", storage)
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, storage))
    print(server.server_port, flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
