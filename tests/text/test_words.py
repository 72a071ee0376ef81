"""The words of a text with their places, against a slow oracle that normalises every beginning and end of the text."""

from __future__ import annotations

from typing import NamedTuple

import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st

from indexer.core.text import shingle_hashes, token_hashes, without_marks
from indexer.text.words import words_of
from tests import oracle

# Characters that become longer, shorter, several, or nothing; marks that compose and reorder; scripts without spaces.
PIECES = [
    *"aZİß_ \n.,:'’-/7½㎏⑴ﬁǆſÅẛ", *"ﷺعربي", *"अक्षरनि़", *"กำลัง", *"中文〇㐀", *"ひカー", *"한\u1100\u1161\u11a8", *"тЁΐͅ",
    "\u0301", "\u0323", "\u0345", "\u0307", "\u20dd", "\u200d", "\u00ad", "\ufe0f", "👨\u200d👩", "\U000e0061", "\x00",
    "http://a.b/c?d=ﬁ", "x@y.zz", "word ",
]  # fmt: skip
texts = st.one_of(
    st.lists(st.sampled_from(PIECES), max_size=30).map("".join),
    st.text(alphabet=st.characters(codec="utf-8"), max_size=40),
)
# What may compose with, or is ordered among, what is before it.
COMPOSING = regex.compile(r"[^\p{Canonical_Combining_Class=0}]|\p{NFC_Quick_Check=Maybe}")
IGNORABLE = regex.compile(r"\p{Default_Ignorable_Code_Point}+\Z")


class Place(NamedTuple):
    """A token's hash, and the narrowest and the widest place that it may be given."""

    value: int
    narrow: tuple[int, int]
    wide: tuple[int, int]


def slow_words(text: str, *, numbers: bool, identifiers: bool) -> list[Place]:
    """Each token with the shortest part of the text between two cuts that holds it; a cut changes no normal form.

    A place may be as wide as to the next cuts before a character that composes with nothing, where marks and jamo stand
    behind what is no letter; in other texts, all of them in practice, that is the same.
    """
    normal = oracle.normalise(text)
    cuts, plain = [], []
    for place in range(len(text) + 1):
        length = len(oracle.normalise(text[:place]))
        if oracle.normalise(text[:place]) + oracle.normalise(text[place:]) == normal:
            cuts.append((place, length))
            if not COMPOSING.match("".join(map(oracle.mapping, text[place:]))):
                plain.append((place, length))
    found, at = [], 0
    for word in oracle.words(normal if identifiers else oracle.blank_identifiers(normal)):
        for piece in oracle.KEPT.finditer(word):
            start, end = at + piece.start(), at + piece.end()
            if oracle.ALPHABETIC.search(piece[0]) or (numbers and oracle.DIGIT.search(piece[0])):
                narrow, wide = (
                    (
                        max(place for place, length in some if length <= start),
                        min(p for p, length in some if length >= end),
                    )
                    for some in (cuts, [(0, 0), *plain])
                )
                said = oracle.without_marks(piece[0])
                found.append(Place(oracle.lookup8(said.encode()) if said else 0, narrow, wide))
        at += len(word)
    return found


@given(texts, st.booleans(), st.booleans())
@settings(max_examples=600, deadline=None)
def test_places_are_those_of_the_oracle(text: str, numbers: bool, identifiers: bool) -> None:
    found = words_of(text, numbers=numbers, identifiers=identifiers)
    slow = [place for place in slow_words(text, numbers=numbers, identifiers=identifiers) if place.value]
    assert found.hashes.tolist() == [place.value for place in slow]
    for place, start, end in zip(slow, found.starts.tolist(), found.ends.tolist(), strict=True):
        assert place.wide[0] <= start <= place.narrow[0]
        # What is ignored at the end of a word may be counted to it or not.
        assert place.narrow[1] <= end
        assert len(IGNORABLE.sub("", text[:end])) <= place.wide[1]


@given(texts)
@settings(max_examples=300, deadline=None)
def test_hashes_are_those_of_the_schemes(text: str) -> None:
    assert (
        words_of(text, numbers=False, identifiers=False).hashes.tolist() == token_hashes(without_marks(text)).tolist()
    )
    as_shingles = shingle_hashes(text, 1, numbers=True).tolist()
    assert [oracle.lookup8(h.to_bytes(8, "little")) for h in words_of(text, identifiers=False).hashes.tolist()] == (
        as_shingles
    )


@pytest.mark.parametrize("text", ["Straße ", "naïve ﬁne ", "中文 ", "é ", "\ud800a "])
def test_long_texts_are_their_repeated_beginning(text: str) -> None:
    one, many = words_of(text), words_of(text * 1000)
    assert len(many) == 1000 * len(one)
    for number in (0, 499, 999):
        part = many.part(number * len(one), (number + 1) * len(one))
        assert part.hashes.tolist() == one.hashes.tolist()
        assert (part.starts - number * len(text)).tolist() == one.starts.tolist()
        assert (part.ends - number * len(text)).tolist() == one.ends.tolist()


def test_words_as_a_reader_sees_them() -> None:
    text = "GRÜẞE an http://a.example/c: die ﬁne ½ soft\u00adhyphen, 3.5 %"
    words = words_of(text)
    assert [text[start:end] for start, end in zip(words.starts, words.ends, strict=True)] == [
        "GRÜẞE", "an", "http", "a", "example", "c", "die", "ﬁne", "½", "½", "soft\u00adhyphen", "3", "5",
    ]  # fmt: skip
    assert words.hashes[0] == token_hashes("grüsse")[0]
    assert len(words_of("")) == len(words_of(" - ")) == 0
