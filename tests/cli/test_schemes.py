"""Schemes beside the first, as a user runs them: index, list, ask, pairs, clusters, verification, statistics."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest
from command import Neardup, write
from written import html, prose

BASE, OTHER = prose(1, 300).split(), prose(2, 300).split()


def edited(words: list[str], every: int) -> str:
    """A version in which every n-th word is another, far enough apart that passages between stay."""
    return " ".join(f"new{place}word" if place % every == 0 else word for place, word in enumerate(words, 1))


# The Jaccard coefficient of 5-word passages falls with each edit: 1, about 0.9, 0.7 and 0.4.
FILES = {
    "docs/a.txt": " ".join(BASE),
    "docs/a.html": html(" ".join(BASE)),
    "docs/b.txt": edited(BASE, 100),
    "docs/c.txt": edited(BASE, 30),
    "docs/d.txt": edited(BASE, 12),
    # Three quarters of the first, and nothing else.
    "docs/part.txt": " ".join(BASE[:225]),
    # The same words in another order: the same simhash, no passage in common.
    "docs/mixed.txt": " ".join(sorted(BASE)),
    "docs/other.txt": " ".join(OTHER),
    "docs/empty.txt": "",
}


@pytest.fixture
def folder(neardup: Neardup) -> Neardup:
    write(neardup.folder, FILES)
    return neardup


@pytest.fixture
def indexed(folder: Neardup) -> Neardup:
    folder("index", "docs", "--scheme", "minhash", "--min-tokens", "5")
    return folder


def ids(answer: dict[str, object]) -> list[str]:
    return [Path(match["id"]).name for match in answer["matches"]]  # type: ignore[attr-defined]


def pairs_of(text: str) -> set[tuple[str, str]]:
    names = ((Path(row["id_a"]).name, Path(row["id_b"]).name) for row in csv.DictReader(io.StringIO(text)))
    return {(min(pair), max(pair)) for pair in names}


def test_schemes_are_listed(neardup: Neardup) -> None:
    listed = neardup("schemes", "--json").json["schemes"]
    assert {"simhash-doc", "simhash", "minhash", "i-match", "spotsigs"} <= {each["name"] for each in listed}
    for each in listed:
        assert each["measure"]
        assert each["octets"] > 0
        assert each["keys"] > 0
        assert 0 < each["similarity"] <= 1
    assert {each["name"] for each in listed if each["corpus"]} == {"i-match"}
    shown = neardup("schemes").out
    assert all(f"\n{each['name']}  {each['summary']}" in shown for each in listed)


def test_a_store_remembers_its_schemes(folder: Neardup) -> None:
    assert folder("index", "docs", "--json").json["indexed"] == len(FILES)
    # What lacks the new scheme is read again, and only then.
    assert folder("index", "docs", "--scheme", "minhash", "--json").json["replaced"] == len(FILES)
    assert folder("index", "docs", "--json").json["unchanged"] == len(FILES)
    write(folder.folder, {"docs/new.txt": " ".join(BASE)})
    assert folder("index", "docs", "--scheme", "minhash", "--json").json["reused"] == 1
    stored = folder("schemes", "--store", "collection.neardup", "--json").json["stored"]
    assert [(each["name"], each["documents"]) for each in stored] == [
        ("simhash-doc", len(FILES)),
        ("minhash", len(FILES) + 1),
    ]
    assert "documents" in folder("schemes", "--store", "collection.neardup").out
    # Other parameters are another scheme, and the first is no scheme beside.
    refused = folder("index", "docs", "--scheme", "minhash:shingle=3", code=4).err
    assert "shingle=5" in refused
    assert "shingle=3" in refused
    assert "no scheme" in folder("index", "docs", "--scheme", "nothing", code=2).err
    folder("schemes", "--store", "collection.neardup", "--remove", "minhash")
    assert folder("index", "docs", "--scheme", "minhash:shingle=3", "--json").json["replaced"] == len(FILES) + 1
    assert "first scheme" in folder("schemes", "--store", "collection.neardup", "--remove", "simhash-doc", code=2).err


def test_similar_by_a_scheme(indexed: Neardup) -> None:
    found = indexed("similar", "docs/a.txt", "--scheme", "minhash", "--similarity", "0.3", "--json").json
    assert ids(found)[:2] == ["a.html", "b.txt"]
    assert {"c.txt", "part.txt"} <= set(ids(found))
    assert not {"other.txt", "mixed.txt", "empty.txt"} & set(ids(found))
    assert found["scheme"].startswith("minhash:")
    for match in found["matches"]:
        assert match["similarity"] >= max(0.3, 1 - match["distance"] / 64)
    assert [match["label"] for match in found["matches"]][:2] == ["close", "loose"]
    # A stored document and a text are asked in the same way; without --scheme the better one is chosen.
    by_id = indexed("similar", "--id", "docs/a.txt", "--similarity", "0.3", "--json", "--limit", "2").json
    assert by_id["matches"] == found["matches"][:2]
    assert by_id["total"] == found["total"]
    text = indexed("similar", "--text", " ".join(BASE), "--scheme", "minhash")
    assert "similarity" in text.out
    assert "bits" not in text.out
    assert "a.html" in text.out
    assert indexed("similar", "docs/empty.txt", "--scheme", "minhash", "--json").json["total"] == 0


def test_a_plan_is_explained(indexed: Neardup) -> None:
    explained = indexed("similar", "docs/a.txt", "--similarity", "0.7", "--explain", "--json")
    plan = explained.json["plan"]
    assert plan["scheme"].startswith("minhash")
    assert 0.9 < plan["recall"] < 1
    assert not plan["guaranteed"]
    assert "expected to find 9" in explained.err
    assert "not used: similarity 0.7: simhash-doc serves 0.891" in explained.err
    first = indexed("similar", "docs/a.txt", "-k", "5", "--explain").err
    assert "278 keys" in first
    assert "finds every one" in first


def test_wrong_use_is_explained(indexed: Neardup) -> None:
    for arguments, words in (
        (["--scheme", "spotsigs"], "has no sketches of the scheme 'spotsigs' (it has: minhash)"),
        (["--scheme", "minhash", "-k", "3"], "-k counts bits"),
        (["--similarity", "0.8", "-k", "3"], "-k counts bits"),
        (["--scheme", "simhash-doc", "--similarity", "0.5"], "simhash-doc serves 0.891"),
        (["--verify", "hamming", "--min-jaccard", "0.5"], "--verify sketch or text"),
        (["--scheme", "minhash", "--verify-in-cluster"], "--verify-in-cluster"),
    ):
        assert words in indexed("similar", "docs/a.txt", *arguments, code=2).err


def test_verification_throws_out_what_is_near_by_chance(indexed: Neardup) -> None:
    near = ids(indexed("similar", "docs/a.txt", "--json").json)
    assert "mixed.txt" in near
    for way in (["--verify", "sketch"], ["--verify", "text"], ["--min-jaccard", "0.5"]):
        assert ids(indexed("similar", "docs/a.txt", *way, "--json").json) == [n for n in near if n != "mixed.txt"]
    # By the scheme, and the bits of the simhash verified.
    both = ["--scheme", "minhash", "--similarity", "0.3", "--verify", "hamming", "-k", "0", "--json"]
    assert ids(indexed("similar", "docs/a.txt", *both).json) == ["a.html"]
    # A part of a document is contained in it, and resembles it little.
    part = ["similar", "docs/part.txt", "--scheme", "minhash", "--similarity", "0.5", "--json"]
    assert "a.txt" in ids(indexed(*part, "--verify", "text", "--min-containment", "0.99").json)
    assert "a.txt" not in ids(indexed(*part, "--verify", "text", "--min-jaccard", "0.9").json)


def test_what_can_not_be_read_again_is_told(indexed: Neardup) -> None:
    (indexed.folder / "docs/a.html").unlink()
    ended = indexed("similar", "docs/a.txt", "--verify", "text", "--json")
    assert "a.html" not in ids(ended.json)
    assert "1 documents could not be verified" in ended.err
    assert "docs/a.html" in ended.err


def test_pairs_and_clusters_by_a_scheme(indexed: Neardup) -> None:
    shown = indexed("pairs", "--scheme", "minhash", "--similarity", "0.6", "--explain")
    family = {("a.html", "a.txt"), ("a.html", "b.txt"), ("a.txt", "b.txt")}
    found = pairs_of(shown.out)
    assert family <= found
    assert not {name for pair in found for name in pair} & {"mixed.txt", "other.txt", "empty.txt"}
    assert f"{len(found)} pairs from 0.6 on by minhash" in shown.err
    assert "scheme: minhash" in shown.err
    exact = indexed("pairs", "--scheme", "minhash", "--similarity", "0.6", "--verify", "text", "--min-jaccard", "0.85")
    assert pairs_of(exact.out) == family
    assert ("a.txt", "mixed.txt") in pairs_of(indexed("pairs", "-k", "7").out)
    assert ("a.txt", "mixed.txt") not in pairs_of(indexed("pairs", "-k", "7", "--verify", "sketch").out)
    assert "--against" in indexed("pairs", "--scheme", "minhash", "--against", "collection.neardup", code=2).err

    made = indexed("cluster", "--scheme", "minhash", "--similarity", "0.8", "--json").json
    assert (made["clusters"], made["clustered"]) == (1, 3)
    cluster = indexed("show", "docs/b.txt", "--json").json["annotations"]["cluster"]
    assert 0 < cluster["distance"] <= 13
    again = indexed("cluster", "--scheme", "minhash", "--similarity", "0.8", "--json").json
    assert again["written"] == {"documents": 0, "clusters": 0, "removed": 0}
    # By the simhash the mixed one is in; verified, it is out again.
    assert indexed("cluster", "-k", "0", "--json").json["clustered"] == 3
    checked = indexed("cluster", "-k", "0", "--min-jaccard", "0.5", "--json").json
    assert (checked["clusters"], checked["clustered"]) == (1, 2)


def test_statistics_come_first_where_a_scheme_needs_them(folder: Neardup) -> None:
    # In so small a collection most words are in most documents.
    wanted = "i-match:high=1.0,low=0.0"
    assert "neardup corpus" in folder("index", "docs", "--scheme", wanted, code=2).err
    made = folder("corpus", "docs", "--scheme", wanted, "--json").json
    assert made["documents"] == len(FILES)
    assert made["corpora"][0]["terms"] > 50
    folder("index", "docs", "--scheme", wanted)
    found = folder("similar", "docs/a.txt", "--scheme", "i-match", "--json").json
    assert found["scheme"].startswith("i-match:")
    assert "a.html" in ids(found)
    # What sketches rest on is not replaced under them.
    assert "--remove i-match" in folder("corpus", "--from-store", "--scheme", wanted, code=2).err
    assert "needs no statistics" in folder("corpus", "docs", "--scheme", "minhash", code=2).err
    assert "--from-store" in folder("corpus", "--scheme", wanted, code=2).err
    folder("schemes", "--store", "collection.neardup", "--remove", "i-match")
    assert folder("corpus", "--from-store", "--scheme", wanted, "--json").json["documents"] == len(FILES)
