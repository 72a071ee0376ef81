"""Hashes of all runs of so many words."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt

Hashes = npt.NDArray[np.uint64]
Positions = npt.NDArray[np.int64]

# An odd number has an inverse modulo 2**64, so that the hash of a run is the same wherever it stands.
_BASE = 0x9E3779B97F4A7C15
_INVERSE = pow(_BASE, -1, 1 << 64)
_POWERS_AT_ONCE = 1 << 18


def powers(exponents: Positions) -> Hashes:
    """The powers of one odd number, modulo 2**64, for exponents from 0 on: shape (n,)."""
    low, high = exponents & (_POWERS_AT_ONCE - 1), exponents >> _POWERS_AT_ONCE.bit_length() - 1
    large = _made(pow(_BASE, _POWERS_AT_ONCE, 1 << 64), int(high.max(initial=0)) + 1)
    product: Hashes = _powers_of(_BASE)[low] * large[high]
    return product


def next_power(values: Hashes) -> Hashes:
    """Sums of powers with each exponent raised by one: shape (n,)."""
    return values * np.uint64(_BASE)


class Windows:
    """The hashes of the runs of a text's words, from their hashes, uint64 of shape (n,), at most 2**18 at once.

    Modulo 2**64, different texts of a thousand words or more can be made with equal hashes, so callers compare the
    words too.
    """

    def __init__(self, words: Hashes) -> None:
        factors = _powers_of(_BASE)[: words.size]
        self._sums = np.zeros(words.size + 1, dtype=np.uint64)
        np.cumsum(words * factors, out=self._sums[1:])

    def hashes(self, size: int) -> Hashes:
        """The hash of every run of `size` words: shape (n - size + 1,), or (0,)."""
        count = self._sums.size - size
        if count <= 0:
            return np.empty(0, dtype=np.uint64)
        sums = self._sums[size:] - self._sums[:count]
        return _mixed(sums * _powers_of(_INVERSE)[:count])


def least_in_windows(hashes: Hashes, window: int) -> Hashes:
    """The least of every `window` (1 on) hashes in a row: shape (n,) to (n - window + 1,), or (0,)."""
    if hashes.size < window:
        return np.empty(0, dtype=np.uint64)
    least, width = hashes, 1
    while width < window:
        step = min(width, window - width)
        least = np.minimum(least[:-step], least[step:])
        width += step
    return least


@lru_cache(maxsize=2)
def _powers_of(base: int) -> Hashes:
    return _made(base, _POWERS_AT_ONCE)


def _made(base: int, count: int) -> Hashes:
    factors = np.full(count, base, dtype=np.uint64)
    factors[0] = 1
    return np.cumprod(factors, dtype=np.uint64)


def _mixed(values: Hashes) -> Hashes:
    # The low bits of a sum of products depend on the low bits of the words alone.
    values = values ^ (values >> np.uint64(32))
    values = values * np.uint64(0xD6E8FEB86659FD93)
    return np.asarray(values ^ (values >> np.uint64(29)), dtype=np.uint64)
