"""What a batch came to: figures of its clusters, read from their files."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

from indexer.batch.arrow import compute, parquet
from indexer.batch.reading import CLUSTERS, SUMMARY
from indexer.errors import StoreError
from indexer.model import size_class

_SHOWN = 10
# The least size of each class.
_CLASSES = (2, 3, 6, 11, 101)


def figures(folder: str) -> dict[str, Any]:
    """What `clustering.json` says, and of the files of clusters: how many have which size, and the largest.

    `redundant` documents are of a cluster and don't stand for it. Raises StoreError where the clusters are not
    finished, or can't be read.
    """
    try:
        said: dict[str, Any] = json.loads(Path(folder, SUMMARY).read_bytes())
    except (OSError, ValueError) as error:
        raise StoreError(
            f"{folder}: has no finished clusters ({error}); make them with neardup batch cluster"
        ) from error
    sizes = Counter({size_class(least): 0 for least in _CLASSES})
    largest: list[dict[str, Any]] = []
    for path in sorted(Path(folder, CLUSTERS).glob("*.parquet")):
        with parquet.ParquetFile(path) as file:
            for batch in file.iter_batches(columns=["id", "cluster", "is_canonical", "size"]):
                first = compute.and_(batch["is_canonical"], compute.greater(batch["size"], 1))
                found = batch.filter(first)
                for counted in compute.value_counts(found["size"]).to_pylist():
                    sizes[size_class(counted["values"])] += counted["counts"]
                order = compute.sort_indices(found["size"], sort_keys=[("", "descending")])[:_SHOWN]
                largest += [
                    {"cluster": row["cluster"], "size": row["size"], "canonical": row["id"]}
                    for row in found.take(order).to_pylist()
                ]
        largest = sorted(largest, key=lambda one: (-one["size"], one["cluster"]))[:_SHOWN]
    redundant = said["clustered"] - said["clusters"]
    share = redundant / said["documents"] if said["documents"] else 0.0
    return {
        **said, "redundant": redundant, "redundant_share": round(share, 4), "sizes": dict(sizes),
        "largest_clusters": largest,
    }  # fmt: skip
