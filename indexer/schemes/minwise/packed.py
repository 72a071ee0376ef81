"""The b-bit form of signatures, and estimates from it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from indexer.core.sketches import differing_values, pack
from indexer.schemes.base import Similarities

Signature = npt.NDArray[np.uint32]

# An estimate of the containment is given while its standard error is below this.
MAX_CONTAINMENT_ERROR = 0.05

# Knuth's multiplier (The Art of Computer Programming, volume 3, section 6.4): 2**32 times the golden section. The bits
# that are kept are the highest of a product, since minima have few high bits, and low ones of a product only are those
# of the features: two features alike in them would be taken for each other in every value.
_SPREAD = np.uint32(0x9E3779B1)


def packed_bits(signature: Signature, bits: int) -> bytes:
    """The b-bit form (Li and Koenig 2010): of each value v the highest `bits` of v * 0x9E3779B1 modulo 2**32, in order.

    16 bits are two bytes, the lower first; fewer than 8 fill a byte from its highest bit on, the last with zeros.
    """
    return pack(signature * _SPREAD, bits)


def estimates(one: bytes, others: Sequence[bytes], values: int, bits: int) -> npt.NDArray[np.float64]:
    """The similarity of one packed signature to each of the others, unbiased before it is kept within 0 and 1.

    b bits of different values agree with the probability c = 2**-b, so the share of equal ones is s + (1 - s) * c, and
    s is (share - c) / (1 - c) (Li and Koenig 2010, for sets small beside all possible features).
    """
    return estimated((values - differing_values(one, others, bits).astype(np.int64)) / values, bits)


def estimated(share: npt.NDArray[np.float64], bits: int) -> Similarities:
    chance = 2.0**-bits
    return np.clip((share - chance) / (1 - chance), 0.0, 1.0)


def standard_error(similarity: npt.ArrayLike, values: int, bits: int) -> npt.NDArray[np.float64]:
    """The standard error of the estimate at a similarity (Li and Koenig 2010, equation 11, with c = 2**-b)."""
    s, chance = np.asarray(similarity, dtype=np.float64), 2.0**-bits
    share = s + (1 - s) * chance
    return np.asarray((share * (1 - share) / values) ** 0.5 / (1 - chance), dtype=np.float64)


def containment_error(
    similarity: npt.ArrayLike, one: npt.ArrayLike, other: npt.ArrayLike, values: int, bits: int
) -> npt.NDArray[np.float64]:
    """The standard error of a containment computed from an estimated Jaccard coefficient and two sets' sizes.

    The containment is c = s / (1 + s) * (one + other) / least, so an error of s counts (one + other) / least / (1 +
    s)**2 times: a page in a book has a small s and a large factor. All may be arrays of broadcastable shapes.
    """
    s, sizes = np.asarray(similarity, dtype=np.float64), np.asarray(one, dtype=np.float64)
    others = np.asarray(other, dtype=np.float64)
    factor = (sizes + others) / np.minimum(sizes, others) / (1 + s) ** 2
    return np.asarray(standard_error(s, values, bits) * factor, dtype=np.float64)


def containments(
    similarity: npt.ArrayLike, one: npt.ArrayLike, other: npt.ArrayLike, values: int, bits: int
) -> npt.NDArray[np.float64]:
    """The share of the smaller set in the larger, by an estimated Jaccard coefficient and the sizes of the sets.

    NaN wherever `containment_error` is 0.05 or more. The sizes bound the coefficient, so the result is within 0 and 1.
    All may be arrays of broadcastable shapes.
    """
    sizes, others = np.asarray(one, dtype=np.float64), np.asarray(other, dtype=np.float64)
    least, greatest = np.minimum(sizes, others), np.maximum(sizes, others)
    s = np.minimum(np.asarray(similarity, dtype=np.float64), least / greatest)
    certain = containment_error(s, sizes, others, values, bits) < MAX_CONTAINMENT_ERROR
    return np.where(certain, np.clip(s / (1 + s) * (sizes + others) / least, 0.0, 1.0), np.nan)
