"""CSV, TSV and Parquet: columns by name, bad rows and damaged files, and many files as one collection."""

from __future__ import annotations

import csv
import gzip
import io
import random
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from indexer.errors import UsageError
from indexer.extract.base import Limits, Options
from indexer.ingest.from_store import stored_inputs
from indexer.ingest.indexing import Settings, index, store_info
from indexer.ingest.readers import BadEntry, ColumnNames, FileEntry, ReaderOptions, base, reader_of
from indexer.ingest.sources import Input, Rejected, Selection, Sources
from indexer.library.opening import open_store
from indexer.matching.evaluation.documents import read_texts


def entries(name: str, data: bytes, limit: int = 10_000, **columns: Any) -> list[FileEntry | BadEntry]:
    reader = reader_of(name)
    assert reader is not None
    return list(reader.entries(io.BytesIO(data), name, ReaderOptions(limit, ColumnNames(**columns))))


def parquet(table: dict[str, Any] | pyarrow.Table, **options: Any) -> bytes:
    out = io.BytesIO()
    pyarrow.parquet.write_table(table if isinstance(table, pyarrow.Table) else pyarrow.table(table), out, **options)
    return out.getvalue()


cells = st.text(st.characters(codec="utf-8", exclude_characters="\0\r"), max_size=20)


@given(st.lists(st.tuples(cells, cells), max_size=10), st.sampled_from(",;\t|"))
def test_csv_comes_back_as_written(rows: list[tuple[str, str]], delimiter: str) -> None:
    out = io.StringIO()
    writer = csv.writer(out, delimiter=delimiter, quoting=csv.QUOTE_ALL)
    writer.writerows([("text", "note"), *rows])
    found = entries("a.tsv" if delimiter == "\t" else "a.csv", out.getvalue().encode("utf-8-sig"))
    assert [(entry.data.decode(), entry.metadata) for entry in found if isinstance(entry, FileEntry)] == [
        (text, {"note": note} if note else {}) for text, note in rows
    ]
    assert [entry.number for entry in found] == list(range(1, len(rows) + 1))


def test_columns_of_csv_by_name() -> None:
    data = b'key;head;body\n1;"A; title";"two\nlines"\n;;words without an id\n'
    one, two = entries("a.csv", data, text="body", title="head")
    assert isinstance(one, FileEntry)
    assert (one.id, one.title, one.data, one.metadata) == ("", "A; title", b"two\nlines", {"key": "1"})
    assert isinstance(two, FileEntry)
    assert (two.number, two.data, two.metadata) == (2, b"words without an id", {})
    [named, nameless] = entries("a.csv", data, text="body", id="key")
    assert isinstance(named, FileEntry)
    assert named.id == "1"
    assert isinstance(nameless, BadEntry)


@pytest.mark.parametrize("name", ["a.csv", "a.parquet"])
def test_a_table_without_a_text_says_what_it_has(name: str) -> None:
    data = b"id,body,n\n1,words,2\n" if name == "a.csv" else parquet({"id": [1], "body": ["words"], "n": [2]})
    [bad] = entries(name, data)
    assert isinstance(bad, BadEntry)
    assert "--text-field" in bad.detail
    assert "id, body, n" in bad.detail
    [bad] = entries(name, data, text="nowhere")
    assert isinstance(bad, BadEntry)
    assert "no column 'nowhere'" in bad.detail


def test_bad_rows_of_csv_cost_only_themselves() -> None:
    rows = [b"text,n", b"one,1", b"two,2,3", b"\xff,3", b"x" * 300 + b",4", b"five,5"]
    found = entries("a.csv", b"\n".join(rows), limit=200)
    assert [entry.number for entry in found] == [1, 2, 3, 4, 5]
    assert [entry.reason for entry in found if isinstance(entry, BadEntry)] == ["malformed", "malformed", "too-large"]
    assert isinstance(found[-1], FileEntry)


def test_a_quote_that_is_never_closed_ends_at_the_limit() -> None:
    lines = b"text\n" + b'"' + b"words of a line\n" * 100_000
    found = entries("a.csv", lines, limit=1000)
    assert isinstance(found[0], BadEntry)
    assert all(len(entry.data) <= 1000 for entry in found if isinstance(entry, FileEntry))


def test_parquet_by_columns() -> None:
    table = {
        "doc": [{"id": 7, "body": "words"}, {"id": 8, "body": None}, None],
        "head": ["T", None, "U"],
        "when": [datetime(2024, 1, 2, tzinfo=UTC)] * 3,
        "score": [0.5, float("nan"), None],
        "vector": [[1.0] * 100] * 3,
        "raw": [b"octets"] * 3,
    }
    one, two, three = entries("a.parquet", parquet(table), text="doc.body", id="doc.id", title="head")
    assert isinstance(one, FileEntry)
    assert (one.id, one.title, one.data) == ("7", "T", b"words")
    assert one.metadata["when"] == "2024-01-02T00:00:00+00:00"
    assert one.metadata["score"] == 0.5
    assert not {"vector", "raw", "doc"} & set(one.metadata)
    assert [bad.detail for bad in (two, three) if isinstance(bad, BadEntry)] == ['no "doc.body"', 'no "doc.id"']


def test_parquet_in_batches_and_row_groups() -> None:
    texts = [f"text {number}" for number in range(3000)]
    found = entries("a.parquet", parquet({"text": texts}, row_group_size=700))
    assert [entry.data.decode() for entry in found if isinstance(entry, FileEntry)] == texts
    assert [entry.number for entry in found] == list(range(1, 3001))


@pytest.mark.parametrize("seed", range(20))
def test_damaged_parquet_is_an_outcome(seed: int) -> None:
    chance = random.Random(seed)
    whole = bytearray(parquet({"text": [f"text {number}" for number in range(500)]}, row_group_size=100))
    if seed % 2:
        del whole[chance.randrange(len(whole)) :]
    else:
        for _ in range(10):
            whole[chance.randrange(len(whole))] = chance.randrange(256)
    found = entries("a.parquet", bytes(whole))
    assert all(isinstance(entry, FileEntry | BadEntry) for entry in found)
    if seed % 2:
        assert isinstance(found[-1], BadEntry)


def test_a_cell_over_the_limit() -> None:
    found = entries("a.parquet", parquet({"text": ["short", "x" * 200, "after"]}), limit=100)
    assert [getattr(entry, "reason", "") for entry in found] == ["", "too-large", ""]


def test_no_pyarrow_stops_with_the_extra_that_brings_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.parquet").write_bytes(parquet({"text": ["words"]}))

    def absent(name: str) -> None:
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)

    monkeypatch.setattr(base.importlib, "import_module", absent)
    with pytest.raises(UsageError, match=r"not installed: pip install 'neardup\[parquet\]'"):
        list(Sources([str(tmp_path)]))


def test_many_files_are_one_collection_and_their_texts_are_read_again(tmp_path: Path) -> None:
    words = [" ".join(f"w{number}x{place}" for place in range(30)) for number in range(40)]
    folder = tmp_path / "set"
    folder.mkdir()
    for part in range(2):
        some = words[part * 10 : part * 10 + 10]
        (folder / f"part-{part}.parquet").write_bytes(parquet({"body": some, "lang": ["en"] * 10}))
    rows = "\n".join(["body,lang", *(f"{text},fr" for text in words[20:30])])
    (folder / "part-2.csv").write_text(rows)
    (folder / "part-3.csv.gz").write_bytes(gzip.compress("\n".join(["body", *words[30:]]).encode()))
    selection = Selection(base=str(tmp_path), columns=ColumnNames(text="body"))
    with open_store(tmp_path / "c.neardup", create=store_info("landmarks")) as store:
        summary = index(Sources([str(folder)], selection), store, Settings(jobs=1))
        assert (summary.indexed, summary.failures) == (40, 0)
        records = list(store.scan())
        names = {record.ref.id for record in records}
        assert {"set/part-0.parquet:1", "set/part-2.csv:10", "set/part-3.csv.gz:1"} <= names
        found = read_texts(
            stored_inputs(store, records, Selection(columns=ColumnNames(text="body"))), Options(), Limits(), 1
        )
        assert (dict(found.failed), sorted(found.texts)) == ({}, sorted(words))
        assert set(found.ids) == names
        again = index(Sources([str(folder)], selection), store, Settings(jobs=1))
        assert (again.unchanged, again.done) == (40, 40)


def test_a_table_among_files_is_no_document_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("n,m\n1,2\n")
    (tmp_path / "b.txt").write_text("words")
    one, two = Sources([str(tmp_path)], Selection(id_from="name"))
    assert isinstance(one, Rejected)
    assert isinstance(two, Input)


def test_two_columns_of_one_name_are_refused() -> None:
    both = pyarrow.Table.from_arrays([pyarrow.array(["a"]), pyarrow.array(["b"])], names=["text", "text"])
    for name, data in (("a.csv", b"id;text;text\n1;a;b\n"), ("a.parquet", parquet(both))):
        [bad] = entries(name, data)
        assert isinstance(bad, BadEntry)
        assert bad.detail == "several columns are called 'text'; rename all but one"
    # Others may be there as often as they are.
    assert len(entries("a.csv", b"text,x,x\na,b,c\n")) == 1
