"""What the default rule calls near on real collections, held to floors by exact Jaccard coefficients.

A floor is what the rule promises; only a change that says why may lower one.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from indexer.bench.quality import BANDS, SETS, SHARES, Judged, judged, texts_of
from indexer.matching.rule import default_rule, parse_rule

# Of what is returned, how much shares 30% and 50% of its passages; of what shares 90, 80 and 70%, how much is found.
PRECISION = dict(zip(SHARES, (0.999, 0.99), strict=True))
RECALL = dict(zip(BANDS, (0.99, 0.99, 0.94), strict=True))
# A share of fewer pairs says little.
ENOUGH = 100


@pytest.fixture(scope="module")
def measured(shared_data: Path) -> Mapping[str, Judged]:
    """What the default rule does on each collection, and on all of them together."""
    found = {name: judged(texts_of(shared_data / name), [default_rule()])[0] for name in SETS}
    first, *rest = found.values()
    for each in rest:
        first += each
    return {**found, "pooled": first}


@pytest.mark.parametrize("name", [*SETS, "pooled"])
def test_what_is_called_near_is_near(measured: Mapping[str, Judged], name: str) -> None:
    figures = measured[name]
    for (share, floor), right in zip(PRECISION.items(), figures.right, strict=True):
        if figures.returned >= ENOUGH:
            assert right >= floor * figures.returned, (share, figures)


@pytest.mark.parametrize("name", [*SETS, "pooled"])
def test_what_is_near_is_found(measured: Mapping[str, Judged], name: str) -> None:
    figures = measured[name]
    for (band, floor), wanted, got in zip(RECALL.items(), figures.wanted, figures.found, strict=True):
        if wanted >= ENOUGH:
            assert got >= floor * wanted, (band, figures)


def test_the_collections_are_large_enough_to_tell(measured: Mapping[str, Judged]) -> None:
    pooled = measured["pooled"]
    assert pooled.returned >= ENOUGH
    assert min(pooled.wanted) >= ENOUGH


def test_a_simhash_alone_would_not_pass(shared_data: Path) -> None:
    """The gate sees what it is for: html/mixed is of many kinds."""
    figures = judged(texts_of(shared_data / "html/mixed"), [parse_rule("simhash-doc@3bits")])[0]
    assert figures.right[0] < 0.9 * figures.returned
