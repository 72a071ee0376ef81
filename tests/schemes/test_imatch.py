"""I-Match: the contract, and a slow oracle written from the papers."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from indexer.errors import UsageError
from indexer.schemes.imatch import IMatch
from indexer.schemes.testing import SchemeContract, document
from indexer.text import corpus, features
from tests import oracle
from tests.schemes import variants_oracle as slow

TEXTS = [document(seed, 120) for seed in range(40)]
LEXICON = slow.lexicon(TEXTS, 0.2, 0.8)


@cache
def gathered(name: str) -> corpus.Corpus:
    return corpus.gather(TEXTS, features.parse_recipe(name.removeprefix("corpus.")))


class TestIMatch(SchemeContract):
    specification = "i-match"
    bad = (
        "i-match:low=0.9,high=0.1",
        "i-match:low=-1",
        "i-match:high=2",
        "i-match:drop=0",
        "i-match:drop=1",
        "i-match:sublexicons=32",
        "i-match:sublexicons=2.5",
        "i-match:corpus=c0123456789abcdef",
    )
    bad_payloads = (b"", b"x", bytes(8))
    payload_limit = 88

    def corpus(self, name: str) -> Any:
        return gathered(name)


class TestIMatchWithoutSublexicons(SchemeContract):
    specification = "i-match:sublexicons=0,lower=false,low=0,high=1"
    bad = ("i-match:tokenizer=other",)
    payload_limit = 8

    def corpus(self, name: str) -> Any:
        return gathered(name)


@given(st.lists(st.sampled_from(sorted({*" ".join(TEXTS).split(), "unseen"})), max_size=12))
@settings(max_examples=60, deadline=None)
def test_digests_are_those_of_the_oracle(words: list[str]) -> None:
    scheme = IMatch(corpus=gathered(IMatch.needed({})), low=0.2, high=0.8, drop=0.5, sublexicons=4)
    text = " ".join(words)
    found, wanted = scheme.sketch(text), slow.imatch(text, LEXICON, 0.5, 4)
    if not any(map(any, wanted)):
        assert found is None
        return
    assert found is not None
    assert found.payload == b"".join(wanted)
    assert list(found.keys) == slow.imatch_keys(wanted)


def test_a_changed_word_leaves_the_sub_lexicons_without_it() -> None:
    scheme = IMatch(corpus=gathered(IMatch.needed({})), sublexicons=31)
    words = TEXTS[0].split()
    telling = next(word for word in words if len(oracle.tokens(word)) == 1 and scheme.sketch(word))
    left, right = scheme.sketch(TEXTS[0]), scheme.sketch(" ".join(word for word in words if word != telling))
    assert left is not None
    assert right is not None
    similarity = scheme.similarities(left.payload, [right.payload])[0]
    shared = set(left.keys) & set(right.keys)
    # Each sub-lexicon is without the word with probability 0.33: of 31 some are, some are not.
    assert similarity == len(shared) / 32
    assert 1 <= len(shared) < 32


def test_what_occurs_everywhere_or_once_makes_no_fingerprint() -> None:
    everywhere, once = ["the"], [f"only{n}" for n in range(30)]
    known = corpus.gather([f"the {word} some{n % 3}" for n, word in enumerate(once)], features.recipe())
    scheme = IMatch(corpus=known)
    assert scheme.sketch(" ".join(everywhere + once)) is None
    assert scheme.sketch("the some1") is not None


def test_an_empty_part_agrees_with_nothing() -> None:
    scheme = IMatch(corpus=gathered(IMatch.needed({})), sublexicons=2)
    one, two = b"\1" * 8, b"\2" * 8
    none = bytes(8)
    others = [one + none + none, one + two + none, two + none + none]
    assert scheme.similarities(one + none + none, others).tolist() == [1.0, 0.5, 0.0]


def test_another_corpus_is_refused() -> None:
    with pytest.raises(UsageError, match="corpus"):
        IMatch(corpus=corpus.gather(TEXTS, features.recipe("chars")))
    with pytest.raises(UsageError, match="corpus"):
        IMatch()
