"""Random projection, slowly and plainly: M. Charikar (STOC 2002), section 3; M. Henzinger (SIGIR 2006), section 2.2."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable

from tests.schemes.oracle_minwise import splitmix


def projection(features: Iterable[int], bits: int) -> list[int]:
    """The signs of the sums of the features' coordinates, -1 or +1 on each axis: 1 for a sum above 0.

    The axes of a word of 64 are numbered from the highest bit of the drawn number.
    """
    sums = [0] * bits
    for feature in features:
        draws = splitmix(feature)
        for word in range(bits // 64):
            drawn = f"{next(draws):064b}"
            for place, digit in enumerate(drawn):
                sums[64 * word + place] += 1 if digit == "1" else -1
    return [int(total > 0) for total in sums]


def payload(bits: list[int]) -> bytes:
    return bytes(int("".join(map(str, bits[at : at + 8])), 2) for at in range(0, len(bits), 8))


def keys(bits: list[int], block: int) -> list[int]:
    digits = "".join(map(str, bits))
    return [int(digits[table * block : (table + 1) * block], 2) for table in range(len(bits) // block)]


def cosine(one: Iterable[int], other: Iterable[int]) -> float:
    left, right = Counter(one), Counter(other)
    product = sum(left[feature] * right[feature] for feature in left)
    return product / math.sqrt(sum(n * n for n in left.values()) * sum(n * n for n in right.values()))


def similarity(one: bytes, other: bytes) -> float:
    differing = sum((a ^ b).bit_count() for a, b in zip(one, other, strict=True))
    return max(0.0, math.cos(math.pi * differing / (8 * len(one))))
