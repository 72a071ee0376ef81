"""Folders are followed into a file: what comes, changes, moves and goes is taken up, nothing is taken away unasked."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest

import indexer
from indexer.errors import StoreError, UsageError
from indexer.ingest.sources import IdFrom
from indexer.library import followed_folders
from indexer.library.engine_options import Alerting, Watching
from indexer.library.followed_folders import FollowedFolders
from indexer.library.following import Follower, FollowState
from indexer.library.opening import open_store
from indexer.library.options import Fingerprinting, Walk
from tests.cli.command import bound_by_permissions
from tests.cli.written import changed, prose

NEVER = Watching(quiet_for=1e6, most_lost=0.5)
SOON = Watching(interval=0.05, quiet_for=0.001, most_lost=0.5)


def quiet(*_: object, **__: object) -> None:
    """Nothing is said."""


def follower(root: Path, watching: Watching = NEVER, walk: Walk = Walk(), **alerting: Any) -> Follower:
    followed = FollowedFolders(
        str(root / "store.neardup"), [str(root / "docs")], walk, Fingerprinting(jobs=1), watching=watching, tell=quiet
    )
    return Follower(followed, watching, Alerting(**alerting), tell=quiet)


def followed(root: Path, watching: Watching = NEVER, **alerting: Any) -> FollowState:
    return follower(root, watching, **alerting).run(once=True)


def looked(following: Follower) -> FollowState:
    """The state after a look that waits for no time."""
    source: Any = following._followed
    source._due = source._not_before = 0.0
    following.look()
    return following.state


def write(root: Path, name: str, text: str) -> None:
    path = root / "docs" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def stored(root: Path) -> dict[str, str]:
    """The documents of the store, each with its cluster."""
    with indexer.open(root / "store.neardup", read_only=True) as collection:
        clusters = {member: cluster.id for cluster in collection.clusters() for member in cluster.members}
        return {document.id: clusters.get(document.id, "") for document in collection}


def sources(root: Path) -> dict[str, str]:
    """The documents of the store, each with its file."""
    with open_store(str(root / "store.neardup"), read_only=True) as store:
        return {record.ref.id: record.container or record.source for record in store.scan()}


def require_as_fresh(root: Path) -> None:
    """The store holds what `index` and `cluster` make of the folder now."""
    with indexer.open(root / "store.neardup") as collection:
        assert collection.cluster().written.documents == 0
        partition = sorted(sorted(each.members) for each in collection.clusters())
        documents = {document.id for document in collection}
    fresh = root / "fresh.neardup"
    fresh.unlink(missing_ok=True)
    with indexer.open(fresh) as collection:
        collection.index([str(root / "docs")], jobs=1)
        collection.cluster()
        assert sorted(sorted(each.members) for each in collection.clusters()) == partition
        assert {document.id for document in collection} == documents


def wait_for(there: Callable[[], bool]) -> None:
    limit = time.monotonic() + 60
    while not there():
        assert time.monotonic() < limit
        time.sleep(0.05)


def test_what_comes_changes_moves_and_goes_is_taken_up(tmp_path: Path) -> None:
    for number in range(8):
        write(tmp_path, f"a/{number}.txt", prose(number // 2))
    following = follower(tmp_path)
    assert following.look()
    assert (following.state.annotated, following.state.documents) == (8, 8)
    before = (tmp_path / "store.neardup").stat().st_mtime_ns
    assert not following.look()
    assert (tmp_path / "store.neardup").stat().st_mtime_ns == before

    def again() -> FollowState:
        return looked(following)

    write(tmp_path, "b/new.txt", changed(prose(3)))
    write(tmp_path, "a/0.txt", prose(50))
    assert again().annotated == 10
    found = stored(tmp_path)
    assert found["docs/b/new.txt"] == found["docs/a/6.txt"] != ""
    assert found["docs/a/0.txt"] == found["docs/a/1.txt"] == ""
    # A file under another name is the same document, once.
    (tmp_path / "docs" / "a" / "6.txt").rename(tmp_path / "docs" / "b" / "moved.txt")
    (tmp_path / "docs" / "a" / "2.txt").unlink()
    assert again().removed == 2
    assert "docs/b/moved.txt" in stored(tmp_path)
    assert not {"docs/a/2.txt", "docs/a/6.txt"} & stored(tmp_path).keys()
    following.close()
    require_as_fresh(tmp_path)
    # The next process reads it once, and writes nothing.
    assert followed(tmp_path).annotated == 0


def test_a_folder_that_is_away_or_empty_takes_nothing_away(tmp_path: Path) -> None:
    for number in range(10):
        write(tmp_path, f"{number}.txt", prose(number))
    assert followed(tmp_path).documents == 10
    docs, away = tmp_path / "docs", tmp_path / "away"
    docs.rename(away)
    with pytest.raises(UsageError, match="is no folder"):
        follower(tmp_path)
    docs.mkdir()
    following = follower(tmp_path)
    assert following.run(once=True).held
    assert not following.state.is_well
    docs.rmdir()
    away.rename(docs)
    following = follower(tmp_path)
    following.look()
    docs.rename(away)
    with pytest.raises(StoreError, match="can't be listed"):
        looked(following)
    assert len(stored(tmp_path)) == 10
    # Most of them are gone at once.
    away.rename(docs)
    for number in range(6):
        (docs / f"{number}.txt").unlink()
    write(tmp_path, "new.txt", prose(77))
    state = followed(tmp_path)
    assert (state.held, state.removed, state.annotated) == (True, 0, 1)
    assert len(stored(tmp_path)) == 11
    state = followed(tmp_path, Watching(quiet_for=1e6, confirm_loss=True))
    assert (state.held, state.removed) == (False, 6)
    require_as_fresh(tmp_path)


def test_a_file_that_cannot_be_asked_about_is_not_gone(tmp_path: Path) -> None:
    for name in ("in/1.txt", "in/2.txt", "3.txt", "4.txt", "5.txt"):
        write(tmp_path, name, prose(int(name[-5])))
    assert followed(tmp_path).documents == 5
    shutil.rmtree(tmp_path / "docs" / "in")
    # A name that leads to itself, as one on a disk that fails: neither there nor gone.
    (tmp_path / "docs" / "in").symlink_to("in")
    assert followed(tmp_path).removed == 0
    (tmp_path / "docs" / "in").unlink()
    assert followed(tmp_path).removed == 2


@pytest.mark.parametrize("rule", ["digest", "name"])
def test_a_document_stays_while_one_of_its_files_is_there(tmp_path: Path, rule: IdFrom) -> None:
    for number in range(8):
        write(tmp_path, f"{number}.txt", prose(number))
    places = ["1/same.txt", "2/same.txt", "3/same.txt"]
    for place in places:
        write(tmp_path, place, prose(9))
    following = follower(tmp_path, walk=Walk(id_from=rule))
    following.look()
    [identity] = {known for known, source in sources(tmp_path).items() if source.endswith("same.txt")}
    while len(places) > 1:
        kept = sources(tmp_path)[identity]
        Path(kept).unlink()
        places = [place for place in places if str(tmp_path / "docs" / place) != kept]
        assert looked(following).removed == 0
        assert sources(tmp_path)[identity] in {str(tmp_path / "docs" / place) for place in places}
    # The last one says something else now under the name of the others, or is gone.
    if rule == "name":
        write(tmp_path, places[0], prose(99))
        looked(following)
        assert identity in sources(tmp_path)
    (tmp_path / "docs" / places[0]).unlink()
    assert looked(following).removed == 1
    assert identity not in sources(tmp_path)
    following.close()


def test_a_line_stays_while_another_file_has_its_id(tmp_path: Path) -> None:
    def lines(name: str, **texts: int) -> None:
        documents = [{"id": known, "text": prose(number)} for known, number in texts.items()]
        write(tmp_path, name, "".join(json.dumps(each) + "\n" for each in documents))

    lines("1.jsonl", a=1, b=2, c=3)
    lines("2.jsonl", b=2, c=33, d=4)
    lines("3.jsonl", e=5, f=6, g=7)
    following = follower(tmp_path)
    following.look()
    (tmp_path / "docs/2.jsonl").unlink()
    looked(following)
    assert sorted(sources(tmp_path)) == ["a", "b", "c", "e", "f", "g"]
    # One file lost a line that the other, which goes in the same moment, had too.
    lines("2.jsonl", b=2, c=33, d=4)
    looked(following)
    lines("1.jsonl", a=1, b=2)
    (tmp_path / "docs/2.jsonl").unlink()
    assert looked(following).removed == 3
    assert sorted(sources(tmp_path)) == ["a", "b", "e", "f", "g"]
    following.close()


def test_a_file_that_could_not_be_read_is_tried_again(tmp_path: Path) -> None:
    write(tmp_path, "open.txt", prose(1))
    write(tmp_path, "closed.txt", prose(2))
    (tmp_path / "docs/closed.txt").chmod(0)
    script = tmp_path / "run.py"
    script.write_text(FOLLOWS_A_CLOSED_FILE)
    done = subprocess.run(
        [sys.executable, script, tmp_path], capture_output=True, text=True, preexec_fn=bound_by_permissions
    )
    assert json.loads(done.stdout or "[]") == [[1, 1], [1, 1], [1, 2], [2, 2]], done.stderr


# The documents and the failures that there were after each look.
FOLLOWS_A_CLOSED_FILE = """
import json, os, sys
from indexer.library import followed_folders
from indexer.library.engine_options import Watching
from indexer.library.followed_folders import FollowedFolders
from indexer.library.following import Follower

root, said = sys.argv[1], []
source = FollowedFolders(f"{root}/store.neardup", [f"{root}/docs"], watching=Watching(most_lost=1))
following = Follower(source, Watching(most_lost=1), tell=lambda *_, **__: None)
def look():
    source._due = source._not_before = 0.0
    following.look()
    said.append([following.state.documents, following.state.failed])
look()
look()
# Some time later, without a change.
source._retry_at = 0.0
look()
os.chmod(f"{root}/docs/closed.txt", 0o600)
look()
print(json.dumps(said))
"""


def test_a_copy_that_comes_is_told_and_a_moved_file_is_none(tmp_path: Path) -> None:
    out, script = tmp_path / "alerts", tmp_path / "receive.py"
    script.write_text("import sys; open(sys.argv[1], 'a').write(sys.stdin.read() + '\\n')")
    command = f"{sys.executable} {script} {out}"
    for number in range(4):
        write(tmp_path, f"{number}.txt", prose(number))
    assert followed(tmp_path, on_copy=command).alerts_delivered == 0
    (tmp_path / "docs" / "1.txt").rename(tmp_path / "docs" / "moved.txt")
    write(tmp_path, "copy.txt", changed(prose(2)))
    state = followed(tmp_path, on_copy=command)
    assert (state.alerts_delivered, state.alerts_lost) == (1, 0)
    [alert] = json.loads(out.read_text())["alerts"]
    assert (alert["id"], alert["repeats"]) == ("docs/copy.txt", "docs/2.txt")


@pytest.mark.parametrize("way", ["events", "remote", "events that are lost"])
def test_changes_are_seen_by_events_and_by_looking(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str) -> None:
    # With events nothing else finds it in this time; on a network nothing is told.
    monkeypatch.setattr(followed_folders, "_is_remote", lambda _: way == "remote")
    if way == "events that are lost":
        monkeypatch.setattr(followed_folders, "_watched", lambda *_: followed_folders._no_watch)
        monkeypatch.setattr(followed_folders, "_RESCAN", 0.3)
    write(tmp_path, "1.txt", prose(1))
    following, stop = follower(tmp_path, SOON), Event()
    thread = Thread(target=following.run, args=(stop,))
    thread.start()
    try:
        wait_for(lambda: following.state.annotated == 1)
        write(tmp_path, "new/deep/2.txt", changed(prose(1)))
        wait_for(lambda: following.state.annotated == 2)
        write(tmp_path, "3.txt", prose(3))
        write(tmp_path, "4.txt", prose(4))
        (tmp_path / "docs" / "new" / "deep" / "2.txt").unlink()
        wait_for(lambda: (following.state.annotated, following.state.removed) == (4, 1))
        wait_for(lambda: following.state.regroupings > 0 and following.state.is_well)
        source: Any = following._followed
        assert source._is_watched is (way != "remote")
    finally:
        stop.set()
        thread.join()
    require_as_fresh(tmp_path)


def test_options_that_would_do_nothing_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="followed into a file"):
        FollowedFolders("http://localhost:1/docs", [str(tmp_path)])
    command = [
        sys.executable,
        "-m",
        "indexer",
        "follow",
        str(tmp_path),
        "--store",
        str(tmp_path / "s.neardup"),
        "--once",
    ]
    for more, said in (
        (["--field", "body"], "--field is for an index"),
        (["--refresh", "none"], "--refresh is for an index"),
    ):
        done = subprocess.run([*command, *more], capture_output=True, text=True)
        assert done.returncode == 2
        assert said in done.stderr


def test_once_ends_with_what_is_left(tmp_path: Path) -> None:
    def once() -> str:
        command = [sys.executable, "-m", "indexer", "follow", "docs", "--store", "store.neardup", "--once"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stderr.splitlines()[-1]

    for number in range(3):
        write(tmp_path, f"{number}.txt", prose(number))
    assert once() == "neardup: ended; all changes are taken up"
    shutil.rmtree(tmp_path / "docs")
    (tmp_path / "docs").mkdir()
    assert once() == "neardup: ended; the next run takes up the rest"


def test_it_ends_as_a_fresh_run_where_it_is_killed_and_stopped(tmp_path: Path) -> None:
    """Files are written, changed, moved and deleted while it runs, is killed and stopped."""
    chance = random.Random(7)
    write(tmp_path, "first.txt", prose(0))
    docs = tmp_path / "docs"
    every = bool(os.environ.get("NEARDUP_ALL"))
    for step in range(12 if every else 2):
        command = [sys.executable, "-m", "indexer", "follow", str(docs), "--store", str(tmp_path / "store.neardup")]
        process = subprocess.Popen(
            [*command, "--jobs", "1", "--interval", "0.2", "--most-lost", "1"], stderr=subprocess.PIPE, text=True
        )
        for _ in range(60):
            name, text = f"{chance.randrange(4)}/{chance.randrange(12)}.txt", prose(chance.randrange(8))
            there = [path for path in docs.rglob("*.txt") if path.name != "first.txt"]
            act = chance.choice(["write", "write", "write", "move", "delete", "folder"])
            if act == "write" or not there:
                write(tmp_path, name, changed(text) if chance.random() < 0.5 else text)
            elif act == "move":
                (docs / name).parent.mkdir(parents=True, exist_ok=True)
                chance.choice(there).replace(docs / name)
            elif act == "delete":
                chance.choice(there).unlink()
            elif chance.random() < 0.3:
                shutil.rmtree(chance.choice(there).parent)
            time.sleep(0.03)
        if step % 2:
            process.kill()
            process.communicate()
        else:
            process.send_signal(signal.SIGTERM)
            told = process.communicate(timeout=10)[1]
            assert process.returncode in (0, -signal.SIGTERM), told
    following = follower(tmp_path, Watching(interval=0.01, quiet_for=0.001, most_lost=1))
    following.run(once=True)
    require_as_fresh(tmp_path)
