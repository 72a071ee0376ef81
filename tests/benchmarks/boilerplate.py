"""Clustering of many pages that have one boilerplate in common, at shares below, at and above the rule's threshold.

Run as `python -m tests.benchmarks boilerplate [--documents N]`.
"""

from __future__ import annotations

import argparse
import random
import resource
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from indexer.clustering.clusters import cluster
from indexer.extract.base import Extracted
from indexer.ingest.indexing import store_info
from indexer.ingest.outcomes import record_of
from indexer.ingest.sketching import sketch_document
from indexer.library.opening import open_store
from indexer.matching.rule import default_rule
from indexer.model import Document, Ref
from indexer.schemes import registry

DOCUMENTS = 100_000
SHARES = (0.4, 0.6, 0.8)
WORDS = 200


def pages(count: int, share: float, seed: int = 1) -> Iterator[str]:
    """Pages of WORDS words, any two of which share this part of their 5-word shingles: one boilerplate before each."""
    # c of n passages are common: c / (2 n - c) is the share.
    common = round(2 * share / (1 + share) * WORDS)
    boilerplate = " ".join(f"menu{number}" for number in range(common))
    draw = random.Random(seed)
    for _ in range(count):
        yield f"{boilerplate} " + " ".join(f"own{draw.getrandbits(32):x}" for _ in range(WORDS - common))


def run(documents: int = DOCUMENTS) -> dict[float, dict[str, Any]]:
    """Measure and print; by share: seconds, comparisons, clusters, and the process's peak of memory in MB so far."""
    schemes = [registry.scheme("minhash")]
    results: dict[float, dict[str, Any]] = {}
    columns = ("documents", "put s", "cluster s", "comparisons", "clusters", "peak MB")
    print(" share" + "".join(f"{name:>12}" for name in columns))
    for share in SHARES:
        made = store_info("landmarks", schemes)
        with tempfile.TemporaryDirectory() as folder, open_store(Path(folder) / "pages.neardup", create=made) as store:
            begin = time.monotonic()
            records = (
                record_of(
                    Extracted(None, document, sketch_document(schemes, document)), Ref(f"{number:07}"), "", min_tokens=0
                )
                for number, text in enumerate(pages(documents, share))
                for document in [Document(text)]
            )
            for _ in store.put(records):
                pass
            put, begin = time.monotonic() - begin, time.monotonic()
            found = cluster(store, default_rule(store))
            seconds = time.monotonic() - begin
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        results[share] = {
            "seconds": seconds, "comparisons": found.comparisons, "clusters": found.clusters, "peak_mb": peak
        }  # fmt: skip
        figures = (
            f"{documents:,}",
            f"{put:.1f}",
            f"{seconds:.1f}",
            *(f"{each:,}" for each in list(results[share].values())[1:]),
        )
        print(f"{share:6.0%}" + "".join(f"{figure:>12}" for figure in figures), flush=True)
    return results


def main(arguments: Sequence[str]) -> None:
    """Run with the options of the command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks boilerplate", description=__doc__.splitlines()[0])
    parser.add_argument("--documents", type=int, default=DOCUMENTS, metavar="N")
    run(parser.parse_args(arguments).documents)
