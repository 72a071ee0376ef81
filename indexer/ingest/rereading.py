"""The texts of stored documents, read again from where they came from."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import cast

from indexer.errors import ExtractionError
from indexer.extract.base import REASONS, Content, Limits, Options
from indexer.ingest.from_store import CHANGED, IN_FIELDS, IndexTexts, file_of
from indexer.ingest.lines_again import StoredLines
from indexer.ingest.sources import Input, Rejected, UnreadableError, is_json_lines, read_file
from indexer.model import Record
from indexer.stores.base import Store

# What a page of a report or a verification is worth: one document.
_LIMITS = Limits(seconds=20.0, input_bytes=20_000_000)
_UNREADABLE = "unreadable"


class Texts:
    """Reads the texts of a store's documents: files, lines of files with JSON lines, fields of an index.

    A text is given where it is what was fingerprinted. Memory: a page of documents, and 32 bytes for each line of the
    files with JSON lines that were read.
    """

    def __init__(self, store: Store) -> None:
        from indexer.stores.search.store import SearchStore

        self._store = store
        self._index = IndexTexts(store) if isinstance(store, SearchStore) else None
        self._lines: dict[str, StoredLines | UnreadableError] = {}

    def of(self, record: Record) -> str:
        """The text of one document. Raises ExtractionError, which says why there is none."""
        [(_, found)] = self.read([record])
        if isinstance(found, ExtractionError):
            raise found
        return found

    def read(self, records: Iterable[Record]) -> Iterator[tuple[Record, str | ExtractionError]]:
        """The text of each document, or why there is none, in an order that is quick to read."""
        for record, found in self._found(records):
            try:
                yield record, self._text(record, found)
            except ExtractionError as error:
                yield record, error

    def _found(self, records: Iterable[Record]) -> Iterator[tuple[Record, Input | Rejected]]:
        lines: dict[str, list[Record]] = {}
        for record in records:
            if self._index and self._index.has(record):
                yield from self._index.take(record)
            elif os.path.isabs(record.source) and is_json_lines(record.source):
                lines.setdefault(record.source, []).append(record)
            else:
                yield record, file_of(record)
        if self._index:
            yield from self._index.read()
        for source, wanted in lines.items():
            yield from self._of_lines(source, wanted)

    def _of_lines(self, source: str, records: list[Record]) -> Iterator[tuple[Record, Input | Rejected]]:
        waiting = {id(record): record for record in records}
        try:
            for record, line in self._in_file(source).read(records):
                del waiting[id(record)]
                name = record.ref.id
                yield (
                    record,
                    Input(name, source, "", line.data, line.format, line.title)
                    if line
                    else Rejected(name, source, CHANGED, "the file no longer holds the line that was indexed"),
                )
        except UnreadableError as error:
            for record in waiting.values():
                yield record, Rejected(record.ref.id, source, error.reason, error.detail)

    def _in_file(self, source: str) -> StoredLines:
        if source not in self._lines:
            try:
                self._lines[source] = StoredLines(self._store, source, _LIMITS.input_bytes)
            except UnreadableError as error:
                self._lines[source] = error
        found = self._lines[source]
        if isinstance(found, UnreadableError):
            raise found
        return found

    def _text(self, record: Record, found: Input | Rejected) -> str:
        from indexer.extract import extract
        from indexer.schemes import simhash

        if isinstance(found, Rejected):
            # Of the reasons for a document, these are no words of extraction.
            reason = _UNREADABLE if found.reason in (CHANGED, IN_FIELDS) else found.reason
            raise ExtractionError(reason, found.detail)
        try:
            data = read_file(found.path, _LIMITS.input_bytes) if found.path else found.data
            options = Options(content=cast(Content, self._store.info.content), format=found.format)
            text = extract(data, name=found.path, options=options, limits=_LIMITS).text
        except UnreadableError as error:
            raise ExtractionError(error.reason, error.detail) from None
        except ExtractionError as error:
            raise ExtractionError(error.reason, error.detail or REASONS.get(error.reason, "")) from None
        now = simhash.fingerprint(text)
        if (now and now.value) != (record.fingerprint and record.fingerprint.value):
            raise ExtractionError(_UNREADABLE, "the file no longer holds the text that was indexed")
        return text


def stored_text(store: Store, record: Record) -> str:
    """The text of one stored document.

    Raises ExtractionError where it is gone, unreadable, or no longer what was indexed: its fingerprint tells.
    """
    return Texts(store).of(record)
