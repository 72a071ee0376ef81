"""`neardup report` and `neardup diff` as a user runs them."""

from __future__ import annotations

import csv
import io
import json

import pytest

from tests.cli.command import COMMAND, Neardup, mixed_folder, write
from tests.cli.written import prose
from tests.processes import on_terminal
from tests.warm import clean_environment


@pytest.fixture
def clustered(neardup: Neardup) -> Neardup:
    mixed_folder(neardup.folder)
    neardup("index", "docs")
    neardup("cluster")
    return neardup


def test_the_page_shows_a_difference(clustered: Neardup) -> None:
    done = clustered("report")
    assert "wrote report.html" in done.err
    page = (clustered.folder / "report.html").read_text("utf-8")
    assert page.startswith("<!doctype html>")
    assert "also</ins>" in page or "also</del>" in page


def test_a_document_that_changed_since_is_not_shown(clustered: Neardup) -> None:
    write(clustered.folder, {"docs/near.txt": prose(9)})
    clustered("report", "-o", "r.html")
    page = (clustered.folder / "r.html").read_text("utf-8")
    assert "no longer holds the indexed text" in page
    assert "also</" not in page


def test_figures_in_every_format(clustered: Neardup) -> None:
    value = json.loads(clustered("report", "--format", "json").out)
    assert value["clusters"] == 1
    assert (value["in_clusters"], value["spanning"]) == (5, 1)
    rows = list(csv.DictReader(io.StringIO(clustered("report", "--format", "csv").out)))
    assert {"section": "overall", "name": "", "measure": "clusters", "value": "1"} in rows
    assert clustered("report", "--format", "md").out.startswith("# Near-duplicates\n")
    clustered("report", "--format", "md", "-o", "r.md")
    assert (clustered.folder / "r.md").is_file()


def test_documents_without_the_rule_s_sketch_are_left_out(neardup: Neardup) -> None:
    mixed_folder(neardup.folder)
    neardup("index", "docs", "--schemes", "simhash-doc")
    neardup("index", "docs/a.html", "docs/b.pdf", "--scheme", "minhash")
    neardup("cluster", "--match", "minhash@0.6")
    left_out = neardup("report", "--format", "json").json["left_out"]
    assert {each["reason"]: each["documents"] for each in left_out}["no-sketch"] == 4


def test_reports_that_can_not_be_made(neardup: Neardup) -> None:
    neardup("report", code=3)
    mixed_folder(neardup.folder)
    neardup("index", "docs")
    assert "neardup cluster" in neardup("report", code=2).err
    neardup("cluster")
    assert "nowhere" in neardup("report", "-o", "nowhere/r.html", code=2).err


def test_markers_in_a_pipe(neardup: Neardup) -> None:
    words = prose(1).split()
    write(neardup.folder, {"a.txt": prose(1), "b.txt": " ".join([*words[:100], "zebra", *words[101:]])})
    done = neardup("diff", "a.txt", "b.txt")
    assert f"[-{words[100]}-] {{+zebra+}}" in done.out
    assert "unchanged word" in done.out
    assert "\x1b" not in done.out
    assert "1 removed, 1 added" in done.err
    assert neardup("diff", "a.txt", "a.txt").out == ""
    assert neardup("diff", "-", "b.txt", stdin=prose(1)).out == done.out


def test_stored_documents_and_json(clustered: Neardup) -> None:
    value = clustered("diff", "id:docs/a.html", "docs/near.txt", "--json").json
    assert value["added"] >= 1
    assert {"kind", "left", "right", "words"} == set(value["pieces"][0])
    clustered("diff", "id:none", "docs/near.txt", code=5)
    clustered("diff", "docs/broken.pdf", "docs/near.txt", code=6)
    clustered("diff", "-", "-", code=2)


def test_no_document_writes_to_the_terminal(neardup: Neardup) -> None:
    write(neardup.folder, {"a.txt": "plain words here", "b.txt": "plain \u202ewords \u2066here"})
    assert not {"\u202e", "\u2066"} & set(neardup("diff", "a.txt", "b.txt").out)


@pytest.mark.parametrize("plain", [False, True])
def test_colours_on_a_terminal_only(neardup: Neardup, plain: bool) -> None:
    write(neardup.folder, {"a.txt": "one two three", "b.txt": "one four three"})
    environment = clean_environment() | ({"NO_COLOR": "1"} if plain else {})
    environment = environment if plain else {k: v for k, v in environment.items() if k != "NO_COLOR"}
    command = [*COMMAND, "diff", "a.txt", "b.txt"]
    _, shown = on_terminal(command, "stdout", cwd=neardup.folder, env=environment)
    assert ("\x1b[" in shown) is not plain
    assert ("[-two-]" in shown) is plain


def test_files_passed_over_are_named_by_the_report_and_by_stats(neardup: Neardup) -> None:
    mixed_folder(neardup.folder)
    write(neardup.folder, {"docs/deep/one.png": "x", "docs/two.PNG": "x", "docs/style.css": "x", "docs/.hidden": "x"})
    neardup("index", "docs")
    expected = {".png": 3, ".css": 1, "hidden": 1}
    assert neardup("stats", "--json").json["passed_over"] == expected
    assert "5 (.png 3, .css 1, hidden 1)" in neardup("stats").out
    # A folder inside counts with the one around it, and a file alone says nothing of either.
    for part in ("docs/deep", "docs/a.html"):
        neardup("index", part)
        assert neardup("stats", "--json").json["passed_over"] == expected
    neardup("cluster")
    figures = neardup("report", "--format", "json").json
    [passed] = [each for each in figures["left_out"] if each["reason"] == "passed-over"]
    assert (passed["documents"], passed["names"]) == (5, ["3 .png", "1 .css", "1 hidden"])
    assert figures["not_compared"] == sum(each["documents"] for each in figures["left_out"]) - 5
    assert "beside 5 files passed over" in neardup("report", "--format", "md").out
    neardup("report", "-o", "r.html")
    assert "beside 5 files passed over by name or kind" in (neardup.folder / "r.html").read_text("utf-8")
    (neardup.folder / "docs/.hidden").unlink()
    neardup("index", "docs")
    assert neardup("stats", "--json").json["passed_over"] == {".png": 3, ".css": 1}
