"""All pairs of hashes within 0 to 16 bits of each other."""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from indexer.core.hamming import (
    MAX_DISTANCE,
    Buckets,
    PairSink,
    find_values,
    pairs_brute,
    pairs_bucket_mask,
    pairs_count,
    pairs_plan,
    pairs_scan,
    pairs_scatter,
)
from indexer.core.sketches import sorted_distinct
from indexer.errors import UsageError, shown, takes_named
from indexer.model.hashes import as_hashes

Hashes = npt.NDArray[np.uint64]
Positions = npt.NDArray[np.int64]
HashPairs = tuple[Hashes, Hashes]

BLOCK_PAIRS = 1 << 16
QUEUED_BLOCKS = 4
RANGES_PER_THREAD = 4
# Up to this many pairs of values are held until it is known whether there are more.
FEW_PAIRS = 1 << 22
# More than any machine has processors.
_MOST_THREADS = 10_000


class Pairs(NamedTuple):
    """Pairs of positions, `left[i]` < `right[i]`, and the Hamming distance of their hashes, as arrays of one length."""

    left: Positions
    right: Positions
    distance: npt.NDArray[np.uint8]


@takes_named
def find_pairs(
    hashes: npt.ArrayLike, distance: int = 3, threads: int | None = None, *, collapse: bool = False
) -> Pairs:
    """Every pair of positions whose hashes are within `distance` bits (0 to 16), once, sorted by left, then right.

    `hashes` is an array of n unsigned (or signed, same bits) 64-bit integers. With `collapse` the first position of
    each distinct hash represents it, and its other positions are paired only with this one: a million equal hashes make
    a million pairs instead of half a trillion. `threads` defaults to the number of processors; the result does not
    depend on it. Memory: about 16 bytes a hash, and 17 a pair; `iter_pairs` holds only a few blocks of pairs. Raises
    UsageError for other distances or types.
    """
    nothing = (np.empty(0, dtype=kind) for kind in (np.int64, np.int64, np.uint8))
    blocks = zip(nothing, *iter_pairs(hashes, distance, threads, collapse=collapse), strict=True)
    left, right, distances = (np.concatenate(parts) for parts in blocks)
    order = np.lexsort((right, left))
    return Pairs(left[order], right[order], distances[order])


def iter_pairs(
    hashes: npt.ArrayLike, distance: int = 3, threads: int | None = None, *, collapse: bool = False
) -> Iterator[Pairs]:
    """The pairs of `find_pairs` in blocks, in an arbitrary but deterministic order, in bounded memory.

    A block has at most about four million pairs. Memory: about 16 bytes a hash (24 if there are many pairs), and a
    few blocks for each thread.
    """
    values = as_hashes(hashes, "hashes")
    require_distance(distance)
    workers = number_of_threads(threads)
    ordered = np.sort(values)
    equal = ordered[1:] == ordered[:-1]
    distinct, repeated = (_distinct(ordered), _distinct(ordered[1:][equal])) if equal.any() else (ordered, ordered[:0])
    del ordered, equal
    pairs = value_pairs(distinct, distance, workers) if distance else iter(())
    held: list[HashPairs] = []
    count = 0
    for block in pairs:
        held.append(block)
        count += block[0].size
        if count > FEW_PAIRS:
            break
    if count <= FEW_PAIRS:
        held = [(np.concatenate([a for a, _ in held]), np.concatenate([b for _, b in held]))] if held else []
        places = _ValuePositions.of(values, held, repeated)
    else:
        places = _ValuePositions.all(values)
    yield from places.equal_pairs(repeated, collapse=collapse)
    while held:
        yield from places.expand(*held.pop(0), collapse=collapse)
    for left, right in pairs:
        yield from places.expand(left, right, collapse=collapse)


def require_distance(distance: int) -> None:
    """Raise UsageError unless it is a distance to search within."""
    if not isinstance(distance, int | np.integer) or not 0 <= distance <= MAX_DISTANCE:
        raise UsageError(f"distance {shown(distance)} is no whole number between 0 and {MAX_DISTANCE}")


def number_of_threads(threads: int | None) -> int:
    """A number of threads; for None, the processors available to this process. Raises UsageError."""
    if threads is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if not isinstance(threads, int | np.integer) or not 1 <= threads <= _MOST_THREADS:
        raise UsageError(f"threads must be a whole number from 1 to {_MOST_THREADS:,}, not {shown(threads)}")
    return int(threads)


@dataclass(frozen=True, slots=True)
class _ValuePositions:
    """The positions of values in the input: `positions[starts[i]:starts[i + 1]]` for `values[i]`, values in order."""

    values: Hashes
    starts: Positions
    positions: Positions

    @classmethod
    def of(cls, hashes: Hashes, held: list[HashPairs], repeated: Hashes) -> _ValuePositions:
        wanted = sorted_distinct(np.concatenate([*(part for block in held for part in block), repeated]))
        if wanted.size > hashes.size // 4:
            return cls.all(hashes)
        at, near = find_values(hashes, wanted)
        if at.size == wanted.size:
            positions = np.empty_like(near)
            positions[at] = near
            return cls(wanted, np.arange(wanted.size + 1), positions)
        order = np.argsort(at, kind="stable")
        return cls(wanted, np.searchsorted(at[order], np.arange(wanted.size + 1)), near[order])

    @classmethod
    def all(cls, hashes: Hashes) -> _ValuePositions:
        order = np.argsort(hashes, kind="stable")
        ordered = hashes[order]
        starts = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))
        return cls(ordered[starts], np.append(starts, hashes.size).astype(np.int64), order.astype(np.int64))

    def find(self, values: Hashes) -> Positions:
        if values.size < self.values.size // 16:
            return np.searchsorted(self.values, values)
        return find_values(values, self.values)[0]

    def counts(self, at: Positions) -> Positions:
        return self.starts[at + 1] - self.starts[at]

    def equal_pairs(self, repeated: Hashes, *, collapse: bool) -> Iterator[Pairs]:
        for index in np.searchsorted(self.values, repeated):
            places = self.positions[self.starts[index] : self.starts[index + 1]]
            if collapse:
                yield from _blocks(places[:1], places[1:], 0)
            else:
                for n in range(places.size - 1):
                    yield from _blocks(places[n : n + 1], places[n + 1 :], 0)

    def expand(self, left: Hashes, right: Hashes, *, collapse: bool) -> Iterator[Pairs]:
        a, b = self.find(left), self.find(right)
        distances = np.bitwise_count(left ^ right).astype(np.uint8)
        single = np.ones(a.size, dtype=bool) if collapse else self.counts(a) * self.counts(b) == 1
        if single.any():
            x, y = self.positions[self.starts[a[single]]], self.positions[self.starts[b[single]]]
            yield Pairs(np.minimum(x, y), np.maximum(x, y), distances[single])
        for i in np.flatnonzero(~single):
            many = self.positions[self.starts[b[i]] : self.starts[b[i] + 1]]
            for one in self.positions[self.starts[a[i]] : self.starts[a[i] + 1]]:
                yield from _blocks(np.array([one]), many, int(distances[i]))


def _distinct(ordered: Hashes) -> Hashes:
    return ordered[np.concatenate(([True], ordered[1:] != ordered[:-1]))] if ordered.size else ordered


def _blocks(one: Positions, many: Positions, distance: int) -> Iterator[Pairs]:
    step = 1 << 20
    for start in range(0, many.size, step):
        part = many[start : start + step]
        yield Pairs(np.minimum(one, part), np.maximum(one, part), np.full(part.size, distance, dtype=np.uint8))


def value_pairs(distinct: Hashes, distance: int, threads: int) -> Iterator[HashPairs]:
    """Blocks of pairs (smaller value, larger value) within `distance` bits among distinct hashes, each pair once.

    The order of the blocks does not depend on `threads`.
    """
    if distinct.size < 2:
        return
    masks = pairs_plan(distinct, distance)
    if masks.size == 1 and masks[0] == 0:
        # Rows near the front meet more of the others; many small ranges even that out.
        bounds = np.unique(np.linspace(0, distinct.size, 64, dtype=np.int64)).tolist()
        tasks = [partial(pairs_brute, distinct, distance, BLOCK_PAIRS, rows) for rows in pairwise(bounds)]
        yield from _in_order(tasks, threads)
        return
    scattered = np.empty_like(distinct)
    for table in range(masks.size):
        bucket_mask = pairs_bucket_mask(int(masks[table]), distinct.size)
        offsets = _scatter(distinct, bucket_mask, scattered, threads)
        buckets = Buckets(scattered, offsets, bucket_mask, masks, table)
        wanted = np.linspace(0, int(offsets[-1]), threads * RANGES_PER_THREAD + 1)[:-1]
        edges = np.unique(np.append(np.searchsorted(offsets, wanted), offsets.size - 1)).tolist()
        tasks = [partial(pairs_scan, buckets, distance, BLOCK_PAIRS, part) for part in pairwise(edges)]
        yield from _in_order(tasks, threads)


def _scatter(values: Hashes, bucket_mask: int, out: Hashes, threads: int) -> Hashes:
    buckets = 1 << bucket_mask.bit_count()
    slices = [values[a:b] for a, b in pairwise(np.linspace(0, values.size, threads + 1, dtype=np.int64).tolist())]
    counts = np.zeros((threads, buckets), dtype=np.uint64)
    _together([partial(pairs_count, part, bucket_mask, counts[n]) for n, part in enumerate(slices)])
    # The values of a bucket stand in the order of the slices, so the outcome is the same for any number of them.
    cursors = np.cumsum(counts.T.ravel()).reshape(buckets, threads).T - counts
    offsets = np.append(cursors[0], np.uint64(values.size))
    starts = np.ascontiguousarray(cursors)
    _together([partial(pairs_scatter, part, bucket_mask, starts[n], out) for n, part in enumerate(slices)])
    return offsets


def _together(tasks: Sequence[Callable[[], None]]) -> None:
    with ThreadPoolExecutor(len(tasks)) as pool:
        for done in [pool.submit(task) for task in tasks]:
            done.result()


def _in_order(tasks: Sequence[Callable[[PairSink], None]], threads: int) -> Iterator[HashPairs]:
    queues: list[queue.Queue[HashPairs | BaseException | None]] = [queue.Queue(QUEUED_BLOCKS) for _ in tasks]
    stopped = threading.Event()

    def put(number: int, item: HashPairs | BaseException | None) -> bool:
        while not stopped.is_set():
            try:
                queues[number].put(item, timeout=0.1)
            except queue.Full:
                continue
            return True
        return False

    def work(number: int) -> None:
        try:
            tasks[number](lambda left, right: put(number, (left, right)))
        except BaseException as error:  # raised again below, in the reader's thread
            put(number, error)
        else:
            put(number, None)

    with ThreadPoolExecutor(threads) as pool:
        try:
            for number in range(len(tasks)):
                pool.submit(work, number)
            for waiting in queues:
                while (item := waiting.get()) is not None:
                    if isinstance(item, BaseException):
                        raise item
                    yield item
        finally:
            stopped.set()
