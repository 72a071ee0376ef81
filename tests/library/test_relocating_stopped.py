"""Moves, links and undo that a kill or a full disk stops: nothing is lost, nothing is cut, and all of it comes back."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from indexer.library.collection import open as open_collection
from tests.cli.command import Neardup, write
from tests.cli.written import prose
from tests.library.relocated import STORE, source, tree
from tests.stores.writers import ROOT
from tests.warm import clean_environment


@pytest.mark.parametrize("way", ["move", "move elsewhere", "hard", "symbolic"])
def test_killed_before_each_change_it_is_taken_back(folder: Path, way: str) -> None:
    (folder / "work").mkdir()
    other = folder / "other"
    if way == "move elsewhere":
        other = Path("/dev/shm") / f"neardup-killed-{os.getpid()}"
        if not other.parent.is_dir() or other.parent.stat().st_dev == folder.stat().st_dev:
            pytest.skip("NEEDS A SECOND FILE SYSTEM at /dev/shm: kills of moves between file systems were not tried")
    command = [sys.executable, "-W", "ignore", "-m", "tests.library.killed_acts", folder / "work", other]
    done = subprocess.run([*command, way.split(maxsplit=1)[0]], cwd=ROOT, capture_output=True, text=True, check=False)
    shutil.rmtree(other, ignore_errors=True)
    assert done.returncode == 0, done.stderr
    places = [int(line.split()[3]) for line in done.stdout.splitlines()]
    assert len(places) == 2
    assert min(places) > 8


@pytest.fixture
def small_disk(folder: Path) -> Iterator[Path]:
    """A file system of 500 kB in memory."""
    mount = folder / "disk"
    mount.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=500k", "tmpfs", mount], capture_output=True).returncode:
        pytest.skip("NEEDS ROOT: a small tmpfs can't be mounted; moves to and from a full disk were not tried")
    yield mount
    subprocess.run(["umount", "-l", mount], check=True)


def long_text(number: int) -> str:
    """A text of 150 kB."""
    return "\n".join(prose(100 * number + part) for part in range(300))[:150_000]


def test_a_full_disk_leaves_no_cut_file(folder: Path, small_disk: Path) -> None:
    texts = [long_text(1), long_text(2)]
    write(folder, {f"docs/{name}{number}.txt": text for number, text in enumerate(texts) for name in "ab"})
    neardup = Neardup(folder)
    neardup("index", "docs", "--store", STORE)
    neardup("cluster", "--store", STORE)
    before = tree(folder)
    (small_disk / "taken").write_bytes(bytes(300_000))
    done = neardup("prune", "--move-to", "disk/away", "--yes", "--list", "acts.jsonl", "--store", STORE, code=6)
    assert "1 file was moved" in done.err
    assert "could not be moved: No space left on device" in done.err
    assert sorted(path.read_text() for path in folder.rglob("*.txt")) == sorted(texts * 2)
    assert not list(small_disk.rglob(".neardup-*"))
    (small_disk / "taken").unlink()
    neardup("prune", "--move-to", "disk/away", "--yes", "--list", "acts2.jsonl", "--store", STORE)
    for name in ("acts2.jsonl", "acts.jsonl"):
        neardup("undo", name, "--yes", "--store", STORE)
    assert tree(folder) == before


def test_a_full_disk_to_come_back_to(folder: Path, small_disk: Path) -> None:
    text = long_text(3)
    write(folder, {"disk/docs/a.txt": text, "disk/docs/b.txt": text})
    neardup = Neardup(folder)
    neardup("index", "disk/docs", "--store", STORE)
    neardup("cluster", "--store", STORE)
    before = tree(folder)
    for number, way in enumerate((["--move-to", "away"], ["--remove", "identical", "--link", "hard"])):
        acts = f"acts{number}.jsonl"
        neardup("prune", *way, "--yes", "--list", acts, "--store", STORE)
        (small_disk / "taken").write_bytes(bytes(300_000))
        for _ in range(2):
            failed = neardup("undo", acts, "--yes", "--store", STORE, code=6)
            assert "0 files were put back" in failed.err
            assert "could not be put back: No space left on device" in failed.err
            assert not list(small_disk.rglob(".neardup-*"))
        (small_disk / "taken").unlink()
        neardup("undo", acts, "--yes", "--store", STORE)
        assert tree(folder) == before


def test_a_full_disk_for_the_list(folder: Path, small_disk: Path) -> None:
    write(folder, {f"docs/{number:03d}.txt": prose(1) for number in range(20)})
    neardup = Neardup(folder)
    neardup("index", "docs", "--store", STORE)
    neardup("cluster", "--store", STORE)
    before = tree(folder)
    (small_disk / "taken").write_bytes(bytes(500 * 1024 - 4096))
    done = neardup("prune", "--move-to", "away", "--yes", "--list", "disk/acts.jsonl", "--store", STORE, code=1)
    assert "disk/acts.jsonl: the list of what is done can't be written: No space left on device" in done.err
    assert 0 < len(list((folder / "away").rglob("*.txt"))) < 19
    neardup("undo", "disk/acts.jsonl", "--yes", "--store", STORE)
    (small_disk / "taken").unlink()
    assert {name: held for name, held in tree(folder).items() if name.startswith("docs")} == before


@pytest.mark.parametrize(("way", "after"), [("--move-to=away", 3), ("--move-to=away", 17), ("--link=hard", 9)])
def test_killed_in_the_middle_nothing_is_lost(folder: Path, way: str, after: int) -> None:
    write(folder, {f"docs/{number:02d}.txt": prose(1) for number in range(60)})
    with open_collection(folder / STORE) as collection:
        collection.index(folder / "docs")
        collection.cluster()
    before = tree(folder)
    command = [sys.executable, "-m", "indexer", "prune", way, "--yes", "--list", "acts.jsonl", "--store", STORE]
    with Path("err").open("wb") as err:
        running = subprocess.Popen(command, env=clean_environment(), stdout=subprocess.DEVNULL, stderr=err)
    acts = folder / "acts.jsonl"
    until = time.monotonic() + 60
    while running.poll() is None and time.monotonic() < until:
        if acts.exists() and acts.read_bytes().count(b"\n") > after:
            break
        time.sleep(0.0005)
    running.send_signal(signal.SIGKILL)
    running.wait()
    assert acts.exists(), (folder / "err").read_text()
    # Every text is still there, under the one name or the other.
    assert len({name.rpartition("/")[2] for name in tree(folder) if name.endswith(".txt")}) == 60
    with open_collection(folder / STORE) as collection:
        collection.undo(acts)
        assert tree(folder) == before
        assert all(
            source(collection, f"docs/{number:02d}.txt").startswith(str(folder / "docs")) for number in range(60)
        )
