"""What a store refused is written so that `neardup index` reads it again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from indexer.cli import main
from indexer.engine.index import mapping
from indexer.errors import StoreError
from indexer.extract.base import Limits, Options
from indexer.ingest.dead_letters import DeadLetters, letters_path
from indexer.ingest.indexing import store_info
from indexer.ingest.readers import JSON_LINES, FileEntry, ReaderOptions
from indexer.ingest.sources import Input
from indexer.library.opening import open_store
from indexer.model import REASON_KEY
from tests.engines.servers import Server
from tests.stores.made import record


def letters_in(path: Path) -> DeadLetters:
    return DeadLetters(path, Options(), Limits(), print)


def test_a_refused_document_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "refused.jsonl"
    with letters_in(path) as letters:
        assert not path.exists()
        given = Input("a", "u", data=b"some text\n", format="text", title="T", metadata={"k": [1]})
        letters(given, record("a", 1), "mapper_parsing_exception: no date")
        letters(Input("b", "", data="<p>ü</p>".encode(), format="html"), record("b\udc80", 1), "too long")
        assert letters.count == 2
    with letters_in(path) as letters:
        letters(Input("c", "", data=b"x", format="text"), record("c", 1), "r")
    assert path.stat().st_mode & 0o777 == 0o600
    with path.open("rb") as opened:
        first, second, third = JSON_LINES.entries(opened, "", ReaderOptions(10_000))
    assert isinstance(first, FileEntry)
    assert (first.id, first.data, first.title, first.url) == ("a", b"some text\n", "T", "u")
    assert (first.metadata, first.again) == ({"k": [1]}, True)
    assert isinstance(second, FileEntry)
    assert second.format == "html"
    assert second.data.endswith("<p>ü</p>".encode())
    assert isinstance(third, FileEntry)


def test_no_two_runs_of_a_process_have_one_file() -> None:
    assert len({letters_path(None, []) for _ in range(20)}) == 20


def indexed(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> Any:
    """The summary of `neardup index`."""
    assert main(["index", *arguments, "--id-from", "name", "--jobs", "1", "--json"]) == code, capsys.readouterr().err
    return json.loads(capsys.readouterr().out)


def fingerprints(store: str) -> dict[str, tuple[str, str, dict[str, Any]]]:
    """What a store holds of each document: fingerprint, source and metadata."""
    with open_store(store, read_only=True) as source:
        return {each.ref.id: (str(each.fingerprint), each.source, dict(each.metadata)) for each in source.scan()}


def test_what_the_mapping_refuses_comes_back_from_the_file(
    server: Server,
    index_name: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    words = " ".join(f"word{number}" for number in range(40))
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "page.html").write_text(f"<title>No date</title><p>{words} page")
    (tmp_path / "docs" / "plain.txt").write_text(words)
    lines: list[dict[str, Any]] = [
        {"id": 1, "html": f"<h1>x</h1>{words} ü", "title": "T", "url": "https://example.org/1", "lang": "de"},
        {"id": "2", "text": f"{words} two", "title": "no date", "tags": ["a"]},
        {"id": "3", "text": f"{words} three", "title": "2024-05-01"},
        {"id": "4", "html": f"{words} four", "title": "2024-05-02"},
    ]
    (tmp_path / "docs" / "some.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    # A field of neardup's that its owner mapped as something else: titles that are no dates are refused.
    body = mapping.new_index(store_info("landmarks"))
    body["mappings"]["properties"]["neardup"]["properties"]["title"] = {"type": "date"}
    server.request("PUT", f"/{index_name}", body)
    url = f"{server.url}/{index_name}"

    summary = indexed(capsys, "docs", "--store", url)
    assert (summary["indexed"], summary["failed"]) == (2, {"refused": 4})
    file = tmp_path / summary["dead_letters"]
    assert [path.name for path in tmp_path.glob("neardup-refused-*.jsonl")] == [file.name]
    letters = [json.loads(line) for line in file.read_text().splitlines()]
    assert {letter["id"] for letter in letters} == {"1", "2", "page.html", "plain.txt"}
    assert all("title" in letter[REASON_KEY] for letter in letters)
    # The folder holds the file, and another run passes it over; what is known to be refused is not tried.
    summary = indexed(capsys, ".", "--store", url)
    assert (summary["indexed"], summary["failed_before"], summary["dead_letters"]) == (0, 4, None)
    # The file is tried again as it is, and a failure keeps its line there.
    summary = indexed(capsys, file.name, "--store", url, "--dead-letters", "again.jsonl")
    assert (summary["failed"], summary["dead_letters"]) == ({"refused": 4}, "again.jsonl")
    assert sorted((tmp_path / "again.jsonl").read_text().splitlines()) == sorted(file.read_text().splitlines())
    assert main(["index", file.name, "--store", url, "--dead-letters", f"./{file.name}"]) == 2
    assert "read in the same run" in capsys.readouterr().err

    mended = {"neardup": {"properties": {"title": {"type": "date", "ignore_malformed": True}}}}
    assert server.request("PUT", f"/{index_name}/_mapping", {"properties": mended}) == {"acknowledged": True}
    assert main(["index", file.name, "--store", url]) == 0
    assert "refused" not in capsys.readouterr().out
    indexed(capsys, "docs", "--store", "aside.neardup")
    assert fingerprints(url) == fingerprints("aside.neardup")
    with open_store(url, read_only=True) as source:
        assert list(source.failures()) == []


@pytest.fixture
def url(server: Server, index_name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A store in an engine, with a document to index in the current folder."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.txt").write_text("word " * 30)
    made = f"{server.url}/{index_name}"
    open_store(made, create=store_info("landmarks")).close()
    return made


def test_the_summary_says_how_to_go_on(
    server: Server, index_name: str, url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server.request("PUT", f"/{index_name}/_settings", {"index.blocks.write": True})
    assert main(["index", "a.txt", "--store", url, "--dead-letters", "my letters.jsonl"]) == 0
    assert f"tried again by: neardup index --store {url} 'my letters.jsonl'" in capsys.readouterr().out
    assert json.loads((tmp_path / "my letters.jsonl").read_text())["text"].split() == ["word"] * 30


def test_a_file_that_can_not_be_written_is_said(tmp_path: Path) -> None:
    with letters_in(tmp_path / "no" / "folder.jsonl") as letters, pytest.raises(StoreError, match=r"folder\.jsonl"):
        letters(Input("a", "", data=b"x", format="text"), record("a", 1), "r")


def test_a_full_disk_stops_the_run(
    server: Server, index_name: str, url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # What the engines set themselves when a disk passes the last watermark.
    server.request("PUT", f"/{index_name}/_settings", {"index.blocks.read_only_allow_delete": True})
    assert main(["index", "a.txt", "--store", url, "--id-from", "name", "--jobs", "1"]) == 3
    assert "a disk of the engine is full" in capsys.readouterr().err
    assert not list(tmp_path.glob("neardup-refused*"))
    # One that its owner has closed for writing is tried again by itself.
    for block in ({"index.blocks.read_only_allow_delete": None}, {"index.blocks.write": True}):
        answer = server.request("PUT", f"/{index_name}/_settings", block)
        assert answer == {"acknowledged": True}, answer
    assert main(["index", "a.txt", "--store", url, "--id-from", "name", "--jobs", "1"]) == 0
    server.request("PUT", f"/{index_name}/_settings", {"index.blocks.write": None})
    capsys.readouterr()
    assert indexed(capsys, "a.txt", "--store", url)["indexed"] == 1
