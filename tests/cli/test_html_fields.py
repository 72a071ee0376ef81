"""A field with HTML in one source and text in another: named by the summary and `doctor`, read by `--format auto`."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

import neardup as library
from tests.cli.command import Neardup, write
from tests.cli.written import prose

WORDS = {f"{place}{number}": prose(number, 60) for number in range(3) for place in ("text", "page")}
VALUES = {name: f"<p>{text}</p>" if name.startswith("page") else text for name, text in WORDS.items()}
ROWS = [{"id": name, "body": value} for name, value in VALUES.items()]
PAIRS = {frozenset((f"page{number}", f"text{number}")) for number in range(3)}


def rows_in(neardup: Neardup, kind: str) -> str:
    name = f"rows.{kind}"
    if kind == "jsonl":
        write(neardup.folder, {name: "".join(f"{json.dumps(row)}\n" for row in ROWS)})
    elif kind == "csv":
        with (neardup.folder / name).open("w", newline="") as file:
            table = csv.DictWriter(file, ["id", "body"])
            table.writeheader()
            table.writerows(ROWS)
    else:
        arrow = pytest.importorskip("pyarrow")
        pytest.importorskip("pyarrow.parquet").write_table(arrow.Table.from_pylist(ROWS), neardup.folder / name)
    return name


@pytest.mark.parametrize("kind", ["jsonl", "csv", "parquet"])
def test_the_field_is_named_and_auto_reads_each_value_as_it_is(neardup: Neardup, kind: str) -> None:
    name = rows_in(neardup, kind)
    first = neardup("index", name, "--text-field", "body")
    assert "HTML as text          3  of 6, in body; its tags are words; see --format auto" in first.out
    told = neardup("doctor", code=7).out
    assert "HTML in the field body was read as text in 3 of 6 documents looked at" in told
    again = neardup("index", name, "--text-field", "body", "--format", "auto", "--json").json
    assert (again["replaced"], again["unchanged"], again["html_as_text"]) == (3, 3, {})
    assert "HTML" not in neardup("doctor").out
    found = [line.split(",") for line in neardup("pairs", "--relation").out.splitlines()[1:]]
    assert {frozenset(line[:2]) for line in found} == PAIRS
    assert {line[4] for line in found} <= {"identical", "reflowed"}
    # Without the option the file is read as before.
    assert neardup("index", name, "--json").json["unchanged"] == 6


def test_equal_bytes_are_counted_for_their_own_field_each(neardup: Neardup) -> None:
    page = VALUES["page0"]
    write(neardup.folder, {"a.jsonl": json.dumps({"body": page}), "b.jsonl": json.dumps({"text": page}), "c.txt": page})
    for number, (name, field) in enumerate((("a.jsonl", "body"), ("c.txt", ""), ("b.jsonl", "text"))):
        flags = ["--text-field", field] if field == "body" else ["--format", "text"] if not field else []
        told = neardup("index", name, *flags, "--json").json
        assert (told["reused"], told["html_as_text"]) == (int(number > 0), {field: 1} if field else {})
    found = neardup("doctor", code=7).out
    assert "field body was read as text in 1 of 3" in found
    assert "field text was read as text in 1 of 3" in found


def test_usual_names_and_batches_take_auto(neardup: Neardup) -> None:
    write(neardup.folder, {"rows.jsonl": "".join(f"{json.dumps({'text': row['body']})}\n" for row in ROWS)})
    assert neardup("index", "rows.jsonl", "--json").json["html_as_text"] == {"text": 3}
    assert neardup("index", "rows.jsonl", "--format", "auto", "--json").json["replaced"] == 3
    assert neardup("index", "rows.jsonl", "--json").json["unchanged"] == 6
    assert "3 pairs" in neardup("pairs").err
    made = neardup("batch", "sketch", "rows.jsonl", "--out", "auto", "--format", "auto", "--json").json
    assert made["html_as_text"] == {}
    made = neardup("batch", "cluster", "auto", "--out", "clusters", "--json").json
    assert (made["clusters"], made["clustered"]) == (3, 6)


@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
def test_batches_name_the_field(neardup: Neardup, kind: str) -> None:
    name = rows_in(neardup, kind)
    asked = ("batch", "sketch", name, "--out", "sketches", "--text-field", "body")
    assert "HTML as text  3  of 6, in body; its tags are words; see --format auto" in neardup(*asked).out
    # Also of sketches that are there.
    assert neardup(*asked, "--json").json["html_as_text"] == {"body": 3}


def test_programs_give_rows_of_both(tmp_path: Path) -> None:
    write(tmp_path, {"rows.jsonl": "".join(f"{json.dumps(row)}\n" for row in ROWS)})
    with library.open(tmp_path / "own.neardup") as collection:
        assert collection.add_many(ROWS, fields={"text": "body"}).html_as_text == {"body": 3}
        collection.index(tmp_path / "rows.jsonl", fields={"text": "body"}, format="auto", jobs=1)
        assert {frozenset((one.left, one.right)) for one in collection.pairs()} == PAIRS
