"""Calls of the C core: errors, memory and instructions."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from indexer._core import ffi, lib
from indexer.errors import UsageError

# Numbers that are copied in less time than a destructor takes.
_FEW = 4096

_KINDS = {
    np.dtype(kind).str: f"{name}[]"
    for kind, name in (("u8", "uint64_t"), ("i8", "int64_t"), ("u4", "uint32_t"), ("u1", "uint8_t"), ("f8", "double"))
}

Scalar = TypeVar("Scalar", np.uint64, np.uintp, np.uint32, np.uint8)


def check(status: int) -> None:
    if status == lib.ND_NO_MEMORY:
        raise MemoryError("the core ran out of memory")
    if status == lib.ND_OVERFLOW:
        raise UsageError("the weights add up to more than a signed 64-bit bucket holds")


def adopted(values: Any, count: int, kind: type[Scalar]) -> NDArray[Scalar]:
    owned = values if count <= _FEW else ffi.gc(values, lib.nd_free)
    if count:
        array = np.frombuffer(ffi.buffer(owned, count * np.dtype(kind).itemsize), dtype=kind)
    else:
        array = np.empty(0, dtype=kind)
    if count <= _FEW:
        array = array.copy()
        lib.nd_free(values)
    array.flags.writeable = False
    return array


def pointer(array: NDArray[Any], kind: str = "") -> Any:
    """The numbers of an array for a function of the core, by default as the type of C that the array has."""
    return ffi.from_buffer(kind or _KINDS[array.dtype.str], array) if array.size else ffi.NULL


def simd_level() -> int:
    """The instructions in use: 0 plain C, 1 AVX2, 2 AVX-512."""
    return int(lib.nd_simd_level())


def set_simd_level(level: int) -> int:
    """Ask for a level of instructions, for tests; returns the level in use, never more than the machine has."""
    return int(lib.nd_set_simd_level(level))
