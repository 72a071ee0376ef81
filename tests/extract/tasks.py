"""What the workers are told to do in the tests of the pool."""

from __future__ import annotations

import errno
import os
import signal
import sys
import time
from typing import Any

from indexer.model import Document, Fingerprint

# As in a process that earlier documents have worn out, or that somebody killed while it waited.
documents: list[str] = []


def obey(document: Document) -> Any:
    """Do what the text says, or give back what every kind of answer looks like."""
    documents.append(document.text)
    orders = {
        "hang": lambda: time.sleep(3600),
        "spin": spin,
        "kill": lambda: os.kill(os.getpid(), signal.SIGKILL),
        "segfault": lambda: os.kill(os.getpid(), signal.SIGSEGV),
        "exit": lambda: os._exit(3),
        "hoard": lambda: len(bytearray(1 << 33)),
        "print": lambda: print("noise on standard output", flush=True),
        "raise": lambda: os.environ["NO SUCH NAME"],
        "odd": object,
        "pid": os.getpid,
        "environment": lambda: [list(pair) for pair in os.environ.items()],
        "read": sys.stdin.read,
        "kill if used": lambda: len(documents) > 1 and os.kill(os.getpid(), signal.SIGKILL),
    }
    if document.text in orders:
        return orders[document.text]()
    how, _, path = document.text.partition(" ")
    if how in ("open", "list", "write"):
        return tried(how, path)
    return Fingerprint(7, len(document.text)), (1, b"\xff", [None, {"a": 0.5}]), document.text[:10]


def tried(how: str, path: str) -> str:
    """Whether a worker can use a file or folder: "done", or the name of the error."""
    try:
        if how == "list":
            os.listdir(path)
        else:
            with open(path, "rb" if how == "open" else "ab"):
                pass
    except OSError as error:
        return errno.errorcode[error.errno or 0]
    return "done"


def spin() -> None:
    while True:
        pass
