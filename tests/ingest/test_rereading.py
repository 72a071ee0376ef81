"""Single texts of stored documents, read again: files, and lines of files with JSON lines."""

from __future__ import annotations

import gzip
import json
import sqlite3
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from indexer.errors import ExtractionError
from indexer.extract import pool
from indexer.extract.base import Extracted, Limits, Options
from indexer.ingest import rereading
from indexer.ingest.from_store import stored_inputs
from indexer.ingest.indexing import Settings, index, store_info
from indexer.ingest.outcomes import read, texts
from indexer.ingest.readers import jsonlines
from indexer.ingest.rereading import StoredParts, StoredTexts
from indexer.ingest.sources import Selection, Sources
from indexer.library.opening import open_store
from indexer.schemes.simhash import fingerprint
from indexer.stores import Store

LINES: list[dict[str, Any]] = [
    {"id": "a", "text": "the first of them, é and 日本"},
    {"id": "b", "html": "<body><p>the second</p><nav>left out</nav>", "title": "a title"},
    {"id": "c", "text": "the third of them"},
    {"id": "a", "text": "the first again, another text"},
    {"id": "d", "text": "the third of them"},
]
TEXTS = {"a": "the first again, another text", "b": "the second", "c": "the third of them", "d": "the third of them"}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(tmp_path / "c.neardup", create=store_info("landmarks")) as opened:
        yield opened


def write(path: Path, lines: list[dict[str, Any]]) -> str:
    # With a byte order mark, blank lines, and one that is no document.
    text = "\ufeff" + "\n\n".join(json.dumps(line, ensure_ascii=False) for line in lines) + "\nno JSON\n"
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return str(path)


def put(store: Store, *names: str, **selection: Any) -> None:
    index(Sources(names, Selection(**selection)), store, Settings(jobs=1))


@pytest.mark.parametrize("suffix", ["jsonl", "jsonl.gz"])
@pytest.mark.parametrize("id_from", ["path", "digest"])
def test_lines_are_found_where_they_stand(store: Store, tmp_path: Path, suffix: str, id_from: str) -> None:
    (tmp_path / "plain.txt").write_text("a file of its own")
    put(store, write(tmp_path / f"all.{suffix}", LINES), str(tmp_path / "plain.txt"), id_from=id_from)
    records = list(store.scan())
    found = {record.ref.id: text for record, text in StoredTexts(store).read(records)}
    assert found == {record.ref.id: StoredTexts(store).of(record) for record in records}
    if id_from == "path":
        assert found == {**TEXTS, str(tmp_path / "plain.txt"): "a file of its own"}
    else:
        assert set(found.values()) == {*TEXTS.values(), LINES[0]["text"], "a file of its own"}


@pytest.mark.parametrize("mark", ["\ufeff", "\ufeff\n \n", "\n\n"])
@pytest.mark.parametrize("end", ["", "\n", " \n\n"])
def test_lines_are_found_after_marks_and_blanks_and_at_the_end(
    store: Store, tmp_path: Path, mark: str, end: str
) -> None:
    lines = [json.dumps({"id": str(number), "text": f"line number {number}"}) for number in range(9)]
    lines[4] = "\ufeff" + lines[4]
    (tmp_path / "all.jsonl").write_text(mark + "\n\t\n".join(lines) + end)
    put(store, str(tmp_path / "all.jsonl"))
    records = list(store.scan())
    assert {record.ref.id for record in records} == set("01235678")
    for some in (records, records[::3], records[-1:]):
        read = {record.ref.id: text for record, text in StoredTexts(store).read(some)}
        assert read == {record.ref.id: f"line number {record.ref.id}" for record in some}


def test_a_file_is_read_once_for_many_texts(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [{"id": f"n{number}", "text": f"the words of number {number}"} for number in range(200)]
    put(store, write(tmp_path / "all.jsonl", lines))
    read: list[int] = []
    document = jsonlines._document

    def counted(number: int, line: bytes, columns: Any) -> Any:
        read.append(number)
        return document(number, line, columns)

    monkeypatch.setattr(jsonlines, "_document", counted)
    texts = StoredTexts(store)
    for record in store.scan():
        assert texts.of(record) == f"the words of number {record.ref.id[1:]}"
    # Once all of it, and then each line by itself.
    assert len(read) == 201 + 200


def as_zip(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        for number in range(20):
            archive.writestr(f"{number}.html", f"<title>Page {number}</title><body><p>the words of number {number}</p>")
            archive.writestr(f"{number}.eml", f"Subject: note\nFrom: a@example.org\n\nthe letter of number {number}")


def as_csv(path: Path) -> None:
    rows = [f"{number},2026-01-{number + 1:02},the words of number {number}" for number in range(20)]
    path.write_text("\n".join(["id,day,text", *rows]))


def as_packed_lines(path: Path) -> None:
    write(path, [{"id": f"n{number}", "text": f"the words of number {number}"} for number in range(40)])


@pytest.mark.parametrize(("name", "made"), [("a.zip", as_zip), ("a.csv", as_csv), ("a.jsonl.gz", as_packed_lines)])
def test_documents_of_a_packed_file_are_copied_if_they_are_read_again_and_again(
    store: Store, tmp_path: Path, name: str, made: Callable[[Path], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    made(tmp_path / name)
    put(store, str(tmp_path / name))
    turns, whole = [0], StoredParts._by_numbers

    def counted(parts: StoredParts) -> Iterator[tuple[int, Any]]:
        turns[0] += 1
        return whole(parts)

    monkeypatch.setattr(StoredParts, "_by_numbers", counted)
    texts, records = StoredTexts(store), list(store.scan())
    for number, record in enumerate([*records, *records[::-1]]):
        assert texts.of(record) == StoredTexts(store).of(record), number
    assert turns[0] == 3 + 2 * len(records) * 2
    # A file that has changed is not read from the copy.
    (tmp_path / name).write_bytes(b"")
    with pytest.raises(ExtractionError, match=r"no longer|malformed"):
        texts.of(records[0])


def test_without_room_for_a_copy_a_file_is_read_again(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    as_packed_lines(tmp_path / "a.jsonl.gz")
    put(store, str(tmp_path / "a.jsonl.gz"))
    monkeypatch.setattr(rereading, "_MOST_COPIED", 3 * 4096)
    texts = StoredTexts(store)
    assert [texts.of(record) for record in store.scan()] == [StoredTexts(store).of(record) for record in store.scan()]


def test_a_copy_that_can_t_be_read_is_let_go_of(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    as_packed_lines(tmp_path / "a.jsonl.gz")
    put(store, str(tmp_path / "a.jsonl.gz"))
    records, whole, turns = list(store.scan()), rereading._CopiedParts.at, []

    def on_a_full_disk(copy: Any, places: Sequence[int]) -> Iterator[tuple[int, Any]]:
        turns.append(len(places))
        yield from whole(copy, places[:3])
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr(rereading._CopiedParts, "at", on_a_full_disk)
    texts = StoredTexts(store)
    for _ in range(4):
        found = {record.ref.id: text for record, text in texts.read(records)}
        assert found == {f"n{number}": f"the words of number {number}" for number in range(40)}
    assert turns == [40]


def test_a_copy_is_kept_in_the_temporary_folder_without_a_name(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    as_packed_lines(tmp_path / "a.jsonl.gz")
    put(store, str(tmp_path / "a.jsonl.gz"))
    temporary, connect = tmp_path / "temporary", sqlite3.connect
    temporary.mkdir()
    modes: list[int] = []

    def noted(name: str, **more: Any) -> sqlite3.Connection:
        modes.extend(path.stat().st_mode & 0o777 for path in temporary.iterdir() if str(path) == name)
        return connect(name, **more)

    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    monkeypatch.setattr(sqlite3, "connect", noted)
    texts = StoredTexts(store)
    assert [texts.of(record) for record in store.scan()] == [StoredTexts(store).of(record) for record in store.scan()]
    assert modes == [0o600]
    assert list(temporary.iterdir()) == []


def test_one_worker_reads_documents_of_all_formats_each_as_it_is(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected: dict[str, str] = {}
    lines: list[dict[str, Any]] = []
    for number in range(150):
        name, text = str(number), f"the words of number {number}"
        expected[name] = text
        lines.append({"id": name, "text": text} if number % 3 else {"id": name, "html": f"<p>{text}</p>"})
        if number % 10 == 0:
            (tmp_path / f"{number}.txt").write_text(text + " in a file")
            expected[str(tmp_path / f"{number}.txt")] = text + " in a file"
    put(store, write(tmp_path / "all.jsonl", lines), str(tmp_path / "*.txt"))
    (tmp_path / "20.txt").unlink()
    (tmp_path / "30.txt").write_text("other words")
    started: list[int] = []

    class Counted(pool._Worker):
        def __init__(self, pages: Any) -> None:
            started.append(1)
            super().__init__(pages)

    monkeypatch.setattr(pool, "_Worker", Counted)
    found = {record.ref.id: text for record, text in StoredTexts(store).read(store.scan())}
    assert len(started) <= 1
    assert found.keys() == expected.keys()
    unread = {Path(name).name: str(text) for name, text in found.items() if isinstance(text, ExtractionError)}
    assert unread == {
        "20.txt": "unreadable: No such file or directory",
        "30.txt": "unreadable: the file no longer holds the indexed text",
    }
    assert all(text == expected[name] for name, text in found.items() if isinstance(text, str))


@pytest.mark.parametrize("suffix", ["jsonl", "jsonl.gz"])
def test_what_has_changed_is_told(store: Store, tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"all.{suffix}"
    put(store, write(path, LINES))
    records = {record.ref.id: record for record in store.scan()}
    texts = StoredTexts(store)
    assert texts.of(records["c"]) == TEXTS["c"]
    # The file is another one while it is in use, and for who opens it anew.
    write(path, [{"id": "x", "text": "in front of them"}, *LINES[1:]])
    for each in (texts, StoredTexts(store)):
        for _, text in each.read([records["b"], records["c"]]):
            assert isinstance(text, str) or "no longer holds" in str(text)
    assert StoredTexts(store).of(records["b"]) == TEXTS["b"]
    path.unlink()
    for each in (texts, StoredTexts(store)):
        [(_, gone)] = each.read([records["c"]])
        assert isinstance(gone, ExtractionError)
        assert gone.reason == "unreadable"


def test_a_file_that_breaks_off_has_what_stands_before(store: Store, tmp_path: Path) -> None:
    path = tmp_path / "all.jsonl.gz"
    put(store, write(path, LINES))
    path.write_bytes(path.read_bytes()[:-30])
    found = [text for _, text in StoredTexts(store).read(store.scan())]
    assert len(found) == 4
    assert all(isinstance(text, ExtractionError) or text in TEXTS.values() for text in found)


@pytest.mark.parametrize("asked", [{"format": "text"}, {"extractor": "reference"}, {"format": "xml"}, {}])
def test_a_file_is_read_again_as_it_was_read(store: Store, tmp_path: Path, asked: dict[str, Any]) -> None:
    page = "<html><head><title>T</title></head><body><nav>way out</nav><p>the words of {}</p></body></html>"
    (tmp_path / "a.html").write_text(page.format("a"))
    with zipfile.ZipFile(tmp_path / "b.zip", "w") as archive:
        archive.writestr("b.html", page.format("b"))
    inputs = Sources([str(tmp_path / "a.html"), str(tmp_path / "b.zip")], Selection())
    index(inputs, store, Settings(options=Options(**asked), jobs=1))
    records = list(store.scan())
    assert len(records) == 2
    assert {record.format for record in records} == {asked.get("format", "html")}
    expected = {record.ref.id: record.fingerprint for record in records}
    found = {record.ref.id: fingerprint(str(text)) for record, text in StoredTexts(store).read(records)}
    assert found == expected
    # What reads a whole store again does it too.
    with texts(1, Options(), Limits()) as workers:
        again = [*workers.outcomes(read(stored_inputs(store, records, Selection()), 1 << 20))]
    made = [(each.key.id, fingerprint(each.document.text)) for each in again if isinstance(each, Extracted)]
    assert dict(made) == expected
