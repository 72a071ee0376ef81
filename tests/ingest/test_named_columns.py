"""What a store remembers of files with many documents: their columns, and which file a document was read from."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import indexer
from indexer.ingest.from_store import stored_inputs
from indexer.ingest.indexing import Settings, index, store_info
from indexer.ingest.readers import ColumnNames
from indexer.ingest.remembered import COLUMNS, KnownColumns
from indexer.ingest.rereading import StoredTexts
from indexer.ingest.sources import Input, Selection, Sources
from indexer.library.opening import open_store
from indexer.model.counts import IndexingSummary
from indexer.stores import Store

BODY = ColumnNames(text="body", id="key")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(tmp_path / "c.neardup", create=store_info("landmarks")) as opened:
        yield opened


def lines(path: Path, rows: list[dict[str, Any]]) -> str:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def put(store: Store, *names: str, columns: ColumnNames | None = None) -> IndexingSummary:
    known = KnownColumns(store)
    chosen = Selection(columns=columns or ColumnNames(), known=known)
    summary = index(Sources(names, chosen), store, Settings(jobs=1))
    assert known.keep(store)
    return summary


def test_columns_that_were_named_once_are_known_again(store: Store, tmp_path: Path) -> None:
    named = lines(tmp_path / "named.jsonl", [{"key": f"k{n}", "body": f"words of {n}", "text": "no"} for n in range(3)])
    usual = lines(tmp_path / "usual.jsonl", [{"id": "u", "text": "other words"}])
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
        archive.write(usual, "in/usual.jsonl")
        archive.write(named, "in/named.jsonl")
    assert put(store, named, columns=BODY).indexed == 3
    assert put(store, usual).indexed == 1
    archived = ColumnNames(text="body", id="key", title="body")
    assert put(store, str(tmp_path / "all.zip"), columns=archived).indexed == 0
    # Of the archive's two files one has no such columns, and they are no part of what is remembered of it.
    again = put(store, named, usual, str(tmp_path / "all.zip"))
    assert (again.failed, again.unchanged + again.replaced) == ({}, 8)
    known = KnownColumns(store)
    assert known.of(named, ColumnNames()) == BODY
    assert known.of(usual, ColumnNames()) == ColumnNames()
    assert known.of(f"{tmp_path}/all.zip/in/named.jsonl", ColumnNames()) == archived
    assert known.of(named, ColumnNames(text="text", format="html")) == ColumnNames("text", "key", format="html")


def test_texts_by_named_columns_are_read_again(store: Store, tmp_path: Path) -> None:
    named = lines(tmp_path / "named.jsonl", [{"key": f"k{n}", "body": f"words of {n}"} for n in range(3)])
    put(store, named, columns=BODY)
    assert {record.ref.id: text for record, text in StoredTexts(store).read(store.scan())} == {
        f"k{n}": f"words of {n}" for n in range(3)
    }
    found = list(stored_inputs(store, store.scan(), Selection()))
    assert {item.id: item.data for item in found if isinstance(item, Input)} == {
        f"k{n}": f"words of {n}".encode() for n in range(3)
    }


def test_a_name_by_which_nothing_was_read_is_not_remembered(store: Store, tmp_path: Path) -> None:
    named = lines(tmp_path / "named.jsonl", [{"key": "k", "body": "words"}])
    assert put(store, named, columns=ColumnNames(text="boddy")).failures == 1
    assert store.get_resource(COLUMNS) is None
    put(store, named, columns=BODY)
    assert put(store, named, columns=ColumnNames(text="boddy")).failures == 1
    assert put(store, named).failures == 0


@pytest.mark.parametrize("note", [b"no JSON", b"[" * 100_000, b"{}", b'[{"files": 3}, {"files": [4]}, 5]'])
def test_what_others_wrote_there_is_passed_over(store: Store, note: bytes) -> None:
    store.put_resource(COLUMNS, note)
    assert KnownColumns(store).of("/a.jsonl", BODY) == BODY


def test_a_store_that_remembers_nothing_is_told_of(tmp_path: Path) -> None:
    with open_store(tmp_path / "c.neardup", create=store_info("landmarks")):
        pass
    known = KnownColumns()
    known.note("/a.jsonl", BODY)
    with open_store(tmp_path / "c.neardup", read_only=True) as store:
        assert known.keep(store) is False
    with open_store(tmp_path / "c.neardup") as store:
        assert known.keep(store) is True
        assert KnownColumns(store).of("/a.jsonl", ColumnNames()) == BODY


def test_a_collection_remembers_the_fields_of_files(tmp_path: Path) -> None:
    named = lines(tmp_path / "named.jsonl", [{"key": f"k{n}", "body": f"some words of {n}"} for n in range(3)])
    with indexer.open(tmp_path / "c.neardup") as collection:
        assert collection.index(named, fields={"text": "body", "id": "key"}).indexed == 3
        again = collection.index(named)
        assert (again.unchanged, again.failed) == (3, {})


FEED = """<rss version="2.0"><channel><item><title>One</title><link>https://example.org/1</link>
<description>the words of an item in a feed</description></item></channel></rss>"""


def warc(url: str, body: str) -> bytes:
    http = f"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n{body}".encode()
    head = (
        f"WARC/1.0\r\nWARC-Type: response\r\nWARC-Record-ID: <urn:uuid:1>\r\nWARC-Target-URI: {url}\r\n"
        f"Content-Type: application/http; msgtype=response\r\nContent-Length: {len(http)}\r\n\r\n"
    )
    return head.encode() + http + b"\r\n\r\n"


def test_documents_with_an_address_of_their_own_are_read_again(store: Store, tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("what nobody asked for")
    named = lines(
        tmp_path / "all.jsonl",
        [
            {"id": "a", "text": "the words of a", "url": "https://example.org/a"},
            {"id": "b", "text": "the words of b", "source": "https://example.org/b"},
            {"id": "c", "text": "the words of c", "source": str(tmp_path / "secret.txt")},
            {"id": "d", "text": "the words of d"},
        ],
    )
    (tmp_path / "news.rss").write_text(FEED)
    (tmp_path / "pages.warc").write_bytes(warc("https://example.org/p", "<p>the words of a page</p>"))
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
        archive.writestr(
            "in/z.jsonl", json.dumps({"id": "z", "text": "the words of z", "url": "https://example.org/z"})
        )
    others = [str(tmp_path / name) for name in ("news.rss", "pages.warc", "all.zip")]
    assert put(store, named, *others).indexed == 7
    records = list(store.scan())
    assert {record.ref.id: record.container for record in records if record.container} == {
        **dict.fromkeys("abc", named),
        "https://example.org/1": others[0],
        "urn:uuid:1": others[1],
        "z": others[2],
    }
    found = {record.ref.id: text for record, text in StoredTexts(store).read(records)}
    assert found == {
        **{name: f"the words of {name}" for name in "abcdz"},
        "https://example.org/1": "the words of an item in a feed",
        "urn:uuid:1": "the words of a page",
    }
    read = [item for item in stored_inputs(store, records, Selection()) if isinstance(item, Input)]
    assert {item.id for item in read} == set(found)
    assert not any(item.path for item in read)
    assert put(store, named, *others).unchanged == 7


def test_a_closed_store_keeps_nothing(store: Store) -> None:
    known = KnownColumns(store)
    known.note("/a.jsonl", BODY)
    store.close()
    assert not known.keep(store)
