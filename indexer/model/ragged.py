"""Rows of different lengths in two arrays, without an object each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from indexer.errors import PayloadError

Offsets = npt.NDArray[np.int64]

_ROWS_AT_ONCE = 1 << 12
_FEW = 16


def ranges(starts: Offsets, sizes: Offsets) -> Offsets:
    """The numbers from each start on, so many each, one after the other."""
    numbers: Offsets = np.arange(int(sizes.sum())) + np.repeat(starts - (np.cumsum(sizes) - sizes), sizes)
    return numbers


@dataclass(frozen=True, slots=True)
class Ragged:
    """Row i is `values[offsets[i]:offsets[i + 1]]`: uint8 for payloads, int64 for keys; n + 1 offsets."""

    values: npt.NDArray[Any]
    offsets: Offsets
    _known: list[int] = field(default_factory=list, init=False, repr=False, compare=False)

    @classmethod
    def of_bytes(cls, rows: Sequence[bytes]) -> Self:
        values = np.frombuffer(b"".join(rows), dtype=np.uint8)
        if len(widths := set(map(len, rows))) == 1:
            return cls._even(values, len(rows), widths.pop())
        return cls(values, _offsets(map(len, rows), len(rows)))

    @classmethod
    def of_integers(cls, rows: Sequence[Sequence[int]]) -> Self:
        offsets = _offsets(map(len, rows), len(rows))
        return cls(np.fromiter(chain.from_iterable(rows), dtype=np.int64, count=int(offsets[-1])), offsets)

    @classmethod
    def of_matrix(cls, rows: npt.NDArray[Any]) -> Self:
        """The rows of a matrix of shape (n, width)."""
        return cls._even(np.ascontiguousarray(rows).reshape(-1), *rows.shape)

    @classmethod
    def _even(cls, values: npt.NDArray[Any], count: int, width: int) -> Self:
        made = cls(values, (_few_offsets if count <= _FEW else _even_offsets)(count, width))
        made._known.append(width if count else -1)
        return made

    @classmethod
    def joined(cls, parts: Sequence[Ragged], dtype: npt.DTypeLike = np.uint8) -> Self:
        if not parts:
            return cls(np.empty(0, dtype=dtype), np.zeros(1, dtype=np.int64))
        starts = np.cumsum([0, *(int(part.offsets[-1]) for part in parts)])
        ends = [part.offsets[1:] + start for part, start in zip(parts, starts.tolist(), strict=False)]
        return cls(
            np.concatenate([part.values for part in parts]), np.concatenate([np.zeros(1, dtype=np.int64), *ends])
        )

    def __len__(self) -> int:
        return self.offsets.size - 1

    def row(self, number: int) -> npt.NDArray[Any]:
        return self.values[self.offsets[number] : self.offsets[number + 1]]

    def bytes_of(self, number: int) -> bytes:
        return self.row(number).tobytes()

    @property
    def sizes(self) -> Offsets:
        return self.offsets[1:] - self.offsets[:-1]

    def take(self, positions: npt.NDArray[Any]) -> Ragged:
        """The rows at these positions (integers, or a mask of shape (n,)), in this order."""
        wanted = np.flatnonzero(positions) if positions.dtype == np.bool_ else positions
        if self.width >= 0:
            return Ragged.of_matrix(self.matrix(self.width)[wanted])
        sizes = self.sizes[wanted]
        offsets = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(sizes)))
        values = np.empty(int(offsets[-1]), dtype=self.values.dtype)
        # An index takes eight bytes for each value, which of payloads has one.
        for start in range(0, wanted.size, _ROWS_AT_ONCE):
            rows = slice(start, start + _ROWS_AT_ONCE)
            begin, end = int(offsets[start]), int(offsets[min(start + _ROWS_AT_ONCE, wanted.size)])
            shifts = np.repeat(self.offsets[wanted[rows]] - offsets[:-1][rows], sizes[rows])
            values[begin:end] = self.values[np.arange(begin, end) + shifts]
        return Ragged(values, offsets)

    def only(self, kept: npt.NDArray[np.bool_]) -> Ragged:
        """As many rows with only some of their values, by a mask of all `values`."""
        ends = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(kept, dtype=np.int64)))
        return Ragged(self.values[kept], ends[self.offsets])

    def where(self, kept: npt.NDArray[np.bool_]) -> Ragged:
        """As many rows with some of them emptied, by a mask of shape (n,)."""
        ends = np.cumsum(np.where(kept, self.sizes, 0))
        return Ragged(self.take(kept).values, np.concatenate((np.zeros(1, dtype=np.int64), ends)))

    @property
    def width(self) -> int:
        """The common length of all rows; -1 if they differ, or there are none. Computed once."""
        if not self._known:
            sizes = self.sizes
            same = sizes.size and int(sizes.min()) == int(sizes.max())
            self._known.append(int(sizes[0]) if same else -1)
        return self._known[0]

    def matrix(self, width: int) -> npt.NDArray[Any]:
        """The rows as a matrix of shape (n, width), a view. Raises PayloadError if one has another length."""
        if len(self) and self.width != width:
            wrong = int(self.sizes[np.flatnonzero(self.sizes != width)[0]])
            raise no_payload(f"a row of {wrong} values where each has {width}")
        return self.values[self.offsets[0] : self.offsets[-1]].reshape(len(self), width)


def no_payload(reason: str) -> PayloadError:
    return PayloadError(
        f"{reason}: that is no sketch of the scheme, so the store that holds it is damaged. Restore it from a copy, or "
        "index into a new one"
    )


def _even_offsets(count: int, width: int) -> Offsets:
    offsets = np.arange(count + 1, dtype=np.int64) * width
    offsets.flags.writeable = False
    return offsets


# Of a few rows, as most lookups find, they are the same again and again.
_few_offsets = lru_cache(maxsize=256)(_even_offsets)


def _offsets(sizes: Iterable[int], count: int) -> Offsets:
    return np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(np.fromiter(sizes, dtype=np.int64, count=count))))
