"""Web archives, WARC and WET, read by fastwarc."""

from __future__ import annotations

import io
import re
import zlib
from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO

from indexer.extract.formats import Format
from indexer.ingest.readers.base import (
    MARK,
    BadEntry,
    ColumnNames,
    FileEntry,
    FileReader,
    ReaderOptions,
    optional,
    value_at,
)
from indexer.ingest.readers.compression import BROKEN, buffered, decompressed
from indexer.text.counts import counted

_MOST_HEADERS = 64 << 10
# What is read from one record to the next.
_MOST_PASSED = 64 << 30
# What is kept of a record's own headers.
_KEPT = {
    "warc-date": "date",
    "warc-type": "warc_type",
    "warc-identified-payload-type": "payload_type",
    "warc-truncated": "truncated",
    # Of the response itself.
    "last-modified": "last_modified",
}
# By what a document of a media type is called elsewhere: a hint, where its content does not show its kind.
_NAMES = {
    "text/html": "response.html",
    "application/xhtml+xml": "response.xhtml",
    "application/pdf": "response.pdf",
    "text/plain": "response.txt",
}
# Nobody who collects documents wants to hear of each picture and style sheet.
_NOT_DOCUMENTS = (
    *("image/", "audio/", "video/", "font/", "text/css", "text/javascript", "application/javascript"),
    *("application/x-javascript", "application/json", "application/font"),
)
_READERS = {"br": "BrotliReader", "zstd": "ZstdReader"}
_CHARSET = re.compile(r"charset\s*=\s*[\"']?\s*([\w:.()+-]+)", re.IGNORECASE)


class Warc(FileReader):
    """Records of WARC files (ISO 28500): responses, resources, and the conversions of WET files.

    Unsuccessful responses and kinds other than documents are skipped. The id is the record's own, the URL the source,
    and the date a part of the metadata; requested columns are headers.
    """

    suffixes = (".warc", ".wet")
    magic = (0, b"WARC/1.")

    def fits(self, head: bytes, kind: Format | None, columns: ColumnNames) -> bool:
        return head.startswith(b"WARC/") or super().fits(head, kind, columns)

    def entries(self, stream: BinaryIO, name: str, asked: ReaderOptions) -> Iterator[FileEntry | BadEntry]:
        warc: Any = optional("fastwarc.warc", "warc", name)
        kinds = warc.WarcRecordType
        number = 0
        try:
            given = buffered(stream)
            # Its own gzip says nothing of a file that is cut off; other compressions may need a dictionary in it.
            is_gzip = given.peek(2).startswith(b"\x1f\x8b")
            pieces = _Pieces(decompressed(given, name, asked) if is_gzip else given)
            records = warc.ArchiveIterator(
                # It panics where it can't seek.
                pieces,
                record_types=kinds.response | kinds.resource | kinds.conversion,
                parse_http=False,
                max_header_len=_MOST_HEADERS,
                fsspec_args=False,
                stream_detect=not is_gzip,
            )
            for record in records:
                number += 1
                pieces.left = _MOST_PASSED
                found = _record(number, record, asked)
                if found is not None:
                    yield found
        except BaseException as error:
            # A panic of fastwarc's is no Exception.
            if not isinstance(error, (*BROKEN, ValueError, OverflowError)) and type(error).__name__ != "PanicException":
                raise
            yield BadEntry(number + 1, "malformed", f"the file can't be read from here on: {error}", is_last=True)


class _Pieces:
    """A stream that returns the bytes it has, so that all records before a cut are read."""

    def __init__(self, stream: io.BufferedReader) -> None:
        self._stream, self._place = stream, 0
        self.left = _MOST_PASSED

    def read(self, size: int) -> bytes:
        """Read at most this many bytes. Raises OSError if no record came for long."""
        if self.left < 0:
            raise OSError(f"no record in {counted(_MOST_PASSED, 'byte')}; the file is read no further")
        piece = self._stream.read1(size)
        self.left -= len(piece)
        self._place += len(piece)
        return piece

    def tell(self) -> int:
        return self._place

    def seek(self, place: int, whence: int = io.SEEK_SET) -> int:
        """The place, for callers asking by a seek. Raises OSError for any other place."""
        if (whence, place) not in ((io.SEEK_CUR, 0), (io.SEEK_SET, self._place)):
            raise OSError("a decompressed stream can't seek")
        return self._place


def _record(number: int, record: Any, asked: ReaderOptions) -> FileEntry | BadEntry | None:
    reason = "malformed"
    try:
        return _document(number, record, asked)
    except OverflowError as error:
        reason, detail = "too-large", f"{error}; the limit is {counted(asked.limit, 'byte')}"
    except (*BROKEN, ValueError) as error:
        detail = str(error)
    return BadEntry(number, reason, detail)


def _document(number: int, record: Any, asked: ReaderOptions) -> FileEntry | None:
    headers = {key.lower(): value for key, value in record.headers.items()}
    length = headers.get("content-length", "")
    if not (length.isascii() and length.isdecimal()):
        raise ValueError("the record has no length, or was cut off in its headers")
    size = int(length[:20])
    if size > asked.limit + _MOST_HEADERS:
        raise OverflowError(f"the record has {counted(size, 'byte')}")
    block, kind = _read(record.reader, size), headers.get("content-type", "")
    if len(block) < size:
        raise ValueError(f"the record is cut off: {len(block):,} of its {counted(size, 'byte')} are there")
    if kind.lower().startswith("application/http"):
        payload = _payload(block, asked.limit)
        if payload is None:
            return None
        block, kind, modified = payload
        headers |= {"last-modified": modified} if modified else {}
    elif _is_no_document(kind):
        return None
    return _entry(number, headers, block, kind, asked)


def _payload(block: bytes, limit: int) -> tuple[bytes, str, str] | None:
    head, blank, body = block.partition(b"\r\n\r\n")
    if not blank:
        head, blank, body = block.partition(b"\n\n")
    status, *lines = head.decode("latin-1").splitlines() or [""]
    if not blank or not status.startswith("HTTP/"):
        raise ValueError("the record holds no HTTP response")
    headers = {
        name.strip().lower(): value.strip() for name, colon, value in (line.partition(":") for line in lines) if colon
    }
    kind = headers.get("content-type", "")
    if not status.split(" ", 2)[1:2] or not status.split(" ", 2)[1].startswith("2") or _is_no_document(kind):
        return None
    # Many archives keep these headers of a body that they have decoded.
    size = body[:20].partition(b"\r\n")[0].partition(b";")[0].strip()
    is_chunked = headers.get("transfer-encoding", "").lower() == "chunked"
    if is_chunked and re.fullmatch(rb"[0-9a-fA-F]+", size):
        body = _decoded("ChunkedReader", body, limit)
    for coding in reversed(headers.get("content-encoding", "").lower().split(",")):
        body = _plain(coding.strip(), body, limit)
    return body, kind, headers.get("last-modified", "")


def _plain(coding: str, body: bytes, limit: int) -> bytes:
    if coding in ("gzip", "x-gzip", "deflate") and body[:1] in (b"\x1f", b"\x78"):
        inflate = zlib.decompressobj(wbits=47)
        data = _bounded(inflate.decompress(body, limit + 1), limit)
        if not inflate.eof:
            raise EOFError("the compressed response is cut off")
        return data
    is_coded = body.startswith(b"\x28\xb5\x2f\xfd") if coding == "zstd" else body.lstrip()[:1] != b"<"
    return _decoded(_READERS[coding], body, limit) if coding in _READERS and is_coded else body


def _decoded(reader: str, body: bytes, limit: int) -> bytes:
    streams: Any = optional("fastwarc.stream_io", "warc", "WARC")
    return _bounded(_read(getattr(streams, reader)(io.BytesIO(body)), limit + 1), limit)


def _read(reader: Any, size: int) -> bytes:
    parts = []
    while size and (part := reader.read(size)):
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def _bounded(data: bytes, limit: int) -> bytes:
    if len(data) > limit:
        raise OverflowError("the response is too large when it is decompressed")
    return data


def _is_no_document(kind: str) -> bool:
    return kind.strip().lower().startswith(_NOT_DOCUMENTS)


def _entry(number: int, headers: Mapping[str, str], body: bytes, kind: str, asked: ReaderOptions) -> FileEntry:
    columns = asked.columns
    plain = kind.partition(";")[0].strip().lower()
    url = headers.get("warc-target-uri", "").strip("<>")
    identity = headers.get("warc-record-id", "").strip("<>")
    if columns.id:
        identity = str(value_at(headers, columns.id.lower()) or "").strip("<>")
        if not identity:
            raise ValueError(f"the record has no header {columns.id!r}")
    title = str(value_at(headers, columns.title.lower()) or "") if columns.title else ""
    metadata = {name: headers[key] for key, name in _KEPT.items() if key in headers}
    data = _in_utf8(body, plain, kind)
    own_source = url if "://" in url[:20] else ""
    name = _NAMES.get(plain, "response.xml" if plain.endswith(("/xml", "+xml")) else "")
    known: Format | None = "text" if headers.get("warc-type") == "conversion" else None
    return FileEntry(number, identity, data, known, title, own_source, metadata, name=name)


def _in_utf8(body: bytes, plain: str, kind: str) -> bytes:
    charset = _CHARSET.search(kind)
    if plain not in ("text/html", "text/plain") or not charset or charset[1].lower() in ("utf-8", "utf8"):
        return body
    from indexer.extract.text import codec_of

    codec = codec_of(charset[1])
    if not codec or codec == "utf-8":
        return body
    return MARK + body.decode(codec, "replace").encode("utf-8", "replace")
