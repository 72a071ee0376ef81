"""Hamming distances and searches of 64-bit hashes, by the C core.

Every call releases the GIL while the C code runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from indexer._core import ffi, lib
from indexer.core.native import check, pointer
from indexer.model.hashes import as_hashes

MAX_DISTANCE: int = lib.ND_MAX_DISTANCE
PairSink = Callable[[NDArray[np.uint64], NDArray[np.uint64]], bool]
"""Takes a block of pairs (smaller values, larger values), its own copies; False stops the search."""


def hamming_distances(query: int, values: ArrayLike) -> NDArray[np.uint8]:
    """The Hamming distance, 0 to 64, of one hash to each of `values`: shape (n,) to uint8 of shape (n,).

    Raises UsageError unless all numbers are 64-bit integers (unsigned, or signed with the same bits).
    """
    hashes = as_hashes(values, "values")
    query = int(as_hashes([query], "query")[0])
    distances = np.empty(hashes.size, dtype=np.uint8)
    lib.nd_hamming_one(query, pointer(hashes), hashes.size, pointer(distances))
    return distances


def hamming_matrix(left: ArrayLike, right: ArrayLike) -> NDArray[np.uint8]:
    """The Hamming distances of each of `left` to each of `right`: shapes (n,) and (m,) to uint8 of shape (n, m)."""
    rows, columns = as_hashes(left, "left"), as_hashes(right, "right")
    distances = np.empty((rows.size, columns.size), dtype=np.uint8)
    lib.nd_hamming_many(pointer(rows), rows.size, pointer(columns), columns.size, pointer(distances))
    return distances


def pairs_plan(distinct: NDArray[np.uint64], distance: int) -> NDArray[np.uint64]:
    """The masks of the tables for the cheapest all-pairs search among distinct hashes; a single 0 means no tables."""
    return _plan(lib.nd_pairs_plan, lib.ND_MAX_TABLES, distinct, distance)


def pairs_bucket_mask(mask: int, count: int) -> int:
    """Select the bits of a table's mask to number its buckets by, for this many values."""
    return int(lib.nd_pairs_bucket_mask(mask, count))


def pairs_count(values: NDArray[np.uint64], bucket_mask: int, counts: NDArray[np.uint64]) -> None:
    """Add to `counts`, shape (buckets,), how many values each bucket gets."""
    lib.nd_pairs_count(pointer(values), values.size, bucket_mask, pointer(counts))


def pairs_scatter(
    values: NDArray[np.uint64], bucket_mask: int, cursors: NDArray[np.uint64], out: NDArray[np.uint64]
) -> None:
    """Put each value into `out` at its bucket's cursor and move the cursor on. `pairs_count` makes the cursors."""
    lib.nd_pairs_scatter(pointer(values), values.size, bucket_mask, pointer(cursors), pointer(out))


@ffi.def_extern(error=1)  # type: ignore[untyped-decorator]
def nd_python_sink(state: Any, left: Any, right: Any, count: int) -> int:
    """Hand a block of pairs from C to the PairSink behind `state`."""
    blocks = [np.frombuffer(bytes(ffi.buffer(side, count * 8)), dtype=np.uint64) for side in (left, right)]
    return 0 if ffi.from_handle(state)(*blocks) else 1


@dataclass(frozen=True, slots=True)
class Buckets:
    """The values of one table of an all-pairs search: `values[offsets[b]:offsets[b + 1]]` is bucket b."""

    values: NDArray[np.uint64]
    offsets: NDArray[np.uint64]
    bucket_mask: int
    masks: NDArray[np.uint64]
    table: int


def pairs_scan(buckets: Buckets, distance: int, block: int, part: tuple[int, int], sink: PairSink) -> None:
    """Give the pairs of buckets `first` to `last` to the sink, in blocks. Raises MemoryError."""
    handle = ffi.new_handle(sink)
    table = pointer(buckets.values), pointer(buckets.offsets), *part, buckets.bucket_mask, pointer(buckets.masks)
    check(lib.nd_pairs_scan(*table, buckets.table, distance, block, lib.nd_python_sink, handle))


def pairs_brute(values: NDArray[np.uint64], distance: int, block: int, rows: tuple[int, int], sink: PairSink) -> None:
    """Compare each value of a range of rows with every later one, without tables. Raises MemoryError."""
    handle = ffi.new_handle(sink)
    check(lib.nd_pairs_brute(pointer(values), values.size, *rows, distance, block, lib.nd_python_sink, handle))


def find_values(values: NDArray[np.uint64], wanted: NDArray[np.uint64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """For every value among the distinct `wanted` ones, in order: its place there, and its position.

    Raises MemoryError.
    """
    room = wanted.size + 1024
    given, hits = (pointer(values), values.size, pointer(wanted), wanted.size), ffi.new("size_t *")
    while True:
        places, positions = np.empty(room, dtype=np.int64), np.empty(room, dtype=np.int64)
        check(lib.nd_find_values(*given, pointer(places), pointer(positions), room, hits))
        if hits[0] <= room:
            return places[: hits[0]], positions[: hits[0]]
        room = hits[0]


@dataclass(frozen=True, slots=True)
class IndexTable:
    """A table of a lookup index, as the C core has it; `offsets` increase from 0 to the number of values."""

    mask: int
    first_bucket: int
    offsets: NDArray[np.uint64]
    values: NDArray[np.uint64]


def index_plan(distinct: NDArray[np.uint64], distance: int) -> NDArray[np.uint64]:
    """The masks of the distance + 1 tables of a lookup index."""
    return _plan(lib.nd_index_plan, MAX_DISTANCE + 1, distinct, distance)


def _plan(function: Any, most: int, distinct: NDArray[np.uint64], distance: int) -> NDArray[np.uint64]:
    masks = np.zeros(most, dtype=np.uint64)
    return masks[: function(pointer(distinct), distinct.size, distance, pointer(masks))]


def index_search(
    tables: Sequence[IndexTable], queries: NDArray[np.uint64], distance: int
) -> Iterator[tuple[NDArray[np.uint64], NDArray[np.uint64]]]:
    """Blocks of finds: the queries' numbers, and the indexed values within `distance` bits, each once."""
    array = ffi.new("nd_table[]", len(tables))
    kept = []
    for at, table in enumerate(tables):
        offsets, values = pointer(table.offsets), pointer(table.values)
        kept += [offsets, values]
        array[at] = (table.mask, table.first_bucket, table.offsets.size - 1, offsets, values)
    progress = ffi.new("size_t[2]")
    asked, room = (pointer(queries), queries.size, distance, progress), 1 << 16
    while progress[0] < queries.size:
        before = progress[0]
        numbers, values_found = np.empty(room, dtype=np.uint64), np.empty(room, dtype=np.uint64)
        lib.nd_index_search(array, len(tables), *asked, pointer(numbers), pointer(values_found), room, progress + 1)
        if progress[1]:
            yield numbers[: progress[1]], values_found[: progress[1]]
        if progress[0] == before:
            room *= 4  # one query alone has more finds than there was room for
