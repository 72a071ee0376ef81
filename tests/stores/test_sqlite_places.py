"""The embedded store under several names, moved and replaced while it is used, and locked by whom."""

from __future__ import annotations

import fcntl
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from indexer.errors import NoStoreError, StoreBusyError, StoreError
from indexer.library.opening import open_store
from indexer.model import Ref
from indexer.stores import PutStatus
from tests.stores.contract import INFO, put, record
from tests.stores.writers import ROOT, WRITER, end, start_writer, whole


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the test's store is made."""
    return tmp_path / "store.db"


# Several names


def test_writers_that_come_by_different_links_keep_each_other_out(path: Path, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    link, far, again = tmp_path / "link.db", tmp_path / "folder" / "far.db", tmp_path / "again"
    link.symlink_to(path)
    far.symlink_to("../link.db")
    again.symlink_to(".")
    # A link to nothing is a place for a store too.
    open_store(far, create=INFO).close()
    assert path.stat().st_size
    for held in (path, link, far):
        writer = start_writer(held, "hold")
        try:
            for name in (path, link, far, again / "store.db"):
                with pytest.raises(StoreBusyError, match=f"process {writer.pid} is writing"):
                    open_store(name, create=INFO, wait=0)
        finally:
            end(writer)
    assert {each.name for each in tmp_path.iterdir()} == {"store.db", "store.db-lock", "link.db", "folder", "again"}


def test_a_file_with_several_names_is_read_and_not_written(path: Path, tmp_path: Path) -> None:
    with open_store(path, create=INFO) as store:
        put(store, record("a", 1))
    (tmp_path / "other.db").hardlink_to(path)
    for name in (path, tmp_path / "other.db"):
        with open_store(name, read_only=True) as store:
            assert store.get([Ref("a")]) == [record("a", 1)]
        with pytest.raises(StoreError, match="2 names"):
            open_store(name, create=INFO)
        with open_store(name) as store, pytest.raises(StoreError, match="2 names"):
            put(store, record("b", 1))
    shutil.copy(path, tmp_path / "copy.db")
    (tmp_path / "other.db").unlink()
    for name in (path, tmp_path / "copy.db"):
        with open_store(name, create=INFO) as store:
            assert put(store, record("b", 1)) == [PutStatus.CREATED]


def test_a_store_is_where_it_was_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "folder").mkdir()
    monkeypatch.chdir(tmp_path)
    with open_store("store.db", create=INFO) as store:
        put(store, record("a", 1))
        monkeypatch.chdir("folder")
        assert list(store.scan()) == [record("a", 1)]
        assert store.stats().bytes_on_disk
        with pytest.raises(StoreBusyError):
            open_store("../store.db", create=INFO, wait=0)


# Moved, removed, replaced


def moved(path: Path) -> None:
    path.rename(path.with_name("elsewhere.db"))


def removed(path: Path) -> None:
    path.unlink()


def replaced(path: Path) -> None:
    shutil.copy(path, path.with_name("copy.db"))
    path.with_name("copy.db").rename(path)


def log_removed(path: Path) -> None:
    Path(f"{path}-wal").unlink()


def index_removed(path: Path) -> None:
    Path(f"{path}-shm").unlink()


@pytest.mark.parametrize("change", [moved, removed, replaced, log_removed, index_removed])
def test_what_can_not_be_found_again_is_not_reported_as_stored(path: Path, change: Callable[[Path], None]) -> None:
    with open_store(path, create=INFO) as store:
        put(store, record("a", 1))
        change(path)
        with pytest.raises(StoreError, match="moved, removed or replaced"):
            put(store, record("b", 2))
        with pytest.raises(StoreError, match="moved, removed or replaced"):
            store.delete([Ref("a")])


def test_a_file_that_is_moved_while_a_batch_is_written_is_told(path: Path) -> None:
    with open_store(path, create=INFO) as store:
        connection = store._connection  # type: ignore[attr-defined]
        connection.create_function("moved", 0, lambda: moved(path) if path.exists() else None)
        connection.execute("CREATE TEMP TRIGGER t AFTER INSERT ON failures BEGIN SELECT moved(); END")
        connection.execute("CREATE TEMP TRIGGER u AFTER INSERT ON main.documents BEGIN SELECT moved(); END")
        with pytest.raises(StoreError, match="moved, removed or replaced"):
            put(store, record("b", 2))


# What holds a lock


def test_a_batch_that_can_not_be_written_behind_says_so(path: Path) -> None:
    with open_store(path, create=INFO) as store:
        store.begin_put([record("a", 1)])()
        path.rename(path.with_name("elsewhere"))
        wait = store.begin_put([record("b", 2)])
        for _ in range(2):
            with pytest.raises(StoreError, match="was moved, removed or replaced"):
                wait()
        path.with_name("elsewhere").rename(path)
        assert store.begin_put([record("c", 3)])()[0].reason == ""
        assert store.get([Ref("a"), Ref("b"), Ref("c")]) == [record("a", 1), None, record("c", 3)]
    with open_store(path, create=INFO) as store:
        path.rename(path.with_name("elsewhere"))
        with pytest.raises(StoreError, match="was moved, removed or replaced"):
            store.begin_put([record("d", 4)])
        path.with_name("elsewhere").rename(path)
    with open_store(path, read_only=True) as store, pytest.raises(StoreError, match="read-only"):
        store.begin_put([record("d", 4)])()
    with pytest.raises(StoreError, match="closed"):
        store.begin_put([record("e", 5)])


FORKED = """
import os, sys, time
from made import INFO, record
from indexer.library.opening import open_store
with open_store(sys.argv[1], create=INFO) as store:
    for turn in range(5):
        store.begin_put([record(f"{turn} {number}", number) for number in range(2000)])
        time.sleep(0.01 * turn)
        if not os.fork():
            store.close()
            os._exit(0)
        assert os.wait()[1] == 0
    assert store.begin_put([record("last", 1)])()[0].reason == ""
    assert store.count() == 10_001
"""


def test_a_child_may_close_the_store_of_a_writer_that_goes_on(path: Path) -> None:
    # In a process of its own: what else a process of tests has locked is not of interest.
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent)}
    subprocess.run([sys.executable, "-c", FORKED, str(path)], env=environment, timeout=60, check=True)


def test_the_place_of_the_writer_does_not_depend_on_who_closes_what(path: Path) -> None:
    with open_store(path, create=INFO) as store:
        with open(f"{path}-lock", "rb") as file:
            assert file.read() == b"%d\n" % os.getpid()
        quickly = {**os.environ, "WRITER_WAIT": "0"}
        done = subprocess.run(
            [sys.executable, *WRITER, path, "once", "1"], capture_output=True, text=True, env=quickly, cwd=ROOT
        )
        assert f"process {os.getpid()} is writing" in done.stderr
        put(store, record("a", 1))
    open_store(path, create=INFO, wait=0).close()


def test_a_child_that_outlives_a_killed_writer_keeps_nobody_out(path: Path) -> None:
    code = (
        "import os, sys, time; from indexer.library.opening import open_store\n"
        "store = open_store(sys.argv[1]); store.put_resource('r', b'')\n"
        "child = os.fork()\n"
        "if not child: time.sleep(60)\n"
        "print(child, flush=True); time.sleep(60)\n"
    )
    open_store(path, create=INFO).close()
    writer = subprocess.Popen([sys.executable, "-c", code, path], stdout=subprocess.PIPE, text=True)
    assert writer.stdout
    child = int(writer.stdout.readline())
    try:
        with pytest.raises(StoreBusyError):
            open_store(path, create=INFO, wait=0)
        writer.kill()
        writer.wait()
        open_store(path, create=INFO, wait=5).close()
    finally:
        os.kill(child, 9)
        writer.communicate()


@pytest.mark.parametrize("known", [True, False], ids=["unknown to the system", "unknown to Python"])
def test_where_a_lock_can_not_belong_to_a_descriptor_another_kind_does(
    path: Path, monkeypatch: pytest.MonkeyPatch, known: bool
) -> None:
    if known:
        monkeypatch.setattr(fcntl, "F_OFD_SETLK", 9999)
    else:
        monkeypatch.delattr(fcntl, "F_OFD_SETLK")
    with open_store(path, create=INFO) as store:
        with pytest.raises(StoreBusyError, match="this process itself"):
            open_store(path, create=INFO, wait=0)
        put(store, record("a", 1))
    open_store(path, create=INFO, wait=0).close()


def test_locks_of_both_kinds_keep_each_other_out(path: Path) -> None:
    """Where there is no lock of a descriptor, a writer takes a POSIX lock on the same file."""
    with open_store(path, create=INFO):
        before = "import fcntl, os, sys; fcntl.lockf(os.open(sys.argv[1], os.O_RDWR), fcntl.LOCK_EX | fcntl.LOCK_NB)"
        done = subprocess.run([sys.executable, "-c", before, f"{path}-lock"], capture_output=True)
        assert b"BlockingIOError" in done.stderr
    with open(f"{path}-lock", "r+b") as file:
        fcntl.lockf(file, fcntl.LOCK_EX)
        with pytest.raises(StoreBusyError):
            open_store(path, create=INFO, wait=0)


# Files that hold nothing, or seem to


def test_a_first_page_that_says_nothing_is_not_written_over(path: Path, tmp_path: Path) -> None:
    with open_store(path, create=INFO) as store:
        put(store, *(record(str(number), number) for number in range(1000)))
    with closing(sqlite3.connect(tmp_path / "bare.db")) as bare:
        bare.executescript("PRAGMA page_size = 8192; PRAGMA journal_mode = WAL; CREATE TABLE x (y); DROP TABLE x")
    content = path.read_bytes()
    # Another file's first page, which says that there are no tables; the size is that of this one.
    first = bytearray((tmp_path / "bare.db").read_bytes()[:8192])
    first[28:32] = (len(content) // 8192).to_bytes(4, "big")
    path.write_bytes(first + content[8192:])
    for options in ({"create": INFO}, {}, {"read_only": True}):
        with pytest.raises(StoreError) as caught:
            open_store(path, **options)
        assert not isinstance(caught.value, NoStoreError)
    assert path.read_bytes()[8192:] == content[8192:]


def test_a_store_with_triggers_is_refused(path: Path) -> None:
    open_store(path, create=INFO).close()
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("CREATE TRIGGER t AFTER INSERT ON documents BEGIN DELETE FROM documents; END")
    for options in ({"create": INFO}, {}, {"read_only": True}):
        with pytest.raises(StoreError, match="triggers"):
            open_store(path, **options)
    whole_again = sqlite3.connect(path, isolation_level=None)
    whole_again.execute("DROP TRIGGER t")
    whole_again.close()
    with open_store(path, create=INFO) as store:
        put(store, record("a", 1))
    whole(path)
