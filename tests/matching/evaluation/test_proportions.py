"""Shares that are estimated from samples, against scipy's intervals and against what is known."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from indexer.matching.evaluation.proportions import SampledStratum, estimated_share, wilson_limits

COUNTS = st.integers(1, 400).flatmap(lambda judged: st.tuples(st.just(judged), st.integers(0, judged)))


@given(COUNTS)
def test_the_limits_of_a_sample_of_very_many_are_those_of_wilson(counts: tuple[int, int]) -> None:
    judged, right = counts
    known = binomtest(right, judged).proportion_ci(0.95, method="wilson")
    assert wilson_limits(SampledStratum(10**12, judged, right)) == pytest.approx((known.low, known.high), abs=1e-6)


@given(COUNTS)
def test_one_stratum_has_its_own_limits_and_all_of_it_leaves_no_doubt(counts: tuple[int, int]) -> None:
    judged, right = counts
    estimate = estimated_share([SampledStratum(1000, judged, right), SampledStratum(0, 0, 0)])
    assert estimate
    assert (estimate.low, estimate.high) == pytest.approx(wilson_limits(SampledStratum(1000, judged, right)))
    whole = estimated_share([SampledStratum(judged, judged, right)])
    assert whole
    assert whole.low == whole.value == whole.high == right / judged


def test_strata_count_by_their_documents() -> None:
    # 90 of 100 documents have a copy that is right; of the sample only half are.
    estimate = estimated_share([SampledStratum(90, 10, 10), SampledStratum(10, 10, 0)])
    assert estimate
    assert estimate.value == pytest.approx(0.9)
    assert estimate.low < 0.9 == pytest.approx(estimate.high)


def test_of_what_was_not_judged_nothing_is_said() -> None:
    assert estimated_share([SampledStratum(90, 10, 10), SampledStratum(1, 0, 0)]) is None
    assert estimated_share([]) is None
