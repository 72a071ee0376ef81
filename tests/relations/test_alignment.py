"""Alignments against the table of the longest common subsequence."""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from indexer.core.text import align
from indexer.relations.alignment import Block, blocks_between
from indexer.relations.wording import Wording

LINES = st.lists(st.integers(0, 6), max_size=25)


def longest(left: Sequence[int], right: Sequence[int]) -> int:
    """The length of the longest common subsequence, the slow way."""
    table = np.zeros((len(left) + 1, len(right) + 1), dtype=int)
    for i, one in enumerate(left):
        for j, other in enumerate(right):
            table[i + 1, j + 1] = table[i, j] + 1 if one == other else max(table[i, j + 1], table[i + 1, j])
    return int(table[-1, -1])


def equal_lengths(left: Sequence[int], right: Sequence[int], blocks: Sequence[Sequence[int]]) -> list[int]:
    """The lengths of the stretches around blocks; AssertionError where these are not equal."""
    lengths = []
    for (_, start, _, other_start), (end, _, other_end, _) in zip(
        [(0, 0, 0, 0), *blocks], [*blocks, (len(left), 0, len(right), 0)], strict=True
    ):
        assert left[start:end] == right[other_start:other_end]
        lengths.append(end - start)
    return lengths


@given(LINES, LINES)
def test_as_few_as_can_be_are_left_out(left: list[int], right: list[int]) -> None:
    blocks = align(np.array(left, dtype=np.uint64), np.array(right, dtype=np.uint64), 60)
    assert blocks is not None
    lengths = equal_lengths(left, right, blocks.tolist())
    assert sum(lengths) == longest(left, right)
    assert all(lengths[1:-1])
    assert all(end > start or other_end > other_start for start, end, other_start, other_end in blocks.tolist())


@given(LINES, LINES, st.integers(0, 20))
def test_more_than_the_limit_is_not_aligned(left: list[int], right: list[int], limit: int) -> None:
    out = len(left) + len(right) - 2 * longest(left, right)
    blocks = align(np.array(left, dtype=np.uint64), np.array(right, dtype=np.uint64), limit)
    assert (blocks is None) == (out > limit)


def test_texts_in_which_most_differs_are_aligned_too() -> None:
    left = [f"here{number}" if number % 3 else f"both{number}" for number in range(3000)]
    right = [f"there{number}" if number % 3 else f"both{number}" for number in range(3000)]
    blocks = blocks_between(Wording(" ".join(left)), Wording(" ".join(right)))
    assert blocks == [Block(place, place + 2, place, place + 2) for place in range(1, 3000, 3)]


@given(st.sets(st.integers(0, 150), min_size=60), st.integers(0, 2**32))
@settings(max_examples=15)
def test_long_texts_are_aligned_piece_by_piece(changed: set[int], seed: int) -> None:
    """Equal sentences cut them. Blocks stand between equal words, and few more are left out than need be."""
    draw = random.Random(seed)
    left = [f"W{(number := draw.randrange(3000))}" + "." * (number % 10 == 0) for _ in range(6000)]
    right = list(left)
    for place in sorted(changed, reverse=True):
        right[place * 40 : place * 40 + 20] = [f"other{draw.randrange(50)}" for _ in range(draw.randrange(40))]
    one, other = Wording(" ".join(left)), Wording(" ".join(right))
    blocks = blocks_between(one, other)
    lengths = equal_lengths(one.values.tolist(), other.values.tolist(), blocks)
    assert all(lengths[1:-1])
    least = align(one.values, other.values, len(left) + len(right))
    assert least is not None
    fewest = equal_lengths(one.values.tolist(), other.values.tolist(), least.tolist())
    assert sum(fewest) * 0.99 <= sum(lengths) <= sum(fewest)


def test_long_texts_with_nothing_in_common_are_one_block() -> None:
    left, right = (Wording(" ".join(f"{side}{number}" for number in range(11_000))) for side in ("here", "there"))
    assert blocks_between(left, right) == [Block(0, 11_000, 0, 11_000)]
