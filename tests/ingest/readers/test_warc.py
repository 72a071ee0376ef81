"""WARC and WET: what becomes a document, what is passed over, and what damage costs."""

from __future__ import annotations

import gzip
import io
import json
import random
import zipfile
import zlib
from pathlib import Path

import pytest
from backports import zstd
from fastwarc.stream_io import BrotliWriter, Lz4Writer

from indexer.errors import UsageError
from indexer.extract.base import Extracted, Failed, Limits, Options
from indexer.ingest.indexing import Settings, index, store_info
from indexer.ingest.outcomes import read, texts
from indexer.ingest.readers import BadEntry, ColumnNames, FileEntry, ReaderOptions, base, reader_of, warc
from indexer.ingest.rereading import StoredTexts
from indexer.ingest.sources import Input, Rejected, Selection, Sources
from indexer.library.opening import open_store
from tests.cli.written import pdf
from tests.ingest.readers.archived import ARCHIVES
from tests.ingest.readers.archived import entries as in_archive

HTTP = "application/http; msgtype=response"


def record(
    body: bytes, kind: str = "response", number: int = 1, content: str = HTTP, length: int | None = None
) -> bytes:
    head = (
        f"WARC/1.0\r\nWARC-Type: {kind}\r\nWARC-Target-URI: https://example.org/{number}\r\n"
        f"WARC-Date: 2024-01-02T03:04:05Z\r\nWARC-Record-ID: <urn:uuid:{number}>\r\nContent-Type: {content}\r\n"
        f"Content-Length: {len(body) if length is None else length}\r\n\r\n"
    )
    return head.encode() + body + b"\r\n\r\n"


def http(body: bytes, kind: str = "text/html", *more: str, status: str = "200 OK") -> bytes:
    lines = [f"HTTP/1.1 {status}", f"Content-Type: {kind}", *more, "", ""]
    return "\r\n".join(lines).encode() + body


def entries(data: bytes, limit: int = 1_000_000, **columns: str) -> list[FileEntry | BadEntry]:
    reader = reader_of("a.warc.gz")
    assert reader is not None
    return list(reader.entries(io.BytesIO(data), "a.warc.gz", ReaderOptions(limit, ColumnNames(**columns))))  # type: ignore[arg-type]


def brotli(data: bytes) -> bytes:
    out = io.BytesIO()
    writer = BrotliWriter(out)
    writer.write(data)
    writer.close()
    return out.getvalue()


def test_responses_resources_and_conversions_are_documents() -> None:
    data = b"".join(
        [
            record(b"software: x\r\n", "warcinfo", 1, "application/warc-fields"),
            record(http(b"<p>page"), number=2),
            record(b"GET / HTTP/1.1\r\n\r\n", "request", 3),
            record(b"extracted words", "conversion", 4, "text/plain"),
            record(b"<p>resource", "resource", 5, "text/html"),
            record(http(b"gone", status="404 Not Found"), number=6),
            record(http(b"\x89PNG", "image/png"), number=7),
        ]
    )
    for packed in (data, gzip.compress(data)):
        found = [entry for entry in entries(packed) if isinstance(entry, FileEntry)]
        assert [(entry.id, entry.data) for entry in found] == [
            ("urn:uuid:2", b"<p>page"),
            ("urn:uuid:4", b"extracted words"),
            ("urn:uuid:5", b"<p>resource"),
        ]
        assert found[0].url == "https://example.org/2"
        assert found[0].metadata["date"] == "2024-01-02T03:04:05Z"
        assert found[1].format == "text"


PAGE = b"<p>" + b"some words " * 100


@pytest.mark.parametrize(
    ("body", "coding"),
    [
        (gzip.compress(PAGE, mtime=0), "Content-Encoding: gzip"),
        (zlib.compress(PAGE), "Content-Encoding: deflate"),
        (brotli(PAGE), "Content-Encoding: br"),
        (b"%x\r\n%s\r\n0\r\n\r\n" % (len(PAGE), PAGE), "Transfer-Encoding: chunked"),
        # Decoded by the archive, which kept the header.
        (PAGE, "Content-Encoding: gzip"),
        (PAGE, "Content-Encoding: br"),
        (PAGE, "Transfer-Encoding: chunked"),
    ],
)
def test_codings_of_responses(body: bytes, coding: str) -> None:
    [entry] = entries(record(http(body, "text/html", coding)))
    assert isinstance(entry, FileEntry)
    assert entry.data == PAGE


@pytest.mark.parametrize(
    ("body", "coding", "reason"),
    [
        (gzip.compress(PAGE, mtime=0)[:-20], "Content-Encoding: gzip", "malformed"),
        (gzip.compress(PAGE, mtime=0)[:20] + b"x" * 50, "Content-Encoding: gzip", "malformed"),
        (b"\x0b\x02\x80" + b"\xff" * 50, "Content-Encoding: br", "malformed"),
        (b"ff\r\ncut off", "Transfer-Encoding: chunked", "malformed"),
        (gzip.compress(b" " * 2_000_000, mtime=0), "Content-Encoding: gzip", "too-large"),
        (zlib.compress(b" " * 2_000_000), "Content-Encoding: deflate", "too-large"),
    ],
)
def test_bad_codings_cost_their_record_only(body: bytes, coding: str, reason: str) -> None:
    bad, good = entries(record(http(body, "text/html", coding)) + record(http(PAGE), number=2))
    assert isinstance(bad, BadEntry)
    assert bad.reason == reason
    assert isinstance(good, FileEntry)


def test_the_servers_charset_outdoes_the_pages() -> None:
    body = '<meta charset="utf-8"><p>é'.encode("latin-1")
    [entry] = entries(record(http(body, "text/html; charset=ISO-8859-1")))
    assert isinstance(entry, FileEntry)
    assert entry.data.decode("utf-8-sig").endswith("é")


def test_hostile_records() -> None:
    whole = record(http(PAGE), number=2)
    bad, good = entries(record(b"no response at all") + whole)
    assert isinstance(bad, BadEntry)
    assert isinstance(good, FileEntry)
    [bad, good] = entries(record(b"x" * 300_000, length=None) + whole, limit=100_000)
    assert isinstance(bad, BadEntry)
    assert bad.reason == "too-large"
    assert isinstance(good, FileEntry)
    for length in (10**9, 2**63, 10**30):
        found = entries(whole + record(http(PAGE), length=length))
        assert isinstance(found[0], FileEntry)
        assert isinstance(found[-1], BadEntry)
    for junk in (b"nonsense\r\n\r\n" + whole, b"WARC/1.0\r\n" + b"A: b\r\n" * 100_000):
        assert isinstance(entries(junk)[-1], BadEntry)


@pytest.mark.parametrize("packed", [False, True])
def test_what_is_cut_off_is_told(packed: bool) -> None:
    pack = gzip.compress if packed else bytes
    pieces = [pack(record(http(PAGE + random.Random(number).randbytes(500)), number=number)) for number in range(5)]
    whole = b"".join(pieces)
    for end in (len(whole) - 100, len(whole) - len(pieces[-1]) // 2, len(whole) - len(pieces[-1]) + 30):
        found = entries(whole[:end])
        kinds = [isinstance(entry, FileEntry) for entry in found]
        assert (kinds[:4], any(kinds[4:]), len(kinds) > 4) == ([True] * 4, False, True)


@pytest.mark.parametrize("seed", range(30))
def test_no_damage_escapes(seed: int) -> None:
    chance = random.Random(seed)
    parts = [record(http(PAGE), number=number) for number in range(10)]
    whole = bytearray(b"".join(map(gzip.compress, parts) if seed % 2 else parts))
    for _ in range(5):
        whole[chance.randrange(len(whole))] = chance.randrange(256)
    assert all(isinstance(entry, FileEntry | BadEntry) for entry in entries(bytes(whole)))


def test_a_header_as_the_id() -> None:
    [entry] = entries(record(http(PAGE)), id="WARC-Target-URI")
    assert isinstance(entry, FileEntry)
    assert entry.id == "https://example.org/1"


def test_of_captures_of_one_url_the_last_by_the_names_of_files_stays(tmp_path: Path) -> None:
    """As the recipe for a crawl says; the older capture is in the file that comes later by name."""
    crawl = tmp_path / "crawl"
    crawl.mkdir()
    captures = {"b.warc.gz": ["older"], "a.warc.gz": ["newer", "newest"], "a-1.warc.gz": ["other"]}
    for name, words in captures.items():
        parts = [record(http(f"<p>{' '.join(f'{word}{n}' for n in range(30))}".encode())) for word in words]
        (crawl / name).write_bytes(b"".join(map(gzip.compress, parts)))
    asked = Selection(columns=ColumnNames(id="WARC-Target-URI"))
    with open_store(tmp_path / "c.neardup", create=store_info("landmarks")) as store:
        for counts in ((1, 3, 0), (0, 0, 4)):
            done = index(Sources([str(crawl)], asked), store, Settings(jobs=1))
            assert (done.indexed, done.replaced, done.unchanged) == counts
            [kept] = store.scan()
            assert kept.ref.id == kept.source == "https://example.org/1"
            assert Path(kept.container).name == "b.warc.gz"


def test_documents_of_all_kinds_are_extracted(tmp_path: Path) -> None:
    words = " ".join(f"w{place}" for place in range(30))
    xml = f"<?xml version='1.0'?><a><b>{words}</b></a>".encode()
    bodies = [(f"<p>{words}".encode(), "text/html"), (pdf(words), "application/pdf"), (xml, "application/xml")]
    bodies += [(words.encode(), "text/plain"), (bytes(range(256)) * 9, "application/x-unknown")]
    parts = [gzip.compress(record(http(*body), number=number)) for number, body in enumerate(bodies)]
    (tmp_path / "a.warc.gz").write_bytes(b"".join(parts))
    with texts(1, Options(), Limits()) as workers:
        found = list(workers.outcomes(read(Sources([str(tmp_path / "a.warc.gz")]), 1_000_000)))
    assert [each.document.format for each in found if isinstance(each, Extracted)] == ["html", "pdf", "xml", "text"]
    assert [each.reason for each in found if isinstance(each, Failed)] == ["unsupported"]
    assert all(words in each.document.text for each in found if isinstance(each, Extracted))
    with open_store(tmp_path / "c.neardup", create=store_info("landmarks")) as store:
        summary = index(Sources([str(tmp_path / "a.warc.gz")], Selection()), store, Settings(jobs=1))
        assert summary.indexed == 4
        assert {record.source for record in store.scan()} == {f"https://example.org/{number}" for number in range(4)}


def test_a_named_file_is_told_by_its_first_bytes(tmp_path: Path) -> None:
    (tmp_path / "crawl").write_bytes(gzip.compress(record(http(PAGE))))
    [item] = Sources([str(tmp_path / "crawl")])
    assert item.id == "urn:uuid:1"


def test_no_fastwarc_stops_with_the_extra_that_brings_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> None:
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)

    monkeypatch.setattr(base.importlib, "import_module", absent)
    with pytest.raises(UsageError, match=r"not installed: pip install 'neardup\[warc\]'"):
        entries(record(http(PAGE)))


def lz4(data: bytes) -> bytes:
    out = io.BytesIO()
    writer = Lz4Writer(out)
    writer.write(data)
    writer.close()
    return out.getvalue()


PACKED = {"x.warc": bytes, "x.warc.gz": gzip.compress, "x.warc.zst": zstd.compress, "x.warc.lz4": lz4}


@pytest.mark.parametrize("archive", ARCHIVES)
def test_what_stands_in_an_archive_is_read(archive: str, capfd: pytest.CaptureFixture[str]) -> None:
    data = b"".join(record(http(PAGE), number=number) for number in range(3))
    for name, pack in PACKED.items():
        member = name.removesuffix(".lz4")
        found = in_archive(archive, ARCHIVES[archive]({member: pack(data)}))
        assert [isinstance(entry, FileEntry) and entry.id for entry in found] == [
            f"urn:uuid:{each}" for each in range(3)
        ]
        assert {entry.member for entry in found} == {member}
    # A panic of the library's writes to this.
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("archive", ["a.tar", "a.tgz"])
@pytest.mark.parametrize("name", PACKED)
def test_an_archive_that_is_cut_off_in_one(archive: str, name: str, capfd: pytest.CaptureFixture[str]) -> None:
    data = b"".join(record(http(random.Random(number).randbytes(90_000)), number=number) for number in range(5))
    whole = ARCHIVES[archive]({name.removesuffix(".lz4"): PACKED[name](data)})
    for end in (len(whole) // 3, len(whole) // 2, len(whole) - 100_000):
        found = in_archive(archive, whole[:end])
        assert isinstance(found[-1], BadEntry)
    assert "panicked" not in capfd.readouterr().err


def test_a_stream_without_records_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    data = b"".join(record(b"x" * 500_000, "request", number) for number in range(9)) + record(http(PAGE))
    assert isinstance(entries(data)[-1], FileEntry)
    monkeypatch.setattr(warc, "_MOST_PASSED", 1 << 20)
    [bad] = entries(data)
    assert isinstance(bad, BadEntry)
    assert "read no further" in bad.detail


def wacz(*archives: bytes) -> bytes:
    """A crawl as browsertrix packs it: web archives, an index of them, and the texts of its pages once more."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as packed:
        packed.writestr("datapackage.json", b"{}")
        for number, archive in enumerate(archives):
            packed.writestr(f"archive/rec-{number}.warc.gz", archive)
        packed.writestr("indexes/index.cdxj", b"org,example)/ 20240102030405 {}\n")
        packed.writestr("pages/pages.jsonl", json.dumps({"id": "p", "url": "https://x", "text": "words " * 50}))
        packed.writestr("archive/nested.wacz", b"no web archive")
    return out.getvalue()


def test_a_wacz_file_is_read_as_its_web_archives(tmp_path: Path) -> None:
    words = [" ".join(f"w{number}x{place}" for place in range(30)) for number in range(4)]
    records = [gzip.compress(record(http(f"<p>{text}".encode()), number=n)) for n, text in enumerate(words)]
    path = tmp_path / "crawl.wacz"
    path.write_bytes(wacz(b"".join(records[:2]), b"".join(records[2:])))
    found = Sources([str(tmp_path)], Selection(include=("*.wacz",)))
    assert [(item.id, item.source) for item in found] == [
        (f"urn:uuid:{number}", f"https://example.org/{number}") for number in range(4)
    ]
    assert found.passed_over.total == 0
    assert not list(Sources([str(tmp_path)], Selection(exclude=("*.wacz",))))
    by_url = Sources([str(path)], Selection(columns=ColumnNames(id="WARC-Target-URI")))
    assert [item.id for item in by_url] == [f"https://example.org/{number}" for number in range(4)]
    with open_store(tmp_path / "c.neardup", create=store_info("landmarks")) as store:
        assert index(Sources([str(path)]), store, Settings(jobs=1)).indexed == 4
        again = {stored.ref.id: text for stored, text in StoredTexts(store).read(store.scan())}
    assert again == {f"urn:uuid:{number}": text for number, text in enumerate(words)}
    # Damage costs what it struck.
    path.write_bytes(wacz(b"".join(records[:2]), b"no records", records[3]))
    items = list(Sources([str(path)]))
    assert [item.id for item in items if isinstance(item, Input)] == [f"urn:uuid:{number}" for number in (0, 1, 3)]
    [bad] = [item for item in items if isinstance(item, Rejected)]
    assert (bad.source, bad.number) == (str(path), 3)
    path.write_bytes(b"PK\x03\x04 no archive")
    [bad] = list(Sources([str(path)]))
    assert isinstance(bad, Rejected)
    assert bad.id == str(path)
