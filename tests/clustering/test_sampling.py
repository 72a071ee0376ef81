"""Samples to judge: what is estimated from them is right on average, and they are drawn again from their seed."""

from __future__ import annotations

import math
import random
from statistics import mean, stdev

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from indexer.clustering.annotations import StoredCluster
from indexer.clustering.sampling import Sample, Sampler, thresholds
from indexer.matching.evaluation.proportions import SampledStratum, estimated_share
from indexer.matching.rule import parse_rule
from indexer.model import Ref

RULE = parse_rule("minhash@0.6")
KEPT = Ref("kept")
_DRAWS = 150


def population(seed: int, count: int = 300) -> tuple[list[StoredCluster], set[Ref]]:
    """Documents that repeat others, more of them near than far, and those that are right: ever fewer of what is far."""
    chance = random.Random(seed)
    clusters, right = [], set()
    for number in range(count):
        ref, share = Ref(f"{seed}-{number}"), min(1.0, round(0.6 + 1.2 * chance.random(), 4))
        relation = chance.choice(["noise", "identical", "form", ""])
        if chance.random() < (share if relation in ("noise", "identical") else share - 0.5):
            right.add(ref)
        clusters.append(
            StoredCluster(
                f"{number:026d}", KEPT, (KEPT, ref), (1.0, share), (None, KEPT), (1.0, share), ("", relation), (0, 1)
            )
        )
    return clusters, right


def drawn(clusters: list[StoredCluster], seed: int, size: int = 60) -> Sample:
    sampler = Sampler(RULE, f"{seed:032x}", size)
    for cluster in clusters:
        sampler.add(cluster)
    return sampler.drawn()


def judged(sample: Sample, right: set[Ref]) -> list[SampledStratum]:
    return [
        SampledStratum(each.documents, len(each.sampled), sum(one.document in right for one in each.sampled))
        for each in sample.strata
    ]


@settings(max_examples=3, derandomize=True, deadline=None)
@given(st.integers(0, 10**6))
def test_the_estimate_is_unbiased_and_its_limits_hold(seed: int) -> None:
    clusters, right = population(seed)
    true = len(right) / len(clusters)
    strata = [judged(drawn(clusters, number), right) for number in range(_DRAWS)]
    estimates = [estimate for each in strata if (estimate := estimated_share(each))]
    assert len(estimates) == _DRAWS
    values = [each.value for each in estimates]
    # Four standard errors of the mean.
    assert mean(values) == pytest.approx(true, abs=4 * stdev(values) / math.sqrt(_DRAWS))
    assert mean(each.low <= true <= each.high for each in estimates) >= 0.92
    # What has no weights is not right: far documents are judged more often than they occur.
    plain = [sum(each.right for each in one) / 60 for one in strata]
    assert abs(mean(plain) - true) > 4 * stdev(plain) / math.sqrt(_DRAWS)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 400))
def test_a_sample_is_drawn_again_in_any_order(seed: int, size: int) -> None:
    clusters, _ = population(seed, 200)
    sample = drawn(clusters, 1, size)
    random.Random(seed).shuffle(clusters)
    assert drawn(clusters, 1, size) == sample
    assert sum(each.documents for each in sample.strata) == sample.documents == 200
    assert len(sample.in_turn()) == max(min(size, 200), len(sample.strata))
    assert all(1 <= len(each.sampled) <= each.documents for each in sample.strata)


def test_a_document_that_is_gone_leaves_the_others_in_the_sample() -> None:
    clusters, _ = population(1)
    before = drawn(clusters, 1)
    gone = before.strata[0].sampled[0].document
    after = drawn([each for each in clusters if gone not in each.members], 1)
    kept = {one.document for one in before.in_turn()} - {gone}
    assert len(kept & {one.document for one in after.in_turn()}) >= len(kept) - 2


def test_each_stratum_has_its_share_from_the_beginning() -> None:
    clusters, _ = population(2)
    sample = drawn(clusters, 3)
    first = {one.document for one in sample.in_turn()[: len(sample.strata)]}
    large = [each for each in sample.strata if len(each.sampled) >= 6]
    assert large
    assert all(first & {one.document for one in each.sampled} for each in large)


@pytest.mark.parametrize(
    ("rule", "steps"),
    [
        ("minhash@0.6", (1.0, 0.9, 0.8, 0.7, 0.6)),
        ("simhash-doc@3bits", (1.0, 1 - 1 / 64, 1 - 2 / 64, 1 - 3 / 64)),
        ("simhash-doc@7bits", (1.0, 1 - 1 / 64, 1 - 3 / 64, 1 - 5 / 64, 1 - 7 / 64)),
        ("minhash@1", (1.0,)),
    ],
)
def test_steps_go_down_to_the_rule(rule: str, steps: tuple[float, ...]) -> None:
    assert thresholds(parse_rule(rule)) == pytest.approx(steps)
