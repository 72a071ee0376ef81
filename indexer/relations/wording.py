"""A text prepared for alignments."""

from __future__ import annotations

import re
import unicodedata
from functools import cache, cached_property
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from indexer.core.text import text_digest
from indexer.text.links import without_targets, without_tracking
from indexer.text.words import has_marks, without_trade_marks, words_of

TokenValues = npt.NDArray[np.uint64]
CharacterPlaces = npt.NDArray[np.int64]

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
_IGNORED = np.array(sorted(map(ord, _WHITE + _QUOTES + _ENDS + _UNSEEN)), dtype=np.uint32)
# These count inside of a word or a number only, as in 1.5 and 5·3; elsewhere they end a sentence or lead an item.
_INNER = np.array(sorted(map(ord, ".\u00b7\u2022\u2023\u2043\u25e6\u25aa\u2219\u30fb")), dtype=np.uint32)
# A hyphen counts beside a word; other dashes only in front of a digit, as a minus or in a range.
_HYPHENS = np.array(sorted(map(ord, "-\u2010\u2011\u2212\ufe63\uff0d")), dtype=np.uint32)
_DASHES = np.array(sorted(map(ord, "\u2012\u2013\u2014\u2015")), dtype=np.uint32)
# Before a number or an amount with no number before them, both are a minus.
_MONEY = np.array(sorted(map(ord, "$\u20ac\u00a3\u00a5\u20bd\u20b9\u20a9\u20ba\u0e3f")), dtype=np.uint32)
# Behind a number these are feet, inches, minutes or seconds.
_PRIMES = {"'": "'", "\u2019": "'", "\u2032": "'", '"': '"', "\u201d": '"', "\u2033": '"'}
_PRIME_CODES = np.array(sorted(map(ord, _PRIMES)), dtype=np.uint32)
_OPENED = re.compile("(?:^|[\\s(])['\u2018\u201a]")
# A word is the same with these and without them by its compatibility form: 10⁶ is not 106, nor 5½ 51/2.
_RAISED = "\u00b2\u00b3\u00b9\u2070" + "".join(map(chr, (*range(0x2074, 0x207A), *range(0x2080, 0x208A))))
_FRACTIONS = "\u00bc\u00bd\u00be" + "".join(map(chr, range(0x2150, 0x215F)))
_INSIDE = np.array(sorted(map(ord, _RAISED + _FRACTIONS)), dtype=np.uint32)

# Of these four or more in a row are a line or a leader; an asterisk before an item is a bullet.
_LAYOUT = re.compile(r"([-=_*~#.+])\1{3,}|^[ \t]*\*(?=[ \t])", re.MULTILINE)
_PAGE_NUMBER = re.compile(r"^[ \t]*\d{1,4}[ \t]*\n\s*(?=\f)|(?<=\f)\s*\d{1,4}[ \t]*(?=\n|$)", re.MULTILINE)
_CLOSING = r"[\])}\"'\u2019\u201d\u00bb\u300d\u300f\uff09]*"
_STOP = re.compile(rf"[.!?\u2026\u061f]{_CLOSING}(?=\s|$)|[\u3002\uff01\uff1f\uff61\u0964\u0965\u06d4]{_CLOSING}")
_MARKED = re.compile(r"\s*(?:[-*\u2022\u00b7]|\w{1,3}[.)])\s")
# Lines are wrapped between these widths; what is narrower is a list, what is wider has no line ends but its own.
_NARROWEST, _WIDEST = 45, 130
# Of a longer line the end next to a word tells enough.
_LONGEST_LINE = 200
_LINE_END = re.compile("[\n\f]")
_PARAGRAPHS = re.compile(r"(\n[ \t]*\n\s*|\f)")
_MIXER = 0x9E3779B97F4A7C15


class Wording:
    """The words and signs of a text in order: `values` (uint64, shape (n,)) are equal for equal ones.

    Case, white space, soft hyphens, quotation marks, dashes between words, bullets, numbers of pages and the points
    behind sentences don't count; every other sign does. `hashes` (uint64) are those of the words alone.
    """

    def __init__(self, text: str) -> None:
        self.given = text
        self.text = text = without_tracking(without_trade_marks(text))
        read = _without_layout(text)
        words = words_of(read)
        self.hashes = words.hashes
        starts, ends = words.starts.astype(np.int64), words.ends.astype(np.int64)
        places, codes = _signs_of(read, starts, ends)
        values = (codes.astype(np.uint64) + np.uint64(1)) * np.uint64(_MIXER)
        at = np.concatenate((starts, places))
        order = np.argsort(at, kind="stable")
        self.values: TokenValues = np.concatenate((words.hashes, values))[order]
        self._starts = at[order]
        self._ends = np.concatenate((ends, places + 1))[order]
        self._is_word = order < starts.size

    def __len__(self) -> int:
        return self.values.size

    @cached_property
    def without_targets(self) -> Wording:
        text = without_targets(self.text)
        return self if text == self.text else Wording(text)

    @cached_property
    def has_marks(self) -> bool:
        return has_marks(self.text)

    @cached_property
    def digest(self) -> bytes:
        return text_digest(self.given)

    @cached_property
    def sentence_ends(self) -> frozenset[int]:
        offsets = [match.end() for match in _STOP.finditer(self.text) if _ends_sentence(self.text, match)]
        offsets += _unit_ends(self.text)
        found = np.searchsorted(self._starts, np.array(offsets, dtype=np.int64))
        return frozenset((0, len(self), *found.tolist()))

    @cached_property
    def sorted_ends(self) -> list[int]:
        return sorted(self.sentence_ends)

    def frame_lines(self, most: int, *, from_end: bool = False) -> list[tuple[int, int]]:
        found: list[tuple[int, int]] = []
        place = len(self.text) if from_end else 0
        while len(found) < most and 0 <= place <= len(self.text):
            if from_end:
                start, end = self.text.rfind("\n", 0, max(0, place)) + 1, place
                place = start - 1
            else:
                start, end = place, self.text.find("\n", place) % (len(self.text) + 1)
                place = end + 1
            if _STOP.search(self.text, start, end):
                break
            first, last = np.searchsorted(self._starts, (start, end)).tolist()
            found += [(first, last)] if first < last else []
        return found

    def lines(self) -> list[tuple[int, int]]:
        """The lines of the text, as places."""
        ends = [match.start() for match in _LINE_END.finditer(self.text)]
        places = [0, *np.searchsorted(self._starts, np.array(ends, dtype=np.int64)).tolist(), len(self)]
        return [(first, last) for first, last in pairwise(places) if first < last]

    def line_before(self, place: int) -> str:
        """The line of the word before a place, up to the end of that word."""
        end = int(self._ends[place - 1]) if place else 0
        return _LINE_END.split(self.text[max(0, end - _LONGEST_LINE) : end])[-1]

    def line_behind(self, place: int) -> str:
        """The rest of the line behind the word before a place."""
        end = int(self._ends[place - 1]) if place else 0
        return _LINE_END.split(self.text[end : end + _LONGEST_LINE])[0]

    def is_word(self, place: int) -> bool:
        return bool(self._is_word[place])

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

    def initial(self, place: int) -> bool:
        return (
            place in self.sentence_ends or "\n" in self.before(place) or any(c in _QUOTES for c in self.before(place))
        )


def _without_layout(text: str) -> str:
    if "\f" in text:
        text = _PAGE_NUMBER.sub(lambda match: " " * len(match[0]), text)
    return _LAYOUT.sub(lambda match: " " * len(match[0]), text)


def _signs_of(
    text: str, starts: CharacterPlaces, ends: CharacterPlaces
) -> tuple[CharacterPlaces, npt.NDArray[np.uint32]]:
    codes = np.frombuffer(f" {text} ".encode("utf-32-le", "surrogatepass"), dtype="<u4")
    steps = np.zeros(codes.size + 1, dtype=np.int64)
    np.add.at(steps, starts + 1, 1)
    np.add.at(steps, ends + 1, -1)
    in_word = np.cumsum(steps[:-1]) > 0
    at = np.flatnonzero(~in_word & (codes > ord(" ")))
    found = codes[at]
    behind, ahead = in_word[at - 1], in_word[at + 1]
    after_digit, before_digit = _are_digits(codes[at - 1]), _are_digits(codes[at + 1])
    kept = ~np.isin(found, _IGNORED) & (found != 0x7F)
    # In "..." and at the end of a sentence a point is none.
    kept &= ~np.isin(found, _INNER) | (ahead & ((found == ord(".")) | behind) & (codes[at - 1] != ord(".")))
    hyphens, dashes = np.isin(found, _HYPHENS), np.isin(found, _DASHES)
    before_money = np.isin(codes[at + 1], _MONEY)
    kept &= ~hyphens | behind | ahead | before_money
    kept &= ~dashes | before_digit | before_money
    primes = np.isin(found, _PRIME_CODES) & after_digit & ~ahead
    kept[np.flatnonzero(primes)] = [_is_prime(text, place - 1) for place in at[primes].tolist()]
    found = np.where(hyphens | dashes, np.uint32(ord("-")), found)
    at, found = at[kept], found[kept]
    if at.size and int(found.max()) > 0x7F:
        distinct, places = np.unique(found, return_inverse=True)
        found = np.array([_in_one_form(int(code)) for code in distinct], dtype=np.uint32)[places]
    if codes.max() > 0x7F and (inside := np.flatnonzero(in_word & np.isin(codes, _INSIDE))).size:
        at, found = np.concatenate((at, inside)), np.concatenate((found, codes[inside]))
    return at - 1, found


def _is_prime(text: str, place: int) -> bool:
    line = text[text.rfind("\n", 0, place) + 1 : place]
    if _PRIMES[text[place]] == '"':
        return sum(line.count(mark) for mark in '"\u201c\u201d\u201e\u201f') % 2 == 0
    return not _OPENED.search(line)


def _are_digits(codes: npt.NDArray[np.uint32]) -> npt.NDArray[np.bool_]:
    return np.asarray((codes >= ord("0")) & (codes <= ord("9")), dtype=np.bool_)


@cache
def _in_one_form(code: int) -> int:
    sign = _PRIMES.get(chr(code), "") or unicodedata.normalize("NFKC", chr(code))
    return ord(sign) if len(sign) == 1 else code


def _ends_sentence(text: str, match: re.Match[str]) -> bool:
    """True for a full stop without a small letter after it (UAX 29, SB8), and any other sentence end."""
    if match[0][0] != ".":
        return True
    rest = text[match.end() : match.end() + 20].lstrip()
    return not rest[:1].islower()


def _unit_ends(text: str) -> list[int]:
    found: list[int] = []
    place = 0
    for paragraph in _PARAGRAPHS.split(text):
        lines = paragraph.split("\n")
        goes_on = _read_on(lines)
        for line, reads_on in zip(lines, goes_on, strict=True):
            place += len(line) + 1
            if not reads_on:
                found.append(place)
        place -= 1
    return found


def _read_on(lines: list[str]) -> list[bool]:
    width = max(len(line.rstrip()) for line in lines)
    if not _NARROWEST <= width <= _WIDEST:
        return [False] * len(lines)
    full = [
        bool(following.strip()) and len(line.rstrip()) + 1 + len(following.split(maxsplit=1)[0]) > width
        for line, following in pairwise(lines)
    ]
    if 2 * sum(full) <= len(full):
        return [False] * len(lines)
    return [is_full and not _MARKED.match(line) for is_full, line in zip(full, lines[1:], strict=True)] + [False]
