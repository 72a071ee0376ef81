"""A service, as a real process over `texts.neardup` in a folder."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def serving(
    folder: Path,
    *options: str,
    store: str = "texts.neardup",
    env: Mapping[str, str] | None = None,
    first: str = "",
    said: list[str] | None = None,
) -> Iterator[str]:
    """The URL of a service that is ended afterwards, by SIGTERM.

    `first` is run before it begins, and `said` gets the lines that it wrote after the first one.
    """
    run = f"{first}\nfrom indexer.__main__ import main\nmain()"
    command = [sys.executable, "-c", run, "serve", "--store", store, "--port", "0", *options]
    process = subprocess.Popen(
        command, cwd=folder, stderr=subprocess.PIPE, text=True, env={**os.environ, **(env or {})}
    )
    assert process.stderr
    try:
        line = process.stderr.readline()
        matched = re.search(r"answers at (https?://\S+)", line)
        assert matched, line + process.stderr.read()
        yield matched[1]
    finally:
        process.send_signal(signal.SIGTERM)
        rest = process.stderr.read()
        assert process.wait(30) == -signal.SIGTERM
        process.stderr.close()
        if said is not None:
            said += rest.splitlines()


def workers(folder: Path) -> set[int]:
    """The processes that read documents for services over a folder."""
    found = set()
    for process in Path("/proc").iterdir():
        with suppress(OSError):
            if process.name.isdecimal() and b"indexer.extract.worker" in (process / "cmdline").read_bytes():
                parent = re.search(r"^PPid:\s*(\d+)$", (process / "status").read_text(), re.MULTILINE)
                if parent and os.readlink(f"/proc/{parent[1]}/cwd") == str(folder):
                    found.add(int(process.name))
    return found


def processor_seconds(folder: Path) -> float:
    """The seconds of processors that services over a folder have used, without those of their workers."""
    ticks = 0
    for process in Path("/proc").iterdir():
        with suppress(OSError):
            command = (process / "cmdline").read_bytes() if process.name.isdecimal() else b""
            if b"\0serve\0" in command and os.readlink(process / "cwd") == str(folder):
                ticks += sum(map(int, (process / "stat").read_text().rpartition(")")[2].split()[11:13]))
    return ticks / os.sysconf("SC_CLK_TCK")
