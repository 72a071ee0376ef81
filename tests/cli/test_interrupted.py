"""Killed, interrupted, terminated: the store holds whole documents, and the same command again completes it."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from indexer.errors import StoreError
from tests.cli.command import Neardup, contents
from tests.cli.written import prose
from tests.processes import children, wait_for_end

# More than two batches of what is stored at once.
DOCUMENTS = 20_000
KILLS = 24 if os.environ.get("NEARDUP_ALL") else 5


def write_lines(path: Path, documents: int = DOCUMENTS) -> None:
    """Documents of 60 words, some equal, some empty or short, some broken."""
    chance = random.Random(1)
    vocabulary = prose(1, 300).split()
    with path.open("w") as file:
        for number in range(documents):
            kind = number % 50
            text = " ".join(chance.choices(vocabulary, k=60))
            item: dict[str, object] = {"id": f"doc-{number}", "text": text, "number": number}
            if kind == 1:
                item["text"] = "the same text every time " * 10
            elif kind == 2:
                item["text"] = ["", f"short {number}"][number // 50 % 2]
            elif kind == 3:
                del item["text"]
            file.write(json.dumps(item) + "\n")


def test_killed_at_any_moment_and_run_again(neardup: Neardup) -> None:
    write_lines(neardup.folder / "lines.jsonl")
    begin = time.monotonic()
    # As those that are killed begin: with nothing imported.
    neardup.start("index", "lines.jsonl", "--store", "whole.neardup", "--jobs", "1").communicate()
    whole_run = time.monotonic() - begin
    records, failures = contents(neardup, "whole.neardup")
    assert len(records) + len(failures) == DOCUMENTS
    chance = random.Random(2)
    kills = stores = begun = 0
    while kills < KILLS:
        store = f"killed-{stores}.neardup"
        stores += 1
        stored = 0
        for _ in range(10):
            process = neardup.start("index", "lines.jsonl", "--store", store, "--jobs", "1")
            # What is stored already passes quickly, so the later runs on a store are killed sooner.
            time.sleep(whole_run * (chance.uniform(0.05, 0.6) if stored else chance.uniform(0.3, 1)))
            process.kill()
            killed = process.wait() == -signal.SIGKILL
            process.communicate()
            if not killed:
                break
            kills += 1
            try:
                partial = contents(neardup, store)
            except StoreError:
                # Killed before there was a store.
                continue
            stored = len(partial[0])
            begun += bool(stored)
            assert partial[0].items() <= records.items()
            assert partial[1].items() <= failures.items()
        neardup("index", "lines.jsonl", "--store", store)
        assert contents(neardup, store) == (records, failures), store
    assert begun, "every kill came before the first document was stored; the test shows nothing"


def feed(process: subprocess.Popen[bytes]) -> None:
    """Write documents to a process for as long as it reads them."""
    assert process.stdin
    with contextlib.suppress(BrokenPipeError), process.stdin:
        for number in itertools.count():
            # A plain text would need no worker.
            page = {"id": f"d{number}", "html": f"<p>{prose(number, 30)}"}
            process.stdin.write(json.dumps(page).encode() + b"\n")
            process.stdin.flush()
            time.sleep(0.001)


@pytest.fixture
def busy(neardup: Neardup, request: pytest.FixtureRequest) -> Iterator[subprocess.Popen[bytes]]:
    """A run, with more options where a test says so, that gets documents without end and has stored some."""
    with neardup.start("index", "-", "--json", *getattr(request, "param", ()), stdin=subprocess.PIPE) as process:
        feeder = threading.Thread(target=feed, args=(process,))
        feeder.start()
        deadline = time.monotonic() + 60
        stored = 0
        while not stored:
            assert process.poll() is None
            assert time.monotonic() < deadline, "nothing was stored"
            time.sleep(0.1)
            with contextlib.suppress(StoreError):
                stored = len(contents(neardup)[0])
        yield process
        process.kill()
        feeder.join()


def ended(process: subprocess.Popen[bytes]) -> tuple[bytes, bytes]:
    """Standard output and error of a process that is about to end by itself; far sooner than a document may take."""
    process.wait(timeout=30)
    assert process.stdout
    assert process.stderr
    return process.stdout.read(), process.stderr.read()


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_stopped_in_order(neardup: Neardup, busy: subprocess.Popen[bytes], number: signal.Signals, code: int) -> None:
    workers = children(busy.pid)
    # Ctrl-C reaches every process of the terminal's group, SIGTERM only the one that it is sent to.
    if number == signal.SIGINT:
        os.killpg(busy.pid, number)
    else:
        busy.send_signal(number)
    out, err = ended(busy)
    assert busy.returncode == code, err
    summary = json.loads(out)
    assert summary["stopped"] is True
    assert summary["failed"] == {}
    assert summary["indexed"] > 0
    assert b"run the same command again to resume" in err
    assert b"Traceback" not in err
    wait_for_end(*workers)
    assert len(contents(neardup)[0]) == summary["indexed"]
    assert contents(neardup)[1] == {}


@pytest.mark.parametrize("busy", [("--cluster", "--new-to", "new.txt")], indirect=True)
def test_what_was_stored_before_an_interrupt_is_known_to_be_new_or_not(
    neardup: Neardup, busy: subprocess.Popen[bytes]
) -> None:
    os.killpg(busy.pid, signal.SIGINT)
    out, err = ended(busy)
    summary = json.loads(out)
    assert summary["new"] + summary["near"] == summary["indexed"] > 0, err
    assert len((neardup.folder / "new.txt").read_text().splitlines()) == summary["new"]


def test_stopped_at_once_by_the_second_ctrl_c(neardup: Neardup, busy: subprocess.Popen[bytes]) -> None:
    workers = children(busy.pid)
    for _ in range(5):
        if busy.poll() is None:
            os.killpg(busy.pid, signal.SIGINT)
    _, err = ended(busy)
    assert busy.returncode == 130, err
    assert b"Traceback" not in err
    wait_for_end(*workers)
    contents(neardup)


def test_a_hanging_worker_does_not_hold_up_ctrl_c(busy: subprocess.Popen[bytes]) -> None:
    workers = children(busy.pid)
    for pid in workers:
        os.kill(pid, signal.SIGSTOP)
    time.sleep(0.3)
    os.killpg(busy.pid, signal.SIGINT)
    ended(busy)
    assert busy.returncode == 130
    wait_for_end(*workers)


def test_workers_do_not_outlive_a_killed_command(busy: subprocess.Popen[bytes]) -> None:
    workers = children(busy.pid)
    assert workers
    busy.kill()
    ended(busy)
    wait_for_end(*workers)


def test_an_interrupt_inside_an_import_ends_with_the_same_code(tmp_path: Path) -> None:
    # Modules are imported when they are needed, and data classes and named tuples execute what they have written.
    (tmp_path / "sitecustomize.py").write_text(
        "import sys\n"
        "class Interrupting:\n"
        "    def find_spec(self, name, *_):\n"
        "        if name == 'indexer.stores.sqlite':\n"
        "            exec('raise KeyboardInterrupt')\n"
        "sys.meta_path.insert(0, Interrupting())\n"
    )
    command = [sys.executable, "-m", "indexer", "stats", "--store", str(tmp_path / "a.neardup")]
    done = subprocess.run(command, env={**os.environ, "PYTHONPATH": str(tmp_path)}, capture_output=True)
    assert (done.returncode, done.stderr) == (130, b"")


@pytest.mark.parametrize("module", ["click", "indexer.cli", "indexer.cli.clusters"])
def test_an_interrupt_while_the_command_is_loaded_ends_it_in_silence(tmp_path: Path, module: str) -> None:
    (tmp_path / "sitecustomize.py").write_text(
        "import os, signal, sys, time\n"
        "class Interrupting:\n"
        "    def find_spec(self, name, *_):\n"
        f"        if name == {module!r}:\n"
        "            os.kill(os.getpid(), signal.SIGINT)\n"
        "            time.sleep(60)\n"
        "sys.meta_path.insert(0, Interrupting())\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    for command in ([str(Path(sys.executable).with_name("neardup"))], [sys.executable, "-m", "indexer"]):
        done = subprocess.run([*command, "cluster", "--help"], env=environment, capture_output=True)
        assert (done.returncode, done.stdout, done.stderr) == (130, b"", b"")


ENDING = """
import atexit, sys, time
from indexer.cli.terminal.interrupts import second_ends

def end():
    print("ending", flush=True)
    time.sleep(60)

atexit.register(end)
try:
    with second_ends():
        print("ready", flush=True)
        time.sleep(60)
except KeyboardInterrupt:
    pass
"""


def test_the_second_interrupt_ends_what_the_first_one_has_almost_ended() -> None:
    """A busy machine takes seconds to close what is open, and a second Ctrl-C comes meanwhile."""
    with subprocess.Popen([sys.executable, "-c", ENDING], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout
        assert process.stderr
        try:
            for said in (b"ready\n", b"ending\n"):
                assert process.stdout.readline() == said
                process.send_signal(signal.SIGINT)
            assert process.wait(30) == 130
            assert process.stderr.read() == b""
        finally:
            process.kill()


AGAIN = """
import os, signal, time
from indexer.cli.terminal.interrupts import second_ends, stoppable

with second_ends():
    try:
        with stoppable():
            signal.raise_signal(signal.SIGINT)
    except KeyboardInterrupt:
        pass
    try:
        signal.raise_signal(signal.SIGINT)
        time.sleep(60)
    except KeyboardInterrupt:
        os._exit(1)
"""


def test_the_second_interrupt_raises_nothing_where_a_run_took_the_first_one() -> None:
    done = subprocess.run([sys.executable, "-c", AGAIN], capture_output=True)
    assert (done.returncode, done.stderr) == (130, b"")
