"""The embedded store: the contract, and what only a file on a disk can suffer."""

from __future__ import annotations

import os
import random
import select
import shutil
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from indexer.errors import IncompatibleStoreError, StoreBusyError, StoreError, UsageError
from indexer.library.opening import open_store
from indexer.model import SIMHASH_DOC, Failure, Fingerprint, Record, Ref
from indexer.schemes.keys.layout import KeyLayout
from indexer.schemes.keys.simhash64 import simhash_keys
from indexer.schemes.simhash import sketched
from indexer.stores import PutStatus, Store, StoreInfo
from indexer.stores.sketches import Probe
from indexer.stores.sqlite import file
from tests.growth import calls_of
from tests.stores.asked import documents_with_keys
from tests.stores.contract import INFO, StoreContract, put, record
from tests.stores.writer import made
from tests.stores.writers import end, start_writer, whole

KEY_TABLES = ("postings_0", "recent_0")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the test's store is made."""
    return tmp_path / "store.db"


class TestSqlite(StoreContract):
    @pytest.fixture
    def opened(self, tmp_path: Path) -> Iterator[Callable[..., Store]]:
        stores: list[Store] = []

        def open_it(**options: object) -> Store:
            stores.append(open_store(tmp_path / "store.db", wait=0.2, **options))  # type: ignore[arg-type]
            return stores[-1]

        yield open_it
        for store in stores:
            store.close()


# Names


def test_urls_and_paths_open_the_same_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("a.db", "sqlite:///a.db", f"sqlite:///{tmp_path}/a.db", tmp_path / "a.db", "SQLITE:///a.db"):
        with open_store(name, create=INFO) as store:
            assert list(store.put([record("x", 1)]))
    assert sorted(each.name for each in tmp_path.iterdir()) == ["a.db", "a.db-lock"]


@pytest.mark.parametrize(
    "name", ["q?mode=memory&x#y%41.db", "ü文\u202e.db", "\udcff\udc80.db", "a\nb.db", "sqlite:x.db"]
)
def test_any_file_name_is_a_name(tmp_path: Path, name: str) -> None:
    with open_store(tmp_path / name, create=INFO) as store:
        put(store, record("x", 1))
    assert (tmp_path / name).stat().st_size > 0
    with open_store(tmp_path / name, read_only=True) as store:
        assert store.stats().documents == 1


@pytest.mark.parametrize(
    "url",
    [
        "ftp://localhost/docs",
        "elasticsearch+https:///i",
        "ftp://x",
        "sqlite://host/x",
        "sqlite:///",
        "",
        "a\0b",
    ],
)
def test_urls_that_open_nothing_are_refused(url: str) -> None:
    with pytest.raises(UsageError):
        open_store(url, create=INFO)


# Files that are no store


def test_a_directory_is_no_store(tmp_path: Path) -> None:
    for options in ({"create": INFO}, {}, {"read_only": True}):
        with pytest.raises(StoreError, match="is a directory; name the file"):
            open_store(tmp_path, **options)


def test_a_missing_directory_is_named(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"directory .*missing does not exist"):
        open_store(tmp_path / "missing" / "a.db", create=INFO)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("content", [b"just some text\n" * 200, b"x", b"SQLite format 3\0" + bytes(4000)])
def test_another_file_is_no_store_and_stays_as_it_is(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    for options in ({"create": INFO}, {}, {"read_only": True}):
        with pytest.raises(StoreError, match=r"store\.db: "):
            open_store(path, **options)
    assert path.read_bytes() == content


def test_the_file_of_another_program_is_left_alone(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE documents (a)")
    connection.close()
    before = path.read_bytes()
    for options in ({"create": INFO}, {}, {"read_only": True}):
        with pytest.raises(StoreError, match="of another program"):
            open_store(path, **options)
    assert path.read_bytes() == before


@pytest.mark.parametrize("mode", ["wal", "delete"])
def test_what_another_program_left_in_a_log_is_left_there(tmp_path: Path, mode: str) -> None:
    whole, name = tmp_path / "whole.db", "left.db"
    connection = sqlite3.connect(whole, isolation_level=None)
    connection.execute(f"PRAGMA journal_mode = {mode}")
    connection.execute("CREATE TABLE t (a)")
    connection.executemany("INSERT INTO t VALUES (?)", [("y" * 500,)] * 2000)
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.execute("PRAGMA cache_size = 5")
    connection.execute("BEGIN")
    connection.execute("UPDATE t SET a = 'z'")
    if mode == "wal":
        connection.execute("COMMIT")
    # As a kill leaves it.
    for file_name in tmp_path.glob("whole.db*"):
        if not file_name.name.endswith("-shm"):
            shutil.copy(file_name, tmp_path / file_name.name.replace("whole.db", name))
    connection.close()
    before = {each.name: each.read_bytes() for each in tmp_path.glob(f"{name}*")}
    assert len(before) == 2
    for options in ({"create": INFO}, {}, {"read_only": True}):
        with pytest.raises(StoreError, match="of another program"):
            open_store(tmp_path / name, **options)
    assert {each.name: each.read_bytes() for each in tmp_path.glob(f"{name}*")} == before


def test_an_empty_file_becomes_a_store_only_when_writing(path: Path) -> None:
    path.touch()
    for options in ({}, {"read_only": True}):
        with pytest.raises(StoreError, match="is empty"):
            open_store(path, **options)
    with open_store(path, create=INFO) as store:
        assert put(store, record("a", 1)) == [PutStatus.CREATED]


def read_all(path: Path, **options: Any) -> None:
    """Read every table of a store."""
    with open_store(path, **options) as store:
        list(store.scan())
        list(store.scan_sketches([SIMHASH_DOC]))
        list(store.probe([Probe(SIMHASH_DOC, [key for value in range(3000) for key in simhash_keys(value)])]))


def test_a_file_cut_short_is_damaged(path: Path) -> None:
    with open_store(path, create=INFO) as store:
        put(store, *[record(str(number), number) for number in range(3000)])
    size = path.stat().st_size
    for kept in (size // 2, 8192 * 3, 5000, 600):
        os.truncate(path, kept)
        for options in ({"create": INFO}, {}, {"read_only": True}):
            with pytest.raises(StoreError, match=r"damaged|no SQLite file|empty"):
                read_all(path, **options)


def test_damaged_pages_are_an_error_never_a_crash(path: Path) -> None:
    with open_store(path, create=INFO) as store:
        put(store, *[record(str(number), number << 32, title="t" * 50) for number in range(2000)])
    sound = path.read_bytes()
    generator = random.Random(4)
    messages: list[str] = []
    for _ in range(25):
        damaged = bytearray(sound)
        for _ in range(200):
            damaged[generator.randrange(100, len(damaged))] = generator.randrange(256)
        path.write_bytes(damaged)
        try:
            with open_store(path) as store:
                list(store.scan())
                [list(some.records or ()) for some in store.probe([Probe(SIMHASH_DOC, simhash_keys(5 << 32))])]
                put(store, *[record(str(number), number << 31) for number in range(100)])
        except StoreError as error:
            messages.append(str(error))
    assert messages
    assert all("store.db" in message for message in messages)


# Files of another form


@pytest.mark.parametrize("form", [0, file.FORM + 1, -1])
def test_a_store_of_another_form_is_refused_and_left_as_it_is(path: Path, form: int) -> None:
    with open_store(path, create=INFO) as store:
        put(store, record("a", 1))
    connection = sqlite3.connect(path)
    connection.execute(f"PRAGMA user_version = {form}")
    connection.close()
    before = path.read_bytes()
    for options in ({"create": INFO}, {}, {"read_only": True}):
        with pytest.raises(IncompatibleStoreError, match=rf"store\.db: .*form \({form}; .*Index the documents anew"):
            open_store(path, **options)
    assert path.read_bytes() == before


# Several processes


def test_two_processes_read_while_one_writes(path: Path) -> None:
    writer = start_writer(path, "rounds", "1")
    code = (
        "import sys; from indexer.library.opening import open_store\n"
        "with open_store(sys.argv[1], read_only=True) as store:\n"
        "    for _ in range(20):\n"
        "        stored = list(store.scan())\n"
        "        assert stored and all(r.title == str(r.metadata['v']) for r in stored)\n"
        "        found = sum(len(some.refs) for some in store.scan_sketches(['simhash-doc']))\n"
        "        assert 0 < found <= store.stats().fingerprinted\n"
        "print(len(stored))\n"
    )
    try:
        readers = [subprocess.Popen([sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE) for _ in range(2)]
        seen = [int(reader.communicate()[0]) for reader in readers]
        assert [reader.returncode for reader in readers] == [0, 0]
        assert min(seen) > 0
        assert writer.poll() is None
    finally:
        end(writer, kill=True)


def test_a_second_writer_waits_then_says_who_writes(path: Path) -> None:
    writer = start_writer(path, "hold")
    try:
        with pytest.raises(StoreBusyError, match=f"process {writer.pid} is writing to this store"):
            open_store(path, create=INFO, wait=0.2)
        # Reading goes on, and without `create` only the first write asks for the writer's place.
        with open_store(path, wait=0.2) as store:
            assert store.stats().documents == 0
            with pytest.raises(StoreBusyError, match="is writing"):
                put(store, record("a", 1))
    finally:
        end(writer)


def test_a_second_writer_that_waits_gets_its_turn(path: Path) -> None:
    writer = start_writer(path, "hold")
    ending = threading.Timer(0.5, lambda: end(writer))
    ending.start()
    with open_store(path, create=INFO, wait=60) as store:
        assert put(store, record("a", 1)) == [PutStatus.CREATED]
    ending.join()


def test_a_killed_writer_keeps_nobody_out(path: Path) -> None:
    end(start_writer(path, "hold"), kill=True)
    with open_store(path, create=INFO, wait=0) as store:
        assert put(store, record("a", 1)) == [PutStatus.CREATED]


def test_one_process_has_one_writer_too(path: Path) -> None:
    with open_store(path, create=INFO) as first:
        with pytest.raises(StoreBusyError, match="this process itself"):
            open_store(path, create=INFO, wait=0)
        with open_store(path, read_only=True) as reader:
            put(first, record("a", 1))
            assert reader.stats().documents == 1
    open_store(path, create=INFO, wait=0).close()


def test_another_program_that_locks_the_file_is_told(path: Path) -> None:
    with open_store(path, create=INFO, wait=0.1) as store:
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreBusyError, match="another program keeps the file locked"):
            put(store, record("a", 1))
        other.execute("ROLLBACK")
        other.close()
        assert put(store, record("a", 1)) == [PutStatus.CREATED]


def test_a_store_belongs_to_its_thread(path: Path) -> None:
    with open_store(path, create=INFO) as store:
        errors: list[Exception] = []

        def use() -> None:
            try:
                store.stats()
                store.get([Ref("a")])
            except StoreError as error:
                errors.append(error)

        thread = threading.Thread(target=use)
        thread.start()
        thread.join()
        assert len(errors) == 1
        assert "thread that opened it" in str(errors[0])


def test_killed_at_any_moment_the_store_holds_whole_documents(path: Path) -> None:
    generator = random.Random(5)
    # NEARDUP_ALL does what takes too long for every change.
    for first in range(0, 3000, 100 if os.environ.get("NEARDUP_ALL") else 250):
        writer = start_writer(path, "rounds", str(first + 1))
        assert writer.stdout
        # A moment within the first rounds, wherever the process is by then: in a batch, a merge or a commit.
        deadline = time.monotonic() + generator.random() * 0.4
        while (left := deadline - time.monotonic()) > 0:
            select.select([], [], [], left)
        end(writer, kill=True)
        with open_store(path) as store:
            stored = list(store.scan())
            assert stored
            for each in stored:
                assert each == made(int(each.ref.id), int(each.title))
    whole(path)
    with open_store(path, create=INFO) as store:
        put(store, *[made(number, 0) for number in range(3000)])
        assert sorted(store.scan(), key=lambda r: r.ref) == [made(number, 0) for number in range(3000)]
        assert store.stats().distinct == 3000
    whole(path)


# Keys in two tables


def test_keys_that_move_from_the_small_table_to_the_large_are_found(path: Path) -> None:
    # Enough values that the keys of several tables were moved, of some not, and of some partly.
    stored = [made(number, 0) for number in range(60_000)]
    with open_store(path, create=INFO) as store:
        put(store, *stored)
        merged = sqlite3.connect(path)
        ((large,), (small,)) = (merged.execute(f"SELECT count(*) FROM {t}").fetchone() for t in KEY_TABLES)
        merged.close()
        assert large > 17 * 32_768 + 10_000
        assert small > 10_000
        # A key for each table, and one for the digest.
        assert large + small == 17 * 60_000
        for each in stored[::397]:
            for key in each.sketches[SIMHASH_DOC].keys:
                assert each.fingerprint
                assert documents_with_keys(store, [key])[each.ref] == each.fingerprint.value
        assert store.delete([each.ref for each in stored[1:]]) == 59_999
        assert store.stats().distinct == 1
    left = sqlite3.connect(path)
    ((large,), (small,)) = (left.execute(f"SELECT count(*) FROM {t}").fetchone() for t in KEY_TABLES)
    left.close()
    assert large + small == 17


def test_other_layouts_are_kept(path: Path) -> None:
    # Several keys in one table, tables without one, and keys of more than 32 bits in all.
    layout = KeyLayout(tables=20, bits=40)
    info = StoreInfo(SIMHASH_DOC, layout, "full", "2", "16.0.0", "0.1.0")
    keys = (layout.pack(0, 1), layout.pack(0, 2), layout.pack(19, 2**40 - 1))
    stored = [
        Record(Ref("a"), Fingerprint(9, 30).sketches(keys)),
        Record(Ref("b"), Fingerprint(10, 30).sketches(keys[2:])),
    ]
    with open_store(path, create=info) as store:
        assert [result.status for result in store.put(stored)] == [PutStatus.CREATED] * 2
        assert documents_with_keys(store, keys) == {Ref("a"): 9, Ref("b"): 10}
        assert documents_with_keys(store, keys[1:2]) == {Ref("a"): 9}
    with open_store(path, read_only=True) as store:
        assert store.info == info
        assert store.get([Ref("b"), Ref("a")]) == stored[::-1]


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
any_text = st.text(st.characters(codec=None, exclude_categories=[]), max_size=20)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60)
@given(st.data())
def test_any_record_comes_back(tmp_path: Path, data: st.DataObject) -> None:
    strings = st.lists(any_text, min_size=8, max_size=8)
    made_up = []
    for name in data.draw(st.sets(any_text, max_size=5)):
        texts = data.draw(strings)
        value = data.draw(st.none() | st.integers(0, 2**64 - 1))
        made_up.append(
            Record(
                Ref(name),
                {} if value is None else sketched(Fingerprint(value, data.draw(st.integers(0, 2**63 - 1)))),
                data.draw(st.booleans()),
                *texts[:4],
                data.draw(st.integers(0, 2**63 - 1)),
                *texts[4:7],
                data.draw(st.dictionaries(st.text(), json_values, max_size=3)),
            )
        )
    path = tmp_path / "any.db"
    with open_store(path, create=INFO) as store:
        store.delete([each.ref for each in store.scan()])
        results = list(store.put(made_up))
        assert all(result.status is PutStatus.CREATED for result in results)
        assert store.get([each.ref for each in made_up]) == made_up
        store.put_failures([Failure(each.ref, *texts[:5]) for each in made_up])
        assert [failure.ref for failure in store.failures()] == sorted(each.ref for each in made_up)


def test_a_name_that_is_too_long_is_told(tmp_path: Path) -> None:
    for options in ({"create": INFO}, {}, {"read_only": True}):
        with pytest.raises(StoreError, match="name too long"):
            open_store(tmp_path / ("x" * 300), **options)


def test_one_of_many_equal_documents_is_read(tmp_path: Path) -> None:
    with open_store(tmp_path / "s.neardup", create=INFO) as store:
        put(store, *(record(str(number), number, source_digest="ab") for number in range(2)))
        few = calls_of(store.find_digests, ["ab"])
        put(store, *(record(str(number), number, source_digest="ab") for number in range(400)))
        assert calls_of(store.find_digests, ["ab"]) < 2 * few
        assert store.find_digests(["ab"])["ab"].ref == Ref("0")
