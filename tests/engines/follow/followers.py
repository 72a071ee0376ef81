"""Processes that follow an index of a real server, in this process and in their own."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable

from indexer.library.annotating import FollowedIndex
from indexer.library.engine_options import Alerting, Annotating, Watching
from indexer.library.following import Follower, FollowState
from indexer.library.options import Fingerprinting
from tests.engines.servers import Server

FIELDS = Annotating(field=("body",))
INLINE = Fingerprinting(jobs=1)
NEVER = Watching(quiet_for=1e6, lease=2)


def quiet(*_: object, **__: object) -> None:
    """Nothing is said."""


def follower(
    url: str, watching: Watching = NEVER, annotating: Annotating = FIELDS, alerting: Alerting = Alerting()
) -> Follower:
    return Follower(
        FollowedIndex(url, annotating, INLINE, watching=watching, tell=quiet), watching, alerting, tell=quiet
    )


def followed(url: str, watching: Watching = NEVER) -> FollowState:
    """Follow until nothing is left to do."""
    return follower(url, watching).run(once=True)


def numbers(server: Server, index: str) -> list[int]:
    """The last change of each shard."""
    shards = server.request("GET", f"/{index}/_stats?level=shards")["indices"][index]["shards"]
    return [copy["seq_no"]["max_seq_no"] for copies in shards.values() for copy in copies if copy["routing"]["primary"]]


def wait_for(there: Callable[[], bool]) -> None:
    limit = time.monotonic() + 60
    while not there():
        assert time.monotonic() < limit
        time.sleep(0.1)


def started(url: str, *flags: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "indexer", "--log-format", "json", "follow", "--store", url, "--field", "body"]
    own = ["--jobs", "1", "--interval", "0.2", "--quiet-for", "3600", "--lease", "2", *flags]
    return subprocess.Popen([*command, *own], stderr=subprocess.PIPE, text=True, env=dict(os.environ))
