"""The known words of a collection, to tell misread words."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from indexer.core.sketches import sorted_distinct
from indexer.model.chunking import chunks_by_size

Hashes = npt.NDArray[np.uint64]
WordCounts = npt.NDArray[np.int64]

# A word of the collection stands in at least so many documents that are not near each other.
_KNOWN = 2
# A line is frame if it stands at the ends of ten documents not near the text: those of its own cluster count as one.
_FRAME = 11
_MOST = 2_000_000
# A lexicon that is kept has so many words, and serves until there are so many times the documents.
_MOST_KEPT, _OUTGROWN = 500_000, 2
_HEAD, _MAGIC = struct.Struct("<4s4xQQQ"), b"lex3"
_WORD = np.dtype([("hash", "<u8"), ("count", "<u4")])
_WORDS_AT_ONCE = 1 << 22
_NONE: Hashes = np.empty(0, dtype=np.uint64)


def known_words(words: Hashes) -> tuple[Hashes, WordCounts]:
    hashes, counts = np.unique(words, return_counts=True)
    known = counts >= _KNOWN
    return hashes[known], counts[known].astype(np.int64)


def shared_words(texts: Iterable[Hashes]) -> Hashes:
    """The words that two of some near texts have; of a single text all its words.

    A misread word mostly stands in one of them: with it a collection of scans would know its own mistakes.
    """
    words, count = _NONE, 0
    for some in chunks_by_size(map(sorted_distinct, texts), _WORDS_AT_ONCE, len, _WORDS_AT_ONCE):
        together = np.sort(np.concatenate((words, *some)))
        # Each word twice at most.
        words = together[np.append([True, True], together[2:] != together[:-2])[: together.size]]
        count += len(some)
    return words if count < 2 else words[1:][words[1:] == words[:-1]]


class Lexicon:
    """The number of added documents with each word; add near documents as one, by `shared_words`.

    `of_stored` is the size of the collection when it was kept. Memory: 16 bytes a word, of at most two million; the
    rarest are dropped.
    """

    def __init__(self) -> None:
        self.documents = self.of_stored = 0
        self.frames = True
        self._words: tuple[Hashes, WordCounts] = _NONE, np.empty(0, dtype=np.int64)
        self._waiting: list[Hashes] = []

    @classmethod
    def of(cls, hashes: Hashes, counts: WordCounts, documents: int, most: int = _MOST) -> Lexicon:
        made = cls()
        made.documents, made._words = documents, _commonest(hashes, counts, most)
        return made

    @classmethod
    def from_bytes(cls, data: bytes) -> Lexicon:
        """The lexicon written by `to_bytes`. Raises ValueError if it is damaged."""
        if len(data) < _HEAD.size:
            raise ValueError("it is too short")
        magic, documents, of_stored, words = _HEAD.unpack_from(data)
        if magic != _MAGIC or len(data) != _HEAD.size + words * _WORD.itemsize:
            raise ValueError("it is of another form")
        rows = np.frombuffer(data, _WORD, words, _HEAD.size)
        if (rows["hash"][1:] <= rows["hash"][:-1]).any():
            raise ValueError("its words are out of order")
        made = cls()
        made._words = rows["hash"].astype(np.uint64), rows["count"].astype(np.int64)
        made.documents, made.of_stored = documents, of_stored
        return made

    def to_bytes(self) -> bytes:
        """The words with their counts, 12 bytes each."""
        hashes, counts = self._settled()
        rows = np.empty(hashes.size, dtype=_WORD)
        rows["hash"], rows["count"] = hashes, counts
        return _HEAD.pack(_MAGIC, self.documents, self.of_stored, rows.size) + rows.tobytes()

    def to_keep(self, of_stored: int) -> Lexicon:
        """The part to keep with a collection of so many documents: known words, at most half a million."""
        hashes, counts = self._settled()
        known = counts >= _KNOWN
        made = Lexicon.of(hashes[known], counts[known], self.documents, _MOST_KEPT)
        made.of_stored = of_stored
        return made

    def is_outgrown(self, stored: int) -> bool:
        """True if the collection is over twice as large as when the lexicon was kept."""
        return stored > _OUTGROWN * self.of_stored

    def take(self, other: Lexicon) -> None:
        self.documents, self.of_stored = other.documents, other.of_stored
        self._words, self._waiting = other._settled(), []

    def add(self, found: Sequence[Hashes]) -> None:
        self.documents += 1
        self._waiting.append(sorted_distinct(np.concatenate(found)))

    def frequency(self, word: int) -> int:
        hashes, counts = self._settled()
        place = int(hashes.searchsorted(np.uint64(word)))
        return int(counts[place]) if place < hashes.size and hashes[place] == word else 0

    def is_frame(self, line: int) -> bool:
        return self.frames and self.frequency(line) >= _FRAME

    def says(self, word: int) -> int:
        """1 for a word of the collection, found in several documents not near each other, 2 for frame, else 0."""
        count = self.frequency(word)
        return (count >= _KNOWN) + (count >= _FRAME)

    def _settled(self) -> tuple[Hashes, WordCounts]:
        if self._waiting:
            known, counts = self._words
            hashes, place = np.unique(np.concatenate((known, *self._waiting)), return_inverse=True)
            sums = np.bincount(place[known.size :], minlength=hashes.size)
            sums[place[: known.size]] += counts
            self._words, self._waiting = _commonest(hashes, sums, _MOST), []
        return self._words


def _commonest(hashes: Hashes, counts: WordCounts, most: int) -> tuple[Hashes, WordCounts]:
    # Of as many counts the lower hash, so that the order in which words come decides nothing.
    kept = np.lexsort((hashes, -counts))[:most] if hashes.size > most else np.arange(hashes.size)
    kept = kept[np.argsort(hashes[kept])]
    return hashes[kept], counts[kept]
