"""The words of a short text as they are compared: which of them tell it from another one, and which are names."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from indexer.core.text import lookup8
from indexer.text.vocabulary import GRAMMATICAL, NEGATIONS, NUMERALS, SIZES, UNITS
from indexer.text.words import words_of

_RUNS = re.compile(r"\d+|[^\W\d_]+")
# What makes another number of a number, or another thing of a letter.
_SIGNS = re.compile(r"[%‰°#&]|(?<=\w)\+|(?<!\w)[-\N{MINUS SIGN}](?=\d)|[$€£¥₹₽₩₺₴₪฿₫]")
_ROMAN = re.compile(r"x{0,3}(ix|iv|v?i{0,3})")
_HAN_NUMERALS = frozenset("二三四五六七八九十百千万亿两萬億兩")
_CONSONANTS = frozenset("bcdfghjklmnpqrstvwxz")
_APOSTROPHES = ("'", "\N{RIGHT SINGLE QUOTATION MARK}")
_LONGEST_UNIT = 3
# Most names of persons in Chinese begin with one of these.
_SURNAMES = frozenset(
    "王李张刘陈杨黄赵吴周徐孙朱胡郭何罗郑梁谢宋唐许韩冯邓曹彭曾萧蔡潘袁董余苏吕魏蒋沈姚卢傅丁薛阎崔谭汪范廖邹熊"
)
# In Finnish and Hungarian they negate; in Spanish, French and Portuguese they are the commonest words.
_NO_NEGATIONS = frozenset(("en", "em"))


class ShortText(NamedTuple):
    """A text's words in order, in folded case, and marks of those that may be names.

    `facts` is a hash of the numbers with their units, in order, and of the signs, sizes, negations and short codes:
    of two texts in which it differs neither is a copy of the other.
    """

    words: tuple[str, ...]
    names: tuple[bool, ...]
    facts: int


def short_text(text: str) -> ShortText:
    """The words of a text, with numbers apart from letters, its names and its facts.

    A word with a capital may be a name, but for words of grammar; also the first one of a sentence, which only
    looks like one. In scripts without capitals only surnames in Chinese are.
    """
    shown = list(_shown(text))
    mixed_case = any(each.text.islower() for each in shown)
    folded = tuple(_folded(each.text) for each in shown)
    names = tuple(
        _has_capital(word.text, each, mixed_case=mixed_case) or each in _SURNAMES
        for word, each in zip(shown, folded, strict=True)
    )
    numbers, others, before = list[str](), _SIGNS.findall(text), ""
    for word, each in zip(shown, folded, strict=True):
        if word.in_code or _is_number(each) or (_is_digit(before[-1:]) and _is_unit(each)):
            numbers.append(each)
        elif _tells(word.text, each, mixed_case=mixed_case, elided=word.elided):
            others.append(each)
        before = each
    said = "\0".join([*numbers, "", *sorted(others)]).encode("utf-8", "surrogatepass")
    return ShortText(folded, names, lookup8(said))


class _WordShown(NamedTuple):
    """A word as it is written: whether an apostrophe stands beside it, and whether it is a part of one with digits."""

    text: str
    elided: bool
    in_code: bool


def _shown(text: str) -> Iterator[_WordShown]:
    found = words_of(text)
    # A fraction is several words in one place.
    for start, end in dict.fromkeys(zip(found.starts.tolist(), found.ends.tolist(), strict=True)):
        word = text[start:end]
        elided = text[start - 1 : start] in _APOSTROPHES or text[end : end + 1] in _APOSTROPHES
        parts = (_RUNS.findall(word) if any(map(str.isdigit, word)) else ()) or (word,)
        for part in parts:
            yield _WordShown(part, elided, len(parts) > 1)


@lru_cache(maxsize=1 << 16)
def _folded(word: str) -> str:
    # In a stored form words are parted by spaces and by ^.
    return unicodedata.normalize("NFKC", word.casefold()).replace(" ", "").replace("^", "") or "?"


def _has_capital(word: str, folded: str, *, mixed_case: bool) -> bool:
    return word[0] != word[0].lower() and (
        folded not in GRAMMATICAL or (len(word) > 1 and word.isupper() and mixed_case)
    )


def _is_digit(character: str) -> bool:
    return character.isdigit() or (bool(character) and unicodedata.category(character) in ("No", "Nl"))


def _is_number(word: str) -> bool:
    return (
        _is_digit(word[0])
        or word in NUMERALS
        or word in _HAN_NUMERALS
        or (len(word) > 1 and _ROMAN.fullmatch(word) is not None)
    )


def _is_unit(word: str) -> bool:
    return len(word) <= _LONGEST_UNIT and word.upper() != word and word not in GRAMMATICAL


def _tells(word: str, folded: str, *, mixed_case: bool, elided: bool) -> bool:
    """True for a word without which, or with another one, a text says something else, wherever it stands."""
    if (folded in NEGATIONS and folded not in _NO_NEGATIONS) or folded in SIZES or folded in UNITS:
        return True
    if len(folded) == 1:
        if elided:
            return folded == "t"
        return folded in _CONSONANTS or (word.isupper() and mixed_case and folded not in GRAMMATICAL)
    return len(folded) == 2 and word.isupper() and folded not in GRAMMATICAL
