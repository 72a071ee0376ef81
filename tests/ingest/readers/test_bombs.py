"""Small files that are made to take all memory or time of the process that indexes."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import random
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from pyarrow import parquet

from indexer.ingest.readers import BadEntry, FileEntry, ReaderOptions, base, feeds, jsonlines, reader_of, tables
from indexer.ingest.sources import Input, Selection, Sources

LIMIT = 4 << 20


def entries(name: str, data: bytes, limit: int = LIMIT) -> list[FileEntry | BadEntry]:
    reader = reader_of(name)
    assert reader is not None
    return list(reader.entries(io.BytesIO(data), name, ReaderOptions(limit)))


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
            len(entry.data)
            for entry in reader.entries(io.BytesIO(data), "", ReaderOptions(LIMIT))
            if isinstance(entry, FileEntry)
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
    assert isinstance(found[0], FileEntry)
    assert len(found) < 100
    assert isinstance(found[-1], BadEntry)
    assert found[-1].reason == "too-large"


def test_a_number_of_a_million_digits() -> None:
    [bad] = entries("a.jsonl", b'{"text": "a", "n": ' + b"9" * 1_000_000 + b"}\n")
    assert isinstance(bad, BadEntry)
    assert bad.detail == "a number with too many digits"


PETABYTE = 1 << 50
DOCUMENT = b'{"text": "words"}\n'


def member(name: str, data: bytes, kind: bytes = tarfile.REGTYPE, size: int | None = None, **said: str) -> bytes:
    """A file in a TAR archive, under a header that may say anything, and an extended one before it."""
    info = tarfile.TarInfo(name)
    info.type, info.size = kind, len(data) if size is None else size
    body = b""
    if said:
        records = b"".join(record(key.replace("_", "."), value) for key, value in said.items())
        body = member("pax", records, tarfile.XHDTYPE)
    return body + info.tobuf(tarfile.GNU_FORMAT) + data + b"\0" * (-len(data) % tarfile.BLOCKSIZE)


def record(key: str, value: str) -> bytes:
    length = len(key) + len(value) + 3
    while len(f"{length} {key}={value}\n") != length:
        length += 1
    return f"{length} {key}={value}\n".encode()


def with_holes(name: str, stored: bytes, size: int, more: int = 0) -> bytes:
    """A file in GNU tar's oldest form for one with holes, whose map goes on for some more blocks."""
    header = bytearray(member(name, b"", tarfile.GNUTYPE_SPARSE, len(stored)))
    header[482], header[483:495] = bool(more), b"\x80" + size.to_bytes(11, "big")
    header[148:156] = b" " * 8
    header[148:156] = f"{sum(header):06o}\0 ".encode()
    blocks = b"".join(bytes(504) + bytes([number < more - 1]) + bytes(7) for number in range(more))
    return bytes(header) + blocks + stored + b"\0" * (-len(stored) % tarfile.BLOCKSIZE)


HOLES = {"GNU_sparse_major": "1", "GNU_sparse_minor": "0", "GNU_sparse_realsize": str(PETABYTE)}


@pytest.mark.parametrize("name", ["x.jsonl", "x.csv", "x.txt", "x.zip", "x.parquet", "x.warc", "x.tar", "x.rss"])
def test_holes_of_a_petabyte_are_not_read(name: str) -> None:
    good = member("good.jsonl", DOCUMENT)
    for hollow in (
        with_holes(name, b"", PETABYTE),
        with_holes(name, DOCUMENT, PETABYTE, more=3),
        member(name, b"1\n0\n0\n", **HOLES),
    ):
        bad, entry = entries("a.tar", hollow + good + bytes(1024))
        assert isinstance(bad, BadEntry)
        assert (bad.reason, "--sparse" in bad.detail, bad.member) == ("unsupported", True, name)
        assert isinstance(entry, FileEntry)


def test_a_file_without_holes_is_read_though_it_was_packed_as_one_with_holes() -> None:
    [entry] = entries("a.tar", with_holes("x.jsonl", DOCUMENT, len(DOCUMENT)) + bytes(1024))
    assert isinstance(entry, FileEntry)


@pytest.mark.parametrize("length", [1 << 20, (1 << 20) - 1])
def test_a_header_of_a_million_digits(length: int) -> None:
    [bad] = entries("a.tar", member("pax", b"1" * length, tarfile.XHDTYPE) + member("x.txt", b"words"))
    assert isinstance(bad, BadEntry)
    assert "header" in bad.detail


def test_sizes_below_nothing_end_an_archive() -> None:
    for bad in (member("x.txt", b"words", size="-5"), member("x.txt", b"", size=-512)):
        found = entries("a.tar", bad + bytes(1024))
        assert isinstance(found[-1], BadEntry)


LONG = b"x" * (1 << 20)
NO_DOCUMENT = b'{"x": "' + b"y" * 1000 + b'"}\n'
# Each has more in it that is no document than is passed over, before its only one.
WASTE: dict[str, Callable[[], bytes]] = {
    "a.jsonl.gz": lambda: gzip.compress(LONG + b"\n" + DOCUMENT),
    "b.jsonl.bz2": lambda: bz2.compress((b" " * 1000 + b"\n") * 1000 + DOCUMENT),
    "c.jsonl.gz": lambda: gzip.compress(NO_DOCUMENT * 1000 + DOCUMENT),
    "d.csv.gz": lambda: gzip.compress(b"text\n" + LONG + b"\nwords\n"),
    "f.tar.gz": lambda: gzip.compress(member("x.dat", LONG) + member("y.jsonl", DOCUMENT) + bytes(1024)),
    "g.tar.bz2": lambda: bz2.compress(member("x.jsonl.gz", gzip.compress(LONG + b"\n" + DOCUMENT)) + bytes(1024)),
    "h.tar.gz": lambda: gzip.compress(member("x.fifo", LONG, b"Z") + member("y.jsonl", DOCUMENT) + bytes(1024)),
    "i.tar.gz": lambda: gzip.compress(
        with_holes("x.txt", b"", PETABYTE, 2000) + member("y.jsonl", DOCUMENT) + bytes(1024)
    ),
    "j.zip": lambda: zipped({"x.jsonl.bz2": bz2.compress(LONG), "y.jsonl.gz": gzip.compress(LONG + b"\n" + DOCUMENT)}),
    "k.zip": lambda: zipped({"x.tar": member("x.dat", LONG) + member("y.jsonl", DOCUMENT) + bytes(1024)}),
}


def zipped(files: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return out.getvalue()


@pytest.mark.parametrize("name", WASTE)
def test_what_is_unpacked_for_nothing_has_an_end(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    data = WASTE[name]()
    (tmp_path / name).write_bytes(data)
    read = [isinstance(each, Input) for each in Sources([str(tmp_path)], Selection(line_limit=1 << 17))]
    # The document is there.
    assert read[-1]
    monkeypatch.setattr(base, "MOST_SKIPPED", 1 << 19)
    monkeypatch.setattr(base, "MOST_RATIO", 20)
    *_, last = found = list(Sources([str(tmp_path)], Selection(line_limit=1 << 17)))
    assert not any(isinstance(each, Input) for each in found)
    assert not isinstance(last, Input)
    assert "read no further" in last.detail


def test_a_line_without_an_end_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base, "MOST_SKIPPED", 1 << 19)
    for name in ("a.jsonl", "a.csv"):
        with (tmp_path / name).open("wb") as file:
            file.write(b"text\n" if name == "a.csv" else b"")
            # Takes no room on a disk.
            file.truncate(PETABYTE >> 10)
        *_, last = Sources([str(tmp_path / name)], Selection(line_limit=1 << 17))
        assert not isinstance(last, Input)
        assert "read no further" in last.detail


def test_documents_that_pack_well_are_all_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base, "MOST_SKIPPED", 1 << 20)
    lines = "".join(json.dumps({"id": str(number), "text": "\u4e00" * 1000}) + "\n" for number in range(3000))
    packed = bz2.compress(lines.encode())
    assert len(lines) > 2 * base.MOST_RATIO * len(packed)
    (tmp_path / "a.jsonl.bz2").write_bytes(packed)
    (tmp_path / "a.tar.bz2").write_bytes(bz2.compress(member("a.jsonl", lines.encode()) + bytes(1024)))
    (tmp_path / "a.tar").write_bytes(member("a.jsonl.bz2", packed) + bytes(1024))
    for name in ("a.jsonl.bz2", "a.tar.bz2", "a.tar"):
        assert sum(isinstance(each, Input) for each in Sources([str(tmp_path / name)])) == 3000


def test_what_no_compression_hides_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base, "MOST_SKIPPED", 1 << 20)
    (tmp_path / "a.tar").write_bytes(
        b"".join(member(f"{number}.dat", LONG) for number in range(3)) + member("y.jsonl", DOCUMENT) + bytes(1024)
    )
    (tmp_path / "a.jsonl").write_bytes(NO_DOCUMENT * 3000 + DOCUMENT)
    for name in ("a.tar", "a.jsonl"):
        *_, last = Sources([str(tmp_path / name)], Selection(include=("*.jsonl",)))
        assert isinstance(last, Input)


def test_a_row_without_an_end_is_not_gathered() -> None:
    lines = b'text\n"' + b'\n","' * 100_000
    found = entries("a.csv", lines, limit=10_000)
    assert isinstance(found[0], BadEntry)
    assert (found[0].number, found[0].reason) == (1, "too-large")
    assert max(len(entry.data) for entry in found if isinstance(entry, FileEntry)) < 10
