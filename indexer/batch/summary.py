"""Figures of the clusters of a batch, read from their files."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from indexer.batch.arrow import compute, parquet
from indexer.batch.reading import CLUSTERS, clustering_of
from indexer.model.records import SIZE_CLASSES, size_class

_SHOWN = 10


def figures(folder: str) -> dict[str, Any]:
    """The figures of `clustering.json`, and of the files of clusters: the number of each size, and the largest.

    Raises StoreError if the clusters are unfinished, or can't be read.
    """
    said = clustering_of(folder)
    sizes = Counter({name: 0 for _, name in reversed(SIZE_CLASSES)})
    largest: list[dict[str, Any]] = []
    spanning = 0
    for path in sorted(Path(folder, CLUSTERS).glob("*.parquet")):
        with parquet.ParquetFile(path) as file:
            for batch in file.iter_batches(columns=["id", "cluster", "is_canonical", "size", "origins"]):
                first = compute.and_(batch["is_canonical"], compute.greater(batch["size"], 1))
                found = batch.filter(first)
                for counted in compute.value_counts(found["size"]).to_pylist():
                    sizes[size_class(counted["values"])] += counted["counts"]
                spanning += compute.sum(compute.greater(found["origins"], 1)).as_py() or 0
                order = compute.sort_indices(found["size"], sort_keys=[("", "descending")])[:_SHOWN]
                largest += [
                    {"cluster": row["cluster"], "size": row["size"], "canonical": row["id"]}
                    for row in found.take(order).to_pylist()
                ]
        largest = sorted(largest, key=lambda one: (-one["size"], one["cluster"]))[:_SHOWN]
    share = said["removed"] / (said["kept"] + said["removed"]) if said["removed"] else 0.0
    return {
        **said, "could_go": said["removed"], "could_go_share": round(share, 4), "spanning": spanning,
        "sizes": dict(sizes), "largest_clusters": largest,
    }  # fmt: skip
