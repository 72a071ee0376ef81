"""Blocks, whatever their number, join whatever a finder finds near."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from indexer.batch.clusters.blocking import Forest, connected, contracted, finder_blocks
from indexer.batch.clusters.grouping import compared, sketches_of
from indexer.batch.form import Form
from indexer.batch.reading import rule_of
from indexer.core.components import Components
from indexer.matching.nodes import distinct_payloads
from indexer.matching.rule import Finder
from indexer.model import SIMHASH_DOC
from indexer.schemes.base import Positions, Sketches
from tests.batch.batched import Case, sketched, write_files
from tests.batch.samples import chain, hot
from tests.batch.spotted import FORM, LEAST, spotted
from tests.planted import collection, named


@pytest.fixture(scope="module")
def batch(tmp_path_factory: pytest.TempPathFactory) -> pa.RecordBatch:
    folder = tmp_path_factory.mktemp("blocks")
    texts = {**named(collection(1, 200)), **chain(40), **hot(60), **spotted(40)}
    sketched(write_files(folder / "in", Case(texts).rows(), 1), folder / "out", FORM)
    [path] = (folder / "out" / "sketches").iterdir()
    return pq.read_table(path).combine_chunks().to_batches()[0]


def joined(sketches: Sketches, finder: Finder) -> Iterator[tuple[Positions, Positions]]:
    """Pairs that join all that a finder finds near, of all documents at once; equal sketches among them."""
    firsts, number = distinct_payloads(sketches)
    yield firsts[number], np.arange(len(sketches))
    for left, right in finder.scheme.join(sketches.take(firsts), finder.similarity, threads=1):
        yield firsts[left], firsts[right]


def labels_by_blocks(finder: Finder, sketches: Sketches, owners: Positions, blocks: int, cuts: int) -> Positions:
    """The component of each document by blocks, of documents that come in so many batches."""
    held: dict[int, list[tuple[Positions, Positions]]] = {}
    for part in np.array_split(np.arange(owners.size), cuts):
        for block, values, holders in finder_blocks(finder, sketches.take(part), owners[part], blocks):
            assert 0 <= block < blocks
            held.setdefault(block, []).append((values, holders))
    forest = Forest(at_once=50)
    for parts in held.values():
        values, holders = (np.concatenate(each) for each in zip(*parts, strict=True))
        for left, right in connected(finder, values, holders):
            forest.add(left, right)
    labels = owners.copy()
    known, found = forest.labels()
    labels[np.searchsorted(owners, known)] = found
    return labels


@pytest.mark.parametrize("rule", ["simhash-doc@0bits", "simhash-doc@3bits", "simhash-doc@6bits", *LEAST])
@pytest.mark.parametrize(("blocks", "cuts"), [(1, 1), (8, 3), (61, 7)])
def test_what_is_near_is_in_one_component(rule: str, blocks: int, cuts: int, batch: pa.RecordBatch) -> None:
    made = rule_of(FORM, rule if "@" in rule else f"{rule}@{LEAST[rule]}")
    [finder] = made.finders
    kept = batch.filter(pa.array(compared(batch, made)))
    sketches = sketches_of(kept, made)[finder.name]
    # Numbers that are no places, as owners are.
    owners = np.arange(kept.num_rows) * 1_000_003 + 5
    labels = labels_by_blocks(finder, sketches, owners, blocks, cuts)
    exact = Components(owners.size)
    pairs = 0
    for left, right in joined(sketches, finder):
        near = left != right
        assert np.array_equal(labels[left], labels[right])
        exact.join(left, right)
        pairs += int(np.count_nonzero(near))
    assert pairs > 5
    assert np.array_equal(np.isin(labels, owners), np.ones(labels.size, dtype=bool))
    if finder.name == SIMHASH_DOC:
        # What shares a key need not be near; what a block of simhashes joins is.
        assert np.array_equal(labels, owners[exact.labels()])


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(-50, 50), st.integers(-50, 50)), min_size=1, max_size=80), st.integers(1, 20))
def test_a_forest_has_the_components_of_its_pairs(pairs: list[tuple[int, int]], at_once: int) -> None:
    left, right = np.array(pairs, dtype=np.int64).T
    left, right = left[left != right], right[left != right]
    owners, labels = contracted(left, right)
    forest = Forest(at_once)
    for place in range(left.size):
        forest.add(left[place : place + 1], right[place : place + 1])
    assert all(np.array_equal(*both) for both in zip(forest.labels(), (owners, labels), strict=True))
    one, other = forest.pairs()
    assert one.size <= owners.size
    again, same = contracted(one, other)
    joined_ones = np.isin(owners, again)
    assert np.array_equal(labels[joined_ones], same)
    # What no pair of a forest names is alone.
    assert np.array_equal(labels[~joined_ones], owners[~joined_ones])
    by_owner = dict(zip(owners.tolist(), labels.tolist(), strict=True))
    assert all(by_owner[a] == by_owner[b] for a, b in zip(left.tolist(), right.tolist(), strict=True))
    assert all(label == min(owner for owner in by_owner if by_owner[owner] == label) for label in by_owner.values())


def test_pieces_of_simhashes_are_dealt_to_many_blocks(tmp_path: Path) -> None:
    draw = np.random.default_rng(1)
    values = draw.integers(0, 1 << 63, 4000, dtype=np.int64)
    form = Form(())
    [finder] = rule_of(form, "simhash-doc@3bits").finders
    table = {"short": pa.array([False] * values.size), "simhash_doc": pa.array(values)}
    sketches = sketches_of(pa.RecordBatch.from_pydict(table), rule_of(form, "simhash-doc@3bits"))[SIMHASH_DOC]
    sizes = [owners.size for _, _, owners in finder_blocks(finder, sketches, np.arange(values.size), 16)]
    assert len(sizes) == 16
    assert sum(sizes) == 4 * values.size
    assert max(sizes) < 2 * 4 * values.size / 16
