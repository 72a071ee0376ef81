"""What is verified bucket by bucket makes the components that grouping all documents at once makes."""

from __future__ import annotations

import os

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from indexer.batch.clusters import grouping
from indexer.batch.clusters.blocking import contracted, finder_key_blocks, shared, verified
from indexer.batch.clusters.grouping import ClusteringFigures, compared, nodes_in, sketches_of, whole_runs
from indexer.batch.reading import rule_of
from indexer.clustering.grouping import group, meets_by_keys
from indexer.matching.measures.tables import Comparer
from indexer.matching.rule import MatchRule
from indexer.model import SIMHASH_DOC
from indexer.schemes.base import Positions
from tests.batch.batched import Case, sketched, write_files
from tests.batch.samples import chain, hot
from tests.batch.spotted import FORM, LEAST, spotted
from tests.planted import collection, named

RULES = (
    "simhash-doc@3bits/minhash@0.6+minhash@0.6",
    "simhash-doc@3bits",
    "simhash-doc@7bits+minhash@0.5",
    "supershingles@0.5/simhash-doc@3bits+minhash@0.4",
    *(f"{name}@{least}" for name, least in LEAST.items() if name != "random-projection"),
)


every = pytest.mark.skipif(not os.environ.get("NEARDUP_ALL"), reason="takes long; make test-all")


@pytest.fixture(scope="module")
def batch(tmp_path_factory: pytest.TempPathFactory) -> pa.RecordBatch:
    folder = tmp_path_factory.mktemp("verified")
    copies = {f"copy{number}": "the same words again and again " * 5 for number in range(12)}
    texts = {**named(collection(1, 150)), **chain(40), **hot(60), **spotted(40), **copies}
    sketched(write_files(folder / "in", Case(texts).rows(), 1), folder / "out", FORM)
    [path] = (folder / "out" / "sketches").iterdir()
    return pq.read_table(path).combine_chunks().to_batches()[0]


def in_buckets(documents: pa.RecordBatch, owners: Positions, rule: MatchRule, blocks: int) -> pa.Table:
    """The documents once for each bucket that they share, sorted by bucket."""
    found = sketches_of(documents, rule)
    places, labels = [], []
    for number, finder in enumerate(rule.finders):
        held: dict[int, list[tuple[Positions, Positions]]] = {}
        for block, keys, holders in finder_key_blocks(finder, found[finder.name], np.arange(owners.size), blocks):
            held.setdefault(block, []).append((keys, holders))
        for parts in held.values():
            keys, holders = (np.concatenate(each) for each in zip(*parts, strict=True))
            who, buckets = shared(number, keys, holders)
            assert np.unique(np.stack((who, buckets)), axis=1).shape[1] == who.size
            assert all(np.count_nonzero(buckets == bucket) > 1 for bucket in np.unique(buckets))
            places.append(who)
            labels.append(buckets)
    place, label = np.concatenate(places), np.concatenate(labels)
    order = np.argsort(label, kind="stable")
    taken = pa.Table.from_batches([documents.take(pa.array(place[order]))])
    return taken.append_column("owner", [owners[place[order]]]).append_column("label", [label[order]])


@pytest.mark.parametrize(
    ("rule", "blocks", "at_once"),
    # It asks for a thousand keys of its own, so that there are as many buckets.
    [
        *((rule, 5, 1) for rule in RULES),
        (RULES[0], 1, 1 << 16),
        pytest.param("random-projection@0.9", 1, 1 << 16, marks=every),
    ],
)
def test_buckets_give_the_components_of_all(
    rule: str, blocks: int, at_once: int, batch: pa.RecordBatch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(grouping, "_TOGETHER", at_once)
    made = rule_of(FORM, rule)
    documents = batch.filter(pa.array(compared(batch, made)))
    owners = np.arange(documents.num_rows) * 1_000_003 + 5
    table = in_buckets(documents, owners, made, blocks)
    by_own = all(finder.name == SIMHASH_DOC or meets_by_keys(finder) for finder in made.finders)
    assert table.num_rows < 25 * documents.num_rows or not by_own
    figures = ClusteringFigures()
    parts = [verified(part, made, figures) for part in whole_runs(table.to_batches(max_chunksize=50))]
    assert len(parts) > 3 or at_once > 1
    one, other = (np.concatenate(each) for each in zip(*parts, strict=True))
    known, found = contracted(one, other)
    labels = owners.copy()
    labels[np.searchsorted(owners, known)] = found
    nodes = nodes_in(pa.Table.from_batches([documents]), made)
    # Nothing is as far as all: no component is cut.
    comparison = Comparer(made, nodes.payloads)
    whole = group(nodes, comparison, radius=1.0)
    wanted = whole.labels[nodes.node_of]
    firsts = {number: owners[wanted == number].min() for number in np.unique(wanted)}
    assert labels.tolist() == [firsts[number] for number in wanted]
    assert 3 < np.unique(labels).size < owners.size
    # They are compared once more in each bucket that they share, and not many times.
    assert 0 < figures.comparisons <= 16 * comparison.compared or not by_own
    if whole.buckets:
        assert max(bucket["nodes"] for bucket in figures.buckets) == whole.buckets[0].nodes
