"""passages: text common to two texts, by winnowed shingles (Schleimer, Wilkerson and Aiken 2003)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from indexer.core.one_pass import Forms, OneTextFeatures, PassagesForm, TextFeatures
from indexer.core.sketches import PASSAGE_BITS, intersection_sizes, sorted_distinct, winnowed
from indexer.errors import PayloadError, UsageError
from indexer.model import Sketch
from indexer.model.ragged import Ragged, no_payload
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
    checked_choice,
    checked_integer,
    checked_share,
    sketch_text,
)
from indexer.schemes.keys.layout import KeyLayout
from indexer.schemes.set_joins import containing
from indexer.text.counts import counted

WORDS, LETTERS = "words", "letters"

KEY_BITS = PASSAGE_BITS
_KEY_BYTES = KEY_BITS // 8
_KEY_MASK = np.uint64((1 << KEY_BITS) - 1)
MAX_SHINGLE = 64
MAX_WINDOW = 1024


class Passages(Scheme):
    """The shingles of a text that are the least of some window, whatever the length of the text.
    docs/reference/schemes.md explains parameters, payload and keys.

    Two texts with `guarantee` words or letters in a row in common share a key (S. Schleimer, D. S. Wilkerson and A.
    Aiken, "Winnowing: local algorithms for document fingerprinting", SIGMOD 2003, section 3). Keys and payload are the
    low 40 bits of the hash of each distinct shingle kept.
    """

    family = "passages"
    summary = "Finds parts: a chapter in a book, a press release in an article, a page in a scan with misread letters."
    measure = "share of the shorter text, by its keys, that stands in the other one"
    default_similarity = 0.5
    of_parts = True
    common = 1000
    variants = ("", f"features={LETTERS}")

    def __init__(self, features: str = WORDS, shingle: int | None = None, window: int | None = None) -> None:
        self.features = checked_choice(self.family, "features", features, (WORDS, LETTERS))
        usual = (5, 32) if self.features == WORDS else (12, 64)
        size, breadth = usual[0] if shingle is None else shingle, usual[1] if window is None else window
        self.shingle = checked_integer(self.family, "shingle", size, 1, MAX_SHINGLE)
        self.window = checked_integer(self.family, "window", breadth, 1, MAX_WINDOW)
        self.layout = KeyLayout(1, KEY_BITS)
        self.forms = Forms(passages=PassagesForm(self.shingle, self.window, self.features == LETTERS))

    @property
    def parameters(self) -> Mapping[str, Parameter]:
        return {"features": self.features, "shingle": self.shingle, "window": self.window}

    @classmethod
    def keys_of(cls, payloads: Ragged) -> Ragged:
        return Ragged(_keys(payloads).astype(np.int64), payloads.offsets // _KEY_BYTES)

    @classmethod
    def payloads_of(cls, keys: Ragged) -> Ragged:
        return Ragged(_payload(keys.values), keys.offsets * _KEY_BYTES)

    @property
    def guarantee(self) -> int:
        return self.shingle + self.window - 1

    def sketch(self, text: str | bytes) -> Sketch | None:
        [made] = sketch_text([self], text)
        return made

    def taken_from_one(self, features: OneTextFeatures) -> Sketch | None:
        kept = features.passages
        if not kept:
            return None
        return Sketch(self.id, _payload(np.array(kept, dtype=np.int64)).tobytes(), kept, len(kept))

    def taken_from(self, features: TextFeatures) -> SketchedTexts:
        keys = features.passages
        return SketchedTexts(self.payloads_of(keys), keys, keys.sizes)

    def sketch_features(self, features: Hashes, weights: Weights | None = None) -> Sketch | None:
        del weights
        kept = sorted_distinct(winnowed(features, self.window) & _KEY_MASK)
        return Sketch(self.id, _payload(kept).tobytes(), tuple(kept.tolist()), int(kept.size)) if kept.size else None

    def compare(self, payloads: Ragged, left: Positions, right: Positions) -> Similarities:
        return np.asarray(np.max(self.shares(payloads, left, right), axis=1, initial=0.0), dtype=np.float64)

    def shares(self, payloads: Ragged, left: Positions, right: Positions) -> Similarities:
        """The share of the left one's keys in the right one, and the other way round: shape (len(left), 2).

        Zero for a single common key of several: a phrase alone is no passage.

        Raises PayloadError for other bytes.
        """
        keys, ends = _keys(payloads), payloads.offsets // _KEY_BYTES
        sizes = np.diff(ends)
        if not np.all(sizes[left]) or not np.all(sizes[right]):
            raise _no_keys(0)
        try:
            shared = intersection_sizes(keys, ends, left, right)
        except UsageError as error:
            raise no_payload(f"{self.family}: a payload whose keys are not in order") from error
        # One of several may be a phrase of the language, or "1 2 3 4 5".
        shared[(shared == 1) & (np.maximum(sizes[left], sizes[right]) > 1)] = 0
        return np.stack((shared / sizes[left], shared / sizes[right]), axis=1)

    def join(
        self, sketches: Sketches, similarity: float, *, threads: int | None = None
    ) -> Iterator[tuple[Positions, Positions]]:
        del threads
        return containing(sketches.keys, checked_share(self.family, "similarity", similarity))

    def plan(self, similarity: float) -> Plan:
        asked = checked_share(self.family, "similarity", similarity)
        row = f"{self.guarantee} {self.features} in a row"
        said = (
            f"whatever has {row} in common with a document has one of its keys. Keys that more than "
            f"{counted(self.common, 'document')} hold may be set aside where there are others."
        )
        return Plan(similarity, None, 1, float(asked > 0), asked > 0, said)


def _payload(keys: npt.NDArray[Any]) -> npt.NDArray[np.uint8]:
    return keys.astype(">u8").view(np.uint8).reshape(-1, 8)[:, 8 - _KEY_BYTES :].reshape(-1)


def _keys(payloads: Ragged) -> Hashes:
    if np.any(payloads.offsets % _KEY_BYTES):
        raise _no_keys(int(payloads.sizes[np.flatnonzero(payloads.sizes % _KEY_BYTES)[0]]))
    wide = np.zeros((payloads.values.size // _KEY_BYTES, 8), dtype=np.uint8)
    wide[:, 8 - _KEY_BYTES :] = payloads.values.reshape(-1, _KEY_BYTES)
    return wide.reshape(-1).view(">u8").astype(np.uint64)


def _no_keys(size: int) -> PayloadError:
    return no_payload(f"passages: a payload of {size} bytes, where each key has {_KEY_BYTES}")
