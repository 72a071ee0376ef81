"""Clusters of real pages against truth, and the measure that says how right they are."""

from __future__ import annotations

from pathlib import Path

from tests.benchmarks import cluster as bench_cluster
from tests.benchmarks.cluster import b_cubed


def test_b_cubed_is_as_published() -> None:
    # The example of Bagga and Baldwin's figures: 12 items in three true clusters, the last two of which were merged.
    true = [set("12345"), set("67"), set("89ABC")]
    ours = [set("12345"), set("6789ABC")]

    def of(clusters: list[set[str]]) -> dict[str, set[str]]:
        return {name: each for each in clusters for name in each}

    precision, recall, _ = b_cubed(of(ours), of(true))
    assert (round(precision, 4), recall) == (0.7619, 1.0)
    merged = [set("1234589ABC"), set("67")]
    precision, recall, _ = b_cubed(of(merged), of(true))
    assert (round(precision, 4), recall) == (0.5833, 1.0)


def test_the_quality_on_real_pages_does_not_fall(shared_data: Path) -> None:
    figures = bench_cluster.run(shared_data)
    for each in figures.values():
        assert each["clusters"]["recall"]["0.95"] > 0.98
    # What is found within 3 bits is nearly all alike, also after chains are put together.
    lean = figures["simhash-doc@3bits"]
    assert lean["pairs"]["precision"]["0.40"] > 0.97
    assert lean["clusters"]["precision"]["0.40"] > 0.95
    precision, recall, f = lean["clusters"]["b_cubed"][1]
    assert precision > 0.98
    assert recall > 0.65
    usual = figures["default"]
    assert usual["pairs"]["precision"]["0.40"] > 0.998
    # Chains bring together pages that are not alike themselves.
    assert usual["clusters"]["precision"]["0.40"] > 0.98
    assert usual["clusters"]["b_cubed"][1][0] > 0.995
    assert usual["clusters"]["recall"]["0.80"] > 0.95
    assert usual["clusters"]["recall"]["0.60"] > lean["clusters"]["recall"]["0.60"] + 0.2
    assert 0 < f < 1
