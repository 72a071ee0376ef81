"""Improved consistent weighted sampling, slowly and plainly, from S. Ioffe's paper (ICDM 2010), algorithm 1.

The logarithm is written out, in the order of operations that simhash.h promises, so that results are the same bits.
"""

from __future__ import annotations

import math
import struct
from collections import Counter
from collections.abc import Mapping

from tests import oracle
from tests.schemes.oracle_minwise import MASK, WORD, shingle_hashes, splitmix, token_hashes

ROOT_OF_HALF = 0x3FE6A09E667F3BCD


def logarithm(x: float) -> float:
    """2 artanh((m - 1) / (m + 1)) + e ln 2 of x = m * 2**e, m from the root of 1/2 to that of 2."""
    bits = struct.unpack("<Q", struct.pack("<d", x))[0]
    exponent = (bits - ROOT_OF_HALF) >> 52
    m = math.ldexp(x, -exponent)
    s = (m - 1) / (m + 1)
    q = s * s
    total = 1 / 19
    for odd in (17, 15, 13, 11, 9, 7, 5, 3, 1):
        total = total * q + 1 / odd
    return exponent * 0.6931471805599453 + 2 * s * total


def uniform(half: int) -> float:
    return (half + 0.5) / 2**32


def gamma(number: int) -> float:
    """A draw of Gamma(2, 1) from the two halves of a number: minus the logarithm of the product of two uniform ones."""
    return -logarithm(uniform(number >> 32) * uniform(number & WORD))


def weighted_minhash(weights: Mapping[int, float], values: int) -> list[int]:
    """For each value the sample (feature, t), hashed."""
    best: list[tuple[float, int, int]] = [(math.inf, 0, 0)] * values
    for feature in sorted(weights):
        draws = splitmix(feature)
        for i in range(values):
            r, c, beta = gamma(next(draws)), gamma(next(draws)), uniform(next(draws) >> 32)
            t = math.floor(logarithm(weights[feature]) / r + beta)
            # Ioffe's a = c / (y exp(r)) with y = exp(r (t - beta)), by its logarithm
            a = logarithm(c) - r * (t - beta) - r
            if a < best[i][0]:
                best[i] = (a, feature, t)
    return [
        oracle.lookup8(feature.to_bytes(8, "little") + (t & MASK).to_bytes(8, "little")) & WORD
        for _, feature, t in best
    ]


def weights(text: str, shingle: int = 1) -> Counter[int]:
    return Counter(token_hashes(text) if shingle == 1 else shingle_hashes(text, shingle))


def weighted_jaccard(one: Mapping[int, float], other: Mapping[int, float]) -> float:
    features = one.keys() | other.keys()
    least = sum(min(one.get(feature, 0), other.get(feature, 0)) for feature in features)
    return least / sum(max(one.get(feature, 0), other.get(feature, 0)) for feature in features)
