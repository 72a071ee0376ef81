"""The documents of a store, to be read again from where they came from: files, lines of files, fields of an index."""

from __future__ import annotations

import dataclasses
import hashlib
import os
from array import array
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast, get_args

import numpy as np

from indexer.errors import UsageError
from indexer.extract.base import Content, Engine, Format, Options
from indexer.ingest import jsonlines
from indexer.ingest.indexing import content_id, source_digest
from indexer.ingest.sources import Input, Rejected, UnreadableError, is_json_lines, open_regular
from indexer.model import Record, Ref
from indexer.stores.base import Store
from indexer.stores.search.client.names import path_of
from indexer.stores.search.fields.source_fields import BOM, require_readable, source_paths, text_at

if TYPE_CHECKING:
    from indexer.stores.search.store import SearchStore

CHANGED = "changed"
IN_FIELDS = "in-fields"

REASONS: Mapping[str, str] = {
    CHANGED: "where it came from there is no longer the text that was fingerprinted; of an index, name the fields, and "
    "--html, as for neardup annotate",
    IN_FIELDS: "its text is in fields of the index; name them with --field, as for neardup annotate",
}

# What is asked of an engine at once.
_PAGE = 250
_PAGE_BYTES = 8 << 20


@dataclass(frozen=True, slots=True)
class Fields:
    """Where `neardup annotate` found the texts of an index: fields in its order, and whether they hold HTML."""

    names: tuple[str, ...]
    html: bool = False


def stored_inputs(
    store: Store, records: Iterable[Record], line_limit: int, fields: Fields | None = None
) -> Iterator[Input | Rejected]:
    """Each of a store's records as what can be read again, under its id; where nothing can be, the reason.

    A file is taken as it is now. A line of a file with JSON lines, and a document of an index, is taken where it is
    what was fingerprinted; such a file is read once, after all others, each line of at most `line_limit` bytes.
    Memory: about ten bytes for each line, and a page of documents. Raises UsageError for fields that no index has,
    StoreError.
    """
    from indexer.stores.search.store import SearchStore

    cluster = store if isinstance(store, SearchStore) else None
    if fields and not cluster:
        raise UsageError("only a store in a search engine has fields; leave --field out")
    index = _Index(cluster, fields) if cluster else None
    lines: dict[str, array[int]] = {}
    for record in records:
        place = _place_of(record)
        if index and place:
            yield from index.take(record, place)
        elif os.path.isabs(record.source) and is_json_lines(record.source):
            lines.setdefault(record.source, array("Q")).append(_mark(record.ref.id, record.source_digest))
        else:
            yield _file(record)
    if index:
        yield from index.read()
    for source, marks in lines.items():
        yield from _lines(store, source, marks, line_limit)


def _file(record: Record) -> Input | Rejected:
    name, source = record.ref.id, record.source
    if os.path.isabs(source):
        return Input(name, source, source)
    address = "://" in source[:20]
    why = "the document came from an address" if address else "the document came from no file that the store knows"
    return Rejected(name, source, "unreadable", f"{why}, and its text is not kept")


# Lines of files


def _lines(store: Store, source: str, marks: array[int], limit: int) -> Iterator[Input | Rejected]:
    """Of a file with JSON lines those that were indexed, each once, and a reason for each that is missing."""
    wanted = np.unique(np.frombuffer(marks, dtype=np.uint64))
    found = np.zeros(wanted.size, dtype=bool)
    reason, detail = CHANGED, REASONS[CHANGED]
    try:
        with open_regular(source) as raw:
            for line in jsonlines.read(raw, compressed=source.lower().endswith(".gz"), limit=limit):
                if isinstance(line, jsonlines.BadLine):
                    continue
                for mark, name in _marks(store, line):
                    place = int(np.searchsorted(wanted, np.uint64(mark)))
                    if place < wanted.size and int(wanted[place]) == mark:
                        if not found[place]:
                            found[place] = True
                            yield Input(name, source, "", line.data, line.format, line.title)
                        break
    except UnreadableError as error:
        reason, detail = error.reason, error.detail
    for _ in range(int(wanted.size - found.sum())):
        yield Rejected(source, source, reason, detail)


def _marks(store: Store, line: jsonlines.Line) -> Iterator[tuple[int, str]]:
    """What a line's record is known by, with its id, for every way in which it can have been indexed."""
    for engine in get_args(Engine):
        options = Options(engine=engine, format=line.format)
        digest = source_digest(line.data, store.info, options, title=line.title)
        for name in dict.fromkeys((line.id, content_id(line.data))):
            yield _mark(name, digest), name


def _mark(name: str, digest: str) -> int:
    digested = hashlib.blake2b(f"{digest} {name}".encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digested, "big")


# Fields of an index


def _place_of(record: Record) -> Ref | None:
    """The document of an owner's that a record is of, where `neardup annotate` made it; None for another record."""
    if not record.source:
        return record.ref
    about = record.metadata
    if set(about) == {"index", "id", "routing"} and record.source == f"{about['index']}/{about['id']}":
        return Ref(about["id"], about["index"], about["routing"])
    return None


class _Index:
    """Reads documents of an owner's in pages."""

    def __init__(self, store: SearchStore, fields: Fields | None) -> None:
        self._store, self._fields = store, fields
        self._paths: dict[str, tuple[str, ...]] = {}
        self._waiting: list[tuple[Record, Ref]] = []
        self._size = 0

    def take(self, record: Record, place: Ref) -> Iterator[Input | Rejected]:
        """Wait for a page to be full; then its documents."""
        if not self._fields:
            yield Rejected(record.ref.id, record.source, IN_FIELDS, REASONS[IN_FIELDS])
            return
        self._waiting.append((record, dataclasses.replace(place, index=place.index or self._store.context.name)))
        self._size += record.size
        if len(self._waiting) >= _PAGE or self._size >= _PAGE_BYTES:
            yield from self.read()

    def read(self) -> Iterator[Input | Rejected]:
        """The documents that wait."""
        from indexer.stores.search.client.gets import multi_get

        waiting, self._waiting, self._size = self._waiting, [], 0
        if not waiting:
            return
        asked = [
            {"_index": place.index, "_id": place.id, "_source": list(self._paths_in(place.index))}
            | ({"routing": place.routing} if place.routing is not None else {})
            for _, place in waiting
        ]
        for (record, place), hit in zip(waiting, multi_get(self._store.client, asked), strict=True):
            yield self._input(record, place, hit)

    def _input(self, record: Record, place: Ref, hit: Mapping[str, Any]) -> Input | Rejected:
        assert self._fields is not None  # noqa: S101 - nothing waits without
        name = record.ref.id
        if not hit.get("found"):
            return Rejected(name, record.source, "unreadable", "the document is gone")
        exact, data = text_at(hit.get("_source") or {}, self._paths_in(place.index))
        kind: Format = "html" if self._fields.html else "text"
        options = Options(content=cast(Content, self._store.info.content), format=kind)
        if data is None or source_digest(exact, self._store.info, options) != record.source_digest:
            return Rejected(name, record.source, CHANGED, REASONS[CHANGED])
        return Input(name, record.source, "", BOM + data, kind)

    def _paths_in(self, index: str) -> tuple[str, ...]:
        """Where the fields stand in `_source` of an index; one that is gone has no documents either."""
        if index not in self._paths:
            assert self._fields is not None  # noqa: S101 - nothing waits without
            mappings, shown = self._mappings_of(index), self._store.shown
            self._paths[index] = source_paths(mappings, self._fields.names, shown) if mappings else ()
            require_readable(mappings, self._paths[index], shown)
        return self._paths[index]

    def _mappings_of(self, index: str) -> dict[str, Any]:
        from indexer.stores.search.client.connection import AnswerError

        if index in self._store.context.mappings:
            return self._store.context.mappings
        try:
            found = self._store.client.request("GET", f"{path_of(index)}/_mapping")
        except AnswerError as error:
            if error.status == 404:
                return {}
            raise
        return {name: each.get("mappings", {}) for name, each in found.items()}
