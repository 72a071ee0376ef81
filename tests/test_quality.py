"""What the default rule calls near on real collections, held to floors by exact Jaccard coefficients.

A floor is what the rule promises; only a change that says why may lower one.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from indexer.extract.base import Limits, Options
from indexer.ingest.indexing import default_jobs
from indexer.ingest.sources import Selection, Sources
from indexer.matching.evaluation.documents import read_texts
from indexer.matching.rule import default_rule, parse_rule
from tests.judging import BANDS, SETS, SHARES, Judged, judged, near_pairs, texts_of
from tests.made_forms import invoices, logs, tables

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


@pytest.mark.parametrize("made", [invoices, logs, tables])
def test_what_differs_in_numbers_alone_is_not_near(made: Callable[[], list[str]]) -> None:
    """Bills, days of a log and tables of measurements, which a simhash takes for the same."""
    texts = made()
    assert near_pairs(default_rule(), texts)[0].size == 0
    assert near_pairs(parse_rule("simhash-doc@3bits"), texts)[0].size == len(texts) * (len(texts) - 1) // 2
    assert near_pairs(default_rule(), [*texts, texts[3]])[0].tolist() == [3]


def test_by_a_truth_of_another_extraction(shared_data: Path) -> None:
    """The pairs of html/mixed as another program's text has them: its main content, where a page has any marked."""
    folder = shared_data / "html/mixed"
    found = read_texts(Sources([str(folder)], Selection(base=str(shared_data))), Options(), Limits(), default_jobs())
    left, right = near_pairs(default_rule(), found.texts)
    near = {frozenset((found.ids[a], found.ids[b])) for a, b in zip(left.tolist(), right.tolist(), strict=True)}
    truth = shared_data / "truth"
    paths = {each["id"]: each["path"] for each in map(json.loads, (truth / "mixed.jsonl").read_text().splitlines())}
    pairs = list(map(json.loads, (truth / "pairs_mixed.jsonl").read_text().splitlines()))
    known = {frozenset((paths[each["a"]], paths[each["b"]])): each["jaccard"] for each in pairs}
    assert len(near) >= ENOUGH
    assert sum(known.get(pair, 0.0) >= SHARES[0] for pair in near) >= 0.995 * len(near)
    for (low, high), floor in RECALL.items():
        wanted = {pair for pair, value in known.items() if low <= value < high}
        assert wanted
        assert len(wanted & near) >= floor * len(wanted), (low, len(wanted & near), len(wanted))
