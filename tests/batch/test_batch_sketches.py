"""Sketches in files are those of an index, for every kind of file and text; what is there and right is left alone."""

from __future__ import annotations

import json
import random
import re
import zipfile
from itertools import chain
from pathlib import Path
from typing import Any, get_args

import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from indexer.batch.form import FORMAT, Form, Making, cluster_schema, sketch_schema
from indexer.batch.sketches import parts, sketching
from indexer.batch.sketches.kernels import DOCUMENTS
from indexer.batch.sketches.kernels import sketched as sketch_kernel
from indexer.batch.sketches.parts import parts_of, task_of
from indexer.core.markup import is_clean
from indexer.core.sketches import cluster_ids
from indexer.core.text import text_digest
from indexer.errors import IncompatibleStoreError, StoreError, UsageError
from indexer.extract import declared
from indexer.extract.base import Limits
from indexer.extract.text import printable
from indexer.ingest.indexing import Settings, index, store_info
from indexer.ingest.readers.base import ColumnNames
from indexer.ingest.sources import IdFrom, Selection, Sources
from indexer.library.opening import open_store
from indexer.model import Record, Ref, own_cluster_id
from indexer.model.joined import Joined
from indexer.schemes import registry
from tests.batch.batched import MINHASH, sketched, write_files

ODD = [
    "plain words that make a title\nand a second line of it",
    "",
    "   \n\t ",
    "1234 5678 9",
    "one\x07two three\x1ffour",
    "zero \0 byte",
    "\ufeffmarked text here",
    "a \ufeff within, and \uffff too",
    "  \u3000\u2028 first line after blanks  \nnext",
    "-----  ---\n\n * * *\n  a title below rules \nand more",
    "-" * 700 + "\na title behind a long rule\nand more",
    "schön – naïve Ωmega 漢字 हिन्दी",
    "x" * 3000 + " long line",
    "long " * 300_000,
    "see https://example.org/a?b=1 and mail me@example.org",
]


def stored(given: Path, folder: Path, schemes: tuple[str, ...], **selection: Any) -> dict[str, Record]:
    """What an index makes of files."""
    made = [registry.scheme(name) for name in schemes]
    with open_store(folder / "s.neardup", create=store_info("landmarks", made)) as store:
        index(Sources([str(given)], Selection(base=str(folder), **selection)), store, Settings(jobs=1, schemes=made))
        return {record.ref.id: record for record in store.scan()}


@pytest.mark.parametrize("id_from", get_args(IdFrom))
def test_ids_are_those_of_an_index_however_they_are_made(tmp_path: Path, id_from: IdFrom) -> None:
    """What has no id but its content, too: else all such documents would be one, of which the last counts."""
    given = tmp_path / "in"
    (given / "deep").mkdir(parents=True)
    for name in ("a.txt", "b.txt", "deep/c.html", "deep/d.pdf"):
        (given / name).write_text(f"<p>some words of {name}")
    (given / "lines.jsonl").write_text('{"text": "a line without an id"}\n{"id": "own", "text": "another one"}\n')
    with zipfile.ZipFile(given / "some.zip", "w") as archive:
        archive.writestr("inside/e.txt", "words in an archive")
    known = stored(given, tmp_path, (), id_from=id_from)
    sketched(given, tmp_path / "out", Form(()), id_from=id_from)
    made = rows_in(tmp_path / "out")
    assert sorted(row["id"] for row in made if not row["failed"]) == sorted(known)
    assert len({row["id"] for row in made}) == len(made) == 7


def rows_in(out: Path) -> list[dict[str, Any]]:
    return [row for path in sorted(out.glob("sketches/*.parquet")) for row in pq.read_table(path).to_pylist()]


def same(row: dict[str, Any], record: Record, schemes: tuple[str, ...]) -> None:
    """AssertionError unless a row says what the record says."""
    bits = record.fingerprint.bits if record.fingerprint else None
    assert (row["simhash_doc"], row["tokens"], row["short"]) == (bits, record.tokens, record.short)
    assert (row["title"], row["source"], row["format"]) == (record.title, record.source, record.format)
    assert (row["extractor"], row["bytes"]) == (record.extractor, record.size)
    assert row["source_digest"].hex() == record.source_digest
    assert row["text_digest"].hex() == record.text_digest
    assert json.loads(row["metadata"] or "{}") == record.metadata
    for name in schemes:
        scheme, column = registry.scheme(name), registry.scheme(name).family.replace("-", "_")
        sketch = record.sketches[scheme.family]
        assert row[column] == sketch.payload
        assert tuple(row[f"{column}_keys"]) == sketch.keys
        assert row[f"{column}_features"] == sketch.features


@pytest.mark.parametrize("suffix", ["jsonl", "parquet"])
def test_a_text_that_breaks_what_looks_for_dates_is_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str
) -> None:
    names = declared._names

    def breaks(text: str) -> Any:
        return {}["a month"] if "number 7" in text else names(text)

    monkeypatch.setattr(declared, "_names", breaks)
    lines = [{"id": str(n), "text": f"words of number {n}"} for n in range(10)]
    given = tmp_path / f"all.{suffix}"
    if suffix == "parquet":
        pq.write_table(pa.Table.from_pylist(lines), given)
    else:
        given.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert sketched(given, tmp_path / "out", Form((MINHASH,)), jobs=1).failed == {"malformed": 1}
    rows = {row["id"]: row for row in rows_in(tmp_path / "out")}
    assert list(rows) == [str(n) for n in range(10)]
    assert {name for name, row in rows.items() if row["failed"]} == {"7"}
    assert rows["7"]["failed"].endswith("KeyError: 'a month'")
    assert rows["7"]["simhash_doc"] is None
    assert rows["8"]["simhash_doc"] is not None


@pytest.mark.parametrize("schemes", [(), (MINHASH,), (MINHASH, "spotsigs")], ids=["lean", "default", "more"])
@pytest.mark.parametrize("suffix", ["parquet", "jsonl"])
def test_as_in_an_index(schemes: tuple[str, ...], suffix: str, tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {"id": f"d{place}", "text": text, "lang": "en" if place % 2 else None, "year": place}
        for place, text in enumerate(ODD)
    ]
    rows[0]["title"], rows[1]["title"] = "Its own title", None
    rows[2]["url"] = "https://example.org/2"
    given = tmp_path / f"docs.{suffix}"
    if suffix == "parquet":
        pq.write_table(pa.Table.from_pylist([{"title": None, "url": None, **row} for row in rows]), given)
    else:
        given.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    summary = sketched(given, tmp_path / "out", Form(tuple(registry.scheme(name).id for name in schemes)))
    assert (summary.documents, summary.failures) == (len(ODD), 0)
    records = stored(given, tmp_path, schemes)
    found = {row["id"]: row for row in rows_in(tmp_path / "out")}
    assert found.keys() == records.keys()
    for name, record in records.items():
        if suffix == "jsonl":
            record.metadata.pop("lang", None) if record.metadata.get("lang") is None else None  # type: ignore[attr-defined]
            known = {key: value for key, value in json.loads(found[name]["metadata"]).items() if value is not None}
            found[name]["metadata"] = json.dumps(known)
        same(found[name], record, schemes)
    assert sorted(row["row"] for row in found.values()) == list(range(1, len(ODD) + 1))


def test_files_of_any_kind_as_in_an_index(tmp_path: Path) -> None:
    folder = tmp_path / "docs"
    (folder / "deep").mkdir(parents=True)
    (folder / "a.html").write_text("<title>T</title><body><nav>menu</nav><p>" + "words of a page " * 20)
    (folder / "deep" / "b.txt").write_text("words of a text " * 20)
    (folder / "c.csv").write_text("id,text,lang\n1," + "words of a row " * 20 + ",en\n2,,de\n")
    (folder / "broken.pdf").write_bytes(b"%PDF-1.4 broken")
    summary = sketched(folder, tmp_path / "out", Form((MINHASH,)))
    assert dict(summary.failed) == {"malformed": 1}
    records = stored(folder, tmp_path, (MINHASH,))
    found = {row["id"]: row for row in rows_in(tmp_path / "out")}
    assert {name for name, row in found.items() if row["failed"] is None} == records.keys() == {
        "docs/a.html", "docs/deep/b.txt", "1", "2"
    }  # fmt: skip
    for name, record in records.items():
        same(found[name], record, (MINHASH,))
    [failed] = [row for row in found.values() if row["failed"]]
    assert failed["id"] == "docs/broken.pdf"
    assert failed["failed"].startswith("malformed: ")


def test_rows_that_are_no_documents_are_listed_with_the_reason(tmp_path: Path) -> None:
    table = pa.table({"id": ["a", "", "c", None], "text": ["words", "words", None, "of no id"]})
    pq.write_table(table, tmp_path / "t.parquet")
    summary = sketched(tmp_path / "t.parquet", tmp_path / "out", Form(()))
    assert dict(summary.failed) == {"malformed": 2}
    rows = {row["row"]: row for row in rows_in(tmp_path / "out")}
    assert {number: row["id"] for number, row in rows.items() if not row["failed"]} == {1: "a", 4: "t.parquet:4"}
    assert '"id" must be' in rows[2]["failed"]
    assert 'no "text"' in rows[3]["failed"]


def test_a_damaged_file_is_listed_and_what_could_be_read_stays(tmp_path: Path) -> None:
    rows = [{"id": f"d{number}", "text": f"{random.Random(number).random()} words " * 400} for number in range(3000)]
    write_files(tmp_path / "in", rows, 1)
    path = tmp_path / "in" / "0.parquet"
    data = bytearray(path.read_bytes())
    data[len(data) // 3 : len(data) // 3 + 2000] = b"\xff" * 2000
    path.write_bytes(data)
    summary = sketched(path, tmp_path / "out", Form(()))
    assert summary.failures == 1


def test_what_is_there_is_left_alone_and_what_changed_is_made_again(tmp_path: Path) -> None:
    rows = [{"id": f"d{number}", "text": f"words {number} " * 10} for number in range(8)]
    given, form = write_files(tmp_path / "in", rows, 4), Form(())
    assert sketched(given, tmp_path / "out", form).files == 4
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "out" / "sketches").iterdir()}
    write_files(given, rows[:3], 1)
    summary = sketched(given, tmp_path / "out", form)
    assert (summary.files, summary.done_before) == (1, 3)
    after = {path: path.stat().st_mtime_ns for path in (tmp_path / "out" / "sketches").iterdir()}
    assert before.keys() == after.keys()
    assert sum(before[path] != after[path] for path in after) == 1


def test_what_was_read_by_other_names_of_fields_is_made_again(tmp_path: Path) -> None:
    given, form = write_files(tmp_path / "in", [{"id": "a", "body": "words " * 30}], 1), Form(())
    summary = sketched(given, tmp_path / "out", form)
    assert (summary.documents, summary.failures) == (1, 1)
    assert "name the one with --text-field" in summary.first_failure
    columns = ColumnNames(text="body")
    summary = sketched(given, tmp_path / "out", form, columns=columns)
    assert (summary.files, summary.done_before, summary.failures, summary.first_failure) == (1, 0, 0, "")
    assert sketched(given, tmp_path / "out", form, columns=columns).done_before == 1


def test_other_programs_see_every_file(tmp_path: Path) -> None:
    for name in ("_sources", "_", "a"):
        (tmp_path / "in" / name).mkdir(parents=True)
        (tmp_path / "in" / name / "page.txt").write_text(f"a page of {name} " * 10)
    sketched(tmp_path / "in", tmp_path / "out", Form(()))
    assert pyarrow.dataset.dataset(tmp_path / "out" / "sketches").count_rows() == 3


def test_each_part_belongs_to_one_task(tmp_path: Path) -> None:
    given = write_files(tmp_path / "in", [{"id": f"d{number}", "text": "words"} for number in range(7)], 7)
    selection = Selection(base=str(tmp_path))
    found = parts_of(Sources([str(given)], selection), print)
    reversed_names = [str(path) for path in sorted(given.iterdir(), reverse=True)]
    again = parts_of(Sources(reversed_names, selection), print)
    assert [part.name for part in again] == [part.name for part in found]
    tasks = [[part.name for part in task_of(found, (number, 3))] for number in (1, 2, 3)]
    assert sorted(chain.from_iterable(tasks)) == [part.name for part in found]
    assert all(tasks)


def test_of_files_that_are_gone_nothing_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "_FILES_TOGETHER", 3)
    folder = tmp_path / "docs"
    folder.mkdir()
    for number in range(8):
        (folder / f"{number}.txt").write_text(f"words of file {number}")
    assert sketched(folder, tmp_path / "out", Form(())).files == 3
    for number in range(3, 8):
        (folder / f"{number}.txt").unlink()
    assert sketched(folder, tmp_path / "out", Form(())).done_before == 1
    assert sorted(row["id"] for row in rows_in(tmp_path / "out")) == [f"docs/{number}.txt" for number in range(3)]


def test_sketches_of_other_forms_are_refused(tmp_path: Path) -> None:
    given = write_files(tmp_path / "in", [{"id": "a", "text": "words"}], 1)
    sketched(given, tmp_path / "out", Form(()))
    with pytest.raises(IncompatibleStoreError, match="schemes none beside simhash-doc"):
        sketched(given, tmp_path / "out", Form((MINHASH,)))
    with pytest.raises(IncompatibleStoreError, match="min_tokens 20"):
        sketched(given, tmp_path / "out", Form((), min_tokens=5))
    (tmp_path / "out" / "sketches" / "other.parquet").write_bytes(b"PAR1")
    with pytest.raises(StoreError, match=r"other\.parquet: no file of sketches"):
        sketched(given, tmp_path / "out", Form(()))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.text(max_size=60), max_size=12))
def test_the_kernel_gives_the_same_of_any_texts(texts: list[str]) -> None:
    texts = [text.encode("utf-8", "replace").decode() for text in texts]
    nothing: list[Any] = [None] * len(texts)
    columns = [
        [str(place) for place in range(len(texts))], list(range(len(texts))), texts, [""] * len(texts),
        ["/s"] * len(texts), nothing, nothing,
    ]  # fmt: skip
    batch = pa.RecordBatch.from_arrays(
        [pa.array(c, f.type) for c, f in zip(columns, DOCUMENTS, strict=True)], schema=DOCUMENTS
    )
    form = Form((MINHASH,))
    together = sketch_kernel(batch, Making(form, Limits()))
    alone = [
        row
        for place in range(len(texts))
        for row in sketch_kernel(batch.slice(place, 1), Making(form, Limits())).to_pylist()
    ]
    assert together.to_pylist() == alone
    for text, row in zip(texts, alone, strict=True):
        assert row["text_digest"] == text_digest(printable(text.removeprefix("\ufeff")))


@given(st.lists(st.text(max_size=300)))
def test_columns_in_c_give_what_python_gives(texts: list[str]) -> None:
    assert cluster_ids(texts).tolist() == [own_cluster_id(Ref(text)).encode() for text in texts]
    for text in texts:
        assert is_clean(text.encode("utf-8", "surrogatepass")) == (
            not {"\ufeff", "\x9b"} & {*text} and printable(text.replace("\ud800", "")) == text.replace("\ud800", "")
        ) or any("\ud800" <= each <= "\udfff" for each in text)


def test_texts_that_leave_their_buffer_are_refused() -> None:
    import numpy as np

    for ends in ([4], [3, 2], [-1]):
        with pytest.raises(UsageError):
            Joined(b"abc", np.array(ends, dtype=np.int64).astype(np.uintp))


@pytest.mark.parametrize("schemes", [(MINHASH,), ("spotsigs",)])
def test_what_a_document_brings_is_kept_whichever_way_its_text_takes(schemes: tuple[str, ...]) -> None:
    count = len(ODD)
    columns = {
        "id": [str(number) for number in range(count)],
        "row": list(range(1, count + 1)),
        "text": ODD,
        "title": [""] * count,
        "source": ["table"] * count,
        "time": [None if number % 3 == 0 else f"2026-01-{number:02}" for number in range(count)],
        "metadata": [None if number % 2 else json.dumps({"seen": number}) for number in range(count)],
    }
    documents = pa.Table.from_pydict(columns, schema=DOCUMENTS).to_batches()[0]
    made = sketch_kernel(documents, Making(Form(schemes, time_field="seen"), Limits()))
    for name in ("id", "row", "source", "time", "metadata"):
        assert made[name].to_pylist() == columns[name]


@pytest.mark.parametrize("most_ahead", [2, 7, 1 << 14])
def test_rows_stand_in_the_order_of_the_input_whichever_document_takes_longest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most_ahead: int
) -> None:
    monkeypatch.setattr(sketching, "_MOST_AHEAD", most_ahead)
    folder = tmp_path / "pages"
    folder.mkdir()
    expected = []
    for number in range(60):
        # Every twentieth keeps a worker while the other one does the rest; some can't be read.
        words = " ".join(f"w{number}x{place}" for place in range(200_000 if number % 20 == 0 else 40))
        name = f"{number:02}.{'pdf' if number % 7 == 3 else 'txt' if number % 5 == 1 else 'html'}"
        (folder / name).write_text(f"<p>{words}</p>" if name.endswith("html") else words)
        expected.append(f"pages/{name}")
    (folder / "30.html").unlink()
    (folder / "30.html").symlink_to("nowhere")
    lines = [
        json.dumps({"id": f"r{number}", "text": "words of a row " * (50_000 if number == 3 else 9)})
        for number in range(99)
    ]
    (tmp_path / "rows.jsonl").write_text(
        "".join(line[: None if place % 13 else 20] + "\n" for place, line in enumerate(lines))
    )
    for path in (folder, tmp_path / "rows.jsonl"):
        sketched(path, tmp_path / "out", Form((MINHASH,)))
    found = [row["id"].removeprefix(f"{tmp_path}/") for row in rows_in(tmp_path / "out")]
    assert [name for name in found if "pages" in name] == expected
    ids = [f"r{place}" if place % 13 else f"rows.jsonl:{place + 1}" for place in range(99)]
    assert [name for name in found if "pages" not in name] == ids


def test_the_page_names_the_form_and_all_columns_of_files() -> None:
    page = (Path(__file__).parents[2] / "docs" / "reference" / "batches.md").read_text()
    assert f"`format` ({FORMAT})" in page
    tables = page[page.index("## The files") :].split("| column of ")[1:]
    for table, schema in zip(tables, (sketch_schema(Form((MINHASH,))), cluster_schema(against=True)), strict=True):
        rows = [line.split("|")[1] for line in table.splitlines()[2:] if line.startswith("|")]
        named = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
        assert named == set(schema.names)
