"""Minimum-wise samples: signatures, their bands, and estimates from b bits of each value.

A signature is an array of 32-bit values. Values at one place of two signatures are equal with a probability equal to
the similarity.
"""

from __future__ import annotations

from abc import abstractmethod
from math import comb, isclose

import numpy as np
import numpy.typing as npt

from indexer.core.sketches import (
    BITS,
    MAX_ROWS,
    MAX_VALUES,
    band_keys,
    equal_parts,
    equal_parts_of_pairs,
    pack,
    sorted_distinct,
)
from indexer.errors import UsageError
from indexer.model import Sketch
from indexer.model.ragged import Ragged
from indexer.schemes.base import (
    Hashes,
    Plan,
    Positions,
    Scheme,
    Similarities,
    Weights,
    checked_choice,
    checked_integer,
    checked_share,
    require_bytes,
)
from indexer.schemes.keys.layout import KeyLayout

Signature = npt.NDArray[np.uint32]

MAX_BANDS = 512
MAX_SHINGLE = 64

# Bands that a threshold asks for find at least this share of the pairs that are exactly as similar.
WANTED_RECALL = 0.98

# Of 28 bits a million documents in 25 tables give one chance meeting in ten lookups, of 32 one in 170.
KEY_BITS = 32
_KEY_MASK = np.uint64((1 << KEY_BITS) - 1)

# Knuth's multiplier (The Art of Computer Programming, volume 3, section 6.4): 2**32 times the golden section. The bits
# that are kept are the highest of a product, since minima have few high bits, and low ones of a product only are those
# of the features: two features alike in them would be taken for each other in every value.
_SPREAD = np.uint32(0x9E3779B1)


class MinwiseScheme(Scheme):
    """A scheme with a signature as its sketch: the bands' hashes are its keys, its b-bit form the payload."""

    values: int
    bits: int
    bands: int
    rows: int

    @abstractmethod
    def signature(self, features: Hashes, weights: Weights | None = None) -> Signature | None:
        """The signature of hashes with repeats; None without any. Sets have no weights."""

    def sketch_features(self, features: Hashes, weights: Weights | None = None) -> Sketch | None:
        signature = self.signature(features, weights)
        if signature is None:
            return None
        keys = band_keys(signature, self.bands, self.rows) & _KEY_MASK | self._tables
        return Sketch(self.id, self._packed(signature), tuple(keys.tolist()), sorted_distinct(features).size)

    def _packed(self, signature: Signature) -> bytes:
        return packed_bits(signature, self.bits)

    def compare(self, payloads: Ragged, left: Positions, right: Positions) -> Similarities:
        equal = equal_parts_of_pairs(payloads.matrix(self.payload_bytes), left, right, self.bits)
        return estimated(equal, self.values, self.bits)

    def compare_one(self, payload: bytes, payloads: Ragged) -> Similarities:
        require_bytes(self, (payload,))
        return estimated(equal_parts(payload, payloads.matrix(self.payload_bytes), self.bits), self.values, self.bits)

    def plan(self, similarity: float) -> Plan:
        asked = checked_share(self.family, "similarity", similarity)
        recall = banding_recall(asked, self.bands, self.rows, self.agreeing)
        least = f"at least {self.agreeing} of {self.bands}" if self.agreeing > 1 else f"one of {self.bands}"
        explanation = (
            f"A candidate has {least} bands of {self.rows} values in common; "
            f"{recall:.2%} of the pairs of similarity {asked:g} are expected to."
        )
        return Plan(similarity, self.bands, self.agreeing, recall, isclose(asked, 1.0), explanation)

    def _choose(self, values: int, bits: int, bands: int, rows: int) -> None:
        self.values = checked_integer(self.family, "values", values, 1, MAX_VALUES)
        self.bits = checked_choice(self.family, "bits", bits, BITS)
        self.bands = checked_integer(self.family, "bands", bands, 1, min(MAX_BANDS, values))
        self.rows = checked_integer(self.family, "rows", rows, 1, min(MAX_ROWS, values))
        if bands * rows > values:
            raise UsageError(f"{self.family}: bands={bands} of rows={rows} need {bands * rows} values, not {values}")
        self.payload_bytes = (values * bits + 7) // 8
        self.layout = KeyLayout(bands, KEY_BITS)
        self._tables = np.arange(bands, dtype=np.uint64) << np.uint64(KEY_BITS)


def packed_bits(signature: Signature, bits: int) -> bytes:
    """The b-bit form (Li and Koenig 2010): of each value v the highest `bits` of v * 0x9E3779B1 modulo 2**32, in order.

    16 bits are two bytes, the lower first; fewer than 8 fill a byte from its highest bit on, the last with zeros.
    """
    return pack(signature * _SPREAD, bits)


def estimated(equal: npt.NDArray[np.int32], values: int, bits: int) -> Similarities:
    """The similarities of signatures with so many equal groups of bits, as `equal_parts` counts them.

    b bits of different values agree with the probability c = 2**-b, so the share of equal ones is s + (1 - s) * c, and
    s is (share - c) / (1 - c) (Li and Koenig 2010, for sets small beside all possible features), kept within 0 and 1.
    """
    chance, filling = 2.0**-bits, (values * bits + 7) // 8 * 8 // bits - values
    return np.clip(((equal - filling) / values - chance) / (1 - chance), 0.0, 1.0)


def banding_recall(similarity: float, bands: int, rows: int, agreeing: int = 1) -> float:
    """The share of pairs of this similarity with at least `agreeing` equal bands.

    A band of r values is equal with the probability p = s**r; of b bands, at least m are with the sum over i from m to
    b of binomial(b, i) * p**i * (1 - p)**(b - i) (Leskovec, Rajaraman and Ullman, Mining of Massive Datasets, section
    3.4).
    """
    p = similarity**rows
    missed = sum(comb(bands, i) * p**i * (1 - p) ** (bands - i) for i in range(agreeing))
    return float(min(1.0, max(0.0, 1 - missed)))


def bands_for(family: str, threshold: float, values: int, most: int = MAX_BANDS) -> tuple[int, int]:
    """(bands, rows) for a similarity: the longest bands that find at least 98% of the pairs at it.

    Raises UsageError if not even bands of one value suffice.
    """
    for rows in range(min(values, MAX_ROWS), 0, -1):
        bands = min(values // rows, most)
        if banding_recall(threshold, bands, rows) >= WANTED_RECALL:
            return bands, rows
    raise UsageError(f"{family}: {values} values are too few for the threshold {threshold}; ask for more values")


def banding(
    family: str, values: int, bands: int | None, rows: int | None, threshold: float | None, usual: float,
    most: int = MAX_BANDS,
) -> tuple[int, int]:  # fmt: skip
    if threshold is not None and (bands is not None or rows is not None):
        raise UsageError(f"{family}: give threshold, or bands and rows, not both")
    checked_integer(family, "values", values, 1, MAX_VALUES)
    if bands is None and rows is None:
        wanted = usual if threshold is None else checked_share(family, "threshold", threshold)
        return bands_for(family, wanted, values, most)
    if rows is None:
        return bands or 0, values // checked_integer(family, "bands", bands, 1, min(MAX_BANDS, values))
    checked_integer(family, "rows", rows, 1, min(MAX_ROWS, values))
    return (min(values // rows, MAX_BANDS) if bands is None else bands), rows
