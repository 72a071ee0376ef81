"""`neardup passages`: what stands in several documents, where it stood first, and what is said where texts are gone."""

from __future__ import annotations

import csv
import io
import json

import pyarrow.parquet as pq
import pytest

from tests.cli.command import Neardup, write
from tests.cli.written import prose

LICENCE = prose(100, 60)
RELEASE = prose(101, 200)


def name(folder: str) -> str:
    return folder.rpartition("/")[2]


@pytest.fixture
def stored(neardup: Neardup) -> Neardup:
    """Twelve pages with a licence, in one folder, and a release in two articles of two others."""
    files = {f"manual/{number:02}.txt": f"{prose(number, 80)}\n\n{LICENCE}\n" for number in range(12)}
    files |= {"wire/release.txt": RELEASE, "paper/article.txt": f"{prose(50, 90)} {RELEASE.upper()} {prose(51, 70)}"}
    files["paper/other.txt"] = f"{prose(52, 90)} {RELEASE} {LICENCE}"
    for path, text in sorted(files.items(), key=lambda item: not item[0].startswith("wire")):
        write(neardup.folder, {path: text})
        neardup("index", path)
    return neardup


def test_passages_are_listed_with_where_they_stood_first(stored: Neardup) -> None:
    found = stored("passages", "--held-by", "--json").json
    licence, release = found["passages"]
    assert (licence["words"], licence["documents"], licence["origins"], licence["boilerplate"]) == (60, 13, 2, False)
    assert licence["text"].split() == LICENCE.split()
    assert (release["documents"], release["first"], release["boilerplate"]) == (3, "wire/release.txt", False)
    assert release["text"] == RELEASE
    assert sorted(release["held_by"]) == ["paper/article.txt", "paper/other.txt", "wire/release.txt"]
    copied = {(name(row["origin"]), name(row["by"])): row["words"] for row in found["copied"]}
    assert copied == {("manual", "manual"): 11 * 60, ("manual", "paper"): 60, ("wire", "paper"): 400}
    shares = {row["id"]: row["share"] for row in found["partly_copied"]}
    assert shares["wire/release.txt"] == 1
    assert shares["manual/03.txt"] == round(60 / 140, 6)
    assert found["in_passages"] == 13 * 60 + 3 * 200
    assert stored("passages", "--words", "61", "--json").json["passages"][0]["words"] == 200


def test_a_preferred_source_was_first(stored: Neardup) -> None:
    stored("cluster", "--canonical", "source", "--prefer", "*/paper/a*", "--prefer", "*/11.txt")
    licence, release = stored("passages", "--json").json["passages"]
    assert (licence["first"], release["first"]) == ("manual/11.txt", "paper/article.txt")


def test_people_see_the_text(stored: Neardup) -> None:
    ended = stored("passages", "--limit", "1")
    assert "60 words, in 13 documents of 2 origins; first in manual/00.txt\n    " + LICENCE[:80] in ended.out
    assert "2 passages; --limit 2 lists all" in ended.err
    assert "wire/release.txt" in stored("passages", "--by", "document").out
    lines = stored("passages", "--by", "origin").out.splitlines()
    assert [[name(cell) for cell in line.split()] for line in lines[1:]] == [
        ["660", "manual", "manual"],
        ["400", "wire", "paper"],
        ["60", "manual", "paper"],
    ]


def test_other_formats_have_all_of_it(stored: Neardup) -> None:
    lines = stored("passages", "--format", "jsonl").lines
    rows = list(csv.DictReader(io.StringIO(stored("passages", "--format", "csv").out)))
    stored("passages", "--format", "parquet", "-o", "found.parquet")
    table = pq.read_table(stored.folder / "found.parquet").to_pylist()
    assert [line["text"] for line in lines] == [row["text"] for row in rows] == [row["text"] for row in table]
    assert [line["documents"] for line in lines] == [13, 3]
    written = stored("passages", "--format", "csv", "-o", "none/found.csv", code=2).err
    assert "none/found.csv: can't be written" in written


def test_what_cannot_be_read_again_is_named(stored: Neardup) -> None:
    (stored.folder / "paper/other.txt").unlink()
    ended = stored("passages", "--json")
    assert "1 document could not be read again" in ended.err
    assert "paper/other.txt" in ended.err
    assert [row["id"] for row in ended.json["unread"]] == ["paper/other.txt"]
    assert ended.json["passages"][0]["documents"] == 12
    assert ended.json["passages"][0]["boilerplate"]


def test_a_length_that_is_too_small_is_refused(stored: Neardup) -> None:
    assert "the least is 8, the most 100,000" in stored("passages", "--words", "7", code=2).err


def test_what_a_text_says_to_a_terminal_is_escaped(neardup: Neardup) -> None:
    text = " ".join(f"word{number}\x1b[31m" for number in range(60))
    write(neardup.folder, {"in.jsonl": "".join(json.dumps({"id": each, "text": text}) + "\n" for each in "ab")})
    neardup("index", "in.jsonl")
    for arguments in ((), ("--json",), ("--format", "jsonl")):
        assert "\x1b" not in neardup("passages", *arguments).out


def test_clusters_that_are_near_for_a_licence_are_named(neardup: Neardup) -> None:
    """Those of copies are not, nor those of versions with another end, nor a chapter that books have too, nor a story
    that is nowhere else.
    """
    menu, article = prose(200, 150), prose(201, 300)
    files = {f"manual/{number:02}.txt": f"{menu}\n\n{prose(number, 30)}\n" for number in range(12)}
    files |= {"manual/index.txt": f"{menu}\n\n{prose(203, 900)}\n"}
    files |= {f"reprints/{number:02}.txt": f"{prose(204, 160)} {prose(800 + number, 30)}" for number in range(12)}
    files |= {f"copies/{number:02}.txt": article for number in range(12)}
    files |= {f"news/{number}.txt": f"{prose(202, 100)} {prose(300 + number, 20)}" for number in range(2)}
    # A few that hold the licence, and what else is in them is far longer.
    files |= {f"long/{number:02}.txt": f"{LICENCE} {prose(400 + number, 250)}" for number in range(10)}
    files |= {f"short/{number}.txt": f"{LICENCE} {prose(500 + number, 8)}" for number in range(2)}
    files |= {f"chapter/{number}.txt": f"{prose(210, 200)} {prose(600 + number, 20)}" for number in range(2)}
    files |= {f"books/{number}.txt": f"{prose(700 + number, 900)} {prose(210, 200)}" for number in range(2)}
    write(neardup.folder, files)
    neardup("index", *sorted({path.partition("/")[0] for path in files}))
    assert neardup("cluster", "--dry-run", "--json").json["resting"] == []
    made = neardup("cluster", "--json").json
    assert made["clusters"] == 6
    [large] = made["resting"]
    assert (large["documents"], large["words"], large["share"]) == (12, 150, round(150 / 180, 6))
    assert large["text"].split() == menu.split()
    ended = neardup("cluster")
    assert (
        f"12 documents of the cluster {large['cluster']} are near for a common passage, 83% of their words: "
        in ended.err
    )
    found = neardup("passages", "--json").json["resting"]
    assert found[0] == {**large, "held_by": 13}
    assert [(row["documents"], row["words"], row["held_by"]) for row in found] == [(12, 150, 13), (2, 60, 12)]
    lines = neardup("passages", "--by", "cluster").out.splitlines()
    assert lines[0].startswith("12 documents of ")
    assert lines[1].strip().startswith(menu[:100])
    assert len(neardup("passages", "--by", "cluster", "--format", "jsonl").lines) == 2
