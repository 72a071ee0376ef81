"""The texts of stored documents, read again from their sources."""

from __future__ import annotations

import io
import os
import pickle
import sqlite3
import tempfile
from array import array
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING, Any, BinaryIO, cast

import numpy as np

from indexer.core.text import text_digest
from indexer.errors import ExtractionError, NotFoundError, UsageError
from indexer.extract.base import REASONS, Content, Extracted, Failed, Item, Limits, Options, PartsLeftOut
from indexer.extract.brought import missing, named_again, require_format
from indexer.extract.ocr.names import languages_of
from indexer.ingest.digests import content_id, options_of
from indexer.ingest.from_store import CHANGED, IN_FIELDS, file_of, id_hash, ids_of, input_of, with_texts
from indexer.ingest.naming import container_of
from indexer.ingest.readers import JSON_LINES, reader_of, reader_of_file
from indexer.ingest.readers.base import MARK
from indexer.ingest.readers.compression import buffered, decompressed
from indexer.ingest.regular_files import UnreadableError, open_regular, read_file
from indexer.ingest.remembered import KnownColumns
from indexer.ingest.remote import is_remote
from indexer.ingest.sources import Input, Rejected, Selection, Sources
from indexer.model import Document, Record
from indexer.model.chunking import chunks, chunks_by_size
from indexer.model.paths import path_of_printable
from indexer.stores.base import Store
from indexer.text.counts import counted

if TYPE_CHECKING:
    from indexer.ingest.mail_frame import MailFrame
    from indexer.schemes.base import Scheme

# What a page of a report or a verification is worth: one document.
_LIMITS = Limits(seconds=20.0, input_bytes=20_000_000)
_UNREADABLE = "unreadable"
# Where nobody asked for it, a file of few bytes may not take long either.
_SECONDS_AT_HAND = 2.0
# Documents that are extracted together, so that the worker need not wait for each.
_TOGETHER, _BYTES = 64, 8 << 20
# So many mails that came before their frame are read together.
_LATE_AT_ONCE = 1000
# What is read at once of lines that may be far from each other.
_NEAR = 1 << 14
_MOST_COPIED, _PAGE = 4 << 30, 4096


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
            left = [item for (item, _), outcome in zip(some, known, strict=True) if not outcome]
            extracted = iter(self._extracted(cast(list[Item[Record]], left)))
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


def sketched_without_frame(
    store: Store, frame: MailFrame, schemes: Sequence[Scheme], min_tokens: int
) -> Iterator[Record]:
    """Store mails anew that came before their last lines were known to be frame; unreadable ones stay as they are."""
    from indexer.ingest.outcomes import with_sketches
    from indexer.ingest.sketching import sketch_document

    texts = StoredTexts(store)
    for refs in chunks(frame.late(), _LATE_AT_ONCE):
        made = [
            with_sketches(record, sketch_document(schemes, document, frame.told)[0], min_tokens)
            for record, document in texts.documents(filter(None, store.get(refs)))
            if isinstance(document, Document)
        ]
        if made:
            store.begin_put(made)()
            yield from made
    frame.settle()


def _as_indexed(record: Record, document: Document) -> Document | ExtractionError:
    from indexer.schemes import simhash

    now = simhash.fingerprint(document.text)
    # A sketch may rest on a part of the text.
    known = record.text_digest or (record.fingerprint and record.fingerprint.value)
    if known == (text_digest(document.text).hex() if record.text_digest else now and now.value):
        return document
    said = "the file no longer holds the indexed text"
    if named_again(record.extractor) and document.extractor != record.extractor:
        said = f"it was read by {record.extractor}, and {document.extractor} reads another text"
    return ExtractionError(_UNREADABLE, said)


class StoredParts:
    """The places of the documents in a file, by their ids, found by reading it once; 40 bytes for each.

    Uncompressed lines are found by offset. Other files are read again as far as needed, and from the second time on
    from a copy of their documents in a temporary file of at most 4 GiB. Raises UnreadableError if the file can't be
    read.
    """

    def __init__(self, store: Store, container: str, limit: int) -> None:
        self._store, self._container, self._path = store, container, path_of_printable(container)
        self._selection = Selection(line_limit=limit, include=("*",), hidden=True, known=KnownColumns(store))
        self._by_offset, self._times_read = self._has_offsets(), 0
        self._copy: _CopiedParts | None = None
        names, places = array("Q"), array("q")
        for place, item in self._by_offsets() if self._by_offset else self._by_numbers():
            for name in {*ids_of(item, container), content_id(item.data)}:
                names.append(id_hash(name))
                places.append(place)
        order = np.argsort(np.array(names, dtype=np.uint64), kind="stable")
        self._names = np.array(names, dtype=np.uint64)[order]
        self._places = np.array(places, dtype=np.int64)[order]

    def read(self, records: Sequence[Record]) -> Iterator[tuple[Record, Input | None]]:
        """The document of each record, in the order of the file; None unless it is as indexed.

        Raises UnreadableError.
        """
        left = dict(enumerate(records))
        wanted: dict[int, list[int]] = {}
        for number, record in left.items():
            for place in self._places_of(record):
                wanted.setdefault(place, []).append(number)
        places = sorted(wanted)
        for place, item in self._at_offsets(places) if self._by_offset else self._at_numbers(places):
            for number in wanted[place]:
                if number in left and self._is_of(item, left[number]):
                    yield left.pop(number), item
        yield from ((record, None) for record in left.values())

    def _places_of(self, record: Record) -> list[int]:
        name = np.uint64(id_hash(record.ref.id))
        first, end = (int(np.searchsorted(self._names, name, side)) for side in ("left", "right"))
        places: list[int] = self._places[first:end].tolist()
        return places

    def _is_of(self, item: Input, record: Record) -> bool:
        # The file may have been written anew meanwhile. What is read by its offset has no number for its id.
        return options_of(record, item.data, self._store.info, item.name, item.title, item.format) is not None

    def _has_offsets(self) -> bool:
        if is_remote(self._path) or not reader_of_file(self._path) is reader_of(self._path) is JSON_LINES:
            return False
        with open_regular(self._path) as raw:
            stream = buffered(raw)
            return decompressed(stream, self._path) is stream

    def _by_offsets(self) -> Iterator[tuple[int, Input]]:
        with open_regular(self._path) as raw:
            stream, start = buffered(raw), 0
            for item in Sources((), self._selection).parts(self._path, stream):
                if isinstance(item, Input):
                    yield start, item
                start = stream.tell()

    def _at_offsets(self, places: Sequence[int]) -> Iterator[tuple[int, Input]]:
        with open_regular(self._path, buffer=_NEAR) as raw:
            lines = cast(BinaryIO, _LinesAt(raw, places, self._selection.line_limit))
            for item in Sources((), self._selection).parts(self._path, lines):
                if isinstance(item, Input):
                    yield places[item.number - 1], item

    def _at_numbers(self, places: Sequence[int]) -> Iterator[tuple[int, Input]]:
        if not places:
            return
        self._times_read += 1
        if self._times_read == 2:
            # The disk may be full, also when a part is read: rows wait in memory until then.
            with suppress(sqlite3.Error, OSError):
                self._copy = _CopiedParts(self._path, self._by_numbers())
        wanted = set(places)
        if self._copy and self._copy.state == _state_of(self._path):
            try:
                for place, item in self._copy.at(places):
                    wanted.discard(place)
                    yield place, item
                return
            except sqlite3.Error:
                self._copy = None
        for place, item in self._by_numbers():
            if place in wanted:
                yield place, item
            if place >= places[-1]:
                return

    def _by_numbers(self) -> Iterator[tuple[int, Input]]:
        try:
            for place, item in enumerate(Sources([self._path], self._selection)):
                if isinstance(item, Input):
                    yield place, item
                elif item.id == self._container:
                    raise UnreadableError(item.reason, item.detail)
        except NotFoundError:
            raise UnreadableError("unreadable", "the file is gone") from None


class _CopiedParts:
    """The documents of a file in its present state, by their places. Raises sqlite3.Error without room."""

    def __init__(self, path: str, items: Iterable[tuple[int, Input]]) -> None:
        self.state = _state_of(path)
        # The file loses its name at once, and goes with the connection. SQLite refuses to write a journal for it.
        with tempfile.NamedTemporaryFile(prefix="neardup-") as file:
            self._parts = sqlite3.connect(file.name, check_same_thread=False)
        self._parts.execute("PRAGMA journal_mode = OFF")
        self._parts.execute(f"PRAGMA max_page_count = {_MOST_COPIED // _PAGE}")
        self._parts.execute("CREATE TABLE parts (place INTEGER PRIMARY KEY, item BLOB)")
        rows = ((place, pickle.dumps(item)) for place, item in items)
        self._parts.executemany("INSERT INTO parts VALUES (?, ?)", rows)

    def at(self, places: Sequence[int]) -> Iterator[tuple[int, Input]]:
        for place in places:
            for (item,) in self._parts.execute("SELECT item FROM parts WHERE place = ?", (place,)):
                yield place, pickle.loads(item)  # noqa: S301 - it was written here


def _state_of(path: str) -> tuple[int, ...]:
    if is_remote(path):
        return ()
    try:
        status = os.stat(path)
    except OSError:
        return ()
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


class _LinesAt(io.RawIOBase):
    def __init__(self, file: BinaryIO, places: Sequence[int], limit: int) -> None:
        self._file, self._places, self._limit = file, iter(places), limit
        self._left = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if not self._left and (place := next(self._places, None)) is not None:
            self._file.seek(place)
            # Blank lines stand before some, and a byte order mark before the first.
            while (line := self._file.readline(self._limit + 1)).removeprefix(MARK).isspace():
                pass
            # Of the file's last one, and of what has become too long.
            self._left = memoryview(line if line.endswith(b"\n") else line + b"\n")
        size = min(len(buffer), len(self._left))
        buffer[:size] = self._left[:size]
        self._left = self._left[size:]
        return size
