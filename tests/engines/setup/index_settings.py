"""The settings of an index that a bulk load changes for its time."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.engines.servers import Server

OWN_META = {"owner": {"kept": [1, None, "x"]}}


DOWN = {"index.refresh_interval": "-1", "index.number_of_replicas": "0"}


NOT_SET = {"index.refresh_interval": None, "index.number_of_replicas": "1"}


def settings(server: Server, name: str) -> dict[str, str | None]:
    """The two settings as the engine has them; None for one that is not set."""
    found = server.request("GET", f"/{name}/_settings?flat_settings=true")[name]["settings"]
    return {each: found.get(each) for each in DOWN}


@contextmanager
def loading(server: Server, index: str, folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """The command in the middle of a bulk load."""
    command = [sys.executable, "-m", "indexer", "index", "-", "--bulk-load", "--jobs", "1"]
    environment = {**os.environ, "NEARDUP_STORE": f"{server.url}/{index}"}
    pipes: dict[str, Any] = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with subprocess.Popen(command, cwd=folder, env=environment, **pipes) as process:
        try:
            assert process.stdin
            process.stdin.write(json.dumps({"id": "a", "text": "word " * 30}).encode() + b"\n")
            process.stdin.flush()
            limit = time.monotonic() + 60
            while settings(server, index) != DOWN:
                assert process.poll() is None
                assert time.monotonic() < limit
                time.sleep(0.05)
            yield process
        finally:
            process.kill()
