"""The documents of a store, read again from where they came from."""

from __future__ import annotations

import gzip
import json
import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from indexer.extract.base import Failed, Limits, Options
from indexer.ingest.digests import content_id
from indexer.ingest.from_store import CHANGED, stored_inputs
from indexer.ingest.indexing import Settings, index, store_info
from indexer.ingest.outcomes import read
from indexer.ingest.sources import Input, Rejected, Selection, Sources
from indexer.library.opening import open_store
from indexer.matching.evaluation.documents import named_inputs, read_texts
from indexer.stores import Store

LIMIT = 1_000_000


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(tmp_path / "c.neardup", create=store_info("landmarks")) as opened:
        yield opened


def write(path: Path, lines: list[dict[str, Any]]) -> str:
    text = "".join(json.dumps(line) + "\n" for line in lines).encode()
    path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)
    return str(path)


def put(store: Store, *names: str, **selection: Any) -> None:
    summary = index(Sources(names, Selection(**selection)), store, Settings(jobs=1))
    assert not summary.failed


def again(store: Store) -> tuple[dict[str, bytes], Counter[str]]:
    """The data of every document that is found again, each found once, and the reasons of the others."""
    found: dict[str, bytes] = {}
    failed: Counter[str] = Counter()
    for item in read(stored_inputs(store, store.scan(), Selection(line_limit=LIMIT)), LIMIT):
        if isinstance(item, Failed):
            failed[item.reason] += 1
        else:
            assert item.key.id not in found
            found[item.key.id] = item.data
    return found, failed


@pytest.mark.parametrize("suffix", ["jsonl", "ndjson.gz"])
@pytest.mark.parametrize("seed", range(3))
def test_of_lines_the_one_that_was_stored_last(store: Store, tmp_path: Path, suffix: str, seed: int) -> None:
    chance = random.Random(seed)
    last: dict[str, bytes] = {}
    lines: list[dict[str, Any]] = []
    for _ in range(60):
        name, text = f"n{chance.randrange(25)}", f"text {chance.randrange(40)}"
        kind = chance.choice(["text", "html"])
        lines.append({"id": name, kind: text, "title": chance.choice(["", "a title"])})
        last[name] = text.encode() if kind == "text" else b"\xef\xbb\xbf" + text.encode()
    put(store, write(tmp_path / f"some.{suffix}", lines))
    assert again(store) == (last, Counter())


def test_lines_that_are_named_by_their_content(store: Store, tmp_path: Path) -> None:
    texts = ["one", "two", "one", "three"]
    lines = [{"id": str(number), "text": text} for number, text in enumerate(texts)]
    put(store, write(tmp_path / "some.jsonl", lines), id_from="digest")
    assert again(store) == ({content_id(text.encode()): text.encode() for text in texts}, Counter())


def test_what_is_no_longer_there_is_told(store: Store, tmp_path: Path) -> None:
    lines = [{"id": str(number), "text": f"text {number}"} for number in range(5)]
    first = write(tmp_path / "first.jsonl", lines)
    gone = write(tmp_path / "gone.jsonl", [{"id": "g" + line["id"], "text": line["text"]} for line in lines])
    address = write(tmp_path / "address.jsonl", [{"id": "w", "text": "from afar", "url": "https://example.org/w"}])
    (tmp_path / "plain.txt").write_text("a file")
    put(store, first, gone, address, str(tmp_path / "plain.txt"))
    given = Input("at hand", "https://example.org/x", data=b"of no file", format="text")
    index([given], store, Settings(jobs=1))
    lines[1]["text"] = "another text"
    del lines[3]
    write(tmp_path / "first.jsonl", lines)
    Path(gone).unlink()
    found, failed = again(store)
    assert found == {
        "0": b"text 0", "2": b"text 2", "4": b"text 4", str(tmp_path / "plain.txt"): b"a file", "w": b"from afar"
    }  # fmt: skip
    assert failed == {CHANGED: 2, "unreadable": 6}


def test_a_document_of_no_file_is_never_an_empty_one(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Standard input is no file of that name, and a document without a source is not the text of nothing."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "stdin").write_text("a file of this name")
    inputs = [Input("a", "stdin", data=b"some text", format="text"), Input("b", "", data=b"a text", format="text")]
    index(inputs, store, Settings(jobs=1))
    found, failed = again(store)
    assert found == {}
    assert failed.total() == 2


def test_documents_that_a_truth_names_in_a_file_of_lines(tmp_path: Path) -> None:
    lines = [{"id": str(number % 6), "text": f"text {number}"} for number in range(10)]
    some = write(tmp_path / "some.jsonl", lines)
    (tmp_path / "plain.txt").write_text("a file")
    paths = {"4": some, "5": some, "0": some, "none": some, "p": str(tmp_path / "plain.txt")}
    paths["away"] = str(tmp_path / "away.jsonl")
    found = read_texts(named_inputs(paths, Selection(line_limit=LIMIT)), Options(), Limits(), 1)
    assert dict(zip(found.ids, found.texts, strict=True)) == {
        "p": "a file",
        "0": "text 6",
        "4": "text 4",
        "5": "text 5",
    }
    assert found.failed == {"unreadable": 2}


def test_texts_come_in_order_and_the_last_of_one_id_is_kept() -> None:
    inputs: list[Input | Rejected] = [
        Input(str(number % 7), "s", data=f"text {number}".encode(), format="text") for number in range(30)
    ]
    inputs.insert(3, Rejected("bad", "s", "malformed", ""))
    found = read_texts(inputs, Options(), Limits(), 2)
    assert found.ids == [str(number) for number in range(7)]
    assert found.texts == [f"text {max(range(number, 30, 7))}" for number in range(7)]
    assert (found.failed, found.failures) == ({"malformed": 1}, 1)
