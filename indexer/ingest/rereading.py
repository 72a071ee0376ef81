"""The texts of stored documents, read again from their sources."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import groupby
from typing import cast

from indexer.errors import ExtractionError, UsageError
from indexer.extract.base import REASONS, Content, Extracted, Failed, Item, Limits, Options, PartsLeftOut
from indexer.extract.brought import missing, named_again, require_format
from indexer.extract.ocr.names import languages_of
from indexer.ingest.digests import options_of
from indexer.ingest.from_store import CHANGED, IN_FIELDS, file_of, input_of, with_texts
from indexer.ingest.naming import container_of
from indexer.ingest.parts_again import StoredParts
from indexer.ingest.regular_files import UnreadableError, read_file
from indexer.ingest.sources import Input, Rejected
from indexer.model import Document, Record
from indexer.model.chunking import chunks_by_size
from indexer.model.paths import path_of_printable
from indexer.stores.base import Store
from indexer.text.counts import counted

# What a page of a report or a verification is worth: one document.
_LIMITS = Limits(seconds=20.0, input_bytes=20_000_000)
_UNREADABLE = "unreadable"
# Where nobody asked for it, a file of few bytes may not take long either.
_SECONDS_AT_HAND = 2.0
# Documents that are extracted together, so that the worker need not wait for each.
_TOGETHER, _BYTES = 64, 8 << 20


class StoredTexts:
    """Reads the texts of a store's documents: files, parts of files with many, fields of an index.

    Only unchanged texts are given. With `most_bytes`, for texts nobody asked for, larger files are not read, and
    missing fields are no error. Memory: a page of documents, and 32 bytes for each document of the files with many.
    """

    def __init__(self, store: Store, most_bytes: int | None = None) -> None:
        self._store, self._most = store, most_bytes
        self._limits = _LIMITS if most_bytes is None else replace(_LIMITS, seconds=_SECONDS_AT_HAND)
        self._parts: dict[str, StoredParts | UnreadableError] = {}

    def of(self, record: Record) -> str:
        """The text of one document. Raises ExtractionError with the reason."""
        [(_, text)] = self.read([record])
        if isinstance(text, ExtractionError):
            raise text
        return text

    def read(self, records: Iterable[Record]) -> Iterator[tuple[Record, str | ExtractionError]]:
        for record, document in self.documents(records):
            yield record, document if isinstance(document, ExtractionError) else document.text

    def documents(self, records: Iterable[Record]) -> Iterator[tuple[Record, Document | ExtractionError]]:
        for some in chunks_by_size(self._items(records), _TOGETHER, lambda each: _size(each[0]), _BYTES):
            known = [_known(item) for item, _ in some]
            left = [
                item for (item, _), outcome in zip(some, known, strict=True) if not outcome and isinstance(item, Item)
            ]
            extracted = iter(self._extracted(left))
            for (_, parts), each in zip(some, known, strict=True):
                outcome = each or next(extracted)
                if isinstance(outcome, Failed):
                    detail = outcome.detail or REASONS.get(outcome.reason, "")
                    yield outcome.key, ExtractionError(outcome.reason, detail)
                else:
                    document = replace(outcome.document, left_out=outcome.document.left_out + parts)
                    yield outcome.key, _as_indexed(outcome.key, document)

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
                gone = Rejected(record.ref.id, container, CHANGED, "the file no longer holds the indexed text")
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
        try:
            large = self._most is not None and os.path.getsize(path) > self._most
        except (OSError, ValueError):
            return
        if large:
            raise UnreadableError(_UNREADABLE, f"the file has more than {counted(self._most or 0, 'byte')}")

    def _items(self, records: Iterable[Record]) -> Iterator[tuple[Item[Record] | Failed[Record], PartsLeftOut]]:
        for record, source in self._found(records):
            if isinstance(source, Rejected):
                # Of the reasons for a document, these are no words of extraction.
                reason = _UNREADABLE if source.reason in (CHANGED, IN_FIELDS) else source.reason
                yield Failed(record, reason, source.detail), ()
            elif gone := missing(record.extractor):
                yield Failed(record, _UNREADABLE, gone), ()
            else:
                yield self._item(record, source), source.left_out

    def _item(self, record: Record, source: Input) -> Item[Record] | Failed[Record]:
        # What has changed since is read by its content.
        kind, extractor = source.format or named_again(record.extractor), None
        try:
            if kind:
                require_format(kind)
            if source.path:
                self._require_small(source.path)
            data = read_file(source.path, _LIMITS.input_bytes) if source.path else source.data
            name = source.path or source.name
            if options := options_of(record, data, self._store.info, name, source.title, source.format):
                kind, extractor = options.format, options.extractor
        except UnreadableError as error:
            return Failed(record, error.reason, error.detail)
        except UsageError as error:
            # The plug-in that it was read by can't be used.
            return Failed(record, _UNREADABLE, str(error))
        return Item(record, data, name, kind, extractor)

    def _extracted(self, items: Iterable[Item[Record]]) -> Iterator[Extracted[Record, None] | Failed[Record]]:
        from indexer.extract import extract_all

        content = cast(Content, self._store.info.content)
        for languages, group in groupby(items, lambda item: languages_of(item.key.extractor)):
            some = list(group)
            try:
                yield from extract_all(some, Options(content=content, ocr=languages), self._limits)
            except UsageError as error:
                # They were read by what is not installed here.
                yield from (Failed(item.key, _UNREADABLE, str(error)) for item in some)


def _size(item: Item[Record] | Failed[Record]) -> int:
    return 0 if isinstance(item, Failed) else len(item.data)


def _known(item: Item[Record] | Failed[Record]) -> Extracted[Record, None] | Failed[Record] | None:
    from indexer.ingest.short_texts import short_text

    if isinstance(item, Failed):
        return item
    text = short_text(item)
    return Extracted(item.key, Document(text[0]), None) if text else None


def _as_indexed(record: Record, document: Document) -> Document | ExtractionError:
    from indexer.schemes import simhash

    now = simhash.fingerprint(document.text)
    if (now and now.value) == (record.fingerprint and record.fingerprint.value):
        return document
    said = "the file no longer holds the indexed text"
    if named_again(record.extractor) and document.extractor != record.extractor:
        said = f"it was read by {record.extractor}, and {document.extractor} reads another text"
    return ExtractionError(_UNREADABLE, said)
