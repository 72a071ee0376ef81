"""Rounds of stars give the components of their pairs, in rounds that grow with the logarithm of a chain."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from indexer.batch.clusters.stars import dealt, labels_of, large_stars, small_stars
from indexer.schemes.base import Positions

Pairs = tuple[Positions, Positions]


def shuffled(parts: Sequence[Pairs], blocks: int) -> list[Pairs]:
    """What of the pairs is dealt to each block."""
    held: dict[int, list[Pairs]] = {}
    for one, other in parts:
        for number, first, second in dealt(one, other, blocks):
            assert 0 <= number < blocks
            held.setdefault(number, []).append((first, second))
    return [together(block) for block in held.values()]


def together(parts: Sequence[Pairs]) -> Pairs:
    nothing = np.empty(0, dtype=np.int64)
    return np.concatenate([nothing, *(one for one, _ in parts)]), np.concatenate([nothing, *(two for _, two in parts)])


def both_ways(parts: Sequence[Pairs]) -> list[Pairs]:
    return [(np.concatenate(pair), np.concatenate(pair[::-1])) for pair in parts]


def in_rounds(pairs: Pairs, blocks: int) -> tuple[dict[int, int], int]:
    """The component of each document, and how many rounds changed something."""
    parts, rounds, changed = [pairs], 0, True
    while changed:
        before = sum(one.size for one, _ in parts)
        stars = [large_stars(*pair) for pair in shuffled(both_ways(parts), blocks)]
        made = [small_stars(*pair) for pair in shuffled([(one, other) for one, other, _ in stars], blocks)]
        changed = any(one[2] for one in (*stars, *made))
        parts = [(one, other) for one, other, _ in made]
        assert sum(one.size for one, _ in parts) <= before
        rounds += changed
    labels = [labels_of(*pair) for pair in shuffled(both_ways(parts), blocks)]
    owners, found = together(labels)
    assert np.unique(owners).size == owners.size
    return dict(zip(owners.tolist(), found.tolist(), strict=True)), rounds


def one_by_one(pairs: Pairs) -> dict[int, int]:
    """The smallest document that pairs lead to from each, by walking."""
    beside: dict[int, set[int]] = {}
    for one, other in zip(*(each.tolist() for each in pairs), strict=True):
        beside.setdefault(one, set()).add(other)
        beside.setdefault(other, set()).add(one)
    found: dict[int, int] = {}
    for start in sorted(beside):
        waiting = [start]
        while waiting:
            document = waiting.pop()
            if document not in found:
                found[document] = start
                waiting += beside[document]
    return found


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.tuples(st.integers(-40, 40), st.integers(-40, 40)), max_size=80), st.sampled_from([1, 2, 7, 64, 1000])
)
def test_stars_give_the_components_of_any_pairs(given_pairs: list[tuple[int, int]], blocks: int) -> None:
    different = [pair for pair in given_pairs if pair[0] != pair[1]]
    # Numbers as large as those of documents in many files.
    left, right = np.array(different, dtype=np.int64).reshape(-1, 2).T * ((1 << 40) + 17)
    assert in_rounds((left, right), blocks)[0] == one_by_one((left, right))


@pytest.mark.parametrize("blocks", [1, 4, 500])
@pytest.mark.parametrize("mixed", [False, True])
def test_the_rounds_of_a_chain_grow_with_its_logarithm(blocks: int, mixed: bool) -> None:
    taken = []
    for size in (64, 512, 4096):
        numbers = np.random.default_rng(size).permutation(size) if mixed else np.arange(size)
        found, rounds = in_rounds((numbers[:-1] * 1_000_003, numbers[1:] * 1_000_003), blocks)
        assert set(found.values()) == {0}
        assert len(found) == size
        taken.append(rounds)
    # Eight times the length takes three rounds more.
    assert taken[0] <= 7
    assert max(np.diff(taken)) <= 3


def test_a_star_of_many_takes_no_more_rounds_than_one_of_few() -> None:
    taken = []
    for size in (10, 10_000):
        leaves = np.arange(size) + 1
        found, rounds = in_rounds((np.zeros(size, dtype=np.int64), leaves), 64)
        assert set(found.values()) == {0}
        # In its midst the largest.
        found, again = in_rounds((np.full(size, size + 1), leaves), 64)
        assert set(found.values()) == {1}
        assert len(found) == size + 1
        taken.append((rounds, again))
    assert taken[1] <= (0, 3)
    assert taken[1][1] <= taken[0][1] + 1
