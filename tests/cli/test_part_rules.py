"""The commands with a rule of parts: what they show, and what they refuse."""

from __future__ import annotations

import json

from indexer.schemes.testing import document
from tests.cli.command import Neardup, write

CHAPTERS = [document(seed, 1000) for seed in range(12)]
RULE = "passages@0.3"


def test_similar_shows_both_shares(neardup: Neardup) -> None:
    (neardup.folder / "docs").mkdir()
    (neardup.folder / "docs/book.txt").write_text(" ".join(CHAPTERS))
    (neardup.folder / "docs/other.txt").write_text(document(99, 500))
    (neardup.folder / "chapter.txt").write_text(CHAPTERS[5])
    neardup("index", "docs", "--scheme", "passages")
    heading, row = neardup("similar", "chapter.txt", "--match", RULE).out.splitlines()[:2]
    assert "of query" in heading
    assert "of match" in heading
    assert "bits" not in heading
    assert "contains" in row
    [match] = neardup("similar", "chapter.txt", "--match", RULE, "--json").json["matches"]
    assert match["label"] == "contains"
    assert match["of_query"] == match["similarity"] > 0.9
    assert match["of_match"] < 0.1
    # By the default rule nothing is near, but what holds it is named.
    err = neardup("similar", "chapter.txt").err
    assert "by the default rule, but docs/book.txt contains it" in err
    assert "--match passages@0.5" in err
    # A text that quotes it has less than half from there.
    quoting = f"{document(95, 200)} {' '.join(CHAPTERS[5].split()[:150])}"
    err = neardup("similar", "--text", "-", stdin=quoting).err
    assert "docs/book.txt shares parts of it" in err
    assert "--match passages@0.25" in err
    assert "contains it" not in neardup("similar", "chapter.txt", "--similarity", "0.6").err
    assert "contains it" not in neardup("similar", "--hash", "sd1-aaaaaaaaaaaaa").err
    assert "finds parts" in neardup("similar", "chapter.txt", "--match", RULE, "--explain").err
    assert "clusters of parts" in neardup("cluster", "--match", RULE).err
    assert "parts" in neardup("prune", "--dry-run", code=2).err
    neardup("report", "--output", "report.html")
    assert "clusters of parts" in (neardup.folder / "report.html").read_text()


def test_a_rule_that_a_new_store_can_t_serve_makes_none(neardup: Neardup) -> None:
    (neardup.folder / "docs").mkdir()
    (neardup.folder / "docs/book.txt").write_text(CHAPTERS[0])
    skip = ("index", "docs", "--skip-duplicates", "--match")
    for more in ((), ("--scheme", "passages")):
        assert "also finds parts" in neardup(*skip, RULE, *more, code=2).err
    assert "index with --scheme supershingles" in neardup(*skip, "supershingles", code=2).err
    assert "needs the statistics of a corpus" in neardup("index", "docs", "--cluster", "--match", "i-match", code=2).err
    assert not list(neardup.folder.glob("collection.neardup*"))
    neardup(*skip, "supershingles", "--scheme", "supershingles")


def test_a_part_with_other_words_is_no_older_version(neardup: Neardup) -> None:
    (neardup.folder / "docs").mkdir()
    (neardup.folder / "docs/book.txt").write_text(" ".join(CHAPTERS))
    words = CHAPTERS[5].split()[100:400]
    words[25::50] = ["changed"] * len(words[25::50])
    (neardup.folder / "part.txt").write_text(" ".join(words))
    neardup("index", "docs", "--scheme", "passages")
    asked = ("similar", "part.txt", "--match", RULE, "--passages")
    assert "older" not in neardup(*asked).out
    [match] = neardup(*asked, "--json").json["matches"]
    assert (match["label"], match["order"]) == ("contains", "unknown")


def test_a_quotation_below_the_guarantee_is_told_that_it_may_be_missed(neardup: Neardup) -> None:
    (neardup.folder / "docs").mkdir()
    (neardup.folder / "docs/book.txt").write_text(" ".join(CHAPTERS))
    neardup("index", "docs", "--scheme", "passages")
    told = "found for sure is only what has 36 in a row in common"
    for words, is_told in ((35, True), (36, False)):
        quoted = " ".join(CHAPTERS[5].split()[100 : 100 + words])
        err = neardup("similar", "--text", "-", "--match", RULE, stdin=quoted).err
        assert (told in err) == is_told
        assert told not in neardup("similar", "--text", "-", "--match", "simhash-doc@3bits", stdin=quoted).err


def test_passages_are_shown_where_they_stand(neardup: Neardup) -> None:
    (neardup.folder / "docs").mkdir()
    (neardup.folder / "docs/book.txt").write_text(" ".join(CHAPTERS))
    part = " ".join(CHAPTERS[5].split()[100:400])
    (neardup.folder / "new.txt").write_text(f"{document(88, 50)}\n{part}\n")
    neardup("index", "docs", "--scheme", "passages")
    asked = ("similar", "new.txt", "--match", RULE, "--passages")
    heading, row, empty, named, words, query, said, *_ = neardup(*asked).out.splitlines()
    assert "longest" in heading
    assert "contains" in row
    assert empty == ""
    assert named == "docs/book.txt: 1 passage, the longest of 300 words"
    assert words.strip() == "300 words"
    assert query.split()[:5] == ["query", "words", "51", "to", "350,"]
    assert f"[{part[:20]}" in said
    [match] = neardup(*asked, "--json").json["matches"]
    assert (match["longest"], match["passages_total"], len(match["passages"])) == (300, 1, 1)
    place = match["passages"][0]["match"]
    assert " ".join(CHAPTERS)[place["start"] : place["end"]] == part
    assert (place["word"], place["page"]) == (5100, None)
    # Of a pasted text, of many documents, and by a rule of whole documents.
    pasted = neardup("similar", "--text", "-", "--match", "passages@40words", "--passages", stdin=part)
    assert "the longest of 300 words" in pasted.out
    many = neardup("similar", "new.txt", "docs", "--match", RULE, "--passages").out
    assert many.count("1 passage, the longest of 300 words") == 1
    near = neardup("similar", "--text", " ".join(CHAPTERS[1:]), "--passages").out
    assert "the longest of 11,000 words" in near
    assert "--passages does nothing with --hash" in neardup("similar", "--hash", "x", "--passages", code=2).err


def test_what_can_t_be_read_again_is_shown_without_passages(neardup: Neardup) -> None:
    (neardup.folder / "book.txt").write_text(" ".join(CHAPTERS))
    neardup("index", "book.txt", "--scheme", "passages")
    (neardup.folder / "book.txt").unlink()
    shown = neardup("similar", "--text", "-", "--match", RULE, "--passages", stdin=CHAPTERS[5])
    assert "book.txt" in shown.out
    assert "passages not shown, since not read again: 1 document" in shown.err
    assert "left out" not in shown.err


def test_a_chapter_and_its_book_beside_each_other(neardup: Neardup) -> None:
    (neardup.folder / "book.txt").write_text(" ".join(CHAPTERS))
    (neardup.folder / "chapter.txt").write_text(CHAPTERS[5])
    out = neardup("compare", "chapter.txt", "book.txt", "--passages").out
    assert "100% of A stands in B, 8% of B in A: A is contained in B; the longest has 1,000 words" in out
    assert "B  words 5,001 to 6,000" in out
    assert "A contains B" in neardup("compare", "book.txt", "chapter.txt").out
    compared = neardup("compare", "book.txt", "chapter.txt", "--json").json
    assert (compared["label"], compared["of_b"], compared["longest"]) == ("contains", 1.0, 1000)
    diff = neardup("diff", "chapter.txt", "book.txt")
    assert "A stands in B: words 5,001 to 6,000" in diff.err
    assert "words: 1,000 the same, 0 removed, 0 added" in diff.err
    # The same of stored ones, which are read again; and of one that is gone, nothing is claimed.
    neardup("index", "book.txt", "chapter.txt")
    assert "A is contained in B" in neardup("compare", "id:chapter.txt", "id:book.txt").out
    assert "B stands in A" in neardup("diff", "id:book.txt", "id:chapter.txt").err
    (neardup.folder / "book.txt").unlink()
    gone = neardup("compare", "id:chapter.txt", "id:book.txt", "--passages")
    assert "contained" not in gone.out
    assert "the passages are not known" in gone.err


def test_what_stands_whole_in_another_is_deleted_after_a_dry_run(neardup: Neardup) -> None:
    (neardup.folder / "docs").mkdir()
    (neardup.folder / "docs/book.txt").write_text("\n\n".join(CHAPTERS))
    (neardup.folder / "docs/chapter.txt").write_text(CHAPTERS[5])
    (neardup.folder / "docs/edited.txt").write_text(f"{CHAPTERS[6]} and more")
    neardup("index", "docs")
    assert "--scheme passages" in neardup("prune", "--parts", "--dry-run", code=2).err
    neardup("index", "docs", "--scheme", "passages")
    assert "--parts goes with --delete or --dry-run" in neardup("prune", "--parts", code=2).err
    assert "does nothing with" in neardup("prune", "--parts", "--dry-run", "--remove", "identical", code=2).err
    listed = neardup("prune", "--parts", "--dry-run")
    assert listed.out == "docs/chapter.txt  stands whole in docs/book.txt\n"
    assert "docs/edited.txt: its text does not stand whole in docs/book.txt" in listed.err
    assert "a dry run: 1 document stands whole in another one" in listed.err
    rows = neardup("prune", "--parts", "--dry-run", "--json").lines
    assert {row["id"]: (row["repeats"], row["relation"], bool(row["kept"])) for row in rows} == {
        "docs/chapter.txt": ("docs/book.txt", "part", False),
        "docs/edited.txt": ("docs/book.txt", "", True),
    }
    assert "--yes" in neardup("prune", "--parts", "--delete", code=2).err
    done = neardup("prune", "--parts", "--delete", "--yes")
    assert "deletes 1 of 3 documents" in done.err
    assert "the longer ones stay" in done.err
    assert neardup("stats", "--json").json["documents"] == 2


def test_a_batch_is_not_clustered_by_a_rule_of_parts(neardup: Neardup) -> None:
    (neardup.folder / "in.jsonl").write_text(json.dumps({"id": "book", "text": " ".join(CHAPTERS)}) + "\n")
    for out, schemes in (("lean", ()), ("with", ("--scheme", "passages"))):
        neardup("batch", "sketch", "in.jsonl", "--out", out, *schemes)
        assert "also finds parts" in neardup("batch", "cluster", out, "--out", "clusters", "--match", RULE, code=2).err


def test_prune_says_how_many_documents_it_did_not_look_for(neardup: Neardup) -> None:
    table = "tonnes " + " ".join(map(str, range(100, 180)))
    write(neardup.folder, {"docs/table.txt": table, "docs/book.txt": f"{CHAPTERS[0]} {table}"})
    neardup("index", "docs", "--scheme", "passages")
    said = neardup("prune", "--parts", "--dry-run").err
    assert "1 document not looked for: too few words that are no numbers" in said
    assert "0 documents stand whole" in said
