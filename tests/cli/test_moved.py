"""A folder of documents that is moved together with its store: everything goes on as before."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indexer.model.paths import MovableFolder
from tests.cli.command import Neardup, write
from tests.cli.written import changed, prose

TEXT = "minhash@0.6+text@0.6"


@pytest.fixture
def moved(tmp_path: Path) -> Neardup:
    """A folder with files, lines and columns that were named, indexed and clustered; then moved."""
    before = tmp_path / "before"
    texts = {"a.txt": prose(1), "copy.txt": changed(prose(1), 3), "b/other.txt": prose(2), "b/same.txt": prose(2)}
    write(before, {name: text.encode() for name, text in texts.items()})
    lines = [json.dumps({"key": f"r{number}", "words": prose(10 + number // 2)}) for number in range(4)]
    (before / "rows.jsonl").write_text("\n".join(lines))
    first = Neardup(before)
    first("index", "a.txt", "copy.txt", "b")
    first("index", "rows.jsonl", "--text-field", "words", "--id-field", "key")
    first("cluster")
    before.rename(tmp_path / "after")
    return Neardup(tmp_path / "after")


def test_all_is_as_it_was(moved: Neardup) -> None:
    again = moved("index", "a.txt", "copy.txt", "b", "--json").json
    assert (again["unchanged"], again["indexed"], again["replaced"], again["reused"]) == (4, 0, 0, 0)
    again = moved("index", "rows.jsonl", "--text-field", "words", "--id-field", "key", "--json").json
    assert (again["unchanged"], again["indexed"]) == (4, 0)
    by_text = moved("pairs", "--match", TEXT, "--format", "jsonl")
    assert "left out" not in by_text.err
    assert len(by_text.lines) == 4
    near = moved("similar", "--id", "a.txt", "--verify", "text", "--json").json["matches"]
    assert [match["id"] for match in near] == ["copy.txt"]
    # What stands in the file itself is no match of the file.
    near = moved("similar", "b/other.txt", "--json").json["matches"]
    assert [match["id"] for match in near] == ["b/same.txt"]
    moved("diff", "a.txt", "copy.txt")
    clustered = moved("cluster", "--json").json["written"]
    assert clustered == {"documents": 0, "clusters": 0, "removed": 0}
    shown = moved("show", "a.txt", "--json").json
    assert str(moved.folder) in json.dumps(shown)
    assert "before" not in json.dumps(shown)


def test_an_answer_that_could_read_nothing_is_an_error(moved: Neardup) -> None:
    for name in ("a.txt", "copy.txt", "b/other.txt", "b/same.txt", "rows.jsonl"):
        (moved.folder / name).unlink()
    ended = moved("pairs", "--match", TEXT, code=6)
    assert "none of the texts of 8 documents that have to be compared can be read" in ended.err
    before = moved("stats", "--json").json
    moved("cluster", "--match", TEXT, code=6)
    # No cluster is gone for that, nor left in the middle of a change.
    assert moved("stats", "--json").json == before
    # What is identical is known without its text; the rest stays, and it is said how to go by the sketches.
    listed = moved("prune", "--dry-run", "--json")
    assert {line["kept"][:12] for line in listed.lines if not line["identical"]} == {"not verified"}
    assert "none of the texts of 2 documents could be read: " in listed.err
    assert "--verify sketch" in listed.err
    assert all(not line["kept"] for line in moved("prune", "--verify", "sketch", "--dry-run", "--json").lines)
    (moved.folder / "a.txt").write_text(prose(1))
    ended = moved("similar", "--id", "a.txt", "--verify", "text", code=6)
    assert "can be read: copy.txt" in ended.err


@given(st.text(st.sampled_from("/.ab"), max_size=8), st.sampled_from(["", "/a/", "/a/b/", "/"]))
def test_any_text_comes_back_as_it_was_kept(text: str, prefix: str) -> None:
    folder = MovableFolder(prefix)
    assert folder.now(folder.kept(text)) == text
