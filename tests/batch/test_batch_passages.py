"""Passages are cut from files except where they first stand, and every one that is cut is in the output."""

from __future__ import annotations

import gzip
import json
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from indexer.batch.cutting import Cutting, cut_file, cut_passages, without
from indexer.core.passages.cutting import RepeatedSpan
from indexer.errors import UsageError
from indexer.ingest.readers.base import ColumnNames
from indexer.text.words import words_of
from tests.cli.written import prose

LEAST = 20


def documents(seed: int, count: int) -> list[dict[str, Any]]:
    """Texts that have paragraphs in common, of several words or many, some texts as a whole."""
    chosen = random.Random(seed)
    shared = [prose(seed * 1000 + number, chosen.choice([12, 25, 40, 90])) for number in range(8)]
    made = []
    for number in range(count):
        own = [prose(seed * 1000 + 100 + 10 * number + part, chosen.randint(5, 60)) for part in range(3)]
        parts = own + chosen.choices(shared, k=chosen.randint(0, 3))
        chosen.shuffle(parts)
        text = chosen.choice([". \n\n", " ", ".\n"]).join(parts)
        made.append({"id": f"d{number:03}", "text": text, "day": f"2024-01-{chosen.randint(1, 28):02}", "n": number})
    return made


def runs(text: str) -> set[bytes]:
    hashes = words_of(text, identifiers=False).hashes
    return {hashes[begin : begin + LEAST].tobytes() for begin in range(hashes.size - LEAST + 1)}


def test_every_passage_that_is_cut_stands_in_the_output(tmp_path: Path) -> None:
    rows = documents(1, 80)
    (tmp_path / "in").mkdir()
    pq.write_table(pa.Table.from_pylist(rows[:40]), tmp_path / "in" / "a.parquet", row_group_size=7)
    lines = "".join(json.dumps(row) + "\n" for row in rows[40:])
    (tmp_path / "in" / "b.jsonl.gz").write_bytes(gzip.compress(lines.encode()))
    asked = Cutting(LEAST, least_left=60, time_field="day")
    out = tmp_path / "out"
    done = cut_passages([str(tmp_path / "in")], asked, str(out))
    assert (done.files, done.documents) == (2, 80)
    assert done.dropped > 0
    kept = pq.read_table(out / "a.parquet").to_pylist()
    kept += [json.loads(line) for line in gzip.decompress((out / "b.jsonl.gz").read_bytes()).splitlines()]
    assert pq.read_schema(out / "a.parquet") == pq.read_schema(tmp_path / "in" / "a.parquet")
    left = {row["id"]: row["text"] for row in kept}
    assert len(left) == 80 - done.dropped
    cuts = pq.read_table(cut_file(str(out))).to_pylist()
    assert len(cuts) == done.passages
    places = {(cut["id"], place) for cut in cuts for place in range(cut["begin"], cut["end"])}
    whole = {row["id"]: row["text"] for row in rows}
    spans = [words_of(whole[name], identifiers=False) for name in whole]
    cut_words = sum(
        (name, int(start)) in places for name, words in zip(whole, spans, strict=True) for start in words.starts
    )
    assert cut_words == done.cut_words
    given = {row["id"]: row for row in rows}
    for cut in cuts:
        piece = given[cut["id"]]["text"][cut["begin"] : cut["end"]]
        assert len(words_of(piece, identifiers=False)) == cut["words"] >= LEAST
        assert runs(piece) <= runs(left[cut["stands_in"]])
        other = given[cut["stands_in"]]
        assert (other["day"], other["id"]) < (given[cut["id"]]["day"], cut["id"])
    # Nothing that is left of one document is in another once more, and each run of words is still there.
    seen: set[bytes] = set()
    everything = set().union(*(runs(row["text"]) for row in rows))
    for row in kept:
        assert not row["text"] or row["n"] == given[row["id"]]["n"]
    for name, text in left.items():
        pieces = [cut for cut in cuts if cut["id"] == name]
        bounds = [0, *(bound for cut in pieces for bound in (cut["begin"], cut["end"])), len(given[name]["text"])]
        parts = [given[name]["text"][begin:end] for begin, end in zip(bounds[::2], bounds[1::2], strict=True)]
        assert text.split() == " ".join(parts).split()
        own = set().union(*map(runs, parts))
        assert not own & seen
        seen |= own
    assert seen <= everything


def test_to_report_changes_nothing(tmp_path: Path) -> None:
    rows = documents(2, 30)
    given = tmp_path / "in.jsonl"
    given.write_text("".join(json.dumps(row) + "\n" for row in rows))
    counted = cut_passages([str(given)], Cutting(LEAST))
    assert counted.cut_words > 0
    assert [path.name for path in tmp_path.iterdir()] == ["in.jsonl"]
    done = cut_passages([str(given)], Cutting(LEAST), str(tmp_path / "out"))
    assert (done.passages, done.cut_words, done.dropped) == (counted.passages, counted.cut_words, 0)
    # What is cut once has nothing more to cut.
    assert cut_passages([str(tmp_path / "out")], Cutting(LEAST)).cut_words == 0


def test_a_document_that_is_dropped_gives_its_place_to_the_next(tmp_path: Path) -> None:
    shared, other = prose(1, 40), prose(2, 40)
    rows = [
        {"id": "a", "text": shared},
        # Little is left of this one, which is the first to have the other passage.
        {"id": "b", "text": f"{shared} {other[:120]}"},
        {"id": "c", "text": f"{other} {prose(3, 50)}"},
        {"id": "d", "text": f"{other} {prose(4, 50)}"},
    ]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    cut_passages([str(tmp_path / "in.jsonl")], Cutting(LEAST, least_left=30), str(tmp_path / "out"))
    left = [json.loads(line) for line in (tmp_path / "out" / "in.jsonl").read_text().splitlines()]
    assert [row["id"] for row in left] == ["a", "c", "d"]
    assert left[1] == rows[2]
    assert left[2]["text"] == prose(4, 50)


def test_lines_without_a_text_stay_as_they_are(tmp_path: Path) -> None:
    text = prose(1, 60)
    again = json.dumps({"body": {"text": f"{text} more"}})
    lines = [json.dumps({"body": {"text": text}, "x": 1}), "", "{broken", '{"body": 3}', again]
    (tmp_path / "in.jsonl").write_text("\n".join(lines))
    asked = Cutting(LEAST, columns=ColumnNames(text="body.text"))
    done = cut_passages([str(tmp_path / "in.jsonl")], asked, str(tmp_path / "out"))
    assert (done.cut_documents, done.cut_words) == (1, 60)
    left = (tmp_path / "out" / "in.jsonl").read_text().splitlines()
    assert left[:4] == lines[:4]
    assert json.loads(left[4]) == {"body": {"text": "more"}}


def test_touching_passages_each_name_their_document(tmp_path: Path) -> None:
    first, second = prose(1, 30), prose(2, 30)
    rows = [
        {"id": "a", "text": f"Own words here. {first}", "day": 9},
        {"id": "b", "text": second, "day": 10},
        {"id": "c", "text": f"{first}; {second} and an end", "day": 11.5},
    ]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    out = tmp_path / "new" / "out"
    done = cut_passages([str(tmp_path / "in.jsonl")], Cutting(20, time_field="day"), str(out))
    assert (done.passages, done.cut_documents, done.cut_words) == (2, 1, 60)
    cuts = pq.read_table(cut_file(str(out))).to_pylist()
    assert [(rows[2]["text"][cut["begin"] : cut["end"]], cut["stands_in"]) for cut in cuts] == [  # type: ignore[index]
        (f"{first};", "a"),
        (second, "b"),
    ]
    left = [json.loads(line)["text"] for line in (out / "in.jsonl").read_text().splitlines()]
    assert left == [rows[0]["text"], second, "and an end"]


@pytest.mark.parametrize(
    ("days", "says"),
    [
        ([1, "2026-01-05"], "'1' is a number and '2026-01-05' is an ISO 8601 time"),
        (["2026-01-05", "soon"], "'soon' is neither"),
        ([None, None], "no document has this field"),
        ([True, 2], "'True' is neither"),
    ],
)
def test_a_time_that_is_none_is_refused(days: list[object], says: str, tmp_path: Path) -> None:
    rows = [{"id": str(place), "text": prose(1, 30), "day": day} for place, day in enumerate(days)]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(UsageError, match=says):
        cut_passages([str(tmp_path / "in.jsonl")], Cutting(20, time_field="day"), str(tmp_path / "out"))
    assert not (tmp_path / "out").exists()


def test_other_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text("<p>text")
    with pytest.raises(UsageError, match="filter --texts"):
        cut_passages([str(tmp_path / "page.html")], Cutting())
    pq.write_table(pa.table({"body": ["a"]}), tmp_path / "a.parquet")
    with pytest.raises(UsageError, match="has no column text"):
        cut_passages([str(tmp_path / "a.parquet")], Cutting())
    both = pa.Table.from_arrays([pa.array(["a"])] * 2, names=["text", "text"])
    pq.write_table(both, tmp_path / "a.parquet")
    with pytest.raises(UsageError, match="several columns are called text"):
        cut_passages([str(tmp_path / "a.parquet")], Cutting())
    with pytest.raises(UsageError, match="lies inside"):
        cut_passages([str(tmp_path)], Cutting(), str(tmp_path / "out"))


@pytest.mark.parametrize(
    ("text", "spans", "left"),
    [
        ("one two three four", [(1, 3)], "one four"),
        ("One.\n\n(Two three.)\n\nFour.\n", [(1, 3)], "One.\nFour.\n"),
        ("One two, three four", [(0, 2)], "three four"),
        ("One two, three four.\n", [(2, 4)], "One two,"),
        ("One two three", [(0, 3)], ""),
        ("a b c d e", [(0, 1), (2, 3), (4, 5)], "b d"),
    ],
)
def test_signs_go_with_the_words_that_they_adjoin(text: str, spans: list[tuple[int, int]], left: str) -> None:
    made, cuts = without(text, [RepeatedSpan(begin, end, 0) for begin, end in spans])
    assert made == left
    assert len(cuts) == len(spans)
