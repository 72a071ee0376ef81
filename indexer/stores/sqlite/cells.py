"""Checked values from a store's cells, because SQLite keeps any type in any column.

A file cut short, overwritten or changed by another program is usually still an SQLite file. A cell with foreign content
raises DamagedError, which the store reports as a damaged file.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from indexer.errors import StoreError

_EPOCH = datetime(1970, 1, 1)
_LARGEST = (1 << 63) - 1
# The struct module's codes for integers of these dtypes.
_CODES = {"<u4": "I", "<u8": "Q", "<i8": "q"}


class DamagedError(StoreError):
    """A cell holds foreign content, described by the text. The store's path is added where it is known."""


def text(cell: Any) -> str:
    """A string from its BLOB of UTF-8; lone surrogates pass."""
    try:
        decoded: str = cell.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError as error:
        raise DamagedError(f"no UTF-8: {error.reason}") from None
    except AttributeError:
        raise DamagedError(f"{type(cell).__name__} where bytes belong") from None
    return decoded


def moment(cell: Any) -> str:
    """A time: twice the microseconds since 1970, one more with decimal places, or a text."""
    if type(cell) is not int:
        return text(cell)
    microseconds, written = divmod(cell, 2)
    seconds, rest = divmod(microseconds, 1_000_000)
    if rest and not written:
        raise DamagedError(f"the time {cell} is out of range")
    return _second(seconds) + (f".{rest:06d}Z" if written else "Z")


@lru_cache(maxsize=1024)
def _second(seconds: int) -> str:
    try:
        return (_EPOCH + timedelta(seconds=seconds)).isoformat()
    except OverflowError:
        raise DamagedError(f"a time {seconds} seconds from 1970") from None


def name(cell: Any) -> str:
    if type(cell) is not str:
        raise DamagedError(f"{type(cell).__name__} where a text belongs")
    return cell


def blob(cell: Any) -> bytes:
    if type(cell) is not bytes:
        raise DamagedError(f"{type(cell).__name__} where bytes belong")
    return cell


def count(cell: Any, most: int = _LARGEST) -> int:
    if not 0 <= integer(cell) <= most:
        raise DamagedError(f"the number {cell} is out of range")
    return int(cell)


def integer(cell: Any) -> int:
    if type(cell) is not int:
        raise DamagedError(f"{type(cell).__name__} where a number belongs")
    return cell


def json_object(cell: Any) -> dict[str, Any]:
    try:
        value = json.loads(name(cell))
    except (ValueError, RecursionError) as error:
        raise DamagedError(f"no JSON: {error}") from None
    if type(value) is not dict:
        raise DamagedError("no JSON object")
    return value


def packed(integers: Sequence[int], kind: npt.DTypeLike) -> bytes:
    # For the few integers of a document several times faster than an array of numpy's.
    return struct.pack(f"<{len(integers)}{_CODES[np.dtype(kind).str]}", *integers)


def numbers(cell: Any, kind: npt.DTypeLike, end: int) -> npt.NDArray[Any]:
    data = blob(cell)
    if len(data) % np.dtype(kind).itemsize:
        raise DamagedError(f"{len(data)} bytes are no keys")
    integers = np.frombuffer(data, dtype=kind)
    if integers.size and not (integers.min() >= 0 and integers.max() < end):
        raise DamagedError("a key outside the layout")
    return integers
