"""random-projection: the contract, the oracle, the angle, the blocks."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from indexer.core.sketches import random_projection
from indexer.core.text import token_hashes
from indexer.schemes.random_projection import RandomProjection
from indexer.schemes.testing import SchemeContract, document
from tests.schemes import oracle_projection


class TestRandomProjection(SchemeContract):
    specification = "random-projection"
    bad = (
        *("random-projection:bits=100", "random-projection:bits=0", "random-projection:bits=2048"),
        *("random-projection:block=7", "random-projection:block=49", "random-projection:block=x"),
    )
    payload_limit = 32
    bad_payloads = (b"", b"x", bytes(31), bytes(33))


class TestRandomProjectionWithBitsLeftOver(SchemeContract):
    specification = "random-projection:bits=384,block=20"
    bad = ("random-projection:bits=385",)
    payload_limit = 48


Tokens = list[int]


def texts(draw: np.random.Generator, terms: int, share: float) -> tuple[Tokens, Tokens]:
    """The tokens of two random texts that have about so much of their vocabulary in common."""
    vocabulary = draw.integers(0, 2**64, 2 * terms, dtype=np.uint64).tolist()
    shared = round(terms * share)
    one = vocabulary[:terms]
    other = vocabulary[:shared] + vocabulary[terms : 2 * terms - shared]
    counts = draw.integers(1, 6, (2, terms))
    # Half of the counts are the same in both, so that angles of all sizes come up.
    counts[1][: terms // 2] = counts[0][: terms // 2]
    return tuple(
        [token for token, count in zip(side, row.tolist(), strict=True) for _ in range(count)]
        for side, row in zip((one, other), counts, strict=True)
    )  # type: ignore[return-value]


def bits(tokens: Tokens, words: int) -> np.ndarray:
    found = random_projection(np.array(tokens, dtype=np.uint64), words)
    assert found is not None
    return found


@given(st.integers(0, 2**32), st.integers(200, 600), st.floats(0, 1))
@settings(max_examples=40)
def test_the_share_of_differing_bits_is_the_angle(seed: int, terms: int, share: float) -> None:
    draw, words, differing, expected = np.random.default_rng(seed), 16, 0, 0.0
    variance = 0.0
    for _ in range(20):
        one, other = texts(draw, terms, share)
        differs = math.acos(min(1.0, oracle_projection.cosine(one, other))) / math.pi
        expected += 64 * words * differs
        variance += 64 * words * differs * (1 - differs)
        differing += int(np.bitwise_count(bits(one, words) ^ bits(other, words)).sum())
    # Five standard errors, and a hundredth for axes that are not normally distributed.
    assert abs(differing - expected) <= 5 * math.sqrt(variance) + 0.01 * expected + 1e-6


@pytest.mark.parametrize(("similarity", "flips"), [(0.995, 0), (0.98, 1), (0.95, 2)])
def test_probes_find_as_many_as_the_plan_says(similarity: float, flips: int) -> None:
    made = RandomProjection()
    plan = made.plan(similarity)
    assert plan.probes == 8 * sum(math.comb(32, n) for n in range(flips + 1))
    assert plan.recall == pytest.approx(made.recall(similarity, flips))
    draw, pairs, met = np.random.default_rng(flips), 1000, 0
    differs = math.acos(similarity) / math.pi
    for _ in range(pairs):
        blocks = (draw.random((8, 32)) < differs).sum(axis=1)
        met += bool(blocks.min() <= flips)
    # Five standard errors: passed once in two million times.
    assert abs(met / pairs - plan.recall) <= 5 * math.sqrt(plan.recall * (1 - plan.recall) / pairs)


def test_probes_are_all_keys_within_the_flips() -> None:
    made = RandomProjection()
    sketch = made.sketch(document(1))
    assert sketch is not None
    for similarity, flips in ((0.995, 0), (0.98, 1), (0.95, 2)):
        probes = made.probes(sketch, similarity)
        assert list(probes[:8]) == list(sketch.keys)
        assert len(set(probes)) == len(probes) == made.plan(similarity).probes
        for probe in probes:
            table, key = made.layout.unpack(probe)
            assert (key ^ made.layout.unpack(sketch.keys[table])[1]).bit_count() <= flips


def test_repeats_of_a_whole_text_do_not_turn_its_vector() -> None:
    made = RandomProjection()
    one, thrice = made.sketch(document(1)), made.sketch(" ".join([document(1)] * 3))
    assert one is not None
    assert thrice is not None
    assert one.payload == thrice.payload
    assert thrice.features == 3 * one.features


def test_the_cosine_of_counts_is_estimated() -> None:
    made = RandomProjection(bits=1024)
    sketches = [made.sketch(document(seed, 600)) for seed in range(6)]
    counts = [Counter(token_hashes(document(seed, 600)).tolist()) for seed in range(6)]
    for one in range(6):
        for other in range(one):
            left, right = sketches[one], sketches[other]
            assert left is not None
            assert right is not None
            exact = oracle_projection.cosine(counts[one].elements(), counts[other].elements())
            # 1,024 bits know an angle to 0.05, and so the cosine to 0.05; four of these.
            assert made.similarities(left.payload, [right.payload])[0] == pytest.approx(exact, abs=0.2)
