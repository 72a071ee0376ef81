"""A text made ready for alignments: its words, and the signs that make another number of a number."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Sequence
from functools import cache, cached_property

import numpy as np
import numpy.typing as npt

from indexer.core.text import SIGN_KINDS, SIGN_OF_DIGITS, signed_words_of, text_digest
from indexer.text.links import without_targets, without_tracking
from indexer.text.words import Words, has_marks, without_trade_marks

# A comparison or a negation in code, beside the currencies, is no sign of a number but of what stands behind it.
_OPERATORS = "<>=!≤≥≠≈¬÷+#"
# Behind a word they are a part of it: C, C++ and C# are three languages.
_SUFFIXES = "+#"
_UNITS = "%‰‱°"
_MINUS = "-\N{MINUS SIGN}"
_OPENING = frozenset('.!?:;\n"“„«(•*#-|\N{EN DASH}\N{EM DASH}')
_ENDING = frozenset(".!?\n")
_SEPARATORS = ".,:/-"
_HANGING = ("-", ".", "/", ":")
_STOPS = (".", ",", ";", "?")
_LONGEST_MARK = 2
_LONGEST_TITLE = 25
_RULE = 4
_ROMAN = frozenset("ivx")
_DIGITS = re.compile(r"\d+")
_NEAR, _FAR, _LONG_GAP = 2, 9, 100
_MIXER = 0x9E3779B97F4A7C15


class Wording:
    """The words of a text: `values` (uint64, shape (n,)) are equal for equal words with equal signs beside them.

    Signs are currencies, units such as %, a minus in front of a digit, what joins the parts of a number, and operators.
    """

    def __init__(self, text: str) -> None:
        self._given = text
        text = without_tracking(without_trade_marks(text))
        hashes, starts, ends, signs = signed_words_of(text, _kinds())
        words = Words(hashes, starts, ends)
        self.text, self.hashes = text, words.hashes
        # Single numbers are read from these much quicker than from arrays.
        self._starts, self._ends = words.starts.data, words.ends.data
        self._signs = _signs_of(text, words, signs)
        self.values = _mixed(self.hashes, self._signs)

    def __len__(self) -> int:
        return self.hashes.size

    @cached_property
    def without_targets(self) -> Wording:
        """The same without where links of Markdown lead to; itself if it has none."""
        text = without_targets(self.text)
        return self if text == self.text else Wording(text)

    @cached_property
    def has_marks(self) -> bool:
        """True for a text with marks that its language may leave out; its words are equal to those without."""
        return has_marks(self.text)

    @cached_property
    def told(self) -> int:
        """The number of words, where these are single letters, as in Chinese and Thai, of every two of them."""
        if not len(self):
            return 0
        letters = int(np.asarray(self._ends).sum()) - int(np.asarray(self._starts).sum())
        return len(self) if letters >= 2 * len(self) else (len(self) + 1) // 2

    @cached_property
    def numbers(self) -> frozenset[int]:
        """The hashes of the words with a digit, but those of one or two characters, maybe marks of a list."""
        if not len(self):
            return frozenset()
        starts, ends = np.asarray(self._starts), np.asarray(self._ends)
        places = np.array([match.start() for match in _DIGITS.finditer(self.text)], dtype=np.int64)
        words = np.maximum(np.searchsorted(starts, places, side="right") - 1, 0)
        words = words[(places < ends[words]) & (ends[words] - starts[words] > _LONGEST_MARK)]
        return frozenset(self.hashes[words].tolist())

    @cached_property
    def digest(self) -> bytes:
        """The digest of the text, equal for texts that are equal except for case and white space."""
        return text_digest(self._given)

    def word(self, place: int) -> str:
        """The word at a place as it is written."""
        return self.text[self._starts[place] : self._ends[place]]

    def folded(self, place: int) -> str:
        """The word at a place in folded case."""
        return self.text[self._starts[place] : self._ends[place]].casefold()

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
        text, start, end = self.text, self._starts[first], self._ends[last - 1]
        while (
            start and text[start - 1] != " " and (_is_currency(text[start - 1]) or text[start - 1] in self.signs(first))
        ):
            start -= 1
        behind = text[end : end + 2]
        if behind[:1] == " " and behind[1:] and _is_measure(behind[1:]):
            end += 2
        while end < len(text) and _is_measure(text[end]):
            end += 1
        said = " ".join(text[start:end].split())
        return said if len(said) <= most else f"{said[: most - 3]}..."

    def initial(self, place: int) -> bool:
        """True if a word begins a sentence or a line, where any word may have a capital."""
        before = self.before(place)
        # In "Foreign.Safe" and "Jean-Luc" nothing begins.
        return place == 0 or (before not in _HANGING and not _OPENING.isdisjoint(before))

    def opens(self, place: int) -> bool:
        """True if a word begins a line, or a sentence behind a full stop."""
        return place == 0 or place >= len(self) or not _ENDING.isdisjoint(self.before(place))

    @cached_property
    def title(self) -> int:
        """The number of words in the first line where these are few and other lines follow; else 0."""
        words = bisect_left(self._starts, self.text.find("\n", len(self.text) - len(self.text.lstrip())))
        return words if words <= _LONGEST_TITLE and words < len(self) else 0

    def suffix(self, place: int) -> str:
        """The signs behind a word that are a part of it, as in C++; most have none."""
        signs, behind = self.signs(place), self.behind(place)
        return "".join(sign for sign in signs if sign == behind) if signs and behind and behind in _SUFFIXES else ""

    def joins(self, place: int) -> bool:
        """True if a word is a further part of the number before it, as in 1,234.50."""
        end, text = self._ends[place - 1] if place else 0, self.text
        if self._starts[place] - end != 1 or not place:
            return False
        return text[end] in _SEPARATORS and text[end - 1].isdigit() and text[end + 1].isdigit()

    def in_compound(self, place: int) -> bool:
        """True for a word that hangs together with another by a hyphen, a point, a slash or a colon: a file, a key."""
        text, start, end = self.text, self._starts[place], self._ends[place]
        led = start > 1 and text[start - 1] in _HANGING and text[start - 2].isalnum()
        return led or (text[end : end + 1] in _HANGING and text[end + 1 : end + 2].isalnum())

    def is_mark(self, place: int) -> bool:
        """True for the number or the letter in front of an item, which another format leaves out."""
        word = self.word(place)
        if len(word) > _LONGEST_MARK or self.behind(place) not in (".", ")"):
            return False
        if len(word) > 1 and not word.isdigit() and not {*word.casefold()} <= _ROMAN:
            return False
        return place == 0 or "\n" in self.before(place)


@cache
def _is_measure(sign: str) -> bool:
    return sign in _UNITS or _is_currency(sign)


@cache
def _is_currency(sign: str) -> bool:
    return unicodedata.category(sign) == "Sc"


@cache
def _kinds() -> bytes:
    """The characters that are looked at; of points, commas and hyphens those in front of a digit, as most are not."""
    table = bytearray(SIGN_KINDS)
    for code in range(SIGN_KINDS):
        sign = chr(code)
        if sign in _OPERATORS + _UNITS or unicodedata.category(sign) == "Sc":
            table[code] = 1
        elif sign in _MINUS + _SEPARATORS:
            table[code] = SIGN_OF_DIGITS
    return bytes(table)


def _signs_of(text: str, words: Words, found: Sequence[int]) -> dict[int, str]:
    signs: dict[int, str] = {}
    starts, ends, count = words.starts.data, words.ends.data, len(words)
    for place, after in zip(found[::2], found[1::2], strict=True):
        if text[place] in _SUFFIXES and after and _is_suffix(text, place):
            signs[after - 1] = signs.get(after - 1, "") + text[place]
            continue
        last = place - ends[after - 1] if after else _FAR
        coming = starts[min(after, count - 1)] - place - 1
        if text[place] == "$" and last and coming and not _is_amount(text, place, last, coming):
            continue
        to_last = _apart(text, place - last, place) if after else _FAR
        to_next = _apart(text, place + 1, place + 1 + coming) if after < count else _FAR
        owner = _owner(text, place, after, to_last, to_next)
        if owner is not None:
            signs[owner] = signs.get(owner, "") + text[place]
    return signs


def _is_amount(text: str, place: int, last: int, coming: int) -> bool:
    """True for a sign between spaces with a number beside it, and no prompt of a shell."""
    before, behind = place - last - 1, place + 1 + coming
    return (before >= 0 and text[before].isdigit()) or (behind < len(text) and text[behind].isdigit())


def _apart(text: str, start: int, end: int) -> int:
    """The number of characters from `start` to `end`, white space in a row counted as one, where these are not many."""
    if end - start < _NEAR or end - start > _LONG_GAP:
        return end - start
    return len(" ".join(f"x{text[start:end]}x".split())) - 2


def _owner(text: str, place: int, after: int, to_last: int, to_next: int) -> int | None:
    """The word that a sign belongs to: `after`, the next one, or the last, so many characters away."""
    sign, behind = text[place], text[place + 1 : place + 2]
    before = text[place - 1] if place else " "
    if sign in _SEPARATORS or sign in _MINUS:
        joins = not to_last and before.isdigit()
        negative = sign in _MINUS and (before.isspace() or before in "(=,")
        return after if not to_next and behind.isdigit() and (joins or negative) else None
    if sign in _OPERATORS:
        # What ends a sentence, or stands in front of its end, belongs to no word of the next one.
        ends = behind in _STOPS or (sign == "!" and not to_last and behind.isspace())
        # So many are a line under a heading, or around a listing.
        if sign * _RULE in text[max(0, place - _RULE + 1) : place + _RULE]:
            return None
        return after if sign != "#" and to_next <= _NEAR and not ends and not before == sign == behind else None
    if not to_next and sign not in _UNITS:
        return after
    if to_last < _NEAR:
        return after - 1
    return after if to_next < _NEAR else None


def _is_suffix(text: str, place: int) -> bool:
    """True for one of at most two signs behind a word, with nothing between, or for the sharp of C#."""
    sign, rest = text[place], text[place : place + _NEAR + 1].lstrip(text[place])[:1]
    if rest.isalnum() or not place:
        return False
    if sign == "#":
        return text[place - 1].isupper() and not text[max(0, place - 2) : place - 1].isalnum()
    return text[max(0, place - _NEAR) : place].rstrip(sign)[-1:].isalnum()


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
