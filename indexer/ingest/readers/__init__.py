"""Readers of files that hold many documents: one class for each kind of file, found by name or by first bytes."""

from __future__ import annotations

from functools import cache, lru_cache

from indexer.ingest.readers.base import BadEntry, ColumnNames, FileEntry, FileReader, ReaderOptions
from indexer.ingest.readers.compression import without_suffix
from indexer.ingest.readers.jsonlines import JsonLines

__all__ = [
    "JSON_LINES",
    "BadEntry",
    "ColumnNames",
    "FileEntry",
    "FileReader",
    "ReaderOptions",
    "all_readers",
    "reader_by_head",
    "reader_of",
]


JSON_LINES = JsonLines()


@cache
def all_readers() -> tuple[FileReader, ...]:
    """All readers, in the order in which they are asked; imported when first asked for, since they take a while."""
    from indexer.ingest.readers.archives import Tar, Wacz, Zip
    from indexer.ingest.readers.feeds import Feed
    from indexer.ingest.readers.mails import Mail, Mailbox
    from indexer.ingest.readers.outlook import OutlookMail
    from indexer.ingest.readers.tables import Csv, Parquet
    from indexer.ingest.readers.warc import Warc

    archives = (reader(reader_of) for reader in (Wacz, Zip, Tar, Mail, OutlookMail, Mailbox))
    return (JSON_LINES, Csv(), Parquet(), Warc(), *archives, Feed())


# A walk asks for a file more than once before it comes to the next one.
@lru_cache(maxsize=8)
def reader_of(name: str) -> FileReader | None:
    """The reader of files with this name, compressed or not; None for a file that is one document."""
    ending = without_suffix(name).lower()
    return next((reader for reader in all_readers() if reader.takes(ending)), None)


def reader_by_head(head: bytes) -> FileReader | None:
    """The reader of files with these first bytes, decompressed; None where they tell none."""
    by_magic = ((reader, *reader.magic) for reader in all_readers() if reader.magic)
    return next((reader for reader, place, magic in by_magic if head.startswith(magic, place)), None)
