"""I-Match: digests of a document's telling terms (Chowdhury 2002; Kolcz 2004)."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from itertools import compress

import numpy as np
import numpy.typing as npt

from indexer.core.sketches import among
from indexer.core.text import hash_tokens
from indexer.errors import UsageError
from indexer.model import Sketch
from indexer.model.ragged import Ragged
from indexer.schemes.base import Parameter, Plan, Positions, Scheme, Similarities, checked_integer, checked_share
from indexer.schemes.keys.layout import KeyLayout
from indexer.schemes.simhash_variants import mixed, recipe_parameters, require_corpus
from indexer.text.corpus import Corpus, resource_name
from indexer.text.counts import counted
from indexer.text.features import recipe

DIGEST_BYTES = 8
KEY_BITS = 48
MAX_SUBLEXICONS = 31
# The steps between the sub-lexicons' random numbers: the golden ratio, as SplitMix64 has it.
STEP = 0x9E3779B97F4A7C15


class IMatch(Scheme):
    """The SHA-1 of a document's terms in the lexicon, and in each of `sublexicons` random parts of it.
    docs/reference/schemes.md explains parameters, payload and keys.

    Chowdhury, Frieder, Grossman and McCabe, "Collection statistics for fast duplicate document detection", TOIS 2002;
    Kolcz, Chowdhury and Alspector, "Improved robustness of signature-based near-replica detection via lexicon
    randomization", KDD 2004. The lexicon holds the terms of the corpus with an inverse document frequency, ln(N / df) /
    ln N, between `low` and `high`. Sub-lexicon j drops a term if its hash plus j times a constant, through the
    finaliser of SplitMix64, is in the lowest `drop` of all numbers.
    """

    family = "i-match"
    summary = "Digests the terms of medium frequency; finds copies with a changed word or two."
    measure = "share of the lexicon and its random parts in which the sets of terms are equal"

    def __init__(
        self,
        low: object = 0.2,
        high: object = 0.8,
        sublexicons: object = 10,
        drop: object = 0.33,
        corpus: Corpus | None = None,
        **tokens: object,
    ) -> None:
        self.recipe = recipe(**tokens)
        self.low, self.high = checked_share(self.family, "low", low), checked_share(self.family, "high", high)
        if self.low >= self.high:
            raise UsageError(f"low={low}: must be below high={high}")
        self.drop = checked_share(self.family, "drop", drop)
        if not 0 < self.drop < 1:
            raise UsageError(f"drop={drop}: a number between 0 and 1")
        self.sublexicons = checked_integer(self.family, "sublexicons", sublexicons, 0, MAX_SUBLEXICONS)
        self.corpus = require_corpus(corpus, self.recipe)
        frequencies = self.corpus.frequencies
        idf = np.log(self.corpus.documents / frequencies) / max(np.log(self.corpus.documents), 1e-300)
        self.lexicon = self.corpus.hashes[(idf >= self.low) & (idf <= self.high)]
        self.layout = KeyLayout(self.sublexicons + 1, KEY_BITS)
        self.payload_bytes = DIGEST_BYTES * self.layout.tables
        self.default_similarity = 1 / self.layout.tables

    @classmethod
    def needed(cls, parameters: Mapping[str, Parameter]) -> str:
        names = ("lower", "stop", "numbers", "tokenizer")
        return resource_name(recipe(**{name: parameters[name] for name in names if name in parameters}))

    @property
    def parameters(self) -> Mapping[str, Parameter]:
        words = {
            name: value for name, value in recipe_parameters(self.recipe).items() if name not in ("features", "size")
        }
        own = {"low": self.low, "high": self.high, "sublexicons": self.sublexicons, "drop": self.drop}
        return words | own | {"corpus": self.corpus.digest}

    def sketch(self, text: str | bytes) -> Sketch | None:
        words = self.recipe.cut(text)[0]
        hashes = hash_tokens(words)
        known = among(hashes, self.lexicon)
        hash_of = dict(zip(words.where(known).tokens, hashes[known].tolist(), strict=True))
        if not hash_of:
            return None
        terms = sorted(hash_of)
        lines = [term + b"\n" for term in terms]
        ordered = np.array([hash_of[term] for term in terms], dtype=np.uint64)
        digests = [_digest(b"".join(compress(lines, kept))) for kept in self._kept(ordered).tolist()]
        in_each = (
            self.layout.pack(table, int.from_bytes(digest, "big") >> 8 * DIGEST_BYTES - KEY_BITS)
            for table, digest in enumerate(digests)
            if any(digest)
        )
        return Sketch(self.id, b"".join(digests), tuple(in_each), len(terms))

    def compare(self, payloads: Ragged, left: Positions, right: Positions) -> Similarities:
        rows = payloads.matrix(self.payload_bytes).view(">u8")
        own, there = rows[left], rows[right]
        agreeing = np.sum((there == own) & (own != 0), axis=1)
        present = np.sum((there != 0) | (own != 0), axis=1)
        return np.asarray(agreeing / np.maximum(present, 1), dtype=np.float64)

    def plan(self, similarity: float) -> Plan:
        if not 0 < similarity <= 1:
            raise UsageError(f"similarity {similarity}: lookups of i-match need a similarity above 0, up to 1")
        said = f"asks for {counted(self.layout.tables, 'digest')}; finds every pair with one in common, and no other."
        return Plan(similarity, self.layout.tables, 1, 1.0, True, said)

    def _kept(self, hashes: npt.NDArray[np.uint64]) -> npt.NDArray[np.bool_]:
        steps = np.arange(self.sublexicons + 1, dtype=np.uint64) * np.uint64(STEP)
        kept = mixed(hashes + steps[:, None]) >= np.uint64(int(self.drop * 2**64))
        kept[0] = True
        return kept


def _digest(lines: bytes) -> bytes:
    return hashlib.sha1(lines, usedforsecurity=False).digest()[:DIGEST_BYTES] if lines else bytes(DIGEST_BYTES)
