"""Made hashes of several shapes."""

from __future__ import annotations

import numpy as np


def random_hashes(count: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 2**64, count, dtype=np.uint64)


def flipped(hashes: np.ndarray, flips: int, seed: int) -> np.ndarray:
    """Each hash with exactly this many different bits flipped."""
    draw = np.random.default_rng(seed)
    masks = [sum(1 << int(bit) for bit in draw.choice(64, flips, replace=False)) for _ in hashes]
    return hashes ^ np.array(masks, dtype=np.uint64)


SHAPES = {
    "random": lambda n: random_hashes(n, 1),
    "all equal": lambda n: np.full(n, 0xDEADBEEF, dtype=np.uint64),
    "half equal": lambda n: np.concatenate([np.full(n // 2, 7, dtype=np.uint64), random_hashes(n - n // 2, 2)]),
    "sorted from zero": lambda n: np.arange(n, dtype=np.uint64),
    "one upper half": lambda n: random_hashes(n, 3) & np.uint64(0xFFFFFFFF) | np.uint64(0xABCDEF01 << 32),
    "twelve bits vary": lambda n: random_hashes(n, 4) & np.uint64(0x0101_0101_0101_1111),
    "two clusters": lambda n: np.concatenate(
        [
            flipped(np.full(n // 2, 0, dtype=np.uint64), 2, 5),
            flipped(np.full(n - n // 2, 2**64 - 1, dtype=np.uint64), 3, 6),
        ]
    ),
    "every hash one flip from the centre": lambda n: np.array([1 << (i % 64) for i in range(n)], dtype=np.uint64),
    "bits in step": lambda n: (random_hashes(n, 7) & np.uint64(0xFFFF)) * np.uint64(0x0001_0001_0001_0001),
}
