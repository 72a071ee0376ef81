"""The common part of schemes of minimum-wise samples.

A signature is an array of 32-bit values. Values at one place of two signatures are equal with a probability equal to
the similarity.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from math import isclose

import numpy as np
import numpy.typing as npt

from indexer.core.sketches import BITS, MAX_ROWS, MAX_VALUES, band_keys, equal_parts, equal_parts_of_pairs
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
from indexer.schemes.minwise.bands import MAX_BANDS, banding_recall
from indexer.schemes.minwise.packed import Signature, containments, estimated, estimates, packed_bits

MAX_SHINGLE = 64

# Of 28 bits a million documents in 25 tables give one chance meeting in ten lookups, of 32 one in 170.
KEY_BITS = 32
_KEY_MASK = np.uint64((1 << KEY_BITS) - 1)


class MinwiseScheme(Scheme):
    """A scheme with a signature as its sketch: the bands' hashes are its keys, its b-bit form the payload."""

    values: int
    bits: int
    bands: int
    rows: int

    @abstractmethod
    def signature(self, text: str | bytes) -> tuple[Signature, int] | None: ...

    @abstractmethod
    def signature_of(self, features: Hashes, weights: Weights | None = None) -> tuple[Signature, int] | None:
        """The signature of hashes with repeats, and the number of different ones; None without any.

        Sets have no weights.
        """

    def sketch(self, text: str | bytes) -> Sketch | None:
        return self._sketch(self.signature(text))

    def sketch_features(self, features: Hashes, weights: Weights | None = None) -> Sketch | None:
        return self._sketch(self.signature_of(features, weights))

    def _sketch(self, made: tuple[Signature, int] | None) -> Sketch | None:
        if made is None:
            return None
        signature, features = made
        keys = band_keys(signature, self.bands, self.rows) & _KEY_MASK | self._tables
        return Sketch(self.id, self._packed(signature), tuple(keys.tolist()), features)

    def _packed(self, signature: Signature) -> bytes:
        return packed_bits(signature, self.bits)

    def similarities(self, payload: bytes, others: Sequence[bytes]) -> npt.NDArray[np.float64]:
        require_bytes(self, (payload, *others), (self.values * self.bits + 7) // 8)
        return estimates(payload, others, self.values, self.bits)

    def compare(self, payloads: Ragged, left: Positions, right: Positions) -> Similarities:
        size = (self.values * self.bits + 7) // 8
        equal = equal_parts_of_pairs(payloads.matrix(size), left, right, self.bits)
        filling = 8 * size // self.bits - self.values
        return estimated((equal - filling) / self.values, self.bits)

    def compare_one(self, payload: bytes, payloads: Ragged) -> Similarities:
        size = (self.values * self.bits + 7) // 8
        require_bytes(self, (payload,), size)
        equal = equal_parts(payload, payloads.matrix(size), self.bits)
        return estimated((equal - (8 * size // self.bits - self.values)) / self.values, self.bits)

    def containments(self, one: Sketch, others: Sequence[Sketch]) -> npt.NDArray[np.float64]:
        """The share of the smaller set of features in the other; NaN if unknown, see `containments`."""
        sizes = np.array([other.features for other in others], dtype=np.float64)
        jaccard = self.similarities(one.payload, [other.payload for other in others])
        return containments(jaccard, one.features, sizes, self.values, self.bits)

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
        self.layout = KeyLayout(bands, KEY_BITS)
        self._tables = np.arange(bands, dtype=np.uint64) << np.uint64(KEY_BITS)
