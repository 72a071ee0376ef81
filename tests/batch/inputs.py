"""The same texts as files of several kinds."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

ORIGINALS = [" ".join(f"word{number}x{place}" for place in range(60)) for number in range(6)]


# Of some another text says all and a sentence more, which stays where edited ones may go.
TEXTS = [*ORIGINALS, *(f"{text}. And more." for text in ORIGINALS[:4])]


def page(text: str) -> bytes:
    return f"<html><body><p>{text}</p></body></html>".encode()


def as_gzip(folder: Path) -> None:
    lines = "".join(json.dumps({"id": str(n), "text": t}) + "\n" for n, t in enumerate(TEXTS))
    (folder / "a.jsonl.gz").write_bytes(gzip.compress(lines.encode()))


def as_parquet(folder: Path) -> None:
    pq.write_table(pa.table({"id": [str(n) for n in range(len(TEXTS))], "text": TEXTS}), folder / "a.parquet")


def as_warc(folder: Path) -> None:
    data = b""
    for number, text in enumerate(TEXTS):
        http = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n" + page(text)
        head = (
            f"WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: https://host/{number}\r\n"
            f"WARC-Record-ID: <urn:uuid:00000000-0000-0000-0000-{number:012}>\r\nWARC-Date: 2026-01-01T00:00:00Z\r\n"
            f"Content-Type: application/http; msgtype=response\r\nContent-Length: {len(http)}\r\n\r\n"
        )
        data += gzip.compress(head.encode() + http + b"\r\n\r\n")
    (folder / "a.warc.gz").write_bytes(data)


def as_files(folder: Path) -> None:
    for number, text in enumerate(TEXTS):
        path = folder / ("even" if number % 2 else "odd") / f"{number}.html"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(page(text))
