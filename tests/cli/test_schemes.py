"""Secondary schemes, as a user runs them: index, list, ask, pairs, clusters, verification, statistics."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest

from indexer.schemes import registry
from tests.cli.command import Neardup, write
from tests.cli.written import changed, html, prose

STOP = ("the", "a", "of", "is", "in")
TEXTS = BASE, OTHER = prose(1, 300).split(), prose(2, 300).split()


def edited(words: list[str], every: int) -> str:
    """A version in which every n-th word is another, far enough apart that passages between stay."""
    return " ".join(f"new{place}word" if place % every == 0 else word for place, word in enumerate(words, 1))


# The Jaccard coefficient of 5-word shingles falls with each edit: 1, about 0.9, 0.7 and 0.4.
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
    folder("index", "docs", "--min-tokens", "5")
    return folder


def ids(answer: dict[str, object]) -> list[str]:
    return [Path(match["id"]).name for match in answer["matches"]]  # type: ignore[attr-defined]


def pairs_of(text: str) -> set[tuple[str, str]]:
    names = ((Path(row["left"]).name, Path(row["right"]).name) for row in csv.DictReader(io.StringIO(text)))
    return {(min(pair), max(pair)) for pair in names}


def test_schemes_are_listed(neardup: Neardup) -> None:
    listed = neardup("schemes", "--json").json["schemes"]
    assert listed[0]["name"] == "simhash-doc"
    assert {each["name"] for each in listed} == set(registry.families())
    for each in listed:
        assert each["measure"]
        assert each["bytes"] > 0
        assert each["keys"] > 0
        assert 0 < each["similarity"] <= 1
    assert {each["name"] for each in listed if each["corpus"]} == {"i-match"}
    # Thresholds as rules take them.
    near_from = {each["name"]: each["near_from"] for each in listed}
    assert (near_from["simhash-doc"], near_from["simhash"], near_from["minhash"]) == ("3bits", "3bits", "0.6")
    shown = neardup("schemes").out
    assert all(f"\n{each['name']}  {each['summary']}" in shown for each in listed)
    assert "needs neardup corpus first" in shown


def stored(neardup: Neardup, store: str = "collection.neardup") -> dict[str, int]:
    found = neardup("schemes", "--store", store, "--json").json["stored"]
    return {each["name"]: each["documents"] for each in found}


def test_a_store_remembers_its_schemes(folder: Neardup) -> None:
    assert folder("index", "docs", "--schemes", "simhash-doc", "--json").json["indexed"] == len(FILES)
    assert stored(folder) == {"simhash-doc": len(FILES) - 1}
    # What lacks the new scheme is read again, and only then.
    assert folder("index", "docs", "--scheme", "minhash", "--json").json["replaced"] == len(FILES)
    assert folder("index", "docs", "--json").json["unchanged"] == len(FILES)
    write(folder.folder, {"docs/new.txt": " ".join(BASE)})
    assert folder("index", "docs", "--scheme", "minhash", "--json").json["reused"] == 1
    assert stored(folder) == {"simhash-doc": len(FILES), "minhash": len(FILES) + 1}
    assert "documents" in folder("schemes", "--store", "collection.neardup").out
    # Other parameters are another scheme, and the first is there already.
    refused = folder("index", "docs", "--scheme", "minhash:shingle=3", code=4).err
    assert "shingle=5" in refused
    assert "shingle=3" in refused
    assert "is not a scheme" in folder("index", "docs", "--scheme", "nothing", code=2).err
    assert folder("index", "docs", "--scheme", "simhash-doc", "--json").json["unchanged"] == len(FILES) + 1
    folder("schemes", "--store", "collection.neardup", "--remove", "minhash")
    assert folder("index", "docs", "--scheme", "minhash:shingle=3", "--json").json["replaced"] == len(FILES) + 1
    assert "first scheme" in folder("schemes", "--store", "collection.neardup", "--remove", "simhash-doc", code=2).err
    assert "--remove goes with --store" in folder("schemes", "--remove", "minhash", code=2).err


def test_a_new_store_keeps_exactly_the_schemes_that_are_named(folder: Neardup) -> None:
    for number, (arguments, schemes) in enumerate(
        (
            ([], {"simhash-doc", "minhash"}),
            (["--scheme", "spotsigs"], {"simhash-doc", "minhash", "spotsigs"}),
            (["--schemes", "simhash-doc"], {"simhash-doc"}),
            (["--schemes", "simhash-doc,minhash:shingle=3,bits=4,supershingles"],
             {"simhash-doc", "minhash", "supershingles"}),
            (["--schemes", "simhash-doc", "--scheme", "spotsigs"], {"simhash-doc", "spotsigs"}),
        )
    ):  # fmt: skip
        store = f"{number}.neardup"
        folder("index", "docs/a.txt", "--store", store, *arguments)
        assert set(stored(folder, store)) == schemes, arguments
        # Later runs keep to them, also when the same ones are named.
        assert folder("index", "docs/a.txt", "--store", store, *arguments, "--json").json["unchanged"] == 1
        assert set(stored(folder, store)) == schemes
    refused = folder("index", "docs", "--store", "0.neardup", "--schemes", "simhash-doc", code=2).err
    assert "this one has simhash-doc, minhash" in refused
    assert "name it too" in folder("index", "docs", "--store", "new.neardup", "--schemes", "minhash", code=2).err
    assert (
        "is not a scheme" in folder("index", "docs", "--store", "new.neardup", "--schemes", "simhash-doc,x", code=2).err
    )
    assert not (folder.folder / "new.neardup").exists()


def test_similar_by_a_scheme(indexed: Neardup) -> None:
    found = indexed("similar", "docs/a.txt", "--match", "minhash@0.3", "--json").json
    assert ids(found)[:2] == ["a.html", "b.txt"]
    assert {"c.txt", "part.txt"} <= set(ids(found))
    assert not {"other.txt", "mixed.txt", "empty.txt"} & set(ids(found))
    assert found["rule"] == "minhash@0.3"
    assert all(match["similarity"] >= 0.3 for match in found["matches"])
    # The page has a title and a menu that the text lacks.
    assert {match["label"] for match in found["matches"]} == {"near"}
    assert [match["bits"] for match in found["matches"]][:1] == [0]
    # A stored document and a text are asked in the same way, and short forms write the same rule.
    short = indexed("similar", "--id", "docs/a.txt", "--scheme", "minhash", "--similarity", "0.3", "--json").json
    assert (short["rule"], short["matches"]) == (found["rule"], found["matches"])
    text = indexed("similar", "--text", " ".join(BASE), "--scheme", "minhash")
    assert text.out.split()[:5] == ["id", "shares", "bits", "label", "title"]
    assert "a.html" in text.out
    assert indexed("similar", "docs/empty.txt", "--scheme", "minhash", "--json", code=6).json["total"] == 0


def test_bits_of_another_simhash_are_its_own(folder: Neardup) -> None:
    folder("index", "docs", "--scheme", "simhash:bits=128", "--min-tokens", "5")
    asked = ["similar", "docs/a.txt", "--match", "simhash@12bits"]
    found = {match["id"]: match["similarity"] for match in folder(*asked, "--json").json["matches"]}
    table = [line.split() for line in folder(*asked, "--no-relation").out.splitlines()]
    assert table[0][:3] == ["id", "bits", "label"]
    assert {row[0]: int(row[1]) for row in table[1:]} == {
        name: round(128 * (1 - similarity)) for name, similarity in found.items()
    }
    assert "docs/b.txt" in found


def test_a_plan_is_explained(indexed: Neardup) -> None:
    explained = indexed("similar", "docs/a.txt", "--similarity", "0.7", "--explain", "--json")
    plan = explained.json["plan"]
    assert explained.json["rule"] == "simhash-doc@3bits/minhash@0.7+minhash@0.7"
    assert plan["rule"].startswith("simhash-doc@3bits/minhash:")
    simhash, minhash = plan["finders"]
    assert (simhash["scheme"], simhash["probes"], simhash["guaranteed"], simhash["recall"]) == (
        "simhash-doc", 16, True, 1.0,
    )  # fmt: skip
    assert minhash["scheme"].startswith("minhash:")
    assert 0.9 < minhash["recall"] < 1
    assert not minhash["guaranteed"]
    assert plan["verifier"] == "minhash@0.7"
    assert "expected to find 9" in explained.err
    assert "verified by minhash@0.7: documents that share 70% or more" in explained.err
    first = indexed("similar", "docs/a.txt", "-k", "5", "--explain").err
    assert "278 keys" in first
    assert "finds every one" in first
    assert "not verified: a simhash alone" in first


def test_wrong_use_is_explained(indexed: Neardup) -> None:
    for arguments, words in (
        (["--scheme", "spotsigs"], "has no sketches of the scheme 'spotsigs' (it has: minhash)"),
        (["--scheme", "minhash", "-k", "3"], "-k counts bits"),
        (["--similarity", "0.8", "-k", "3"], "not both"),
        (["--match", "minhash@0.6", "-k", "3"], "is complete"),
        (["--match", "minhash@0.6", "--similarity", "0.5"], "is complete"),
        (["--scheme", "simhash-doc", "--similarity", "0.5"], "within 0bits to 7bits, a similarity from 0.891"),
        (["--verify", "hamming", "--min-jaccard", "0.5"], "--verify sketch or text"),
        (["--verify", "sketch", "--min-containment", "0.5"], "sketches can't measure containment"),
        (["--scheme", "minhash", "--verify-in-engine"], "simhash-doc alone"),
        (["--match", "minhash@3bits"], "must be from 0 to 1"),
        (["--match", "simhash-doc@3"], "a number of bits"),
        (["--match", "minhsh"], "no sketches of the scheme 'minhsh'"),
        (["--match", "simhash-doc@3bits/minhash@0.5"], "needs a verifier, as in"),
    ):
        assert words in indexed("similar", "docs/a.txt", *arguments, code=2).err, arguments
    other = indexed("similar", "docs/a.txt", "--match", "minhash:shingle=3@0.6", code=4).err
    assert "which can't be compared" in other


def test_verification_throws_out_what_is_near_by_chance(indexed: Neardup) -> None:
    near = ids(indexed("similar", "docs/a.txt", "-k", "3", "--json").json)
    assert "mixed.txt" in near
    assert "mixed.txt" not in ids(indexed("similar", "docs/a.txt", "--json").json)
    for way in (["--verify", "sketch"], ["--verify", "text"], ["--min-jaccard", "0.5"]):
        verified = indexed("similar", "docs/a.txt", "-k", "3", *way, "--json").json
        assert ids(verified) == [name for name in near if name != "mixed.txt"]
    # By the scheme, and the bits of the simhash verified.
    both = ["--scheme", "minhash", "--similarity", "0.3", "--verify", "hamming", "-k", "0", "--json"]
    found = indexed("similar", "docs/a.txt", *both).json
    assert (ids(found), found["rule"]) == (["a.html"], "minhash@0.3+simhash-doc@0bits")
    # A part of a document is contained in it, and resembles it little.
    part = ["similar", "docs/part.txt", "--scheme", "minhash", "--similarity", "0.5", "--json"]
    assert "a.txt" in ids(indexed(*part, "--verify", "text", "--min-containment", "0.99").json)
    assert "a.txt" not in ids(indexed(*part, "--verify", "text", "--min-jaccard", "0.9").json)


def test_what_can_not_be_read_again_is_told(indexed: Neardup) -> None:
    (indexed.folder / "docs/a.html").unlink()
    ended = indexed("similar", "docs/a.txt", "--verify", "text", "--json")
    assert "a.html" not in ids(ended.json)
    assert "left out, since not verified: 1 document: " in ended.err
    assert "docs/a.html" in ended.err
    asked = indexed("similar", "--id", "docs/a.html", "--verify", "text", code=6)
    assert "docs/a.html: No such file" in asked.err


def test_what_lacks_a_sketch_is_counted(folder: Neardup) -> None:
    folder("index", "docs/a.txt", "docs/b.txt", "docs/empty.txt", "--schemes", "simhash-doc", "--min-tokens", "5")
    lean = folder("similar", "docs/a.txt", "--json")
    assert (lean.json["rule"], lean.json["not_comparable"]) == ("simhash-doc@3bits", 0)
    folder("index", "docs/a.html", "docs/c.txt", "--scheme", "minhash", "--min-tokens", "5")
    found = folder("similar", "docs/a.txt", "--json")
    assert (ids(found.json), found.json["not_comparable"]) == (["a.html", "c.txt"], 2)
    said = "2 documents can't be compared: no sketch of minhash is stored; neardup index or annotate adds it"
    assert said in found.err
    made = folder("cluster", "--json").json
    assert (made["documents"], made["compared"], made["not_comparable"]) == (5, 2, 2)
    assert said in folder("cluster").err
    asked = folder("similar", "--id", "docs/b.txt", code=2).err
    assert "docs/b.txt has no sketch of minhash" in asked
    # By the simhash they are found as before, and the next run adds what they lack.
    assert folder("similar", "docs/a.txt", "-k", "7", "--json").json["not_comparable"] == 0
    folder("index", "docs", "--min-tokens", "5")
    assert folder("similar", "docs/a.txt", "--json").json["not_comparable"] == 0


def test_pairs_and_clusters_by_a_scheme(indexed: Neardup) -> None:
    shown = indexed("pairs", "--match", "minhash@0.6", "--explain")
    family = {("a.html", "a.txt"), ("a.html", "b.txt"), ("a.txt", "b.txt")}
    found = pairs_of(shown.out)
    assert family <= found
    assert not {name for pair in found for name in pair} & {"mixed.txt", "other.txt", "empty.txt"}
    assert f"{len(found)} pairs by minhash@0.6" in shown.err
    assert "found by minhash@0.6" in shown.err
    exact = indexed("pairs", "--scheme", "minhash", "--similarity", "0.6", "--verify", "text", "--min-jaccard", "0.85")
    assert pairs_of(exact.out) == family
    assert ("a.txt", "mixed.txt") in pairs_of(indexed("pairs", "-k", "7").out)
    assert ("a.txt", "mixed.txt") not in pairs_of(indexed("pairs", "-k", "7", "--verify", "sketch").out)

    made = indexed("cluster", "--scheme", "minhash", "--similarity", "0.8", "--json").json
    assert (made["rule"], made["clusters"], made["clustered"]) == ("minhash@0.8", 1, 3)
    cluster = indexed("show", "docs/b.txt", "--json").json["cluster"]
    assert 0.8 <= cluster["similarity"] < 1
    again = indexed("cluster", "--match", "minhash@0.8", "--json").json
    assert again["written"] == {"documents": 0, "clusters": 0, "removed": 0}
    # By the simhash the mixed one is in; verified, it is out again.
    assert indexed("cluster", "-k", "0", "--json").json["clustered"] == 3
    checked = indexed("cluster", "-k", "0", "--min-jaccard", "0.5", "--json").json
    assert (checked["clusters"], checked["clustered"]) == (1, 2)


@pytest.mark.parametrize(
    ("scheme", "rule"),
    [
        ("spotsigs:stop=en", "spotsigs@0.5"),
        ("weighted-minhash", "weighted-minhash@0.8"),
        ("supershingles", "supershingles@0.3"),
        ("random-projection", "random-projection@0.97"),
        ("simhash:features=chars", "simhash@7bits"),
    ],
)
def test_every_command_takes_every_scheme(neardup: Neardup, scheme: str, rule: str) -> None:
    words, far = (
        [f"{STOP[place % 5]} {word}" if place % 3 == 0 else word for place, word in enumerate(each[:150])]
        for each in TEXTS
    )
    for name, text in (("one", words), ("two", [*words[:149], "other"]), ("far", far)):
        write(neardup.folder, {f"docs/{name}.txt": " ".join(text)})
    done = neardup("index", "docs", "--scheme", scheme, "--cluster", "--match", rule, "--json").json
    assert (done["new"], done["near"]) == (2, 1)
    assert ids(neardup("similar", "docs/one.txt", "--match", rule, "--json").json) == ["two.txt"]
    assert neardup("compare", "id:docs/one.txt", "docs/two.txt", "--match", rule, "--json").json["near"]
    assert pairs_of(neardup("pairs", "--match", rule).out) == {("one.txt", "two.txt")}
    against = ["--against", "collection.neardup"]
    assert ("one.txt", "two.txt") in pairs_of(neardup("pairs", "--match", rule, *against).out)
    assert neardup("cluster", "--match", rule, "--json").json["written"]["documents"] == 0
    report = neardup("report", "--format", "json").json
    # The one word that differs makes a form, or is reworded.
    assert [report[name]["documents"] for name in ("repeating", "could_go", "differ")] == [1, 0, 1]
    assert report["rule"].startswith(scheme.partition(":")[0] + ":")
    listed = neardup("prune", "--remove", "form,reworded", "--dry-run", "--json").lines
    # Which of the two is stored first is left to the workers.
    assert [line["kept"] for line in listed] == [""]
    assert Path(listed[0]["id"]).name in ("one.txt", "two.txt")
    write(neardup.folder, {"docs/three.txt": " ".join([*words[:148], "other", "words"])})
    done = neardup("index", "docs", "--skip-duplicates", "--skip", "form,reworded", "--match", rule, "--json").json
    assert done["duplicates"] == 1
    found = neardup("evaluate", "--match", rule.replace(scheme.partition(":")[0], scheme), "--json").json
    assert found["rules"][-1]["returned"] == 1


def test_statistics_come_first_where_a_scheme_needs_them(folder: Neardup) -> None:
    # In so small a collection most words are in most documents.
    wanted = "i-match:high=1.0,low=0.0"
    assert "neardup corpus" in folder("index", "docs", "--scheme", wanted, code=2).err
    made = folder("corpus", "docs", "--scheme", wanted, "--json").json
    assert made["documents"] == len(FILES)
    assert made["corpora"][0]["terms"] > 50
    folder("index", "docs", "--scheme", wanted)
    found = folder("similar", "docs/a.txt", "--scheme", "i-match", "--json").json
    assert found["rule"].startswith("i-match:")
    assert "a.html" in ids(found)
    # The rule that is remembered names the statistics, and is read again.
    folder("cluster", "--match", "i-match@0.5")
    assert folder("index", "docs", "--cluster", "--json").json["unchanged"] == len(FILES)
    assert folder("prune", "--dry-run", "--json").lines
    # What sketches rest on is not replaced under them.
    assert "--remove i-match" in folder("corpus", "--from-store", "--scheme", wanted, code=2).err
    assert "needs no statistics" in folder("corpus", "docs", "--scheme", "minhash", code=2).err
    assert "--from-store" in folder("corpus", "--scheme", wanted, code=2).err
    folder("schemes", "--store", "collection.neardup", "--remove", "i-match")
    refused = folder("prune", "--dry-run", code=3).err
    assert "which this store can't serve now" in refused
    assert folder("corpus", "--from-store", "--scheme", wanted, "--json").json["documents"] == len(FILES)


def test_a_new_store_is_made_with_the_schemes_that_are_named(neardup: Neardup) -> None:
    write(neardup.folder, {"a.txt": prose(1), "b.txt": changed(prose(1))})

    def kept(store: str) -> dict[str, str]:
        return {one["name"]: one["id"] for one in neardup("schemes", "--store", store, "--json").json["stored"]}

    wide = ["--scheme", "minhash:bands=20,rows=13"]
    neardup("index", "a.txt", "b.txt", "--store", "wide.neardup", *wide, "--scheme", "supershingles")
    assert "bands=20" in kept("wide.neardup")["minhash"]
    assert set(kept("wide.neardup")) == {"simhash-doc", "minhash", "supershingles"}
    # Again it is the same store; the name alone is the store's own.
    assert neardup("index", "a.txt", "--store", "wide.neardup", *wide, "--json").json["unchanged"] == 1
    assert neardup("index", "a.txt", "--store", "wide.neardup", "--scheme", "minhash", "--json").json["unchanged"] == 1
    neardup("index", "a.txt", "--store", "lean.neardup", "--schemes", "simhash-doc", *wide)
    assert "rows=13" in kept("lean.neardup")["minhash"]
    # What can't be made leaves no store.
    for wrong, words in (
        (["--scheme", "minhash:bands=0"], "bands"),
        (["--scheme", "none-such"], "none-such"),
        (["--scheme", "i-match"], "neardup corpus"),
        ([*wide, "--scheme", "minhash:bands=10,rows=5"], "a store has one minhash"),
        ([*wide, "--schemes", "simhash-doc,minhash:bands=10,rows=5"], "a store has one minhash"),
    ):
        assert words in neardup("index", "a.txt", "--store", "none.neardup", *wrong, code=2).err
        assert not (neardup.folder / "none.neardup").exists()
