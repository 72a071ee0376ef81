"""`neardup doctor` on an embedded store: each finding where its cause is there, and nowhere else."""

from __future__ import annotations

import dataclasses
import json
import sqlite3
import time
from collections.abc import Mapping
from contextlib import closing

import pytest

from indexer import open_store
from indexer.model import ClusteringNote
from tests.cli.command import Neardup, write
from tests.cli.written import changed, pdf, prose

WAYS = {"a.txt": prose(1), "b.txt": prose(2), "lines.jsonl": '{"id": "one", "text": "' + prose(3) + '"}\n'}


@pytest.fixture
def stored(neardup: Neardup) -> Neardup:
    write(neardup.folder, {f"docs/{name}": text for name, text in WAYS.items()})
    neardup("index", "docs")
    return neardup


def found(neardup: Neardup, *words: str, code: int = 7) -> Mapping[str, tuple[str, str, str]]:
    """By what was looked at the level, the sentence and the advice; the text has the same in one line each."""
    told = neardup("doctor", *words, "--json", code=code).json
    assert told["healthy"] == (code == 0)
    lines = neardup("doctor", *words, code=code).out.splitlines()
    for line, each in zip(lines, told["findings"], strict=True):
        assert line.split()[:2] == [each["level"], each["check"]]
        assert each["says"] in line
        assert bool(each["advice"]) == (each["level"] != "ok")
        assert line.endswith(each["advice"])
    return {each["check"]: (each["level"], each["says"], each["advice"]) for each in told["findings"]}


def only(findings: Mapping[str, tuple[str, str, str]], check: str, level: str) -> tuple[str, str]:
    """What is said of a check, and its advice, where all others are ok."""
    assert {name: value[0] for name, value in findings.items() if value[0] != "ok"} == {check: level}
    return findings[check][1:]


def note(neardup: Neardup, **changes: object) -> None:
    """Let the store remember something else of its clustering."""
    with open_store(neardup.folder / "collection.neardup") as store:
        [kept] = store.clustering_notes().values()
        store.put_clustering_note(dataclasses.replace(kept, **changes))  # type: ignore[arg-type]


def test_pdf_files_of_several_readers_fit_another_kind(neardup: Neardup) -> None:
    for reader, first in (("fast", 0), ("reference", 30)):
        write(neardup.folder, {f"{reader}/{n}.pdf": pdf(prose(n, 60)) for n in range(first, first + 30)})
        neardup("index", reader, "--extractor", reader)
    says, advice = only(found(neardup), "kind", "warning")
    read = "texts of PDF files were read 30 by pdfium/pypdfium2 and 30 by pdfminer.six"
    assert f"of 60 documents looked at, {read}" in says
    assert advice.endswith("--kind pdfs")
    assert f"the kind pdfs fits better than documents: of 60 documents looked at, {read}" in neardup("evaluate").out


def test_texts_that_another_program_made_of_pdf_files_fit_another_kind(neardup: Neardup) -> None:
    write(neardup.folder, {f"papers/{n}.pdf": pdf(prose(n, 60)) for n in range(30)})
    write(neardup.folder, {f"texts/{n}.txt": prose(n, 60) for n in range(30)})
    neardup("index", "papers", "texts")
    says, advice = only(found(neardup), "kind", "warning")
    read = "of 60 documents looked at, 30 are named as a PDF file, so texts by other readers"
    assert read in says
    assert advice.endswith("--kind pdfs")
    assert read in neardup("evaluate").out
    write(neardup.folder, {f"notes/{n} too.txt": prose(n, 60) for n in range(30)})
    neardup("index", "papers", "notes", "--store", "notes.neardup")
    assert "no better kind is known" in neardup("doctor", "--store", "notes.neardup").out


def test_another_kind_fits(neardup: Neardup) -> None:
    titles = [json.dumps({"id": str(number), "text": prose(number, 9)}) for number in range(60)]
    write(neardup.folder, {"titles.jsonl": "\n".join(titles)})
    neardup("index", "titles.jsonl")
    says, advice = only(found(neardup), "kind", "warning")
    assert "of 60 documents looked at, 60 have fewer than 30 words, and half have 9 or fewer" in says
    assert "share no more than 0%" in says
    assert advice.endswith("--kind short")
    fits = "the kind short fits better than documents: of 60 documents"
    assert fits in neardup("evaluate", "--documents", "titles.jsonl", "--match", "minhash").out
    # The rule of that kind is measured too, by words, since there are no shingles that could be equal.
    again = [json.dumps({"id": f"{number} again", "text": changed(prose(number, 9), 4)}) for number in range(60)]
    write(neardup.folder, {"again.jsonl": "\n".join(again)})
    neardup("index", "again.jsonl")
    measured = neardup("evaluate").out
    assert fits in measured.replace("of 120", "of 60")
    assert "wanted: 60 pairs (Jaccard of words" in measured
    assert "the default rule calls 0 pairs near, none of them wrong, and finds 0.0% of what" in measured
    assert "short-text@0.65 calls 60 pairs near, none of them wrong, and finds 100.0% of what" in measured
    neardup("index", "titles.jsonl", "--kind", "short", "--store", "short.neardup")
    assert found(neardup, "--store", "short.neardup", code=0)["kind"][0] == "ok"
    write(neardup.folder, {f"long/{number}.txt": prose(number) for number in range(50)})
    neardup("index", "long", "--kind", "short", "--store", "long.neardup")
    says, advice = only(found(neardup, "--store", "long.neardup"), "kind", "warning")
    assert "50 have more than 100 words" in says
    assert advice.endswith("--kind documents")
    mixed = [prose(number, 120 if number < 12 else 50) for number in range(100)]
    write(neardup.folder, {f"mixed/{number}.txt": text for number, text in enumerate(mixed)})
    neardup("index", "mixed", "--kind", "short", "--store", "mixed.neardup")
    says, _ = only(found(neardup, "--store", "mixed.neardup"), "kind", "warning")
    assert "12 have more than 100 words, and half have 50 or more; of those with more only equal ones are near" in says


def test_all_is_well(stored: Neardup) -> None:
    assert found(stored, code=0)["clusters"][1] == "none were made"
    stored("cluster")
    findings = found(stored, "--texts", code=0)
    assert findings["clusters"][1].startswith("made 20")
    assert findings["texts"][1] == "3 documents as when their fingerprints were made"
    assert findings["engine"][1] == f"SQLite {sqlite3.sqlite_version}"
    assert "texts" not in found(stored, code=0)


def test_no_store(neardup: Neardup) -> None:
    done = neardup("doctor", "--json", code=3)
    assert done.json["healthy"] is False
    assert [finding["check"] for finding in done.json["findings"]] == ["neardup", "engine"]
    assert "there is no store here" in done.err


def test_documents_later_than_the_clusters(stored: Neardup) -> None:
    stored("cluster")
    time.sleep(1.1)
    write(stored.folder, {"later.txt": prose(4)})
    stored("index", "later.txt")
    says, advice = only(found(stored), "clusters", "warning")
    assert "1 document came later" in says
    assert advice == "run neardup cluster"
    # One that is put into its cluster as it comes does not hide one that was not.
    time.sleep(1.1)
    write(stored.folder, {"latest.txt": prose(5)})
    stored("index", "latest.txt", "--cluster")
    assert "1 document came later" in only(found(stored), "clusters", "warning")[0]
    stored("cluster")
    time.sleep(1.1)
    write(stored.folder, {"last.txt": prose(6)})
    stored("index", "last.txt", "--cluster")
    assert found(stored, code=0)["clusters"][0] == "ok"


def test_a_clustering_that_did_not_end(stored: Neardup) -> None:
    stored("cluster")
    note(stored, finished=False)
    says, advice = only(found(stored), "clusters", "error")
    assert "was not finished" in says
    assert "neardup cluster" in advice
    assert "--store copy.neardup" in found(copied(stored), "--store", "copy.neardup")["clusters"][2]


def copied(neardup: Neardup) -> Neardup:
    (neardup.folder / "copy.neardup").write_bytes((neardup.folder / "collection.neardup").read_bytes())
    return neardup


def test_documents_without_the_sketch_of_the_default_rule(stored: Neardup) -> None:
    store = ("--store", "lean.neardup")
    stored("index", "docs", *store, "--schemes", "simhash-doc")
    assert "keeps no sketch by minhash" in only(found(stored, *store), "sketches", "warning")[0]
    stored("index", "docs/a.txt", *store, "--scheme", "minhash")
    says, advice = only(found(stored, *store), "sketches", "warning")
    assert says.startswith("2 documents without the sketch by minhash")
    stored("index", "docs", *store)
    assert advice == "index or annotate them again"
    assert found(stored, *store, code=0)["sketches"][0] == "ok"


def test_fingerprints_of_other_rules(stored: Neardup) -> None:
    with closing(sqlite3.connect(stored.folder / "collection.neardup")) as connection, connection:
        connection.execute("UPDATE meta SET value = '15.0.0' WHERE name = 'unicode'")
    says, advice = only(found(stored), "fingerprints", "error")
    assert "Unicode version 15.0.0 in the store" in says
    assert "new store" in advice


def test_documents_that_have_changed_and_gone(stored: Neardup) -> None:
    (stored.folder / "docs/a.txt").write_text(prose(9))
    (stored.folder / "docs/b.txt").unlink()
    assert found(stored, code=0)
    says, advice = only(found(stored, "--texts"), "texts", "warning")
    assert says == (
        "1 document changed since their fingerprints were made; 1 document can't be read again from where it came from"
    )
    assert advice
    stored("index", "docs")
    (stored.folder / "docs/lines.jsonl").write_text('{"id": "one", "text": "other"}\n')
    assert "1 document changed" in only(found(stored, "--texts"), "texts", "warning")[0]


def test_a_rule_of_another_time(stored: Neardup) -> None:
    stored("cluster")
    note(stored, rule=ClusteringNote("nothing@0.5").rule)
    assert "can't serve" in only(found(stored), "clusters", "error")[0]


def test_a_collection_that_is_mostly_forms(neardup: Neardup) -> None:
    def pair(number: int, other: str) -> dict[str, bytes | str]:
        return {f"docs/{number}a.txt": f"No. 17: {prose(number)}", f"docs/{number}b.txt": f"{other}: {prose(number)}"}

    for number in range(6):
        write(neardup.folder, pair(number, "No. 18"))
    neardup("index", "docs")
    assert "forms" not in found(neardup, code=0)
    neardup("cluster")
    says, advice = only(found(neardup), "forms", "warning")
    assert says.startswith(
        "in 6 of 6 clusters looked at, a document is a form of the canonical one, with other facts; "
    )
    assert "1 fact differs: number " in says
    assert "pairs --relation" in advice
    for number in range(3):
        write(neardup.folder, pair(number, "Nr 17"))
    neardup("index", "docs")
    neardup("cluster")
    assert found(neardup, code=0)["forms"][:2] == (
        "ok", "in 3 of 6 clusters looked at, a document is a form of the canonical one",
    )  # fmt: skip
    for path in (neardup.folder / "docs").iterdir():
        path.unlink()
    assert (
        found(neardup, code=0)["forms"][1]
        == "not known: it takes 5 clusters with texts that can be read, and there are 0"
    )
