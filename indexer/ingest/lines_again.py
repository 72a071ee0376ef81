"""Single documents of a file with JSON lines, read again without reading the file anew for each."""

from __future__ import annotations

import gzip
from array import array
from collections.abc import Iterator, Sequence
from typing import BinaryIO, cast

import numpy as np

from indexer.ingest import jsonlines
from indexer.ingest.from_store import mark_of, marks_of
from indexer.ingest.sources import open_regular, path_of_printable
from indexer.model import Record
from indexer.stores.base import Store


class StoredLines:
    """Where the documents of a store stand in one file, found by reading it once; 96 bytes a line.

    Raises UnreadableError where the file can't be read.
    """

    def __init__(self, store: Store, path: str, limit: int) -> None:
        self._store, self._path, self._limit = store, path_of_printable(path), limit
        marks, starts = array("Q"), array("q")
        with open_regular(self._path) as raw:
            stream, start = self._opened(raw), 0
            for line in jsonlines.read(stream, compressed=False, limit=limit):
                if isinstance(line, jsonlines.Line):
                    for mark, _ in marks_of(store, line):
                        marks.append(mark)
                        starts.append(start)
                start = stream.tell()
        order = np.argsort(np.array(marks, dtype=np.uint64), kind="stable")
        self._marks = np.array(marks, dtype=np.uint64)[order]
        self._starts = np.array(starts, dtype=np.int64)[order]

    def read(self, records: Sequence[Record]) -> Iterator[tuple[Record, jsonlines.Line | None]]:
        """The line of each record, in the order of the file; None where none is as it was indexed.

        Raises UnreadableError.
        """
        places = []
        for record in records:
            mark = np.uint64(mark_of(record))
            at = int(np.searchsorted(self._marks, mark))
            if at < self._marks.size and self._marks[at] == mark:
                places.append((int(self._starts[at]), record))
            else:
                yield record, None
        with open_regular(self._path) as raw:
            stream = self._opened(raw)
            for start, record in sorted(places, key=lambda place: place[0]):
                stream.seek(start)
                line = next(jsonlines.read(stream, compressed=False, limit=self._limit), None)
                # The file may have been written anew meanwhile.
                same = isinstance(line, jsonlines.Line) and any(
                    mark == mark_of(record) for mark, _ in marks_of(self._store, line)
                )
                yield record, cast(jsonlines.Line, line) if same else None

    def _opened(self, raw: BinaryIO) -> BinaryIO:
        compressed = self._path.lower().endswith(".gz")
        return cast(BinaryIO, gzip.GzipFile(fileobj=raw)) if compressed else raw
