"""The embedded store on disks that are small, full, read-only or another user's."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from indexer.errors import StoreError
from indexer.library.opening import open_store
from indexer.model import Ref
from indexer.schemes.keys.simhash64 import simhash_keys
from indexer.stores import Store
from tests.stores.asked import documents_with_keys
from tests.stores.contract import INFO, put, record
from tests.stores.writer import made
from tests.stores.writers import ROOT, WRITER, whole


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the test's store is made."""
    return tmp_path / "store.db"


def limited(path: Path, size: int) -> subprocess.CompletedProcess[str]:
    """Write many documents in a process whose files may not grow beyond a size."""
    code = (
        "import resource, signal, sys, runpy\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        f"resource.setrlimit(resource.RLIMIT_FSIZE, ({size}, {size}))\n"
        f"sys.argv = ['writer.py', {str(path)!r}, 'once', '20000']\n"
        f"runpy.run_module({WRITER[1]!r}, run_name='__main__')\n"
    )
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)


@pytest.mark.parametrize("size", [0, 20_000, 300_000, 3_000_000])
def test_a_limit_of_size_is_told_and_leaves_whole_documents(path: Path, size: int) -> None:
    done = limited(path, size)
    assert done.returncode == 1
    assert "indexer.errors.StoreError" in done.stderr
    assert "store.db" in done.stderr
    with open_store(path, create=INFO) as store:
        for each in store.scan():
            assert each == made(int(each.ref.id), 0)
        put(store, *[made(number, 0) for number in range(2000)])
    whole(path)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 2 MB in memory."""
    mount = tmp_path / "disk"
    mount.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(mount)], capture_output=True).returncode:
        pytest.skip("NEEDS ROOT: a small tmpfs can't be mounted; a full disk was tried by a limit of file size only")
    yield mount
    subprocess.run(["umount", "-l", str(mount)], check=True)


def test_a_full_disk_is_told_and_leaves_whole_documents(small_disk: Path) -> None:
    path = small_disk / "store.db"

    def fill(store: Store) -> None:
        for start in range(0, 100_000, 200):
            put(store, *[made(number, 0) for number in range(start, start + 200)])

    with open_store(path, create=INFO) as store, pytest.raises(StoreError, match=r"disk is full|disk refused"):
        fill(store)
    with open_store(path, read_only=True) as store:
        stored = list(store.scan())
    assert stored
    assert len(stored) % 200 == 0
    assert stored == [made(number, 0) for number in range(len(stored))]
    # Room made, the same goes on.
    subprocess.run(["mount", "-o", "remount,size=50m", str(small_disk)], check=True)
    with open_store(path, create=INFO) as store:
        put(store, *[made(number, 0) for number in range(5000)])
        assert store.stats().documents == 5000
    whole(path)


def test_a_disk_without_any_room_is_told(small_disk: Path) -> None:
    subprocess.run(["dd", "if=/dev/zero", f"of={small_disk}/filler"], capture_output=True)
    with pytest.raises(StoreError, match=r"full|No space|refused"):
        open_store(small_disk / "store.db", create=INFO)


def test_a_read_only_file_system_can_be_read(small_disk: Path) -> None:
    path = small_disk / "store.db"
    with open_store(path, create=INFO) as store:
        put(store, record("a", 1))
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    for options in ({"read_only": True}, {}):
        with open_store(path, **options) as store:
            assert store.stats().documents == 1
            assert [r.ref.id for r in store.scan()] == ["a"]
            assert documents_with_keys(store, simhash_keys(1)) == {Ref("a"): 1}
    with open_store(path) as store, pytest.raises(StoreError, match=r"can't be made or opened|can't be written"):
        put(store, record("b", 1))
    with pytest.raises(StoreError, match=r"can't be made or opened|can't be written"):
        open_store(path, create=INFO)
    with pytest.raises(StoreError, match="Read-only file system"):
        open_store(small_disk / "new.db", create=INFO)


@pytest.fixture
def another_user() -> Iterator[Path]:
    """A folder that the test's user, now not root, can read and not write."""
    if os.geteuid() != 0:
        pytest.skip("NEEDS ROOT: another user's view was not tried")
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        yield Path(folder)


def test_a_directory_without_permission_can_be_read(another_user: Path) -> None:
    path = another_user / "store.db"
    with open_store(path, create=INFO) as store:
        put(store, record("a", 1))
    os.seteuid(65534)
    try:
        with open_store(path, read_only=True) as store:
            assert store.stats().documents == 1
        with open_store(path) as store:
            assert store.get([Ref("a")]) == [record("a", 1)]
            with pytest.raises(StoreError, match="lock file can't be made or opened: Permission denied"):
                store.delete([Ref("a")])
        with pytest.raises(StoreError, match="Permission denied"):
            open_store(path, create=INFO)
        with pytest.raises(StoreError, match="Permission denied"):
            open_store(another_user / "new.db", create=INFO)
    finally:
        os.seteuid(0)


def test_a_store_that_may_not_be_read_is_told(another_user: Path) -> None:
    path = another_user / "store.db"
    open_store(path, create=INFO).close()
    path.chmod(0o600)
    os.seteuid(65534)
    try:
        with pytest.raises(StoreError, match=r"can't be opened.*permissions"):
            open_store(path, read_only=True)
    finally:
        os.seteuid(0)


def test_a_store_copied_without_its_log_files_opens(path: Path, tmp_path: Path) -> None:
    with open_store(path, create=INFO) as store:
        put(store, *[made(number, 0) for number in range(100)])
    shutil.copy(path, tmp_path / "copy.db")
    whole(tmp_path / "copy.db")
