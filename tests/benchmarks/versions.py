"""The order in time of versions of real pages, against truth: what is known of it, and what of that is right.

Run as `python -m tests.benchmarks versions`. The pages are those of API documentation in several releases; the truth is
the number of the release. Counted are pairs of versions of one page that are in one cluster: Kendall's tau of those
whose order is known, and the share of those whose order is unknown. Measured are the pages as they are, without their
paths, and without paths and titles. Wrong are pairs of pages that are called versions of each other, and are not.
"""

from __future__ import annotations

import json
import tempfile
from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

from indexer.clustering.clusters import cluster
from indexer.clustering.stored import stored_clusters
from indexer.library.collection import open as open_collection
from indexer.matching.rule import default_rule
from indexer.model import Record
from indexer.versions.numbers import read_number
from indexer.versions.order import compared, lineages
from indexer.versions.signs import signs_of

WAYS: dict[str, Callable[[Record], Record]] = {
    "as they are": lambda record: record,
    "without paths": lambda record: replace(record, source="", metadata={}),
    "without paths and titles": lambda record: replace(record, source="", title="", metadata={}),
}


def run(data: Path) -> dict[str, Any]:
    """Measure and print; gives the figures."""
    truth = {}
    for line in (data / "truth" / "javadoc.jsonl").read_text("utf-8").splitlines():
        page = json.loads(line)
        truth[str((data / page["path"]).resolve())] = page["group"], read_number(page["version"])
    with tempfile.TemporaryDirectory() as folder:
        collection = open_collection(Path(folder) / "a.neardup")
        with collection:
            collection.index(data / "html" / "javadoc")
            store = collection.store
            cluster(store, default_rule(store))
            clusters = [
                [record for record in store.get(each.members, sketches=False) if record and record.source in truth]
                for each in stored_clusters(store, least=2)
            ]
    return {way: _measured(way, clusters, truth) for way in WAYS}


def _measured(way: str, clusters: list[list[Record]], truth: dict[str, tuple[str, Any]]) -> dict[str, float]:
    counts: dict[str, int] = defaultdict(int)
    for records in clusters:
        signs = [signs_of(WAYS[way](record)) for record in records]
        said = [truth[record.source] for record in records]
        for one, other in combinations(range(len(records)), 2):
            if said[one][0] != said[other][0] or said[one][1] == said[other][1]:
                continue
            word = compared(signs[one], signs[other]).word
            right = "newer" if said[one][1] > said[other][1] else "older"
            counts["pairs"] += 1
            counts["unknown" if word == "unknown" else "right" if word == right else "turned"] += 1
        for lineage in lineages(signs):
            places = [place for step in lineage.steps for place in step]
            counts["wrong"] += sum(said[one][0] != said[other][0] for one, other in combinations(places, 2))
    known = counts["right"] + counts["turned"]
    tau = (counts["right"] - counts["turned"]) / known if known else float("nan")
    unknown = counts["unknown"] / counts["pairs"]
    print(
        f"{way:26s} {counts['pairs']:5,} pairs, tau {tau:.2f} of {known:,} known, {unknown:.0%} unknown, "
        f"{counts['wrong']:,} wrong"
    )
    return {"pairs": counts["pairs"], "tau": tau, "known": known, "unknown": unknown, "wrong": counts["wrong"]}
