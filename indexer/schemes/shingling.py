"""supershingles: documents with at least two of six groups of minima in common (Broder 1997; Fetterly et al. 2003)."""

from __future__ import annotations

from collections.abc import Mapping

from indexer.core.sketches import MAX_ROWS, MAX_VALUES, minhash
from indexer.core.text import shingle_hashes
from indexer.errors import UsageError
from indexer.model import Sketch
from indexer.schemes.base import Hashes, Parameter, Weights, checked_integer
from indexer.schemes.minwise import MAX_BANDS, MAX_SHINGLE, MinwiseScheme, Signature


class Supershingles(MinwiseScheme):
    """Supershingles of w-word shingles: hashes of groups of minima. docs/reference/schemes.md explains parameters,
    payload and keys.

    The minima are those of permutations x -> a * x + b modulo 2**32 with a odd. (A. Broder, S. Glassman, M. Manasse and
    G. Zweig, Syntactic Clustering of the Web, 1997; D. Fetterly, M. Manasse and M. Najork, On the Evolution of Clusters
    of Near-Duplicate Web Pages, 2003.) `indexer.matching.measures.exact` computes the exact resemblance and containment
    of the sets of shingles.
    """

    family = "supershingles"
    summary = "Compares groups of minima of word shingles; finds close copies with six keys a document, and few others."
    measure = "Jaccard coefficient of the sets of w-word shingles"

    default_similarity = 0.8

    def __init__(self, shingle: int = 5, values: int = 84, groups: int = 6, agreeing: int = 2, bits: int = 8) -> None:
        self.shingle = checked_integer(self.family, "shingle", shingle, 1, MAX_SHINGLE)
        checked_integer(self.family, "values", values, 1, MAX_VALUES)
        checked_integer(self.family, "groups", groups, 1, min(MAX_BANDS, values))
        if values % groups or values // groups > MAX_ROWS:
            raise UsageError(f"{self.family}: groups={groups} must divide values={values} into at most {MAX_ROWS} each")
        self.agreeing = checked_integer(self.family, "agreeing", agreeing, 1, groups)
        self._choose(values, bits, groups, values // groups)

    @property
    def parameters(self) -> Mapping[str, Parameter]:
        own = {name: getattr(self, name) for name in ("shingle", "values", "agreeing", "bits")}
        return own | {"groups": self.bands}

    def sketch(self, text: str | bytes) -> Sketch | None:
        return self.sketch_features(shingle_hashes(text, self.shingle))

    def signature(self, features: Hashes, weights: Weights | None = None) -> Signature | None:
        del weights
        return minhash(features, self.values)
