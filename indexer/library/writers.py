"""Results as CSV, JSON lines and Parquet files."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from operator import attrgetter
from pathlib import Path
from typing import IO, Any, Literal, TypeVar, get_args

from indexer.errors import UsageError
from indexer.library.rows import Rows
from indexer.model import own_files
from indexer.model.chunking import chunks
from indexer.model.declared import as_json
from indexer.text.visible import printable

Row = TypeVar("Row")
RowFormat = Literal["csv", "jsonl", "parquet"]
FORMATS: tuple[RowFormat, ...] = get_args(RowFormat)

_AT_ONCE = 50_000
_NUMBERS = (type(None), int, float)


def save(rows: Iterable[Row], kind: type[Row], path: str | os.PathLike[str], form: RowFormat | None = None) -> int:
    """Write records of a kind to a file, by default in the format of its name; returns how many.

    The file gets its name only when complete. Raises UsageError if it can't be written, for another name without
    `form`, and for Parquet without the extra parquet.
    """
    ending = form or Path(path).suffix[1:].lower()
    if ending not in FORMATS:
        raise UsageError(f"{os.fspath(path)}: the file name must end in {', '.join(f'.{each}' for each in FORMATS)}")
    with _target(os.fspath(path), binary=ending == "parquet") as file:
        return write(rows, kind, file, ending)


def write(rows: Iterable[Row], kind: type[Row], file: IO[Any], form: RowFormat) -> int:
    """Write records of a kind to an open file, of bytes for Parquet, else of text; returns how many."""
    return _WRITERS[form](rows, kind, file)


@contextmanager
def _target(path: str, *, binary: bool) -> Iterator[IO[Any]]:
    text: dict[str, Any] = {} if binary else {"encoding": "utf-8", "errors": "backslashreplace", "newline": ""}
    try:
        with own_files.written_whole(path, "wb" if binary else "w", **text) as file:
            yield file
    except OSError as error:
        raise UsageError(f"{path}: can't be written: {error.strerror}") from error


def _write_csv(rows: Iterable[Row], kind: type[Row], file: IO[str]) -> int:
    count, columns = 0, Rows(kind).columns
    # A terminal obeys what is in a name; a file keeps it as it is.
    kept = _NUMBERS if file.isatty() else (str, *_NUMBERS)
    out = csv.writer(file, lineterminator="\n")
    out.writerow(columns)
    cells_of = attrgetter(*columns)
    for row in rows:
        out.writerow([cell if isinstance(cell, kept) else _cell(cell) for cell in cells_of(row)])
        count += 1
    return count


def _cell(value: Any) -> str | None:
    if isinstance(value, str):
        return printable(value)
    # What was not asked for is empty, as it is where it is a word or a number.
    return json.dumps(as_json(value)) if value else None


def _write_jsonl(rows: Iterable[Row], kind: type[Row], file: IO[str]) -> int:
    count, columns = 0, Rows(kind).columns
    cells_of = attrgetter(*columns)
    for row in rows:
        file.write(json.dumps(dict(zip(columns, map(as_json, cells_of(row)), strict=True))) + "\n")
        count += 1
    return count


def _write_parquet(rows: Iterable[Row], kind: type[Row], file: IO[bytes]) -> int:
    schema = Rows(kind).to_arrow().schema
    from pyarrow.parquet import ParquetWriter

    count = 0
    with ParquetWriter(file, schema) as out:
        for batch in chunks(rows, _AT_ONCE):
            out.write_table(Rows(kind, batch).to_arrow())
            count += len(batch)
    return count


_WRITERS: dict[str, Callable[[Iterable[Any], type[Any], Any], int]] = {
    "csv": _write_csv,
    "jsonl": _write_jsonl,
    "parquet": _write_parquet,
}
