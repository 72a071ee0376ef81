"""A text made ready for alignments: its words, and the signs that make another number of a number."""

from __future__ import annotations

import sys
import unicodedata
from functools import cache

import numpy as np
import numpy.typing as npt

from indexer.text.words import Words, words_of

# A comparison or a negation in code, beside the currencies, is no sign of a number but of what stands behind it.
_OPERATORS = "<>=!≤≥≠≈¬÷+"
_UNITS = "%‰‱°"
_MINUS = "-\N{MINUS SIGN}"
_OPENING = '.!?:;\n"“„«(•*#-|\N{EN DASH}\N{EM DASH}'
_SEPARATORS = ".,:/-"
_BEFORE_DIGITS, _NEAR, _FAR = 2, 2, 9
_MIXER = 0x9E3779B97F4A7C15


class Wording:
    """The words of a text: `values` (uint64, shape (n,)) are equal for equal words with equal signs beside them.

    Signs are currencies, units such as %, a minus in front of a digit, what joins the parts of a number, and operators.
    """

    __slots__ = ("_ends", "_signs", "_starts", "hashes", "text", "values")

    def __init__(self, text: str) -> None:
        words = words_of(text)
        self.text, self.hashes = text, words.hashes
        self._starts: list[int] = words.starts.tolist()
        self._ends: list[int] = words.ends.tolist()
        self._signs = _signs_of(text, words, self._starts, self._ends)
        self.values = _mixed(self.hashes, self._signs)

    def __len__(self) -> int:
        return len(self._starts)

    def word(self, place: int) -> str:
        """The word at a place as it is written."""
        return self.text[self._starts[place] : self._ends[place]]

    def signs(self, place: int) -> str:
        """The signs beside a word."""
        return self._signs.get(place, "")

    def measures(self, place: int) -> str:
        """Those of the signs beside a word that belong to a number, without operators."""
        return "".join(sign for sign in self.signs(place) if sign not in _OPERATORS)

    def before(self, place: int) -> str:
        """The characters between a word and the one before it."""
        start = self._ends[place - 1] if place else 0
        return self.text[start : self._starts[place]] if place < len(self._starts) else self.text[start:]

    def behind(self, place: int) -> str:
        """The character that stands behind a word, empty at the end."""
        return self.text[self._ends[place] : self._ends[place] + 1]

    def written(self, first: int, last: int, most: int = 60) -> str:
        """The words from `first` to `last - 1` as they stand in the text, on one line, cut where they are long."""
        if first >= last:
            return ""
        start, end = self._starts[first], self._ends[last - 1]
        while start and (_is_currency(self.text[start - 1]) or self.text[start - 1] in self.signs(first)):
            start -= 1
        behind = self.text[end : end + 2]
        if behind[:1] == " " and behind[1:] and _is_measure(behind[1:]):
            end += 2
        while end < len(self.text) and _is_measure(self.text[end]):
            end += 1
        said = " ".join(self.text[start:end].split())
        return said if len(said) <= most else f"{said[: most - 3]}..."

    def initial(self, place: int) -> bool:
        """True if a word begins a sentence or a line, where any word may have a capital."""
        gap = self.before(place)
        return place == 0 or any(sign in _OPENING for sign in gap)

    def opens(self, place: int) -> bool:
        """True if a word begins a line, or a sentence behind a full stop."""
        return self.opens_line(place) or any(sign in ".!?" for sign in self.before(place))

    def opens_line(self, place: int) -> bool:
        """True if no word stands before this one on its line."""
        return place == 0 or place >= len(self) or "\n" in self.before(place)


def _is_measure(sign: str) -> bool:
    return sign in _UNITS or _is_currency(sign)


@cache
def _is_currency(sign: str) -> bool:
    return unicodedata.category(sign) == "Sc"


@cache
def _kinds() -> npt.NDArray[np.uint8]:
    """The characters that are looked at: 1, or `_BEFORE_DIGITS` where that is for those before a digit only."""
    table = np.zeros(0x10000, dtype=np.uint8)
    table[[ord(sign) for sign in _OPERATORS + _UNITS]] = 1
    table[[code for code in range(0x10000) if unicodedata.category(chr(code)) == "Sc"]] = 1
    table[[ord(sign) for sign in _MINUS + _SEPARATORS]] = _BEFORE_DIGITS
    return table


def _signs_of(text: str, words: Words, starts: list[int], ends: list[int]) -> dict[int, str]:
    codes = np.frombuffer(
        text.encode("utf-32-le" if sys.byteorder == "little" else "utf-32-be", "surrogatepass"), np.uint32
    )
    kinds = _kinds()[np.minimum(codes, 0xFFFF)]
    # Most points, commas and hyphens have no number behind them.
    kinds[:-1] *= (kinds[:-1] != _BEFORE_DIGITS) | ((codes[1:] >= ord("0")) & (codes[1:] <= ord("9")))
    kinds[-1:] *= kinds[-1:] != _BEFORE_DIGITS
    places = np.flatnonzero(kinds)
    signs: dict[int, str] = {}
    if not starts:
        return signs
    following = np.searchsorted(words.starts, places, side="right").tolist()
    for place, after in zip(places.tolist(), following, strict=True):
        # What stands inside a word, as the point in an abbreviation, is a part of it.
        if not after or place >= ends[after - 1]:
            to_last = place - ends[after - 1] if after else _FAR
            to_next = starts[after] - place - 1 if after < len(starts) else _FAR
            owner = _owner(text, place, after, to_last, to_next)
            if owner is not None:
                signs[owner] = signs.get(owner, "") + text[place]
    return signs


def _owner(text: str, place: int, after: int, to_last: int, to_next: int) -> int | None:
    """The word that a sign belongs to: `after`, the next one, or the last, so many characters away."""
    sign, behind = text[place], text[place + 1 : place + 2]
    before = text[place - 1] if place else " "
    if sign in _SEPARATORS or sign in _MINUS:
        joins = not to_last and before.isdigit()
        negative = sign in _MINUS and before in " \t\n(=,"
        return after if not to_next and behind.isdigit() and (joins or negative) else None
    if sign in _OPERATORS:
        return after if to_next <= _NEAR and not before == sign == behind else None
    if not to_next and sign not in _UNITS:
        return after
    if to_last < _NEAR:
        return after - 1
    return after if to_next < _NEAR else None


def _mixed(hashes: npt.NDArray[np.uint64], signs: dict[int, str]) -> npt.NDArray[np.uint64]:
    if not signs:
        return hashes
    values = hashes.copy()
    places = np.fromiter(signs, dtype=np.int64, count=len(signs))
    values[places] ^= np.array([_number(said) for said in signs.values()], dtype=np.uint64)
    return values


@cache
def _number(said: str) -> int:
    number = 0
    for sign in said:
        number = (number * 31 + ord(sign)) * _MIXER & 0xFFFFFFFFFFFFFFFF
    return number
