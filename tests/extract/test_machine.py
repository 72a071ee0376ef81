"""What the machine lacks stops a run with a sentence, and is recorded of no document."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from indexer.errors import MachineError, UsageError
from indexer.extract.base import LEAST_MEMORY, Extracted, Failed, Item, Limits, Options
from indexer.extract.pool import WorkerPool
from indexer.ingest.indexing import Settings, index, store_info
from indexer.ingest.regular_files import read_file
from indexer.ingest.sources import Sources
from indexer.library.opening import open_store

PAGE = b"<html><body><main><p>" + b"some words of a page " * 40 + b"</p></main></body></html>"


def test_a_package_that_is_missing_stops_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As trafilatura without one of those that it rests on, which pip may leave out."""
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "lxml_html_clean.py").write_text("raise ImportError('lxml.html.clean module is now a separate project')")
    pages = [tmp_path / f"{number}.html" for number in range(3)]
    for page in pages:
        page.write_bytes(PAGE)
    settings = Settings(Options(content="main"), jobs=1)
    with open_store(tmp_path / "c.neardup", create=store_info("main")) as store:
        with monkeypatch.context() as lacking:
            lacking.syspath_prepend(broken)
            with pytest.raises(MachineError, match=r"separate project.*install neardup again"):
                index(Sources(list(map(str, pages))), store, settings)
        assert list(store.failures()) == []
        # What was missing is there now: nothing "failed before".
        assert index(Sources(list(map(str, pages))), store, settings).indexed == 3


@pytest.fixture
def no_more_files() -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    highest = max(map(int, os.listdir("/proc/self/fd")))
    held = [os.dup(0) for _ in range(highest)]
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(*held, highest) + 1, hard))
    held += _all_that_are_left()
    yield
    for each in held:
        os.close(each)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def _all_that_are_left() -> list[int]:
    taken: list[int] = []
    try:
        while True:
            taken.append(os.dup(0))
    except OSError:
        return taken


@pytest.mark.usefixtures("no_more_files")
def test_too_many_open_files_are_no_fault_of_a_file() -> None:
    with pytest.raises(MachineError, match="open files"):
        read_file(__file__, 1_000_000)
    with pytest.raises(MachineError, match="open files"):
        list(Sources([str(Path(__file__).parent)]))
    with WorkerPool(1, Options(), Limits()) as pool, pytest.raises(MachineError, match="open files"):
        next(pool.outcomes([Item(None, b"some text")]))


def test_too_little_memory_to_read_anything_is_refused() -> None:
    for memory in (10, LEAST_MEMORY - 1):
        with pytest.raises(UsageError, match="the least is 64 MiB"):
            Limits(memory=memory)
    with WorkerPool(1, Options(), Limits(memory=LEAST_MEMORY)) as pool:
        outcomes = list(pool.outcomes([Item(number, PAGE, format="html") for number in range(3)]))
    assert [type(outcome) for outcome in outcomes] == [Extracted] * 3


@pytest.mark.parametrize("spare", range(8, 32, 6))
def test_a_process_that_may_not_grow_says_so(tmp_path: Path, spare: int) -> None:
    """However little it is, that is not called the document's."""
    code = f"""
import resource
from indexer.errors import NeardupError
from indexer.ingest.indexing import Settings, index, store_info
from indexer.ingest.sources import Input
from indexer.library.opening import open_store
with open_store({str(tmp_path / "c.neardup")!r}, create=store_info('landmarks')) as store:
    size = int(open('/proc/self/statm').read().split()[0]) * resource.getpagesize() + ({spare} << 20)
    resource.setrlimit(resource.RLIMIT_AS, (size, size))
    try:
        print(index([Input('a', 'a', data=b'<p>some text', format='html')], store, Settings(jobs=1)).indexed)
    except (NeardupError, MemoryError) as error:
        print(repr(error))
    print([failure.reason for failure in store.failures()])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    said, failures = done.stdout.splitlines()
    assert said == "1" or "can be started" in said or "did not start" in said or "MemoryError" in said
    assert failures == "[]"


def test_what_a_document_does_itself_is_still_its_own() -> None:
    with WorkerPool(1, Options(extractor="fast"), Limits(memory=LEAST_MEMORY)) as pool:
        [found] = pool.outcomes([Item(None, b"<p>" + b"x<b>" * 8_000_000, format="html")])
    assert isinstance(found, Failed)
    assert found.reason in ("out-of-memory", "crashed")
