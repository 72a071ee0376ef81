"""Made documents for measuring search engines: common words, words of a subject, and some near-copies."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from indexer import __version__
from indexer.core.hamming import hamming_distances
from indexer.core.sketches import simhash_keys
from indexer.core.text import UNICODE_VERSION
from indexer.model import SIMHASH_DOC, Record, Ref
from indexer.schemes import simhash
from indexer.schemes.keys.simhash64 import SIMHASH64_LAYOUT
from indexer.stores import StoreInfo

# The indices of the measurement: the text alone, with the fingerprint, and the values as vectors.
PLAIN, WITH, VECTORS = "neardup-bench-plain", "neardup-bench-fingerprints", "neardup-bench-vectors"
WORDS = 30_000
# The fewest and the most words of a document.
PASSAGES, ARTICLES = (50, 100), (300, 500)
# One document in this many is a copy of an earlier one with up to MOST_CHANGED words exchanged.
COPIES = 20
MOST_CHANGED = 2
# This many words belong to a document's subject.
SUBJECT = 150
_SEED = 20_261_121
_CONSONANTS, _VOWELS = "bcdfghjklmnpqrstvwz", "aeiou"

Words = npt.NDArray[np.int64]


def store_info() -> StoreInfo:
    """What the stores of the measurement are made with."""
    return StoreInfo(SIMHASH_DOC, SIMHASH64_LAYOUT, "landmarks", "1", UNICODE_VERSION, __version__)


# An owner's index of such documents.
OWN_FIELDS = {
    "body": {"type": "text"}, "title": {"type": "text"}, "url": {"type": "keyword"}, "published": {"type": "date"}
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Part:
    """Some documents in a row: their texts, and their records in the same order, as `neardup annotate` makes them."""

    texts: list[str]
    records: list[Record]

    def documents(self) -> Iterator[dict[str, Any]]:
        """The documents as their owner has them."""
        for text, record in zip(self.texts, self.records, strict=True):
            yield {
                "body": text,
                "title": text[:40],
                "url": f"https://host{len(text) % 7}.example/{record.ref.id}",
                "published": f"2026-{1 + len(text) % 12:02d}-{1 + len(text) % 28:02d}",
            }


class Collection:
    """`size` made documents of this many words, and questions about them, the same for the same size."""

    def __init__(self, size: int, words: tuple[int, int] = ARTICLES) -> None:
        self.size = size
        self.words = words
        self.values: npt.NDArray[np.uint64] = np.zeros(size, dtype=np.uint64)
        self._names = np.array(list(_words(WORDS)), dtype=object)
        # Zipf's law in Mandelbrot's form.
        weights = 1.0 / (np.arange(WORDS) + 2.7)
        self._bounds = np.cumsum(weights / weights.sum())
        self._draw = np.random.default_rng(_SEED)
        self._kept: list[Words] = []

    def parts(self, step: int) -> Iterator[Part]:
        """All documents, `step` at a time; afterwards `values` holds the fingerprints' values, by document."""
        for first in range(0, self.size, step):
            passages = [self._passage() for _ in range(min(step, self.size - first))]
            for place in range(0, len(passages), COPIES):
                passages[place] = self._edited(passages[int(self._draw.integers(0, len(passages)))])
            texts = [self._text(passage) for passage in passages]
            records = _records(texts, first)
            self.values[first : first + len(records)] = [each.fingerprint.value for each in records if each.fingerprint]
            self._kept += passages[:: max(1, len(passages) // 50)]
            yield Part(texts, records)

    def questions(self, count: int) -> list[str]:
        """Texts to ask about: two of three are edited copies of stored documents, the others are new. After `parts`."""
        return [
            self._text(self._passage() if number % 3 == 2 else self._edited(self._kept[number % len(self._kept)]))
            for number in range(count)
        ]

    def within(self, value: int, distance: int) -> npt.NDArray[np.int64]:
        """The numbers of all documents within a distance, by comparing every one."""
        return np.flatnonzero(hamming_distances(value, self.values) <= distance)

    def _passage(self) -> Words:
        length = int(self._draw.integers(self.words[0], self.words[1] + 1))
        common = np.searchsorted(self._bounds, self._draw.random(length)).clip(max=WORDS - 1)
        # Every other word is of the document's own subject; else all long texts would be near each other.
        own = self._draw.integers(0, WORDS, SUBJECT)[(self._draw.random(length) ** 2 * SUBJECT).astype(np.int64)]
        return np.where(self._draw.random(length) < 0.5, common, own)

    def _edited(self, passage: Words) -> Words:
        edited = passage.copy()
        changed = self._draw.integers(0, edited.size, int(self._draw.integers(0, MOST_CHANGED + 1)))
        edited[changed] = self._draw.integers(0, WORDS, changed.size)
        return edited

    def _text(self, passage: Words) -> str:
        return " ".join(self._names[passage])


def name_of(number: int) -> str:
    """The id of a document."""
    return f"collection/{number % 1000:03d}/document-{number:09d}.html"


def _records(texts: list[str], first: int) -> list[Record]:
    # Every text has words.
    prints = [found for text in texts if (found := simhash.fingerprint(text))]
    keys = simhash_keys(np.array([each.value for each in prints], dtype=np.uint64)).tolist()
    return [
        Record(
            Ref(name_of(number)), found.sketches(own), format="text", extractor="text 1", size=len(text),
            source_digest=f"{found.value:016x}{number:048x}", indexed_at="2026-01-01T00:00:00Z",
        )
        for number, text, found, own in zip(range(first, first + len(texts)), texts, prints, keys, strict=True)
    ]  # fmt: skip


def _words(count: int) -> Iterator[str]:
    """Different pronounceable words, the frequent ones short."""
    syllables = [a + b for a in _CONSONANTS for b in _VOWELS]
    base = len(syllables)
    for number in range(count):
        word, rest = syllables[number % base], number // base
        while rest:
            word += syllables[(rest - 1) % base]
            rest = (rest - 1) // base
        yield word
