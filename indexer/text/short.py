"""Telling words and names of short texts."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from indexer.core.text import lookup8, without_marks
from indexer.text.links import LINK, without_tracking
from indexer.text.vocabulary import GRAMMATICAL, NEGATIONS, NO_SURNAMES, NUMERALS, SIZES, SURNAMES, UNITS
from indexer.text.words import without_trade_marks, words_of

_RUNS = re.compile(r"\d+|[^\W\d_]+")
# What makes another number of a number, or another thing of a letter.
_SIGNS = re.compile(r"[%‰°&]|(?<!\s)#|#(?![^\W\d])|(?<=\w)\+|(?<!\w)[-\N{MINUS SIGN}](?=\d)|[$€£¥₹₽₩₺₴₪฿₫]")
_ROMAN = re.compile(r"x{0,3}(ix|iv|v?i{0,3})")
# Of Greek vowels, and the dot of a capital I in Turkish.
_ACCENTS = re.compile("([\u03b1-\u03c9])[\u0300\u0301\u0308\u0342]+|(?<=i)\u0307")
_CONSONANTS = frozenset("bcdfghjklmnpqrstvwxz")
_APOSTROPHES = ("'", "\N{RIGHT SINGLE QUOTATION MARK}")
_LONGEST_UNIT = 3
# A Chinese surname is followed by so many letters of the name at most.
_GIVEN = 2
# Marks that no reader sees: where a word may be broken, and which way it runs.
_UNSEEN = dict.fromkeys((0xAD, 0xFEFF, *range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2060, 0x2070)))


class ShortText(NamedTuple):
    """A text's words in order, in folded case, with marks of possible names and of telling words.

    `facts` is a hash of the telling words: the numbers with their units, in order, and the signs, sizes, negations and
    short codes. Texts with different `facts` are never copies. `aside` marks links and hashtags.
    """

    words: tuple[str, ...]
    names: tuple[bool, ...]
    telling: tuple[bool, ...]
    facts: int
    aside: tuple[bool, ...] = ()


class _ShownWord(NamedTuple):
    """A word as it is written, with two characters on each side; a code is cut into letters and numbers."""

    text: str
    folded: str
    before: str = ""
    behind: str = ""
    is_cut: bool = False
    in_file: bool = False
    is_link: bool = False
    is_aside: bool = True


def short_text(text: str) -> ShortText:
    """The words of a text, with numbers apart from letters, its names and its facts.

    A capitalised word may be a name unless it is a word of grammar. The first word of a sentence counts too, and so do
    the words of "main.c" and "open_file". In scripts without capitals, only Chinese surnames count, with the next two
    letters.
    """
    text = without_tracking(without_trade_marks(text))
    if not text.isprintable():
        text = text.translate(_UNSEEN)
    links = {link.span() for link in LINK.finditer(text)}
    linkless = LINK.sub(lambda link: " " * len(link[0]), text) if links else text
    found = words_of(linkless)
    # A fraction is several words in one place.
    spans = sorted({*links, *zip(found.starts.tolist(), found.ends.tolist(), strict=True)})
    shown = [word for span in spans for word in _shown(text, *span, is_link=span in links)]
    folded = tuple(word.folded for word in shown)
    mixed_case = any(word.text.islower() for word in shown if not word.is_link)
    named = _in_names(folded)
    numbers, others, names, telling, before = list[str](), _SIGNS.findall(linkless), list[bool](), list[bool](), " "
    for place, word in enumerate(shown):
        names.append(word.in_file or place in named or _has_capital(word, mixed_case=mixed_case))
        is_number = word.is_cut or _is_number(word.folded) or (_is_digit(before[-1]) and _is_unit(word.folded))
        telling.append(not word.is_link and (is_number or _tells(word, mixed_case=mixed_case)))
        if telling[-1]:
            (numbers if is_number else others).append(word.folded)
        before = word.folded
    said = "\0".join([*numbers, "", *sorted(others)]).encode("utf-8", "surrogatepass")
    return ShortText(folded, tuple(names), tuple(telling), lookup8(said), tuple(word.is_aside for word in shown))


def _shown(text: str, start: int, end: int, *, is_link: bool) -> Iterator[_ShownWord]:
    word, before, behind = text[start:end], text[max(0, start - 2) : start], text[end : end + 2]
    if is_link:
        yield _ShownWord(link := word.strip().lower(), _folded(link), is_link=True)
        return
    in_file = "_" in word or any(each[:1] == "." and each[1:].isalnum() for each in (before[::-1], behind))
    parts = (_RUNS.findall(word) if any(map(str.isdigit, word)) else ()) or (word,)
    is_tag = before[-1:] == "#" and not before[:-1].strip()
    for part in parts:
        yield _ShownWord(
            part, _folded(part), before, behind, len(parts) > 1, in_file and not part.isdecimal(), is_aside=is_tag
        )


@lru_cache(maxsize=1 << 16)
def _folded(word: str) -> str:
    # Capitals of Greek have no accents, and I is the capital of a Turkish letter too.
    plain = unicodedata.normalize("NFKC", without_marks(word).decode("utf-8", "replace")).casefold()
    if not plain.isascii():
        plain = unicodedata.normalize(
            "NFC", _ACCENTS.sub(lambda found: found[1] or "", unicodedata.normalize("NFD", plain))
        ).replace("\N{LATIN SMALL LETTER DOTLESS I}", "i")
    # In a stored form words are parted by spaces and by ^.
    return plain.replace(" ", "").replace("^", "") or "?"


def _has_capital(word: _ShownWord, *, mixed_case: bool) -> bool:
    first, is_acronym = word.text[0], len(word.text) > 1 and word.text.isupper() and mixed_case
    return first != first.lower() and (is_acronym or word.folded not in GRAMMATICAL)


def _in_names(letters: Sequence[str]) -> frozenset[int]:
    """The places of Chinese surnames, and of the letters behind them."""
    surnames = [
        place
        for place, letter in enumerate(letters)
        if letter in SURNAMES
        and NO_SURNAMES.isdisjoint(
            ("".join(letters[max(place - 1, 0) : place + 1]), "".join(letters[place : place + 2]))
        )
    ]
    near = (place for first in surnames for place in range(first, min(first + _GIVEN + 1, len(letters))))
    return frozenset(place for place in near if len(letters[place]) == 1 and "\u4e00" <= letters[place] <= "\u9fff")


def _is_digit(character: str) -> bool:
    return unicodedata.category(character)[0] == "N"


def _is_number(word: str) -> bool:
    return _is_digit(word[0]) or word in NUMERALS or (len(word) > 1 and _ROMAN.fullmatch(word) is not None)


def _is_unit(word: str) -> bool:
    return len(word) <= _LONGEST_UNIT and word.upper() != word and word not in GRAMMATICAL


def _tells(word: _ShownWord, *, mixed_case: bool) -> bool:
    """True for a word that changes the meaning of a text wherever it stands.

    A vowel does in Vitamin E, but not in E-Mail, also written e-mail.
    """
    text, folded = word.text, word.folded
    if folded in NEGATIONS or folded in SIZES or folded in UNITS:
        return True
    if len(folded) > 1:
        return len(folded) == 2 and text.isupper() and folded not in GRAMMATICAL
    if not {word.before[-1:], word.behind[:1]}.isdisjoint(_APOSTROPHES):
        return folded == "t"
    leads = word.behind[:1] == "-" and word.behind[1:].isalpha()
    return folded in _CONSONANTS or (text.isupper() and mixed_case and not leads and folded not in GRAMMATICAL)
