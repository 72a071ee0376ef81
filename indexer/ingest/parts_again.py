"""Single documents of a file that holds many, read again without reading the file anew for each where that can be."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from itertools import groupby

import numpy as np

from indexer.errors import NotFoundError
from indexer.ingest.from_store import mark_of, marks_of
from indexer.ingest.readers import JSON_LINES, reader_of
from indexer.ingest.readers.compression import buffered, plain
from indexer.ingest.sources import (
    Input,
    Selection,
    Sources,
    UnreadableError,
    open_regular,
    path_of_printable,
)
from indexer.model import Record
from indexer.stores.base import Store


class StoredParts:
    """Where the documents of a store stand in one file, found by reading it once; 96 bytes for each.

    Lines that are not compressed are found by their offsets; of other files as much is read again as is needed. Raises
    UnreadableError where the file can't be read.
    """

    def __init__(self, store: Store, container: str, limit: int) -> None:
        self._store, self._container, self._path = store, container, path_of_printable(container)
        self._selection = Selection(line_limit=limit, include=("*",), hidden=True)
        self._by_offset = self._has_offsets()
        marks, places = array("Q"), array("q")
        for place, item in self._by_offsets() if self._by_offset else self._by_numbers():
            for mark, _ in marks_of(store, item, container):
                marks.append(mark)
                places.append(place)
        order = np.argsort(np.array(marks, dtype=np.uint64), kind="stable")
        self._marks = np.array(marks, dtype=np.uint64)[order]
        self._places = np.array(places, dtype=np.int64)[order]

    def read(self, records: Sequence[Record]) -> Iterator[tuple[Record, Input | None]]:
        """The document of each record, in the order of the file; None where none is as it was indexed.

        Raises UnreadableError.
        """
        wanted: list[tuple[int, Record]] = []
        for record in records:
            mark = np.uint64(mark_of(record))
            at = int(np.searchsorted(self._marks, mark))
            if at < self._marks.size and self._marks[at] == mark:
                wanted.append((int(self._places[at]), record))
            else:
                yield record, None
        wanted.sort(key=lambda pair: pair[0])
        grouped = [(place, [record for _, record in pairs]) for place, pairs in groupby(wanted, lambda pair: pair[0])]
        items = self._at_offsets([place for place, _ in grouped]) if self._by_offset else self._by_numbers()
        found = next(items, None)
        for place, same in grouped:
            while found and found[0] < place:
                found = next(items, None)
            item = found[1] if found and found[0] == place else None
            for record in same:
                yield record, item if item and self._is_of(item, record) else None

    def _is_of(self, item: Input, record: Record) -> bool:
        # The file may have been written anew meanwhile. What is read by its offset has no number for its id.
        same = Input(record.ref.id, item.source, data=item.data, format=item.format, title=item.title, name=item.name)
        return mark_of(record) in {mark for mark, _ in marks_of(self._store, same, self._container)}

    def _has_offsets(self) -> bool:
        if reader_of(self._path) is not JSON_LINES:
            return False
        with open_regular(self._path) as raw:
            stream = buffered(raw)
            return plain(stream, self._path) is stream

    def _by_offsets(self) -> Iterator[tuple[int, Input]]:
        with open_regular(self._path) as raw:
            stream, start = buffered(raw), 0
            for item in Sources((), self._selection).parts(self._path, stream):
                if isinstance(item, Input):
                    yield start, item
                start = stream.tell()

    def _at_offsets(self, places: Sequence[int]) -> Iterator[tuple[int, Input]]:
        with open_regular(self._path) as raw:
            stream = buffered(raw)
            for place in places:
                stream.seek(place)
                item = next(Sources((), self._selection).parts(self._path, stream), None)
                if isinstance(item, Input):
                    yield place, item

    def _by_numbers(self) -> Iterator[tuple[int, Input]]:
        try:
            for place, item in enumerate(Sources([self._path], self._selection)):
                if isinstance(item, Input):
                    yield place, item
                elif item.id == self._container:
                    raise UnreadableError(item.reason, item.detail)
        except NotFoundError:
            raise UnreadableError("unreadable", "the file is gone") from None
