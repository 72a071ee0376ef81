"""weighted-minhash: the contract, the oracle, the estimate."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from indexer.core.sketches import weighted_minhash
from indexer.schemes.registry import scheme
from indexer.schemes.testing import SchemeContract, document
from tests.schemes import oracle_weighted


class TestWeightedMinhash(SchemeContract):
    specification = "weighted-minhash"
    bad = (
        *("weighted-minhash:bands=0", "weighted-minhash:rows=200", "weighted-minhash:bands=30,rows=5"),
        *("weighted-minhash:values=0", "weighted-minhash:bits=5", "weighted-minhash:shingle=0"),
        *("weighted-minhash:threshold=-1", "weighted-minhash:threshold=0.5,bands=5"),
    )
    payload_limit = 128
    bad_payloads = (b"", b"x", bytes(127), bytes(129))


class TestWeightedShingles(SchemeContract):
    specification = "weighted-minhash:shingle=3,bits=4,values=99,bands=9"
    bad = ("weighted-minhash:bits=12",)
    payload_limit = 50


def samples(weights: Counter[int], values: int) -> npt.NDArray[np.uint32]:
    ordered = sorted(weights)
    found = weighted_minhash(np.array(ordered, dtype=np.uint64), [weights[one] for one in ordered], values)
    assert found is not None
    return found


def drawn(draw: np.random.Generator, terms: int, heaviest: int) -> tuple[Counter[int], Counter[int]]:
    """Two random multisets over the same terms."""
    hashes = draw.integers(0, 2**64, terms, dtype=np.uint64).tolist()
    counts = draw.integers(0, heaviest + 1, (2, terms)).tolist()
    one, other = (Counter(dict(zip(hashes, side, strict=True))) for side in counts)
    # Counter's + drops the terms that occur zero times.
    return +one + Counter({hashes[0]: 1}), +other + Counter({hashes[0]: 1})


@given(st.integers(0, 2**32), st.integers(1, 60), st.sampled_from([1, 2, 10, 1000]))
@settings(max_examples=40)
def test_equal_samples_are_as_frequent_as_the_weighted_jaccard_coefficient(
    seed: int, terms: int, heaviest: int
) -> None:
    draw, values, expected, variance, equal = np.random.default_rng(seed), 512, 0.0, 0.0, 0
    for _ in range(20):
        one, other = drawn(draw, terms, heaviest)
        jaccard = oracle_weighted.weighted_jaccard(one, other)
        expected += values * jaccard
        variance += values * jaccard * (1 - jaccard)
        equal += int(np.count_nonzero(samples(one, values) == samples(other, values)))
    # Five standard errors: passed once in two million times.
    assert abs(equal - expected) <= 5 * math.sqrt(variance) + 1e-6


def test_a_text_is_not_the_same_as_itself_twice() -> None:
    made = scheme("weighted-minhash")
    one, twice = made.sketch(document(1)), made.sketch(f"{document(1)} {document(1)}")
    assert one is not None
    assert twice is not None
    assert made.similarities(one.payload, [twice.payload])[0] == pytest.approx(0.5, abs=0.22)


def test_the_order_of_words_is_of_no_account() -> None:
    made = scheme("weighted-minhash")
    assert made.sketch("one two three two") == made.sketch("two three two one")
