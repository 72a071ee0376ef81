"""All pairs and lookups, beside faiss in the same run: `python -m tests.benchmarks.pairs [--large]`.

Hashes are random with 5% planted copies of 3 flipped bits. `--large` adds 100 million hashes.
"""

from __future__ import annotations

import os
import resource
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from indexer.core.hamming_index import HammingIndex
from indexer.core.native import simd_level
from indexer.core.pairs import find_pairs

Hashes = npt.NDArray[np.uint64]

ROUNDS = 5


def random_hashes(count: int, seed: int) -> Hashes:
    """Even random hashes."""
    return np.random.default_rng(seed).integers(0, 2**64, count, dtype=np.uint64)


def planted(count: int, seed: int) -> Hashes:
    """Random hashes of which one in twenty is a copy of another with 3 bits flipped."""
    draw = np.random.default_rng(seed)
    hashes = random_hashes(count, seed)
    copies = hashes[: count // 20].copy()
    for _ in range(3):
        copies ^= np.uint64(1) << draw.integers(0, 64, copies.size, dtype=np.uint64)
    hashes[-copies.size :] = copies
    return hashes


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds, and what the work gave."""
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


def median(work: Callable[[], Any]) -> float:
    """The median of ROUNDS runs, in seconds."""
    return sorted(timed(work)[0] for _ in range(ROUNDS))[ROUNDS // 2]


def faiss_index(hashes: Hashes) -> Any:
    """faiss's multi-hash index of 4 tables of 16 bits, or None where faiss is not installed."""
    try:
        import faiss
    except ImportError:
        return None
    faiss.omp_set_num_threads(os.cpu_count() or 1)
    index = faiss.IndexBinaryMultiHash(64, 4, 16)
    index.nflip = 0
    index.add(hashes.view(np.uint8).reshape(-1, 8))
    return index


def all_pairs() -> dict[str, Any]:
    """A million hashes, beside faiss; ten million; skewed ones beside even ones."""
    figures: dict[str, Any] = {}
    million = planted(1_000_000, 1)
    ours = median(lambda: find_pairs(million, 3))
    pairs = find_pairs(million, 3).left.size
    print(f"all pairs within 3 bits, 1,000,000 hashes: {ours:.3f} s, {pairs:,} pairs, {os.cpu_count()} threads")
    figures["1M"] = {"seconds": ours, "pairs": pairs}
    seconds, index = timed(lambda: faiss_index(million))
    if index is None:
        print("  faiss is not installed: no ratio (make bench installs it)")
    else:
        asked, found = timed(lambda: index.range_search(million.view(np.uint8).reshape(-1, 8), 4))
        theirs = (int(found[0][-1]) - million.size) // 2
        print(
            f"  faiss IndexBinaryMultiHash 4 x 16: {seconds + asked:.2f} s, {theirs:,} pairs: "
            f"{(seconds + asked) / ours:.0f} x ours"
        )
        figures["1M"] |= {"faiss_seconds": seconds + asked, "faiss_pairs": theirs}
    many = planted(10_000_000, 2)
    took = median(partial(find_pairs, many, 3))
    print(f"all pairs within 3 bits, 10,000,000 hashes: {took:.2f} s")
    figures["10M"] = {"seconds": took}
    del many
    even = planted(200_000, 3)
    shared = even & np.uint64(0xFFFF_FFFF_FFFF) | np.uint64(0xABCD << 48)
    half = million.copy()
    half[: half.size // 2] = half[0]
    for label, plain, skewed in (
        ("200,000 that share 16 bits", even, shared),
        ("1,000,000 of which half are equal", million, half),
    ):
        usual, took = (median(partial(find_pairs, hashes, 3, collapse=True)) for hashes in (plain, skewed))
        print(f"{label}: {took:.3f} s, {took / usual:.2f} x an even collection of that size")
        figures[label] = {"seconds": took, "ratio": took / usual}
    return figures


def lookups() -> dict[str, Any]:
    """Batched lookups among a million hashes."""
    hashes = random_hashes(1_000_000, 4)
    queries = hashes[:500_000] ^ np.uint64(0x8001)
    built, index = timed(lambda: HammingIndex(hashes))
    ours = queries.size / median(lambda: index.search(queries))
    print(f"HammingIndex of 1,000,000: built in {built:.2f} s, {index.nbytes / len(index):.0f} bytes a hash")
    print(f"  {ours:,.0f} lookups a second within 3 bits, in batches, one thread")
    figures: dict[str, Any] = {"per_second": ours, "octets": index.nbytes / len(index)}
    other = faiss_index(hashes)
    if other is not None:
        few = queries[:100_000].view(np.uint8).reshape(-1, 8)
        theirs = few.shape[0] / timed(lambda: other.range_search(few, 4))[0]
        print(f"  faiss, {os.cpu_count()} threads: {theirs:,.0f}; ours are {ours / theirs:.1f} x as many")
        figures["faiss_per_second"] = theirs
    return figures


def large() -> dict[str, Any]:
    """A hundred million hashes: time and peak memory."""
    hashes = planted(100_000_000, 5)
    took, found = timed(lambda: find_pairs(hashes, 3))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(
        f"all pairs within 3 bits, 100,000,000 hashes: {took:.1f} s, {found.left.size:,} pairs, "
        f"peak {peak / 1e9:.1f} GB"
    )
    return {"seconds": took, "pairs": int(found.left.size), "peak": peak}


def run(*, with_large: bool = False) -> dict[str, Any]:
    """Measure and print; gives the figures."""
    print(f"instruction level {simd_level()}")
    figures = {"pairs": all_pairs(), "lookups": lookups()}
    if with_large:
        figures["large"] = large()
    return figures


if __name__ == "__main__":
    run(with_large="--large" in sys.argv[1:])
