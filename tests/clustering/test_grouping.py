"""Groups by any rule: components of what is near, cut where no one centre is near all of them."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from indexer.clustering import grouping
from indexer.clustering.annotations import stored_clusters
from indexer.clustering.clusters import cluster
from indexer.clustering.grouping import group
from indexer.errors import UsageError
from indexer.matching.measures.reading import ShingleReader
from indexer.matching.measures.tables import Comparer
from indexer.matching.nodes import nodes_of, read_nodes
from indexer.matching.rule import Finder, MatchRule, TextVerification, parse_rule
from indexer.model import Ref
from indexer.model.ragged import Ragged
from indexer.schemes import registry
from indexer.schemes.base import Scheme
from indexer.schemes.keys.layout import KeyLayout
from indexer.schemes.simhash import SimhashDoc
from indexer.stores import Store
from indexer.stores.sketches import Found
from tests.planted import Oracle, collection, components, empty, filled, named, put, record
from tests.word_minhash import ProbingWordMinhash, WordMinhash


def chain(tmp_path: Path, scheme: Scheme) -> Store:
    """A chain of texts, each a fifth other than the one before; and one that is far from all."""
    words = [f"w{number}" for number in range(40)]
    texts = {f"c{step}": " ".join(words[step * 4 : step * 4 + 20]) for step in range(6)}
    texts["far"] = " ".join(f"other{number}" for number in range(20))
    (tmp_path / "texts").mkdir()
    for name, text in texts.items():
        (tmp_path / "texts" / name).write_text(text)
    store = empty(tmp_path / "chain.neardup", [scheme])
    put(
        store,
        (record(name, text, [scheme], source=str(tmp_path / "texts" / name)) for name, text in texts.items()),
    )
    return store


def members(store: Store) -> set[frozenset[str]]:
    return {frozenset(ref.id for ref in each.members) for each in stored_clusters(store, least=2)}


def test_a_chain_is_split_where_it_is_too_wide(tmp_path: Path) -> None:
    scheme = WordMinhash(bands=64, rows=2)
    by = MatchRule((Finder(scheme, 0.55),))
    with chain(tmp_path, scheme) as store:
        whole = cluster(store, by, bound=1.0)
        assert (whole.clusters, whole.clustered, whole.split) == (1, 6, 0)
        [kept] = store.clusters()
        assert 0 <= kept.least_similarity < 0.55
        # Each within 0.35 of a centre: neighbours share two thirds, and two steps apart less than half.
        parts = cluster(store, by, bound=0.9)
        assert parts.split == 1
        assert parts.largest < 6
        assert all(len(each) < 6 for each in members(store))
        for bound in (-0.1, 1.1):
            with pytest.raises(UsageError, match="from 0 to 1"):
                cluster(store, by, bound=bound)


def test_only_verified_pairs_lead_on(tmp_path: Path) -> None:
    class Not(ShingleReader):
        """Knows of no pair that has c3 in it."""

        def _of(self, refs):  # type: ignore[no-untyped-def]
            for ref, evidence in super()._of(refs):
                if ref.id == "c3":
                    self.unread[ref] = "it is c3"
                yield ref, None if ref.id == "c3" else evidence

    scheme = WordMinhash(bands=64, rows=2)
    reading = TextVerification("text", 0.2)
    with chain(tmp_path, scheme) as store:
        reader = Not(store, reading)
        cluster(store, MatchRule((Finder(scheme, 0.55),), reading), bound=1.0, reader=reader)
        assert members(store) == {frozenset({"c0", "c1", "c2"}), frozenset({"c4", "c5"})}
        assert set(reader.unread) == {Ref("c3")}
        cluster(store, MatchRule((Finder(scheme, 0.55),), Finder(SimhashDoc(), 1.0)))
        assert members(store) == set()


# Keys of 3 bits in 3 tables: any number of them, or three that need not be one of each table.
KEYS = st.sets(st.integers(0, 23), min_size=1, max_size=8) | st.sets(st.integers(0, 23), min_size=3, max_size=3)


class Free(WordMinhash):
    """All that shares keys in enough tables is equal, but for pairs of an even and an odd number."""

    def __init__(self, agreeing: int, way: int) -> None:
        super().__init__(agreeing=agreeing)
        self.layout = KeyLayout(3, 3)
        self.way = way

    def similarities(self, payload: bytes, others: Sequence[bytes]) -> np.ndarray:
        return np.array([float(self.way == 0 or (payload[0] ^ each[0]) & 1 == 0) for each in others])


@settings(deadline=None, max_examples=200)
@given(st.lists(KEYS, min_size=1, max_size=25), st.integers(1, 3), st.integers(0, 1), st.sampled_from([3, 1 << 18]))
def test_components_are_those_of_all_pairs(keys: list[set[int]], agreeing: int, way: int, block: int) -> None:
    rule = MatchRule((Finder(Free(agreeing, way), 0.5),))
    names = [f"{number:02d}" for number in range(len(keys))]
    payloads = {WordMinhash.family: Ragged.of_bytes([bytes([number]) for number in range(len(keys))])}
    rows = {WordMinhash.family: Ragged.of_integers([sorted(each) for each in keys])}
    nodes = nodes_of(rule, [Found([Ref(name) for name in names], payloads, rows)])
    before = grouping._BLOCK
    grouping._BLOCK = block
    try:
        found = group(nodes, Comparer(rule, nodes.payloads), radius=1.0)
    finally:
        grouping._BLOCK = before
    edges = [
        (names[i], names[j])
        for i, j in combinations(range(len(keys)), 2)
        if len({key >> 3 for key in keys[i] & keys[j]}) >= agreeing and (way == 0 or (i ^ j) & 1 == 0)
    ]
    together: dict[int, set[str]] = {}
    for number, label in enumerate(found.labels[nodes.node_of].tolist()):
        together.setdefault(label, set()).add(names[number])
    assert {frozenset(each) for each in together.values()} == set(components(names, edges))


def groups_of(texts: dict[str, str], rule: MatchRule, folder: Path, number: int = 0) -> set[frozenset[str]]:
    with filled(folder / f"{number}.neardup", texts, list(rule.schemes.values())) as store:
        nodes = read_nodes(store, rule)
        found = group(nodes, Comparer(rule, nodes.payloads))
        together: dict[int, set[str]] = {}
        labels = found.labels[nodes.node_of].tolist()
        for ref, label in zip(nodes.refs.take(range(len(labels))), labels, strict=True):
            together.setdefault(label, set()).add(ref.id)
        return {frozenset(each) for each in together.values()}


@pytest.mark.parametrize(
    "rule",
    [
        MatchRule((Finder(WordMinhash(), 0.6),)),
        MatchRule((Finder(WordMinhash(bands=40, rows=1, agreeing=15), 0.6),)),
        MatchRule((Finder(ProbingWordMinhash(), 0.6),)),
        parse_rule("minhash@0.5"),
        parse_rule("simhash-doc@7bits/minhash@0.5+minhash@0.5"),
        parse_rule("simhash-doc@7bits/spotsigs@0.5+weighted-minhash@0.6"),
        parse_rule("supershingles@0.3"),
        parse_rule("random-projection@0.95"),
        parse_rule("simhash:bits=32@4bits"),
    ],
    ids=str,
)
def test_groups_have_a_centre_and_are_whole_where_they_can_be(rule: MatchRule, tmp_path: Path) -> None:
    texts = named(collection(3, 60))
    oracle = Oracle(rule, texts)
    found = groups_of(texts, rule, tmp_path)

    def has_centre(names: frozenset[str]) -> bool:
        least = rule.measure.similarity - 1e-9
        return any(all(a == b or oracle.similarity(a, b) >= least for b in names) for a in names)

    connected = set(components(texts, (pair for pair in oracle.edges() if oracle.met(*pair))))
    assert any(len(each) > 2 for each in connected)
    for each in connected:
        assert (each in found) == has_centre(each)
    for each in found:
        assert has_centre(each)
        assert any(each <= whole for whole in connected)
    for number in (1, 2):
        order = list(texts)
        random.Random(number).shuffle(order)
        assert groups_of({name: texts[name] for name in order}, rule, tmp_path, number) == found


def test_wide_components_are_cut_alike_in_any_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # As if it were one of more documents than those that are looked at all with all.
    monkeypatch.setattr(grouping, "_DENSEST", 5)
    words = [f"w{number}" for number in range(240)]
    steps = [" ".join(words[step * 4 : step * 4 + 40]) for step in range(50)]
    texts = named([*steps, *steps[10:20], *steps[15:18]])
    rule = parse_rule("minhash:bands=40,rows=3@0.6")
    found = groups_of(texts, rule, tmp_path)
    assert len(found) > 8
    for number in range(1, 5):
        order = list(texts)
        random.Random(number).shuffle(order)
        assert groups_of({name: texts[name] for name in order}, rule, tmp_path, number) == found


def test_pages_with_one_boilerplate_cost_as_many_comparisons_as_there_are(tmp_path: Path) -> None:
    # Eight in ten words of each page are in all of them, so that nearly all share keys.
    boilerplate = " ".join(f"menu{number}" for number in range(160))
    draw = random.Random(4)
    texts = named([f"{boilerplate} " + " ".join(f"own{draw.randrange(9999)}" for _ in range(20)) for _ in range(600)])
    minhash = registry.scheme("minhash")
    with filled(tmp_path / "pages.neardup", texts, [minhash]) as store:
        found = cluster(store, parse_rule("simhash-doc@3bits/minhash@0.6+minhash@0.6", store), dry_run=True)
    assert found.clustered == 600
    assert found.comparisons < 20 * 600


def test_the_buckets_that_took_most_comparisons_are_named() -> None:
    # Two buckets in which nothing is near, one in which all is, and keys of their own.
    class Apart(Free):
        def similarities(self, payload: bytes, others: Sequence[bytes]) -> np.ndarray:
            return np.array([float(payload[:1] == each[:1] == b"c") for each in others])

    sizes = {"a": 450, "b": 470, "c": 2000, "d": 1}
    names = [f"{name}{number:04d}" for name, size in sizes.items() for number in range(size)]
    rule = MatchRule((Finder(Apart(1, 0), 0.5),))
    payloads = {WordMinhash.family: Ragged.of_bytes([name.encode() for name in names])}
    rows = {WordMinhash.family: Ragged.of_integers([(ord(name[0]) - ord("a"),) for name in names])}
    nodes = nodes_of(rule, [Found([Ref(name) for name in names], payloads, rows)])
    found = group(nodes, Comparer(rule, nodes.payloads), radius=1.0)
    assert np.bincount(found.labels).max() == 2000
    assert [(each.scheme, each.nodes, each.comparisons) for each in found.costliest] == [
        (WordMinhash.family, 470, 470 * 469 // 2),
        (WordMinhash.family, 450, 450 * 449 // 2),
    ]
    examples = nodes.refs.take([int(np.flatnonzero(nodes.node_of == each.example)[0]) for each in found.costliest])
    assert [ref.id[0] for ref in examples] == ["b", "a"]
