"""Document frequencies of a collection's features, in bounded memory."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
import numpy.typing as npt

from indexer.errors import UsageError
from indexer.text.features import Features, Hashes, Recipe, parse_recipe

MAGIC = b"neardup-corpus 1\n"
HEADER_LIMIT = 1024
MAX_TERMS = 4_000_000
"""The most features of which a corpus keeps the document frequency."""

Frequencies = npt.NDArray[np.uint32]


def resource_name(recipe: Recipe) -> str:
    """The name of a recipe's corpus in a store. Raises UsageError if it is too long."""
    name = f"corpus.{recipe.id}"
    if len(name) > 100:
        raise UsageError(f"stop={recipe.stop}: too many languages for the statistics of a corpus")
    return name


@dataclass(frozen=True, eq=False)
class Corpus:
    """The document frequencies of a collection's features.

    `hashes` are features in ascending order; `frequencies` counts the documents with each, out of `documents`. Rare
    features are left out: an absent one occurs in at most `missed` documents, and other frequencies may be too small by
    at most `missed`.
    """

    recipe: Recipe
    documents: int
    missed: int
    hashes: Hashes
    frequencies: Frequencies

    @cached_property
    def digest(self) -> str:
        """The digest of a corpus in a scheme's id: "c" and 16 hexadecimal digits of BLAKE2b (RFC 7693)."""
        return "c" + hashlib.blake2b(self.to_bytes(), digest_size=8).hexdigest()

    def frequency(self, features: Hashes) -> npt.NDArray[np.int64]:
        """The document frequency of each feature, at least 1; `missed` if it was left out. Shape (n,) to (n,)."""
        if not self.hashes.size:
            return np.full(features.shape, max(1, self.missed), dtype=np.int64)
        place = np.minimum(np.searchsorted(self.hashes, features), self.hashes.size - 1)
        known = self.hashes[place] == features
        return np.where(known, self.frequencies[place], max(1, self.missed)).astype(np.int64)

    def idf(self, features: Hashes) -> npt.NDArray[np.float64]:
        """ln(1 + documents / frequency) of each feature: above 0 even for features of every document."""
        return np.log1p(self.documents / self.frequency(features))

    def to_bytes(self) -> bytes:
        """The serialised form: a mark, a line of JSON, hashes of 8 bytes, then frequencies of 4, little-endian."""
        header = {
            "recipe": self.recipe.id, "documents": self.documents, "missed": self.missed, "terms": self.hashes.size
        }  # fmt: skip
        line = json.dumps(header, sort_keys=True).encode("ascii") + b"\n"
        return MAGIC + line + self.hashes.astype("<u8").tobytes() + self.frequencies.astype("<u4").tobytes()


def read_corpus(data: bytes, name: str = "corpus") -> Corpus:
    """The corpus of its serialised form; UsageError, naming it, for other bytes."""
    end = data.find(b"\n", len(MAGIC), len(MAGIC) + HEADER_LIMIT)
    if not data.startswith(MAGIC) or end < 0:
        raise UsageError(f"{name}: these bytes are not the statistics of a corpus")
    try:
        header = json.loads(data[len(MAGIC) : end])
        documents, missed, terms = (header[key] for key in ("documents", "missed", "terms"))
        recipe = parse_recipe(str(header["recipe"]))
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise UsageError(f"{name}: the statistics of the corpus are damaged ({error})") from None
    body = data[end + 1 :]
    fits = all(type(number) is int and number >= 0 for number in (documents, missed, terms)) and documents < 1 << 32
    if not fits or terms > MAX_TERMS or len(body) != 12 * terms:
        raise UsageError(f"{name}: the statistics of the corpus are damaged: their length is not what they say")
    hashes = np.frombuffer(body, dtype="<u8", count=terms).astype(np.uint64)
    frequencies = np.frombuffer(body, dtype="<u4", offset=8 * terms).astype(np.uint32)
    if terms and (np.any(hashes[1:] <= hashes[:-1]) or frequencies.min() < 1 or frequencies.max() > documents):
        raise UsageError(f"{name}: the statistics of the corpus are damaged: features out of order or out of range")
    return Corpus(recipe, documents, missed, hashes, frequencies)


class CorpusBuilder:
    """Counts documents one by one.

    Memory: at most about 40 bytes for each of `limit` features. Beyond it the rarest are left out, and `missed` bounds
    the error (Manku and Motwani 2002, "lossy counting").
    """

    def __init__(self, recipe: Recipe, limit: int = 1_000_000) -> None:
        if not 1 <= limit <= MAX_TERMS:
            raise UsageError(f"limit {limit}: a corpus keeps 1 to {MAX_TERMS} features")
        self.recipe, self.limit = recipe, limit
        self._documents = self._missed = 0
        self._hashes: Hashes = np.empty(0, dtype=np.uint64)
        self._frequencies: npt.NDArray[np.int64] = np.empty(0, dtype=np.int64)
        self._waiting: list[Hashes] = []
        self._waiting_size = 0

    def add(self, text: str | bytes) -> Self:
        return self.add_features(self.recipe.features(text))

    def add_features(self, features: Features) -> Self:
        self._documents += 1
        self._waiting.append(features.hashes)
        self._waiting_size += features.hashes.size
        if self._waiting_size > self.limit:
            self._settle()
        return self

    def corpus(self, *, least: int = 2) -> Corpus:
        self._settle()
        kept = self._frequencies >= least
        missed = self._missed + (0 if kept.all() else least - 1)
        frequencies = self._frequencies[kept].astype(np.uint32)
        return Corpus(self.recipe, self._documents, missed, self._hashes[kept], frequencies)

    def _settle(self) -> None:
        if not self._waiting:
            return
        hashes, counts = np.unique(np.concatenate(self._waiting), return_counts=True)
        self._waiting, self._waiting_size = [], 0
        self._hashes, place = np.unique(np.append(self._hashes, hashes), return_inverse=True)
        frequencies = np.append(self._frequencies, counts)
        self._frequencies = np.zeros(self._hashes.size, dtype=np.int64)
        np.add.at(self._frequencies, place, frequencies)
        if self._hashes.size > self.limit:
            # The smallest bound that leaves room: what is at or below it goes.
            bound = int(np.partition(self._frequencies, -self.limit - 1)[-self.limit - 1])
            kept = self._frequencies > bound
            self._hashes, self._frequencies = self._hashes[kept], self._frequencies[kept]
            self._missed += bound


def gather(texts: Iterable[str | bytes], recipe: Recipe, limit: int = 1_000_000) -> Corpus:
    builder = CorpusBuilder(recipe, limit)
    for text in texts:
        builder.add(text)
    return builder.corpus()
