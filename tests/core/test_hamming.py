"""The index for lookups: equal to brute force, whole or in shards, in memory or mapped."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from indexer.core.hamming import hamming_distances
from indexer.core.hamming_index import HammingHits, HammingIndex
from indexer.core.native import set_simd_level, simd_level
from indexer.errors import StoreError, UsageError
from tests.core.samples import SHAPES, flipped, random_hashes

Triples = list[tuple[int, int, int]]


def as_triples(found: HammingHits) -> Triples:
    return list(zip(found.query.tolist(), found.position.tolist(), found.distance.tolist(), strict=True))


def brute_force(hashes: np.ndarray, queries: np.ndarray, distance: int) -> Triples:
    found = []
    for number, query in enumerate(queries):
        distances = np.bitwise_count(hashes ^ query)
        found += [(number, int(p), int(distances[p])) for p in np.flatnonzero(distances <= distance)]
    return sorted(found, key=lambda triple: (triple[0], triple[2], triple[1]))


@pytest.mark.parametrize("distance", [0, 2, 3, 7, 16])
@pytest.mark.parametrize("shape", SHAPES)
def test_search_against_brute_force(shape: str, distance: int) -> None:
    hashes = SHAPES[shape](500)
    queries = np.concatenate([hashes[:40], flipped(hashes[:40], 3, 1), random_hashes(9, 2)])
    index = HammingIndex(hashes, distance)
    assert as_triples(index.search(queries)) == brute_force(hashes, queries, distance)
    assert as_triples(index.search(queries, distance // 2)) == brute_force(hashes, queries, distance // 2)


@pytest.mark.parametrize("wider", [4, 20, 64])
def test_beyond_the_tables_every_hash_is_compared(wider: int) -> None:
    hashes = SHAPES["two clusters"](120)
    index = HammingIndex(hashes, 3)
    assert as_triples(index.search(hashes[:5], wider)) == brute_force(hashes, hashes[:5], wider)


@given(
    st.lists(st.integers(0, 2**64 - 1), max_size=40),
    st.lists(st.tuples(st.integers(0, 39), st.lists(st.integers(0, 63), max_size=5)), max_size=30),
    st.integers(0, 6),
    st.integers(1, 5),
)
@settings(max_examples=120, deadline=None)
def test_shards_together_are_the_whole(seeds: list[int], asked: list, distance: int, parts: int) -> None:
    hashes = np.array(seeds, dtype=np.uint64)
    queries = []
    for which, flips in asked:
        value = seeds[which % len(seeds)] if seeds else which
        for bit in flips:
            value ^= 1 << bit
        queries.append(value)
    array = np.array(queries, dtype=np.uint64)
    shards = [HammingIndex(hashes, distance, shard=(part, parts)) for part in range(parts)]
    found = [triple for shard in shards for triple in as_triples(shard.search(array))]
    assert sorted(found, key=lambda t: (t[0], t[2], t[1])) == brute_force(hashes, array, distance)


@given(st.lists(st.integers(0, 2**64 - 1) | st.integers(0, 63), min_size=1, max_size=60), st.integers(1, 70))
@settings(max_examples=80, deadline=None)
def test_nearest(values: list[int], count: int) -> None:
    hashes = np.array(values, dtype=np.uint64)
    queries = np.array([values[0], 3, 2**63], dtype=np.uint64)
    every = brute_force(hashes, queries, 64)
    expected = [t for number in range(3) for t in [t for t in every if t[0] == number][:count]]
    assert as_triples(HammingIndex(hashes).nearest(queries, count)) == expected


def test_one_query_with_more_finds_than_a_buffer_holds() -> None:
    crowd = np.unique(flipped(np.zeros(150_000, dtype=np.uint64), 3, 1))
    found = HammingIndex(crowd, 3).search(np.array([0, 1], dtype=np.uint64))
    assert (found.query == 0).sum() == crowd.size
    assert (found.query == 1).sum() == (hamming_distances(1, crowd) <= 3).sum()


@pytest.mark.parametrize("level", [0, 1, 2])
def test_every_instruction_level_finds_the_same(level: int) -> None:
    hashes = np.concatenate([random_hashes(20_000, 3), SHAPES["two clusters"](500)])
    expected = as_triples(HammingIndex(hashes, 4).search(hashes[-600:]))
    best = simd_level()
    set_simd_level(level)
    try:
        assert as_triples(HammingIndex(hashes, 4).search(hashes[-600:])) == expected
    finally:
        set_simd_level(best)


def test_saved_and_mapped_by_another_process(tmp_path: Path) -> None:
    hashes = np.concatenate([random_hashes(5000, 4), np.full(10, 77, dtype=np.uint64)])
    queries = flipped(hashes[:300], 2, 5)
    index = HammingIndex(hashes, 3)
    index.save(tmp_path / "index")
    assert list(tmp_path.iterdir()) == [tmp_path / "index"]
    mapped = HammingIndex.open(tmp_path / "index")
    assert (len(mapped), mapped.distance) == (5010, 3)
    assert as_triples(mapped.search(queries)) == as_triples(index.search(queries))
    script = "import sys; from indexer import HammingIndex as H; print(H.open(sys.argv[1]).search([77]).query.size)"
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path / "index")], capture_output=True, text=True, check=True
    )
    assert done.stdout == "10\n"


def test_a_damaged_file_is_refused_and_never_followed(tmp_path: Path) -> None:
    path = tmp_path / "index"
    HammingIndex(random_hashes(300, 6), 2).save(path)
    whole = path.read_bytes()
    for length in (0, 5, 30, 200, len(whole) - 1):
        path.write_bytes(whole[:length])
        with pytest.raises(StoreError, match="index"):
            HammingIndex.open(path)
    # Behind the first line: four numbers, two for each of three tables, and the sizes of nine arrays.
    begin = whole.index(b"\n") + 1
    end = begin + 8 * (4 + 6 + 9)
    for position in range(begin, end, 7):
        path.write_bytes(whole[:position] + b"9" + whole[position + 1 :])
        try:
            HammingIndex.open(path).search(random_hashes(50, 7))
        except StoreError:
            continue
    path.write_bytes(whole[:end] + b"\xff" * (len(whole) - end))
    with pytest.raises(StoreError, match="damaged"):
        HammingIndex.open(path)


def test_saving_where_nothing_can_be_written(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="can't be written"):
        HammingIndex([1, 2, 3]).save(tmp_path / "missing" / "index")
    with pytest.raises(StoreError, match="can't be read"):
        HammingIndex.open(tmp_path / "nothing")


def test_an_empty_index_finds_nothing() -> None:
    index = HammingIndex([])
    assert as_triples(index.search([1, 2])) == []
    assert as_triples(index.nearest([1], 3)) == []
    assert len(index) == 0


def test_what_is_out_of_range_is_refused() -> None:
    index = HammingIndex([1, 2])
    for wrong in (-1, 65):
        with pytest.raises(UsageError, match="distance"):
            index.search([1], wrong)
    with pytest.raises(UsageError, match="distance"):
        HammingIndex([1], 17)
    with pytest.raises(UsageError, match="shard"):
        HammingIndex([1], shard=(2, 2))
    with pytest.raises(UsageError, match="shard"):
        HammingIndex([1], shard=(0, 2)).search([1], 9)
    with pytest.raises(UsageError, match="count"):
        index.nearest([1], 0)
