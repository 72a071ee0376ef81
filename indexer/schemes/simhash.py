"""simhash-doc: the 64-bit simhash of a document's words (Charikar 2002; Manku, Jain and Das Sarma 2007)."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from indexer.core.hamming_index import HammingIndex
from indexer.core.one_pass import Forms, OneTextFeatures, TextFeatures
from indexer.core.pairs import iter_pairs
from indexer.core.sketches import fingerprint as core_fingerprint
from indexer.core.sketches import simhash
from indexer.core.sketches import simhash_keys as core_simhash_keys
from indexer.errors import UsageError, takes_named
from indexer.model import DEFAULT_DISTANCE, SIMHASH_DOC, Fingerprint, Sketch
from indexer.model.ragged import Ragged
from indexer.schemes.base import (
    Hashes,
    Parameter,
    Plan,
    Positions,
    Scheme,
    Similarities,
    SketchedTexts,
    Sketches,
    Weights,
    require_bytes,
)
from indexer.schemes.keys import blocks, simhash64
from indexer.schemes.keys.simhash64 import SIMHASH64_LAYOUT, simhash_keys
from indexer.text.counts import counted

_ASKED_AT_ONCE = 4096
_FEW = 4

SCHEME = SIMHASH_DOC


@takes_named
def fingerprint(text: str | bytes) -> Fingerprint | None:
    """The simhash-doc fingerprint of a text (bytes are read as UTF-8); None without a token.

    Raises MemoryError.
    """
    value_and_tokens = core_fingerprint(text)
    return None if value_and_tokens is None else Fingerprint(*value_and_tokens)


def keys(of: Fingerprint) -> tuple[int, ...]:
    return simhash_keys(of.value)


def sketched(fingerprint: Fingerprint | None) -> dict[str, Sketch]:
    return {} if fingerprint is None else fingerprint.sketches(keys(fingerprint))


def bits_allowed(width: int, similarity: float) -> int:
    """The number of `width` bits allowed to differ at a similarity (0 to 1): of 64 bits 6 at 0.90 and one at 0.98."""
    return math.floor(width * (1 - similarity) + 1e-9)


class BitScheme(Scheme):
    """A scheme of `bits` bits: how many of them differ says how similar two texts are."""

    unit = "bits"
    bits: int

    def _words(self, payloads: Ragged) -> npt.NDArray[Any]:
        # In whatever order the bytes are read, the bits that differ are as many.
        return payloads.matrix(self.payload_bytes).view(f"u{min(self.payload_bytes, 8)}")

    def compare(self, payloads: Ragged, left: Positions, right: Positions) -> Similarities:
        words = self._words(payloads)
        return self._similar(words[left], words[right])

    def compare_one(self, payload: bytes, payloads: Ragged) -> Similarities:
        require_bytes(self, (payload,))
        words = self._words(payloads)
        return self._similar(words, np.frombuffer(payload, dtype=words.dtype))

    def _similar(self, one: npt.NDArray[Any], other: npt.NDArray[Any]) -> Similarities:
        differing = (np.bitwise_count(column).astype(np.int64) for column in (one ^ other).T)
        return np.asarray(1.0 - sum(differing) / self.bits, dtype=np.float64)

    def plan(self, similarity: float) -> Plan:
        distance = self._distance(similarity)
        count = len(simhash64.probes(0, distance)) if self.bits == 64 else blocks.probe_count(self.bits, distance)
        asks = f"asks for {counted(count, 'key')} of {self.layout.describe()}"
        return Plan(similarity, count, 1, 1.0, True, f"{asks}; misses no pair within {distance} of {self.bits} bits.")

    def probes(self, sketch: Sketch, similarity: float) -> Sequence[int]:
        distance = self._distance(similarity)
        require_bytes(self, (sketch.payload,))
        if self.bits == 64:
            return simhash64.probes(int.from_bytes(sketch.payload, "big"), distance)
        return blocks.probes(sketch.payload, distance)

    def least(self, text: str) -> float:
        """The similarity of a number of bits ("3bits"), or of a share s, with floor(bits (1 - s)) bits.

        Raises UsageError for anything else.
        """
        matched = re.fullmatch(r"(\d{1,3}) ?bits?", text.strip())
        if matched and int(matched[1]) <= self.bits:
            return 1 - int(matched[1]) / self.bits
        try:
            share = float(text)
        except ValueError:
            share = -1.0
        if not 0 <= share <= 1:
            raise UsageError(
                f"{self.family}@{text}: the threshold is a number of bits from 0bits to {self.bits}bits, or a share"
            )
        return 1 - bits_allowed(self.bits, share) / self.bits

    def written(self, similarity: float) -> str:
        distance = bits_allowed(self.bits, similarity)
        return f"{distance}bit" + "s" * (distance != 1)

    def described(self, similarity: float) -> str:
        return f"within {bits_allowed(self.bits, similarity)} of {self.bits} bits"

    def _distance(self, similarity: float) -> int:
        if not 0 <= similarity <= 1:
            raise UsageError(f"{self.family}: a similarity is 0 to 1, not {similarity}")
        farthest = simhash64.MAX_DISTANCE if self.bits == 64 else blocks.max_distance(self.bits)
        lowest = 1 - farthest / self.bits
        if similarity < lowest - 1e-9:
            raise UsageError(
                f"{self.family}@{self.written(similarity)}: {self.family} of {self.bits} bits looks up within 0bits to "
                f"{farthest}bits, a similarity from {math.ceil(lowest * 1000) / 1000} on"
            )
        return bits_allowed(self.bits, similarity)


class SimhashDoc(BitScheme):
    """simhash-doc: 64 bits, each a vote of a document's words; docs/simhash-doc.md specifies it."""

    family = SIMHASH_DOC
    summary = "Compares 64 bits, voted on by the words; the smallest way to find copies with few changes."
    measure = "share of equal bits of the simhash"
    bits, payload_bytes = 64, 8
    joins_keys = False
    exact_join = True
    default_similarity = 1 - DEFAULT_DISTANCE / 64
    layout = SIMHASH64_LAYOUT
    forms = Forms()

    @classmethod
    def keys_of(cls, payloads: Ragged) -> Ragged:
        return Ragged.of_matrix(core_simhash_keys(values_of(payloads)).astype(np.int64))

    @property
    def parameters(self) -> Mapping[str, Parameter]:
        return {}

    def sketch(self, text: str | bytes) -> Sketch | None:
        return sketched(fingerprint(text)).get(self.family)

    def taken_from_one(self, features: OneTextFeatures) -> Sketch | None:
        made = Fingerprint(features.simhash, features.tokens)
        return sketched(made)[self.family] if made.tokens else None

    def taken_from(self, features: TextFeatures) -> SketchedTexts:
        made = SketchedTexts(
            Ragged.of_matrix(features.simhashes.astype(">u8").view(np.uint8).reshape(-1, 8)),
            Ragged.of_matrix(core_simhash_keys(features.simhashes).astype(np.int64)),
            features.tokens.astype(np.int64),
        )
        return made.where(made.features > 0)

    def sketch_features(self, features: Hashes, weights: Weights | None = None) -> Sketch | None:
        value = simhash(features, weights)
        count = int(features.size if weights is None else weights.sum())
        return None if value is None else sketched(Fingerprint(value, count))[self.family]

    def compare_one(self, payload: bytes, payloads: Ragged) -> Similarities:
        if len(payloads) > _FEW:
            return super().compare_one(payload, payloads)
        require_bytes(self, (payload,))
        # As most lookups find: so few are compared before numpy has begun.
        asked, data = int.from_bytes(payload), payloads.matrix(8).tobytes()
        rows = (int.from_bytes(data[place : place + 8]) for place in range(0, len(data), 8))
        return np.array([1.0 - (asked ^ row).bit_count() / 64.0 for row in rows])

    def join(
        self, sketches: Sketches, similarity: float, *, threads: int | None = None
    ) -> Iterator[tuple[Positions, Positions]]:
        """Every pair within the allowed bits (0 to 16), by the exact search in C."""
        for block in iter_pairs(values_of(sketches.payloads), bits_allowed(64, similarity), threads):
            yield block.left, block.right

    def join_between(
        self, asked: Sketches, sketches: Sketches, similarity: float, *, threads: int | None = None
    ) -> Iterator[tuple[Positions, Positions]]:
        del threads
        index = HammingIndex(values_of(sketches.payloads), bits_allowed(64, similarity))
        values = values_of(asked.payloads)
        for start in range(0, values.size, _ASKED_AT_ONCE):
            hits = index.search(values[start : start + _ASKED_AT_ONCE])
            yield hits.query + start, hits.position


def values_of(payloads: Ragged) -> npt.NDArray[np.uint64]:
    return payloads.matrix(8).view(">u8").reshape(-1).astype(np.uint64)
