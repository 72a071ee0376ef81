"""The signs that count between the words of a text, against a slow oracle."""

from __future__ import annotations

import random
import re

from hypothesis import given, settings
from hypothesis import strategies as st

from indexer.core.text import signed_words_of
from indexer.relations.wording import sign_kinds
from indexer.text.words import words_of

NEVER, INNER, HYPHENS, DASHES, MONEY = "\"'`´‘’‚“”„«»′″…。\u00ad\u200b", ".·•", "-‐−", "–—", "$€£"
PRIMES, WITHIN = {"'": "'", "’": "'", "′": "'", '"': '"', "”": '"', "″": '"'}, "²³½₂"
MIXER = 0x9E3779B97F4A7C15
SIGNS = "%<=¬¤+☑（)"
texts = st.text(alphabet=NEVER + INNER + HYPHENS + DASHES + MONEY + WITHIN + SIGNS + "aB123ﬁß\n\t é中👍", max_size=60)


def is_prime(line: str, sign: str) -> bool:
    """Whether a mark behind a number is no end of a quotation of the line before it."""
    if PRIMES[sign] == '"':
        return sum(map(line.count, '"“”„‟')) % 2 == 0
    return re.search("(?:^|[\\s(])['‘‚]", line) is None


def slow_signs(text: str) -> list[tuple[int, str]]:
    """Each sign that counts with its place, as the sign that it stands for."""
    words, found = words_of(text), list[tuple[int, str]]()
    inside = {place for start, end in zip(words.starts, words.ends, strict=True) for place in range(start, end)}
    for place, sign in enumerate(text):
        before, next_one = text[place - 1 : place] or " ", text[place + 1 : place + 2] or " "
        behind, ahead = place - 1 in inside, place + 1 in inside
        if place in inside:
            kept = sign in WITHIN
        elif sign in PRIMES and before in "0123456789" and not ahead:
            kept = is_prime(text[:place].rpartition("\n")[2], sign)
        elif sign in INNER:
            kept = ahead and (sign == "." or behind) and before != "."
        elif sign in HYPHENS + DASHES:
            beside_word = behind or ahead if sign in HYPHENS else next_one in "0123456789"
            kept = beside_word or next_one in MONEY
        else:
            kept = sign > " " and sign not in NEVER
        if kept:
            plain = {"（": "("} | dict.fromkeys(HYPHENS + DASHES, "-") | PRIMES
            found.append((place, plain.get(sign, sign)))
    return found


@given(texts)
@settings(max_examples=400, deadline=None)
def test_signs_are_those_of_the_oracle(text: str) -> None:
    found, slow = signed_words_of(text, sign_kinds()), slow_signs(text)
    assert found.starts[~found.are_words].tolist() == [place for place, _ in slow]
    assert found.values[~found.are_words].tolist() == [(ord(sign) + 1) * MIXER % 2**64 for _, sign in slow]
    assert found.values[found.are_words].tolist() == words_of(text).hashes.tolist()


def test_signs_of_a_long_text() -> None:
    """More words than are copied, and more signs than there is room for at first."""
    draw = random.Random(3)
    text = " ".join(draw.choice(("word", "€ 5", "-3", "naïve", "1.5 %")) for _ in range(3000))
    found = signed_words_of(text, sign_kinds())
    assert found.starts[~found.are_words].tolist() == [place for place, _ in slow_signs(text)]
    assert found.starts[found.are_words].tolist() == words_of(text).starts.tolist()
