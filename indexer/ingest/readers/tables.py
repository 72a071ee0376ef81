"""CSV, TSV and Parquet tables with named columns."""

from __future__ import annotations

import csv
import io
import json
import math
import os
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import date, datetime, time
from typing import Any, BinaryIO

from indexer.errors import UsageError
from indexer.extract.formats import Format
from indexer.ingest.readers.base import (
    MARK,
    MOST_BLANK,
    MOST_RATIO,
    TOO_BLANK,
    BadEntry,
    ColumnNames,
    FileEntry,
    FileReader,
    ReaderOptions,
    column_error,
    optional,
    row_of,
    skip_line,
)
from indexer.ingest.readers.compression import BROKEN, decompressed
from indexer.ingest.regular_files import UnreadableError, open_regular
from indexer.text.counts import counted

_DELIMITERS = ",;\t|"
# This many rows of Parquet at once: few enough that rows of long texts stay out of memory.
BATCH_ROWS = 256
_MOST_ROWS = 8192
# What the rows that are read at once may take, where values of a dictionary or with shared beginnings are repeated.
_MOST_REPEATED = 512 << 20
_SHARED_BEGINNINGS = "DELTA_BYTE_ARRAY"
# What the footer of a Parquet file may hold, against files that are made to take all memory.
_STRINGS, _CONTAINERS = 64 << 20, 4_000_000
_BUFFER = 1 << 20
_BROKEN_OFF = "the file can't be read from here on"
_AS_IT_IS = frozenset((str, int, bool))
# Tuples, because a union would be made anew for each value.
_TIMES, _IN_JSON = (datetime, date, time), (str, int, bool, dict)
_BAD_ROW = (csv.Error, UnicodeDecodeError, OverflowError)
BATCH_FOOTER = b"neardup"
"""The key of a footer under which a file says what it is."""
BATCH_FOLDERS = ("sketches", "clusters", "clusters-before")
"""The names of the folders in which such files are written."""


class Csv(FileReader):
    """Rows of CSV (RFC 4180) and TSV in UTF-8, under a first row of column names.

    The delimiter is a tab for TSV, else the most frequent of comma, semicolon, tab and bar in the first row.
    """

    suffixes = (".csv", ".tsv")

    def fits(self, head: bytes, kind: Format | None, columns: ColumnNames) -> bool:
        if kind != "text" or columns.text:
            return kind == "text" or super().fits(head, kind, columns)
        lines = _Lines(io.BytesIO(head), "", ReaderOptions(len(head)))
        try:
            names, rows = _header(lines)
            # The last row may go on behind the head.
            sizes = {len(row) for row in list(rows)[:-1] if row}
        except (StopIteration, *_BAD_ROW):
            return True
        return not column_error(names, columns) or (len(names) > 1 and sizes <= {len(names)})

    def entries(self, stream: BinaryIO, name: str, asked: ReaderOptions) -> Iterator[FileEntry | BadEntry]:
        # It is one for the whole process, whose other readers must not get a lower one; `_Lines` keeps to the limit.
        csv.field_size_limit(max(csv.field_size_limit(), min(asked.limit, sys.maxsize)))
        number = 0
        try:
            lines = _Lines(stream, name, asked)
            names, rows = _header(lines)
            blank = 0
            if wrong := column_error(names, asked.columns):
                yield BadEntry(0, "malformed", wrong)
                return
            while True:
                number += 1
                lines.row = 0
                try:
                    if row := next(rows):
                        blank = 0
                        yield _entry(number, names, row, asked.columns)
                    elif (blank := blank + 1) > MOST_BLANK:
                        yield BadEntry(number, "malformed", TOO_BLANK)
                        return
                except _BAD_ROW as error:
                    yield _bad(number, error)
        except StopIteration:
            return
        except _BAD_ROW as error:
            yield _bad(number, error)
        except BROKEN as error:
            yield BadEntry(number, "unreadable", f"the stream breaks off here: {error}", is_last=True)


def _bad(number: int, error: Exception) -> BadEntry:
    if isinstance(error, UnicodeDecodeError):
        return BadEntry(number, "malformed", f"not UTF-8 at byte {error.start + 1} of a line")
    return BadEntry(number, "too-large" if isinstance(error, OverflowError) else "malformed", str(error))


class _Lines:
    """The lines of a stream as text; reading can go on after an OverflowError for an overlong one.

    `row` is the size of the row being read, in bytes: it may hold many lines.
    """

    def __init__(self, stream: BinaryIO, name: str, asked: ReaderOptions) -> None:
        self.name, self._limit = name, asked.limit
        self._stream = decompressed(stream, name, asked)
        self._first = True
        self.row = 0

    def __iter__(self) -> _Lines:
        return self

    def __next__(self) -> str:
        line = self._stream.readline(self._limit + 1)
        if not line:
            raise StopIteration
        if len(line) > self._limit and not line.endswith(b"\n"):
            skip_line(self._stream)
            raise OverflowError(f"a line is longer than the limit of {counted(self._limit, 'byte')}")
        self.row += len(line)
        if self.row > 2 * self._limit:
            raise OverflowError(f"a row of more than twice the limit of {counted(self._limit, 'byte')}")
        if self._first:
            line, self._first = line.removeprefix(MARK), False
        return line.decode("utf-8")


def _header(lines: _Lines) -> tuple[list[str], Iterator[list[str]]]:
    first = next(lines)
    counts = {each: first.count(each) for each in _DELIMITERS}
    is_tsv = "tsv" in lines.name.lower().rpartition("/")[2].split(".")
    delimiter = "\t" if is_tsv else max(counts, key=lambda each: counts[each])

    def all_lines() -> Iterator[str]:
        yield first
        yield from lines

    # Not a generator over the lines: one that has raised is at its end, and the rows after a bad one would be lost.
    names = next(csv.reader(all_lines(), delimiter=delimiter))
    return names, csv.reader(lines, delimiter=delimiter)


def _entry(number: int, names: Sequence[str], row: Sequence[str], columns: ColumnNames) -> FileEntry | BadEntry:
    if len(row) > len(names):
        return BadEntry(number, "malformed", f"{len(row)} fields; the first row names {len(names)} columns")
    # A cell without a value says nothing, but for the text, which may be empty.
    text = columns.text or "text"
    item = {name: value for name, value in zip(names, row, strict=False) if value or name == text}
    return row_of(number, item, columns)


class Parquet(FileReader):
    """Rows of Parquet, with pyarrow; lists, objects and binary are read only on request."""

    suffixes = (".parquet", ".pq")
    magic = (0, b"PAR1")

    def is_own(self, path: str, columns: ColumnNames) -> bool:
        if os.path.basename(os.path.dirname(os.path.abspath(path))) not in BATCH_FOLDERS:
            return False
        try:
            arrow: Any = optional("pyarrow", "parquet", path)
            with suppress(arrow.ArrowException), open_regular(path) as stream, parquet_file(stream, path) as file:
                return bool(kind_of_batch(file.schema_arrow, columns))
        except (UsageError, UnreadableError, *BROKEN, ValueError):
            # Its rows say so where they are read.
            return False
        return False

    def entries(self, stream: BinaryIO, name: str, asked: ReaderOptions) -> Iterator[FileEntry | BadEntry]:
        number = 0
        for batch in self.batches(stream, name, asked):
            if isinstance(batch, BadEntry):
                yield batch
                return
            try:
                for item in _items(batch, asked.limit):
                    number += 1
                    yield row_entry(number, item, asked) if item is not None else _too_large(number, asked.limit)
            except (ValueError, MemoryError) as error:
                yield BadEntry(number + 1, "malformed", f"{_BROKEN_OFF}: {error}", is_last=True)
                return

    def batches(self, stream: BinaryIO, name: str, asked: ReaderOptions, batch_bytes: int = 0) -> Iterator[Any]:
        arrow: Any = optional("pyarrow", "parquet", name)
        number = 0
        try:
            with parquet_file(_seekable(stream, asked.limit), name) as file:
                schema = file.schema_arrow
                if kind := kind_of_batch(schema, asked.columns):
                    yield BadEntry(0, "special-file", f"{kind} that neardup batch wrote, whose rows are no documents")
                    return
                if wrong := column_error(schema.names, asked.columns):
                    yield BadEntry(0, "malformed", wrong)
                    return
                batches = _limited(file, _wanted(arrow, schema, asked.columns), asked.limit)
                for batch in _together(arrow, batches, batch_bytes) if batch_bytes else batches:
                    number += batch.num_rows
                    yield batch
        except OverflowError as error:
            yield BadEntry(number + 1, "too-large", f"{_BROKEN_OFF}: {error}", is_last=True)
        except (arrow.ArrowException, *BROKEN, ValueError, MemoryError) as error:
            reason = "malformed" if isinstance(error, arrow.ArrowInvalid) else "unreadable"
            yield BadEntry(number + 1, reason, f"{_BROKEN_OFF}: {error}", is_last=True)


def parquet_file(stream: BinaryIO, name: str) -> Any:
    """A Parquet file, opened within limits. Raises pyarrow's errors, and UsageError without pyarrow."""
    parquet: Any = optional("pyarrow.parquet", "parquet", name)
    return parquet.ParquetFile(
        stream,
        buffer_size=_BUFFER,
        pre_buffer=False,
        thrift_string_size_limit=_STRINGS,
        thrift_container_size_limit=_CONTAINERS,
    )


def _limited(file: Any, columns: Sequence[str], limit: int) -> Iterator[Any]:
    for group in range(file.num_row_groups):
        rows = min(BATCH_ROWS, _most_rows(file.metadata.row_group(group), columns, limit))
        # To start threads for so few rows takes longer than they save.
        yield from file.iter_batches(rows, row_groups=[group], columns=columns, use_threads=False)


def _together(arrow: Any, batches: Iterator[Any], batch_bytes: int) -> Iterator[Any]:
    waiting: list[Any] = []
    size = rows = 0
    for batch in batches:
        # What is read as Python's strings is checked on the way.
        batch.validate(full=True)
        waiting.append(batch)
        size, rows = size + batch.nbytes, rows + batch.num_rows
        if size >= batch_bytes or rows >= _MOST_ROWS:
            yield from _joined(arrow, waiting)
            waiting, size, rows = [], 0, 0
    if waiting:
        yield from _joined(arrow, waiting)


def _joined(arrow: Any, batches: Sequence[Any]) -> Iterable[Any]:
    # More than one where their texts together pass what 32 bits can count.
    return arrow.Table.from_batches(batches).combine_chunks().to_batches() if len(batches) > 1 else batches


def _seekable(stream: BinaryIO, limit: int) -> BinaryIO:
    if stream.seekable():
        return stream
    # A member of an archive.
    data = stream.read(limit + 1)
    if len(data) > limit:
        raise OSError(f"a file in an archive of more than {counted(limit, 'byte')}")
    return io.BytesIO(data)


def _wanted(arrow: Any, schema: Any, columns: ColumnNames) -> list[str]:
    asked = {name for name in (columns.text, columns.id, columns.title) if name}
    asked |= {name.partition(".")[0] for name in asked}
    nested: Callable[[Any], bool] = arrow.types.is_nested
    return [each.name for each in schema if each.name in asked or not (nested(each.type) or "binary" in str(each.type))]


def _most_rows(group: Any, wanted: Collection[str], limit: int) -> int:
    columns = [group.column(place) for place in range(group.num_columns)]
    read = [each for each in columns if {each.path_in_schema, each.path_in_schema.partition(".")[0]} & set(wanted)]
    plain, packed = (sum(getattr(each, f"total_{how}compressed_size") for each in read) for how in ("un", ""))
    if plain > limit and plain > MOST_RATIO * packed:
        raise OverflowError(f"{counted(packed, 'byte')} of it unpack to {plain:,}")
    return max(1, _MOST_REPEATED // max(1, *map(_longest, read)))


def _longest(column: Any) -> int:
    whole = int(column.total_uncompressed_size)
    if _SHARED_BEGINNINGS in column.encodings:
        return whole
    if not column.has_dictionary_page or column.dictionary_page_offset is None:
        return 0
    packed = max(0, column.data_page_offset - column.dictionary_page_offset)
    # Values of a dictionary may be packed better than the rest.
    return int(min(whole, packed * max(20, 4 * whole // max(1, column.total_compressed_size))))


def _items(batch: Any, limit: int) -> Iterator[dict[str, Any] | None]:
    if batch.nbytes <= limit:
        yield from batch.to_pylist()
        return
    for place in range(batch.num_rows):
        row = batch.slice(place, 1)
        yield row.to_pylist()[0] if row.nbytes <= 2 * limit else None


def row_entry(number: int, item: dict[str, Any], asked: ReaderOptions) -> FileEntry | BadEntry:
    there = ((name, value) for name, value in item.items() if value is not None)
    plain = {name: value if type(value) in _AS_IT_IS else plain_value(value) for name, value in there}
    entry = row_of(number, plain, asked.columns)
    is_large = isinstance(entry, FileEntry) and len(entry.data) > asked.limit
    return _too_large(number, asked.limit) if is_large else entry


def _too_large(number: int, limit: int) -> BadEntry:
    return BadEntry(number, "too-large", f"the text is longer than the limit of {counted(limit, 'byte')}")


def plain_value(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, _TIMES):
        return value.isoformat()
    return value if isinstance(value, _IN_JSON) else str(value)


def kind_of_batch(schema: Any, columns: ColumnNames) -> str:
    texts = {columns.text.partition(".")[0]} if columns.text else {"text", "html"}
    with suppress(ValueError, KeyError, TypeError):
        kind = json.loads((schema.metadata or {})[BATCH_FOOTER])["kind"]
        return "" if texts & set(schema.names) else f"a file of {kind}"
    return ""
