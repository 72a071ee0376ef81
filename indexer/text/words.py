"""The words of a text with their places."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import regex

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


# The letters that a mark is one with; of forms of kaf and yeh none has a mark.
_MARKS = "[[\\p{Mn}&&[\u0590-\u06ff\u0700-\u074f\u0870-\u08ff]]]"
_LETTER = regex.compile(rf"(?V1).{_MARKS}*", regex.DOTALL)
_MARKED = regex.compile("(?V1)[\u0622\u0623\u0625\u0671]|" + _MARKS)
_WASLA = "\N{ARABIC LETTER ALEF WASLA}"


def has_marks(text: str) -> bool:
    """True for a text with marks that its language may leave out, as vowel signs of Arabic and points of Hebrew."""
    return not text.isascii() and _MARKED.search(text) is not None


def marks_differ(one: str, other: str) -> bool:
    """True if two words, equal without such marks, have different marks on the same letter: two other words."""
    mine, yours = _marks_of(one), _marks_of(other)
    return len(mine) == len(yours) and any(
        not (left <= right or right <= left) for left, right in zip(mine, yours, strict=True)
    )


def _marks_of(word: str) -> list[frozenset[str]]:
    """The marks of each letter, that of an alef with hamza or madda among them."""
    parted = unicodedata.normalize("NFD", unicodedata.normalize("NFKC", word)).replace("\N{ARABIC TATWEEL}", "")
    letters: list[str] = _LETTER.findall(parted.replace(_WASLA, "\N{ARABIC LETTER ALEF}\N{ARABIC MADDAH ABOVE}"))
    return [frozenset(letter[1:]) for letter in letters]
