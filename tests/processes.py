"""Processes that tests have started."""

from __future__ import annotations

import os
import pty
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import Any


def _stat(process: str) -> list[str]:
    """What the system says of a process after its name: its state, its parent and more; nothing where it is gone."""
    with suppress(FileNotFoundError, ProcessLookupError):
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return []


def children(parent: int) -> set[int]:
    """The processes that a process has started.

    Each says who its parent is. The lists of children that threads have lose one while a thread ends.
    """
    found = (entry.name for entry in Path("/proc").iterdir() if entry.name.isdecimal())
    return {int(name) for name in found if _stat(name)[1:2] == [str(parent)]}


def wait_for_end(*processes: int) -> None:
    """Wait until processes have ended; fails after long enough for any machine."""
    deadline = time.monotonic() + 120
    while any(_stat(str(process))[:1] not in ([], ["Z"], ["X"]) for process in processes):
        assert time.monotonic() < deadline, "a process is still there"
        time.sleep(0.01)


def on_terminal(
    command: Sequence[str], *streams: str, code: int = 0, **given: Any
) -> tuple[subprocess.CompletedProcess[bytes], str]:
    """Run a command with a terminal as its `streams`, and pipes as the others; also what the terminal showed.

    It is read all the time: a terminal that nobody reads stops the command when it holds 4 KB.
    """
    ours, theirs = pty.openpty()
    shown = bytearray()

    def read() -> None:
        # How Linux says that nobody holds the other end any more.
        with suppress(OSError):
            while part := os.read(ours, 1 << 16):
                shown.extend(part)

    reader = Thread(target=read)
    reader.start()
    places = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | dict.fromkeys(streams, theirs)
    try:
        done = subprocess.run(command, **places, timeout=120, **given)
    finally:
        os.close(theirs)
        reader.join()
        os.close(ours)
    assert done.returncode == code, (done.stderr, shown)
    return done, shown.decode()
