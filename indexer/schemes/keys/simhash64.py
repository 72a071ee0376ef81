"""The 16 keys of a 64-bit simhash, and their probes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from itertools import combinations, product

import numpy as np
import numpy.typing as npt

from indexer.core.sketches import simhash_keys as core_simhash_keys
from indexer.errors import UsageError
from indexer.schemes.keys.layout import KeyLayout

SIMHASH64_LAYOUT = KeyLayout(tables=16, bits=28)

MAX_DISTANCE = 7
# Within this distance two values share a key as it is, so the probes are the keys.
_OF_KEYS = 3

# The 64 bits, from the most significant, cut wherever a block of any table begins or ends: the bits of one cell are in
# the keys of the same tables. So whether a plan finds a pair depends only on how many bits differ in each cell.
CELLS = (12, 4, 8, 4, 4, 4, 4, 8, 4, 12)

# For each radius from 0 on the probes: a table, and a word for each way of flipping bits of its key. A word has a digit
# for each cell of the key, from its most significant bit: "0100" is every key with one bit flipped in the second cell.
#
# How they were found: a word costs as many probes as it has keys (the product of the binomials cell over digit) and
# covers the patterns of differing bits (counts for each cell, their sum at most the radius) that show these digits in
# its table. The cheapest set of words that covers every pattern is an integer program (set cover), solved with HiGHS:
# proven optimal for every radius. tests/schemes/test_keys.py holds that no pattern is missed.
_PLANS = """
15 0000

0 0000, 11 0000

0 0000, 1 00000, 5 000000, 6 00000, 11 0000, 12 000

0 0000, 1 00000, 2 0000, 3 000, 4 0000, 5 000000, 6 00000, 7 0000, 8 0000, 9 00000, 10 000000, 11 0000, 12 000,
13 0000, 14 00000, 15 0000

2 0000 0001 1000, 3 000 010, 4 0000, 5 100000, 7 0000 0001, 8 0000, 9 00000 00010 00100, 10 000000, 11 0100, 12 010,
13 0000, 14 00000, 15 0000 0001 1000

0 0000, 1 00000 00100 10000, 2 0000 0001 1000, 3 000 100, 4 0000 0001 0010 0100 1000, 5 000000 001000 010100 100010,
6 00100 01000, 7 0000, 8 0000, 9 01000 10000, 10 000000 001010 010001 100000, 11 0000 0001 0010 0100, 12 000 010,
13 0000 0010 0100, 14 00000 00001 01000, 15 0000 1000

0 0000 0001 0010 1000 1010 1100, 1 00000 00001 00010 10000 10001, 2 0000 0001 0100 1000, 3 000 010 100,
4 0000 0010 0100 0101 1000, 5 000000 000001 000010, 6 00000 00001 10000, 7 0000 1000, 8 0000 0010,
9 00000 00010 00100 01000 10000, 10 000000 000001 000010 000100 001000 001001, 11 0000 0001 0010 0100 0101 1001,
12 000 010, 13 0000 0010 0100 1000, 14 00000 00010 00100 01000, 15 0000 0001 0010 0101 1000

0 0000 0010 0100 0110 1000 1010 1100, 1 00000 00100 10001 10010, 2 0000 0010 1000 1100 2000, 3 000 001 100 101,
4 0000 0010 0100 0101 0110 0200 1100 2000, 5 000000 000001 000010 100000 101000 110000 200000,
6 00000 00001 00100 01000 10000 10001, 7 0000 0001 0010 0100 1000 1001, 8 0000 0001 0010 0011 0100 1000,
9 00000 00010 00100 00110 01000 10000, 10 000000 000010 000100 001000 002000 011000 101000,
11 0000 0020 0100 0101 0110 0200 1000 1100, 12 000 001 010, 13 0000 0001 0100 0110 0200 1100,
14 00000 00001 01010 01100, 15 0000 0001 0100 0101 1000 1001 1100
"""
PLANS: tuple[Mapping[int, str], ...] = tuple(
    {int(table): words for table, _, words in (each.partition(" ") for each in " ".join(plan.split()).split(", "))}
    for plan in _PLANS.split("\n\n")
)


@lru_cache(maxsize=16)
def simhash_keys(value: int) -> tuple[int, ...]:
    """The 16 packed keys of an unsigned 64-bit simhash, by table.

    Table 4b + s has the b-th block of 16 bits from the left, followed by the s-th block of 12 bits of the 48 bits left,
    in order. Two values with at most 3 differing bits share the key of at least one table. The tables are one choice of
    those of Manku, Jain and Das Sarma, "Detecting near-duplicates for web crawling", WWW 2007, section 3.
    """
    return tuple(core_simhash_keys(np.array([value], dtype=np.uint64))[0].tolist())


def key_positions(table: int) -> tuple[int, ...]:
    b, s = divmod(table, 4)
    block = range(16 * b, 16 * b + 16)
    left = [position for position in range(64) if position not in block]
    return (*block, *left[12 * s : 12 * s + 12])


def key_cells(table: int) -> tuple[int, ...]:
    cell_of = [cell for cell, size in enumerate(CELLS) for _ in range(size)]
    return tuple(dict.fromkeys(cell_of[position] for position in key_positions(table)))


def probes(value: int, distance: int) -> Sequence[int]:
    """The packed keys to ask for: every value within `distance` bits (0 to 7) of `value` has at least one of them.

    `value` is an unsigned 64-bit simhash; the keys are Python integers without repetition: 1, 2, 6, 16, 90, 278, 744
    and 1,968 of them for distances 0 to 7. Raises UsageError for another distance.
    """
    if not 0 <= distance <= MAX_DISTANCE:
        raise UsageError(f"distance {distance}: lookups are exact for distances from 0 to {MAX_DISTANCE} only")
    if distance == _OF_KEYS:
        return simhash_keys(value)
    tables, masks = _plan(distance)
    probed: list[int] = (np.array(simhash_keys(value), dtype=np.int64)[tables] ^ masks).tolist()
    return probed


@cache
def _plan(distance: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    flips = [
        (table, mask)
        for table, words in PLANS[distance].items()
        for word in words.split()
        for mask in _masks(table, word)
    ]
    pairs = np.array(flips, dtype=np.int64)
    return pairs[:, 0], pairs[:, 1]


def _masks(table: int, word: str) -> list[int]:
    choices = []
    end = SIMHASH64_LAYOUT.bits
    for cell, digit in zip(key_cells(table), word, strict=True):
        bits = [1 << (end - 1 - place) for place in range(CELLS[cell])]
        choices.append([sum(chosen) for chosen in combinations(bits, int(digit))])
        end -= CELLS[cell]
    return [sum(chosen) for chosen in product(*choices)]
