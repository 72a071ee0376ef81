"""`neardup evaluate` on files, on a store and on a truth of the user's."""

from __future__ import annotations

import json
import random

from indexer.library.collection import open as open_collection
from indexer.matching.evaluation.judging import read_rule
from tests.cli.command import Neardup, write
from tests.cli.written import prose
from tests.judged import judgments_of

WORDS = [
    a + b + c
    for a in ("lo", "va", "nem", "tri")
    for b in ("kat", "dor", "sil", "mun", "pes")
    for c in ("a", "os", "in")
]


def write_families(neardup: Neardup) -> None:
    """Three families of texts: a first one, and three versions with some words replaced."""
    folder = neardup.folder / "docs"
    folder.mkdir()
    chance = random.Random(11)
    for family in range(3):
        base = [chance.choice(WORDS) + chance.choice(WORDS) for _ in range(200)]
        for version in range(4):
            words = [chance.choice(WORDS) if chance.random() < 0.006 * version else word for word in base]
            (folder / f"{family}-{version}.txt").write_text(" ".join(words), "utf-8")


def test_documents_against_exact_jaccard(neardup: Neardup) -> None:
    write_families(neardup)
    found = neardup("evaluate", "--documents", "docs", "--json", "--picture", "curves.svg").json
    assert found["documents"] == 12
    assert sum(band["pairs"] for band in found["bands"]) <= 18
    assert [str(read_rule(each["rule"])) for each in found["rules"]] == [
        "simhash-doc@3bits/minhash@0.6+minhash@0.6",
        "simhash-doc@3bits",
        "simhash-doc@7bits",
        "simhash-doc@7bits+minhash@0.6",
        "minhash@0.6",
    ]
    minhash = found["rules"][-1]
    assert minhash["precision"] == 1.0
    assert minhash["recall"] == 1.0
    [finder] = minhash["finders"]
    assert finder["scheme"].startswith("minhash:")
    assert "<svg" in (neardup.folder / "curves.svg").read_text("utf-8")


def test_relations_of_the_pairs_that_rules_return(neardup: Neardup) -> None:
    write_families(neardup)
    for version in range(4):
        text = (neardup.folder / "docs" / "0-0.txt").read_text("utf-8")
        (neardup.folder / "docs" / f"bill-{version}.txt").write_text(f"Sum: {version}7.50 EUR. {text[::-1]}", "utf-8")
    found = neardup("evaluate", "--documents", "docs", "--match", "minhash@0.6", "--json").json["rules"][0]
    assert sum(found["relations"].values()) == found["returned"]
    assert found["relations"]["form"] >= 6
    shown = neardup("evaluate", "--documents", "docs", "--match", "minhash@0.6").out
    said = ", ".join(f"{count} {word}" for word, count in found["relations"].items())
    assert f"of these, by their texts: {said}" in shown


def test_a_store_s_own_documents(neardup: Neardup) -> None:
    write_families(neardup)
    neardup("index", "docs")
    (neardup.folder / "docs" / "0-0.txt").unlink()
    shown = neardup("evaluate", "--schemes", "minhash", "--sample", "9").out
    assert shown.splitlines()[-1].startswith("minhash@0.6 ")
    found = neardup("evaluate", "--schemes", "minhash", "--json").json
    assert found["documents"] == 11
    assert found["notes"] == ["left out: 1 document (unreadable)"]


def test_parts_by_the_schemes_of_the_store(neardup: Neardup) -> None:
    write_families(neardup)
    neardup("index", "docs", "--scheme", "passages:window=16")
    shown = neardup("evaluate", "--parts").out.splitlines()
    heading = next(number for number, line in enumerate(shown) if "misread" in line)
    assert shown[heading].split() == ["rule", "words", "misread", "found", "first", "wrong", "candidates"]
    assert shown[heading + 1].split()[:3] == ["default", "100", "0%"]
    found = neardup("evaluate", "--parts", "--json").json["rules"]
    assert [str(read_rule(each["rule"])) for each in found][1:] == ["passages:window=16@0.5", "passages:window=16@0.25"]
    assert all(each["parts"][0]["found"] == 1 for each in found[1:])
    # No text has 300 words.
    assert {part["words"] for each in found for part in each["parts"]} == {100}
    assert neardup("evaluate", "--json").json["rules"][0]["parts"] == []


def test_a_truth_of_groups_and_one_of_pairs(neardup: Neardup) -> None:
    write_families(neardup)
    names = [f"{family}-{version}.txt" for family in range(3) for version in range(4)]
    groups = [json.dumps({"id": name, "group": name[0], "path": f"docs/{name}"}) for name in names]
    (neardup.folder / "groups.jsonl").write_text("\n".join(groups), "utf-8")
    found = neardup("evaluate", "groups.jsonl", "--schemes", "minhash@0.3", "--json").json
    assert (found["documents"], found["wanted"], found["truth"]) == (12, 18, "pairs of groups.jsonl")
    assert found["rules"][0]["precision"] == 1.0
    pairs = [{"a": "docs/0-0.txt", "b": "docs/0-1.txt"}, {"a": "docs/0-0.txt", "b": "gone.txt"}]
    (neardup.folder / "pairs.jsonl").write_text("\n".join(map(json.dumps, pairs)), "utf-8")
    found = neardup("evaluate", "pairs.jsonl", "--documents", "docs", "--schemes", "minhash", "--json").json
    assert found["wanted"] == 1
    assert found["rules"][0]["recall"] == 1.0
    assert found["notes"] == ["left out: 1 pair of pairs.jsonl, with a document that is not here"]


def test_judgments_of_a_sample(neardup: Neardup) -> None:
    write(neardup.folder, {f"docs/{number}.txt": prose(number % 40) + " " * number for number in range(110)})
    neardup("index", "docs")
    neardup("cluster", "--relation")
    with open_collection(neardup.folder / "collection.neardup", read_only=True) as collection:
        text = judgments_of(collection.store, lambda name: name != "docs/99.txt", 70)
    (neardup.folder / "judgments.json").write_text(text)
    shown = neardup("evaluate", "--judgments", "judgments.json").out.splitlines()
    assert shown[0].startswith("70 judgments of a sample of 70, drawn from the 70 documents")
    assert shown[1] == "of all, 70 documents, 98.6% are right (98.6% to 98.6% with a confidence of 95%)"
    found = neardup("evaluate", "--judgments", "judgments.json", "--json", "--precision", "0.99").json
    assert (found["judged"], found["fits"], found["wanted"]) == (70, None, 0.99)
    assert [each["documents"] for each in found["shares"]] == [70] * 10
    for option in (["--sample", "9"], ["--alike", "0.7"], ["--jobs", "2"], ["--match", "minhash"]):
        done = neardup("evaluate", "--judgments", "judgments.json", *option, code=2)
        assert f"{option[0]} does nothing with --judgments" in done.err


def test_what_can_not_be_measured(neardup: Neardup) -> None:
    (neardup.folder / "one.txt").write_text("alone", "utf-8")
    assert "at least two" in neardup("evaluate", "--documents", "one.txt", code=2).err
    assert "is not a scheme" in neardup("evaluate", "--schemes", "magic", "--documents", "one.txt", code=2).err
    assert "can't be read" in neardup("evaluate", "none.jsonl", "--documents", "one.txt", code=2).err
    assert "above alike" in neardup("evaluate", "--right", "0.9", "--documents", "one.txt", code=2).err


def test_each_line_of_a_stored_file_is_a_document(neardup: Neardup) -> None:
    chance = random.Random(5)
    texts = [" ".join(chance.sample(some, 25)) for some in (WORDS[:30], WORDS[30:])]
    lines = [json.dumps({"id": str(number), "text": text}) for number, text in enumerate(texts)]
    (neardup.folder / "all.jsonl").write_text("\n".join(lines), "utf-8")
    neardup("index", "all.jsonl")
    expected = neardup("evaluate", "--documents", "all.jsonl", "--schemes", "minhash", "--json").json
    (neardup.folder / "truth.jsonl").write_text(
        "\n".join(json.dumps({"id": str(number), "group": None, "path": "all.jsonl"}) for number in range(2)), "utf-8"
    )
    assert expected["bytes"] == sum(map(len, texts))
    # A rule of which no store has anything.
    neardup("evaluate", "--documents", "all.jsonl", "--match", "simhash@0.89+minhash@0.7")
    for asked in ([], ["truth.jsonl"]):
        found = neardup("evaluate", *asked, "--schemes", "minhash", "--json").json
        assert (found["documents"], found["bytes"]) == (2, expected["bytes"])
        assert sum(band["pairs"] for band in found["bands"]) == 0
    one = neardup("corpus", "--scheme", "i-match", "--from-store", "--json").json
    other = neardup("corpus", "--scheme", "i-match", "--store", "other.neardup", "all.jsonl", "--json").json
    assert one == other
    (neardup.folder / "all.jsonl").unlink()
    assert "left out: unreadable 2" in neardup("evaluate", code=2).err
    assert "unreadable (2)" in neardup("corpus", "--scheme", "i-match", "--from-store", code=3).err


def test_fields_are_those_of_a_store_in_a_cluster(neardup: Neardup) -> None:
    write_families(neardup)
    neardup("index", "docs")
    assert "only a store in a search engine" in neardup("evaluate", "--field", "body", code=2).err
    assert "documents have none" in neardup("evaluate", "--field", "body", "--documents", "docs", code=2).err
