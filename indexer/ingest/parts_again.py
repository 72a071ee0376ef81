"""Read single documents of a file with many again."""

from __future__ import annotations

import io
import os
import pickle
import tempfile
import weakref
from array import array
from collections.abc import Callable, Iterator, Sequence
from typing import Any, BinaryIO, Self, cast

import numpy as np

from indexer.errors import NotFoundError
from indexer.ingest.digests import content_id, options_of
from indexer.ingest.from_store import id_hash, ids_of
from indexer.ingest.readers import JSON_LINES, reader_of, reader_of_file
from indexer.ingest.readers.base import MARK
from indexer.ingest.readers.compression import buffered, decompressed
from indexer.ingest.readers.named_columns import KnownColumns
from indexer.ingest.regular_files import UnreadableError, open_regular
from indexer.ingest.remote import is_remote
from indexer.ingest.sources import Input, Selection, Sources
from indexer.model import Record
from indexer.model.paths import path_of_printable
from indexer.stores.base import Store

# What is read at once of lines that may be far from each other.
_NEAR = 1 << 14
_MOST_COPIED = 4 << 30


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
            self._copy = _CopiedParts.of(self._path, self._by_numbers)
        if self._copy and self._copy.state == _state_of(self._path):
            yield from self._copy.at(places)
            return
        wanted = set(places)
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
    """The documents of a file in the given `state`, by their places."""

    def __init__(self, state: tuple[int, ...]) -> None:
        self.state = state
        self._file, self._ends = tempfile.TemporaryFile(), array("q", (0,))  # noqa: SIM115 - until it is let go of
        weakref.finalize(self, self._file.close)

    @classmethod
    def of(cls, path: str, items: Callable[[], Iterator[tuple[int, Input]]]) -> Self | None:
        """None if they take too much room."""
        made = cls(_state_of(path))
        try:
            for place, item in items():
                made._ends.extend([made._ends[-1]] * (place + 1 - len(made._ends)))
                made._ends.append(made._ends[-1] + made._file.write(pickle.dumps(item)))
                if made._ends[-1] > _MOST_COPIED:
                    return None
        except OSError:
            # The disk may be full.
            return None
        return made

    def at(self, places: Sequence[int]) -> Iterator[tuple[int, Input]]:
        for place in places:
            if place + 1 < len(self._ends) and (size := self._ends[place + 1] - self._ends[place]):
                self._file.seek(self._ends[place])
                yield place, pickle.loads(self._file.read(size))  # noqa: S301 - it was written here


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
