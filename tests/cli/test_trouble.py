"""Read-only folders, full disks, readers that go away, stores that are none: one clear sentence each."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.cli.command import COMMAND, Neardup, contents, mixed_folder, write
from tests.cli.written import prose
from tests.warm import clean_environment

Mount = Callable[[str], Path]


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Mount]:
    """A file system of its own, made and changed with the options given."""
    folder = tmp_path / "disk"
    folder.mkdir()

    def mount(options: str) -> Path:
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)], capture_output=True)
        if done.returncode:
            pytest.skip(f"NO MOUNT: this test needs to mount a tmpfs, as root: {done.stderr.decode().strip()}")
        return folder

    if shutil.which("mount") is None or os.geteuid():
        pytest.skip("NO MOUNT: this test needs root, to mount a tmpfs")
    yield mount
    while os.path.ismount(folder):
        subprocess.run(["umount", str(folder)], check=True)


def lines(count: int) -> str:
    return "".join(json.dumps({"id": number, "text": prose(number, 25)}) + "\n" for number in range(count))


def test_a_full_disk(neardup: Neardup, small_disk: Mount) -> None:
    write(neardup.folder, {"lines.jsonl": lines(4000)})
    disk = small_disk("size=1m")
    done = neardup("index", "lines.jsonl", "--store", disk / "c.neardup", "--json", code=3)
    assert "disk is full" in done.err
    # With room, the same command completes what it had begun.
    small_disk("remount,size=50m")
    neardup("index", "lines.jsonl", "--store", disk / "c.neardup")
    neardup("index", "lines.jsonl", "--store", "whole.neardup")
    assert contents(neardup, disk / "c.neardup") == contents(neardup, "whole.neardup")


def test_a_read_only_folder(neardup: Neardup, small_disk: Mount) -> None:
    mixed_folder(neardup.folder)
    disk = small_disk("size=20m")
    neardup("index", "docs", "--store", disk / "old.neardup")
    small_disk("remount,ro")
    for store in ("new.neardup", "old.neardup"):
        done = neardup("index", "docs/a.html", "--store", disk / store, code=3)
        assert "written" in done.err or "read-only" in done.err.lower(), done.err
    # What is there can still be asked.
    found = neardup("similar", "docs/a.html", "--store", disk / "old.neardup", "--json").json
    assert found["total"] >= 3
    neardup("stats", "--store", disk / "old.neardup")
    neardup("delete", neardup.folder / "docs/a.html", "--store", disk / "old.neardup", code=3)


def test_output_that_can_not_be_written(neardup: Neardup) -> None:
    mixed_folder(neardup.folder)
    neardup("index", "docs")
    for arguments in (("stats",), ("show", "docs/a.html"), ("similar", "docs/a.html"), ("index", "docs")):
        with open("/dev/full", "wb") as full:
            done = subprocess.run(
                [*COMMAND, *arguments], cwd=neardup.folder, env=clean_environment(), stdout=full, stderr=subprocess.PIPE
            )
        assert done.returncode == 1
        assert b"can't be written" in done.stderr
        assert b"Traceback" not in done.stderr
        assert b"Exception" not in done.stderr


def test_a_reader_that_goes_away(neardup: Neardup) -> None:
    bad = "".join(f'{{"id": "{number}", "long": "{"x" * 100}"}}\n' for number in range(3000))
    neardup("index", "-", stdin=bad)
    for arguments in (("failures",), ("failures", "--json")):
        with neardup.start(*arguments) as process:
            assert process.stdout
            assert process.stderr
            assert process.stdout.readline()
            process.stdout.close()
            assert process.stderr.read() == b""
        assert process.returncode == 141


def test_closed_standard_streams(neardup: Neardup) -> None:
    write(neardup.folder, {"a.txt": prose(1)})
    command = " ".join([*COMMAND, "hash", "a.txt", "-"])
    for closed in ("<&-", ">&-", "2>&-", "<&- >&- 2>&-"):
        done = subprocess.run(
            ["sh", "-c", f"exec {command} {closed}"], cwd=neardup.folder, env=clean_environment(), capture_output=True
        )
        # Standard input, closed or not, gives no text.
        assert done.returncode == 6, (closed, done.stderr)
        assert b"Traceback" not in done.stderr


def test_stores_that_are_none(neardup: Neardup) -> None:
    mixed_folder(neardup.folder)
    write(neardup.folder, {"text.neardup": "this is a text " * 100, "empty.neardup": ""})
    for store in ("text.neardup", "docs", "nowhere/c.neardup"):
        for arguments in (("index", "docs/a.html"), ("stats",), ("similar", "docs/a.html")):
            done = neardup(*arguments, "--store", store, code=3)
            assert store in done.err
    assert (neardup.folder / "text.neardup").read_text() == "this is a text " * 100
    neardup("stats", "--store", "mongodb://host/x", code=2)


def test_a_file_that_nothing_was_written_to_becomes_a_store(neardup: Neardup) -> None:
    mixed_folder(neardup.folder)
    (neardup.folder / "touched.neardup").touch()
    # As left by a writer that was killed before its first documents.
    with closing(sqlite3.connect(neardup.folder / "begun.neardup")) as begun:
        begun.execute("PRAGMA journal_mode = WAL")
    assert (neardup.folder / "begun.neardup").stat().st_size
    for store in ("touched.neardup", "begun.neardup"):
        for arguments in (("stats",), ("similar", "docs/a.html"), ("cluster",), ("show", "x"), ("delete", "x")):
            printed = neardup(*arguments, "--store", store, code=3).err
            assert f"{store}: the file is empty; index some documents first" in printed
        assert neardup("index", "docs/a.html", "--json", "--store", store).json["indexed"] == 1


def test_sketches_of_another_length_are_told_as_damage(neardup: Neardup) -> None:
    mixed_folder(neardup.folder)
    neardup("index", "docs", "--scheme", "simhash", "--scheme", "spotsigs")
    with closing(sqlite3.connect(neardup.folder / "collection.neardup", isolation_level=None)) as other:
        for number in (1, 2, 3):
            change = "payload = substr(payload || payload, 1, length(payload) + 3)"
            other.execute(f"UPDATE sketches_{number} SET {change}")
    for scheme in ("minhash", "simhash", "spotsigs"):
        for arguments in (("pairs",), ("similar", "--id", "docs/a.html")):
            assert "is damaged" in neardup(*arguments, "--scheme", scheme, code=3).err
    assert "is damaged" in neardup("cluster", code=3).err
    with closing(sqlite3.connect(neardup.folder / "collection.neardup", isolation_level=None)) as other:
        other.execute("UPDATE schemes SET id = 'minhash:bands=x' WHERE name = 'minhash'")
    assert "is damaged" in neardup("pairs", code=4).err


def test_unexpected_errors_say_how_to_see_more(neardup: Neardup) -> None:
    # A folder where the file of settings is expected.
    (neardup.folder / "settings").mkdir()
    assert "settings" in neardup("--config", "settings", "stats", code=2).err
    shown = subprocess.run(
        [*COMMAND, "--debug", "show", "x"], cwd=neardup.folder, env=clean_environment(), capture_output=True
    )
    assert shown.returncode == 3
    assert b"Traceback" in shown.stderr


def test_odd_locales(neardup: Neardup) -> None:
    write(neardup.folder, {"é.txt": prose(1)})
    for locale in ({"LC_ALL": "C"}, {"LC_ALL": "POSIX", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}):
        assert "txt" in neardup("hash", "é.txt", **locale).out
