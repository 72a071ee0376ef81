"""Readers of files with many documents."""

from __future__ import annotations

import os
from functools import cache, lru_cache
from typing import BinaryIO

from indexer.errors import UsageError
from indexer.extract.formats import SUFFIXES, is_mail_name
from indexer.extract.sniffing import HEAD
from indexer.ingest.readers.base import ZIP, BadEntry, ColumnNames, FileEntry, FileReader, ReaderOptions, is_as_named
from indexer.ingest.readers.compression import BROKEN, decompressed, without_suffix
from indexer.ingest.readers.jsonlines import JsonLines
from indexer.ingest.regular_files import UnreadableError, open_regular

__all__ = [
    "JSON_LINES",
    "BadEntry",
    "ColumnNames",
    "FileEntry",
    "FileReader",
    "ReaderOptions",
    "all_readers",
    "reader_by_content",
    "reader_of",
    "reader_of_file",
]


JSON_LINES = JsonLines()
_USUAL = ColumnNames()


@cache
def all_readers() -> tuple[FileReader, ...]:
    """All readers, in the order of asking; imported on first use, since they take a while."""
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
    ending = without_suffix(name).lower()
    return next((reader for reader in all_readers() if reader.takes(ending)), None)


def reader_by_content(name: str, stream: BinaryIO, columns: ColumnNames = _USUAL) -> FileReader | None:
    """The reader of a file, by its beginning and then by its name; None for a single document.

    Raises UsageError if the package for a compression is missing, and the errors of a damaged stream.
    """
    plain = decompressed(stream, name)
    head, named = plain.peek(HEAD)[:HEAD], reader_of(name)
    if named is not JSON_LINES and JSON_LINES.are_rows(head, columns):
        return JSON_LINES
    if named and is_as_named(named, plain, columns):
        return named
    by_magic = ((reader, *reader.magic) for reader in all_readers() if reader.magic)
    if found := next((reader for reader, place, magic in by_magic if head.startswith(magic, place)), None):
        return found
    # Of ZIP files with other names most are documents, or programs.
    says_otherwise = named or is_mail_name(name) or os.path.splitext(without_suffix(name))[1].lower() in SUFFIXES
    archive = reader_of(".zip") if says_otherwise and head.startswith(ZIP) else None
    return archive if archive and is_as_named(archive, plain, columns) else None


def reader_of_file(path: str, columns: ColumnNames = _USUAL) -> FileReader | None:
    try:
        status = os.stat(path)
        return _reader_of_file(path, columns, status.st_mtime_ns, status.st_size)
    except (UnreadableError, UsageError, ValueError, *BROKEN):
        return reader_of(path)


# Each of the documents of a file may ask.
@lru_cache(maxsize=64)
def _reader_of_file(path: str, columns: ColumnNames, changed: int, size: int) -> FileReader | None:  # noqa: ARG001
    with open_regular(path, buffer=HEAD) as stream:
        return reader_by_content(path, stream, columns)
