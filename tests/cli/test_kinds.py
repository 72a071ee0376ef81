"""Stores of a kind of texts: what is said once holds for every command, and a store stays of its kind."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

import indexer
from indexer.errors import IncompatibleStoreError, UsageError
from indexer.matching.rule import default_rule, parse_rule, verified_text
from indexer.model.kinds import DOCUMENTS, KINDS
from indexer.schemes import registry
from tests.cli.command import Neardup
from tests.cli.written import prose

TITLES = {
    "senate": "Senate passes new bill on clean water in western states",
    "senate-2": "Senate passes big bill on clean water in western states",
    "shoe": "Kestrel running shoe, black, size 42",
    "shoe-43": "Kestrel running shoe, black, size 43",
    "shoe-2": "Kestrel runing shoe black size 42",
    "shirt": "Blue cotton shirt",
    "shirt-2": "blue coton shirt",
    "other": "Museum of modern art opens again after repairs",
}
NEAR = {frozenset(pair) for pair in (("senate", "senate-2"), ("shoe", "shoe-2"), ("shirt", "shirt-2"))}


def write(folder: Path) -> None:
    lines = [json.dumps({"id": name, "text": text}) + "\n" for name, text in TITLES.items()]
    (folder / "titles.jsonl").write_text("".join(lines), "utf-8")


def test_each_kind_is_whole() -> None:
    for name, kind in KINDS.items():
        assert kind.name == name
        families = {registry.scheme(each).family for each in kind.schemes}
        assert families | {"simhash-doc"} >= set(parse_rule(kind.rule).schemes)
    assert KINDS[DOCUMENTS].rule == verified_text() == default_rule().written()
    assert KINDS[DOCUMENTS].min_tokens == 20


def test_short_texts_are_compared_by_their_words_in_every_command(neardup: Neardup) -> None:
    write(neardup.folder)
    done = neardup("index", "titles.jsonl", "--kind", "short", "--json").json
    assert (done["indexed"], done["short"]) == (len(TITLES), 0)
    assert neardup("stats", "--json").json["made_with"]["kind"] == "short"
    assert "for short" in neardup("stats").out
    assert {frozenset((each["left"], each["right"])) for each in neardup("pairs", "--format", "jsonl").lines} == NEAR
    asked = neardup("similar", "--text", "blue cotton shirts", "--explain", "--json")
    assert [each["id"] for each in asked.json["matches"]] == ["shirt"]
    assert "short-text:words=100@0.65" in asked.json["plan"]["rule"]
    assert "too few" not in asked.err
    assert neardup("cluster", "--json").json["clusters"] == 3
    # What is left of a word that is misspelt is a fact of a short text, and no twin is near.
    assert all(each["kept"] for each in neardup("prune", "--dry-run", "--json").lines)
    assert "short-text" in neardup("doctor").out
    assert neardup("index", "titles.jsonl", "--json").json["unchanged"] == len(TITLES)


@pytest.mark.parametrize(("first", "then"), [("the ", ""), ("", "the "), ("", "new ")])
def test_no_title_goes_for_one_with_a_word_more_or_less(neardup: Neardup, first: str, then: str) -> None:
    titles = [
        {"id": f"{place}", "text": f"minister resigns over {word}tax scandal"}
        for place, word in enumerate((first, then))
    ]
    (neardup.folder / "two.jsonl").write_text("".join(f"{json.dumps(title)}\n" for title in titles))
    neardup("index", "two.jsonl", "--kind", "short", "--store", "two.neardup")
    assert neardup("cluster", "--store", "two.neardup", "--json").json["clusters"] == 1
    said = neardup("prune", "--dry-run", "--store", "two.neardup", "--json").lines
    assert [each["kept"].partition(":")[0] for each in said] == ["reworded"]


def test_pages_with_misread_letters_are_near_as_scans_and_not_as_documents(neardup: Neardup) -> None:
    page = prose(1, 300)
    draw = random.Random(1)
    (neardup.folder / "pages").mkdir()
    for name, text in (
        ("printed.txt", page),
        ("scanned.txt", "".join(draw.choice("lioae") if draw.random() < 0.04 else letter for letter in page)),
        ("other.txt", prose(2, 300)),
    ):
        (neardup.folder / "pages" / name).write_text(text, "utf-8")
    done = neardup("index", "pages", "--id-from", "name", "--kind", "scans", "--store", "s.neardup", "--json").json
    assert done["indexed"] == 3
    made_with = neardup("stats", "--store", "s.neardup", "--json").json["made_with"]
    assert made_with["kind"] == "scans"
    listed = neardup("similar", "pages/printed.txt", "--store", "s.neardup", "--explain", "--json")
    assert [each["id"] for each in listed.json["matches"]] == ["scanned.txt"]
    assert "passages:features=letters,shingle=12,window=64@0.25" in listed.json["plan"]["rule"]
    # A page may stand in a longer scan, so nothing goes by this rule; whole documents are compared by another one.
    assert neardup("cluster", "--store", "s.neardup", "--json").json["clusters"] == 1
    refused = neardup("prune", "--store", "s.neardup", "--dry-run", code=UsageError.exit_code)
    assert "which are no copies" in refused.err
    assert "minhash@0.6" in refused.err
    assert neardup("cluster", "--store", "s.neardup", "--match", "minhash@0.6", "--json").json["clusters"] == 0
    neardup("index", "pages", "--id-from", "name", "--store", "d.neardup")
    assert neardup("similar", "pages/printed.txt", "--store", "d.neardup", "--json").json["matches"] == []


@pytest.mark.parametrize(
    ("made", "asked"),
    [("short", "documents"), ("documents", "short"), ("scans", "documents"), ("documents", "scans")],
)
def test_a_store_of_another_kind_is_refused_by_a_sentence(neardup: Neardup, made: str, asked: str) -> None:
    write(neardup.folder)
    neardup("index", "titles.jsonl", "--kind", made)
    refused = neardup("index", "titles.jsonl", "--kind", asked, code=IncompatibleStoreError.exit_code)
    assert f"kind of texts {made} in the store, {asked} asked for" in refused.err


def test_a_batch_of_short_texts(neardup: Neardup) -> None:
    write(neardup.folder)
    neardup("batch", "sketch", "titles.jsonl", "--out", "batch", "--kind", "short")
    assert neardup("batch", "cluster", "batch", "--out", "clusters", "--json").json["clusters"] == 3
    neardup("batch", "load", "batch", "--store", "loaded.neardup", "--clusters", "clusters")
    assert neardup("stats", "--store", "loaded.neardup", "--json").json["made_with"]["kind"] == "short"
    neardup("batch", "sketch", "titles.jsonl", "--out", "batch", code=IncompatibleStoreError.exit_code)


def test_a_program_says_the_kind_once(tmp_path: Path) -> None:
    with indexer.open(tmp_path / "s.neardup", kind="short") as collection:
        assert collection.add_many(TITLES.items()).short == 0
        assert {frozenset((pair.left, pair.right)) for pair in collection.iter_pairs()} == NEAR
        assert [match.id for match in collection.similar("Kestrel running shoe black size 43")] == ["shoe-43"]
    with indexer.open(tmp_path / "s.neardup") as again:
        assert again.stats().made_with["kind"] == "short"
        assert {match.id for match in again.similar(TITLES["shirt"], at_least=0.5)} == {"shirt", "shirt-2"}
    with pytest.raises(UsageError, match="a store stays of one kind"):
        indexer.open(tmp_path / "s.neardup", kind="documents")
    with pytest.raises(UsageError, match="there is no kind of texts 'long'"):
        indexer.open(tmp_path / "other.neardup", kind="long")  # type: ignore[arg-type]
    assert not (tmp_path / "other.neardup").exists()


def test_the_usual_store_says_nothing_of_a_kind(tmp_path: Path) -> None:
    """A store of documents is the same file as before there were kinds."""
    with indexer.open(tmp_path / "d.neardup") as collection:
        collection.add("a", prose(1))
        assert collection.stats().made_with["kind"] == DOCUMENTS
    import sqlite3

    with sqlite3.connect(tmp_path / "d.neardup") as file:
        assert {name for (name,) in file.execute("SELECT name FROM meta")} == {
            "content", "extractor", "unicode", "version",
        }  # fmt: skip
