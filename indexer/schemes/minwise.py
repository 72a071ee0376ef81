"""What schemes of minimum-wise samples share: banding, the b-bit form, the estimate, the plan.

A signature is an array of 32-bit values; those at one place are equal in two signatures with the probability that is
the similarity of the documents.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from math import comb, isclose
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from indexer import core, core_sketch
from indexer.errors import UsageError
from indexer.model import Sketch
from indexer.model.ragged import Ragged
from indexer.schemes import parameters
from indexer.schemes.base import Hashes, Parameter, Plan, Positions, Scheme, Similarities, Weights, require_bytes
from indexer.schemes.keys import KeyLayout

Signature = npt.NDArray[np.uint32]

MAX_SHINGLE = 64
MAX_VALUES = core_sketch.MAX_VALUES
MAX_BANDS = 512
BITS = core_sketch.BITS

# An estimate of the containment is given while its standard error is below this.
MAX_CONTAINMENT_ERROR = 0.05

# Of 28 bits a million documents in 25 tables give one chance meeting in ten lookups, of 32 one in 170.
KEY_BITS = 32
_KEY_MASK = np.uint64((1 << KEY_BITS) - 1)

# Bands that a threshold asks for find at least this share of the pairs that are exactly as similar.
WANTED_RECALL = 0.98

# Knuth's multiplier (The Art of Computer Programming, volume 3, section 6.4): 2**32 times the golden section. The bits
# that are kept are the highest of a product, since minima have few high bits, and low ones of a product only are those
# of the features: two features alike in them would be taken for each other in every value.
_SPREAD = np.uint32(0x9E3779B1)


def banding_recall(similarity: float, bands: int, rows: int, agreeing: int = 1) -> float:
    """The share of pairs of this similarity of which at least `agreeing` bands are equal.

    A band of r values is equal with the probability p = s**r; of b bands, at least m are with the sum over i from m
    to b of binomial(b, i) * p**i * (1 - p)**(b - i) (Leskovec, Rajaraman and Ullman, Mining of Massive Datasets,
    section 3.4).
    """
    p = similarity**rows
    missed = sum(comb(bands, i) * p**i * (1 - p) ** (bands - i) for i in range(agreeing))
    return float(min(1.0, max(0.0, 1 - missed)))


def bands_for(family: str, threshold: float, values: int, most: int = MAX_BANDS) -> tuple[int, int]:
    """(bands, rows) for a similarity: the longest bands that together find at least 98% of the pairs that have it.

    All bands that fit into the values are used, but no more than `most`. Raises UsageError where not even bands of one
    value suffice.
    """
    for rows in range(min(values, core.MAX_ROWS), 0, -1):
        bands = min(values // rows, most)
        if banding_recall(threshold, bands, rows) >= WANTED_RECALL:
            return bands, rows
    raise UsageError(f"{family}: {values} values are too few for the threshold {threshold}; ask for more values")


def pack(signature: Signature, bits: int) -> bytes:
    """The b-bit form (Li and Koenig 2010): of each value v the highest `bits` of v * 0x9E3779B1 modulo 2**32, in order.

    16 bits are two octets, the lower first; fewer than 8 fill an octet from its highest bit on, the last with zeros.
    """
    return core_sketch.pack(signature * _SPREAD, bits)


def estimates(one: bytes, others: Sequence[bytes], values: int, bits: int) -> npt.NDArray[np.float64]:
    """The similarity of one packed signature to each of the others, unbiased but for being kept within 0 and 1.

    b bits of different values agree with the probability c = 2**-b, so that the share of equal ones is s + (1 - s) * c,
    and s is (share - c) / (1 - c) (Li and Koenig 2010, for sets that are small beside all possible features).
    """
    return estimated((values - core.differing_values(one, others, bits).astype(np.int64)) / values, bits)


def estimated(share: npt.NDArray[np.float64], bits: int) -> Similarities:
    """The similarities that shares of equal values of so many bits stand for; see `estimates`."""
    chance = 2.0**-bits
    return np.clip((share - chance) / (1 - chance), 0.0, 1.0)


def standard_error(similarity: npt.ArrayLike, values: int, bits: int) -> npt.NDArray[np.float64]:
    """The standard error of the estimate at a similarity (Li and Koenig 2010, equation 11, with c = 2**-b).

    What fast similarity sketching does to the values makes it less, never more.
    """
    s, chance = np.asarray(similarity, dtype=np.float64), 2.0**-bits
    share = s + (1 - s) * chance
    return np.asarray((share * (1 - share) / values) ** 0.5 / (1 - chance), dtype=np.float64)


def containment_error(
    similarity: npt.ArrayLike, one: npt.ArrayLike, other: npt.ArrayLike, values: int, bits: int
) -> npt.NDArray[np.float64]:
    """The standard error of the containment that follows from an estimated Jaccard coefficient and two sets' sizes.

    The containment is c = s / (1 + s) * (one + other) / least, so that an error of s counts (one + other) / least /
    (1 + s)**2 times: a page in a book has a small s and a large factor. All may be arrays, of shapes that go together.
    """
    s, sizes = np.asarray(similarity, dtype=np.float64), np.asarray(one, dtype=np.float64)
    others = np.asarray(other, dtype=np.float64)
    factor = (sizes + others) / np.minimum(sizes, others) / (1 + s) ** 2
    return np.asarray(standard_error(s, values, bits) * factor, dtype=np.float64)


def containments(
    similarity: npt.ArrayLike, one: npt.ArrayLike, other: npt.ArrayLike, values: int, bits: int
) -> npt.NDArray[np.float64]:
    """How much of the smaller set is in the larger, by an estimated Jaccard coefficient and the sizes of the sets.

    NaN wherever `containment_error` is 0.05 or more: that can't be told from a sketch. The coefficient is never taken
    for more than the sizes allow, so that the result is within 0 and 1. All may be arrays, of shapes that go together.
    """
    sizes, others = np.asarray(one, dtype=np.float64), np.asarray(other, dtype=np.float64)
    least, greatest = np.minimum(sizes, others), np.maximum(sizes, others)
    s = np.minimum(np.asarray(similarity, dtype=np.float64), least / greatest)
    told = containment_error(s, sizes, others, values, bits) < MAX_CONTAINMENT_ERROR
    return np.where(told, np.clip(s / (1 + s) * (sizes + others) / least, 0.0, 1.0), np.nan)


def distinct(hashes: npt.NDArray[np.uint64]) -> int:
    """How many different numbers there are."""
    return core_sketch.distinct(hashes).size


class MinwiseScheme(Scheme):
    """A scheme whose sketch is a signature: the bands' hashes are its keys, its b-bit form the payload."""

    values: int
    bits: int
    bands: int
    rows: int

    @abstractmethod
    def signature(self, text: str | bytes) -> tuple[Signature, int] | None:
        """The signature of a text, uint32 of shape (values,), and the number of its features; None without any."""

    @abstractmethod
    def signature_of(self, features: Hashes, weights: Weights | None = None) -> tuple[Signature, int] | None:
        """The signature of hashes with repeats, and the number of different ones; None without any.

        Sets have no weights.
        """

    def sketch(self, text: str | bytes) -> Sketch | None:
        """The b-bit form of the text's signature, with one key for each band."""
        return self._sketch(self.signature(text))

    def sketch_features(self, features: Hashes, weights: Weights | None = None) -> Sketch | None:
        """The same of features in the place of the text's."""
        return self._sketch(self.signature_of(features, weights))

    def _sketch(self, found: tuple[Signature, int] | None) -> Sketch | None:
        if found is None:
            return None
        signature, features = found
        keys = core.band_keys(signature, self.bands, self.rows) & _KEY_MASK | self._tables
        return Sketch(self.id, self._packed(signature), tuple(keys.tolist()), features)

    def _packed(self, signature: Signature) -> bytes:
        return pack(signature, self.bits)

    def similarities(self, payload: bytes, others: Sequence[bytes]) -> npt.NDArray[np.float64]:
        """The estimates by the packed values that agree; see `estimates`."""
        require_bytes(self, (payload, *others), (self.values * self.bits + 7) // 8)
        return estimates(payload, others, self.values, self.bits)

    def compare(self, payloads: Ragged, left: Positions, right: Positions) -> Similarities:
        """The estimates of each pair."""
        size = (self.values * self.bits + 7) // 8
        equal = core_sketch.equal_parts_of_pairs(payloads.matrix(size), left, right, self.bits)
        filling = 8 * size // self.bits - self.values
        return estimated((equal - filling) / self.values, self.bits)

    def containments(self, one: Sketch, others: Sequence[Sketch]) -> npt.NDArray[np.float64]:
        """How much of the smaller set of features is in the other; NaN where that can't be told: see `containments`."""
        sizes = np.array([other.features for other in others], dtype=np.float64)
        jaccard = self.similarities(one.payload, [other.payload for other in others])
        return containments(jaccard, one.features, sizes, self.values, self.bits)

    def plan(self, similarity: float) -> Plan:
        """One key for each band; what they find follows from the similarity alone."""
        asked = parameters.share(self.family, "similarity", similarity)
        recall = banding_recall(asked, self.bands, self.rows, self.agreeing)
        least = f"at least {self.agreeing} of {self.bands}" if self.agreeing > 1 else f"one of {self.bands}"
        explanation = (
            f"A candidate has {least} bands of {self.rows} values in common; "
            f"{recall:.2%} of the pairs of similarity {asked:g} are expected to."
        )
        return Plan(similarity, self.bands, self.agreeing, recall, isclose(asked, 1.0), explanation)

    def _choose(self, values: int, bits: int, bands: int, rows: int) -> None:
        """Take the parameters that all of these schemes have, and what follows from them."""
        self.values = parameters.whole(self.family, "values", values, 1, MAX_VALUES)
        self.bits = parameters.one_of(self.family, "bits", bits, BITS)
        self.bands = parameters.whole(self.family, "bands", bands, 1, min(MAX_BANDS, values))
        self.rows = parameters.whole(self.family, "rows", rows, 1, min(core.MAX_ROWS, values))
        if bands * rows > values:
            raise UsageError(f"{self.family}: bands={bands} of rows={rows} need {bands * rows} values, not {values}")
        self.layout = KeyLayout(bands, KEY_BITS)
        self._tables = np.arange(bands, dtype=np.uint64) << np.uint64(KEY_BITS)


class BandedScheme(MinwiseScheme):
    """Shingles, and bands that are given, or follow from a threshold; the parameters of both kinds of minhash."""

    usual_shingle: ClassVar[int]
    usual_threshold: ClassVar[float]

    def __init__(
        self,
        shingle: int | None = None,
        values: int = 128,
        bands: int | None = None,
        rows: int | None = None,
        bits: int = 8,
        threshold: float | None = None,
    ) -> None:
        asked = self.usual_shingle if shingle is None else shingle
        self.shingle = parameters.whole(self.family, "shingle", asked, 1, MAX_SHINGLE)
        self._choose(values, bits, *banding(self.family, values, bands, rows, threshold, self.usual_threshold))

    @property
    def parameters(self) -> Mapping[str, Parameter]:
        """Shingle, values, bands, rows and bits; a threshold is no parameter any more, but bands and rows."""
        return {name: getattr(self, name) for name in ("shingle", "values", "bands", "rows", "bits")}


def banding(
    family: str, values: int, bands: int | None, rows: int | None, threshold: float | None, usual: float,
    most: int = MAX_BANDS,
) -> tuple[int, int]:  # fmt: skip
    """(bands, rows) as given, one by the other, or both by the threshold, which is `usual` where none is given."""
    if threshold is not None and (bands is not None or rows is not None):
        raise UsageError(f"{family}: give threshold, or bands and rows, not both")
    parameters.whole(family, "values", values, 1, MAX_VALUES)
    if bands is None and rows is None:
        wanted = usual if threshold is None else parameters.share(family, "threshold", threshold)
        return bands_for(family, wanted, values, most)
    if rows is None:
        return bands or 0, values // parameters.whole(family, "bands", bands, 1, min(MAX_BANDS, values))
    parameters.whole(family, "rows", rows, 1, min(core.MAX_ROWS, values))
    return (min(values // rows, MAX_BANDS) if bands is None else bands), rows
