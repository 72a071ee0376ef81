"""Millions of identities and hashes in little memory."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import numpy.typing as npt

from indexer.model import Ref

Positions = npt.NDArray[np.int64]
_AT_ONCE = 4096


def ref_order(ref: Ref) -> tuple[str, str, str]:
    return ref.id, ref.index, ref.routing or ""


class RefTable:
    """Identities by position, packed: the bytes of the id and 12 for each."""

    def __init__(self, refs: Iterable[Ref] = ()) -> None:
        self._ids = bytearray()
        self._ends = array("q", [0])
        self._places: dict[tuple[str, str | None], int] = {}
        self._place_of = array("i")
        self.extend(refs)

    def extend(self, refs: Iterable[Ref]) -> None:
        for ref in refs:
            self._ids += ref.id.encode("utf-8", "surrogatepass")
            self._ends.append(len(self._ids))
            self._place_of.append(self._places.setdefault((ref.index, ref.routing), len(self._places)))

    def extend_packed(self, ids: bytes, ends: Positions) -> None:
        """Append identities without index and routing: their ids as UTF-8 behind one another, each up to its end."""
        start = len(self._ids)
        self._ids += ids
        self._ends.frombytes((ends.astype(np.int64) + start).tobytes())
        place = self._places.setdefault(("", None), len(self._places))
        self._place_of.frombytes(np.full(ends.size, place, dtype=np.intc).tobytes())

    def __len__(self) -> int:
        return len(self._place_of)

    def __iter__(self) -> Iterator[Ref]:
        return self.each(np.arange(len(self)))

    def each(self, positions: Positions) -> Iterator[Ref]:
        for start in range(0, positions.size, _AT_ONCE):
            yield from self.take(positions[start : start + _AT_ONCE])

    def take(self, positions: Sequence[int] | Positions) -> list[Ref]:
        places, ids, ends, place_of = list(self._places), self._ids, self._ends, self._place_of
        return [
            Ref(ids[ends[at] : ends[at + 1]].decode("utf-8", "surrogatepass"), *places[place_of[at]])
            for at in np.asarray(positions, dtype=np.int64).tolist()
        ]


class RefSet:
    """A set of some identities of a table, with 16 bytes for each of them."""

    def __init__(self, table: RefTable, positions: Positions) -> None:
        self._table = table
        hashes = np.fromiter(map(hash, table.each(positions)), dtype=np.int64, count=positions.size)
        order = np.argsort(hashes, kind="stable")
        self._hashes, self._positions = hashes[order], positions[order]

    def contains(self, refs: Sequence[Ref]) -> list[bool]:
        asked = np.fromiter(map(hash, refs), dtype=np.int64, count=len(refs))
        starts = np.searchsorted(self._hashes, asked, side="left").tolist()
        ends = np.searchsorted(self._hashes, asked, side="right").tolist()
        return [
            start < end and ref in self._table.take(self._positions[start:end])
            for ref, start, end in zip(refs, starts, ends, strict=True)
        ]
