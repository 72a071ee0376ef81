"""The documents of a store, to be read again from where they came from: files, parts of files, fields of an index."""

from __future__ import annotations

import dataclasses
import hashlib
import os
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast, get_args

import numpy as np
import numpy.typing as npt

from indexer.engine.client.names import path_of
from indexer.engine.index.mapping import Mappings, read_mappings
from indexer.engine.index.source_fields import BOM, require_readable, source_paths, text_at
from indexer.engine.index.texts import Noted
from indexer.errors import NotFoundError, UsageError
from indexer.extract.base import Content, Extractor, Format, Options
from indexer.ingest.naming import container_of, possible_ids
from indexer.ingest.outcomes import content_id, source_digest
from indexer.ingest.readers.named_columns import KnownColumns
from indexer.ingest.remote import is_remote
from indexer.ingest.sources import Input, Rejected, Selection, Sources
from indexer.model import Record, Ref, name_of
from indexer.model.paths import path_of_printable
from indexer.stores.base import Store
from indexer.stores.texts import TextFields

if TYPE_CHECKING:
    from indexer.engine.store.store import SearchStore

CHANGED = "changed"
IN_FIELDS = "in-fields"

REASONS: Mapping[str, str] = {
    CHANGED: "where it came from there is no longer the text that was fingerprinted; of lines and tables, give "
    "--text-field, --id-field and --title-field as for neardup index; of an index, name the fields, and "
    "--html, as for neardup annotate",
    IN_FIELDS: "its text is in fields of the index, which does not remember them; name them with --field, as for "
    "neardup annotate",
}

# What is asked of an engine at once.
_PAGE = 250
_PAGE_BYTES = 8 << 20


def stored_inputs(
    store: Store, records: Iterable[Record], chosen: Selection, fields: TextFields | None = None
) -> Iterator[Input | Rejected]:
    """Each of a store's records as what can be read again, under its id; where nothing can be, the reason.

    Of an index the `fields` that annotate was given are read: those that it remembers where none are named. A file is
    taken as it is now. A part of a file that holds many documents, and a document of an index, is taken where it is
    what was fingerprinted; such a file is read once, after all others, as was `chosen` when it was indexed. Memory:
    about twenty bytes for each part, and a page of documents. Raises UsageError for fields that no index has,
    StoreError.
    """
    from indexer.engine.store.store import SearchStore

    cluster = store if isinstance(store, SearchStore) else None
    if fields and not cluster:
        raise UsageError("only a store in a search engine has fields; leave out --field")
    index = IndexTexts(cluster, fields) if cluster else None
    parts: dict[str, _Parts] = {}
    for record in records:
        if index and index.has(record):
            yield from (read for _, read in index.take(record))
        elif container := record.container or container_of(record.source):
            parts.setdefault(container, _Parts()).add(record)
        else:
            yield file_of(record)
    if index:
        yield from (read for _, read in index.read())
    for container, wanted in parts.items():
        yield from _read_parts(store, container, wanted, chosen)


def file_of(record: Record) -> Input | Rejected:
    """A record's file, to be read as it is now; the reason where it came from none."""
    name, source = record.ref.id, record.source
    if os.path.isabs(source):
        return Input(name, source, path_of_printable(source))
    address = "://" in source[:20]
    why = "the document came from an address" if address else "the document came from no file that the store knows"
    return Rejected(name, source, "unreadable", f"{why}, and its text is not kept")


def origin_of_text(record: Record) -> str:
    """The place outside its store where the text of a record still stands; empty where none is known.

    A file that is there, an object of an object store, which is not looked at, or INDEX/ID of an owner's document.
    """
    if owned := _owned(record):
        return name_of(owned)
    path = record.container or container_of(record.source) or record.source
    there = os.path.isabs(path) and os.path.lexists(path_of_printable(path))
    return path if there or is_remote(path) else ""


# Parts of files


class _Parts:
    """Records of one file with many documents: what each is found by, and their ids, which rule out most others."""

    def __init__(self) -> None:
        self.marks, self._ids = array("Q"), array("Q")

    def add(self, record: Record) -> None:
        """Add a record."""
        self.marks.append(mark_of(record))
        self._ids.append(id_hash(record.ref.id))

    def ids(self) -> npt.NDArray[np.uint64]:
        """The digests of the ids, sorted."""
        return np.unique(np.frombuffer(self._ids, dtype=np.uint64))


def _read_parts(store: Store, container: str, parts: _Parts, chosen: Selection) -> Iterator[Input | Rejected]:
    """The indexed documents of a file with many, each once, and a reason for each that is missing."""
    wanted, ids = np.unique(np.frombuffer(parts.marks, dtype=np.uint64)), parts.ids()
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
            for mark, name in marks_of(store, item, names):
                place = int(np.searchsorted(wanted, np.uint64(mark)))
                if place < wanted.size and int(wanted[place]) == mark:
                    if not found[place]:
                        found[place] = True
                        yield dataclasses.replace(item, id=name, metadata={})
                    break
    except NotFoundError:
        reason, detail = "unreadable", "the file is gone"
    for _ in range(int(wanted.size - found.sum())):
        yield Rejected(container, container, reason, detail)


def mark_of(record: Record) -> int:
    """The mark that a record is found by among the parts of a file."""
    return _mark(record.ref.id, record.source_digest)


def marks_of(store: Store, item: Input, names: Sequence[str]) -> Iterator[tuple[int, str]]:
    """The marks, with ids, of a document's record, for each of these names and every way it may have been indexed."""
    for extractor in get_args(Extractor) if names else ():
        options = Options(extractor=extractor, format=item.format)
        digest = source_digest(item.data, store.info, options, name=item.name, title=item.title)
        for name in names:
            yield _mark(name, digest), name


def ids_of(item: Input, container: str) -> list[str]:
    """The ids that a document can have been given: its own, or one that its place in the file makes."""
    if not item.id.startswith(container):
        return [item.id]
    path, colon, number = item.id.rpartition(":")
    if not (colon and number.isdecimal()):
        path, colon, number = item.id, "", ""
    return [f"{name}{colon}{number}" for name in possible_ids(path, "")]


def _mark(name: str, digest: str) -> int:
    return id_hash(f"{digest} {name}")


def id_hash(text: str) -> int:
    """The hash that stands for an id, or a mark, among many: 64 bits of a digest."""
    digested = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digested, "big")


def _has(values: npt.NDArray[np.uint64], value: int) -> bool:
    """True if a value is among sorted ones."""
    place = int(np.searchsorted(values, np.uint64(value)))
    return place < values.size and int(values[place]) == value


# Fields of an index


def _owned(record: Record) -> Ref | None:
    """The document of another index that a record in an index of neardup's is of."""
    about = record.metadata
    if set(about) != {"index", "id", "routing"} or not isinstance(about["routing"], str | None):
        return None
    return Ref(str(about["id"]), str(about["index"]), about["routing"])


class IndexTexts:
    """Reads documents of an owner's in pages, from the fields that are named or that the index remembers."""

    def __init__(self, store: SearchStore, fields: TextFields | None = None) -> None:
        self._store, self._named = store, fields
        self._noted = Noted(store.client, store.context.mappings)
        self._paths: dict[tuple[str, TextFields], tuple[str, ...]] = {}
        self._waiting: list[tuple[Record, Ref, TextFields]] = []
        self._size = 0

    def has(self, record: Record) -> bool:
        """True if a record is of an owner's document, which `neardup annotate` read."""
        return self._place(record) is not None

    def _place(self, record: Record) -> tuple[Ref, TextFields | None] | None:
        """The owner's document of a record, and its text fields as far as they are known; None for other records."""
        if owned := _owned(record):
            return owned, self._named or self._noted.other(owned.index)
        place = dataclasses.replace(record.ref, index=record.ref.index or self._store.context.name)
        fields = self._named or self._noted.own(place.index)
        # What is said of a source may say anything, so that it never is taken for a file of this machine.
        return (place, fields) if not record.source or (fields and fields.source) else None

    def take(self, record: Record) -> Iterator[tuple[Record, Input | Rejected]]:
        """Add a record to the page; gives the documents of the page once it is full."""
        where = self._place(record)
        place, fields = where or (record.ref, None)
        if not fields:
            yield record, Rejected(record.ref.id, record.source, IN_FIELDS, REASONS[IN_FIELDS])
            return
        self._waiting.append((record, place, fields))
        self._size += record.size
        if len(self._waiting) >= _PAGE or self._size >= _PAGE_BYTES:
            yield from self.read()

    def read(self) -> Iterator[tuple[Record, Input | Rejected]]:
        """The documents of the records that wait."""
        from indexer.engine.client.gets import multi_get

        waiting, self._waiting, self._size = self._waiting, [], 0
        if not waiting:
            return
        asked = [
            {"_index": place.index, "_id": place.id, "_source": list(self._paths_in(place.index, fields))}
            | ({"routing": place.routing} if place.routing is not None else {})
            for _, place, fields in waiting
        ]
        for (record, place, fields), hit in zip(waiting, multi_get(self._store.client, asked), strict=True):
            yield record, self._input(record, place, fields, hit)

    def _input(self, record: Record, place: Ref, fields: TextFields, hit: Mapping[str, Any]) -> Input | Rejected:
        name = record.ref.id
        if not hit.get("found"):
            return Rejected(name, record.source, "unreadable", "the document is gone")
        exact, data = text_at(hit.get("_source") or {}, self._paths_in(place.index, fields))
        kind: Format = "html" if fields.html else "text"
        options = Options(content=cast(Content, self._store.info.content), format=kind)
        if data is None or source_digest(exact, self._store.info, options) != record.source_digest:
            return Rejected(name, record.source, CHANGED, REASONS[CHANGED])
        return Input(name, record.source, "", BOM + data, kind)

    def _paths_in(self, index: str, fields: TextFields) -> tuple[str, ...]:
        """The paths of the fields in `_source` of an index; none of one that is gone, which has no documents either."""
        if (index, fields) not in self._paths:
            mappings, shown = self._mappings_of(index), self._store.shown
            paths = source_paths(mappings, fields.names, shown) if mappings else ()
            require_readable(mappings, paths, shown)
            self._paths[index, fields] = paths
        return self._paths[index, fields]

    def _mappings_of(self, index: str) -> Mappings:
        if index in self._store.context.mappings:
            return self._store.context.mappings
        return read_mappings(self._store.client, path_of(index)[1:])
