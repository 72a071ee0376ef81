"""Readers of files that hold many documents: one class for each kind of file, found by name or by first bytes."""

from __future__ import annotations

from indexer.ingest.readers.archives import Tar, Wacz, Zip
from indexer.ingest.readers.base import BadEntry, ColumnNames, FileEntry, FileReader, ReaderOptions
from indexer.ingest.readers.compression import without_suffix
from indexer.ingest.readers.feeds import Feed
from indexer.ingest.readers.jsonlines import JsonLines
from indexer.ingest.readers.mails import Mail, Mailbox
from indexer.ingest.readers.tables import Csv, Parquet
from indexer.ingest.readers.warc import Warc

__all__ = [
    "JSON_LINES",
    "READERS",
    "BadEntry",
    "ColumnNames",
    "FileEntry",
    "FileReader",
    "ReaderOptions",
    "reader_by_head",
    "reader_of",
]


def reader_of(name: str) -> FileReader | None:
    """The reader of files with this name, compressed or not; None for a file that is one document."""
    ending = without_suffix(name).lower()
    return next((reader for reader in READERS if reader.takes(ending)), None)


JSON_LINES = JsonLines()
READERS: tuple[FileReader, ...] = (
    *(JSON_LINES, Csv(), Parquet(), Warc()),
    *(Wacz(reader_of), Zip(reader_of), Tar(reader_of), Mail(reader_of), Mailbox(reader_of), Feed()),
)


def reader_by_head(head: bytes) -> FileReader | None:
    """The reader of files with these first bytes, decompressed; None where they tell none."""
    by_magic = ((reader, *reader.magic) for reader in READERS if reader.magic)
    return next((reader for reader, place, magic in by_magic if head.startswith(magic, place)), None)
