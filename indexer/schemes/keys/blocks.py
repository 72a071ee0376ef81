"""Keys of a bit string: its blocks of 16 bits, a table for each, and exhaustive probes within a distance.

The pigeonhole principle with a threshold for each block (Manku, Jain and Das Sarma 2007, section 3; Qin et al., "GPH:
similarity search in Hamming space", ICDE 2018): block i is looked up with up to a_i bits flipped. A pair is missed only
if each block i differs in more than a_i bits, so only if it differs in the sum of all a_i + 1 bits or more.
"""

from __future__ import annotations

from functools import cache
from itertools import combinations

import numpy as np
import numpy.typing as npt

from indexer.errors import UsageError
from indexer.schemes.keys.layout import KeyLayout

BLOCK_BITS = 16
MAX_FLIPS = 2


def layout(bits: int) -> KeyLayout:
    """One table for each 16 of this many bits (a multiple of 16)."""
    return KeyLayout(tables=bits // BLOCK_BITS, bits=BLOCK_BITS)


def max_distance(bits: int) -> int:
    """The largest distance within reach of probes: 5 for 32 bits, 23 for 128."""
    return bits // BLOCK_BITS * (MAX_FLIPS + 1) - 1


def keys(payload: bytes) -> tuple[int, ...]:
    """The packed keys of a bit string, big-endian: its blocks from the left."""
    blocks = np.frombuffer(payload, dtype=">u2").tolist()
    return tuple(table << BLOCK_BITS | block for table, block in enumerate(blocks))


def flips(bits: int, distance: int) -> tuple[int, ...]:
    """The most bits to flip for each table, -1 for an unused one, with the fewest sufficient probes.

    Probes grow ever faster with flips (1, 17, 137), so the flips are spread as evenly as they go.
    """
    if not 0 <= distance <= max_distance(bits):
        raise UsageError(f"distance {distance}: lookups of {bits} bits reach distances from 0 to {max_distance(bits)}")
    tables = bits // BLOCK_BITS
    least, more = divmod(distance + 1, tables)
    return tuple(least - 1 + (table < more) for table in range(tables))


def probes(payload: bytes, distance: int) -> list[int]:
    """The packed keys to ask for: every bit string within `distance` bits of this one has at least one of them.

    Raises UsageError for a distance out of reach.
    """
    own = keys(payload)
    masks = (_masks(count) for count in flips(8 * len(payload), distance))
    return [probe for key, flipped in zip(own, masks, strict=True) for probe in (key ^ flipped).tolist()]


def probe_count(bits: int, distance: int) -> int:
    return sum(_masks(count).size for count in flips(bits, distance))


@cache
def _masks(count: int) -> npt.NDArray[np.int64]:
    masks = [
        sum(1 << place for place in places)
        for flipped in range(count + 1)
        for places in combinations(range(BLOCK_BITS), flipped)
    ]
    return np.array(masks, dtype=np.int64)
