"""supershingles: the contract, how many pairs agree in two."""

from __future__ import annotations

import math

import numpy as np
import pytest

from indexer.core.sketches import band_keys, minhash
from indexer.schemes.registry import scheme
from indexer.schemes.testing import SchemeContract


class TestSupershingles(SchemeContract):
    specification = "supershingles"
    bad = (
        *("supershingles:groups=5", "supershingles:groups=0", "supershingles:groups=85", "supershingles:values=0"),
        *("supershingles:agreeing=0", "supershingles:agreeing=7", "supershingles:bits=3", "supershingles:shingle=0"),
        "supershingles:values=600,groups=2",
    )
    payload_limit = 84
    bad_payloads = (b"", b"x", bytes(83), bytes(85))


class TestSupershinglesThatAllAgree(SchemeContract):
    specification = "supershingles:values=60,groups=5,agreeing=5,shingle=8,bits=2"
    bad = ("supershingles:agreeing=6,groups=5,values=60",)
    payload_limit = 15


@pytest.mark.parametrize("jaccard", [0.8, 0.9, 0.95])
@pytest.mark.parametrize("agreeing", [1, 2, 3])
def test_as_many_pairs_agree_as_the_plan_says(jaccard: float, agreeing: int) -> None:
    made = scheme(f"supershingles:agreeing={agreeing}")
    draw, pairs, met = np.random.default_rng(agreeing), 1000, 0
    shared = round(200 * jaccard)
    for _ in range(pairs):
        hashes = draw.integers(0, 2**64, 200, dtype=np.uint64)
        signatures = minhash(hashes, 84), minhash(hashes[:shared], 84)
        one, other = (band_keys(signature, 6, 14) for signature in signatures if signature is not None)
        met += int(np.count_nonzero(one == other)) >= agreeing
    expected = made.plan(jaccard).recall
    # Five standard errors: passed once in two million times.
    assert abs(met / pairs - expected) <= 5 * math.sqrt(expected * (1 - expected) / pairs)
