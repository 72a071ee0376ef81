"""A searchable index of hashes, in memory or memory-mapped."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from indexer.core.hamming import (
    MAX_DISTANCE,
    IndexTable,
    hamming_distances,
    index_plan,
    index_search,
    pairs_count,
    pairs_scatter,
)
from indexer.core.pairs import require_distance
from indexer.core.sketches import sorted_distinct
from indexer.errors import StoreError, UsageError
from indexer.model import own_files
from indexer.model.hashes import as_hashes
from indexer.model.ragged import ranges

Hashes = npt.NDArray[np.uint64]

MAGIC = b"neardup-hamming-index 2\n"
"""The beginning of a file: 24 bytes, so that the numbers of 8 bytes behind it stay aligned."""


class HammingHits(NamedTuple):
    """Results of a search: arrays of one length, sorted by query, then distance, then position.

    `query[i]` numbers the query, `position[i]` the indexed hash; `distance[i]` counts the bits between them.
    """

    query: npt.NDArray[np.int64]
    position: npt.NDArray[np.int64]
    distance: npt.NDArray[np.uint8]


class HammingIndex:
    """Hashes to search by Hamming distance; no match is missed.

    `hashes` is an array of n unsigned (or signed, same bits) 64-bit integers; searches return positions in it.
    `distance` (0 to 16) is the reach of the tables: a search within it looks into distance + 1 buckets, a wider one
    compares with every hash. Memory: 8 bytes a hash for each of the distance + 1 tables, and 24 more.

    `shard` (i, n) keeps only the i-th of n parts of each table's keys, 0 <= i < n. Exactly one of the shards of the
    same hashes finds each match, so their answers together are complete without repetitions. A shard can be searched
    only as far as its tables reach. Raises UsageError for values out of range.
    """

    def __init__(self, hashes: npt.ArrayLike, distance: int = 3, *, shard: tuple[int, int] = (0, 1)) -> None:
        values = as_hashes(hashes, "hashes")
        require_distance(distance)
        part, parts = shard
        if not 0 <= part < parts:
            raise UsageError(f"shard {part} of {parts}: count from 0, below the number of shards")
        order = np.argsort(values, kind="stable")
        ordered = values[order]
        fresh = np.ones(ordered.size, dtype=bool)
        np.not_equal(ordered[1:], ordered[:-1], out=fresh[1:])
        self._distance, self._shard, self._size = distance, shard, int(values.size)
        self._distinct: Hashes = ordered[fresh]
        self._starts: npt.NDArray[np.int64] = np.append(np.flatnonzero(fresh), values.size).astype(np.int64)
        self._positions: npt.NDArray[np.int64] = order.astype(np.int64)
        masks = index_plan(self._distinct, distance).tolist()
        self._tables = [_build_table(self._distinct, mask, part, parts) for mask in masks]
        if parts > 1:
            self._keep_only_tables()

    def _keep_only_tables(self) -> None:
        kept = sorted_distinct(np.concatenate([table.values for table in self._tables]))
        at = np.searchsorted(self._distinct, kept)
        counts = np.diff(self._starts)[at]
        starts = np.append(0, np.cumsum(counts)).astype(np.int64)
        self._positions = self._positions[ranges(self._starts[at], counts)]
        self._distinct, self._starts = kept, starts

    @property
    def distance(self) -> int:
        """The greatest distance, in bits, within reach of the tables."""
        return self._distance

    @property
    def nbytes(self) -> int:
        """The size of the index in bytes, in memory or mapped."""
        return sum(array.nbytes for array in self._arrays())

    def __len__(self) -> int:
        return self._size

    def search(self, queries: npt.ArrayLike, distance: int | None = None) -> HammingHits:
        """Every indexed hash within `distance` bits (0 to 64; by default the index's own) of each query.

        `queries` is an array of 64-bit integers of shape (m,). Memory: 17 bytes a match and a buffer.
        """
        asked = as_hashes(queries, "queries")
        reach = self._distance if distance is None else distance
        if reach <= self._distance and reach >= 0:
            parts = [self._expand(q, values, asked) for q, values in index_search(self._tables, asked, reach)]
        elif self._shard[1] > 1:
            raise UsageError(f"distance {reach}: a shard is searched up to its tables' {self._distance} bits only")
        elif not 0 <= reach <= 64:
            raise UsageError(f"distance {reach} is not between 0 and 64")
        else:
            parts = [self._expand(*self._compare(asked, number, reach), asked) for number in range(asked.size)]
        return _sorted(parts)

    def nearest(self, queries: npt.ArrayLike, count: int) -> HammingHits:
        """The `count` nearest indexed hashes of each query, or all if there are fewer; ties are sorted by position."""
        if count < 1:
            raise UsageError(f"count {count}: ask for at least one")
        if self._shard[1] > 1:
            raise UsageError("a single shard can't tell the nearest; search all shards and take the nearest")
        asked = as_hashes(queries, "queries")
        close = self.search(asked)
        counts = np.bincount(close.query, minlength=asked.size)
        enough = counts >= min(count, self._size)
        ranks = np.arange(close.query.size) - np.repeat(np.cumsum(counts) - counts, counts)
        kept = enough[close.query] & (ranks < count)
        parts = [HammingHits(close.query[kept], close.position[kept], close.distance[kept])]
        parts += [self._nearest(asked, int(number), count) for number in np.flatnonzero(~enough)]
        return _sorted(parts)

    def _nearest(self, asked: Hashes, number: int, count: int) -> HammingHits:
        distances = hamming_distances(int(asked[number]), self._distinct)
        per_distance = np.bincount(distances, weights=np.diff(self._starts), minlength=65)
        reach = int(np.searchsorted(np.cumsum(per_distance), min(count, self._size)))
        near = self._expand(*self._compare(asked, number, reach), asked)
        order = np.lexsort((near.position, near.distance))[:count]
        return HammingHits(near.query[order], near.position[order], near.distance[order])

    def _compare(self, asked: Hashes, number: int, reach: int) -> tuple[npt.NDArray[np.int64], Hashes]:
        values = self._distinct[hamming_distances(int(asked[number]), self._distinct) <= reach]
        return np.full(values.size, number, dtype=np.int64), values

    def _expand(self, queries: npt.NDArray[Any], values: Hashes, asked: Hashes) -> HammingHits:
        at = np.searchsorted(self._distinct, values)
        counts = self._starts[at + 1] - self._starts[at]
        numbers = queries.astype(np.int64)
        distances = np.bitwise_count(asked[numbers] ^ values).astype(np.uint8)
        return HammingHits(
            np.repeat(numbers, counts), self._positions[ranges(self._starts[at], counts)], np.repeat(distances, counts)
        )

    def _arrays(self) -> list[npt.NDArray[Any]]:
        tables = (array for table in self._tables for array in (table.offsets, table.values))
        return [self._distinct, self._starts, self._positions, *tables]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the index to one file for `open`: a new file first, then renamed. Raises StoreError."""
        tables = (number for table in self._tables for number in (table.mask, table.first_bucket))
        sizes = (array.size for array in self._arrays())
        header = np.array([self._distance, self._size, *self._shard, *tables, *sizes], dtype=np.uint64)
        try:
            with own_files.written_whole(path) as file:
                file.write(MAGIC)
                for array in (header, *self._arrays()):
                    file.write(np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<")).data)
        except OSError as error:
            raise StoreError(f"{path}: the index can't be written: {error.strerror}") from error

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> HammingIndex:
        """Memory-map an index written by `save`; data is read when needed. Raises StoreError."""
        try:
            with open(path, "rb", opener=own_files.reader) as file:
                if file.read(len(MAGIC)) != MAGIC:
                    raise ValueError("no index")
                return cls._mapped(np.memmap(file, dtype="<u8", mode="r", offset=len(MAGIC)))
        except OSError as error:
            raise StoreError(f"{path}: the index can't be read: {error.strerror}") from error
        except (ValueError, IndexError, TypeError) as error:
            raise StoreError(f"{path}: is damaged, or no index of this version; save it again") from error

    @classmethod
    def _mapped(cls, numbers: npt.NDArray[Any]) -> HammingIndex:
        index = cls.__new__(cls)
        index._distance, index._size, part, parts = numbers[:4].tolist()
        if index._distance > MAX_DISTANCE:
            raise ValueError("distance")
        index._shard, count = (part, parts), index._distance + 1
        header = 4 + 2 * count
        sizes, arrays = numbers[header : header + 3 + 2 * count].tolist(), numbers[header + 3 + 2 * count :]
        if sum(sizes) != arrays.size:
            raise ValueError("sizes")
        index._distinct, starts, positions, *tables = np.split(arrays, np.cumsum(sizes[:-1]))
        index._starts, index._positions = starts.view(np.int64), positions.view(np.int64)
        buckets = numbers[4:header].reshape(count, 2).tolist()
        index._tables = [IndexTable(*each, *tables[2 * n : 2 * n + 2]) for n, each in enumerate(buckets)]
        # The C core follows the offsets without looking: a damaged file must not lead it astray.
        for offsets, values in zip(tables[::2], tables[1::2], strict=True):
            if offsets.size < 1 or offsets[0] != 0 or offsets[-1] != values.size or (offsets[1:] < offsets[:-1]).any():
                raise ValueError("offsets")
        if index._starts.size != index._distinct.size + 1:
            raise ValueError("starts")
        return index


def _build_table(distinct: Hashes, mask: int, part: int, parts: int) -> IndexTable:
    buckets = 1 << mask.bit_count()
    counts = np.zeros(buckets, dtype=np.uint64)
    pairs_count(distinct, mask, counts)
    offsets = np.concatenate((np.zeros(1, dtype=np.uint64), np.cumsum(counts, dtype=np.uint64)))
    values = np.empty_like(distinct)
    pairs_scatter(distinct, mask, offsets[:-1].copy(), values)
    first, end = buckets * part // parts, buckets * (part + 1) // parts
    start, stop = int(offsets[first]), int(offsets[end])
    if parts > 1:
        values = values[start:stop].copy()
    return IndexTable(mask, first, offsets[first : end + 1] - np.uint64(start), values)


def _sorted(unsorted: Sequence[HammingHits]) -> HammingHits:
    nothing = (np.empty(0, dtype=kind) for kind in (np.int64, np.int64, np.uint8))
    query, position, distance = (np.concatenate(parts) for parts in zip(nothing, *unsorted, strict=True))
    order = np.lexsort((position, distance, query))
    return HammingHits(query[order], position[order], distance[order])
