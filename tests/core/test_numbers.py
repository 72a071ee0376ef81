"""lookup8, simhash, keys and distances: the C core against the slow oracle."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from indexer import HammingIndex, find_pairs
from indexer.core.hamming import hamming_distances, hamming_matrix
from indexer.core.native import set_simd_level, simd_level
from indexer.core.sketches import simhash, simhash_keys, sorted_distinct
from indexer.core.text import lookup8
from indexer.errors import UsageError
from indexer.model.hashes import as_hashes
from tests import oracle

unsigned = st.integers(0, 2**64 - 1)


@given(st.binary(max_size=80), unsigned)
@settings(max_examples=600)
def test_lookup8(key: bytes, initial: int) -> None:
    assert lookup8(key, initial) == oracle.lookup8(key, initial)


@given(st.integers(0, 70))
def test_lookup8_of_every_length(length: int) -> None:
    key = bytes(range(200, 200 - length, -1))
    assert lookup8(key) == oracle.lookup8(key)


# What the function `hash` of the published lookup8.c gives, compiled by itself: length of the key, initial value, hash.
# The bytes of the key are 1, 8, 15 and so on, in steps of 7.
PUBLISHED = [
    (0, 0, 0x8DB63936938575BF),
    (0, 0x0123456789ABCDEF, 0xB613D174EC079629),
    (1, 0, 0x016ECBE233B316A2),
    (1, 0x0123456789ABCDEF, 0xB5C9116F508C829B),
    (4, 0, 0x86ABED91BE07B1B9),
    (4, 0x0123456789ABCDEF, 0x9D43EC3322872A0A),
    (8, 0, 0x0C2A94DCAAF7915E),
    (8, 0x0123456789ABCDEF, 0x243306ADDA36AD88),
    (9, 0, 0xA4087E341E9639B9),
    (9, 0x0123456789ABCDEF, 0x89870BE3E2884739),
    (16, 0, 0x689B2F5DD417FA77),
    (16, 0x0123456789ABCDEF, 0x013FD2C6969E72D2),
    (17, 0, 0xE2886A5A948F3B5A),
    (17, 0x0123456789ABCDEF, 0x0817464EC938F67A),
    (23, 0, 0x7C804A4A127A2274),
    (23, 0x0123456789ABCDEF, 0xD71B8116855B2497),
    (24, 0, 0x90D5CA1E716E3C2B),
    (24, 0x0123456789ABCDEF, 0xFFD005937C619B35),
    (25, 0, 0x16C5350B437A7061),
    (25, 0x0123456789ABCDEF, 0x786A99C49AECB632),
    (47, 0, 0xFCB5C0F205982976),
    (47, 0x0123456789ABCDEF, 0x09010768B1DB7C4B),
    (48, 0, 0x8C7081D0ED83FAE2),
    (48, 0x0123456789ABCDEF, 0xB1E477C0ED5DBA4A),
    (100, 0, 0xC69ED58239DF1ED5),
    (100, 0x0123456789ABCDEF, 0x98104FC36B274244),
]


@pytest.mark.parametrize(("length", "initial", "expected"), PUBLISHED)
def test_lookup8_as_published(length: int, initial: int, expected: int) -> None:
    key = bytes((i * 7 + 1) % 256 for i in range(length))
    assert lookup8(key, initial) == expected


@given(st.lists(unsigned, max_size=90))
def test_simhash_of_features(features: list[int]) -> None:
    expected = oracle.simhash(features, [1] * len(features)) if features else None
    assert simhash(np.array(features, dtype=np.uint64)) == expected


@given(st.lists(st.tuples(unsigned, st.integers(-(2**40), 2**40)), max_size=40))
def test_simhash_with_weights(weighted: list[tuple[int, int]]) -> None:
    features, weights = [f for f, _ in weighted], [w for _, w in weighted]
    expected = oracle.simhash(features, weights) if features else None
    assert simhash(np.array(features, dtype=np.uint64), np.array(weights, dtype=np.int64)) == expected


@given(st.lists(unsigned, min_size=1, max_size=60), st.integers(1, 30))
def test_a_weight_is_a_count(features: list[int], times: int) -> None:
    once = simhash(np.array(features, dtype=np.uint64), np.full(len(features), times))
    assert once == simhash(np.array(features * times, dtype=np.uint64))


def test_many_equal_features_reach_the_high_planes() -> None:
    features = np.full(1_000_003, 0xF0F0, dtype=np.uint64)
    features[:500_001] = 0x0FF0
    # 500,001 against 500,002: the majority has it, by one.
    assert simhash(features) == 0xF0F0
    features[500_001:500_003] = 0x0FF0
    assert simhash(features) == 0x0FF0


def test_ties_give_zero() -> None:
    assert simhash(np.array([1, 2], dtype=np.uint64)) == 0
    assert simhash(np.array([5], dtype=np.uint64), [0]) == 0


@pytest.mark.parametrize("weights", [[2**63 - 1, 1], [-(2**63), 0]])
def test_weights_past_the_bucket_are_refused(weights: list[int]) -> None:
    with pytest.raises(UsageError, match="64-bit"):
        simhash(np.array([1, 2], dtype=np.uint64), np.array(weights, dtype=np.int64))


@pytest.mark.parametrize("features", [[0.5], [[1, 2]], ["a"], np.array([1], dtype=np.int32)])
def test_features_of_another_type_or_shape_are_refused(features: object) -> None:
    with pytest.raises(UsageError, match="features must be"):
        simhash(features)  # type: ignore[arg-type]


def test_weights_of_another_shape_are_refused() -> None:
    with pytest.raises(UsageError, match="shape"):
        simhash([1, 2], [1])
    with pytest.raises(UsageError, match="integers"):
        simhash([1], [0.5])


@given(st.lists(unsigned, max_size=20))
def test_keys(values: list[int]) -> None:
    packed = simhash_keys(np.array(values, dtype=np.uint64))
    assert packed.shape == (len(values), 16)
    for row, value in zip(packed.tolist(), values, strict=True):
        assert row == [table << 28 | key for table, key in enumerate(oracle.keys(value))]


@pytest.mark.parametrize("level", [0, 1, 2])
@given(unsigned, st.lists(unsigned, max_size=70))
def test_hamming_distances(level: int, query: int, values: list[int]) -> None:
    best = simd_level()
    set_simd_level(level)
    try:
        found = hamming_distances(query, np.array(values, dtype=np.uint64))
        assert found.tolist() == [(query ^ value).bit_count() for value in values]
        matrix = hamming_matrix(np.array([query, 0], dtype=np.uint64), np.array(values, dtype=np.uint64))
        assert matrix.tolist() == [found.tolist(), [value.bit_count() for value in values]]
    finally:
        set_simd_level(best)


def test_signed_and_strided_arrays_are_the_same_bits() -> None:
    values = np.array([2**63 + 5, 7, 9, 11], dtype=np.uint64)
    assert hamming_distances(5, values.view(np.int64)).tolist() == hamming_distances(5, values).tolist()
    assert hamming_distances(5, values[::2]).tolist() == [1, 2]


ANY_SIGN = st.lists(st.integers(-(2**63), 2**64 - 1), min_size=1, max_size=40)


@given(ANY_SIGN)
@example([1, 2**63, 2**64 - 1, -1])
def test_lists_of_pythons_integers_are_hashes(values: list[int]) -> None:
    """Integers on both sides of 2**63 are floats to numpy, and objects beside negative ones."""
    unsigned = np.array([value % 2**64 for value in values], dtype=np.uint64)
    for given_values in (values, tuple(values), np.array(values, dtype=object)):
        assert as_hashes(given_values, "values").tolist() == unsigned.tolist()
        found, expected = find_pairs(given_values, 3), find_pairs(unsigned, 3)
        assert [each.tolist() for each in found[:3]] == [each.tolist() for each in expected[:3]]
        assert hamming_distances(values[0], given_values).tolist() == [
            (int(unsigned[0]) ^ each).bit_count() for each in unsigned.tolist()
        ]
        found_in = HammingIndex(given_values, 3).search(given_values)
        expected_in = HammingIndex(unsigned, 3).search(unsigned)
        assert found_in.query.tolist() == expected_in.query.tolist()
        assert found_in.position.tolist() == expected_in.position.tolist()


@pytest.mark.parametrize("values", [[1.0, 2.0], [2**64, 1], [-(2**63) - 1], ["1"], [2**63, 1.0], [None]])
def test_what_is_no_64_bit_integer_is_refused(values: list[object]) -> None:
    with pytest.raises(UsageError, match="64-bit integers"):
        as_hashes(values, "values")  # type: ignore[arg-type]


@given(st.lists(st.integers(-(1 << 63), (1 << 63) - 1) | st.integers(0, 3)))
def test_distinct_ones_rise(values: list[int]) -> None:
    made = sorted_distinct(np.array(values, dtype=np.int64))
    assert made.dtype == np.int64
    assert made.tolist() == sorted(set(values))
