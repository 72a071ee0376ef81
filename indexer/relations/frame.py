"""The frame of a text: lines found around many other documents, and lines compared with those of another text."""

from __future__ import annotations

from itertools import takewhile
from typing import NamedTuple

import numpy as np

from indexer.relations.lexicon import Lexicon
from indexer.relations.wording import TokenValues, Wording


def line_hashes(wording: Wording) -> TokenValues:
    head, foot = wording.outer_lines
    return np.array([wording.hash_of(*line) for line in {*head, *foot}], dtype=np.uint64)


def frame_bounds(wording: Wording, lexicon: Lexicon | None) -> tuple[int, int]:
    start, end = 0, len(wording)
    if lexicon is not None and lexicon.frames:
        head, foot = wording.outer_lines
        for line in takewhile(lambda line: lexicon.is_frame(wording.hash_of(*line)), head):
            start = line[1]
        for line in takewhile(lambda line: lexicon.is_frame(wording.hash_of(*line)), foot):
            end = line[0]
    return start, end


# A line of so many words that are the same, and no words of grammar, is a headline.
_HEADLINE = 3


class FrameLine(NamedTuple):
    """A line of a frame: what stands there, its words, its names and numbers, and a shape in which these are alike."""

    values: bytes
    there: frozenset[int]
    words: frozenset[int]
    facts: frozenset[int]
    shape: tuple[str, ...]
    plain: frozenset[int] = frozenset()

    @property
    def is_plain(self) -> bool:
        return self.shape == ("A",)

    def is_like(self, other: FrameLine) -> bool:
        alike = self.shape == other.shape and (not self.is_plain or bool(self.words & other.words))
        return (alike and self.differs_in_facts(other)) or self.is_replaced_by(other)

    def differs_in_facts(self, other: FrameLine) -> bool:
        mine, yours = self.facts - other.there, other.facts - self.there
        return bool(mine & self.words and yours & other.words) or bool(mine - self.words and yours - other.words)

    def is_headline_of(self, other: FrameLine) -> bool:
        return len(self.plain & other.plain) >= _HEADLINE and self.is_replaced_by(other)

    def is_replaced_by(self, other: FrameLine) -> bool:
        """True for two lines of which all words but one are the same, with another fact."""
        most = max(len(self.words), len(other.words))
        shared = len(self.words & other.words)
        return self.differs_in_facts(other) and 2 * shared > most and most - shared <= 1


def frame_line(wording: Wording, start: int, end: int) -> FrameLine:
    shape: list[str] = []
    words: list[int] = []
    facts: list[int] = []
    plain: list[int] = []
    values = wording.values[start:end]
    for place, value in zip(range(start, end), values.tolist(), strict=True):
        word = wording.word(place)
        kind = "0" if any(map(str.isdigit, word)) else wording.folded(place)
        if word[0].isupper() and kind not in wording.vocabulary.grammar:
            kind = "A"
        if kind in ("0", "A"):
            facts.append(value)
        if not wording.is_word(place):
            continue
        if kind != "0":
            words.append(value)
            if kind not in wording.vocabulary.grammar:
                plain.append(value)
        if shape[-1:] != [kind]:
            shape.append(kind)
    there = frozenset(values.tolist())
    return FrameLine(values.tobytes(), there, frozenset(words), frozenset(facts), tuple(shape), frozenset(plain))
