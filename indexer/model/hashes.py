"""The 64-bit hashes given by callers, as one kind of array."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from indexer.errors import UsageError

_ALL_BITS = (1 << 64) - 1


def as_hashes(values: ArrayLike, name: str) -> NDArray[np.uint64]:
    """An array of 64-bit integers, unsigned or signed with the same bits, as uint64; else UsageError naming it.

    A sequence of Python's integers is one too, of both kinds side by side.
    """
    try:
        array = np.asarray(values)
    except (ValueError, TypeError, OverflowError) as error:
        raise UsageError(f"{name} must be a one-dimensional array of 64-bit integers: {error}") from None
    if array.ndim == 1 and array.dtype.kind in "fO":
        # To numpy, integers on both sides of 2**63 are floats.
        array = _integers(values, array)
    if array.dtype == np.uint64 and array.ndim == 1 and array.flags.c_contiguous:
        return array
    if array.size == 0:
        array = array.astype(np.uint64)
    if array.ndim != 1 or array.dtype.kind not in "ui" or (array.dtype.kind == "i" and array.dtype.itemsize != 8):
        raise UsageError(f"{name} must be a one-dimensional array of 64-bit integers, not {array.ndim}-d {array.dtype}")
    # A signed array holds the same bits, as search engines and SQLite give them back.
    return np.ascontiguousarray(
        array.view(np.uint64) if array.dtype == np.int64 else array.astype(np.uint64, copy=False)
    )


def _integers(values: ArrayLike, otherwise: NDArray[Any]) -> NDArray[Any]:
    whole: list[Any] = list(values) if isinstance(values, Sequence) else otherwise.tolist()
    if not whole or not all(
        isinstance(value, int | np.integer) and not isinstance(value, bool) and -(1 << 63) <= value < 1 << 64
        for value in whole
    ):
        return otherwise
    return np.array([int(value) & _ALL_BITS for value in whole], dtype=np.uint64)
