"""simhash with every choice open: features, weights, and bits (Charikar 2002; Manku et al. 2007)."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from indexer.core.sketches import fingerprint, simhash, simhash_keys
from indexer.core.text import without_marks
from indexer.errors import UsageError
from indexer.model import Sketch
from indexer.model.ragged import Ragged
from indexer.schemes.base import Parameter, Weights
from indexer.schemes.keys import blocks, simhash64
from indexer.schemes.simhash import BitScheme, values_of
from indexer.text.corpus import Corpus, resource_name
from indexer.text.features import FeatureCounts, Hashes, Recipe, check_weights, recipe, weighted

WIDTHS = (32, 64, 128)

SIMHASH_DOC_PARAMETERS: Mapping[str, Parameter] = MappingProxyType(
    {
        "features": "words", "size": 1, "lower": True, "stop": "none", "numbers": "drop", "tokenizer": "uax29",
        "weights": "occurrence", "bits": 64,
    }
)  # fmt: skip
"""The defaults: the fingerprints and keys of simhash-doc, bit for bit, of texts without marks that may be left out."""


class SimhashVariant(BitScheme):
    """A simhash of `bits` bits over weighted features; `indexer.text.features.recipe` describes the features.

    Bit i is 1 if features with bit i in their hash outweigh the others. Of 32 bits it is the first half of the simhash
    of 64; of 128 it is the simhash of 64, followed by the simhash of the same features with each hash sent through the
    finaliser of SplitMix64 (Steele, Lea and Flood 2014). The payload is the bits, big-endian.
    """

    family = "simhash"
    summary = "Compares bits, voted on by weighted features; finds copies with few changes by few lookups."
    measure = "1 - angle / pi of the weighted vectors of features, by the share of equal bits"
    default_similarity = 0.95

    def __init__(
        self, weights: object = "occurrence", bits: object = 64, corpus: Corpus | None = None, **features: object
    ) -> None:
        self.recipe: Recipe = recipe(**features)
        self.weights = check_weights(weights)
        if type(bits) is not int or bits not in WIDTHS:
            raise UsageError(f"bits={bits}: a simhash has 32, 64 or 128")
        self.bits, self.payload_bytes = bits, bits // 8
        self.corpus = corpus
        if (corpus is not None) != (self.weights == "tfidf"):
            raise UsageError("corpus: weights=tfidf needs the statistics of a corpus, and nothing else takes them")
        if corpus is not None:
            require_corpus(corpus, self.recipe)
        self.layout = simhash64.SIMHASH64_LAYOUT if bits == 64 else blocks.layout(bits)

    @classmethod
    def keys_of(cls, payloads: Ragged) -> Ragged:
        if payloads.width not in (4, 16):
            return Ragged.of_matrix(simhash_keys(values_of(payloads)).astype(np.int64))
        parts = payloads.matrix(payloads.width).view(">u2").astype(np.int64)
        return Ragged.of_matrix(parts | np.arange(parts.shape[1]) << blocks.BLOCK_BITS)

    @classmethod
    def needed(cls, parameters: Mapping[str, Parameter]) -> str:
        if parameters.get("weights") != "tfidf":
            return ""
        names = SIMHASH_DOC_PARAMETERS.keys() - {"weights", "bits"}
        return resource_name(recipe(**{name: parameters[name] for name in names if name in parameters}))

    @property
    def parameters(self) -> Mapping[str, Parameter]:
        values = {**recipe_parameters(self.recipe), "weights": self.weights, "bits": self.bits}
        return values | ({"corpus": self.corpus.digest} if self.corpus else {})

    def sketch(self, text: str | bytes) -> Sketch | None:
        if self.bits <= 64 and self.recipe.is_doc and self.weights == "occurrence":
            made = fingerprint(without_marks(text))
            return None if made is None else self._sketch(made[0].to_bytes(8, "big"), made[1])
        if self.weights == "occurrence":
            hashes = self.recipe.hashes(text)
            payload = self._payload(hashes, None)
            return None if payload is None else self._sketch(payload, hashes.size)
        features = self.recipe.features(text)
        weights = weighted(features, self.weights, self.corpus.idf if self.corpus else None)
        payload = self._payload(features.hashes, weights)
        return None if payload is None else self._sketch(payload, int(features.counts.sum()))

    def sketch_features(self, features: Hashes, weights: Weights | None = None) -> Sketch | None:
        payload = self._payload(features, weights)
        count = features.size if weights is None else weights.sum()
        return None if payload is None else self._sketch(payload, int(count))

    def _payload(self, hashes: Hashes, weights: FeatureCounts | None) -> bytes | None:
        halves = [hashes] if self.bits <= 64 else [hashes, mixed(hashes)]
        values = [simhash(half, weights) for half in halves]
        return b"".join(value.to_bytes(8, "big") for value in values if value is not None) or None

    def _sketch(self, payload: bytes, features: int) -> Sketch:
        payload = payload[: self.payload_bytes]
        keys = self.keys_of(Ragged.of_bytes([payload])).row(0)
        return Sketch(self.id, payload, tuple(keys.tolist()), features)


def recipe_parameters(of: Recipe) -> dict[str, Parameter]:
    return {
        "features": of.kind, "size": of.size, "lower": of.lower, "stop": of.stop,
        "numbers": of.numbers, "tokenizer": of.tokenizer,
    }  # fmt: skip


def require_corpus(corpus: Any, of: Recipe) -> Corpus:
    """The corpus; UsageError unless it is one of this recipe, with a document in it."""
    if not isinstance(corpus, Corpus) or corpus.recipe != of:
        raise UsageError(f"corpus: needs the statistics of a corpus of {of.id}")
    if not corpus.documents:
        raise UsageError("corpus: holds no document yet")
    return corpus


def mixed(hashes: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Each hash sent through the finaliser of SplitMix64; one to one. Shape (n,) to (n,)."""
    mixing = hashes.astype(np.uint64)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixing = (mixing ^ (mixing >> np.uint64(shift))) * np.uint64(factor)
    return mixing ^ (mixing >> np.uint64(31))
