"""The relation of near documents, as `pairs`, `similar`, `compare` and `diff` say it."""

from __future__ import annotations

import csv
import io
import json

import pytest

from indexer.schemes.testing import document
from tests.cli.command import Neardup, write

FRAME = document(5, 120)


@pytest.fixture
def forms(neardup: Neardup) -> Neardup:
    """Two invoices, of which one is a copy of a third with other white space, and two versions of a page."""
    page = document(9, 150)
    files = {
        "docs/a.txt": f"Invoice 17 of {FRAME} The amount is 120.00 EUR.",
        "docs/b.txt": f"Invoice 17 of {FRAME} The amount is 95.50 EUR.",
        "docs/c.txt": f"Invoice 17 of {FRAME}\n\nThe   amount is 120.00 EUR.",
        "guide-1.2/page.txt": page,
        "guide-1.3/page.txt": f"{page}\n\nIt came to rest beside the old mill in the valley below",
    }
    write(neardup.folder, dict(files))
    neardup("index", "docs", "guide-1.2", "guide-1.3")
    return neardup


def test_pairs_say_what_differs_where_they_are_asked_to(forms: Neardup) -> None:
    listed = list(csv.DictReader(io.StringIO(forms("pairs", "--relation").out)))
    rows = {frozenset((row["left"], row["right"])): row for row in listed}
    form = rows[frozenset({"docs/a.txt", "docs/b.txt"})]
    amounts = ["120.00 EUR", "95.50 EUR"] if form["left"] == "docs/a.txt" else ["95.50 EUR", "120.00 EUR"]
    assert form["relation"] == "form"
    assert form["evidence"] == f"1 fact differs: amount {' / '.join(amounts)}"
    assert json.loads(form["facts"]) == [{"kind": "amount", "left": amounts[0], "right": amounts[1]}]
    assert rows[frozenset({"docs/a.txt", "docs/c.txt"})]["relation"] == "identical"
    edited = rows[frozenset({"guide-1.2/page.txt", "guide-1.3/page.txt"})]
    assert edited["relation"] == "edited"
    assert edited["order"] == ("older" if edited["left"] == "guide-1.2/page.txt" else "newer")
    assert edited["order_evidence"] == "version 1.2 < 1.3 in the path"
    lines = forms("pairs", "--relation", "--format", "jsonl").lines
    assert sorted(line["evidence"] for line in lines) == sorted(row["evidence"] for row in listed)
    said = forms("pairs", "--relation", "--against", "other.neardup", code=2).err
    assert "--relation is for the pairs of one store" in said


def test_pairs_of_what_is_gone_say_so(forms: Neardup) -> None:
    (forms.folder / "docs/b.txt").unlink()
    rows = forms("pairs", "--relation", "--format", "jsonl").lines
    [gone] = [row for row in rows if {row["left"], row["right"]} == {"docs/a.txt", "docs/b.txt"}]
    assert gone["relation"] == ""
    assert gone["evidence"].startswith("not compared: docs/b.txt: ")
    # What is identical needs no text.
    (forms.folder / "docs/a.txt").unlink()
    rows = forms("pairs", "--relation", "--format", "jsonl").lines
    assert [row["relation"] for row in rows if {row["left"], row["right"]} == {"docs/a.txt", "docs/c.txt"}] == [
        "identical"
    ]


def test_a_single_document_is_told_how_it_stands_to_what_is_near(forms: Neardup) -> None:
    shown = forms("similar", "docs/b.txt")
    assert "docs/a.txt: form: 1 fact differs: amount 95.50 EUR / 120.00 EUR\n" in shown.out
    found = {match["id"]: match for match in forms("similar", "docs/b.txt", "--relation", "--json").json["matches"]}
    assert found["docs/a.txt"]["relation"] == found["docs/c.txt"]["relation"] == "form"
    assert "form: " not in forms("similar", "docs/b.txt", "--no-relation").out
    aged = forms("similar", "guide-1.2/page.txt").out
    said = "edited: 0 words only on the left, 12 words only on the right"
    assert f"guide-1.3/page.txt: {said}; the query is older: version 1.2 < 1.3 in the path\n" in aged
    copied = forms("similar", "docs/a.txt", "--relation", "--json").json["matches"]
    # What a program reads is the same for one document and for many.
    assert {match["relation"] for match in forms("similar", "docs/a.txt", "--json").json["matches"]} == {
        "",
        "identical",
    }
    assert {match["id"]: match["relation"] for match in copied} == {"docs/b.txt": "form", "docs/c.txt": "identical"}


def test_many_documents_are_told_it_where_they_ask(forms: Neardup) -> None:
    without = forms("similar", "docs", "--json").lines
    assert {match["relation"] for each in without for match in each["matches"]} == {"", "identical"}
    asked = forms("similar", "docs", "--relation", "--json").lines
    assert {match["relation"] for each in asked for match in each["matches"]} == {"form", "identical"}


def test_large_files_are_read_where_it_is_asked_for(forms: Neardup) -> None:
    text = (forms.folder / "docs/a.txt").read_text()
    (forms.folder / "docs/a.txt").write_text(text + " " * 2_000_000)
    shown = forms("similar", "docs/b.txt").out
    assert "docs/a.txt: not compared: docs/a.txt: the file has more than 2,000,000 bytes" in shown
    assert "docs/a.txt: form: 1 fact differs" in forms("similar", "docs/b.txt", "--relation").out


def test_two_documents_are_told_which_is_newer(forms: Neardup) -> None:
    shown = forms("compare", "guide-1.3/page.txt", "guide-1.2/page.txt").out
    assert "A is newer than B: version 1.2 < 1.3 in the path" in shown
    assert forms("compare", "docs/a.txt", "docs/b.txt", "--json").json["order"] == "unknown"
    assert "unknown which is newer" in forms("compare", "docs/a.txt", "docs/b.txt").out
    made = forms("diff", "id:docs/a.txt", "docs/b.txt")
    assert "A to B: form: 1 fact differs: amount 120.00 EUR / 95.50 EUR" in made.err
    found = forms("diff", "guide-1.2/page.txt", "id:guide-1.3/page.txt", "--json").json
    assert (found["relation"], found["order"]) == ("edited", "older")


def test_clusters_note_how_texts_stand_to_what_they_repeat(forms: Neardup) -> None:
    made = forms("cluster", "--no-relation", "--json").json
    assert (made["relations"], made["reading_seconds"]) == ({"": 2, "identical": 1}, None)
    assert forms("show", "docs/b.txt", "--json").json["cluster"]["relation"] is None
    (forms.folder / "guide-1.2/page.txt").unlink()
    # What comes, and the next clustering, go by that too.
    (forms.folder / "docs/later.txt").write_text((forms.folder / "docs/b.txt").read_text().replace(" ", "  ", 3))
    assert forms("index", "docs", "--cluster", "--json").json["reading_seconds"] is None
    assert forms("cluster", "--json").json["relations"] == {"": 2, "identical": 2}
    done = forms("cluster", "--relation")
    lines = dict(line.split(maxsplit=1) for line in done.out.splitlines())
    # What came is equal to the form, which stays.
    assert sorted(lines["relations"].split(", ")) == ["1 form", "1 unverified", "2 identical"]
    assert "1 document could not be compared, because no text was read" in done.err
    assert lines["texts"].startswith("read again in ")
    assert forms("show", "docs/b.txt", "--json").json["cluster"]["relation"] == "form"
    assert "cluster relation            form\n" in forms("show", "docs/b.txt").out
    assert forms("stats", "--json").json["relations"] == {"form": 1, "identical": 2, "unverified": 1}
    for how in ("--relation", "--no-relation", None):
        again = forms("cluster", *([how] if how else []), "--json").json
        assert (again["relations"], again["written"]["documents"]) == ({"form": 1, "identical": 2, "unverified": 1}, 0)


def test_what_comes_is_noted_as_by_the_next_clustering(forms: Neardup) -> None:
    forms("cluster")
    (forms.folder / "docs/d.txt").write_text(f"Invoice 17 of {FRAME} The amount is 33.00 EUR.")
    assert "; texts read again in " in forms("index", "docs", "--cluster").out
    assert forms("show", "docs/d.txt", "--json").json["cluster"]["relation"] == "form"
    again = forms("cluster", "--json").json
    assert (again["relations"], again["written"]["documents"]) == ({"form": 2, "identical": 1, "edited": 1}, 0)
    (forms.folder / "docs/d.txt").write_text(f"“Invoice” 17 of\n\n{FRAME} The amount is 120.00 EUR.")
    forms("index", "docs", "--cluster")
    assert forms("show", "docs/d.txt", "--json").json["cluster"]["relation"] == "reflowed"


def test_clusters_read_large_files_where_it_is_asked_for(forms: Neardup) -> None:
    text = (forms.folder / "docs/a.txt").read_text()
    (forms.folder / "docs/a.txt").write_text(text + " " * 2_000_000)
    assert forms("cluster", "--json").json["relations"]["unverified"] == 1
    made = forms("cluster", "--relation", "--json").json
    assert made["relations"] == {"form": 1, "identical": 1, "edited": 1}
    assert made["reading_seconds"] > 0
    assert forms("cluster", "--json").json["reading_seconds"] is None


def test_diff_shows_replaced_missing_and_moved_sentences_apart(neardup: Neardup) -> None:
    opened, tickets = "The garden is open every day.", "Tickets cost two crowns at the gate."
    one = f"{opened} {tickets} Children pay nothing at all. The tea house closes at six."
    other = f"{tickets} {opened} The tea house closes at seven. Bring your own cup."
    write(neardup.folder, {"one.txt": one, "other.txt": other})
    found = neardup("diff", "one.txt", "other.txt", "--json").json
    assert found["replaced"] == [["The tea house closes at six", "The tea house closes at seven"]]
    assert (found["only_a"], found["only_b"]) == (["Children pay nothing at all"], ["Bring your own cup"])
    assert len(found["moved"]) == 1
    assert found["moved"][0] in one
    said = neardup("diff", "one.txt", "other.txt").err
    assert "replaced: The tea house closes at six / The tea house closes at seven\n" in said
    assert "only in A: Children pay nothing at all\n" in said
