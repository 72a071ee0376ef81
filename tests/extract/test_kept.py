"""Workers that are kept: started when they are needed, shared by threads, started anew where one has ended."""

from __future__ import annotations

import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from indexer.errors import UsageError
from indexer.extract.base import Extracted, Failed, Item, Limits, Options
from indexer.extract.pool import WorkerPool
from tests.processes import children

LIMITS = Limits(seconds=2, memory=512 << 20)


def test_threads_share_no_more_workers_than_are_wanted_and_keep_them() -> None:
    before = children(os.getpid())
    with WorkerPool(2, Options(), LIMITS, is_shared=True) as kept:
        assert children(os.getpid()) == before

        def text(number: int) -> str:
            [outcome] = kept.outcomes([Item(number, f"<p>page {number}</p>".encode(), "", "html")])
            assert isinstance(outcome, Extracted)
            assert outcome.key == number
            return outcome.document.text

        assert text(0) == "page 0"
        [first] = children(os.getpid()) - before
        with ThreadPoolExecutor(8) as threads:
            assert list(threads.map(text, range(60))) == [f"page {number}" for number in range(60)]
        assert {first} <= children(os.getpid()) - before
        assert len(children(os.getpid()) - before) <= 2
        # One that is ended meanwhile costs the next document at most, and is started anew.
        for worker in children(os.getpid()) - before:
            os.kill(worker, signal.SIGKILL)
        outcomes = [*kept.outcomes(Item(number, b"<p>again</p>", "", "html") for number in range(6))]
        assert sum(isinstance(one, Extracted) for one in outcomes) >= 5
    assert children(os.getpid()) == before


def test_a_document_over_its_limit_costs_itself(tmp_path: Path) -> None:
    deep = b"<div>" * 3_000_000
    with WorkerPool(1, Options(), Limits(seconds=20, input_bytes=1000)) as kept:
        outcomes = list(kept.outcomes([Item(0, deep, "", "html"), Item(1, b"<p>after</p>", "", "html")]))
    assert isinstance(outcomes[0], Failed)
    assert isinstance(outcomes[1], Extracted)
    with pytest.raises(UsageError, match="jobs=0"):
        WorkerPool(0, Options(), LIMITS)


@pytest.mark.parametrize("begun", [0, 1])
def test_threads_that_wait_for_a_pool_hear_that_it_is_closed(begun: int) -> None:
    # While the worker starts, or reads its first document.
    task = "tests.extract.tasks:obey"
    kept: WorkerPool[Any] = WorkerPool(1, Options(format="text"), Limits(seconds=60), task=task, is_shared=True)
    with ThreadPoolExecutor(2) as threads:
        waiting = [threads.submit(lambda: list(kept.outcomes([Item(0, b"hang")]))) for _ in range(2)]
        while [worker.documents for worker in [*kept._workers]] != [begun]:
            time.sleep(0.01)
        kept.close()
        for each in waiting:
            with pytest.raises(UsageError, match="the pool of workers is closed"):
                each.result(20)
