"""Shingles, minhash, supershingles and the b-bit form, slowly and plainly, to hold the C core and the schemes against.

From A. Broder, On the Resemblance and Containment of Documents (1997); A. Broder et al., Syntactic Clustering of the
Web (1997); P. Li and A. C. Koenig, b-Bit Minwise Hashing (2010). It shares nothing with the core.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from tests import oracle

WORD = (1 << 32) - 1
MASK = (1 << 64) - 1


def splitmix(seed: int) -> Iterator[int]:
    """SplitMix64: Steele, Lea and Flood, Fast Splittable Pseudorandom Number Generators (2014), figure 17."""
    state = seed
    while True:
        state = (state + 0x9E3779B97F4A7C15) & MASK
        z = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        yield z ^ (z >> 31)


def token_hashes(text: str, *, numbers: bool = False) -> list[int]:
    return [oracle.lookup8(token.encode()) for token in oracle.tokens(text, numbers=numbers)]


def shingle_hashes(text: str, size: int, *, numbers: bool = False) -> list[int]:
    hashes = [one.to_bytes(8, "little") for one in token_hashes(oracle.without_marks(text), numbers=numbers)]
    if not hashes:
        return []
    runs = [hashes[start : start + size] for start in range(max(1, len(hashes) - size + 1))]
    return [oracle.lookup8(b"".join(run)) for run in runs]


def minhash(features: Iterable[int], values: int) -> list[int]:
    """For each permutation the least image of the features' low halves."""
    low, draws = {feature & WORD for feature in features}, splitmix(0)
    signature = []
    for _ in range(values):
        a, b = (next(draws) >> 32) | 1, next(draws) >> 32
        signature.append(min((a * x + b) & WORD for x in low))
    return signature


def fast_minhash(features: Iterable[int], values: int, rounds: int = 8) -> list[int]:
    """Fast similarity sketching (Dahlgaard, Knudsen and Thorup 2017), from docs/schemes.md: in each round every feature
    goes to one place, and what is empty after the last takes the least under a permutation of its own."""
    found = set(features)
    minima: dict[int, int] = {}
    multipliers = splitmix(1)
    for number in range(rounds):
        multiplier = next(multipliers) | 1
        products = [feature * multiplier & MASK for feature in found]
        for place in range(values):
            here = [product >> 12 for product in products if product * values >> 64 == place]
            if here and place not in minima:
                minima[place] = (number << 52) + min(here)
    draws = splitmix(0)
    for place in range(values):
        a, b = (next(draws) >> 32) | 1, next(draws) >> 32
        if place not in minima:
            minima[place] = min((a * (feature & WORD) + b) & WORD for feature in found)
    return [next(splitmix((minima[place] + place * 0x9E3779B97F4A7C15) & MASK)) >> 32 for place in range(values)]


def band_keys(signature: Sequence[int], bands: int, rows: int) -> list[int]:
    """One key of 32 bits for each run of `rows` values."""
    runs = [signature[band * rows : (band + 1) * rows] for band in range(bands)]
    return [oracle.lookup8(b"".join(value.to_bytes(4, "little") for value in run)) & WORD for run in runs]


def pack(signature: Sequence[int], bits: int, multiplier: int = 0x9E3779B1) -> bytes:
    """The highest bits of each value times a number: 1 for values of fast_minhash, which are hashes already."""
    kept = [f"{(value * multiplier & WORD) >> (32 - bits):0{bits}b}" for value in signature]
    if bits == 16:
        return b"".join(int(one, 2).to_bytes(2, "little") for one in kept)
    digits = "".join(kept)
    digits += "0" * (-len(digits) % 8)
    return bytes(int(digits[at : at + 8], 2) for at in range(0, len(digits), 8))


def unpack(payload: bytes, values: int, bits: int) -> list[int]:
    if bits == 16:
        return [int.from_bytes(payload[at : at + 2], "little") for at in range(0, 2 * values, 2)]
    digits = "".join(f"{byte:08b}" for byte in payload)
    return [int(digits[at * bits : (at + 1) * bits], 2) for at in range(values)]


def similarity(one: bytes, other: bytes, values: int, bits: int) -> float:
    """The share of equal values, without those that agree by chance."""
    pairs = zip(unpack(one, values, bits), unpack(other, values, bits), strict=True)
    equal = sum(left == right for left, right in pairs)
    chance = 2.0**-bits
    return min(1.0, max(0.0, (equal / values - chance) / (1 - chance)))
