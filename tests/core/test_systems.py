"""What works where Python lacks what POSIX adds to it, and the sentence for what does not.

No other system runs these tests: this one is made to lack the modules and names.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

WITHOUT = """
import os, select, sys
import concurrent.futures, logging, multiprocessing, random, selectors, shutil, subprocess, tempfile, threading, numpy
for module in ("fcntl", "resource", "termios", "pwd", "grp"):
    sys.modules[module] = None
for name in ("O_CLOEXEC", "O_NONBLOCK", "O_NOCTTY", "geteuid", "register_at_fork", "pwrite", "sched_getaffinity"):
    if hasattr(os, name):
        delattr(os, name)
del select.poll
from indexer.cli import main
"""
LIBRARY = """
import indexer
texts = ["Pour hot water on the tea and wait", "Oranges", "POUR hot water on\\n\\nthe tea and wait"]
assert list(indexer.dedupe(texts).kept) == [0, 1]
index = indexer.MemoryIndex("minhash@0.7")
index.insert_many(enumerate(texts))
index.save("teas.index")
assert len(indexer.MemoryIndex.load("teas.index").query(texts[0])) == 2
"""


def without_posix(folder: Path, program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", WITHOUT + program, *arguments]
    kept = {name: value for name, value in os.environ.items() if not name.startswith("NEARDUP")}
    return subprocess.run(command, capture_output=True, text=True, cwd=folder, env=kept, timeout=120)


def test_the_library_without_a_store(tmp_path: Path) -> None:
    done = without_posix(tmp_path, LIBRARY)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("words", [["--version"], ["--help"], ["hash", "--text", "some words of a text"], ["schemes"]])
def test_commands_that_read_no_files(tmp_path: Path, words: list[str]) -> None:
    done = without_posix(tmp_path, "sys.exit(main(sys.argv[1:]))", *words)
    assert (done.returncode, done.stderr) == (0, "")


def test_reading_a_file_says_where_that_works(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("some words of a text")
    done = without_posix(tmp_path, "sys.exit(main(sys.argv[1:]))", "hash", "a.txt")
    assert done.returncode == 1
    assert "run neardup on Linux or macOS, in WSL, or in a container" in done.stderr
