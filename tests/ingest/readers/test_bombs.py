"""Small files that are made to take all memory or time of the process that indexes."""

from __future__ import annotations

import io
import random
from typing import Any

import pyarrow
import pytest
from pyarrow import parquet

from indexer.ingest.readers import Asked, BadEntry, Entry, feeds, jsonlines, reader_of, tables

LIMIT = 4 << 20


def entries(name: str, data: bytes, limit: int = LIMIT) -> list[Entry | BadEntry]:
    reader = reader_of(name)
    assert reader is not None
    return list(reader.entries(io.BytesIO(data), name, Asked(limit)))


def table(texts: list[str], **options: Any) -> bytes:
    out = io.BytesIO()
    parquet.write_table(pyarrow.table({"text": texts}), out, **options)
    return out.getvalue()


def test_rows_that_unpack_to_a_thousand_times_their_size_are_not_unpacked() -> None:
    data = table(["good"], compression="zstd")
    assert len(entries("a.parquet", data)) == 1
    for texts in ([" " * (64 << 20)], [" " * (3 << 20)] * 20):
        [bad] = entries("a.parquet", table(texts, compression="zstd", use_dictionary=False))
        assert isinstance(bad, BadEntry)
        assert bad.reason == "too-large"
        assert "unpack to" in bad.detail


@pytest.mark.parametrize("how", [{"dictionary_pagesize_limit": 64 << 20}, {"column_encoding": "DELTA_BYTE_ARRAY"}])
def test_a_long_value_that_stands_in_every_row_is_not_repeated_in_memory(
    how: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tables, "_MOST_REPEATED", 8 << 20)
    value = random.Random(1).randbytes(512 << 10).hex()
    data = table([value] * 200, use_dictionary="column_encoding" not in how, **how)
    pool, before = pyarrow.proxy_memory_pool(pyarrow.default_memory_pool()), pyarrow.default_memory_pool()
    pyarrow.set_memory_pool(pool)
    try:
        reader = reader_of("a.parquet")
        assert reader is not None
        sizes = [
            len(entry.data) for entry in reader.entries(io.BytesIO(data), "", Asked(LIMIT)) if isinstance(entry, Entry)
        ]
    finally:
        pyarrow.set_memory_pool(before)
    assert sizes == [len(value)] * 200
    assert pool.max_memory() < 64 << 20


def test_blank_lines_have_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (jsonlines, tables):
        monkeypatch.setattr(module, "MOST_BLANK", 10)
    good = b'{"text": "words"}\n'
    assert len(entries("a.jsonl", good + b"\n" * 9 + good + b" \n" * 9 + good)) == 3
    *_, last = found = entries("a.jsonl", good + b"\n" * 100 + good)
    assert (len(found), isinstance(last, BadEntry)) == (2, True)
    assert len(entries("a.csv", b"text\none\n" + b"\n" * 9 + b"two\n")) == 2
    *_, last = found = entries("a.csv", b"text\none\n" + b"\n" * 100 + b"two\n")
    assert (len(found), isinstance(last, BadEntry)) == (2, True)


@pytest.mark.parametrize("piece", ["<b/>", "<b>", "&a;", "</item><item>"])
def test_a_feed_of_nothing_but_pieces_ends(piece: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feeds, "MOST_PIECES", 100)
    item = "<item><description>words</description></item>"
    found = entries("a.rss", f"<rss><channel>{item}<item>{piece * 1000}".encode())
    assert isinstance(found[0], Entry)
    assert len(found) < 100
    assert isinstance(found[-1], BadEntry)
    assert found[-1].reason == "too-large"


def test_a_number_of_a_million_digits() -> None:
    [bad] = entries("a.jsonl", b'{"text": "a", "n": ' + b"9" * 1_000_000 + b"}\n")
    assert isinstance(bad, BadEntry)
    assert bad.detail == "a number with too many digits"
