"""pyarrow, imported in one place, so that its absence gives one message."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from indexer.core.sketches import sorted_distinct
from indexer.ingest.readers.base import optional
from indexer.model.joined import Joined
from indexer.model.ragged import Ragged

arrow: Any = optional("pyarrow", "parquet", "neardup batch")
compute: Any = optional("pyarrow.compute", "parquet", "neardup batch")
parquet: Any = optional("pyarrow.parquet", "parquet", "neardup batch")


def schema_of(columns: str) -> Any:
    """The schema of columns given as "name type, name type"."""
    return arrow.schema([(name, arrow.type_for_alias(kind)) for name, kind in map(str.split, columns.split(", "))])


def one_array(column: Any) -> Any:
    """A column as one array, whether it comes in chunks or not."""
    return column.combine_chunks() if isinstance(column, arrow.ChunkedArray) else column


def rows_of(column: Any) -> tuple[Any, npt.NDArray[np.int64]]:
    """The buffer of a column of strings or bytes without nulls, and the bounds of each row: int64, (n + 1,)."""
    _, offsets, data = column.buffers()
    wide = (
        np.int64 if arrow.types.is_large_string(column.type) or arrow.types.is_large_binary(column.type) else np.int32
    )
    ends = np.frombuffer(offsets, dtype=wide)[column.offset : column.offset + len(column) + 1]
    if not len(column):
        return b"", np.zeros(1, dtype=np.int64)
    return data if data is not None else b"", ends.astype(np.int64)


def joined_of(column: Any) -> Joined:
    data, ends = rows_of(column)
    view = memoryview(data)[int(ends[0]) : int(ends[-1])]
    return Joined(view, (ends[1:] - ends[0]).astype(np.uintp))


def bytes_of(column: Any) -> Ragged:
    data, ends = rows_of(column)
    values = np.frombuffer(data, dtype=np.uint8)[int(ends[0]) : int(ends[-1])]
    return Ragged(values, ends - ends[0])


def integers_of(column: Any) -> Ragged:
    ends = numbers_of(column.offsets, np.int32).astype(np.int64)
    return Ragged(numbers_of(column.flatten()), ends - ends[0])


# Arrow's own way from and to arrays imports pandas wherever that is installed, which takes longer than many a batch.


def numbers_of(column: Any, kind: Any = np.int64) -> npt.NDArray[Any]:
    column = one_array(column)
    if not len(column):
        return np.empty(0, dtype=kind)
    return np.frombuffer(column.buffers()[1], dtype=kind)[column.offset : column.offset + len(column)]


def flags_of(column: Any) -> npt.NDArray[np.bool_]:
    column = one_array(column)
    return _bits(column.buffers()[1], column)


def present_in(column: Any) -> npt.NDArray[np.bool_]:
    column = one_array(column)
    there = column.buffers()[0]
    return np.ones(len(column), dtype=np.bool_) if there is None else _bits(there, column)


def _bits(buffer: Any, column: Any) -> npt.NDArray[np.bool_]:
    if not len(column):
        return np.empty(0, dtype=np.bool_)
    every = np.unpackbits(np.frombuffer(buffer, dtype=np.uint8), bitorder="little")
    return every[column.offset : column.offset + len(column)].astype(np.bool_)


def column_of(values: npt.NDArray[Any], gone: npt.NDArray[np.bool_] | None = None) -> Any:
    packed = values.dtype == np.bool_
    kind = {"b": arrow.bool_(), "i": arrow.int64(), "f": arrow.float64()}[values.dtype.kind]
    data = np.packbits(values, bitorder="little") if packed else np.ascontiguousarray(values)
    there = None if gone is None else arrow.py_buffer(np.packbits(~gone, bitorder="little"))
    return arrow.Array.from_buffers(kind, values.size, [there, arrow.py_buffer(data)])


def column_of_strings(values: Sequence[str | None]) -> Any:
    encoded = [b"" if value is None else value.encode() for value in values]
    ends = np.zeros(len(values) + 1, dtype=np.int64)
    np.cumsum([len(each) for each in encoded], out=ends[1:])
    gone = np.array([value is None for value in values], dtype=np.bool_)
    there = arrow.py_buffer(np.packbits(~gone, bitorder="little")) if gone.any() else None
    data = arrow.py_buffer(b"".join(encoded))
    # Of clusters there may be so many that their names together pass what 32 bits can count.
    made = arrow.Array.from_buffers(arrow.large_string(), len(values), [there, arrow.py_buffer(ends), data])
    return made if ends[-1] > np.iinfo(np.int32).max else made.cast(arrow.string())


def column_of_names(names: npt.NDArray[np.bytes_], gone: npt.NDArray[np.bool_]) -> Any:
    offsets = np.arange(names.size + 1, dtype=np.int32) * names.dtype.itemsize
    there = arrow.py_buffer(np.packbits(~gone, bitorder="little"))
    data = arrow.py_buffer(np.ascontiguousarray(names).view(np.uint8))
    return arrow.Array.from_buffers(arrow.string(), names.size, [there, arrow.py_buffer(offsets), data])


def column_of_bytes(rows: Ragged) -> Any:
    offsets = arrow.py_buffer(np.ascontiguousarray(rows.offsets, dtype=np.int32))
    data = arrow.py_buffer(np.ascontiguousarray(rows.values, dtype=np.uint8))
    return arrow.Array.from_buffers(arrow.binary(), len(rows), [None, offsets, data])


def column_of_digests(digests: npt.NDArray[np.uint8]) -> Any:
    """A column of bytes of equal length, from uint8 of shape (n, length)."""
    count, width = digests.shape
    data = arrow.py_buffer(np.ascontiguousarray(digests))
    return arrow.Array.from_buffers(arrow.binary(width), count, [None, data])


def column_of_integers(rows: Ragged) -> Any:
    offsets = arrow.py_buffer(rows.offsets.astype(np.int32))
    kind = arrow.list_(arrow.int64())
    return arrow.Array.from_buffers(kind, len(rows), [None, offsets], children=[column_of(rows.values)])


def scalar(value: str | float | bool | None) -> Any:
    if value is None or isinstance(value, str):
        return column_of_strings([value])[0]
    return column_of(np.array([value]))[0]


NO_TEXT: Any = scalar("")


def repeated(value: str | None, count: int) -> Any:
    return arrow.repeat(scalar(value), count)


def replaced(hashes: Sequence[npt.NDArray[np.uint64]]) -> npt.NDArray[np.int64]:
    every = np.concatenate(hashes) if hashes else np.empty(0, dtype=np.uint64)
    order = np.argsort(every, kind="stable")
    same = every[order][1:] == every[order][:-1]
    return sorted_distinct(np.concatenate((order[1:][same], order[:-1][same])))
