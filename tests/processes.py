"""Processes that tests have started."""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path


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
