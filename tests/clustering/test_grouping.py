"""Groups by any distance: components, split where they are too wide, as those of hashes are."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from word_minhash import WordMinhash

from indexer.cluster import cluster_store, stored_clusters
from indexer.components import group
from indexer.errors import ExtractionError, UsageError
from indexer.model import Fingerprint, Record, Ref, Sketch
from indexer.pipeline import store_info
from indexer.scheme_clusters import group_by_scheme, group_checked, group_nodes, groups_of
from indexer.schemes import simhash
from indexer.stores import Store, open_store
from indexer.verifying import HammingVerifier, TextVerifier, Verifier, verifier


@settings(deadline=None, max_examples=60)
@given(st.lists(st.integers(0, 2**12 - 1), min_size=1, max_size=40, unique=True), st.integers(0, 3), st.integers(0, 8))
def test_hashes_are_grouped_as_by_the_core(values: list[int], distance: int, more: int) -> None:
    hashes = np.array(sorted(values), dtype=np.uint64)

    def apart(one: int, others: np.ndarray) -> np.ndarray:
        return np.bitwise_count(hashes[others] ^ hashes[one]).astype(np.int64)

    pairs = [(i, j) for i, j in combinations(range(hashes.size), 2) if (values_of(hashes, i, j)) <= distance]
    blocks = [(np.array([i]), np.array([j])) for i, j in pairs]
    labels, split = group_nodes(hashes.size, blocks, apart, distance + more)
    wanted = group(hashes, distance=distance, bound=distance + more)
    assert split == wanted.split
    found, expected = ({frozenset(g.tolist()) for g in groups_of(each)} for each in (labels, wanted.labels))
    assert found == expected


def values_of(hashes: np.ndarray, i: int, j: int) -> int:
    return int(hashes[i] ^ hashes[j]).bit_count()


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """A chain of texts, each a quarter other than the one before; and one that is far from all."""
    scheme = WordMinhash(bands=64, rows=2)
    store = open_store(tmp_path / "chain.neardup", create=store_info("landmarks"))
    store.add_scheme(scheme.info)
    words = [f"w{number}" for number in range(40)]
    texts = {}
    for step in range(6):
        texts[f"c{step}"] = " ".join(words[step * 4 : step * 4 + 20])
    texts["far"] = " ".join(f"other{number}" for number in range(20))
    (tmp_path / "texts").mkdir()
    records = []
    for name, text in texts.items():
        path = tmp_path / "texts" / name
        path.write_text(text)
        found = simhash.fingerprint(text)
        assert found
        sketch = scheme.sketch(text)
        assert sketch
        records.append(
            Record(Ref(name), found, simhash.keys(found), source=str(path), sketches={scheme.family: sketch})
        )
    list(store.put(records))
    return store


def members(store: Store) -> set[frozenset[str]]:
    return {frozenset(ref.id for ref in each.members) for each in stored_clusters(store, least=2)}


def test_a_chain_is_split_where_it_is_too_wide(store: Store) -> None:
    scheme = WordMinhash(bands=64, rows=2)
    whole = cluster_store(store, by=lambda each: group_by_scheme(each, scheme, 0.55, bound=64))
    assert (whole.clusters, whole.clustered, whole.split) == (1, 6, 0)
    [cluster] = store.clusters()
    assert 0 < cluster.radius <= 64
    parts = cluster_store(store, by=lambda each: group_by_scheme(each, scheme, 0.55, bound=45))
    assert parts.split == 1
    assert parts.largest < 6
    assert all(len(each) < 6 for each in members(store))
    with pytest.raises(UsageError, match="bound 3"):
        group_by_scheme(store, scheme, 0.5, bound=3)


def test_only_verified_pairs_lead_on(store: Store) -> None:
    class Not(Verifier):
        """Lets no pair pass that has c3 in it."""

        def of_record(self, record: Record) -> str:
            return record.ref.id

        def of_question(self, text: str | bytes | None, fingerprint: Fingerprint | None) -> None:
            return None

        def agree(self, one: str, others: Sequence[str]) -> np.ndarray:
            return np.array([one != "c3" and other != "c3" for other in others])

    scheme = WordMinhash(bands=64, rows=2)
    cluster_store(store, by=lambda each: group_by_scheme(each, scheme, 0.55, bound=64, checked=Not(store)))
    assert members(store) == {frozenset({"c0", "c1", "c2"}), frozenset({"c4", "c5"})}
    cluster_store(store, by=lambda each: group_checked(each, 16, 64, HammingVerifier(store, 0)))
    assert members(store) == set()


def test_texts_are_compared_exactly(store: Store, tmp_path: Path) -> None:
    check = TextVerifier(store, None, 0.7)
    # 20 words have 16 passages of five; neighbours share 16 words, so 12 of them.
    assert check.between([Ref("c0"), Ref("c0"), Ref("far")], [Ref("c1"), Ref("c2"), Ref("c0")]).tolist() == [
        True,
        False,
        False,
    ]
    assert TextVerifier(store, 12 / 20, None).between([Ref("c0")], [Ref("c1")]).tolist() == [True]
    assert TextVerifier(store, 12.1 / 20, None).between([Ref("c0")], [Ref("c1")]).tolist() == [False]
    assert not check.unread
    (tmp_path / "texts" / "c4").unlink()
    (tmp_path / "texts" / "c5").write_text("quite another text")
    assert check.between([Ref("c3"), Ref("c4")], [Ref("c4"), Ref("c5")]).tolist() == [False, False]
    assert set(check.unread) == {Ref("c4"), Ref("c5")}
    assert "no longer holds" in check.unread[Ref("c5")]
    with pytest.raises(ExtractionError):
        check.of_record(next(r for r in store.scan() if r.ref.id == "c5"))


def test_little_is_remembered_and_nothing_forgotten(store: Store) -> None:
    check = HammingVerifier(store, 64)
    check.remembered = 2
    draw = random.Random(1)
    names = [f"c{draw.randrange(6)}" for _ in range(50)]
    refs = [Ref(name) for name in names]
    assert check.between(refs, refs[::-1]).all()
    assert len(check._known) <= 2
    assert verifier(store, "hamming", distance=3).between([Ref("gone")], [Ref("c1")]).tolist() == [False]


def test_a_sketch_is_needed_to_verify_by(store: Store) -> None:
    with pytest.raises(UsageError, match="--scheme minhash"):
        verifier(store, "sketch")
    assert Sketch.without_features("x").payload == b""
