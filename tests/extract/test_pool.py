"""Workers that crash, hang or blow up cost their own document and nothing else."""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from indexer.errors import ExtractionError, NeardupError, UsageError
from indexer.extract import REASONS, Extracted, Failed, Item, Limits, Options, WorkerPool, extract, landlock
from indexer.extract.document import read_document
from indexer.model import Fingerprint
from tests.processes import children, wait_for_end

ROOT = Path(__file__).resolve().parents[2]
LIMITS = Limits(seconds=20, memory=512 << 20)


Outcome = Extracted[int, Any] | Failed[int]


def orders(*words: str) -> list[Item[int]]:
    return [Item(number, word.encode()) for number, word in enumerate(words)]


def pool(jobs: int = 2, limits: Limits = LIMITS, **more: bool) -> WorkerPool[Any]:
    return WorkerPool(jobs, Options(format="text"), limits, task="tests.extract.tasks:obey", **more)


def by_key(outcomes: Iterator[Outcome]) -> dict[int, Outcome]:
    found = list(outcomes)
    assert len({outcome.key for outcome in found}) == len(found)
    return {outcome.key: outcome for outcome in found}


def taken(outcomes: Iterator[Outcome]) -> list[Extracted[int, Any]]:
    """Outcomes of which none is a failure."""
    found = list(outcomes)
    assert [outcome for outcome in found if isinstance(outcome, Failed)] == []
    return [outcome for outcome in found if isinstance(outcome, Extracted)]


def test_every_item_has_one_outcome_with_the_tasks_answer() -> None:
    with pool() as workers:
        found = taken(workers.outcomes(orders(*(f"text {number}" for number in range(200)))))
    assert sorted(outcome.key for outcome in found) == list(range(200))
    for outcome in found:
        text = f"text {outcome.key}"
        assert outcome.document.text == text
        assert outcome.made == (Fingerprint(7, len(text)), (1, b"\xff", [None, {"a": 0.5}]), text[:10])


def test_a_worker_gives_all_that_is_found_in_a_document() -> None:
    page = (
        b'<html><head><title>A page</title><meta name="last-modified" content="2019-04-05"></head>'
        b"<body><p>Guide, version 2.1 of all that is in it.</p></body></html>"
    )
    with WorkerPool(1, Options(), LIMITS, keep_text=True) as workers:
        [found] = taken(workers.outcomes([Item(0, page)]))
    assert found.document == read_document(page, "", Options(), LIMITS)
    assert found.document.declared == {"modified": "2019-04-05", "version": "2.1", "version_of": "guide"}


def test_a_worker_knows_no_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    secrets = [
        "NEARDUP_PASSWORD",
        "NEARDUP_API_KEY",
        "AWS_SECRET_ACCESS_KEY",
        "GOOGLE_APPLICATION_CREDENTIALS",
        "GITHUB_TOKEN",
        "PGPASSWORD",
        "SSH_AUTH_SOCK",
        "HTTPS_PROXY",
        "PIP_INDEX_URL",
        "ANOTHER",
        "XDG_CONFIG_HOME",
    ]
    for name in secrets:
        monkeypatch.setenv(name, "secret")
    monkeypatch.setenv("LC_TIME", "C.UTF-8")
    monkeypatch.setenv("TMPDIR", "/var/tmp")
    with pool(1) as workers:
        [outcome] = taken(workers.outcomes(orders("environment")))
    known = dict(outcome.made)
    assert not set(secrets) & known.keys()
    assert "secret" not in known.values()
    assert not os.path.exists(known["HOME"])
    assert (known["LC_TIME"], known["TMPDIR"], known["PATH"]) == ("C.UTF-8", "/var/tmp", os.environ["PATH"])


@pytest.mark.skipif(
    not landlock.version(), reason="NOT HELD HERE: without Landlock (Linux 5.13) a worker can read its user's files"
)
def test_a_worker_opens_no_files_of_its_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "credentials").write_text("secret")
    monkeypatch.setenv("HOME", str(home))
    refused = [
        *(f"open {home}/credentials", f"write {home}/credentials", f"write {home}/new", f"list {home}"),
        *(f"open /proc/{os.getpid()}/environ", "open /etc/passwd", "list /"),
        f"write {Path(os.__file__).parent}/new",
    ]
    allowed = [f"open {os.__file__}", f"list {Path(os.__file__).parent}", "open /dev/null"]
    with pool(1) as workers:
        found = {outcome.key: outcome.made for outcome in taken(workers.outcomes(orders(*refused, *allowed)))}
    answers = [found[number] for number in range(len(found))]
    assert answers == ["EACCES"] * len(refused) + ["done"] * len(allowed)
    # Where the kernel does not hold it, each of them can be done.
    assert (home / "credentials").read_text() == "secret"


@pytest.mark.parametrize(
    ("order", "reason", "says"),
    [
        ("kill", "crashed", "SIGKILL"),
        ("segfault", "crashed", "SIGSEGV"),
        ("exit", "crashed", "status 3"),
        ("hoard", "out-of-memory", "536,870,912"),
        ("raise", "task-failed", "KeyError"),
        ("odd", "task-failed", "object can't be sent"),
    ],
)
def test_a_failure_costs_its_own_document(order: str, reason: str, says: str) -> None:
    with pool() as workers:
        found = by_key(workers.outcomes(orders("one", order, "two", order, *"abcdefgh")))
    assert len(found) == 12
    failed = {key: outcome for key, outcome in found.items() if isinstance(outcome, Failed)}
    assert sorted(failed) == [1, 3]
    for error in failed.values():
        assert error.reason == reason
        assert error.reason in REASONS
        assert says in error.detail


def test_a_document_pays_for_no_worker_that_earlier_ones_have_worn_out() -> None:
    with pool(1) as workers:
        found = taken(workers.outcomes(orders("one", "kill if used", "kill if used", "two")))
    assert sorted(outcome.key for outcome in found) == [0, 1, 2, 3]


@pytest.mark.parametrize("order", ["hang", "spin"])
def test_the_time_limit_ends_a_hang(order: str) -> None:
    with pool(limits=Limits(seconds=1.0)) as workers:
        found = by_key(workers.outcomes(orders("one", order, "two", "three")))
    failures = [outcome for outcome in found.values() if isinstance(outcome, Failed)]
    assert failures == [Failed(1, "timeout", "stopped after 1 seconds")]


def test_what_a_library_prints_is_no_answer() -> None:
    with pool(jobs=1) as workers:
        found = {outcome.key: outcome for outcome in taken(workers.outcomes(orders("print", "read", "one")))}
    assert found[1].made == ""
    assert found[2].made[2] == "one"


def test_without_keep_text_the_text_stays_behind() -> None:
    with pool(keep_text=False) as workers:
        (outcome,) = taken(workers.outcomes(orders("some text")))
    assert outcome.document.text == ""
    assert outcome.made[2] == "some text"


def test_items_are_taken_lazily() -> None:
    taken = itertools.count()
    last = 0

    def items() -> Iterator[Item[int]]:
        nonlocal last
        for last in taken:
            yield Item(last, b"text")

    with pool() as workers:
        outcomes = workers.outcomes(items())
        for done, _ in enumerate(itertools.islice(outcomes, 100)):
            assert last <= done + 10
        outcomes.close()  # type: ignore[attr-defined]


def test_a_worker_serves_many_documents() -> None:
    with pool(jobs=1) as workers:
        assert len({outcome.made for outcome in taken(workers.outcomes(orders(*["pid"] * 20)))}) == 1
        assert len(taken(workers.outcomes(orders("a", "b")))) == 2


def test_a_large_document_passes_both_ways() -> None:
    text = "many words " * 1_000_000
    with WorkerPool(1, Options(), LIMITS) as workers:
        (outcome,) = taken(workers.outcomes([Item(0, text.encode())]))
    assert outcome.document.text == text


def test_a_worker_that_dies_while_idle_is_replaced() -> None:
    with pool(jobs=1) as workers:
        (first,) = taken(workers.outcomes(orders("pid")))
        os.kill(first.made, signal.SIGKILL)
        wait_for_end(first.made)
        (second,) = taken(workers.outcomes(orders("pid")))
    assert second.made != first.made


def test_a_pool_that_can_t_start_says_so() -> None:
    with (
        WorkerPool(2, Options(), LIMITS, task="no_such_module:function") as workers,
        pytest.raises(NeardupError, match="no_such_module"),
    ):
        list(workers.outcomes(orders("a", "b", "c")))
    with pytest.raises(UsageError, match="jobs"):
        WorkerPool(0, Options(), LIMITS)


def test_a_closed_pool_is_refused() -> None:
    workers = pool()
    workers.close()
    workers.close()
    with pytest.raises(UsageError, match="closed"):
        list(workers.outcomes(orders("a")))


def test_an_iteration_given_up_ends_the_workers() -> None:
    workers = pool(jobs=1)
    outcomes = workers.outcomes(orders("pid", "hang", "hang"))
    first = next(outcomes)
    assert isinstance(first, Extracted)
    outcomes.close()  # type: ignore[attr-defined]
    wait_for_end(first.made)


def test_files_that_can_t_be_read_are_named(tmp_path: Path) -> None:
    large, pipe = tmp_path / "large.txt", tmp_path / "pipe"
    large.write_bytes(b"x" * 101)
    os.mkfifo(pipe)
    reasons = {tmp_path / "none": "unreadable", tmp_path: "unreadable", pipe: "unreadable", large: "too-large"}
    for path, reason in reasons.items():
        with pytest.raises(ExtractionError) as raised:
            extract(path, limits=Limits(input_bytes=100))
        assert raised.value.reason == reason


def test_extract_uses_one_worker_again_and_survives_its_death(tmp_path: Path) -> None:
    path = tmp_path / "a.html"
    path.write_text("<title>T</title><p>some text")
    assert extract(path) == extract(path.read_bytes(), name="a.html", sandbox=False)
    with pytest.raises(ExtractionError, match="unreadable"):
        extract(tmp_path / "none")
    with pytest.raises(ExtractionError, match="too-large"):
        extract(b"x" * 1000, limits=Limits(input_bytes=999))


def test_extract_begins_anew_after_an_interruption() -> None:
    with pytest.raises(KeyboardInterrupt):
        interrupted_while_extracting()
    assert extract(b"some text").text == "some text"


def interrupted_while_extracting() -> None:
    extract(b"warm up")
    # Spark leaves a handler of its own in the process.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    try:
        while True:
            extract(b"<p>many words " * 200_000)
    finally:
        timer.join()
        signal.signal(signal.SIGINT, before)


SCRIPT = """
    import sys
    sys.path.insert(0, {folder!r})
    from indexer.extract import *
    with WorkerPool(2, Options(format="text"), Limits(), task="tests.extract.tasks:obey") as pool:
        print(next(iter(pool.outcomes([Item(0, b"pid")]))).made, flush=True)
        print(*(o.made for o in pool.outcomes([Item(0, b"pid")])), flush=True)
        for outcome in pool.outcomes([Item(0, b"hang"), Item(1, b"spin")]):
            print(outcome)
"""


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_no_worker_outlives_its_parent(how: signal.Signals) -> None:
    code = textwrap.dedent(SCRIPT.format(folder=str(ROOT)))
    parent = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True
    )
    assert parent.stdout is not None
    with parent.stdout:
        first = int(parent.stdout.readline())
        parent.stdout.readline()
        workers = children(parent.pid)
        assert first in workers
        # As a terminal does, to the whole group of processes.
        os.killpg(parent.pid, how) if how == signal.SIGINT else parent.send_signal(how)
        parent.wait(timeout=20)
    wait_for_end(*workers)


HALF_TAKEN = """
    import sys, threading
    sys.path.insert(0, {folder!r})
    from indexer.extract import *
    pool = WorkerPool(2, Options(format="text"), Limits(seconds=60), task="tests.extract.tasks:obey")
    outcomes = pool.outcomes([Item(0, b"pid"), *(Item(number, b"hang") for number in range(1, 7))])
    print(next(outcomes).made, flush=True)
"""


@pytest.mark.parametrize("end", ["sys.exit(0)", "threading.Thread(target=list, args=[outcomes], daemon=True).start()"])
def test_the_end_of_a_process_waits_for_no_document(end: str) -> None:
    code = textwrap.dedent(HALF_TAKEN.format(folder=str(ROOT))) + end
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=30)
    assert (ended.returncode, ended.stderr) == (0, b"")
    wait_for_end(int(ended.stdout))


def test_a_thread_reads_documents_after_the_end_of_the_main_thread() -> None:
    code = """
        import sys, threading
        sys.path.insert(0, {folder!r})
        from indexer.extract import extract
        def late():
            threading.main_thread().join()
            print(extract(b"<p>late words", name="a.html").text)
        threading.Thread(target=late).start()
    """
    code = textwrap.dedent(code.format(folder=str(ROOT)))
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=30)
    assert (ended.stdout, ended.stderr) == (b"late words\n", b"")


def test_a_pool_closes_after_an_interruption_while_a_thread_started(monkeypatch: pytest.MonkeyPatch) -> None:
    began = threading.Thread.start
    unknown: list[threading.Thread] = []
    workers = pool(2)
    assert len(taken(workers.outcomes(orders("pid")))) == 1

    def interrupted(thread: threading.Thread) -> None:
        unknown.append(thread)
        began(thread)
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", interrupted)
        # Closing is left to a thread, so that a pool that never closes fails the test and does not hang it.
        patched.setattr(workers, "close", lambda: None)
        with pytest.raises(KeyboardInterrupt):
            list(workers.outcomes(orders("hang", "pid")))
    closing = threading.Thread(target=workers.close, daemon=True)
    closing.start()
    for thread in (closing, *unknown):
        thread.join(30)
        assert not thread.is_alive()
