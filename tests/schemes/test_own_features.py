"""Sketches of features that the caller has made: those of a text's own features are the text's."""

from __future__ import annotations

import numpy as np
import pytest

from indexer.core.text import shingle_hashes, token_hashes
from indexer.errors import UsageError
from indexer.schemes.base import Hashes
from indexer.schemes.registry import scheme
from indexer.schemes.testing import document


def words(text: str) -> Hashes:
    return token_hashes(text)


def shingles(text: str) -> Hashes:
    return shingle_hashes(text, 5)


def all_shingles(text: str) -> Hashes:
    return shingle_hashes(text, 5, numbers=True)


MADE_OF = {
    "simhash-doc": words,
    "simhash": words,
    "simhash:bits=128": words,
    "minhash": all_shingles,
    "supershingles": shingles,
    "weighted-minhash": words,
    "random-projection": words,
}


@pytest.mark.parametrize("name", MADE_OF)
def test_a_texts_own_features_give_its_sketch(name: str) -> None:
    made = scheme(name)
    for seed in range(5):
        text = document(seed) + " 17 and 1,042"
        assert made.sketch_features(MADE_OF[name](text)) == made.sketch(text)


@pytest.mark.parametrize("name", MADE_OF)
def test_no_features_have_no_sketch(name: str) -> None:
    assert scheme(name).sketch_features(np.empty(0, dtype=np.uint64)) is None


@pytest.mark.parametrize("name", [name for name, made in MADE_OF.items() if made is words])
def test_a_weight_counts_as_so_many_occurrences(name: str) -> None:
    made, hashes = scheme(name), words(document(1))
    terms, counts = np.unique(hashes, return_counts=True)
    weighted = made.sketch_features(terms, counts.astype(np.int64))
    assert weighted is not None
    assert weighted == made.sketch_features(np.sort(hashes))


@pytest.mark.parametrize("name", ["spotsigs", "i-match"])
def test_a_scheme_that_reads_texts_says_so(name: str) -> None:
    from indexer.schemes.base import Scheme
    from indexer.schemes.registry import scheme_class

    made = object.__new__(scheme_class(name))
    assert isinstance(made, Scheme)
    with pytest.raises(UsageError, match=f"{name}: reads texts"):
        made.sketch_features(words("one two"))
