"""`neardup similar` about many documents: files, folders, patterns, files with many documents, and ids."""

from __future__ import annotations

import json
import os
import subprocess
import threading
from pathlib import Path
from typing import Any

import pytest

from tests.cli.command import COMMAND, Neardup, bound_by_permissions, mixed_folder, write
from tests.cli.written import changed, html, prose
from tests.processes import on_terminal
from tests.warm import clean_environment


@pytest.fixture
def stored(neardup: Neardup) -> Neardup:
    """A store with the mixed folder."""
    mixed_folder(neardup.folder)
    neardup("index", "docs")
    return neardup


def alone(neardup: Neardup, *asked: str) -> Any:
    """The answer to one question."""
    return neardup("similar", *asked, "--json").json


def test_each_of_many_has_the_answer_that_it_has_alone(stored: Neardup) -> None:
    write(stored.folder, {f"new/{number}.txt": changed(prose(number)) for number in range(120)})
    names = ["docs/a.html", "docs/b.pdf", "id:docs/near.txt", "docs/other.html", "docs/deep/d.txt"]
    expected = [alone(stored, name) for name in names]
    assert sum(each["total"] for each in expected) > 4
    assert stored("similar", *names, "--json").lines == expected
    ids = [name for each in ("docs/a.html", "docs/near.txt") for name in ("--id", each)]
    assert stored("similar", *ids, "--json").lines == [alone(stored, *ids[:2]), alone(stored, *ids[2:])]
    # More than are asked about at once, in their order.
    many = stored("similar", "new", "docs/a.html", "--limit", "2", "--json").lines
    assert [each["query"]["name"] for each in many] == [*sorted(f"new/{n}.txt" for n in range(120)), "docs/a.html"]
    assert {each["query"]["name"]: each["total"] for each in many if each["total"]} == {
        "docs/a.html": expected[0]["total"],
        "new/1.txt": 5,
        "new/2.txt": 1,
    }
    assert max(len(each["matches"]) for each in many) == 2


def test_several_have_headings_and_one_has_none(stored: Neardup) -> None:
    one = stored("similar", "docs/a.html")
    assert one.out.splitlines()[0].split()[0] == "id"
    done = stored("similar", "docs/a.html", "docs/other.html", "docs/b.pdf", "--limit", "3")
    first, second, third = done.out.split("\n\n")
    assert first.splitlines()[0] == "docs/a.html: the nearest 3 of 4"
    assert first.splitlines()[1:] == one.out.splitlines()[:4]
    assert second == "docs/other.html: nothing found"
    assert third.startswith("docs/b.pdf: the nearest 3 of 4\nid ")
    assert done.err == ""
    # A folder is several, whatever is in it.
    write(stored.folder, {"one/copy.html": html(prose(2))})
    assert stored("similar", "one").out.splitlines()[0] == "one/copy.html: 1 found"
    done = stored("similar", "docs/other.html", "id:docs/other.html")
    assert "nothing else is near by the default rule" in done.err


def test_folders_patterns_and_files_of_many_documents_are_read_as_by_index(stored: Neardup) -> None:
    rows = [{"key": f"r{seed}", "body": changed(prose(seed)), "name": f"Row {seed}"} for seed in (1, 2, 9)]
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    write(stored.folder, {"new.jsonl": lines, "in/a.html": html(prose(2)), "in/style.css": "p {}"})
    named = ("--text-field", "body", "--id-field", "key", "--title-field", "name")
    found = stored("similar", "new.jsonl", "--json", *named).lines
    assert [(each["query"]["name"], each["query"]["title"], each["total"]) for each in found] == [
        ("r1", "Row 1", 5), ("r2", "Row 2", 1), ("r9", "Row 9", 0)
    ]  # fmt: skip
    unnamed = stored("similar", "new.jsonl", code=6).err
    assert 'malformed: new.jsonl:1: no "text" or "html"; name the field with --text-field' in unnamed
    # Once indexed, its columns are known, and no row is an answer to itself.
    stored("index", "new.jsonl", *named)
    again = stored("similar", "new.jsonl", "--json").lines
    assert [(each["query"]["name"], each["total"]) for each in again] == [("r1", 5), ("r2", 1), ("r9", 0)]
    assert [match["id"] for match in again[1]["matches"]] == ["docs/other.html"]
    for asked in ("in", "in/*", "in/**"):
        [only] = stored("similar", asked, "--json").lines
        assert (only["query"]["name"], only["total"]) == ("in/a.html", 2)
    (stored.folder / "none").mkdir()
    done = stored("similar", "none")
    assert (done.out, "no document was found" in done.err) == ("", True)
    # What looks like a pattern and matches no file is an id.
    assert "no such file, and no document with this id" in stored("similar", "https://example.org/?a=*", code=5).err


def test_what_can_t_be_asked_about_is_named_and_the_rest_answered(stored: Neardup) -> None:
    names = ["docs/broken.pdf", "docs/a.html", "nowhere", "docs/empty.txt", "id:docs/b.pdf", "docs/deep/c.xml"]
    done = stored("similar", *names, "--json", code=6)
    assert [each["query"]["name"].removeprefix("id:") for each in done.lines] == [
        name.removeprefix("id:") for name in names
    ]
    found = [each for each in done.lines if not each["error"]]
    assert [each["query"]["name"] for each in found] == [
        "docs/a.html", "docs/empty.txt", "docs/b.pdf", "docs/deep/c.xml"
    ]  # fmt: skip
    assert found[0] == alone(stored, "docs/a.html")
    assert [each["error"] for each in done.lines if each["error"]] == [
        line.removeprefix("neardup: ") for line in done.err.splitlines()[:2]
    ]
    broken, missing, empty = done.err.splitlines()
    assert broken.startswith("neardup: malformed: docs/broken.pdf: ")
    assert missing == "neardup: nowhere: no such file, and no document with this id is stored"
    assert "docs/empty.txt has no words" in empty
    assert stored("similar", "--id", "nowhere", "--id", "docs/a.html", "--json", code=5).lines[1:] == found[:1]
    as_json = stored("--log-format", "json", "similar", *names, code=6).err.splitlines()
    assert [json.loads(line).get("reason") for line in as_json] == ["malformed", None, None]
    # A folder is asked about as a whole, whatever is in it.
    whole = stored("similar", "docs", "--json", code=6)
    assert sum(not each["error"] for each in whole.lines) == 8
    assert "docs/broken.pdf" in whole.err


def test_one_that_lacks_a_sketch_does_not_stop_the_others(neardup: Neardup) -> None:
    write(neardup.folder, {"old.txt": prose(1), "new.txt": changed(prose(1))})
    neardup("index", "old.txt", "--schemes", "simhash-doc")
    neardup("index", "new.txt", "--scheme", "minhash")
    asked = ["--id", "old.txt", "--id", "new.txt", "--match", "minhash@0.6"]
    done = neardup("similar", *asked, "--json", code=2)
    assert [each["query"]["name"] for each in done.lines if not each["error"]] == ["new.txt"]
    assert "old.txt has no sketch of minhash" in done.err
    # What is wrong with the rule is said once.
    refused = neardup("similar", "old.txt", "new.txt", "-k", "8", code=2)
    assert refused.err.count("0bits to 7bits") == 1


def test_what_is_no_plain_file(stored: Neardup) -> None:
    os.mkfifo(stored.folder / "pipe")
    writer = threading.Thread(target=lambda: (stored.folder / "pipe").write_text(prose(1)))
    writer.start()
    assert stored("similar", "pipe", "--json").json["total"] == 5
    writer.join()
    # A file of this name is not standard input.
    write(stored.folder, {"-": prose(2)})
    both = stored("similar", "-", "./-", "--json", stdin=prose(1)).lines
    assert [(each["query"]["name"], each["total"]) for each in both] == [("-", 5), ("./-", 1)]
    assert (
        "collection.neardup: belongs to a store that is in use" in stored("similar", "collection.neardup", code=6).err
    )
    (stored.folder / "gone").symlink_to("nowhere")
    assert "unreadable: gone: No such file" in stored("similar", "gone", code=6).err


def bound(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run the command as a user whom permissions hold for."""
    return subprocess.run(
        [*COMMAND, *words], cwd=folder, env=clean_environment(), capture_output=True, text=True,
        preexec_fn=bound_by_permissions,
    )  # fmt: skip


def test_a_file_that_may_not_be_read_has_the_exit_code_of_one(neardup: Neardup) -> None:
    write(neardup.folder, {"a.txt": prose(1), "b.txt": changed(prose(1)), "closed.txt": prose(2)})
    neardup("index", ".")
    (neardup.folder / "closed.txt").chmod(0)
    done = bound(neardup.folder, "similar", "closed.txt", "a.txt", "--json")
    closed, read = map(json.loads, done.stdout.splitlines())
    assert (done.returncode, read["total"], "Permission denied" in closed["error"]) == (6, 1, True)
    assert "unreadable: closed.txt: Permission denied" in done.stderr
    for words in (["similar", "closed.txt"], ["hash", "closed.txt"], ["compare", "a.txt", "closed.txt"]):
        done = bound(neardup.folder, *words)
        assert (done.returncode, "unreadable: closed.txt: Permission denied" in done.stderr) == (6, True), done.stderr
    (neardup.folder / "collection.neardup").chmod(0)
    done = bound(neardup.folder, "similar", "a.txt")
    assert (done.returncode, "Usage" in done.stderr) == (3, False), done.stderr


def test_progress_is_for_a_terminal_that_answers_don_t_go_to(stored: Neardup) -> None:
    shown = {}
    for kind in ("terminal", "file"):
        streams = ["stderr"] + ["stdout"] * (kind == "terminal")
        command, environment = [*COMMAND, "similar", "docs", "--json"], {**clean_environment(), "TERM": "xterm"}
        _, shown[kind] = on_terminal(command, *streams, code=6, cwd=stored.folder, env=environment)
    assert "asking" in shown["file"]
    assert "asking" not in shown["terminal"]
    # What is said meanwhile stands on a line of its own.
    lines = shown["file"].replace("\r", "\n").splitlines()
    assert any(line.endswith("neardup: docs/empty.txt has no words, so only equal documents match")
               and "asking" not in line for line in lines), shown["file"]  # fmt: skip
