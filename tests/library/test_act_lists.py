"""A list for undo may be a stranger's: nothing but what the store has done to its documents is taken back by it."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from indexer.errors import UsageError
from indexer.library.collection import Collection
from indexer.library.collection import open as open_collection
from tests.cli.command import Neardup, write
from tests.cli.written import prose
from tests.library.relocated import STORE, source, tree

FIRST = '{"form": "neardup acts 1"}\n'


def listed(*acts: dict[str, Any]) -> str:
    """A list of these acts, as a file."""
    Path("acts-forged.jsonl").write_text(FIRST + "".join(json.dumps(act) + "\n" for act in acts))
    return "acts-forged.jsonl"


def act_of(path: Path, target: Path, name: str = "docs/c.txt", **other: Any) -> dict[str, Any]:
    """An act on the document of that name, for the bytes that stand at the target, or at the path."""
    data = (target if target.exists() else path).read_bytes()
    said = {"act": "move", "id": name, "path": str(path), "target": str(target), "size": len(data), "mode": 0o100644}
    return {**said, "sha256": hashlib.sha256(data).hexdigest(), "modified_ns": 1, **other}


def true_acts(path: str) -> list[dict[str, Any]]:
    """The acts of a list."""
    return [json.loads(line) for line in Path(path).read_text().splitlines()[1:]]


def test_a_list_of_a_strangers_can_do_nothing(collection: Collection, docs: Path) -> None:
    root = docs.parent
    write(root, {"other/key": prose(1), "other/c.txt": prose(1) + "\n\n"})
    (docs / "d.txt").hardlink_to(docs / "a.txt")
    collection.index(docs)
    collection.relocate(move_to="away", list_file="acts.jsonl")
    collection.undo("acts.jsonl")
    before = tree(root)
    a, b, c = docs / "a.txt", docs / "sub/b.txt", docs / "c.txt"
    forged = [
        act_of(c, c),
        act_of(c, root / "docs/../docs/c.txt"),
        act_of(root / "evil/cron.d/job", c),
        act_of(root / "evil/job", root / "other/key"),
        act_of(c, root / "other/c.txt"),
        act_of(b, a, "docs/sub/b.txt"),
        act_of(a, b, "docs/a.txt"),
        act_of(root / "nowhere", b, "no such document"),
        *(act_of(docs / "d.txt", a, "docs/d.txt", act=kind, mode=0o104777) for kind in ("hard", "symbolic")),
        *(act_of(c, c, act=kind, mode=0o104777) for kind in ("hard", "symbolic")),
        # They were done once, and were taken back.
        *true_acts("acts.jsonl"),
    ]
    for act in forged:
        for dry_run in (True, False):
            done = collection.undo(listed(act), dry_run=dry_run)
            assert (done.done, bool(done.files[0].left)) == (0, True), act
            assert tree(root) == before
    assert not (root / "evil").exists()
    assert collection.undo(listed(*forged)).failed == 3


def test_an_act_that_the_store_did_is_taken_back_as_it_was_only(collection: Collection, docs: Path) -> None:
    root = docs.parent
    before = tree(root)
    collection.relocate(move_to="away", list_file="acts.jsonl")
    moved = tree(root)
    for act in true_acts("acts.jsonl"):
        write(root, {"away/other.txt": Path(act["target"]).read_text()})
        for changed in (
            {"path": str(root / "evil/job")}, {"path": act["target"]}, {"target": str(root / "away/other.txt")},
            {"target": act["path"]}, {"id": "docs/a.txt"}, {"mode": 0o104777}, {"mode": act["mode"] ^ 1},
            {"modified_ns": 1}, {"size": 1}, {"sha256": hashlib.sha256(b"").hexdigest()}, {"act": "hard"},
        ):  # fmt: skip
            done = collection.undo(listed({**act, **changed}))
            assert (done.done, bool(done.files[0].left)) == (0, True), changed
        (root / "away/other.txt").unlink()
    assert tree(root) == moved
    # In another order, and more often than they were done.
    acts = true_acts("acts.jsonl")
    undone = collection.undo(listed(*acts, *reversed(acts)))
    assert (undone.done, undone.failed) == (2, 0)
    assert tree(root) == before


def test_a_list_of_another_store_can_do_nothing(collection: Collection, docs: Path) -> None:
    root = docs.parent
    before = tree(root)
    with open_collection(root / "s.neardup-other") as other:
        other.index(docs / "a.txt")
        other.index(docs)
        other.cluster()
        other.relocate(move_to="away", list_file="acts-other.jsonl")
        moved = tree(root)
        assert collection.undo("acts-other.jsonl").done == 0
        assert tree(root) == moved
        assert other.undo("acts-other.jsonl").done == 2
    assert tree(root) == before


def test_a_copy_of_a_collection_leaves_the_files_of_the_first(collection: Collection, docs: Path) -> None:
    root = docs.parent
    collection.relocate(move_to="away", list_file="acts.jsonl")
    collection.close()
    shutil.copytree(root, root / "copy")
    before = tree(root)
    with open_collection(root / "copy" / STORE) as copied:
        done = copied.undo(root / "copy/acts.jsonl")
        assert (done.done, done.failed) == (0, 2)
    assert tree(root) == before


def test_rights_that_come_back_give_nobody_those_of_the_owner(collection: Collection, docs: Path) -> None:
    (docs / "sub/b.txt").chmod(0o6755)
    collection.relocate(link="hard", list_file="acts.jsonl")
    assert collection.undo("acts.jsonl").done == 1
    assert (docs / "sub/b.txt").stat().st_mode == 0o100755


def test_what_is_removed_is_asked_about(tmp_path: Path) -> None:
    neardup = Neardup(tmp_path)
    write(neardup.folder, {"docs/a.txt": prose(1), "docs/b.txt": prose(1)})
    neardup("index", "docs")
    neardup("cluster")
    neardup("prune", "--move-to", "away", "--yes", "--list", "acts.jsonl")
    # A run that was stopped after it had copied the file back.
    [moved] = neardup.folder.glob("away/docs/*.txt")
    shutil.copy2(moved, neardup.folder / "docs" / moved.name)
    asked = neardup("undo", "acts.jsonl", code=2)
    assert "can be put back" in asked.out
    assert moved.exists()
    neardup("undo", "acts.jsonl", "--yes")
    assert not moved.exists()
    assert len(list((neardup.folder / "docs").iterdir())) == 2


def test_a_list_of_any_length_is_read_whole(collection: Collection) -> None:
    act = {"act": "move", "path": "/a", "target": "/b", "sha256": "", "size": 1, "mode": 1, "modified_ns": 1}
    with Path("acts.jsonl").open("w") as file:
        file.write(FIRST)
        file.writelines(json.dumps({**act, "id": f"{number} {'x' * 190_000}"}) + "\n" for number in range(1_100))
    assert Path("acts.jsonl").stat().st_size > 200_000_000
    assert [one.id.partition(" ")[0] for one in collection.undo("acts.jsonl").files] == [
        str(number) for number in reversed(range(1_100))
    ]


@pytest.mark.parametrize(
    "text",
    [
        "", "{}\n", '{"form": "neardup acts 2"}\n', FIRST + '{"act": "move"}\n', "\0\n", FIRST + "[]\n",
        FIRST + "[" * 10**5 + "\n", FIRST + " " * 200_000, FIRST + " " * 10**6 + "\n", FIRST + "9" * 10**5 + "\n",
        *(
            FIRST + json.dumps({"act": "move", "id": "a", "path": "/a", "target": "/b", "sha256": "", "size": 1,
                                "mode": 1, "modified_ns": 1, **other}) + "\n"
            for other in ({"act": "delete"}, {"path": "a"}, {"mode": True}, {"size": 1.0}, {"id": 1}, {"more": 1})
        ),
    ],
)  # fmt: skip
def test_what_is_no_list_is_refused(collection: Collection, docs: Path, text: str) -> None:
    collection.relocate(move_to="away", list_file="acts.jsonl")
    true = Path("acts.jsonl").read_text()
    for forged in (text, true + text.removeprefix(FIRST) if text.startswith(FIRST) else text):
        Path("acts-forged.jsonl").write_text(forged)
        with pytest.raises(UsageError, match="no list of acts"):
            collection.undo("acts-forged.jsonl")
    assert source(collection, "docs/c.txt").startswith(str(docs.parent / "away"))


def test_a_pipe_is_no_list(collection: Collection) -> None:
    os.mkfifo("acts.jsonl")
    with pytest.raises(UsageError, match="a pipe, socket or device, not a file"):
        collection.undo("acts.jsonl")
