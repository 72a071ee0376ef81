"""The signs between the words of a text, as the core finds them, against a slow oracle."""

from __future__ import annotations

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from indexer.core.text import SIGN_KINDS, SIGN_OF_DIGITS, signed_words_of
from indexer.text.words import words_of

SIGNS, OF_DIGITS = "$€%<=¬¤", "-.,:"
KINDS = bytes(
    1 if chr(code) in SIGNS else SIGN_OF_DIGITS if chr(code) in OF_DIGITS else 0 for code in range(SIGN_KINDS)
)
texts = st.one_of(
    st.text(alphabet=SIGNS + OF_DIGITS + "aB1½ﬁß\n é中👍\ud800\u0301", max_size=60),
    st.text(alphabet=st.characters(), max_size=40),
)


def slow_signs(text: str) -> list[int]:
    """Each sign that is in no word, with the number of the words that begin no later."""
    words, found = words_of(text), list[int]()
    places = list(zip(words.starts.tolist(), words.ends.tolist(), strict=True))
    for place, sign in enumerate(text):
        wanted = sign in SIGNS or (sign in OF_DIGITS and text[place + 1 : place + 2] in [*"0123456789"])
        if wanted and places and not any(start <= place < end for start, end in places):
            found += [place, sum(start <= place for start, _ in places)]
    return found


@given(texts)
@settings(max_examples=400, deadline=None)
def test_signs_are_those_of_the_oracle(text: str) -> None:
    hashes, starts, ends, signs = signed_words_of(text, KINDS)
    words = words_of(text)
    assert [*signs] == slow_signs(text)
    assert hashes.tolist() == words.hashes.tolist()
    assert (starts.tolist(), ends.tolist()) == (words.starts.tolist(), words.ends.tolist())


def test_signs_of_a_long_text() -> None:
    """More words than are copied, and more signs than there is room for at first."""
    draw = random.Random(3)
    text = " ".join(draw.choice(("word", "€ 5", "-3", "naïve", "1.5 %")) for _ in range(1500))
    assert [*signed_words_of(text, KINDS)[3]] == slow_signs(text)
