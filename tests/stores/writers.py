"""Processes that write to an embedded store, and what is whole in it after they were killed."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from pathlib import Path

from indexer.library.opening import open_store
from indexer.model import SIMHASH_DOC
from tests.stores.asked import counts_with_keys

WRITER = ("-m", "tests.stores.writer")
ROOT = Path(__file__).resolve().parents[2]


def start_writer(path: Path, *arguments: str) -> subprocess.Popen[str]:
    """A writing process, once it holds the store."""
    process = subprocess.Popen(
        [sys.executable, *WRITER, str(path), *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )
    assert process.stdout
    assert process.stdout.readline()
    return process


def end(process: subprocess.Popen[str], *, kill: bool = False) -> None:
    """Let a process end by closing its input, or kill it with -9."""
    if kill:
        process.kill()
    process.communicate()


def whole(path: Path) -> None:
    """The file passes SQLite's check, and its counts and keys are those of its documents."""
    connection = sqlite3.connect(path)
    try:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    finally:
        connection.close()
    with open_store(path, read_only=True) as store:
        stored = list(store.scan())
        values = [each.fingerprint.value for each in stored if each.fingerprint]
        assert store.stats().distinct == len(set(values))
        for each in stored:
            assert each.fingerprint
            found = counts_with_keys(store, each.sketches[SIMHASH_DOC].keys[:1])
            assert found[each.fingerprint.value] == values.count(each.fingerprint.value)
