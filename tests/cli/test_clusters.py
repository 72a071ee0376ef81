"""`neardup pairs`, `cluster`, `prune`, and `index` with clusters, as a user runs them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from tests.cli.command import ALIKE, COMMAND, Neardup, contents, write
from tests.cli.written import changed, prose
from tests.processes import on_terminal
from tests.warm import clean_environment

USUAL = "simhash-doc@3bits/minhash@0.6+minhash@0.6"
NOTHING = {"surplus": [], "marked": 0, "unmarked": 0, "deleted": 0, "stripped": 0, "contended": 0, "outdated": 0}


def clusters(neardup: Neardup, store: str = "collection.neardup") -> dict[str, dict[str, object]]:
    shown = {}
    for name in contents(neardup, store)[0]:
        known = neardup("show", name, "--store", store, "--json").json
        shown[name] = {part: known[part] for part in ("cluster", "duplicate_of") if known[part]}
    return shown


def test_names_are_harmless_on_a_terminal(neardup: Neardup) -> None:
    lines = [{"id": f"{name}\x1b[31m", "text": prose(1)} for name in "ab"]

    neardup("index", "-", stdin="\n".join(map(json.dumps, lines)))
    _, shown = on_terminal([*COMMAND, "pairs"], "stdout", cwd=neardup.folder, env=clean_environment())
    assert "\x1b" not in shown
    assert "a\\x1b[31m" in shown


def test_cluster_writes_once(indexed: Neardup) -> None:
    tried = indexed("cluster", "--dry-run", "--json").json
    # Only what is in a cluster of two or more is written.
    assert tried["written"] == {"documents": 5, "clusters": 1, "removed": 0}
    assert tried["rule"] == USUAL
    counts = ("documents", "compared", "not_comparable", "clusters", "clustered", "largest", "split")
    assert [tried[name] for name in counts] == [8, 6, 0, 1, 5, 5, 0]
    assert clusters(indexed)["docs/a.html"] == {}
    made = indexed("cluster", "--json").json
    assert made == {**tried, "dry_run": False, "reading_seconds": made["reading_seconds"]}
    assert indexed("cluster", "--json").json["written"] == {"documents": 0, "clusters": 0, "removed": 0}
    found = clusters(indexed)
    assert len({str(found[name]["cluster"]["id"]) for name in ALIKE}) == 1  # type: ignore[index]
    assert {name for name, annotations in found.items() if annotations} == set(ALIKE)
    assert min(found[name]["cluster"]["similarity"] for name in ALIKE) > 0.9  # type: ignore[index]


def test_what_cluster_says(indexed: Neardup) -> None:
    done = indexed("cluster", "--dry-run")
    for words in ("rule       default", "8, of them 6 compared", "1, the largest of 5", "4 of them not canonical"):
        assert words in done.out
    assert "to write   5 documents, 1 cluster" in done.out
    assert "a dry run: nothing was written" in done.err
    assert "a simhash alone" not in done.err
    lean = indexed("cluster", "-k", "3")
    assert "rule       simhash-doc@3bits\n" in lean.out
    assert "a simhash alone may also join unrelated documents of one language" in lean.err
    verified = indexed("cluster", "-k", "7", "--verify", "sketch", "--explain")
    assert "verified by minhash@0.6" in verified.err
    assert "a simhash alone" not in verified.err


def test_the_user_chooses_who_is_canonical(indexed: Neardup) -> None:
    indexed("cluster", "--canonical", "source", "--prefer", "*.pdf")
    assert clusters(indexed)["docs/b.pdf"]["cluster"]["is_canonical"]  # type: ignore[index]
    indexed("cluster", "--canonical", "source", "--prefer", "*.xml", "--prefer", "*.pdf")
    assert clusters(indexed)["docs/deep/c.xml"]["cluster"]["is_canonical"]  # type: ignore[index]
    assert "is not a rule" in indexed("cluster", "--canonical", "best", code=2).err
    assert "--bound" in indexed("cluster", "-k", "5", "--bound", "3", code=2).err


def test_the_bound_says_how_far_apart_documents_may_be(indexed: Neardup) -> None:
    # near.txt is not within a hundredth of any other one.
    narrow = indexed("cluster", "--bound", "0.02", "--json").json
    assert (narrow["clusters"], narrow["clustered"], narrow["split"]) == (1, 4, 1)
    assert indexed("cluster", "--bound", "1", "--json").json["clustered"] == 5


def test_clusters_that_were_left_unfinished_are_told_of(indexed: Neardup) -> None:
    from indexer import open_store
    from indexer.model import ClusteringNote

    indexed("cluster")
    for note, said in (
        (ClusteringNote("minhash@0.6", finished=False), "was not finished"),
        (None, "don't say by which"),
    ):
        with open_store(indexed.folder / "collection.neardup") as store:
            store.put_clustering_note(note)
        for command in (["prune"], ["prune", "--dry-run"], ["report"]):
            refused = indexed(*command, code=3).err
            assert said in refused
            assert "run neardup cluster again" in refused
        write(indexed.folder, {"docs/later.txt": changed(prose(1), 50)})
        done = indexed("index", "docs", "--cluster")
        assert "each in a cluster of its own" in done.err
        assert said in done.err
        assert clusters(indexed)["docs/later.txt"] == {}
        indexed("delete", "docs/later.txt")
    indexed("cluster")
    # A sentence of near.txt has a word more, so it stays.
    assert indexed("prune", "--json").json["marked"] == 3


def test_a_form_is_erased_only_where_it_is_asked_for(neardup: Neardup) -> None:
    letter = prose(1, 80) + " Please pay by {} the sum of {} EUR. " + prose(2, 80)
    write(neardup.folder, {
        "docs/a.txt": letter.format("1 May 2024", "95.50"),
        "docs/again.txt": letter.format("1 May 2024", "95.50").replace(". ", ". — "),
        "docs/form.txt": letter.format("2 May 2024", "120.00"),
    })  # fmt: skip
    neardup("index", "docs")
    asked = ("delete", "--copies-of", "docs/a.txt", "--similarity", "0.6", "--dry-run")
    done = neardup(*asked, "--json").json
    assert [(one["id"], one["relation"]) for one in done["documents"]] == [
        ("docs/a.txt", ""), ("docs/again.txt", "reflowed"),
    ]  # fmt: skip
    assert done["stays"] == {"facts differ (forms)": 1}
    told = neardup(*asked)
    assert "near, and not deleted: 1 document: facts differ (forms)" in told.err
    assert "docs/form.txt: form: 2 facts differ" in told.err
    for way in (["--remove", "identical,reflowed,form"], ["--verify", "sketch"]):
        assert len(neardup(*asked, *way, "--json").json["documents"]) == 3
    # What can't be read is not verified.
    (neardup.folder / "docs/again.txt").unlink()
    assert neardup(*asked, "--json").json["stays"]["not verified"] == 1
    for wrong in (["--remove", "form", "--verify", "sketch"], ["--remove", "part"], ["--remove", "odd"]):
        neardup(*asked, *wrong, code=2)
    neardup("delete", "--copies-of", "docs/a.txt", "--dry-run", "--remove", "form", code=2)


def test_a_text_is_erased_with_its_copies(indexed: Neardup) -> None:
    before = contents(indexed)
    same = ["docs/a.html", "docs/b.pdf", "docs/deep/c.xml", "docs/deep/d.txt"]
    listed = indexed("delete", "--copies-of", "docs/a.html", "--dry-run")
    assert listed.out.splitlines() == [
        "docs/a.html  as named",
        *(f"{name}  has the text of docs/a.html; reflowed" for name in same[1:]),
    ]
    for name in same:
        assert f"still holds the text: {indexed.folder}/{name}\n" in listed.err
    # The empty one, and the one that could not be read.
    assert "1 stored without text or sketch and 1 that failed" in listed.err
    # What widens or confirms it is taken from the command line alone.
    (indexed.folder / "neardup.toml").write_text("similarity = 0.5\nmatch = 'simhash-doc@7bits'\n")
    again = indexed("delete", "--copies-of", "docs/a.html", "--dry-run", NEARDUP_DELETE_SIMILARITY="0.1")
    assert again.out == listed.out
    (indexed.folder / "neardup.toml").unlink()
    near = indexed("delete", "--copies-of", "docs/a.html", "--dry-run", "--similarity", "0.6").out.splitlines()
    # It is reworded, so it stays.
    assert [line.partition("  ")[0] for line in near] == same
    assert "4 documents" in indexed("delete", "--copies-of", "docs/a.html", code=2, NEARDUP_DELETE_YES="1").err
    assert "--copies-of" in indexed("delete", "docs/a.html", "--yes", code=2).err
    assert indexed("delete", "docs/a.html", "--dry-run").out == "docs/a.html\n"
    assert "--copies-of" in indexed("delete", "docs/a.html", "--copies-of", "docs/a.html", code=2).err
    assert "5 documents" in indexed("delete", "--copies-of", "no", "--copies-of", "docs/near.txt", "--copies-of",
                                    "docs/b.pdf", "--dry-run", code=5).err  # fmt: skip
    assert contents(indexed) == before
    (indexed.folder / "docs/b.pdf").unlink()
    gone = indexed("delete", "--copies-of", "docs/a.html", "--yes", "--json").json
    assert (gone["deleted"], gone["not_compared"], gone["failures"]) == (4, 1, 1)
    assert [one["id"] for one in gone["documents"]] == same
    assert [bool(one["left"]) for one in gone["documents"]] == [True, False, True, True]
    assert set(contents(indexed)[0]) == set(before[0]) - set(same)


def test_prune_marks_lists_and_deletes_only_when_told(indexed: Neardup) -> None:
    assert "neardup cluster" in indexed("prune", "--dry-run", code=3).err
    indexed("cluster", "--canonical", "source", "--prefer", "*.pdf")
    before = contents(indexed)
    listed = indexed("prune", "--dry-run", "--json").lines
    surplus = sorted(set(ALIKE) - {"docs/b.pdf", "docs/near.txt"})
    assert sorted(line["id"] for line in listed) == sorted([*surplus, "docs/near.txt"])
    assert {line["repeats"] for line in listed} == {"docs/b.pdf"}
    kept = {line["id"]: line["kept"] for line in listed if line["kept"]}
    assert list(kept) == ["docs/near.txt"]
    # In a page and a PDF a word more may come from the format; it stays all the same.
    assert kept["docs/near.txt"].startswith("rendition: ")
    assert {line["id"] for line in listed if line["similarity"] == 1} == set(surplus)
    plain = indexed("prune", "--dry-run")
    assert "docs/deep/c.xml  is identical with docs/b.pdf\n" in plain.out
    # What was left out of the page is read as well, and the others lack it.
    assert "docs/a.html  shares 100% with docs/b.pdf; reflowed\n" in plain.out
    assert "a dry run: 3 documents" in plain.err
    assert "2 identical and 1 near, the least similar shares 100%" in plain.err
    same = indexed("prune", "--remove", "identical", "--dry-run", "--json").lines
    assert {line["id"]: line["identical"] for line in same} == {
        name: name.startswith("docs/deep/") for name in (*surplus, "docs/near.txt")
    }
    assert [line["kept"] for line in same if line["id"] == "docs/near.txt"] == [
        "its text is not identical with that of docs/b.pdf"
    ]
    assert "duplicate_of" not in str(clusters(indexed))
    assert indexed("prune", "--json").json == {**NOTHING, "marked": 3}
    assert indexed("prune", "--json").json == NOTHING
    assert {
        name for name, annotations in clusters(indexed).items() if annotations.get("duplicate_of") == "docs/b.pdf"
    } == set(surplus)
    assert contents(indexed) == before
    # Nobody there to be asked: nothing is deleted, neither by the environment.
    refused = indexed("prune", "--delete", code=2, NEARDUP_PRUNE_YES="1")
    assert "3 of 8 documents" in refused.err
    indexed("prune", NEARDUP_PRUNE_DELETE="1")
    assert contents(indexed) == before
    gone = indexed("prune", "--delete", "--yes", "--json")
    assert gone.json == {**NOTHING, "deleted": 3}
    assert "3 of 8 documents" in gone.err
    assert set(contents(indexed)[0]) == set(before[0]) - set(surplus)
    # The cluster has two documents now.
    assert indexed("cluster", "--json").json["written"] == {"documents": 2, "clusters": 1, "removed": 0}


def test_prune_leaves_what_is_no_longer_true(indexed: Neardup) -> None:
    write(indexed.folder, {f"docs/more-{number}.txt": prose(1) for number in range(2)})
    indexed("index", "docs")
    indexed("cluster", "--canonical", "source", "--prefer", "*.pdf")
    indexed("prune")
    write(indexed.folder, {"docs/near.txt": prose(77)})
    indexed("index", "docs")
    indexed("delete", "docs/b.pdf")
    listed = indexed("prune", "--dry-run", "--json").lines
    assert [line["kept"][:29] for line in listed] == ["the document it repeats is go"] * 5
    plain = indexed("prune", "--dry-run")
    assert plain.out == ""
    # Why, with a few examples; --json has them all.
    assert "kept: 5 documents: the repeated document is gone or goes itself, such as\n" in plain.err
    assert plain.err.count("neardup:   docs/") == 3
    assert "5 documents will be kept all the same" in plain.err
    assert indexed("prune", "--json").json == {**NOTHING, "unmarked": 5}
    gone = indexed("prune", "--delete", "--yes", "--json")
    assert gone.json == NOTHING
    assert "5 others will be kept all the same, --dry-run says why" in gone.err


def test_an_embedded_store_has_no_documents_of_an_owner(indexed: Neardup) -> None:
    indexed("cluster")
    assert (
        "--with-documents is for an index in a search engine"
        in indexed("prune", "--with-documents", "--dry-run", code=2).err
    )
    assert "--with-documents goes with --delete or --dry-run" in indexed("prune", "--with-documents", code=2).err
    assert (
        "--ignore-field goes with --with-documents"
        in indexed("prune", "--delete", "--ignore-field", "date", code=2).err
    )


def test_what_a_simhash_alone_calls_near_is_verified_unless_told(indexed: Neardup) -> None:
    write(indexed.folder, {"docs/sorted.txt": " ".join(sorted(prose(1).split()))})
    indexed("index", "docs")
    indexed("cluster", "-k", "3", "--canonical", "source", "--prefer", "*.pdf")
    assert clusters(indexed)["docs/sorted.txt"]["cluster"]["similarity"] == 1  # type: ignore[index]
    # Verified, the one with the same words in another order is kept, and it is said why.
    for way, why in (("sketch", "with docs/b.pdf, and minhash@0.6 is demanded"), ("text", ", beside docs/b.pdf")):
        listed = indexed("prune", "--verify", way, "--dry-run", "--json").lines
        kept = {line["id"]: line["kept"] for line in listed if line["kept"]}
        assert list(kept) == ["docs/near.txt", "docs/sorted.txt"][way == "sketch" :]
        assert kept["docs/sorted.txt"].endswith(why)
    assert indexed("prune", "--delete", "--yes", "--json").json == {**NOTHING, "deleted": 3}
    assert set(contents(indexed)[0]) >= {"docs/b.pdf", "docs/sorted.txt"}
    assert indexed("prune", "--unverified", "--delete", "--yes", "--json").json == {**NOTHING, "deleted": 2}
    # Neither the environment nor a file of settings says so.
    write(indexed.folder, {"docs/sorted.txt": " ".join(sorted(prose(1).split())) + " "})
    indexed("index", "docs")
    indexed("cluster", "-k", "3")
    for setting in ("UNVERIFIED", "FORMS", "EDITED"):
        indexed("prune", "--delete", "--yes", **{f"NEARDUP_PRUNE_{setting}": "1"})
        assert set(contents(indexed)[0]) >= {"docs/b.pdf", "docs/sorted.txt"}


def test_settings_do_not_delete(indexed: Neardup) -> None:
    indexed("cluster")
    (indexed.folder / "neardup.toml").write_text("[prune]\ndelete = true\nyes = true\n")
    indexed("prune", code=2)
    assert len(contents(indexed)[0]) == 8


def test_a_reader_who_goes_away_ends_the_stream(neardup: Neardup) -> None:
    write(neardup.folder, {f"docs/{number:03d}.txt": prose(1) for number in range(150)})
    neardup("index", "docs")
    script = f"{sys.executable} -m indexer pairs | head -1; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(
        ["bash", "-c", script], cwd=neardup.folder, env=clean_environment(), capture_output=True, timeout=60
    )
    assert done.stdout.startswith(b"left,right,similarity,bits,")
    assert done.stdout.count(b"\n") == 1
    assert done.returncode == 141
    assert Path(neardup.folder / "collection.neardup").exists()


def test_only_what_is_identical_is_deleted(neardup: Neardup) -> None:
    paid = prose(3) + "\n\nInvoice 17: 3 boxes, 41.50 in all."
    write(
        neardup.folder,
        {
            "a.txt": paid,
            "b.txt": paid.upper().replace(" ", "  "),
            "c.txt": paid.replace("41.50", "42.50"),
        },
    )
    neardup("index", ".", "--cluster")
    [hit] = [each for each in neardup("similar", "a.txt", "--json").json["matches"] if each["id"] == "b.txt"]
    assert (hit["identical"], hit["label"]) == (True, "identical")
    labels = {each["id"]: each["label"] for each in neardup("similar", "--id", "a.txt", "--json").json["matches"]}
    assert labels == {"b.txt": "identical", "c.txt": "near"}
    assert "identical" in neardup("compare", "id:a.txt", "b.txt").out
    assert neardup("compare", "a.txt", "c.txt", "--json").json["identical"] is False
    assert "yes, except for case" not in neardup("compare", "a.txt", "c.txt").out
    neardup("prune", "--remove", "identical", "--delete", "--yes")
    left = set(contents(neardup)[0])
    assert "c.txt" in left
    assert len(left) == 2


def test_only_what_is_identical_goes_where_that_is_asked_for(neardup: Neardup) -> None:
    write(neardup.folder, {"a.txt": prose(3), "b.txt": prose(3), "c.txt": prose(3) + "\n\nMore."})
    # The canonical document is the earliest one, by the second in which a worker was done with it.
    for names in (("a.txt", "b.txt"), ("c.txt",)):
        neardup("index", *names, "--schemes", "simhash-doc", "--cluster")
    assert neardup("prune", "--remove", "identical", "--delete", "--yes", "--json").json["deleted"] == 1
    assert len(contents(neardup)[0]) == 2


def test_a_plain_cluster_goes_by_the_rule_that_is_remembered(indexed: Neardup) -> None:
    assert " now" not in indexed("cluster", "--similarity", "0.4", "--canonical", "longest").err
    same = indexed("cluster", "--json")
    assert "0.4" in same.json["rule"]
    assert same.json["written"] == {"documents": 0, "clusters": 0, "removed": 0}
    assert "the canonical rule was longest and is earliest now" in indexed("cluster", "--canonical", "earliest").err
    assert same.json["changed"] == ""
    changed_rule = indexed("cluster", "--match", "minhash@0.8", "--json")
    assert "and is minhash@0.8 now" in changed_rule.json["changed"]
    assert changed_rule.json["changed"] in changed_rule.err
    assert indexed("cluster", "--json").json["rule"] == "minhash@0.8"
