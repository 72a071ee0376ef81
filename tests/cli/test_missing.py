"""What is not there: documents, stores, files, clusters; and what a command then says and leaves behind."""

from __future__ import annotations

import re

import pytest

from indexer.cli import cli
from indexer.cli.terminal.output import name_store, with_store
from tests.cli.command import Neardup, write
from tests.cli.written import prose

STORE = "other.neardup"


def left(neardup: Neardup) -> set[str]:
    return {path.name for path in neardup.folder.iterdir()}


@pytest.mark.parametrize("command", [["index"], ["corpus", "--scheme", "i-match"]])
def test_without_a_document_no_store_is_made(neardup: Neardup, command: list[str]) -> None:
    (neardup.folder / "empty").mkdir()
    before = left(neardup)
    assert "no file matches" in neardup(*command, "nothing*.txt", code=5).err
    assert "no document was found" in neardup(*command, "empty", code=0 if command == ["index"] else 2).err
    assert left(neardup) == before
    assert "there is no store here" in neardup("similar", "--text", prose(1), code=3).err
    assert "there is no store here" in neardup("corpus", "--scheme", "i-match", "--from-store", code=3).err
    assert left(neardup) == before


def test_a_store_without_documents_is_said(neardup: Neardup) -> None:
    write(neardup.folder, {"a.txt": prose(1)})
    (neardup.folder / STORE).touch()
    assert "the file is empty; index some" in neardup("similar", "a.txt", "--store", STORE, code=3).err
    neardup("index", "a.txt", "--store", STORE)
    assert "nothing else is near" in neardup("similar", "a.txt", "--store", STORE).err
    neardup("delete", "a.txt", "--store", STORE)
    printed = neardup("similar", "a.txt", "--store", STORE).err
    assert f"{STORE} holds no document; neardup index --store {STORE} brings" in printed
    assert "nothing else" not in printed


def test_a_mistyped_file_is_no_missing_id(neardup: Neardup) -> None:
    write(neardup.folder, {"a.txt": prose(1)})
    neardup("index", "a.txt")
    for command in ("diff", "compare"):
        assert "b.txt: no such file, and no document with this id" in neardup(command, "a.txt", "b.txt", code=5).err
        assert "b.txt: no document with this id" in neardup(command, "a.txt", "id:b.txt", code=5).err
    assert "b.txt: no such file, and no document with this id" in neardup("similar", "b.txt", code=5).err


def test_a_run_that_took_nothing_says_why(neardup: Neardup) -> None:
    write(neardup.folder, {"a.jsonl": '{"key": "1", "body": "words"}\n' * 2, "b.txt": prose(1)})
    printed = neardup("index", "a.jsonl").err
    assert "nothing could be indexed" in printed
    assert 'a.jsonl:1: no "text" or "html"; name the field with --text-field; the fields are: key, body' in printed
    assert neardup("index", "a.jsonl", "b.txt").err == ""
    (neardup.folder / "empty").mkdir()
    assert "no document was found" in neardup("index", "empty").err


def test_a_url_with_a_slip_is_told_how_an_index_is_named(neardup: Neardup) -> None:
    assert "https://host:9200/INDEX" in neardup("stats", "--store", "htps://host:9200/articles", code=2).err


def test_commands_that_are_named_can_be_run_as_they_stand(neardup: Neardup) -> None:
    write(neardup.folder, {"a.txt": prose(1), "broken.pdf": "%PDF-1.7"})
    hints = [neardup("index", ".", "--store", STORE).out]
    hints += [neardup(*words, "--store", STORE, code=code).err for words, code in (
        (["prune", "--dry-run"], 3), (["report"], 2)
    )]  # fmt: skip
    for hint, command in zip(hints, ("failures", "cluster", "cluster"), strict=True):
        assert f"neardup {command} --store {STORE}" in hint
    # The usual store needs no naming.
    neardup("index", ".")
    assert "--store" not in neardup("prune", "--dry-run", code=3).err
    assert "neardup index --help" in neardup("index", "--store", STORE, "--no-such", code=2).err


def test_a_store_that_is_written_promises_no_option_that_is_not_there(neardup: Neardup) -> None:
    from indexer.ingest.indexing import store_info
    from indexer.library.opening import open_store

    with open_store(neardup.folder / "collection.neardup", create=store_info("landmarks")):
        write(neardup.folder, {"a.txt": prose(1)})
        printed = neardup("index", "a.txt", code=3).err
    assert "try again when it has ended" in printed
    assert "wait longer" not in printed


def test_only_commands_that_take_a_store_are_given_one() -> None:
    name_store(STORE)
    try:
        for name, command in cli.commands.items():
            written = with_store(f"run neardup {name} again")
            takes = any("--store" in param.opts for param in command.params)
            assert takes or "--store" not in written
        assert with_store("neardup made it; was made by neardup 0.1") == "neardup made it; was made by neardup 0.1"
        once = with_store("`neardup schemes --remove x`")
        assert with_store(once) == once == f"`neardup schemes --store {STORE} --remove x`"
        assert not re.search("--store.*--store", once)
    finally:
        name_store("collection.neardup")
