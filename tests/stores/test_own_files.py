"""Files that are in use: recognised under any name, never opened to be read, never written over."""

from __future__ import annotations

import os
import signal
import sqlite3
import stat
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from indexer import open_store
from indexer.core.hamming_index import HammingIndex
from indexer.errors import ExtractionError, StoreError
from indexer.extract import extract
from indexer.extract.base import Limits, Options
from indexer.ingest.dead_letters import DeadLetters
from indexer.ingest.sources import Input
from indexer.model import Record, Ref, own_files
from indexer.model.own_files import OwnFileError
from tests.stores.made import INFO, put, record

SUFFIXES = ("", "-wal", "-shm", "-lock")


def names_of(path: Path) -> list[Path]:
    """The files of an open store under names of all kinds."""
    names = []
    for suffix in SUFFIXES:
        place = Path(f"{path}{suffix}")
        soft, hard = path.parent / f"soft{suffix}", path.parent / f"hard{suffix}"
        soft.symlink_to(place)
        hard.hardlink_to(place)
        names += [place, soft, hard, path.parent / "." / ".." / path.parent.name / place.name]
    mine = [Path(f"/proc/self/fd/{number}") for number in os.listdir("/proc/self/fd")]
    own = {os.stat(name).st_ino for name in names}
    return names + [name for name in mine if name.exists() and os.stat(name).st_ino in own]


def another_gets_in(path: Path) -> bool:
    """Whether another process finds SQLite's lock on the file free, as when no store had it open."""
    code = (
        "import fcntl, os, sys\n"
        "file = os.open(sys.argv[1], os.O_RDWR)\n"
        # The bytes of SQLite's shared locks (sqlite3/os.h, SHARED_FIRST).
        "fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 510, 0x40000002)\n"
    )
    return subprocess.run([sys.executable, "-c", code, path], capture_output=True).returncode == 0


def test_no_file_of_an_open_store_is_opened(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with open_store(path, create=INFO) as store:
        store.put_resource("r", b"r")
        names = names_of(path)
        assert len(names) > 16
        for name in names:
            assert own_files.is_own(name)
            with pytest.raises(OwnFileError, match="belongs to a store"):
                own_files.reader(name)
            with pytest.raises(ExtractionError, match="belongs to a store"):
                extract(str(name), sandbox=False)
            with pytest.raises(OwnFileError, match="is an SQLite file"):
                own_files.writer(name, os.O_WRONLY | os.O_TRUNC)
        assert not another_gets_in(path)
        # What the other process tells is worth something: this is what the harm is.
        os.close(os.open(path, os.O_RDONLY))
        assert another_gets_in(path)
    for name in names:
        assert not own_files.is_own(name)


def test_a_scan_that_outlives_its_store_keeps_the_file_in_use(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with open_store(path, create=INFO) as store:
        put(store, *(record(str(number), number) for number in range(3)))
        scan = store.scan()
        next(scan)
    assert own_files.is_own(path)
    scan.close()  # type: ignore[attr-defined]
    assert not own_files.is_own(path)


def test_a_name_that_changes_while_it_is_opened(tmp_path: Path) -> None:
    path, plain, name = tmp_path / "store.db", tmp_path / "plain.txt", tmp_path / "name"
    plain.write_text("plain")
    with open_store(path, create=INFO) as store:
        store.put_resource("r", b"r")
        ended = threading.Event()

        def change() -> None:
            while not ended.is_set():
                for target in (plain, path):
                    (tmp_path / "next").symlink_to(target)
                    (tmp_path / "next").replace(name)

        name.symlink_to(plain)
        changing = threading.Thread(target=change)
        changing.start()
        reported = 0
        try:
            while reported < 2000:
                try:
                    with open(name, "rb", opener=own_files.reader) as file:
                        assert file.read() == b"plain"
                except OwnFileError:
                    reported += 1
        finally:
            ended.set()
            changing.join()
        assert not another_gets_in(path)


def letters(path: Path) -> None:
    item = Input("a", "a", data=b"text", format="text")
    with DeadLetters(path, Options(), Limits(), print) as kept:
        kept(item, Record(Ref("a")), "why")


def saved(path: Path) -> None:
    HammingIndex([1, 2, 3], 3).save(path)


@pytest.mark.parametrize("write", [letters, saved])
def test_nothing_is_written_over_a_store_that_another_process_has(
    tmp_path: Path, write: Callable[[Path], None]
) -> None:
    path = tmp_path / "store.db"
    open_store(path, create=INFO).close()
    # A log is left behind, as by a writer that was killed.
    code = (
        "import os, sys; from indexer import open_store\n"
        "store = open_store(sys.argv[1]); store.put_resource('r', b'kept'); os._exit(0)\n"
    )
    subprocess.run([sys.executable, "-c", code, path], check=True)
    names = names_of(path)
    for name in names:
        if name.resolve().name != "store.db-lock" and "hard-" not in name.name:
            with pytest.raises(StoreError, match="is an SQLite file"):
                write(name)
    with pytest.raises(StoreError, match="is an SQLite file"):
        write(tmp_path / "hard-wal")
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT octets FROM resources").fetchall() == [(b"kept",)]
    with pytest.raises(StoreError, match="is an SQLite file"):
        write(tmp_path / "store.db-journal")
    write(tmp_path / "free")
    assert (tmp_path / "free").stat().st_size


def test_pipes_are_written_to_and_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    reading = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    with open(tmp_path / "pipe", "wb", opener=own_files.writer) as file:
        file.write(b"all")
    assert os.read(reading, 100) == b"all"
    os.close(reading)


WRITING = """
import sys, time
from indexer.model import Record, Ref, own_files
with own_files.written_whole(sys.argv[1]) as file, own_files.temporary_folder(sys.argv[2]) as folder:
    file.write(b"half")
    file.flush()
    open(folder + "/inside", "wb").close()
    print(flush=True)
    time.sleep(600)
"""


def test_what_a_killed_process_leaves_is_hidden_and_removed_and_what_a_living_one_writes_is_not(tmp_path: Path) -> None:
    path = tmp_path / ("n" * 250)
    killed, living = (
        subprocess.Popen([sys.executable, "-c", WRITING, path, tmp_path], stdout=subprocess.PIPE) for _ in range(2)
    )
    try:
        for process in (killed, living):
            assert process.stdout
            process.stdout.readline()
        killed.send_signal(signal.SIGKILL)
        killed.wait()
        names = sorted(os.listdir(tmp_path))
        assert len(names) == 4
        # As pandas, Arrow and Spark pass over them.
        assert all(name.startswith(".") for name in names)
        elsewhere = [tmp_path / f".neardup-{number}-elsewhere-0.part" for number in range(2)]
        for age, left in enumerate(elsewhere):
            left.write_bytes(b"")
            os.utime(left, (0, left.stat().st_mtime - age * 2 * 24 * 3600))
        own_files.remove_left(tmp_path)
        there = sorted(os.listdir(tmp_path))
        assert elsewhere[0].name in there
        assert elsewhere[1].name not in there
        there.remove(elsewhere[0].name)
        assert len(there) == 2
        assert set(there) < set(names)
    finally:
        for process in (killed, living):
            process.kill()
            process.wait()
            assert process.stdout
            process.stdout.close()
    own_files.remove_left(tmp_path)
    assert os.listdir(tmp_path) == [elsewhere[0].name]
    own_files.remove_left(tmp_path / "nowhere")


def test_what_takes_the_place_of_a_file_is_read_by_nobody_else(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_bytes(b"before")
    for permissions in (0o600, 0o640, 0o400):
        path.chmod(permissions)
        with own_files.written_whole(path) as file:
            file.write(b"after")
            file.flush()
            assert {stat.S_IMODE(each.stat().st_mode) for each in tmp_path.iterdir()} == {permissions}
        assert (path.read_bytes(), stat.S_IMODE(path.stat().st_mode)) == (b"after", permissions)
    with own_files.temporary_folder(tmp_path) as folder:
        assert stat.S_IMODE(Path(folder).stat().st_mode) == 0o700
