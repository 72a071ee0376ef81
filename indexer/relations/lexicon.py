"""The words that a collection is known to use, for telling a misread word from another word."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Hashes = npt.NDArray[np.uint64]

# A word of the collection stands in at least so many documents, a common one in so many and in this share of all.
_KNOWN, _COMMON, _COMMON_SHARE = 2, 5, 0.01
_MOST, _MOST_ASKED = 2_000_000, 20_000


def known_words(words: Hashes) -> tuple[Hashes, npt.NDArray[np.int64]]:
    """The hashes that a lexicon knows among those of the words of documents, and in how many of these each stands."""
    hashes, counts = np.unique(words, return_counts=True)
    known = counts >= _KNOWN
    return hashes[known], counts[known].astype(np.int64)


class Lexicon:
    """In how many documents each word stands, of those that were added; near ones are to be added as one.

    Memory: 16 bytes a word, of at most two million; the rarest are let go.
    """

    def __init__(self) -> None:
        self.documents = 0
        self._hashes: Hashes = np.empty(0, dtype=np.uint64)
        self._counts: npt.NDArray[np.int64] = np.empty(0, dtype=np.int64)
        self._waiting: list[Hashes] = []
        self._asked: dict[int, int] = {}

    @classmethod
    def of(cls, hashes: Hashes, counts: npt.NDArray[np.int64], documents: int) -> Lexicon:
        """A lexicon of words, by their hashes, each once, and in how many of so many documents they stand."""
        made = cls()
        # Of as many counts the lower hash, so that the order in which words come decides nothing.
        kept = np.lexsort((hashes, -counts))[:_MOST]
        kept = kept[np.argsort(hashes[kept])]
        made.documents, made._hashes, made._counts = documents, hashes[kept], counts[kept]
        return made

    def add(self, texts: Sequence[Hashes]) -> None:
        """Count the words of texts that are near each other, by their hashes, as those of one document."""
        if texts:
            self.documents += 1
            words = np.concatenate(texts)
            words.sort()
            # Much quicker for few words than np.unique.
            first = np.ones(words.size, dtype=np.bool_)
            np.not_equal(words[1:], words[:-1], out=first[1:])
            self._waiting.append(words[first])

    def frequency(self, word: int) -> int:
        """The number of documents that a word stands in, by its hash."""
        if self._waiting:
            self._settle()
        if (known := self._asked.get(word)) is not None:
            return known
        place = int(self._hashes.searchsorted(np.uint64(word)))
        count = int(self._counts[place]) if place < self._hashes.size and self._hashes[place] == word else 0
        if len(self._asked) >= _MOST_ASKED:
            self._asked.clear()
        self._asked[word] = count
        return count

    def knows(self, word: int) -> bool:
        """True for a word of the collection's language: it stands in several documents that are not near each other."""
        return self.frequency(word) >= _KNOWN

    def is_common(self, word: int) -> bool:
        """True for a word that says little about a document, since many have it."""
        return self.frequency(word) >= max(_COMMON, _COMMON_SHARE * self.documents)

    def _settle(self) -> None:
        hashes, counts = np.unique(np.concatenate(self._waiting), return_counts=True)
        self._waiting = []
        self._asked.clear()
        together, place = np.unique(np.concatenate((self._hashes, hashes)), return_inverse=True)
        sums = np.zeros(together.size, dtype=np.int64)
        np.add.at(sums, place, np.concatenate((self._counts, counts)))
        if together.size > _MOST:
            kept = sums > np.partition(sums, together.size - _MOST)[together.size - _MOST]
            together, sums = together[kept], sums[kept]
        self._hashes, self._counts = together, sums
