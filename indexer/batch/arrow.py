"""pyarrow, which batches rest on, imported in one place, so that its absence is said in one way."""

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


def rows_of(column: Any) -> tuple[Any, npt.NDArray[np.int64]]:
    """The buffer of a column of strings or bytes without nulls, and where each row begins and ends: int64, (n + 1,)."""
    _, offsets, data = column.buffers()
    wide = (
        np.int64 if arrow.types.is_large_string(column.type) or arrow.types.is_large_binary(column.type) else np.int32
    )
    ends = np.frombuffer(offsets, dtype=wide)[column.offset : column.offset + len(column) + 1]
    if not len(column):
        return b"", np.zeros(1, dtype=np.int64)
    return data if data is not None else b"", ends.astype(np.int64)


def joined_of(column: Any) -> Joined:
    """The texts of a column of strings without nulls, in its own buffer."""
    data, ends = rows_of(column)
    view = memoryview(data)[int(ends[0]) : int(ends[-1])]
    return Joined(view, (ends[1:] - ends[0]).astype(np.uintp))


def bytes_of(column: Any) -> Ragged:
    """The rows of a column of bytes without nulls."""
    data, ends = rows_of(column)
    values = np.frombuffer(data, dtype=np.uint8)[int(ends[0]) : int(ends[-1])]
    return Ragged(values, ends - ends[0])


def integers_of(column: Any) -> Ragged:
    """The rows of a column of lists of int64 without nulls."""
    values = column.flatten().to_numpy(zero_copy_only=False)
    ends = column.offsets.to_numpy(zero_copy_only=False).astype(np.int64)
    return Ragged(np.asarray(values, dtype=np.int64), ends - ends[0])


def column_of_bytes(rows: Ragged) -> Any:
    """A column of bytes."""
    offsets = arrow.py_buffer(np.ascontiguousarray(rows.offsets, dtype=np.int32))
    data = arrow.py_buffer(np.ascontiguousarray(rows.values, dtype=np.uint8))
    return arrow.Array.from_buffers(arrow.binary(), len(rows), [None, offsets, data])


def column_of_digests(digests: npt.NDArray[np.uint8]) -> Any:
    """A column of bytes that all have one length, from uint8 of shape (n, length)."""
    count, width = digests.shape
    data = arrow.py_buffer(np.ascontiguousarray(digests))
    return arrow.Array.from_buffers(arrow.binary(width), count, [None, data])


def column_of_integers(rows: Ragged) -> Any:
    """A column of lists of int64."""
    offsets = arrow.array(rows.offsets.astype(np.int32))
    return arrow.ListArray.from_arrays(offsets, arrow.array(rows.values.astype(np.int64)))


def repeated(value: str | None, count: int) -> Any:
    """A column of strings that are all the same."""
    return arrow.repeat(arrow.scalar(value, arrow.string()), count)
