"""JSON lines: what a line says of its document, and what is wrong with others."""

from __future__ import annotations

import gzip
import io
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indexer.ingest.readers import JSON_LINES, BadEntry, FileEntry, ReaderOptions
from indexer.ingest.sources import Rejected, Sources
from indexer.model import REASON_KEY


def read_lines(data: bytes, limit: int = 10_000) -> list[FileEntry | BadEntry]:
    return list(JSON_LINES.entries(io.BytesIO(data), "", ReaderOptions(limit)))


def test_json_lines() -> None:
    good = {
        "id": 7,
        "html": "<p>hé</p>",
        "title": "T",
        "url": "https://example.org/",
        "lang": "fr",
        "n": [1, {"a": None}],
    }
    lines = [
        b"\xef\xbb\xbf" + json.dumps(good).encode(),
        b"",
        json.dumps({"id": "b", "text": "words", "html": "<p>other", "source": "here"}).encode(),
        json.dumps({"id": "c", "text": "", "html": "<p>page"}).encode(),
        b'{"id": "d", "text": "half \\ud800 pair"}',
    ]
    one, two, three, four = read_lines(b"\n".join(lines))
    assert isinstance(one, FileEntry)
    assert (one.number, one.id, one.format, one.title, one.url) == (1, "7", "html", "T", "https://example.org/")
    assert one.data.decode("utf-8-sig") == "<p>hé</p>"
    assert one.metadata == {"lang": "fr", "n": [1, {"a": None}]}
    assert isinstance(two, FileEntry)
    assert (two.number, two.data, two.format, two.url, two.metadata) == (3, b"words", "text", "here", {})
    assert isinstance(three, FileEntry)
    assert three.format == "html"
    assert isinstance(four, FileEntry)
    assert four.data.decode() == "half \N{REPLACEMENT CHARACTER} pair"


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (b"nonsense", "no JSON"),
        (b"[1]", "one JSON object"),
        (b'{"id": "a"}', 'no "text" or "html"'),
        (b'{"id": "a", "text": 7}', '"text" must be a string'),
        (b'{"id": "", "text": "x"}', '"id" must be'),
        (b'{"id": true, "text": "x"}', '"id" must be'),
        (b'{"id": 1.5, "text": "x"}', '"id" must be'),
        (b'{"id": "a", "text": "x", "title": 1}', '"title" must be a string'),
        (b'{"id": "a", "text": "x", "n": NaN}', "NaN"),
        (b'{"id": "a", "text": "\xff"}', "not UTF-8"),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"id": ' + b"9" * 5000 + b', "text": "x"}', "digits"),
    ],
)
def test_bad_lines_cost_only_themselves(line: bytes, words: str) -> None:
    after = b'{"id": "after", "text": "x"}'
    bad, good = read_lines(line + b"\n" + after, limit=200_000)
    assert isinstance(bad, BadEntry)
    assert (bad.number, bad.reason) == (1, "malformed")
    assert words in bad.detail
    assert isinstance(good, FileEntry)
    assert (good.number, good.id) == (2, "after")


def test_a_line_over_the_limit_is_skipped() -> None:
    good = b'{"id": "a", "text": "x"}\n'
    bad, line = read_lines(b"x" * 1_000_000 + b"\n" + good, limit=100)
    assert isinstance(bad, BadEntry)
    assert (bad.number, bad.reason) == (1, "too-large")
    assert isinstance(line, FileEntry)
    # Exactly at the limit is still within it, at the end of the stream too.
    assert all(isinstance(each, FileEntry) for each in read_lines(good + good.strip(), limit=len(good) - 1))


def test_broken_compression_ends_the_file_only(tmp_path: Path) -> None:
    whole = gzip.compress(b'{"id": "a", "text": "x"}\n' * 1000)
    (tmp_path / "a.jsonl.gz").write_bytes(whole[:-20])
    (tmp_path / "b.jsonl.gz").write_bytes(whole)
    (tmp_path / "c.jsonl.gz").write_bytes(b"not gzip")
    found = list(Sources([str(tmp_path)]))
    broken = [item for item in found if isinstance(item, Rejected)]
    assert len(found) - len(broken) >= 1000
    assert [(item.reason, Path(item.id.rpartition(":")[0]).name) for item in broken] == [
        ("unreadable", "a.jsonl.gz"),
        ("unreadable", "c.jsonl.gz"),
    ]


@given(st.binary(max_size=300))
def test_no_bytes_break_the_reader(data: bytes) -> None:
    for name in ("", "a.gz", "a.zst", "a.bz2", "a.xz"):
        list(JSON_LINES.entries(io.BytesIO(data), name, ReaderOptions(50)))


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


@given(st.text(min_size=1), st.text(min_size=1), st.dictionaries(st.text(), json_values, max_size=4), st.booleans())
def test_json_lines_come_back_as_written(identity: str, text: str, more: dict[str, object], ascii_only: bool) -> None:
    own = ("id", "text", "html", "title", "url", "source", REASON_KEY)
    metadata = {key: value for key, value in more.items() if key not in own}
    line = json.dumps({"id": identity, "text": text, **metadata}, ensure_ascii=ascii_only)
    [read] = read_lines(line.encode())
    assert isinstance(read, FileEntry)
    assert (read.id, read.data.decode(), read.metadata) == (identity, text, metadata)
