"""What is kept: no two near each other, each other one near the kept one that is named, beside a slow oracle."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from indexer.clustering import choosing, grouping
from indexer.clustering.choosing import Choice, choose, ranks_of
from indexer.clustering.grouping import group
from indexer.library.making import all_sketches
from indexer.library.texts import _batches
from indexer.matching.measures.tables import Comparer, Measured
from indexer.matching.nodes import Nodes, nodes_of
from indexer.matching.pairing import document_pairs
from indexer.matching.rule import Finder, MatchRule, parse_rule
from indexer.model import Ref
from indexer.model.ragged import Ragged
from indexer.schemes.keys.layout import KeyLayout
from indexer.schemes.simhash import SimhashDoc
from indexer.stores.sketches import Found
from tests.planted import collection, drifting, greedy
from tests.word_minhash import ProbingWordMinhash, WordMinhash

# Keys of 3 bits in 3 tables: any number of them, or three that need not be one of each table.
KEYS = st.sets(st.integers(0, 23), min_size=1, max_size=8) | st.sets(st.integers(0, 23), min_size=3, max_size=3)
Edges = dict[tuple[int, int], float]


class Free(WordMinhash):
    """Similarities of pairs as they are given, by their numbers, with any keys."""

    def __init__(self, agreeing: int, shares: Sequence[float]) -> None:
        super().__init__(agreeing=agreeing)
        self.layout = KeyLayout(3, 3)
        self._shares = shares

    def similarities(self, payload: bytes, others: Sequence[bytes]) -> np.ndarray:
        pairs = (sorted((payload[0], other[0])) for other in others)
        return np.array([self._shares[(one * 7 + other * 13) % len(self._shares)] for one, other in pairs])


def edges_of(nodes: Nodes, measured: Measured | None = None) -> Edges:
    """Every pair of documents, by their positions both ways, that the listing of pairs calls near."""
    found: Edges = {}
    position = {ref: place for place, ref in enumerate(nodes.refs.take(range(len(nodes.refs))))}
    for left, right, value in document_pairs(nodes, Comparer(nodes.rule, nodes.payloads, measured)):
        found[position[left], position[right]] = found[position[right], position[left]] = value
    return found


def by_rank(ranks: Sequence[int]) -> list[int]:
    return sorted(range(len(ranks)), key=ranks.__getitem__)


def chosen(nodes: Nodes, ranks: Sequence[int], measured: Measured | None = None) -> Choice:
    comparison = Comparer(nodes.rule, nodes.payloads, measured)
    whole = group(nodes, comparison).whole
    return choose(nodes, comparison, whole, np.arange(len(ranks)), np.array(ranks, dtype=np.int64))


def as_listed(choice: Choice) -> dict[int, tuple[int, float]]:
    return dict(enumerate(zip(choice.of.tolist(), choice.similarity.tolist(), strict=True)))


def nodes_from(texts: Sequence[str], rule: MatchRule) -> Nodes:
    return nodes_of(rule, _batches(all_sketches(texts, rule.schemes), rule))


@settings(deadline=None, max_examples=200)
@given(
    st.lists(KEYS, min_size=1, max_size=30),
    st.integers(1, 3),
    st.lists(st.sampled_from([0.2, 0.6, 0.6, 0.7, 1.0]), min_size=1, max_size=40),
    st.sampled_from([(3, 2), (1 << 18, 1), (1 << 18, 128)]),
    st.randoms(use_true_random=False),
    st.booleans(),
)
def test_the_choice_is_the_greedy_one_over_all_pairs(
    keys: list[set[int]],
    agreeing: int,
    shares: list[float],
    limits: tuple[int, int],
    draw: random.Random,
    hashed: bool,
) -> None:
    # By keys alone, or also by a simhash of the same documents, of which many are equal or within a bit.
    free = Free(agreeing, shares)
    rule = MatchRule((Finder(free, 0.5),))
    if hashed:
        rule = MatchRule((Finder(SimhashDoc(), 1 - 1 / 64), Finder(free, 0.5)), Finder(free, 0.5))
    count = len(keys)
    payloads = {WordMinhash.family: Ragged.of_bytes([bytes([number]) for number in range(count)])}
    rows = {WordMinhash.family: Ragged.of_integers([sorted(each) for each in keys])}
    if hashed:
        payloads["simhash-doc"] = Ragged.of_bytes([draw.choice((0, 1, 3, 7, 15)).to_bytes(8) for _ in range(count)])
    nodes = nodes_of(rule, [Found([Ref(str(number)) for number in range(count)], payloads, rows)])
    ranks = draw.sample(range(100), count)
    before = grouping._BLOCK, choosing._BLOCK, choosing._WIDEST, choosing._HELD
    grouping._BLOCK = choosing._BLOCK = limits[0]
    choosing._WIDEST = choosing._HELD = limits[1]
    try:
        found = as_listed(chosen(nodes, ranks))
    finally:
        grouping._BLOCK, choosing._BLOCK, choosing._WIDEST, choosing._HELD = before
    assert found == greedy(by_rank(ranks), edges_of(nodes))


@pytest.mark.parametrize(
    "rule",
    [
        MatchRule((Finder(WordMinhash(bands=40, rows=1, agreeing=15), 0.6),)),
        MatchRule((Finder(ProbingWordMinhash(), 0.6),)),
        parse_rule("minhash@0.5"),
        parse_rule("simhash-doc@12bits"),
        parse_rule("simhash-doc@7bits/minhash@0.5+minhash@0.5"),
        parse_rule("simhash-doc@7bits/spotsigs@0.5+weighted-minhash@0.6"),
        parse_rule("supershingles@0.3"),
        parse_rule("random-projection@0.95"),
        parse_rule("simhash:bits=32@4bits"),
    ],
    ids=str,
)
@pytest.mark.parametrize("held", [1, 1 << 23])
def test_schemes_of_every_kind_choose_what_their_pairs_say(
    rule: MatchRule, held: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(choosing, "_HELD", held)
    texts = collection(3, 120)
    nodes = nodes_from(texts, rule)
    edges = edges_of(nodes)
    assert edges
    for seed in range(3):
        ranks = random.Random(seed).sample(range(len(texts)), len(texts))
        assert as_listed(chosen(nodes, ranks)) == greedy(by_rank(ranks), edges)


def test_a_measure_that_is_given_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    rule = parse_rule("minhash@0.2+text@0.5")
    texts = collection(5, 60)
    nodes = nodes_of(rule, _batches(all_sketches(texts, rule.schemes), rule), whole=True)

    def measured(left: np.ndarray, right: np.ndarray) -> np.ndarray:
        # One pair in five is unknown, as of a text that can't be read.
        return np.array([-1.0 if (a + b) % 5 == 0 else 0.5 + (a * b % 7) / 14 for a, b in np.stack((left, right)).T])

    ranks = random.Random(1).sample(range(60), 60)
    assert as_listed(chosen(nodes, ranks, measured)) == greedy(by_rank(ranks), edges_of(nodes, measured))


def test_families_that_drift_leave_nothing_near() -> None:
    rule = parse_rule("simhash-doc@3bits/minhash@0.6+minhash@0.6")
    nodes = nodes_from(drifting(20, 16), rule)
    edges = edges_of(nodes)
    found = chosen(nodes, list(range(320)))
    kept = np.flatnonzero(found.of == np.arange(320))
    assert 40 <= kept.size < 200
    assert not any((one, other) in edges for one in kept.tolist() for other in kept.tolist())
    for document, (of, value) in as_listed(found).items():
        assert of == document or edges[document, of] == value
        assert found.of[of] == of


def test_documents_left_out_count_as_not_there() -> None:
    rule = parse_rule("minhash@0.6")
    nodes = nodes_from(drifting(2, 12), rule)
    edges = edges_of(nodes)
    comparison = Comparer(rule, nodes.payloads)
    whole = group(nodes, comparison).whole
    some = np.array([23, 3, 4, 5, 9, 10, 11, 12, 15, 14])
    found = choose(nodes, comparison, whole, some, some)
    within = {pair: value for pair, value in edges.items() if set(pair) <= set(some.tolist())}
    expected = greedy(sorted(some.tolist()), within)
    assert dict(zip(some.tolist(), found.of.tolist(), strict=True)) == {one: expected[one][0] for one in some.tolist()}
    nothing = choose(nodes, comparison, whole, some[:0], some[:0])
    assert nothing.of.size == nothing.similarity.size == 0


def test_a_bucket_of_many_costs_what_is_kept_times_its_members() -> None:
    # Pages that share keys in all tables; a third of them near each kept one.
    count = 3000
    rule = MatchRule((Finder(Thirds(), 0.5),))
    payloads = {WordMinhash.family: Ragged.of_matrix(np.arange(count, dtype="<u4").view(np.uint8).reshape(count, 4))}
    rows = {WordMinhash.family: Ragged.of_integers([(0, 8, 16)] * count)}
    nodes = nodes_of(rule, [Found([Ref(str(number)) for number in range(count)], payloads, rows)])
    comparison = Comparer(rule, nodes.payloads)
    whole = np.zeros(count, dtype=np.int64)
    found = choose(nodes, comparison, whole, np.arange(count), np.arange(count))
    assert set(found.of.tolist()) == {0, 1, 2}
    assert comparison.compared <= 4 * count


class Thirds(WordMinhash):
    """Near is what has the same remainder of three."""

    def __init__(self) -> None:
        super().__init__()
        self.layout = KeyLayout(3, 3)

    def compare(self, payloads: Ragged, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        numbers = payloads.matrix(4).view("<u4")[:, 0]
        return np.asarray(numbers[left] % 3 == numbers[right] % 3, dtype=np.float64)


def test_ranks_are_places_in_the_order_of_keys() -> None:
    keys = [("b", 1), ("a", 2), ("b", 0), ("a", 2)]
    ranks = ranks_of(keys)
    assert ranks.tolist() == [3, 0, 2, 1]
    assert all(a <= b for a, b in pairwise(keys[place] for place in np.argsort(ranks).tolist()))
