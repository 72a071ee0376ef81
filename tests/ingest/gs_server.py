"""A server that speaks the protocol of Google's object store, with the bucket `data`; it prints its port.

A process of its own: pyarrow keeps the interpreter's lock in some calls while it waits for an answer.
"""

from __future__ import annotations

from functools import partial
from http.server import ThreadingHTTPServer

from gcp_storage_emulator.handlers import buckets
from gcp_storage_emulator.server import RequestHandler
from gcp_storage_emulator.storage import Storage


def main() -> None:
    storage = Storage(use_memory_fs=True)
    buckets.create_bucket("data", storage)
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(RequestHandler, storage))
    print(server.server_port, flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
