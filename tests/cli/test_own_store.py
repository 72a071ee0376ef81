"""A command that is told to read, or to write over, the files of its own store: nothing that it stored is lost."""

from __future__ import annotations

import itertools
import json
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from indexer import open_store
from indexer.errors import ExtractionError, StoreBusyError, UsageError
from indexer.ingest.indexing import store_info
from indexer.ingest.rereading import StoredTexts
from indexer.matching.lists import is_store, read_list
from indexer.matching.rule import LEAN_RULE, parse_rule
from tests.cli.command import COMMAND, Neardup, contents, write
from tests.cli.written import changed, html, prose
from tests.warm import clean_environment

STORE = "collection.neardup"
SUFFIXES = ("", "-wal", "-shm", "-lock")
EVERYTHING = ["--include", "*"]
WAYS = ("outright", "pattern", "links", "folder", "hard link", "descriptors", "lines")


def named(folder: Path, way: str) -> list[str]:
    """Arguments of `neardup index` that stand for the store's own files."""
    if way == "outright":
        return [STORE, f"{STORE}-lock"]
    if way == "pattern":
        return [*EVERYTHING, f"{STORE[:5]}*"]
    if way == "links":
        for suffix in SUFFIXES:
            (folder / f"link{suffix}.html").symlink_to(STORE + suffix)
        return [f"link{suffix}.html" for suffix in SUFFIXES]
    if way == "folder":
        (folder / "again").symlink_to(".")
        return [*EVERYTHING, "again/"]
    if way == "hard link":
        (folder / "hard.txt").hardlink_to(folder / f"{STORE}-lock")
        return ["hard.txt"]
    if way == "descriptors":
        return [*EVERYTHING, "/proc/self/fd/*"]
    assert way == "lines"
    for number, suffix in enumerate(SUFFIXES):
        (folder / f"{number}.jsonl").symlink_to(STORE + suffix)
    return [f"{number}.jsonl" for number, _ in enumerate(SUFFIXES)]


class Writer:
    """A running `neardup index` that is given documents as it goes."""

    def __init__(self, neardup: Neardup, *arguments: str) -> None:
        self.folder = neardup.folder
        self.given: set[str] = set()
        self.more = itertools.count()
        self.process = neardup.start("index", "--json", "--jobs", "1", *arguments, stdin=subprocess.PIPE)

    def __enter__(self) -> Writer:
        return self

    def __exit__(self, *error: object) -> None:
        self.process.kill()
        self.process.communicate()

    def give(self, *numbers: int) -> None:
        """Give documents, and wait until a reader finds all that were given."""
        self.given |= {f"line-{number}" for number in numbers}
        self.send(*(line(f"line-{number}", prose(number, 40)) for number in numbers))
        # It goes on as long as more comes.
        deadline = time.monotonic() + 30
        while not self.given <= found(self.folder):
            assert time.monotonic() < deadline, "what the writer was given is not found"
            self.send(*(line(f"more-{number}", f"more {number}") for number in islice(self.more, 64)))

    def send(self, *lines: bytes) -> None:
        assert self.process.stdin
        self.process.stdin.write(b"".join(lines))
        self.process.stdin.flush()

    def end(self) -> dict[str, Any]:
        out, err = self.process.communicate(timeout=60)
        assert self.process.returncode == 0, err
        answer: dict[str, Any] = json.loads(out)
        return answer


def line(name: str, text: str, **more: str) -> bytes:
    return json.dumps({"id": name, "text": text, **more}).encode() + b"\n"


def found(folder: Path) -> set[str]:
    """What a reader finds: a process that opens the store and closes it again."""
    code = (
        "import sys; from indexer import open_store\n"
        "with open_store(sys.argv[1], read_only=True) as store:\n"
        "    print(*(record.ref.id for record in store.scan()), sep='\\n')\n"
    )
    done = subprocess.run([sys.executable, "-c", code, folder / STORE], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split())


@pytest.mark.parametrize("way", WAYS)
def test_a_writer_that_is_told_to_read_its_own_store_stays_the_only_one(neardup: Neardup, way: str) -> None:
    write(neardup.folder, {"first.txt": prose(1)})
    neardup("index", "first.txt")
    with Writer(neardup, *named(neardup.folder, way), "-") as writer:
        writer.give(*range(20))
        with pytest.raises(StoreBusyError, match=f"process {writer.process.pid} is writing"):
            open_store(neardup.folder / STORE, create=store_info("landmarks"), wait=0)
        # Readers came and went; what is stored after them is there too, also when the writer is killed.
        writer.give(*range(20, 40))
    assert writer.given <= found(neardup.folder)


def test_a_list_of_paths_may_name_the_store(neardup: Neardup) -> None:
    texts = {f"docs/{number}.txt": f"text {number}" for number in range(2000)}
    write(neardup.folder, {"first.txt": prose(1000), **texts})
    neardup("index", "first.txt")
    own = [*(f"{STORE}{suffix}" for suffix in SUFFIXES), *(f"/proc/self/fd/{number}" for number in range(3, 20))]
    with Writer(neardup, "--paths-from", "-") as writer:
        documents = iter(texts)
        deadline = time.monotonic() + 30
        while "docs/0.txt" not in (stored := found(neardup.folder)):
            assert time.monotonic() < deadline
            # A list is read a block at a time.
            writer.send("\n".join([*own, *islice(documents, 64)]).encode(), b"\n" * (1 << 16))
        with pytest.raises(StoreBusyError):
            open_store(neardup.folder / STORE, create=store_info("landmarks"), wait=0)
    assert stored <= found(neardup.folder)
    # The list itself may be the store: that is no list, and no harm.
    assert "belongs to a store" in neardup("index", "--paths-from", STORE, code=5).err


def test_two_writers_and_readers_lose_nothing_that_they_reported(neardup: Neardup) -> None:
    write(neardup.folder, {"first.txt": prose(1000), "second.html": html(prose(1001))})
    reported = neardup("index", "first.txt", "--json").json["indexed"]
    names = [name for way in WAYS for name in named(neardup.folder, way) if name not in EVERYTHING]
    with Writer(neardup, *EVERYTHING, *names, "-") as writer:
        writer.give(*range(100))
        # A shell's `*` names all files outright.
        everything = sorted(path.name for path in neardup.folder.iterdir())
        refused = neardup("index", *EVERYTHING, *everything, code=3)
        assert f"process {writer.process.pid} is writing to this store" in refused.err
        assert neardup("stats", "--json").json["documents"] >= 101
        writer.give(*range(100, 200))
        reported += writer.end()["indexed"]
    everything = sorted(path.name for path in neardup.folder.iterdir())
    reported += neardup("index", *EVERYTHING, *everything, "--json").json["indexed"]
    records, _ = contents(neardup)
    assert len(records) == reported
    assert writer.given | {"first.txt", "second.html"} <= records.keys()
    with closing(sqlite3.connect(neardup.folder / STORE)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


@pytest.mark.parametrize(
    "arguments",
    [
        ["report", "-o", "{}"],
        ["report", "--format", "json", "-o", "{}"],
        ["pairs", "-o", "{}"],
        ["index", "second.txt", "--dead-letters", "{}"],
        ["index", "second.txt", "--cluster", "--new-to", "{}"],
        ["evaluate", "--documents", "*.txt", "--picture", "{}"],
    ],
    ids=" ".join,
)
def test_no_output_replaces_a_store(neardup: Neardup, arguments: list[str]) -> None:
    texts = [changed(prose(1), place) for place in range(5)]
    write(
        neardup.folder, {"first.txt": prose(1), "second.txt": prose(2)} | {f"{n}.txt": t for n, t in enumerate(texts)}
    )
    neardup("index", "first.txt")
    neardup("cluster")
    (neardup.folder / "log.txt").symlink_to(f"{STORE}-wal")
    before = contents(neardup)
    for name in (STORE, "log.txt"):
        words = [word.format(name) for word in arguments]
        done = subprocess.run([*COMMAND, *words], cwd=neardup.folder, env=clean_environment(), capture_output=True)
        assert done.returncode in (1, 2, 3), (name, done)
        assert b"is an SQLite file" in done.stderr, (name, done)
    assert contents(neardup) == before
    assert not (neardup.folder / f"{STORE}-wal").exists()


def test_what_a_run_writes_is_no_document_of_it(neardup: Neardup) -> None:
    write(neardup.folder, {"first.txt": prose(1), "new.txt": "old\n", "letters.txt": ""})
    (neardup.folder / "again").symlink_to(".")
    arguments = ["again/", "--cluster", "--new-to", "new.txt", "--dead-letters", "letters.txt", "--id-from", "name"]
    assert neardup("index", *arguments, "--json").json["indexed"] == 1
    assert (neardup.folder / "new.txt").read_text() == "first.txt\n"
    assert "Traceback" not in neardup("index", "again/letters.txt", "--dead-letters", "letters.txt", code=2).err


def test_documents_whose_source_is_the_store_are_not_read_again(neardup: Neardup) -> None:
    """Lines say themselves where their documents come from."""
    place = f"{neardup.folder}/{STORE}"
    lines = [line(f"{number}", prose(1), source=f"{place}{suffix}") for number, suffix in enumerate(SUFFIXES)]
    neardup("index", "-", stdin=b"".join(lines))
    neardup("cluster")
    with open_store(place, create=store_info("landmarks")) as store:
        for record in store.scan():
            with pytest.raises(ExtractionError, match="belongs to a store"):
                StoredTexts(store).of(record)
        assert not is_store(f"{place}-lock")
        assert is_store(place)
        with pytest.raises(UsageError, match="belongs to a store"):
            read_list(Path(f"{place}-lock"), parse_rule(LEAN_RULE))
        # All locks are still there: another process is kept out.
        assert neardup("index", "-", stdin=line("other", "text"), code=3).err
    for arguments in (["similar", STORE], ["similar", f"{STORE}-lock"], ["diff", "id:0", STORE]):
        assert "belongs to a store" in neardup(*arguments, code=6).err
    assert neardup("report").err
    assert neardup("corpus", "--scheme", "i-match", "--from-store", code=3).err
    assert "0 pairs" not in neardup("pairs", "--against", STORE).err
