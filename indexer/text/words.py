"""The words of a text with their places."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from indexer.core.text import words_of as core_words_of


@dataclass(frozen=True, slots=True, eq=False)
class Words:
    """The words of a text in order: three arrays of shape (n,).

    `hashes` (uint64) are equal for equal words, in whatever case and compatibility form; word i is the characters
    `starts[i]` to `ends[i] - 1` (uint32) of the text. Signs and white space stand between words, from `ends[i]` to
    `starts[i + 1]`. Where one character becomes several words, as a fraction does, each has its place.
    """

    hashes: npt.NDArray[np.uint64]
    starts: npt.NDArray[np.uint32]
    ends: npt.NDArray[np.uint32]

    def __len__(self) -> int:
        return self.hashes.size

    def part(self, first: int, last: int) -> Words:
        """The words `first` to `last - 1`; their places are those in the whole text."""
        return Words(self.hashes[first:last], self.starts[first:last], self.ends[first:last])


def words_of(text: str, *, numbers: bool = True, identifiers: bool = True) -> Words:
    """The words of a text, scripts without spaces cut as the schemes cut them.

    By default all; without `identifiers`, which are URLs, e-mail addresses, DOIs and the like, those that the schemes
    minhash and passages make shingles of; without `numbers` too, the tokens of simhash-doc. Raises UsageError for a
    text of 4 GiB or more, MemoryError.
    """
    return Words(*core_words_of(text, numbers=numbers, identifiers=identifiers))


def without_trade_marks(text: str) -> str:
    """The same text with a space for each sign of a trade mark, by its compatibility form two letters of a word."""
    return text.replace("\N{TRADE MARK SIGN}", " ")
