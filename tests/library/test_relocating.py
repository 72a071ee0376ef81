"""Files of duplicates moved and linked, on real folders: nothing is lost, whatever stands in the way or stops it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from indexer.clustering.decision_file import decisions_text
from indexer.errors import UsageError
from indexer.ingest.relocating import read_acts
from indexer.library.clusters import Clusters
from indexer.library.collection import Collection
from indexer.library.collection import open as open_collection
from indexer.library.options import RemovalRequest
from indexer.model.decisions import DecidedDocument, Decision
from tests.cli.command import clean_environment, write
from tests.cli.written import prose

STORE = "s.neardup"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return Path(os.path.realpath(tmp_path))


@pytest.fixture
def docs(folder: Path) -> Path:
    """Three files of one text, two of them of the same bytes, in the order in which they are kept."""
    write(folder, {"docs/a.txt": prose(1), "docs/sub/b.txt": prose(1), "docs/c.txt": prose(1) + "\n\n"})
    (folder / "docs/sub/b.txt").chmod(0o640)
    os.utime(folder / "docs/sub/b.txt", ns=(10**18, 10**18))
    return folder / "docs"


@pytest.fixture
def collection(docs: Path) -> Iterator[Collection]:
    with open_collection(docs.parent / STORE) as made:
        made.index(docs / "a.txt")
        made.index(docs)
        made.cluster()
        yield made


def tree(folder: Path) -> dict[str, tuple[bytes, int, int]]:
    """Each file with its bytes, its rights and its time."""
    return {
        str(path.relative_to(folder)): (path.read_bytes(), path.stat().st_mode, path.stat().st_mtime_ns)
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.name.startswith((STORE, "acts", "err"))
    }


def left(collection: Clusters, asked: RemovalRequest = RemovalRequest(), **way: object) -> dict[str, str]:
    """Why each document is left, empty where something would be done."""
    found = collection.relocate(asked, dry_run=True, **way)  # type: ignore[arg-type]
    return {one.id: one.left for one in found.files}


def source(collection: Collection, name: str) -> str:
    known = collection.get(name)
    assert known
    return known.source


def test_files_are_moved_and_put_back_and_the_store_follows(collection: Collection, docs: Path) -> None:
    before = tree(docs.parent)
    assert left(collection, move_to="away") == {"docs/c.txt": "", "docs/sub/b.txt": ""}
    assert tree(docs.parent) == before
    done = collection.relocate(move_to="away", list_file="acts.jsonl")
    assert (done.done, done.list) == (2, str(docs.parent / "acts.jsonl"))
    moved = docs.parent / "away/docs/sub/b.txt"
    assert set(tree(docs.parent)) == {"docs/a.txt", "away/docs/c.txt", "away/docs/sub/b.txt"}
    assert source(collection, "docs/sub/b.txt") == str(moved)
    # It is in its cluster still, and is not moved once more.
    assert collection.clusters()[0].size == 3
    assert set(left(collection, move_to="other").values()) == {"its file was moved before"}
    assert collection.undo("acts.jsonl", dry_run=True).done == 2
    assert moved.exists()
    (docs.parent / "away/docs/own").mkdir()
    assert collection.undo("acts.jsonl").done == 2
    assert tree(docs.parent) == before
    # Of the folders that were made, those stay in which something else is.
    assert sorted(path.name for path in (docs.parent / "away").rglob("*")) == ["docs", "own"]
    assert source(collection, "docs/sub/b.txt") == str(docs / "sub/b.txt")
    again = collection.undo("acts.jsonl")
    assert (again.done, {one.left for one in again.files}) == (0, {"it was not done, or was taken back"})
    assert tree(docs.parent) == before
    assert collection.relocate(move_to="away", list_file="acts2.jsonl").done == 2


def test_a_file_that_came_back_is_moved_again(collection: Collection, docs: Path) -> None:
    text = (docs / "c.txt").read_bytes()
    collection.relocate(move_to="away", list_file="acts.jsonl")
    (docs / "c.txt").write_bytes(text.upper())
    # As long as the one that was moved is there, the id is its own.
    assert collection.index(docs / "c.txt").failed == {"duplicate-id": 1}
    (docs.parent / "away/docs/c.txt").unlink()
    collection.index(docs / "c.txt")
    assert source(collection, "docs/c.txt") == str(docs / "c.txt")
    assert left(collection, move_to="other") == {"docs/c.txt": "", "docs/sub/b.txt": "its file was moved before"}


def test_files_that_somebody_decided_to_drop_are_moved(collection: Collection, docs: Path) -> None:
    known = {name: collection.get(name) for name in ("docs/a.txt", "docs/c.txt")}
    documents = [
        DecidedDocument(name, one.text_digest if one else "", "drop" if name == "docs/c.txt" else "keep")
        for name, one in known.items()
    ]
    Path("decisions.json").write_text(decisions_text([Decision(tuple(documents))]))
    assert left(collection, RemovalRequest(decisions="decisions.json"), move_to="away") == {"docs/c.txt": ""}
    (docs / "a.txt").unlink()
    why = left(collection, RemovalRequest(decisions="decisions.json"), move_to="away")
    assert why == {"docs/c.txt": "it can't be read: No such file or directory"}


@contextmanager
def unchangeable(folder: Path) -> Iterator[None]:
    """A folder in which nobody who runs the tests may make or remove a name, not even root."""
    root = os.geteuid() == 0
    if root and subprocess.run(["chattr", "+i", folder], capture_output=True, check=False).returncode:
        pytest.skip("NEEDS chattr +i: root may change every folder here; read-only ones were not tried")
    if not root:
        folder.chmod(0o555)
    try:
        yield
    finally:
        if root:
            subprocess.run(["chattr", "-i", folder], check=True)
        else:
            folder.chmod(0o755)


@pytest.mark.parametrize("way", [{"move_to": "away"}, {"link": "hard"}, {"link": "symbolic"}])
def test_what_lies_in_a_read_only_folder_stays_there(collection: Collection, docs: Path, way: dict[str, Any]) -> None:
    before = tree(docs.parent)
    with unchangeable(docs / "sub"):
        done = collection.relocate(**way, list_file="acts.jsonl")
    why = {one.id: one.left for one in done.files}["docs/sub/b.txt"]
    assert why.startswith("this user may not change the folder")
    after = tree(docs.parent)
    assert after["docs/sub/b.txt"] == before["docs/sub/b.txt"]
    assert "away/docs/sub/b.txt" not in after
    assert source(collection, "docs/sub/b.txt") == str(docs / "sub/b.txt")
    collection.undo("acts.jsonl")
    assert tree(docs.parent) == before


def test_what_can_not_be_put_back_into_a_read_only_folder_waits(collection: Collection, docs: Path) -> None:
    before = tree(docs.parent)
    collection.relocate(move_to="away", list_file="acts.jsonl")
    with unchangeable(docs / "sub"):
        undone = collection.undo("acts.jsonl")
        assert undone.done == 1
        assert any(one.left.startswith("it can't be put back") for one in undone.files)
        assert (docs.parent / "away/docs/sub/b.txt").exists()
    assert collection.undo("acts.jsonl").done == 1
    assert tree(docs.parent) == before


@pytest.mark.parametrize("kind", ["hard", "symbolic"])
def test_links_take_the_place_of_identical_bytes_only(collection: Collection, docs: Path, kind: str) -> None:
    before = tree(docs.parent)
    why = left(collection, link=kind)
    assert why["docs/sub/b.txt"] == ""
    assert why["docs/c.txt"].startswith("its bytes are not those of the file that is kept")
    assert collection.relocate(link=kind, list_file="acts.jsonl").done == 1  # type: ignore[arg-type]
    copy = docs / "sub/b.txt"
    assert copy.samefile(docs / "a.txt")
    assert copy.is_symlink() == (kind == "symbolic")
    assert copy.read_bytes() == before["docs/a.txt"][0]
    assert collection.relocate(link=kind, dry_run=True).done == 0  # type: ignore[arg-type]
    assert collection.undo("acts.jsonl").done == 1
    assert tree(docs.parent) == before
    assert not copy.samefile(docs / "a.txt")


def test_what_has_changed_since_stays(collection: Collection, docs: Path) -> None:
    (docs / "c.txt").write_text(prose(1) + "!")
    assert (
        "has changed since it was indexed"
        in left(collection, RemovalRequest(unverified=True), move_to="away")["docs/c.txt"]
    )
    (docs / "a.txt").write_text(prose(1) + "!")
    why = left(collection, RemovalRequest(unverified=True), move_to="away")
    assert all("docs/a.txt has changed" in why[name] or "docs/c.txt has" in why[name] for name in why)


def test_parts_of_files_are_named_and_stay(folder: Path) -> None:
    write(folder, {"docs/a.txt": prose(1), "docs/l.jsonl": json.dumps({"id": "line", "text": prose(1)}) + "\n"})
    with zipfile.ZipFile(folder / "docs/z.zip", "w") as archive:
        archive.writestr("member.txt", prose(1))
    with open_collection(folder / STORE) as collection:
        collection.index("docs/a.txt")
        collection.index("docs")
        collection.cluster()
        why = left(collection, move_to="away")
        assert len(why) == 2
        assert all(says.startswith("it is a part of a file") for says in why.values())


def test_mails_without_attachments_are_moved_and_linked(folder: Path) -> None:
    head = "From: a@b\nSubject: tea\nDate: Mon, 1 Jan 2024 10:00:00 +0000\n"
    parts = (
        "Content-Type: multipart/mixed; boundary=b\n\n--b\n\n{}\n"
        "--b\nContent-Disposition: attachment; filename=a.{}\n\nx\n--b--\n"
    )
    with_text, with_picture = (head + parts.format(prose(number), kind) for number, kind in ((2, "txt"), (3, "png")))
    mails = {"a.eml": f"{head}\n{prose(1)}\n", "c.eml": with_text, "e.eml": with_picture}
    write(folder, {f"docs/{name}": mail for name, mail in mails.items()})
    write(folder, {f"docs/sub/{name}": mail for name, mail in mails.items()})
    before = tree(folder)
    with open_collection(folder / STORE) as collection:
        collection.index("docs")
        collection.cluster()
        why = left(collection, move_to="away")
        [moved] = [name for name, says in why.items() if not says]
        assert moved in ("docs/a.eml", "docs/sub/a.eml")
        assert all("a mail that has attachments" in says for name, says in why.items() if name != moved)
        assert collection.relocate(move_to="away", list_file="acts.jsonl").done == 1
        assert source(collection, moved) == str(folder / "away" / moved)
        collection.index("docs")
        assert source(collection, moved) == str(folder / "away" / moved)
        assert collection.undo("acts.jsonl").done == 1
        assert tree(folder) == before
        assert collection.relocate(link="hard", list_file="acts-linked.jsonl").done == 1
        assert (folder / "docs/a.eml").samefile(folder / "docs/sub/a.eml")
        assert collection.undo("acts-linked.jsonl").done == 1
        (folder / moved).write_text(f"{head}\n{prose(1)}!\n")
        assert "changed" in left(collection, RemovalRequest(unverified=True), move_to="away")[moved]


def test_what_repeats_a_part_of_a_file_stays_and_it_is_said_which_is_one(folder: Path) -> None:
    write(folder, {"docs/a.txt": prose(1), "docs/l.jsonl": json.dumps({"id": "line", "text": prose(1)}) + "\n"})
    with open_collection(folder / STORE) as collection:
        collection.index("docs/l.jsonl")
        collection.index("docs")
        collection.cluster()
        [(name, why)] = left(collection, move_to="away").items()
    assert (name, why.startswith("line, which is kept, is a part of a file")) == ("docs/a.txt", True)


def test_a_folder_inside_of_what_is_indexed_is_refused(collection: Collection, docs: Path) -> None:
    (docs.parent / "way").symlink_to(docs)
    for inside in ("docs", "docs/dup", "docs/sub", ".", docs.parent, "way/dup"):
        with pytest.raises(UsageError, match="is inside of what is indexed"):
            collection.relocate(move_to=inside, dry_run=True)


def test_nothing_is_overwritten(collection: Collection, docs: Path) -> None:
    write(docs.parent, {"away/docs/c.txt": "mine"})
    assert "there is something at" in left(collection, move_to="away")["docs/c.txt"]
    done = collection.relocate(move_to="away", list_file="acts.jsonl")
    assert done.done == 1
    assert (docs.parent / "away/docs/c.txt").read_text() == "mine"
    with pytest.raises(UsageError, match="the list of what is done can't be made here"):
        collection.relocate(move_to="other", list_file="acts.jsonl")
    # What came meanwhile in the place of a moved file.
    (docs / "sub/b.txt").write_text("new")
    assert "something else stands at" in collection.undo("acts.jsonl").files[0].left
    assert (docs / "sub/b.txt").read_text() == "new"


def test_no_symbolic_link_is_followed(folder: Path) -> None:
    write(folder, {"docs/a.txt": prose(1), "real/b.txt": prose(1)})
    (folder / "docs/b.txt").symlink_to(folder / "real/b.txt")
    (folder / "docs/sub").symlink_to(folder / "real")
    with open_collection(folder / STORE) as collection:
        for path in ("docs/a.txt", "docs/b.txt", "docs/sub/b.txt"):
            collection.index(path)
        collection.cluster()
        why = left(collection, move_to="away")
        assert set(why.values()) == {"a symbolic link leads to it, and none is followed"}
        # A link in the place of a folder, made after the list was.
    (folder / "docs/sub").unlink()
    shutil.copytree(folder / "real", folder / "docs/sub")
    with open_collection(folder / STORE) as collection:
        (folder / "away").mkdir()
        (folder / "away/docs").symlink_to(folder / "real")
        done = collection.relocate(move_to="away", list_file="acts.jsonl")
        assert done.done == 0
        assert any("where it would go" in one.left for one in done.files)
        assert (folder / "docs/sub/b.txt").exists()


def test_a_file_that_is_open_elsewhere_stays(collection: Collection, docs: Path) -> None:
    if sys.platform != "linux":
        pytest.skip("only Linux tells which files are open")
    with (docs / "c.txt").open():
        assert left(collection, move_to="away")["docs/c.txt"] == "another program has it open"
    assert left(collection, move_to="away")["docs/c.txt"] == ""


def test_a_folder_that_takes_nothing_is_told(collection: Collection, docs: Path) -> None:
    before = tree(docs.parent)
    done = collection.relocate(move_to="/proc/neardup-away", list_file="acts.jsonl")
    assert done.done == 0
    assert all(one.left for one in done.files)
    assert tree(docs.parent) == before


def test_to_another_file_system_and_back(collection: Collection, docs: Path) -> None:
    other = Path("/dev/shm") / f"neardup-{os.getpid()}"
    if not other.parent.is_dir() or other.parent.stat().st_dev == docs.stat().st_dev:
        pytest.skip("needs a second file system")
    before = tree(docs.parent)
    try:
        assert collection.relocate(move_to=other, list_file="acts.jsonl").done == 2
        assert {path.name for path in other.rglob("*.txt")} == {"b.txt", "c.txt"}
        assert not (docs / "c.txt").exists()
        assert collection.undo("acts.jsonl").done == 2
        assert tree(docs.parent) == before
    finally:
        shutil.rmtree(other, ignore_errors=True)


def test_undo_touches_only_what_its_own_run_touched(collection: Collection, docs: Path) -> None:
    collection.relocate(move_to="away", list_file="acts.jsonl")
    moved = docs.parent / "away/docs/c.txt"
    text = moved.read_bytes()
    moved.write_text("changed")
    assert "has changed since it was moved" in next(one.left for one in collection.undo("acts.jsonl").files if one.left)
    assert moved.read_text() == "changed"
    moved.write_bytes(text)
    # A list that names files of somebody else's.
    first, *_ = read_acts("acts.jsonl")
    write(docs.parent, {"other.txt": text})
    line = {**{name: getattr(first, name) for name in first.__slots__}, "target": str(docs.parent / "other.txt")}
    (docs.parent / "acts-forged.jsonl").write_text(f'{{"form": "neardup acts 1"}}\n{json.dumps(line)}\n')
    done = collection.undo("acts-forged.jsonl")
    assert (done.done, (docs.parent / "other.txt").exists()) == (0, True)
    assert done.files[0].left


def listed(act: str = "move", path: str = "/a") -> str:
    line = {"act": act, "id": "a", "path": path, "target": "/b", "sha256": "", "size": 1, "mode": 1, "modified_ns": 1}
    return f'{{"form": "neardup acts 1"}}\n{json.dumps(line)}\n'


@pytest.mark.parametrize(
    "text",
    [
        "", "{}\n", '{"form": "neardup acts 2"}\n', '{"form": "neardup acts 1"}\n{"act": "move"}\n', "\0\n",
        '{"form": "neardup acts 1"}\n' + "[" * 10**5 + "\n", listed("delete"), listed(path="a"),
    ],
)  # fmt: skip
def test_what_is_no_list_is_refused(collection: Collection, text: str) -> None:
    Path("acts.jsonl").write_text(text)
    with pytest.raises(UsageError, match="no list of acts"):
        collection.undo("acts.jsonl")


@pytest.mark.parametrize("state", ["begun", "both names", "moved", "a copy cut short", "line cut off"])
def test_each_state_that_a_kill_can_leave_is_taken_back(collection: Collection, docs: Path, state: str) -> None:
    before = tree(docs.parent)
    planned = collection.relocate(move_to="away", dry_run=True).files
    collection.relocate(move_to="away", list_file="acts.jsonl")
    lines = Path("acts.jsonl").read_bytes().splitlines(keepends=True)
    collection.undo("acts.jsonl")
    shutil.rmtree("away")
    path, target = Path(planned[0].path), Path(planned[0].target)
    target.parent.mkdir(parents=True)
    if state == "both names":
        os.link(path, target)
    elif state == "moved":
        path.rename(target)
    elif state == "a copy cut short":
        target.write_bytes(path.read_bytes()[:10])
    cut = lines[1][:-20] if state == "line cut off" else lines[1]
    Path("acts-killed.jsonl").write_bytes(lines[0] + cut)
    collection.undo("acts-killed.jsonl")
    there = tree(docs.parent)
    assert {name: there[name] for name in before} == before
    assert set(there) - set(before) == ({"away/" + str(path.relative_to(docs.parent))} if "copy" in state else set())


@pytest.mark.parametrize(("way", "after"), [("--move-to=away", 3), ("--move-to=away", 17), ("--link=hard", 9)])
def test_killed_in_the_middle_nothing_is_lost(folder: Path, way: str, after: int) -> None:
    write(folder, {f"docs/{number:02d}.txt": prose(1) for number in range(60)})
    with open_collection(folder / STORE) as collection:
        collection.index(folder / "docs")
        collection.cluster()
    before = tree(folder)
    command = [sys.executable, "-m", "indexer", "prune", way, "--yes", "--list", "acts.jsonl", "--store", STORE]
    with Path("err").open("wb") as err:
        running = subprocess.Popen(command, env=clean_environment(), stdout=subprocess.DEVNULL, stderr=err)
    acts = folder / "acts.jsonl"
    until = time.monotonic() + 60
    while running.poll() is None and time.monotonic() < until:
        if acts.exists() and acts.read_bytes().count(b"\n") > after:
            break
        time.sleep(0.0005)
    running.send_signal(signal.SIGKILL)
    running.wait()
    assert acts.exists(), (folder / "err").read_text()
    # Every text is still there, under the one name or the other.
    assert len({name.rpartition("/")[2] for name in tree(folder) if name.endswith(".txt")}) == 60
    with open_collection(folder / STORE) as collection:
        collection.undo(acts)
        assert tree(folder) == before
        assert all(
            source(collection, f"docs/{number:02d}.txt").startswith(str(folder / "docs")) for number in range(60)
        )
