"""Whatever a program has its documents in comes in alike; what is no document is told."""

from __future__ import annotations

import datetime
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import indexer
from indexer.errors import UsageError
from indexer.ingest.readers.base import ColumnNames
from indexer.library.program_documents import documents, plain
from tests.cli.written import prose

ROWS = [
    {"id": "a", "text": prose(1), "title": "One", "year": 2024},
    {"id": "b", "text": prose(2), "title": None, "year": None},
]


@pytest.fixture
def collection(tmp_path: Path) -> Iterator[indexer.Collection]:
    with indexer.open(tmp_path / "collection.neardup") as opened:
        yield opened


def frames() -> dict[str, Any]:
    table = pa.Table.from_pylist(ROWS)
    pandas = pytest.importorskip("pandas")
    return {
        "dicts": ROWS,
        "generator": (row for row in ROWS),
        "table": table,
        "batch": table.to_batches()[0],
        "batches": table.to_batches(),
        "reader": table.to_reader(),
        "data frame": pandas.DataFrame(ROWS),
        "data frame of objects": pandas.DataFrame(ROWS).convert_dtypes(),
    }


@pytest.mark.parametrize("kind", frames())
def test_every_kind_of_table_comes_in_alike(collection: indexer.Collection, kind: str) -> None:
    assert collection.add_many(frames()[kind]).indexed == 2
    one, other = collection["a"], collection["b"]
    assert (one.title, one.metadata) == ("One", {"year": 2024})
    assert other.metadata == {}
    assert collection.add_many(ROWS).unchanged == 2


@pytest.mark.parametrize("kind", ["frame", "frames", "lazy frame"])
def test_frames_of_polars(collection: indexer.Collection, kind: str) -> None:
    polars = pytest.importorskip("polars", reason="NEEDS polars: its frames were not tried")
    frame = polars.DataFrame(ROWS)
    given = {"frame": frame, "frames": [frame[:1], frame[1:]], "lazy frame": frame.lazy().filter(polars.col("id") > "")}
    assert collection.add_many(given[kind]).indexed == 2
    assert collection.add_many(ROWS).unchanged == 2


def test_a_relation_of_duckdb(collection: indexer.Collection, monkeypatch: pytest.MonkeyPatch) -> None:
    duckdb = pytest.importorskip("duckdb", reason="NEEDS DuckDB: its relations were not tried")
    relation = duckdb.from_arrow(pa.Table.from_pylist(ROWS)).order("id")
    assert collection.add_many(relation).indexed == 2
    assert collection.add_many(ROWS).unchanged == 2
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(UsageError, match="DuckDBPyRelation takes pyarrow"):
        collection.add_many(relation)


def test_pairs_and_mappings(collection: indexer.Collection) -> None:
    assert collection.add_many([("a", prose(1)), (2, prose(2))]).indexed == 2
    assert collection.add_many({"a": prose(1), "2": prose(2), "c": prose(3)}).unchanged == 2
    assert [document.id for document in collection] == ["a", "2", "c"]


def test_texts_are_named_by_their_content(collection: indexer.Collection) -> None:
    assert collection.add_many([prose(1), prose(2), prose(1)]).done == 3
    assert len(collection) == 2
    assert collection.add_many([prose(2)]).unchanged == 1


def test_html_is_read_as_html(collection: indexer.Collection) -> None:
    page = f"<html><title>Tea é</title><nav>Home About</nav><main>{prose(1)}</main></html>"
    page = '<meta charset="utf-16">' + page  # it has been decoded already
    assert collection.add_many([{"id": "a", "html": page}]).indexed == 1
    assert (collection["a"].format, collection["a"].title) == ("html", "Tea é")
    assert collection.similar(prose(1))[0].similarity == 1


def test_what_is_no_document_is_rejected_with_its_number(collection: indexer.Collection) -> None:
    rows = [
        {"id": "a"}, {"id": "b", "text": 7}, {"id": "", "text": "x"}, {"id": 1.5, "text": "x"},
        {"id": "c", "text": prose(1), "title": 7}, {"text": prose(2), "source": ["x"]}, {"id": None, "text": prose(3)},
    ]  # fmt: skip
    found = collection.add_many(rows)
    assert (found.indexed, found.failed) == (1, {"malformed": 6})
    assert {each.id: each.detail for each in collection.failures()} == {
        "a": 'no "text" or "html"; name the field with --text-field; the fields are: id',
        "b": '"text" must be a string',
        "c": '"title" must be a string',
        "document 3": '"id" must be a non-empty string or an integer',
        "document 4": '"id" must be a non-empty string or an integer',
        "document 6": '"source" must be a string',
    }


@pytest.mark.parametrize("wrong", ["a text", b"octets", 7, None, [7], [None], [("a", "b", "c")]], ids=repr)
def test_what_is_no_documents_at_all_is_refused(collection: indexer.Collection, wrong: Any) -> None:
    with pytest.raises(UsageError, match=r"text|documents"):
        collection.add_many(wrong)


@pytest.mark.parametrize(
    "text", ["\0" * 50 + "tea", "\x1f\x8b tea", "\ufefftea", "tea \ud83c\udf75 \ud800 x", "%PDF-1.4 tea", "<html>tea"]
)
def test_a_text_is_what_it_is(collection: indexer.Collection, text: str) -> None:
    """Whatever it begins with: it is no file of which the kind has to be found out."""
    collection.add("a", text + " " + prose(1))
    stored = collection["a"]
    assert stored.format == "text"
    assert collection.similar(text + " " + prose(1))[0].similarity == 1
    assert stored.tokens == len(f"tea {prose(1)}".split()) + text.count("x") + ("PDF" in text) + ("html" in text)


def test_metadata_are_what_json_has() -> None:
    day = datetime.datetime(2024, 5, 1, tzinfo=datetime.UTC)
    given = {
        "day": day, "none": None, "nan": float("nan"), "big": np.int64(7), "array": np.array([1, 2]), "set": {1},
        "deep": {"x": (1, np.float32(0.5))}, "path": Path("a/b"), 7: True,
    }  # fmt: skip
    assert plain(given) == {
        "day": "2024-05-01T00:00:00+00:00", "big": 7, "array": [1, 2], "set": [1], "deep": {"x": [1, 0.5]},
        "path": "a/b", "7": True,
    }  # fmt: skip


def test_rows_are_read_one_at_a_time() -> None:
    read = 0

    def rows() -> Iterator[dict[str, str]]:
        nonlocal read
        for number in range(100):
            read += 1
            yield {"id": str(number), "text": "x"}

    found = documents(rows(), ColumnNames())
    next(found)
    assert read == 1


def nested(depth: int) -> list[Any]:
    inner: list[Any] = []
    for _ in range(depth):
        inner = [inner]
    return inner


class Unsaid:
    def __str__(self) -> str:
        raise OverflowError("no text")


def test_values_that_json_can_not_have_cost_their_document_only(collection: indexer.Collection) -> None:
    endless: dict[str, Any] = {}
    endless["x"] = endless
    wrong = [{"x": nested(9_000)}, endless, {"x": Unsaid()}, {"id": 10**5000}]
    rows = [{"text": prose(number), **row} for number, row in enumerate(wrong)]
    found = collection.add_many([*rows, {"id": "a", "text": prose(9)}])
    assert (found.indexed, found.failed) == (1, {"malformed": 4})
    assert [each.id for each in collection.failures()] == [f"document {number}" for number in range(1, 5)]
    for row in wrong[:3]:
        with pytest.raises(UsageError):
            collection.add("b", prose(1), metadata=row)


def test_ids_that_differ_in_half_a_surrogate_pair_stay_apart(collection: indexer.Collection) -> None:
    names = ["a\ud800", "a\ud801", "a\ufffd"]
    collection.add_many([{"id": name, "text": prose(number)} for number, name in enumerate(names)])
    assert [collection[name].id for name in names] == names
