"""Measures clusters on real documents with truth: pairs and B-cubed for each match rule.

Run as `python -m tests.benchmarks.cluster [FOLDER]`. The documents are 529 pages of the documentation of two libraries
in several versions; the truth is the Jaccard index of the 5-word shingles of every two pages.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Collection, Iterable, Mapping
from itertools import combinations
from pathlib import Path
from typing import Any

from indexer.clustering.annotations import stored_clusters
from indexer.clustering.clusters import cluster
from indexer.ingest.indexing import Settings, index, store_info
from indexer.ingest.sources import Input
from indexer.library.opening import open_store
from indexer.matching.pairing import pairs_of
from indexer.matching.rule import default_rule, parse_rule
from indexer.schemes import registry
from indexer.stores import Store

Pair = tuple[str, str]

# The first is the default of a new store.
RULES = ("", *(f"simhash-doc@{bits}bits" for bits in (3, 5, 7)), "simhash-doc@7bits+minhash@0.6", "minhash@0.6")
BANDS = ((0.95, 1.01), (0.8, 0.95), (0.6, 0.8), (0.4, 0.6))
# Two pages are truly alike, and so are chains of them, from here on.
ALIKE = (0.8, 0.5)


def run(shared_data: Path) -> dict[str, Any]:
    """Measure and print; gives the figures. `shared_data` is the folder of real documents with truth."""
    info = store_info("landmarks")
    with tempfile.TemporaryDirectory() as folder, open_store(Path(folder) / "javadoc.neardup", create=info) as store:
        index(_inputs(shared_data), store, Settings(schemes=[registry.scheme("minhash")]))
        return _measure(store, _truth(shared_data))


def _measure(store: Store, truth: Mapping[Pair, float]) -> dict[str, Any]:
    compared = [record.ref.id for record in store.scan() if record.fingerprint and not record.short]
    inside = set(compared)
    truth = {pair: jaccard for pair, jaccard in truth.items() if inside.issuperset(pair)}
    print(f"{len(compared)} pages, {len(truth)} pairs of them with a Jaccard index of 5-word shingles from 0.40")
    names = " ".join(f"{f'{low:.2f}':>7}" for low, _ in BANDS)
    print(f"{'':22}recall by Jaccard from   precision: Jaccard from     B-cubed, alike from {ALIKE[0]} and {ALIKE[1]}")
    print(f"{'':20}{names}    0.80   0.60   0.40     P     R     F      P     R     F   pairs")
    figures: dict[str, Any] = {}
    for written in RULES:
        rule = parse_rule(written, store) if written else default_rule(store)
        near = {_pair(pair.left.id, pair.right.id) for pair in pairs_of(store, rule)}
        cluster(store, rule)
        clusters = [{ref.id for ref in each.members} & inside for each in stored_clusters(store)]
        together = {_pair(a, b) for each in clusters for a, b in combinations(sorted(each), 2)}
        print(rule)
        figures[written or "default"] = {
            "pairs": _judged("    pairs", near, truth, ""),
            "clusters": _judged("    clusters", together, truth, _b_cubed_of(clusters, compared, truth)),
        }
    return figures


def _judged(label: str, found: Collection[Pair], truth: Mapping[Pair, float], more: Any) -> dict[str, Any]:
    """Print and give the recall by band, and the share of what was found that is alike from each bound on."""
    recall = {}
    for low, high in BANDS:
        wanted = [pair for pair, jaccard in truth.items() if low <= jaccard < high]
        recall[f"{low:.2f}"] = sum(pair in found for pair in wanted) / max(1, len(wanted))
    precision = {
        f"{low:.2f}": sum(truth.get(pair, 0) >= low for pair in found) / max(1, len(found)) for low in (0.8, 0.6, 0.4)
    }
    shown = " ".join(f"{share:7.1%}" for share in recall.values())
    right = " ".join(f"{share:6.1%}" for share in precision.values())
    cubed = " ".join(" ".join(f"{share:5.3f}" for share in each) + " " for each in more) if more else f"{'':38}"
    print(f"{label:<20}{shown}  {right}  {cubed}{len(found):6,}")
    return {"recall": recall, "precision": precision, "found": len(found), "b_cubed": more or None}


def _b_cubed_of(
    clusters: Iterable[set[str]], names: Iterable[str], truth: Mapping[Pair, float]
) -> list[tuple[float, float, float]]:
    ours = {name: each for each in clusters for name in each}
    results = []
    for low in ALIKE:
        true = {name: {name} for name in names}
        for (a, b), jaccard in truth.items():
            if jaccard >= low and true[a] is not true[b]:
                true[a] |= true[b]
                true.update(dict.fromkeys(true[b], true[a]))
        results.append(b_cubed(ours, true))
    return results


def b_cubed(ours: Mapping[str, set[str]], true: Mapping[str, set[str]]) -> tuple[float, float, float]:
    """Precision, recall and F of a clustering, each given as the cluster of every item.

    A. Bagga, B. Baldwin, "Entity-based cross-document coreferencing using the vector space model", COLING 1998.
    """
    precision = sum(len(ours[name] & true[name]) / len(ours[name]) for name in true) / max(1, len(true))
    recall = sum(len(ours[name] & true[name]) / len(true[name]) for name in true) / max(1, len(true))
    return precision, recall, 2 * precision * recall / max(precision + recall, 1e-9)


def _inputs(shared_data: Path) -> Iterable[Input]:
    for row in _rows(shared_data / "truth" / "javadoc.jsonl"):
        path = str(shared_data / row["path"])
        yield Input(id=row["id"], source=path, path=path)


def _truth(shared_data: Path) -> dict[Pair, float]:
    rows = _rows(shared_data / "truth" / "pairs_javadoc.jsonl")
    return {_pair(row["a"], row["b"]): row["jaccard"] for row in rows}


def _rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def _pair(a: str, b: str) -> Pair:
    return (a, b) if a < b else (b, a)


if __name__ == "__main__":
    folder = Path(sys.argv[1]) if sys.argv[1:] else Path(__file__).resolve().parents[3] / "shared" / "data"
    if not folder.is_dir():
        sys.exit(f"needs the real documents in {folder}, which is absent; name their folder")
    run(folder)
