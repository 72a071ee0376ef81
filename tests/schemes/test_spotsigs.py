"""SpotSigs: the contract, a slow oracle from the paper, and that partitions and pruning lose nothing."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from indexer.errors import UsageError
from indexer.model import Sketch
from indexer.model.ragged import Ragged
from indexer.schemes.base import Sketches
from indexer.schemes.set_joins import similar
from indexer.schemes.spotsigs import SpotSigs, partitions
from indexer.schemes.testing import SchemeContract, document
from tests.schemes import variants_oracle as slow

# Few different spots, so that sets overlap in every way.
SPOTS = st.lists(st.integers(1, 12), min_size=1, max_size=24)


class TestSpotSigs(SchemeContract):
    specification = "spotsigs"
    bad = (
        "spotsigs:stop=none",
        "spotsigs:stop=xx",
        "spotsigs:antecedents=The",
        "spotsigs:antecedents=a-b",
        "spotsigs:distance=0",
        "spotsigs:chain=0",
        "spotsigs:chain=1.5",
        "spotsigs:bound=0.1",
        "spotsigs:bound=1",
        "spotsigs:limit=0",
        "spotsigs:limit=20001",
    )
    payload_limit = 16_000


class TestSpotSigsByDocument(SchemeContract):
    specification = "spotsigs:stop=auto,antecedents=the.is.of.a.to,distance=2,chain=1,bound=0.7,limit=50,tokenizer=icu"
    bad = ("spotsigs:stop=auto-0.0-0.0",)
    payload_limit = 400


def made(spots: list[int], bound: float = 0.5) -> Sketch:
    """A sketch of these spots, as the scheme makes it of a text."""
    numbers = slow.elements(spots)
    keys = tuple(slow.spot_keys(numbers, Fraction(str(bound))))
    payload = b"".join(number.to_bytes(8, "big") for number in numbers)
    return Sketch(SpotSigs(bound=bound).id, payload, keys, len(numbers))


# Spots


def test_the_spots_of_the_papers_example() -> None:
    text = (
        "at a rally to kick off a weeklong campaign for the South Carolina primary, Obama tried to set the record "
        "straight from an attack circulating widely on the Internet"
    )
    scheme = SpotSigs(antecedents="a.an.the", chain=2)
    chains = [
        "a rally kick",
        "a weeklong campaign",
        "the south carolina",
        "the record straight",
        "an attack circulating",
    ]
    wanted = [slow.hash_of(words.split()) for words in chains]
    # "the internet" has one word behind it, too few for a chain of two.
    assert scheme.spots(text).tolist() == wanted


@given(
    st.lists(st.sampled_from(["the", "is", "cat", "dog", "mat", "sky"]), max_size=20),
    st.integers(1, 3),
    st.integers(1, 3),
)
@settings(deadline=None)
def test_spots_are_those_of_the_oracle(words: list[str], distance: int, chain: int) -> None:
    wanted = slow.spots(words, {"the", "is"}, {"the", "is"}, distance, chain)
    scheme = SpotSigs(distance=distance, chain=chain)
    assert scheme.spots(" ".join(words)).tolist() == wanted


def test_a_document_of_many_spots_counts_its_first() -> None:
    scheme = SpotSigs(limit=100)
    text = document(1, 2000)
    whole, changed = scheme.sketch(text), scheme.sketch(text + " the end is black and white " * 1000)
    assert whole is not None
    assert whole.features == 100
    assert len(whole.payload) == 800
    assert changed == whole


# Similarity


@given(SPOTS, SPOTS)
@settings(deadline=None)
def test_the_similarity_is_the_jaccard_coefficient_of_multisets(left: list[int], right: list[int]) -> None:
    found = SpotSigs().similarities(made(left).payload, [made(right).payload])[0]
    assert found == float(slow.jaccard(left, right))


# Lookups


@given(SPOTS, SPOTS, st.sampled_from([0.5, 0.6, 0.7, 0.75, 0.9]), st.sampled_from([0.0, 0.1, 0.25, 1.0]))
@settings(max_examples=300, deadline=None)
def test_keys_miss_no_pair_from_the_bound_on(left: list[int], right: list[int], bound: float, more: float) -> None:
    similarity = min(1.0, bound + more)
    scheme = SpotSigs(bound=bound)
    probes = scheme.probes(made(left, bound), similarity)
    if slow.jaccard(left, right) >= Fraction(str(round(similarity, 4))):
        assert set(probes) & set(made(right, bound).keys)
    assert len(probes) <= scheme.plan(similarity).probes


def test_the_scheme_makes_the_keys_that_the_tests_do() -> None:
    scheme = SpotSigs(bound=0.7)
    for count in (10, 100, 1000):
        sketch = scheme.sketch(document(3, count))
        assert sketch is not None
        assert sketch.keys == made(scheme.spots(document(3, count)).tolist(), 0.7).keys


@pytest.mark.parametrize("bound", [0.2, 0.5, 0.7, 0.9, 0.99])
def test_only_neighbouring_partitions_can_match_and_none_is_wider_than_that_allows(bound: float) -> None:
    exact = Fraction(str(bound))
    starts = [*partitions(bound, 3000).tolist(), 3001]
    assert starts[0] == 1
    assert starts == sorted(set(starts))
    for first, following in pairwise(starts[:-1]):
        # The longest that the first of a partition can match lies in it; the next begins right behind.
        assert Fraction(first, following - 1) >= exact > Fraction(first, following)
    for start, third in pairwise(starts[1:-1]):
        assert Fraction(start - 1, third) < exact


def test_lengths_that_can_not_match_share_no_probe() -> None:
    scheme = SpotSigs()
    few, many = made([1]), made([1, *range(100, 110)])
    assert set(few.keys) & set(many.keys) == set()
    assert not set(scheme.probes(few, 0.5)) & set(many.keys)


# All pairs


def all_pairs(documents: list[list[int]], similarity: float) -> list[tuple[int, int, float]]:
    scheme = SpotSigs(bound=min(similarity, 0.99))
    payloads = Ragged.of_bytes([made(spots).payload for spots in documents])
    found = []
    for left, right in scheme.join(Sketches(payloads, Ragged.of_integers([])), similarity):
        coefficients = scheme.compare(payloads, left, right)
        near = coefficients >= similarity - 1e-9
        found += zip(left[near].tolist(), right[near].tolist(), coefficients[near].tolist(), strict=True)
    return found


@given(st.lists(SPOTS, max_size=12), st.sampled_from([0.2, 0.3, 0.5, 2 / 3, 0.7, 0.75, 0.9, 1.0]))
@settings(max_examples=300, deadline=None)
def test_all_pairs_are_those_of_brute_force(documents: list[list[int]], similarity: float) -> None:
    found = all_pairs(documents, similarity)
    pairs = combinations(range(len(documents)), 2)
    wanted = {
        (i, j): float(coefficient)
        for i, j in pairs
        if float(coefficient := slow.jaccard(documents[i], documents[j])) >= similarity
    }
    assert {(i, j): coefficient for i, j, coefficient in found} == wanted
    assert len(found) == len(wanted)


@given(st.lists(st.sets(st.integers(0, 30), min_size=1), max_size=15), st.sampled_from([0.3, 0.5, 0.8]))
@settings(max_examples=200)
def test_nothing_is_compared_that_can_not_match(sets: list[set[int]], similarity: float) -> None:
    blocks = similar(Ragged.of_integers([sorted(each) for each in sets]), similarity)
    compared = [pair for left, right in blocks for pair in zip(left.tolist(), right.tolist(), strict=True)]
    assert len(compared) == len(set(compared))
    for i, j in compared:
        shorter, longer = sorted((len(sets[i]), len(sets[j])))
        assert shorter / longer >= similarity - 1e-9
        assert sets[i] & sets[j]
    missed = set(combinations(range(len(sets)), 2)) - {(min(pair), max(pair)) for pair in compared}
    assert all(len(sets[i] & sets[j]) / len(sets[i] | sets[j]) < similarity for i, j in missed)


def test_no_pairs_of_nothing() -> None:
    assert all_pairs([], 0.5) == []
    nothing = Sketches(Ragged.of_bytes([]), Ragged.of_integers([]))
    for similarity in (0.0, 1.5, float("nan")):
        with pytest.raises(UsageError, match="similarity"):
            list(SpotSigs().join(nothing, similarity))
