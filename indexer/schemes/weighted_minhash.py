"""weighted-minhash: the weighted Jaccard coefficient of terms, by consistent weighted sampling (Ioffe 2010)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from indexer.core.sketches import weighted_minhash
from indexer.core.text import shingle_hashes, token_hashes, without_marks
from indexer.model import Sketch
from indexer.schemes.base import Hashes, Parameter, Weights, checked_integer
from indexer.schemes.minwise import MAX_SHINGLE, MinwiseScheme, Signature, banding


class WeightedMinhash(MinwiseScheme):
    """Consistent weighted samples of a text's terms, in bands. docs/reference/schemes.md explains parameters, payload
    and keys.

    A sample (S. Ioffe, Improved Consistent Weighted Sampling, Weighted Minhash and L1 Sketching, ICDM 2010) is a term
    and a level t of its weight; both are equal in two documents with the probability sum(min) / sum(max) of the
    weights, exactly. All logarithms are the core's own, so samples are the same on every machine.
    """

    family = "weighted-minhash"
    summary = "Compares words by how often they occur; finds documents of the same wording, whatever its order."
    measure = "weighted Jaccard coefficient, sum(min) / sum(max), of term frequencies"

    default_similarity = 0.85

    def __init__(
        self,
        shingle: int = 1,
        values: int = 128,
        bands: int | None = None,
        rows: int | None = None,
        bits: int = 8,
        threshold: float | None = None,
    ) -> None:
        self.shingle = checked_integer(self.family, "shingle", shingle, 1, MAX_SHINGLE)
        self._choose(values, bits, *banding(self.family, values, bands, rows, threshold, 0.8))

    @property
    def parameters(self) -> Mapping[str, Parameter]:
        return {name: getattr(self, name) for name in ("shingle", "values", "bands", "rows", "bits")}

    def sketch(self, text: str | bytes) -> Sketch | None:
        hashes = token_hashes(without_marks(text)) if self.shingle == 1 else shingle_hashes(text, self.shingle)
        return self.sketch_features(hashes)

    def signature(self, features: Hashes, weights: Weights | None = None) -> Signature | None:
        terms, places = np.unique(features, return_inverse=True)
        return weighted_minhash(terms, np.bincount(places, weights, terms.size), self.values)
