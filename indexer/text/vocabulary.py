"""Grammar, negations and numbers, by language."""

from __future__ import annotations

import itertools
import re
import tomllib
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

_WORDS: dict[str, Any] = tomllib.loads(Path(__file__).with_name("vocabulary.toml").read_text("utf-8"))
_LANGUAGES, _SHORT = _WORDS["languages"], _WORDS["short"]
NEGATIONS, NUMERALS, GRAMMATICAL, SIZES, UNITS, NEGATING_BEGINNINGS, SURNAMES, NO_SURNAMES = (
    frozenset(_SHORT[name].split())
    for name in (
        *("negations", "numerals", "grammatical", "sizes", "units", "negating_beginnings"),
        *("surnames", "no_surnames"),
    )
)
"""Words of short texts, whatever their language."""

# So many words of grammar in a text, and more than of any other language, are a language.
_LEAST = 3
_READ = 20_000
_WORD = re.compile(r"[^\W\d_]+")
_SPACED = bytes(code if chr(code).isalpha() and code < 0x80 else ord(" ") for code in range(256))
_LETTER = re.compile("[\u3040-\u30ff\u4e00-\u9fff]")


class LanguageWords(NamedTuple):
    """Words of one language, in folded case; `capital_nouns` is true if every noun has a capital."""

    grammar: frozenset[str] = frozenset()
    negations: frozenset[str] = frozenset()
    numerals: frozenset[str] = frozenset()
    capital_nouns: bool = False


UNKNOWN = LanguageWords()


def vocabulary_of(text: str) -> LanguageWords:
    start = text[:_READ].casefold()
    if start.isascii():
        words = {*start.encode().translate(_SPACED).decode().split()}
    else:
        words = {*_WORD.findall(start), *_LETTER.findall(start)}
    known = _languages_by_word()
    counts = Counter(itertools.chain.from_iterable(known[word] for word in words & known.keys()))
    first, second = [*counts.most_common(2), ("", 0), ("", 0)][:2]
    return of_language(first[0]) if first[1] >= _LEAST and first[1] > second[1] else UNKNOWN


@cache
def _languages_by_word() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, words in _LANGUAGES.items():
        for word in {*words["grammar"].split()}:
            found.setdefault(word, []).append(name)
    return found


@cache
def of_language(name: str) -> LanguageWords:
    words = {kind: frozenset(words.split()) for kind, words in _LANGUAGES[name].items()}
    return LanguageWords(**words, capital_nouns=name == "de")
