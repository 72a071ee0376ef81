"""All pairs by a rule, each once: of one store, of two, and of a store and a list."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from indexer.errors import IncompatibleStoreError, UsageError
from indexer.matching import pairing
from indexer.matching.lists import read_list
from indexer.matching.nodes import read_nodes
from indexer.matching.pairing import MeasuredPair, pairs_of
from indexer.matching.rule import Finder, MatchRule, parse_rule
from indexer.model import Ref, Sketch
from indexer.model.ragged import Ragged
from indexer.schemes import registry
from indexer.schemes.base import Positions, Scheme, Sketches
from indexer.schemes.keys import postings
from indexer.schemes.keys.layout import KeyLayout
from indexer.stores import Store
from tests.planted import Edge, Oracle, collection, empty, filled, named, put, record
from tests.word_minhash import ProbingWordMinhash, WordMinhash


def alone(scheme: Scheme, similarity: float) -> MatchRule:
    """The rule of one scheme."""
    return MatchRule((Finder(scheme, similarity),))


def by_names(pairs: Sequence[MeasuredPair]) -> dict[Edge, float]:
    """Pairs by their names in order; each may be there once."""
    found = {(min(a.id, b.id), max(a.id, b.id)): similarity for a, b, similarity in pairs}
    assert len(found) == len(pairs)
    return found


def expected(scheme: Scheme, texts: Sequence[str], similarity: float) -> dict[Edge, float]:
    """By comparing everything with everything that shares keys in enough tables."""
    sketches = [scheme.sketch(text) for text in texts]
    found = {}
    for (i, a), (j, b) in combinations(enumerate(sketches), 2):
        if a is None or b is None:
            continue
        asked = set(scheme.probes(a, similarity))
        tables = {key >> scheme.layout.bits for key in asked & set(b.keys)}
        value = float(scheme.similarities(a.payload, [b.payload])[0])
        if (a == b or len(tables) >= scheme.agreeing) and value >= similarity:
            found[f"d{i:03d}", f"d{j:03d}"] = value
    return found


@pytest.mark.parametrize(
    "scheme",
    [WordMinhash(), WordMinhash(bands=6, rows=5), WordMinhash(bands=40, rows=1, agreeing=15), ProbingWordMinhash()],
    ids=lambda scheme: scheme.id,
)
@pytest.mark.parametrize("block", [7, 1 << 17])
def test_every_pair_of_a_store_is_found_once(
    tmp_path: Path, scheme: Scheme, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postings, "_BLOCK", block)
    monkeypatch.setattr(pairing, "_BLOCK", block)
    monkeypatch.setattr(pairing, "_REFS_AT_ONCE", block)
    texts = [*collection(1, 120), "", *["the very same words"] * 30]
    with filled(tmp_path / "pairs.neardup", named(texts), [scheme]) as store:
        pairs = list(pairs_of(store, alone(scheme, 0.6)))
        found = by_names(pairs)
        assert found == pytest.approx(expected(scheme, texts, 0.6))
        assert len(found) > 500
        # Collapsed, the 30 equal ones are 29 pairs, and every document is still in the same component.
        few = list(pairs_of(store, alone(scheme, 0.6), collapse=True))
        assert len(few) < len(pairs) - 400
        assert {p.left.id for p in few} | {p.right.id for p in few} == {name for pair in found for name in pair}


@settings(deadline=None, max_examples=150)
@given(
    st.lists(st.sets(st.integers(0, 23), min_size=1, max_size=8), min_size=2, max_size=25),
    st.integers(1, 3),
    st.sampled_from([1, 3, 1000]),
)
def test_a_pair_comes_once_however_its_keys_lie(keys: list[set[int]], agreeing: int, block: int) -> None:
    """Keys of 3 bits in 3 tables, several of one table."""
    scheme = WordMinhash(agreeing=agreeing)
    scheme.layout = KeyLayout(3, 3)
    payloads = Ragged.of_bytes([bytes([number]) for number in range(len(keys))])
    sketches = Sketches(payloads, Ragged.of_integers([tuple(some) for some in keys]))
    before = postings._BLOCK
    postings._BLOCK = block
    try:
        found = [pair for left, right in scheme.join(sketches, 0.0) for pair in zip(left, right, strict=True)]
    finally:
        postings._BLOCK = before
    wanted = {
        (i, j) for i, j in combinations(range(len(keys)), 2) if len({k >> 3 for k in keys[i] & keys[j]}) >= agreeing
    }
    assert sorted(found) == sorted(wanted)


@settings(deadline=None, max_examples=200)
@given(
    st.lists(st.sets(st.integers(0, 15), max_size=6), min_size=2, max_size=25),
    st.sampled_from([2, 4, 1000]),
    st.sampled_from([1, 3, 1000]),
)
def test_what_crosses_from_one_table_to_the_other_comes_once(keys: list[set[int]], most: int, block: int) -> None:
    """Keys of 3 bits in 2 tables, of which those of the second meet those of the first, and not one another."""
    layout = KeyLayout(2, 3)
    before = postings._BLOCK
    postings._BLOCK = block
    try:
        rows = Ragged.of_integers([sorted(some) for some in keys])
        found = [
            pair for left, right in postings.crossing(rows, layout, most) for pair in zip(left, right, strict=True)
        ]
    finally:
        postings._BLOCK = before
    meet = {
        value: {
            (i, j)
            for i, j in combinations(range(len(keys)), 2)
            if (value in keys[i] and {value, value + 8} & keys[j]) or (value in keys[j] and value + 8 in keys[i])
        }
        for value in range(8)
    }
    wanted = {pair for pairs in meet.values() if len(pairs) <= most * (most - 1) // 2 for pair in pairs}
    assert sorted(found) == sorted(wanted)


def test_a_scheme_s_own_way_is_used(tmp_path: Path) -> None:
    class Own(WordMinhash):
        def join(
            self, sketches: Sketches, similarity: float, *, threads: int | None = None
        ) -> Iterator[tuple[Positions, Positions]]:
            assert similarity == 0.75
            yield np.array([0, 1]), np.array([2, 2])

    scheme = Own()
    texts = named(["a b c d e f g h i j", "quite another text", "a b c d e f g h i j k"])
    with filled(tmp_path / "own.neardup", texts, [scheme]) as store:
        assert list(by_names(list(pairs_of(store, alone(scheme, 0.75))))) == [("d000", "d002")]


def test_equal_documents_are_one_node(tmp_path: Path) -> None:
    scheme = WordMinhash()
    texts = named(["a b c"] * 10 + ["d e f"] * 5 + [""])
    with filled(tmp_path / "pairs.neardup", texts, [scheme]) as store:
        nodes = read_nodes(store, alone(scheme, 0.5))
        assert len(nodes) == 2
        assert nodes.weights.tolist() == [10, 5]
        keys = WordMinhash().sketch("d e f").keys  # type: ignore[union-attr]
        assert tuple(nodes.sketches[scheme.family].keys.row(1).tolist()) == keys
        assert np.bincount(nodes.node_of).tolist() == [10, 5]
        whole = read_nodes(store, alone(scheme, 0.5), whole=True)
        assert len(whole) == 15


RULES = [
    "simhash-doc@7bits/minhash@0.3+minhash@0.3",
    "minhash@0.3/simhash-doc@7bits+simhash-doc@9bits",
    "minhash@0.2/supershingles@0.2/weighted-minhash@0.4+minhash@0.3",
    "spotsigs@0.5/minhash@0.4+weighted-minhash@0.4",
    "simhash-doc@12bits+text@0.4",
    "simhash:bits=32@4bits+containment@0.5",
]


@pytest.mark.parametrize("rule", RULES)
def test_what_several_finders_find_comes_once(tmp_path: Path, rule: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pairing, "_BLOCK", 11)
    by = parse_rule(rule)
    texts = named(collection(5, 60))
    places = {}
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
        places[name] = str(tmp_path / name)
    schemes = list(by.schemes.values())
    with empty(tmp_path / "pairs.neardup", schemes) as store:
        put(store, [record(name, text, schemes, source=places[name]) for name, text in texts.items()])
        found = by_names(list(pairs_of(store, by, include_short=True)))
    oracle = Oracle(by, texts)
    assert found == pytest.approx({pair: value for pair, value in oracle.edges().items() if oracle.met(*pair)})
    assert len(found) > 20


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """Versions of texts with their sketches of minhash."""
    with filled(tmp_path / "ours.neardup", named(collection(2, 40)), [registry.scheme("minhash")]) as made:
        yield made


@pytest.mark.parametrize("rule", ["minhash@0.4", "simhash-doc@6bits", "simhash-doc@6bits/minhash@0.4+minhash@0.4"])
def test_pairs_with_another_store(store: Store, tmp_path: Path, rule: str) -> None:
    by = parse_rule(rule, store)
    ours = named(collection(2, 40))
    theirs = {f"t{name}": text for name, text in ours.items() if name > "d020"} | {"other": collection(9, 1)[0]}
    oracle = Oracle(by, ours | theirs)
    with filled(tmp_path / "theirs.neardup", theirs, [registry.scheme("minhash")]) as other:
        pairs = list(pairs_of(store, by, against=read_nodes(other, by)))
    found = {(pair.left.id, pair.right.id): pair.similarity for pair in pairs}
    assert len(found) == len(pairs)
    assert found == pytest.approx({(a, b): oracle.similarity(a, b) for a in ours for b in theirs if oracle.met(a, b)})
    assert all((name[1:], name) in found for name in theirs if name != "other")


def test_stores_with_other_parameters_are_not_compared(store: Store, tmp_path: Path) -> None:
    by = parse_rule("minhash@0.4", store)
    other = registry.scheme("minhash:shingle=3")
    with filled(tmp_path / "theirs.neardup", named(collection(2, 5)), [other]) as theirs:
        with pytest.raises(IncompatibleStoreError, match=r"shingle=5.*shingle=3"):
            read_nodes(theirs, by)
        with pytest.raises(IncompatibleStoreError, match=r"shingle=5.*shingle=3"):
            list(pairs_of(theirs, by))
    with (
        filled(tmp_path / "lean.neardup", named(collection(2, 5)), []) as lean,
        pytest.raises(UsageError, match="no sketches of the scheme 'minhash'"),
    ):
        read_nodes(lean, by)


def test_two_collections_are_not_verified_by_reading(store: Store, tmp_path: Path) -> None:
    by = parse_rule("simhash-doc@3bits+text@0.5", store)
    with pytest.raises(UsageError, match="verify by a sketch"):
        list(pairs_of(store, by, against=read_nodes(store, by)))


def test_a_list_is_a_collection_of_simhashes(store: Store, tmp_path: Path) -> None:
    path = tmp_path / "list.jsonl"
    values = [record("x", text).fingerprint for text in collection(2, 3)]
    lines = [{"hash": str(value), "name": f"n{place}"} for place, value in enumerate(values)]
    path.write_text("\n".join(map(json.dumps, [*lines, {"hash": None, "name": "empty"}, {"hash": str(values[0])}])))
    by = parse_rule("simhash-doc@0bits", store)
    nodes = read_list(path, by)
    assert nodes.refs.take(range(4)) == [Ref("n0"), Ref("n1"), Ref("n2"), Ref("line 5")]
    found = {(pair.left.id, pair.right.id) for pair in pairs_of(store, by, against=nodes)}
    assert {("d000", "n0"), ("d000", "line 5"), ("d001", "n1"), ("d002", "n2")} <= found
    with pytest.raises(UsageError, match=r"list.jsonl: has simhashes alone.*--match simhash-doc@3bits"):
        read_list(path, parse_rule("minhash@0.6", store))


def test_what_lacks_a_scheme_is_counted_and_not_compared(store: Store) -> None:
    text = named(collection(2, 40))["d000"]
    put(store, [record("older", text), record("short", text, short=True), record("empty", "")])
    for rule, lacking in (
        ("minhash@0.4", 1),
        ("simhash-doc@3bits/minhash@0.4+minhash@0.4", 1),
        ("simhash-doc@3bits", 0),
    ):
        by = parse_rule(rule, store)
        nodes = read_nodes(store, by)
        assert nodes.lacking == lacking, rule
        assert (Ref("older") in nodes.refs.take(range(len(nodes.refs)))) == (lacking == 0)


def test_a_sketch_without_features_is_not_lacking(store: Store, tmp_path: Path) -> None:
    spots = registry.scheme("spotsigs")
    with empty(tmp_path / "spots.neardup", [spots]) as made:
        plain = record("plain", "word " * 30, [spots])
        assert plain.sketches["spotsigs"] == Sketch.without_features(spots.id)
        put(made, [plain, record("prose", "the cat sat on the mat and the dog lay in the sun " * 3, [spots])])
        nodes = read_nodes(made, parse_rule("spotsigs@0.5", made))
        assert (len(nodes), nodes.lacking) == (1, 0)
