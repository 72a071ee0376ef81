"""A text prepared for alignments."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from functools import cache, cached_property
from itertools import pairwise, takewhile

import numpy as np
import numpy.typing as npt

from indexer.core.text import SIGN_CODES, SignKind, lookup8, signed_words_of
from indexer.text.links import without_targets, without_tracking
from indexer.text.vocabulary import LanguageWords, vocabulary_of
from indexer.text.words import without_trade_marks

TokenValues = npt.NDArray[np.uint64]

# Characters that never count: white space (the property White_Space of Unicode), quotation marks, sentence ends,
# characters that no reader sees (soft hyphens, marks of direction, variation selectors).
_WHITE = "\x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))
_QUOTES = (
    "\"'`\u00b4\u2018\u2019\u201a\u201b\u201c\u201d\u201e\u201f"
    "\u00ab\u00bb\u2039\u203a\u300c\u300d\u300e\u300f\u2032\u2033\uff02\uff07"
)
_ENDS = "\u2026\u3002\uff61\u06d4\u0964\u0965\u0589"
_UNSEEN = "\u00ad\u061c\ufeff" + "".join(
    map(chr, (*range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2060, 0x2070), *range(0xFE00, 0xFE10)))
)
# Behind a number these are feet, inches, minutes or seconds.
_PRIMES = {"'": "'", "\u2019": "'", "\u2032": "'", '"': '"', "\u201d": '"', "\u2033": '"'}
# A word is the same with these and without them by its compatibility form: 10⁶ is not 106, nor 5½ 51/2.
_RAISED = "\u00b2\u00b3\u00b9\u2070" + "".join(map(chr, (*range(0x2074, 0x207A), *range(0x2080, 0x208A))))
_FRACTIONS = "\u00bc\u00bd\u00be" + "".join(map(chr, range(0x2150, 0x215F)))
_KINDS = (
    (SignKind.NEVER, _WHITE + _QUOTES + _ENDS + _UNSEEN),
    # These count inside of a word or a number only, as in 1.5 and 5·3; elsewhere they end a sentence or lead an item.
    (SignKind.INNER, ".\u00b7\u2022\u2023\u2043\u25e6\u25aa\u2219\u30fb"),
    # A hyphen counts beside a word; other dashes only in front of a digit, as a minus or in a range.
    (SignKind.HYPHEN, "-\u2010\u2011\u2212\ufe63\uff0d"),
    (SignKind.DASH, "\u2012\u2013\u2014\u2015"),
    # Before a number or an amount with no number before them, both are a minus.
    (SignKind.MONEY, "$\u20ac\u00a3\u00a5\u20bd\u20b9\u20a9\u20ba\u0e3f"),
    (SignKind.PRIME, "'\u2019\u2032"),
    (SignKind.PRIMES, '"\u201d\u2033'),
    (SignKind.OPENING, "'\u2018\u201a"),
    (SignKind.DOUBLE, '"\u201c\u201d\u201e\u201f'),
    (SignKind.WHITE, "\t\n\v\f\r\x1c\x1d\x1e\x1f " + _WHITE),
    (SignKind.WITHIN, _RAISED + _FRACTIONS),
)

# Of these four or more in a row are a line or a leader; an asterisk before an item is a bullet.
_LAYOUT = (
    ("\f", re.compile(r"^[ \t]*\d{1,4}[ \t]*\n\s*(?=\f)|(?<=\f)\s*\d{1,4}[ \t]*(?=\n|$)", re.MULTILINE)),
    ("*", re.compile(r"\*{4,}|^[ \t]*\*(?=[ \t])", re.MULTILINE)),
    ("", re.compile(r"([-=_~#.+])\1{3,}")),
)
_CLOSING = r"[\])}\"'\u2019\u201d\u00bb\u300d\u300f\uff09]*"
# The first class is for speed: most characters are in none.
_STOP = re.compile(
    r"[.!?\u2026\u061f\u3002\uff01\uff1f\uff61\u0964\u0965\u06d4]"
    rf"(?:(?<=[.!?\u2026\u061f]){_CLOSING}(?=\s|$)|(?<![.!?\u2026\u061f]){_CLOSING})"
)
_MARKED = re.compile(r"\s*(?:[-*\u2022\u00b7]|\w{1,3}[.)])\s")
# Lines are wrapped between these widths; what is narrower is a list, what is wider has no line ends but its own.
_NARROWEST, _WIDEST = 45, 130
# More lines at one end of a text are a list, and no frame.
_MOST_LINES = 30
# Of a longer line the end next to a word tells enough.
_LONGEST_LINE = 200
_LINE_END = re.compile("[\n\f]")
_PARAGRAPHS = re.compile(r"(\n[ \t]*\n\s*|\f)")


class Wording:
    """The words and signs of a text in order: `values` (uint64, shape (n,)) are equal for equal ones.

    Case, white space, soft hyphens, quotation marks, dashes between words, bullets, numbers of pages and the points
    behind sentences don't count; every other sign does. `hashes` (uint64) are those of the words alone.
    """

    def __init__(self, text: str) -> None:
        self.given = text
        self.text = text = without_tracking(without_trade_marks(text))
        found = signed_words_of(_without_layout(text), sign_kinds())
        self.values: TokenValues = found.values
        self.hashes: TokenValues = found.values[found.are_words]
        # Single numbers are read much quicker from these than from arrays.
        self._offsets, self._starts, self._ends = found.starts, found.starts.data, found.ends.data
        self._are_words = found.are_words.data

    def __len__(self) -> int:
        return self.values.size

    @cached_property
    def without_targets(self) -> Wording:
        text = without_targets(self.text)
        return self if text == self.text else Wording(text)

    @cached_property
    def sentence_ends(self) -> frozenset[int]:
        text = self.text
        # A full stop before a small letter ends no sentence (UAX 29, SB8).
        stops = [
            stop.end()
            for stop in _STOP.finditer(text)
            if stop[0][0] != "." or not text[stop.end() : stop.end() + 20].lstrip()[:1].islower()
        ]
        return frozenset((0, len(self), *self._places([*stops, *_unit_ends(text)])))

    @cached_property
    def sorted_ends(self) -> list[int]:
        return sorted(self.sentence_ends)

    def sentences(self, start: int, end: int) -> list[int]:
        """The bounds of the sentences of a stretch."""
        ends = self.sorted_ends
        return [*dict.fromkeys((start, *ends[bisect_left(ends, start) : bisect_left(ends, end)], end))]

    def sentence_hashes(self, bounds: Sequence[int]) -> TokenValues:
        return np.array([self.hash_of(*each) for each in pairwise(bounds)], dtype=np.uint64)

    def hash_of(self, start: int, end: int) -> int:
        """A hash of a stretch that no other one has."""
        return lookup8(self.values[start:end].tobytes())

    @cached_property
    def vocabulary(self) -> LanguageWords:
        return vocabulary_of(self.text)

    @cached_property
    def lines(self) -> list[tuple[int, int]]:
        """The lines of the text, as places."""
        places = [0, *self._places([match.start() for match in _LINE_END.finditer(self.text)]), len(self)]
        return [(first, last) for first, last in pairwise(places) if first < last]

    @cached_property
    def outer_lines(self) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
        """The lines at the head and at the foot, from the end of the text inward, up to the first sentence end."""
        head, foot = (
            list(takewhile(lambda line: not _STOP.search(self.span(*line) + self.before(line[1])), some))
            for some in (self.lines[:_MOST_LINES], self.lines[: -_MOST_LINES - 1 : -1])
        )
        return head, foot

    def line_before(self, place: int) -> str:
        """The line of the word before a place, up to the end of that word."""
        end = self._ends[place - 1] if place else 0
        return _LINE_END.split(self.text[max(0, end - _LONGEST_LINE) : end])[-1]

    def line_behind(self, place: int) -> str:
        """The rest of the line behind the word before a place."""
        end = self._ends[place - 1] if place else 0
        return _LINE_END.split(self.text[end : end + _LONGEST_LINE])[0]

    def is_word(self, place: int) -> bool:
        return bool(self._are_words[place])

    def _places(self, offsets: Sequence[int]) -> list[int]:
        """The places of the first words and signs behind some characters."""
        found: list[int] = self._offsets.searchsorted(np.array(offsets, dtype=np.uint32)).tolist()
        return found

    def is_plain(self, place: int) -> bool:
        word = self.word(place)
        return self.is_word(place) and "_" not in word and (word.isupper() or not any(map(str.isupper, word[1:])))

    def word(self, place: int) -> str:
        return self.text[self._starts[place] : self._ends[place]]

    def folded(self, place: int) -> str:
        return unicodedata.normalize("NFKC", self.word(place)).casefold()

    def before(self, place: int) -> str:
        start = self._ends[place - 1] if place else 0
        return self.text[start : self._starts[place]] if place < len(self) else self.text[start:]

    def span(self, first: int, last: int) -> str:
        return self.text[self._starts[first] : self._ends[last - 1]] if first < last else ""

    def written(self, first: int, last: int, most: int = 60) -> str:
        said = " ".join(self.span(first, last).split())
        return said if len(said) <= most else f"{said[: most - 3]}..."

    def is_name(self, place: int) -> bool:
        """True for a capital word within a sentence, in a language that writes no other nouns so."""
        if not self.word(place)[0].isupper() or self.vocabulary.capital_nouns or place in self.sentence_ends:
            return False
        return not any(character in f"\n{_QUOTES}" for character in self.before(place))


def _without_layout(text: str) -> str:
    for sign, layout in _LAYOUT:
        if sign in text:
            text = layout.sub(lambda match: " " * len(match[0]), text)
    return text


@cache
def sign_kinds() -> npt.NDArray[np.uint32]:
    kinds = np.arange(SIGN_CODES, dtype=np.uint32)
    for code in filter(lambda code: unicodedata.decomposition(chr(code)), range(SIGN_CODES)):
        plain = unicodedata.normalize("NFKC", chr(code))
        kinds[code] = ord(plain) if len(plain) == 1 and ord(plain) < SIGN_CODES else code
    for prime, plain in _PRIMES.items():
        kinds[ord(prime)] = ord(plain)
    for dash in dict(_KINDS)[SignKind.HYPHEN] + dict(_KINDS)[SignKind.DASH]:
        kinds[ord(dash)] = ord("-")
    for kind, characters in _KINDS:
        kinds[list(map(ord, characters))] |= np.uint32(kind)
    return kinds


def _unit_ends(text: str) -> Iterator[int]:
    """The ends of lines, but those of wrapped ones."""
    place = 0
    for paragraph in _PARAGRAPHS.split(text):
        lines = paragraph.split("\n")
        for line, reads_on in zip(lines, _read_on(lines), strict=True):
            place += len(line) + 1
            if not reads_on:
                yield place
        place -= 1


def _read_on(lines: Sequence[str]) -> list[bool]:
    width = max(len(line.rstrip()) for line in lines)
    full = [
        _NARROWEST <= width <= _WIDEST and len(line.rstrip()) + 1 + len(following.split(maxsplit=1)[0]) > width
        if following.strip()
        else False
        for line, following in pairwise(lines)
    ]
    wrapped = 2 * sum(full) > len(full)
    return [wrapped and each and not _MARKED.match(line) for each, line in zip(full, lines[1:], strict=True)] + [False]
