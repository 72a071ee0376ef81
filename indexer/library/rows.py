"""Records as a sequence, a table, numpy arrays, Arrow, DataFrames and files."""

from __future__ import annotations

import csv
import html
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from operator import attrgetter
from pathlib import Path
from typing import (
    IO,
    TYPE_CHECKING,
    Any,
    Generic,
    Literal,
    Self,
    TypeVar,
    get_args,
    get_origin,
    get_type_hints,
    overload,
)

from indexer.errors import UsageError
from indexer.model import own_files
from indexer.model.chunking import chunks
from indexer.model.declared import as_json
from indexer.text.visible import printable

if TYPE_CHECKING:
    import numpy.typing as npt

Row = TypeVar("Row")
RowFormat = Literal["csv", "jsonl", "parquet"]
FORMATS: tuple[RowFormat, ...] = get_args(RowFormat)

_SHOWN = 10
_WIDEST = 48
_NUMBERS = {int: "int64", float: "float64", bool: "bool"}


class Rows(Sequence[Row], Generic[Row]):
    """A sequence of records of one kind, with their fields as columns; `note` is a sentence printed with them."""

    def __init__(self, kind: type[Row], rows: Iterable[Row] = (), note: str = "") -> None:
        self._kind, self._rows, self.note = kind, tuple(rows), note

    @property
    def kind(self) -> type[Row]:
        """The class of the records."""
        return self._kind

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(field.name for field in fields(self._kind))  # type: ignore[arg-type]

    def column(self, name: str) -> npt.NDArray[Any]:
        """A column of shape (n,): int64, float64, bool, or objects. Raises UsageError for an unknown name."""
        if name not in self.columns:
            raise UsageError(f"there is no column {name!r}; there are: {', '.join(self.columns)}")
        import numpy as np

        values = [getattr(row, name) for row in self._rows]
        kind = _NUMBERS.get(get_type_hints(self._kind)[name])
        if kind is not None:
            return np.array(values, dtype=kind)
        cells = np.empty(len(values), dtype=object)
        cells[:] = values
        return cells

    def to_numpy(self) -> dict[str, npt.NDArray[Any]]:
        """All columns, by name."""
        return {name: self.column(name) for name in self.columns}

    def to_arrow(self) -> Any:
        """Convert to a `pyarrow.Table`, with objects as JSON text. Raises UsageError without the extra parquet."""
        try:
            import pyarrow as pa
        except ImportError as error:
            raise UsageError("an Arrow table takes pyarrow: pip install 'neardup[parquet]'") from error
        kinds: dict[Any, Any] = {
            int: pa.int64(), float: pa.float64(), bool: pa.bool_(),
            tuple[str, ...]: pa.list_(pa.string()), tuple[float, ...]: pa.list_(pa.float64()),
        }  # fmt: skip
        kinds |= {kind | None: made for kind, made in kinds.items()}
        hints, arrays = get_type_hints(self._kind), {}
        for name in self.columns:
            kind, values = hints[name], [getattr(row, name) for row in self._rows]
            made = kinds.get(kind)
            if made is None and get_origin(kind) is tuple:
                values = [json.dumps(as_json(value), default=str) for value in values]
            arrays[name] = pa.array(list(map(_plain, values)), made or pa.string())
        return pa.table(arrays)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The rows by Arrow's own interface, for polars, DuckDB and other readers."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def to_pandas(self) -> Any:
        """Convert to a `pandas.DataFrame`. Raises UsageError if pandas is not installed."""
        try:
            import pandas as pd
        except ImportError as error:
            raise UsageError("a DataFrame takes pandas: pip install pandas") from error
        return pd.DataFrame(self.to_numpy())

    @overload
    def __getitem__(self, place: int) -> Row: ...
    @overload
    def __getitem__(self, place: slice) -> Rows[Row]: ...
    def __getitem__(self, place: int | slice) -> Row | Rows[Row]:
        if isinstance(place, slice):
            return type(self)(self._kind, self._rows[place], self.note)
        return self._rows[place]

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[Row]:
        return iter(self._rows)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Rows) and (self._kind, self._rows) == (other._kind, other._rows)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        columns, cells = self._shown()
        widths = [max(map(len, column)) for column in zip(columns, *cells, strict=True)]
        lines = ["  ".join(map(str.ljust, line, widths)).rstrip() for line in (columns, *cells)] if cells else []
        return "\n".join([*lines, *self._remarks()])

    def _repr_html_(self) -> str:
        columns, cells = self._shown()
        return html_table(columns, cells) + "".join(f"<p>{html.escape(remark)}</p>" for remark in self._remarks())

    def _shown(self) -> tuple[list[str], list[list[str]]]:
        columns = getattr(self._kind, "table", self.columns)
        lines = [[_cell(getattr(row, name)) for name in columns] for row in self._rows[:_SHOWN]]
        filled = [place for place in range(len(columns)) if any(line[place] for line in lines)]
        return [columns[place] for place in filled], [[line[place] for place in filled] for line in lines]

    def _remarks(self) -> list[str]:
        left = len(self) - _SHOWN
        none = "" if self else "no " + re.sub(r"(?<=[a-z])(?=[A-Z])", " ", self._kind.__name__).lower()
        counted = f"... {left:,} more" if left > 0 else none
        return [remark for remark in (counted, printable(self.note)) if remark]


class Shown:
    """A record that prints as its fields, one a line, and as a table in a notebook."""

    __slots__ = ()

    @classmethod
    def of(cls, counts: object, **members: Any) -> Self:
        """The record with these members; missing ones are those of `counts` with the same name."""
        declared = {field.name for field in fields(cls) if field.init}  # type: ignore[arg-type]
        counted = {name: _frozen(getattr(counts, name)) for name in declared - set(members)}
        return cls(**counted, **members)

    @property
    def rule_name(self) -> str:
        """The name of its match rule, empty if there is none."""
        # Where nothing is printed, nothing of match rules is loaded.
        from indexer.matching.rule import rule_name

        rule = getattr(self, "rule", "")
        return rule_name(rule) if rule else ""

    def __repr__(self) -> str:
        cells = self._cells()
        width = max(map(len, (name for name, _ in cells)))
        return "\n".join([type(self).__name__, *(f"  {name:<{width}}  {value}" for name, value in cells)])

    def _repr_html_(self) -> str:
        return html_table((), self._cells())

    def _cells(self) -> list[tuple[str, str]]:
        cells = [(field.name, getattr(self, field.name)) for field in fields(self) if field.repr]  # type: ignore[arg-type]
        # What did not happen goes without saying.
        return [
            (name, _cell(self.rule_name if name == "rule" else value))
            for place, (name, value) in enumerate(cells)
            if value or not place
        ]


def html_table(columns: Sequence[str], cells: Sequence[Sequence[str]]) -> str:
    """A table of texts, escaped."""
    head = "".join(f"<th>{html.escape(column)}</th>" for column in columns)
    body = "".join(f"<tr>{''.join(f'<td>{html.escape(cell)}</td>' for cell in line)}</tr>" for line in cells)
    return f"<table>{f'<thead><tr>{head}</tr></thead>' if columns else ''}<tbody>{body}</tbody></table>"


def _frozen(value: Any) -> Any:
    return dict(value) if isinstance(value, Mapping) else tuple(value) if isinstance(value, list) else value


def _cell(value: Any) -> str:
    if value is None or value == {}:
        return ""
    if isinstance(value, bool):
        return "yes" if value else ""
    if isinstance(value, float):
        # What is not all is never shown as all.
        return f"{min(value, 0.9999) if value < 1 else value:.4g}"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, tuple):
        value = ", ".join(map(_cell, value[:3])) + (", ..." if len(value) > 3 else "")
    text = printable(json.dumps(value, default=str) if isinstance(value, Mapping) else str(value))
    if len(text) <= _WIDEST:
        return text
    half = (_WIDEST - 1) // 2
    return f"{text[:half]}…{text[-half:]}"


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping) or is_dataclass(value):
        return json.dumps(as_json(value), default=str)
    if isinstance(value, str):
        # Lone surrogates, as of file names, are in no encoding.
        return value.encode("utf-8", "backslashreplace").decode("utf-8")
    return list(map(_plain, value)) if isinstance(value, tuple) else value


_AT_ONCE = 50_000
_AS_THEY_ARE = (type(None), int, float)


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
    kept = _AS_THEY_ARE if file.isatty() else (str, *_AS_THEY_ARE)
    out = csv.writer(file, lineterminator="\n")
    out.writerow(columns)
    cells_of = attrgetter(*columns)
    for row in rows:
        out.writerow([cell if isinstance(cell, kept) else _text_of(cell) for cell in cells_of(row)])
        count += 1
    return count


def _text_of(value: Any) -> str | None:
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
