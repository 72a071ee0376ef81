"""All pairs within some bits: equal to brute force on every shape of data that could trouble the tables."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from indexer.core.hamming import pairs_brute
from indexer.core.native import set_simd_level, simd_level
from indexer.core.pairs import find_pairs, iter_pairs
from indexer.errors import UsageError
from tests.core.samples import SHAPES, flipped, random_hashes

Triples = list[tuple[int, int, int]]


def brute_force(hashes: np.ndarray, distance: int) -> Triples:
    found: Triples = []
    for i in range(hashes.size - 1):
        distances = np.bitwise_count(hashes[i + 1 :] ^ hashes[i])
        found += [(i, i + 1 + int(j), int(distances[j])) for j in np.flatnonzero(distances <= distance)]
    return found


def triples(hashes: np.ndarray, distance: int, **options: object) -> Triples:
    found = find_pairs(hashes, distance, **options)  # type: ignore[arg-type]
    return list(zip(found.left.tolist(), found.right.tolist(), found.distance.tolist(), strict=True))


@pytest.mark.parametrize("distance", [0, 1, 3, 6, 16])
@pytest.mark.parametrize("shape", SHAPES)
def test_shapes_against_brute_force(shape: str, distance: int) -> None:
    hashes = SHAPES[shape](700)
    assert triples(hashes, distance) == brute_force(hashes, distance)


@pytest.mark.parametrize("planted", range(17))
def test_pairs_planted_at_each_distance_are_all_found(planted: int) -> None:
    hashes = random_hashes(6000, planted)
    both = np.concatenate([hashes, flipped(hashes[:300], planted, planted)])
    found = set(triples(both, planted))
    assert {(i, 6000 + i, planted) for i in range(300)} <= found
    assert len(found) == len(triples(both, planted))


@given(
    st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=12),
    st.lists(st.tuples(st.integers(0, 11), st.lists(st.integers(0, 63), max_size=9)), max_size=400),
    st.integers(0, 16),
    st.integers(1, 3),
)
@settings(max_examples=120, deadline=None)
def test_clusters_against_brute_force(seeds: list[int], copies: list, distance: int, threads: int) -> None:
    hashes = list(seeds)
    for which, flips in copies:
        value = seeds[which % len(seeds)]
        for bit in flips:
            value ^= 1 << bit
        hashes.append(value)
    array = np.array(hashes, dtype=np.uint64)
    assert triples(array, distance, threads=threads) == brute_force(array, distance)


def test_a_large_group_is_searched_with_tables_of_its_own() -> None:
    # The plan sees bits that all tell; 3,000 of the hashes share every bit that it takes, and vary elsewhere in step.
    crowd = SHAPES["bits in step"](3000)
    hashes = np.concatenate([random_hashes(3000, 8), crowd, flipped(crowd, 1, 9)])
    assert triples(hashes, 3) == brute_force(hashes, 3)


@pytest.mark.parametrize("distance", [3, 5])
def test_200_000_random_hashes_against_the_quadratic_answer(distance: int) -> None:
    hashes = random_hashes(200_000, 10)
    hashes[-5000:] = flipped(hashes[:5000], distance, 11)
    distinct = np.unique(hashes)
    quadratic: list[tuple[int, int]] = []

    def take(left: np.ndarray, right: np.ndarray) -> bool:
        quadratic.extend(zip(left.tolist(), right.tolist(), strict=True))
        return True

    pairs_brute(distinct, distance, 1 << 16, (0, distinct.size), take)
    place = {value: i for i, value in enumerate(hashes.tolist())}
    expected = sorted((*sorted((place[a], place[b])), (a ^ b).bit_count()) for a, b in quadratic)
    assert len(place) == hashes.size
    assert triples(hashes, distance) == expected
    assert len(expected) >= 5000


def test_without_tables_as_brute_force() -> None:
    hashes = np.unique(SHAPES["two clusters"](700))
    found: list[tuple[int, int]] = []

    def take(left: np.ndarray, right: np.ndarray) -> bool:
        found.extend(zip(left.tolist(), right.tolist(), strict=True))
        return True

    pairs_brute(hashes, 4, 100, (0, hashes.size), take)
    assert sorted(found) == [(int(hashes[i]), int(hashes[j])) for i, j, _ in brute_force(hashes, 4)]


@pytest.mark.parametrize("shape", SHAPES)
def test_the_number_of_threads_changes_nothing(shape: str) -> None:
    hashes = np.concatenate([SHAPES[shape](900), random_hashes(4000, 14)])
    orders = []
    for threads in (1, 2, 5):
        blocks = list(iter_pairs(hashes, 4, threads))
        orders.append([np.concatenate(parts).tolist() for parts in zip(*blocks, strict=True)])
    assert orders[0] == orders[1] == orders[2]


@pytest.mark.parametrize("level", [0, 1, 2])
def test_every_instruction_level_finds_the_same(level: int) -> None:
    hashes = np.concatenate([SHAPES["two clusters"](900), random_hashes(20_000, 12)])
    best = simd_level()
    expected = triples(hashes, 5)
    set_simd_level(level)
    try:
        assert triples(hashes, 5) == expected
    finally:
        set_simd_level(best)


def test_collapsed_each_hash_is_stood_for_by_its_first_position() -> None:
    hashes = np.array([5, 9, 5, 4, 5, 9], dtype=np.uint64)
    assert triples(hashes, 1, collapse=True) == [(0, 2, 0), (0, 3, 1), (0, 4, 0), (1, 5, 0)]


def test_a_million_equal_hashes_collapse_to_a_million_pairs() -> None:
    found = find_pairs(np.zeros(1_000_000, dtype=np.uint64), 3, collapse=True)
    assert found.left.size == 999_999
    assert not found.left.any()


def test_blocks_are_bounded_and_reading_may_stop() -> None:
    hashes = np.zeros(20_000, dtype=np.uint64)
    blocks = iter_pairs(hashes, 3)
    assert all(0 < next(blocks).left.size <= 1 << 20 for _ in range(50))
    blocks.close()
    crowd = iter_pairs(flipped(np.zeros(40_000, dtype=np.uint64), 4, 13), 8)
    assert next(crowd).left.size <= 1 << 22
    crowd.close()


def test_signed_hashes_are_the_same_bits() -> None:
    hashes = SHAPES["two clusters"](300)
    assert triples(hashes.view(np.int64), 3) == triples(hashes, 3)


@pytest.mark.parametrize("size", [0, 1])
def test_nothing_to_compare(size: int) -> None:
    assert triples(np.zeros(size, dtype=np.uint64), 3) == []


@pytest.mark.parametrize(("distance", "threads"), [(-1, None), (17, None), (3, -1)])
def test_what_is_out_of_range_is_refused(distance: int, threads: int | None) -> None:
    with pytest.raises(UsageError, match=r"distance|threads"):
        find_pairs(np.zeros(3, dtype=np.uint64), distance, threads)
