"""Single documents of a file with JSON lines, read again without reading the file anew for each."""

from __future__ import annotations

import gzip
import hashlib
from array import array
from collections.abc import Iterator, Sequence
from typing import BinaryIO, cast

import numpy as np

from indexer.ingest import jsonlines
from indexer.ingest.from_store import mark_of, marks_of
from indexer.ingest.indexing import content_id
from indexer.ingest.sources import open_regular, path_of_printable
from indexer.model import Record
from indexer.stores.base import Store


class StoredLines:
    """Where the documents of a file stand in it, by their ids, found by reading it once; 32 bytes a line.

    Raises UnreadableError where the file can't be read.
    """

    def __init__(self, store: Store, path: str, limit: int) -> None:
        self._store, self._path, self._limit = store, path_of_printable(path), limit
        names, starts = array("Q"), array("q")
        with open_regular(self._path) as raw:
            stream, start = self._opened(raw), 0
            for line in jsonlines.read(stream, compressed=False, limit=limit):
                if isinstance(line, jsonlines.Line):
                    for name in {line.id, content_id(line.data)} - {""}:
                        names.append(_hashed(name))
                        starts.append(start)
                start = stream.tell()
        found = np.array(names, dtype=np.uint64)
        order = np.argsort(found, kind="stable")
        self._names, self._starts = found[order], np.array(starts, dtype=np.int64)[order]

    def read(self, records: Sequence[Record]) -> Iterator[tuple[Record, jsonlines.Line | None]]:
        """The line of each record, in the order of the file; None where none is as it was indexed.

        Raises UnreadableError.
        """
        places = [(start, number) for number, record in enumerate(records) for start in self._places(record)]
        left = dict(enumerate(records))
        with open_regular(self._path) as raw:
            stream = self._opened(raw)
            for start, number in sorted(places):
                if number not in left:
                    continue
                stream.seek(start)
                line = next(jsonlines.read(stream, compressed=False, limit=self._limit), None)
                if isinstance(line, jsonlines.Line) and self._is_of(line, left[number]):
                    yield left.pop(number), line
        yield from ((record, None) for record in left.values())

    def _places(self, record: Record) -> list[int]:
        """Where a line may begin that has a record's id: several lines may have one."""
        name = np.uint64(_hashed(record.ref.id))
        first, end = (int(np.searchsorted(self._names, name, side)) for side in ("left", "right"))
        places: list[int] = self._starts[first:end].tolist()
        return places

    def _is_of(self, line: jsonlines.Line, record: Record) -> bool:
        mark = mark_of(record)
        return any(mark == other for other, _ in marks_of(self._store, line))

    def _opened(self, raw: BinaryIO) -> BinaryIO:
        compressed = self._path.lower().endswith(".gz")
        return cast(BinaryIO, gzip.GzipFile(fileobj=raw)) if compressed else raw


def _hashed(name: str) -> int:
    octets = hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(octets, "big")
