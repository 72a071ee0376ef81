"""pyarrow, imported in one place, so that its absence gives one message."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

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


def bytes_of(column: Any) -> Ragged:
    """The rows of a column of strings or bytes without nulls, whose memory it shares."""
    if not len(column):
        return Ragged(np.empty(0, dtype=np.uint8), np.zeros(1, dtype=np.int64))
    is_large = arrow.types.is_large_string(column.type) or arrow.types.is_large_binary(column.type)
    _, offsets, data = column.buffers()
    ends = np.frombuffer(offsets, dtype=np.int64 if is_large else np.int32)
    ends = ends[column.offset : column.offset + len(column) + 1].astype(np.int64)
    return Ragged(np.frombuffer(data or b"", dtype=np.uint8)[ends[0] : ends[-1]], ends - ends[0])


def joined_of(column: Any) -> Joined:
    rows = bytes_of(column)
    return Joined(rows.values.data, rows.offsets[1:].astype(np.uintp))


def integers_of(column: Any) -> Ragged:
    ends = numbers_of(column.offsets).astype(np.int64)
    return Ragged(numbers_of(column.flatten()), ends - ends[0])


def numbers_of(column: Any) -> npt.NDArray[Any]:
    """The numbers of a column, 0 in place of a null."""
    return np.asarray((column.fill_null(0) if column.null_count else column).to_numpy(zero_copy_only=False))


def flags_of(column: Any) -> npt.NDArray[np.bool_]:
    return np.asarray(column.fill_null(False).to_numpy(zero_copy_only=False))


def present_in(column: Any) -> npt.NDArray[np.bool_]:
    return flags_of(column.is_valid())


def column_of(values: npt.NDArray[Any], gone: npt.NDArray[np.bool_] | None = None) -> Any:
    return arrow.array(values, mask=gone)


def column_of_bytes(rows: Ragged) -> Any:
    offsets = arrow.py_buffer(np.ascontiguousarray(rows.offsets, dtype=np.int32))
    data = arrow.py_buffer(np.ascontiguousarray(rows.values, dtype=np.uint8))
    return arrow.Array.from_buffers(arrow.binary(), len(rows), [None, offsets, data])


def column_of_strings(values: Any) -> Any:
    return arrow.array(values, arrow.string())


def plain(text: str) -> str:
    """A text that UTF-8 can hold, with lone surrogates written out."""
    return text.encode("utf-8", "backslashreplace").decode()
