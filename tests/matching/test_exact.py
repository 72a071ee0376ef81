"""Exact resemblance against plain sets."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from indexer.core.text import tokenise
from indexer.errors import UsageError
from indexer.matching.measures.exact import containment, jaccard, jaccard_pairs, shingle_sets
from indexer.model.ragged import Ragged


def made(sets: list[set[int]]) -> Ragged:
    offsets = np.cumsum([0, *map(len, sets)], dtype=np.int64)
    values = np.array([value for each in sets for value in sorted(each)], dtype=np.uint64)
    return Ragged(values, offsets)


def plain(one: set[int], other: set[int]) -> float:
    return len(one & other) / len(one | other) if one | other else 0.0


# Few different values, so that most sets meet; some sets are equal, some empty.
SETS = st.lists(st.sets(st.integers(0, 30), max_size=12), max_size=25)


@settings(max_examples=300, deadline=None)
@given(SETS, st.sampled_from([0.05, 0.3, 0.5, 0.8, 1.0]))
def test_pairs_equal_brute_force(sets: list[set[int]], floor: float) -> None:
    found = jaccard_pairs(made(sets), floor)
    expected = {
        (a, b): plain(sets[a], sets[b])
        for a, b in combinations(range(len(sets)), 2)
        if sets[a] and plain(sets[a], sets[b]) >= floor
    }
    given_back = zip(found.left.tolist(), found.right.tolist(), found.jaccard.tolist(), strict=True)
    assert {(a, b): value for a, b, value in given_back} == expected
    assert found.left.size == len(expected)


@settings(max_examples=200, deadline=None)
@given(
    st.lists(
        st.sets(st.integers(0, 2**64 - 1).map(lambda value: value % 64 << 58), max_size=40), min_size=2, max_size=2
    )
)
def test_one_pair(sets: list[set[int]]) -> None:
    one, other = sets
    assert jaccard(made(sets), [0], [1]).tolist() == [plain(one, other)]
    smaller = min(len(one), len(other))
    assert containment(made(sets), [0], [1]).tolist() == [len(one & other) / smaller if smaller else 0.0]


def test_shingles_of_texts_are_those_of_their_tokens() -> None:
    texts = [
        "The quick brown fox jumps over the lazy dog and the quick brown fox jumps again",
        "A quick brown fox jumps over the lazy cat, and the quick brown fox jumps again",
        "Etwas ganz anderes steht hier, mit ebenso vielen Wörtern wie in den anderen Texten",
    ]
    tokens = [tokenise(text).tokens for text in texts]
    shingles = [{each[i : i + 5] for i in range(len(each) - 4)} for each in tokens]
    sets = shingle_sets(texts)
    assert sets.sizes.tolist() == [len(each) for each in shingles]
    expected = len(shingles[0] & shingles[1]) / len(shingles[0] | shingles[1])
    assert jaccard(sets, [0, 0], [1, 2]).tolist() == [expected, 0.0]
    assert sets.take(np.array([2, 0])).sizes.tolist() == [len(shingles[2]), len(shingles[0])]


@pytest.mark.parametrize("floor", [0.0, -0.1, 1.1])
def test_a_floor_that_can_not_be(floor: float) -> None:
    with pytest.raises(UsageError, match="floor"):
        jaccard_pairs(made([{1}]), floor)
