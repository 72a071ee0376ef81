"""Read the documents of a store again from their sources."""

from __future__ import annotations

import dataclasses
import hashlib
import os
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import product
from typing import cast, get_args

import numpy as np
import numpy.typing as npt

from indexer.core.sketches import sorted_distinct
from indexer.errors import NotFoundError, UsageError
from indexer.extract.base import Content, Extractor, Options
from indexer.extract.formats import Format
from indexer.ingest.digests import content_id, options_of, source_digest
from indexer.ingest.naming import container_of, possible_ids
from indexer.ingest.regular_files import UnreadableError, read_file
from indexer.ingest.remembered import KnownColumns
from indexer.ingest.remote import is_remote
from indexer.ingest.sources import Input, Rejected, Selection, Sources
from indexer.model import Record, name_of
from indexer.model.chunking import chunks_by_size
from indexer.model.paths import path_of_printable
from indexer.stores.base import Store
from indexer.stores.texts import StoredText, TextFields, document_of

CHANGED = "changed"
IN_FIELDS = "in-fields"

REASONS: Mapping[str, str] = {
    CHANGED: "where it came from there is no longer the text that was fingerprinted; of lines and tables, give "
    "--text-field, --id-field and --title-field as for neardup index; of an index, name the fields, and "
    "--format, as for neardup annotate",
    IN_FIELDS: "its text is in fields of the index, which does not remember them; name them with --field, as for "
    "neardup annotate",
}

_GONE = ("unreadable", "the document is gone")
# Records whose texts are read at once.
_PAGE = 250
_PAGE_BYTES = 8 << 20


def explained(reason: str) -> str:
    return f"{reason}: {REASONS[reason]}" if reason in REASONS else reason


def stored_inputs(
    store: Store, records: Iterable[Record], chosen: Selection, fields: TextFields | None = None
) -> Iterator[Input | Rejected]:
    """Each of a store's records as a readable input under its id, or the reason why there is none.

    In an index, annotate's `fields` are read, the remembered ones by default. A file is taken as it is now. A part of a
    file with many documents, or a document of an index, is taken only if unchanged; the file is read once, after all
    others, as was `chosen` when it was indexed. Memory: about twenty bytes for each part, and a page of documents.
    Raises UsageError for unknown fields, StoreError.
    """
    parts: dict[str, _RecordsOfFile] = {}
    for record, text in with_texts(store, records, fields):
        if text:
            yield input_of(store, record, text)
        elif container := record.container or container_of(record.source):
            parts.setdefault(container, _RecordsOfFile()).add(record)
        else:
            given = file_of(record)
            yield given if isinstance(given, Rejected) else _as_read(store, record, given, chosen.line_limit)
    for container, wanted in parts.items():
        yield from _read_parts(store, container, wanted, chosen)


def with_texts(
    store: Store, records: Iterable[Record], fields: TextFields | None = None, *, lenient: bool = False
) -> Iterator[tuple[Record, StoredText | None]]:
    for page in chunks_by_size(records, _PAGE, lambda record: record.size, _PAGE_BYTES):
        try:
            texts: Sequence[StoredText | None] = store.texts(page, fields)
        except UsageError:
            if not lenient:
                raise
            texts = [StoredText(missing="fields")] * len(page)
        yield from zip(page, texts, strict=True)


def input_of(store: Store, record: Record, text: StoredText) -> Input | Rejected:
    name, source = record.ref.id, record.source
    if text.missing:
        reason, detail = (IN_FIELDS, REASONS[IN_FIELDS]) if text.missing == "fields" else _GONE
        return Rejected(name, source, reason, detail)
    options = Options(content=cast(Content, store.info.content), format=text.format)
    if text.data is None or source_digest(text.exact, store.info, options) != record.source_digest:
        return Rejected(name, source, CHANGED, REASONS[CHANGED])
    return Input(name, source, "", text.data, text.format)


def _as_read(store: Store, record: Record, given: Input, limit: int) -> Input:
    # One that is gone, or too large, is a failure of whoever reads it.
    with suppress(UnreadableError):
        if options := options_of(record, read_file(given.path, limit), store.info, given.path):
            return _read_with(given, options)
    return given


def _read_with(given: Input, options: Options) -> Input:
    return dataclasses.replace(given, format=cast(Format | None, options.format), extractor=options.extractor)


def file_of(record: Record) -> Input | Rejected:
    name, source = record.ref.id, record.source
    if os.path.isabs(source):
        return Input(name, source, path_of_printable(source))
    address = "://" in source[:20]
    why = "the document came from an address" if address else "the store knows no file for the document"
    return Rejected(name, source, "unreadable", f"{why}, and its text is not kept")


def origin_of_text(record: Record) -> str:
    if document := document_of(record):
        return name_of(document)
    path = record.container or container_of(record.source) or record.source
    there = os.path.isabs(path) and os.path.lexists(path_of_printable(path))
    return path if there or is_remote(path) else ""


# Parts of files


class _RecordsOfFile:
    def __init__(self) -> None:
        self.marks, self._ids = array("Q"), array("Q")
        self.formats = set[str]()

    def add(self, record: Record) -> None:
        self.formats.add(record.format)
        self.marks.append(id_hash(f"{record.source_digest} {record.ref.id}"))
        self._ids.append(id_hash(record.ref.id))

    def ids(self) -> npt.NDArray[np.uint64]:
        return sorted_distinct(np.frombuffer(self._ids, dtype=np.uint64))


def _read_parts(store: Store, container: str, parts: _RecordsOfFile, chosen: Selection) -> Iterator[Input | Rejected]:
    wanted, ids = sorted_distinct(np.frombuffer(parts.marks, dtype=np.uint64)), parts.ids()
    found = np.zeros(wanted.size, dtype=bool)
    reason, detail = CHANGED, REASONS[CHANGED]
    selection = Selection(
        line_limit=chosen.line_limit, columns=chosen.columns, include=("*",), hidden=True, known=KnownColumns(store)
    )
    try:
        for item in Sources([path_of_printable(container)], selection):
            if isinstance(item, Rejected):
                if item.id == container:
                    reason, detail = item.reason, item.detail
                continue
            names = [name for name in ids_of(item, container) if _has(ids, id_hash(name))]
            if not names and _has(ids, id_hash(by_content := content_id(item.data))):
                names = [by_content]
            for mark, name, options in _marks_of(store, item, names, parts.formats):
                place = int(np.searchsorted(wanted, np.uint64(mark)))
                if place < wanted.size and int(wanted[place]) == mark:
                    if not found[place]:
                        found[place] = True
                        yield _read_with(dataclasses.replace(item, id=name, metadata={}), options)
                    break
    except NotFoundError:
        reason, detail = "unreadable", "the file is gone"
    for _ in range(int(wanted.size - found.sum())):
        yield Rejected(container, container, reason, detail)


def _marks_of(
    store: Store, item: Input, names: Sequence[str], formats: Iterable[str]
) -> Iterator[tuple[int, str, Options]]:
    kinds = (item.format,) if item.format else (None, *sorted(filter(None, formats)))
    for extractor, kind in product(get_args(Extractor), kinds) if names else ():
        options = Options(extractor=extractor, format=kind)
        digest = source_digest(item.data, store.info, options, name=item.name, title=item.title)
        for name in names:
            yield id_hash(f"{digest} {name}"), name, options


def ids_of(item: Input, container: str) -> list[str]:
    if not item.id.startswith(container):
        return [item.id]
    path, colon, number = item.id.rpartition(":")
    if not (colon and number.isdecimal()):
        path, colon, number = item.id, "", ""
    return [f"{name}{colon}{number}" for name in possible_ids(path, "")]


def id_hash(text: str) -> int:
    digested = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digested, "big")


def _has(values: npt.NDArray[np.uint64], value: int) -> bool:
    place = int(np.searchsorted(values, np.uint64(value)))
    return place < values.size and int(values[place]) == value
