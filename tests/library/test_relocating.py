"""Files of duplicates moved and linked, on real folders: nothing is lost, whatever stands in the way or stops it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from indexer.errors import UsageError
from indexer.ingest import relocating
from indexer.ingest.relocating import ActList, FileAct
from indexer.library.collection import Collection
from indexer.library.collection import open as open_collection
from indexer.library.options import RemovalRequest
from indexer.model.decisions import DecidedDocument, Decision
from tests.cli.command import write
from tests.cli.written import prose
from tests.decision_files import decisions_text
from tests.library.relocated import STORE, left, source, tree


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
        DecidedDocument(name, one.read_digest if one else "", "drop" if name == "docs/c.txt" else "keep")
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
        assert any(one.left.startswith("this user may not change the folder") for one in undone.files)
        assert (docs.parent / "away/docs/sub/b.txt").exists()
    assert collection.undo("acts.jsonl").done == 1
    assert tree(docs.parent) == before


@pytest.mark.parametrize("kind", ["hard", "symbolic"])
def test_links_take_the_place_of_identical_bytes_only(collection: Collection, docs: Path, kind: str) -> None:
    before = tree(docs.parent)
    why = left(collection, link=kind)
    assert why["docs/sub/b.txt"] == ""
    assert why["docs/c.txt"].startswith("its bytes differ from the kept file's")
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
        assert why["line"] == f"it is a part of {folder}/docs/l.jsonl"
        assert [says for says in why.values() if says.endswith("/docs/z.zip")]


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
        assert all(says == "it is a mail with attachments" for name, says in why.items() if name != moved)
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
    assert (name, why.startswith("line, which is kept, is a part of ")) == ("docs/a.txt", True)


def test_a_folder_inside_of_what_is_indexed_is_refused(collection: Collection, docs: Path) -> None:
    (docs.parent / "way").symlink_to(docs)
    for inside in ("docs", "docs/dup", "docs/sub", ".", docs.parent, "way/dup"):
        with pytest.raises(UsageError, match="is inside of what is indexed"):
            collection.relocate(move_to=inside, dry_run=True)


@pytest.mark.parametrize("way", [{"move_to": "away"}, {"link": "hard"}, {"link": "symbolic"}])
@pytest.mark.parametrize("change", ["saved", "gone", "a link", "a folder that is a link", "kept"])
def test_what_changes_between_the_look_and_the_act_stays(
    collection: Collection, docs: Path, way: dict[str, Any], change: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(docs.parent, {"other/b.txt": prose(1), "other/c.txt": prose(1) + "\n\n"})
    began = ActList.begin
    there: list[dict[str, Any]] = []

    def begin(acts: ActList, act: FileAct) -> None:
        began(acts, act)
        path = Path(act.path)
        if change == "saved":
            path.with_suffix(".new").write_text(prose(9))
            path.with_suffix(".new").replace(path)
        elif change == "gone":
            path.unlink()
        elif change == "a link":
            path.unlink()
            path.symlink_to(docs.parent / "other" / path.name)
        elif change == "kept":
            (docs / "a.txt").write_text(prose(9))
        elif path.parent == docs / "sub":
            path.parent.rename(docs / "before")
            path.parent.symlink_to(docs.parent / "other")
        there.append(tree(docs.parent))

    monkeypatch.setattr(ActList, "begin", begin)
    done = collection.relocate(**way, list_file="acts.jsonl")
    if change == "a folder that is a link":
        assert [one.left for one in done.files if one.id == "docs/sub/b.txt"] == ["it has changed at this moment"]
        assert {"other/b.txt", "docs/before/b.txt"} <= set(tree(docs.parent))
    elif change != "kept" or "link" in way:
        assert (done.done, done.failed) == (0, len(there))
        assert tree(docs.parent) == there[-1]


def test_a_document_of_a_place_that_no_file_has_stays_alone(collection: Collection) -> None:
    places = {"nul": "/x/a\0b", "surrogate": "/x/\ud800", "long": f"/x/{'k' * 5000}", "folder": "/usr/lib",
              "device": "/dev/null", "page": "/12"}  # fmt: skip
    for name, place in places.items():
        collection.add(name, prose(1), source=place)
    collection.cluster()
    for way in ({"move_to": "away"}, {"link": "hard"}):
        why = left(collection, **way)
        assert all(why[name].startswith("it ") for name in places), why
        assert why["docs/sub/b.txt"] == ""


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


def test_what_was_changed_where_it_was_moved_to_is_left(collection: Collection, docs: Path) -> None:
    collection.relocate(move_to="away", list_file="acts.jsonl")
    (docs.parent / "away/docs/c.txt").write_text("changed")
    undone = collection.undo("acts.jsonl")
    assert (undone.done, undone.failed) == (1, 1)
    assert "has changed since it was moved" in next(one.left for one in undone.files if one.left)
    assert (docs.parent / "away/docs/c.txt").read_text() == "changed"


@pytest.mark.parametrize("way", [{"move_to": "away"}, {"link": "hard"}, {"link": "symbolic"}])
def test_a_file_under_two_ids_stays(collection: Collection, docs: Path, way: dict[str, Any]) -> None:
    before = tree(docs.parent)
    collection.index("docs", id_from="name")
    collection.cluster()
    why = left(collection, **way)
    assert set(why) == {"a.txt", "b.txt", "c.txt", "docs/c.txt", "docs/sub/b.txt"}
    done = collection.relocate(**way, list_file="acts.jsonl")
    if "link" in way:
        assert why["a.txt"] == "it and the kept file are one file"
        assert [one.id for one in done.files if not one.left] in (["b.txt"], ["docs/sub/b.txt"])
        collection.undo("acts.jsonl")
    else:
        assert set(why.values()) == {"it is the file of another document too, by this name or another one"}
        assert done.done == 0
    assert tree(docs.parent) == before


@contextmanager
def bound(folder: Path, place: Path) -> Iterator[None]:
    """A folder that is reached by two paths, as names in other letters reach one file elsewhere."""
    place.mkdir()
    if subprocess.run(["mount", "--bind", folder, place], capture_output=True, check=False).returncode:
        pytest.skip("NEEDS ROOT: nothing can be mounted; a file that is reached by two paths was not tried")
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", place], check=True)


@pytest.mark.parametrize("way", [{"move_to": "away"}, {"link": "hard"}, {"link": "symbolic"}])
def test_a_file_that_two_paths_lead_to_stays(folder: Path, way: dict[str, Any]) -> None:
    write(folder, {"docs/a.txt": prose(1)})
    with bound(folder / "docs", folder / "bound"), open_collection(folder / STORE) as collection:
        collection.index(["docs", "bound"])
        collection.cluster()
        assert list(left(collection, **way).values()) in (
            ["it is the file of another document too, by this name or another one"],
            ["it and the kept file are one file"],
        )
        assert collection.relocate(**way, list_file="acts.jsonl").done == 0
        assert (folder / "docs/a.txt").read_text() == prose(1)


def test_names_of_one_file_stay(folder: Path) -> None:
    write(folder, {"docs/a.txt": prose(1), "real/c.txt": prose(1)})
    (folder / "docs/b.txt").hardlink_to(folder / "docs/a.txt")
    (folder / "docs/sub").symlink_to(folder / "real")
    with open_collection(folder / STORE) as collection:
        for path in ("docs/a.txt", "docs/b.txt", "docs/sub/c.txt", "real/c.txt"):
            collection.index(path)
        collection.cluster()
        assert set(left(collection, move_to="away")) == {"docs/b.txt", "docs/sub/c.txt", "real/c.txt"}
        assert collection.relocate(move_to="away", list_file="acts.jsonl").done == 0


def test_a_file_that_a_link_among_the_documents_leads_to_stays(collection: Collection, docs: Path) -> None:
    (docs / "links/more").mkdir(parents=True)
    (docs / "links/more/second").symlink_to("../first")
    (docs / "links/first").symlink_to("../sub/b.txt")
    (docs / "links/.hidden").symlink_to(docs / "c.txt")
    (docs / "links/nowhere").symlink_to("loop")
    (docs / "links/loop").symlink_to("nowhere")
    why = left(collection, move_to="away")
    assert set(why.values()) == {"a symbolic link among the documents leads to it, and would lead nowhere"}
    (docs / "links/.hidden").unlink()
    assert collection.relocate(move_to="away", list_file="acts.jsonl").done == 1
    assert (docs / "links/more/second").read_text() == prose(1)
    # A link to a file that is replaced by a link still leads to its bytes.
    assert collection.relocate(link="symbolic", list_file="acts-linked.jsonl").done == 1
    assert (docs / "links/more/second").read_text() == prose(1)


@pytest.mark.parametrize("way", [{"move_to": "away"}, {"link": "hard"}])
def test_a_system_that_can_not_rename_without_overwriting(
    collection: Collection, docs: Path, way: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(relocating, "_renameat2", None)
    before = tree(docs.parent)
    with unchangeable(docs / "sub"):
        assert collection.relocate(**way, list_file="acts.jsonl").failed == 1
    assert collection.undo("acts.jsonl").failed == 0
    assert tree(docs.parent) == before
    assert collection.relocate(**way, list_file="acts2.jsonl").failed == 0
    assert collection.undo("acts2.jsonl").failed == 0
    assert tree(docs.parent) == before


def test_names_as_long_as_they_may_be(folder: Path) -> None:
    names = [f"docs/{'ü' * 125}{number}.txt" for number in range(3)] + [f"docs/{'k' * 251}.txt", "docs/\udcff\n.txt"]
    write(folder, dict.fromkeys(names, prose(1)))
    before = tree(folder)
    other = Path("/dev/shm") / f"neardup-names-{os.getpid()}"
    with open_collection(folder / STORE) as collection:
        collection.index("docs")
        collection.cluster()
        for number, way in enumerate(({"move_to": "away"}, {"move_to": other}, {"link": "hard"}, {"link": "symbolic"})):
            done = collection.relocate(**way, list_file=f"acts{number}.jsonl")  # type: ignore[arg-type]
            assert (done.done, done.failed) == (4, 0)
            assert collection.undo(f"acts{number}.jsonl").done == 4
            assert tree(folder) == before
    shutil.rmtree(other, ignore_errors=True)
