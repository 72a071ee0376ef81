"""minhash: the Jaccard coefficient of sets of word shingles (Broder 1997), stored in b bits (Li and Koenig 2010)."""

from __future__ import annotations

from indexer import core
from indexer.schemes.minwise import BandedScheme, Signature, distinct


class Minhash(BandedScheme):
    """Minhash signatures of w-word shingles in bands.

    `shingle` is w (1 to 64); a text of fewer words has one shingle, of all of them. `values` (1 to 4,096) is the
    signature's length, `bits` (1, 2, 4, 8 or 16) what is stored of each value. `bands` of `rows` values are the keys;
    where only one of the two is given, the other is as large as fits. Where neither is, they are chosen for a
    Jaccard coefficient `threshold` (0.7 unless given): the longest bands that find 98% of such pairs.

    The permutations are Broder's linear ones, on 32 bits: x -> a * x + b modulo 2**32 with a odd. They are true
    permutations, so that on the well-mixed hashes that shingles have here each value's minimum falls on every shingle
    equally likely, and the estimate is unbiased; what is not independent between values is only how two of them
    rank the same shingles, which random multipliers hide. One-permutation hashing and SuperMinHash do fewer operations
    a shingle, but these need a sort or a densification, which no vector unit helps with, and lose when documents have
    fewer shingles than values, as most do; these permutations are two vector instructions for 8 or 16 values, so
    cutting the text into tokens costs more than all 128 of them, and another language writes them down in a line.
    """

    family = "minhash"
    summary = "Compares sets of word shingles; finds documents that share most of their passages, in any order."
    measure = "Jaccard coefficient of the sets of w-word shingles"

    # An estimate from 128 values has a standard error of 0.04 there: a pair at 0.7 is hardly ever below, one under
    # 0.5 hardly ever above.
    default_similarity = 0.6

    usual_shingle = 5
    usual_threshold = 0.7

    def signature(self, text: str | bytes) -> tuple[Signature, int] | None:
        """The minhash signature of the text's distinct shingles, and their number."""
        shingles = core.shingle_hashes(text, self.shingle)
        found = core.minhash(shingles, self.values)
        return None if found is None else (found, distinct(shingles))
