"""A collection that several threads and processes use at once."""

from __future__ import annotations

import multiprocessing
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import indexer
from indexer.errors import StoreBusyError, StoreError
from indexer.ingest.indexing import store_info
from indexer.library.opening import open_store
from tests.cli.written import prose


@pytest.fixture
def collection(tmp_path: Path) -> Iterator[indexer.Collection]:
    with indexer.open(tmp_path / "collection.neardup") as opened:
        yield opened


def test_threads_share_a_collection(collection: indexer.Collection) -> None:
    """Six threads that add, ask, list and delete at once leave what one after the other would."""

    def work(number: int) -> int:
        collection.add(f"own-{number}", prose(100 + number))
        collection.add_many([(f"{number}-{n}", prose(10 * number + n)) for n in range(8)])
        assert collection.delete(f"{number}-0").deleted == 1
        found = [match.id for n in range(1, 8) for match in collection.similar(prose(10 * number + n))]
        assert [name for name in found if name.startswith(f"{number}-")] == [f"{number}-{n}" for n in range(1, 8)]
        return len(list(collection))

    with ThreadPoolExecutor(6) as pool:
        seen = list(pool.map(work, range(1, 7)))
    assert all(8 <= count <= 6 * 9 for count in seen)
    assert len(collection) == 6 * 8


def test_iterating_does_not_keep_others_out(collection: indexer.Collection) -> None:
    collection.add_many((str(number), prose(number)) for number in range(3))
    listing = iter(collection)
    next(listing)
    other = threading.Thread(target=lambda: collection.add("new", prose(50)), daemon=True)
    other.start()
    other.join(30)
    assert "new" in collection
    assert len(list(listing)) == 2  # as of when it began


def _ask(collection: indexer.Collection, answer: multiprocessing.SimpleQueue[str]) -> None:
    try:
        answer.put(str(len(collection)))
    except StoreError as error:
        answer.put(str(error))


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_process_is_told_to_open_its_own(collection: indexer.Collection) -> None:
    collection.add("a", prose(1))
    context = multiprocessing.get_context("fork")
    answer: multiprocessing.SimpleQueue[str] = context.SimpleQueue()
    child = context.Process(target=_ask, args=(collection, answer))
    child.start()
    assert "open another one" in answer.get()
    child.join()


def add_some(path: Path, worker: int, count: int) -> None:
    with indexer.open(path) as collection:
        for number in range(count):
            text = prose(1000 * worker + number)
            collection.add(f"{worker}-{number}", text)
            collection.add_many([(f"copy of {worker}-{number}", text)], skip_duplicates=True)


def test_the_workers_of_a_server_write_to_one_file(tmp_path: Path) -> None:
    path, context = tmp_path / "a.neardup", multiprocessing.get_context("spawn")
    workers = [context.Process(target=add_some, args=(path, worker, 20)) for worker in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [worker.exitcode for worker in workers] == [0, 0]
    with indexer.open(path, read_only=True) as collection:
        assert {each.id for each in collection} == {f"{worker}-{number}" for worker in range(2) for number in range(20)}
        assert {each.reason for each in collection.failures()} == {"duplicate"}


def test_one_collection_writes_at_a_time_for_a_batch_or_a_comparing_call(tmp_path: Path) -> None:
    path = tmp_path / "a.neardup"
    with indexer.open(path) as ours, indexer.open(path, wait=0) as theirs:
        assert (ours.add("a", prose(1)), theirs.add("b", prose(2)), ours.add("c", prose(3))) == ("indexed",) * 3

        def documents(name: str) -> Iterator[tuple[str, str]]:
            yield f"{name} 1", prose(4)
            if name == "plain":
                assert theirs.add(f"{name} other", prose(5)) == "indexed"
            else:
                with pytest.raises(StoreBusyError, match="this process itself"):
                    theirs.add(f"{name} other", prose(5))
                assert theirs.cluster(dry_run=True).documents
                assert theirs.get("a")
            yield f"{name} 2", prose(6)

        for name, flags in (("plain", {}), ("skip", {"skip_duplicates": True}), ("cluster", {"cluster": True})):
            ours.add_many(documents(name), **flags)
            assert (f"{name} other" in ours) == (name == "plain")
        assert theirs.delete("a").deleted == 1
        theirs.cluster()
        ours.prune()
    # A command keeps the place from its start to its end.
    with open_store(path, create=store_info("landmarks")), indexer.open(path, wait=0) as late:
        with pytest.raises(StoreBusyError):
            late.add("late", prose(7))
        with pytest.raises(StoreBusyError):
            late.cluster()
