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

    `hashes` (uint64) are equal for equal words, in any case and compatibility form. Word i is the characters
    `starts[i]` to `ends[i] - 1` (uint32) of the text. Signs and white space lie between words, from `ends[i]` to
    `starts[i + 1]`. If one character becomes several words, as a fraction does, each has its place.
    """

    hashes: npt.NDArray[np.uint64]
    starts: npt.NDArray[np.uint32]
    ends: npt.NDArray[np.uint32]

    def __len__(self) -> int:
        return self.hashes.size

    def part(self, first: int, last: int) -> Words:
        return Words(self.hashes[first:last], self.starts[first:last], self.ends[first:last])


def words_of(text: str, *, numbers: bool = True, identifiers: bool = True) -> Words:
    """The words of a text, scripts without spaces cut as the schemes cut them.

    By default all. Without `identifiers` (URLs, e-mail addresses, DOIs and the like), the words of the minhash and
    passages schemes. Without `numbers` too, the tokens of simhash-doc. Raises UsageError for a text of 4 GiB or more,
    MemoryError.
    """
    return Words(*core_words_of(text, numbers=numbers, identifiers=identifiers))


def without_trade_marks(text: str) -> str:
    return text.replace("\N{TRADE MARK SIGN}", " ")


# The letters that a mark is one with; of forms of kaf and yeh none has a mark.
_MARKS = "[[\\p{Mn}&&[\u0590-\u06ff\u0700-\u074f\u0870-\u08ff]]]"
_LETTER = regex.compile(rf"(?V1).{_MARKS}*", regex.DOTALL)
_MARKED = regex.compile("(?V1)[\u0622\u0623\u0625\u0671]|" + _MARKS)
_WASLA = "\N{ARABIC LETTER ALEF WASLA}"


def has_marks(text: str) -> bool:
    return not text.isascii() and _MARKED.search(text) is not None


def marks_differ(one: str, other: str) -> bool:
    mine, yours = _marks_of(one), _marks_of(other)
    return len(mine) == len(yours) and any(
        not (left <= right or right <= left) for left, right in zip(mine, yours, strict=True)
    )


def _marks_of(word: str) -> list[frozenset[str]]:
    parted = unicodedata.normalize("NFD", unicodedata.normalize("NFKC", word)).replace("\N{ARABIC TATWEEL}", "")
    letters: list[str] = _LETTER.findall(parted.replace(_WASLA, "\N{ARABIC LETTER ALEF}\N{ARABIC MADDAH ABOVE}"))
    return [frozenset(letter[1:]) for letter in letters]
