"""The texts of stored documents, read again from where they came from."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import cast

from indexer.errors import ExtractionError, UsageError
from indexer.extract.base import REASONS, Content, Limits, Options
from indexer.extract.brought import missing, named_again
from indexer.extract.ocr.names import languages_of
from indexer.ingest.from_store import CHANGED, IN_FIELDS, file_of, input_of, with_texts
from indexer.ingest.naming import container_of
from indexer.ingest.parts_again import StoredParts
from indexer.ingest.regular_files import UnreadableError, read_file
from indexer.ingest.sources import Input, Rejected
from indexer.model import Document, Record
from indexer.model.paths import path_of_printable
from indexer.stores.base import Store
from indexer.text.counts import counted

# What a page of a report or a verification is worth: one document.
_LIMITS = Limits(seconds=20.0, input_bytes=20_000_000)
_UNREADABLE = "unreadable"
# Where nobody asked for it, a file of few bytes may not take long either.
_SECONDS_AT_HAND = 2.0


class StoredTexts:
    """Reads the texts of a store's documents: files, parts of files that hold many, fields of an index.

    A text is given where it is what was fingerprinted. With `most_bytes`, where nobody asked for texts, files that are
    larger are not read, and fields that are gone are no error. Memory: a page of documents, and 32 bytes for each
    document of the files that hold many.
    """

    def __init__(self, store: Store, most_bytes: int | None = None) -> None:
        self._store, self._most = store, most_bytes
        self._limits = _LIMITS if most_bytes is None else replace(_LIMITS, seconds=_SECONDS_AT_HAND)
        self._parts: dict[str, StoredParts | UnreadableError] = {}

    def of(self, record: Record) -> str:
        """The text of one document. Raises ExtractionError, which says why there is none."""
        [(_, text)] = self.read([record])
        if isinstance(text, ExtractionError):
            raise text
        return text

    def read(self, records: Iterable[Record]) -> Iterator[tuple[Record, str | ExtractionError]]:
        """The text of each document, or why there is none, in an order that is quick to read."""
        for record, document in self.documents(records):
            yield record, document if isinstance(document, ExtractionError) else document.text

    def documents(self, records: Iterable[Record]) -> Iterator[tuple[Record, Document | ExtractionError]]:
        """The same with what extraction says of each beside its text."""
        for record, source in self._found(records):
            try:
                yield record, self._document(record, source)
            except ExtractionError as error:
                yield record, error

    def _found(self, records: Iterable[Record]) -> Iterator[tuple[Record, Input | Rejected]]:
        parts: dict[str, list[Record]] = {}
        for record, text in with_texts(self._store, records, lenient=self._most is not None):
            if text:
                yield record, input_of(self._store, record, text)
            elif container := record.container or container_of(record.source):
                parts.setdefault(container, []).append(record)
            else:
                yield record, file_of(record)
        for container, wanted in parts.items():
            yield from self._of_parts(container, wanted)

    def _of_parts(self, container: str, records: list[Record]) -> Iterator[tuple[Record, Input | Rejected]]:
        waiting = {id(record): record for record in records}
        try:
            for record, part in self._in_file(container).read(records):
                del waiting[id(record)]
                gone = Rejected(record.ref.id, container, CHANGED, "the file no longer holds the text that was indexed")
                yield record, part or gone
        except UnreadableError as error:
            for record in waiting.values():
                yield record, Rejected(record.ref.id, container, error.reason, error.detail)

    def _in_file(self, container: str) -> StoredParts:
        if container not in self._parts:
            try:
                self._require_small(path_of_printable(container))
                self._parts[container] = StoredParts(self._store, container, _LIMITS.input_bytes)
            except UnreadableError as error:
                self._parts[container] = error
        lines = self._parts[container]
        if isinstance(lines, UnreadableError):
            raise lines
        return lines

    def _require_small(self, path: str) -> None:
        """Raise UnreadableError for a file that is larger than was allowed; what can't be looked at is read."""
        try:
            large = self._most is not None and os.path.getsize(path) > self._most
        except (OSError, ValueError):
            return
        if large:
            raise UnreadableError(_UNREADABLE, f"the file has more than {counted(self._most or 0, 'byte')}")

    def _document(self, record: Record, source: Input | Rejected) -> Document:
        from indexer.extract import extract
        from indexer.schemes import simhash

        if isinstance(source, Rejected):
            # Of the reasons for a document, these are no words of extraction.
            reason = _UNREADABLE if source.reason in (CHANGED, IN_FIELDS) else source.reason
            raise ExtractionError(reason, source.detail)
        if gone := missing(record.extractor):
            raise ExtractionError(_UNREADABLE, gone)
        try:
            if source.path:
                self._require_small(source.path)
            data = read_file(source.path, _LIMITS.input_bytes) if source.path else source.data
            options = Options(
                content=cast(Content, self._store.info.content),
                format=source.format or named_again(record.extractor),
                ocr=languages_of(record.extractor),
            )
            document = extract(data, name=source.path or source.name, options=options, limits=self._limits)
        except UnreadableError as error:
            raise ExtractionError(error.reason, error.detail) from None
        except ExtractionError as error:
            raise ExtractionError(error.reason, error.detail or REASONS.get(error.reason, "")) from None
        except UsageError as error:
            # It was read by OCR or a plug-in, which is not installed here.
            raise ExtractionError(_UNREADABLE, str(error)) from None
        now = simhash.fingerprint(document.text)
        if (now and now.value) != (record.fingerprint and record.fingerprint.value):
            if named_again(record.extractor) and document.extractor != record.extractor:
                said = f"it was read by {record.extractor}, and {document.extractor} reads another text"
                raise ExtractionError(_UNREADABLE, said)
            raise ExtractionError(_UNREADABLE, "the file no longer holds the text that was indexed")
        return document


def stored_text(store: Store, record: Record) -> str:
    """The text of one stored document.

    Raises ExtractionError where it is gone, unreadable, or no longer what was indexed: its fingerprint shows it.
    """
    return StoredTexts(store).of(record)
