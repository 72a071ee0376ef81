"""minhash: the Jaccard coefficient of word shingles (Broder 1997), in b bits (Li and Koenig 2010)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from indexer.core.one_pass import Forms, MinhashForm, OneTextFeatures, TextFeatures
from indexer.core.sketches import fast_minhash, pack
from indexer.errors import UsageError
from indexer.model import Sketch
from indexer.model.ragged import Ragged
from indexer.schemes.base import Hashes, Parameter, SketchedTexts, Weights, checked_choice, checked_integer, sketch_text
from indexer.schemes.minwise import MAX_SHINGLE, MinwiseScheme, Signature, banding

KEEP, DROP = "keep", "drop"
WORDS, LETTERS = "words", "letters"

VALUES = tuple(1 << power for power in range(3, 13))

# Sixteen bands of four rows find 98.8% of the pairs at 0.7, all but 22 in 100,000 at 0.8, from a field of 16 keys.
MOST_BANDS = 16
"""This many bands at most where they are not asked for."""


class Minhash(MinwiseScheme):
    """Minhash signatures of w-word shingles in bands. docs/reference/schemes.md explains parameters, payload and keys.

    Values are made by fast similarity sketching (Dahlgaard, Knudsen and Thorup, FOCS 2017): in a round every shingle
    goes to one place, and the least stays there. A place empty after eight rounds takes the least under a permutation
    of its own. A place's minimum falls on every shingle equally likely, so the estimate is unbiased. A hash of minimum
    and place is stored: with a minimum alone, texts of one shingle would look alike.
    """

    family = "minhash"
    summary = "Compares sets of word shingles; finds documents that share most of their wording, in any order."
    measure = "Jaccard coefficient of the sets of w-word shingles"

    # An estimate from 1,024 values of one bit has a standard error of 0.024 there: a pair at 0.67 is hardly ever below,
    # one under 0.5 never above.
    default_similarity = 0.6

    def __init__(
        self,
        shingle: int | None = None,
        values: int = 1024,
        bands: int | None = None,
        rows: int | None = None,
        bits: int = 1,
        threshold: float | None = None,
        numbers: str = KEEP,
        features: str = WORDS,
    ) -> None:
        self.features = checked_choice(self.family, "features", features, (WORDS, LETTERS))
        self.numbers = checked_choice(self.family, "numbers", numbers, (KEEP, DROP))
        self._letters = self.features == LETTERS
        if self._letters and self.numbers == DROP:
            raise UsageError(f"{self.family}: features={LETTERS} goes with numbers={KEEP}; leave out numbers={DROP}")
        usual = 12 if self._letters else 5
        self.shingle = checked_integer(self.family, "shingle", usual if shingle is None else shingle, 1, MAX_SHINGLE)
        values = checked_choice(self.family, "values", values, VALUES)
        if (bands is None) != (rows is None):
            raise UsageError(f"{self.family}: give bands and rows together, or neither")
        self._choose(values, bits, *banding(self.family, values, bands, rows, threshold, 0.7, MOST_BANDS))
        kept = self.numbers == KEEP
        form = MinhashForm(self.shingle, kept, self.values, self.bits, self.bands, self.rows, self._letters)
        self.forms = Forms(minhash=form)

    @property
    def parameters(self) -> Mapping[str, Parameter]:
        names = ("shingle", "values", "bands", "rows", "bits", "features" if self._letters else "numbers")
        return {name: getattr(self, name) for name in names}

    def signature(self, features: Hashes, weights: Weights | None = None) -> Signature | None:
        del weights
        return fast_minhash(features, self.values)

    def _packed(self, signature: Signature) -> bytes:
        # Values that are hashes already need no multiplier.
        return pack(signature, self.bits)

    def sketch(self, text: str | bytes) -> Sketch | None:
        [made] = sketch_text([self], text)
        return made

    def taken_from_one(self, features: OneTextFeatures) -> Sketch | None:
        count = features.shingles
        return Sketch(self.id, features.packed, features.keys, count) if count else None

    def taken_from(self, features: TextFeatures) -> SketchedTexts:
        made = SketchedTexts(
            Ragged.of_matrix(features.packed),
            Ragged.of_matrix(features.keys.view(np.int64)),
            features.shingles.astype(np.int64),
        )
        return made.where(made.features > 0)
