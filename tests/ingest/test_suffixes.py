"""Files whose suffix says something else than their content."""

from __future__ import annotations

import gzip
import io
import json
import zipfile
from pathlib import Path

import pytest

from indexer.ingest.indexing import Settings as Indexing
from indexer.ingest.indexing import index, store_info
from indexer.ingest.readers import ColumnNames
from indexer.ingest.rereading import StoredTexts
from indexer.ingest.sources import Input, Rejected, Selection, Sources
from indexer.library.opening import open_store
from tests.cli.written import pdf

WORDS = "Nobody had told the gardener that the gate would be painted green before the guests came in the evening."
ROWS = "".join(json.dumps({"text": f"{WORDS} {number}"}) + "\n" for number in range(3))
SUFFIXES = ("eml", "csv", "tsv", "jsonl", "zip", "tar", "rss", "mbox", "warc", "parquet", "txt", "html")


def _zipped(name: str) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr(name, WORDS)
    return packed.getvalue()


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize(
    ("content", "many", "kind"),
    [
        (f"<!doctype html><title>t</title><p>{WORDS}</p>".encode(), 1, "html"),
        (pdf(WORDS), 1, "pdf"),
        (f"{WORDS}\n{WORDS}\n".encode(), 1, "text"),
        (ROWS.encode(), 3, "text"),
        (gzip.compress(ROWS.encode()), 3, "text"),
        (_zipped("note.txt"), 1, "text"),
    ],
    ids=["html", "pdf", "text", "rows", "rows-gz", "zip"],
)
def test_a_wrong_suffix_does_no_harm(tmp_path: Path, content: bytes, many: int, kind: str, suffix: str) -> None:
    path = tmp_path / f"some.{suffix}"
    path.write_bytes(content)
    with open_store(tmp_path / "c.neardup", create=store_info("landmarks")) as store:
        index(Sources([str(tmp_path)], Selection()), store, Indexing(jobs=1))
        records = list(store.scan())
        assert not list(store.failures())
        assert len(records) == many
        # A page without a tag is one too.
        assert {record.format for record in records} <= {kind, "html"} if suffix == "html" else {kind}
        for record, text in StoredTexts(store).read(records):
            assert WORDS in str(text), record.ref.id


def test_a_wrong_suffix_in_an_archive_does_no_harm(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
        archive.writestr("page.csv", f"<!doctype html><p>{WORDS}</p>")
        archive.writestr("note.jsonl", WORDS)
    with open_store(tmp_path / "c.neardup", create=store_info("landmarks")) as store:
        index(Sources([str(tmp_path)], Selection()), store, Indexing(jobs=1))
        assert {record.ref.id.rpartition("/")[2]: record.format for record in store.scan()} == {
            "note.jsonl": "text",
            "page.csv": "html",
        }


@pytest.mark.parametrize(
    "content",
    [b"name,price\nAnna,1\nBen,2\n", b'{"id": "1", "body": "words"}\n', b'broken\n{"text": "words of a row"}\n'],
)
def test_a_table_without_a_text_and_a_broken_line_are_failures_as_before(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / f"some.{'csv' if b',' in content[:9] else 'jsonl'}"
    path.write_bytes(content)
    assert any(isinstance(item, Rejected) for item in Sources([str(path)], Selection()))


def test_rows_of_a_log_without_the_text_are_one_text(tmp_path: Path) -> None:
    (tmp_path / "run.log").write_text('{"time": 1, "msg": "started"}\n{"time": 2, "msg": "stopped"}\n')
    assert len(list(Sources([str(tmp_path)], Selection()))) == 1
    rows = list(Sources([str(tmp_path)], Selection(columns=ColumnNames("msg"))))
    assert [item.number for item in rows if isinstance(item, Input)] == [1, 2]
