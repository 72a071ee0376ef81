"""Clusters made as documents come, against clusters made of all of them at once."""

from __future__ import annotations

import cProfile
import pstats
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from indexer.clustering.annotations import stored_clusters
from indexer.clustering.arrivals import Arrivals, _ComingDocuments, rule_for
from indexer.clustering.canonical import CanonicalRule
from indexer.clustering.clusters import cluster
from indexer.clustering.memory import now, remembered
from indexer.clustering.prune import Pruning
from indexer.errors import IncompatibleStoreError, UsageError
from indexer.library.opening import open_store
from indexer.matching.rule import Finder, MatchRule, parse_rule
from indexer.model import Fingerprint, Record, Ref, Sketch
from indexer.schemes import registry
from indexer.schemes.keys.layout import KeyLayout
from indexer.stores import Store
from tests.clustered import INFO, arrivals_of, cluster_store, partition, record, wide
from tests.planted import collection, filled, named
from tests.word_minhash import WordMinhash

# Few bits, so that hashes meet: the bits are spread over all blocks of the keys.
BITS = [0, 1, 15, 16, 27, 28, 40, 41, 52, 63]
VALUES = st.sets(st.sampled_from(BITS), max_size=6).map(lambda bits: sum(1 << bit for bit in bits))
# Spread by more than the distance: components stay narrow, or are chains, as the test asks.
NARROW = st.tuples(st.sampled_from([0, 0xFFFF_0000_FFFF_0000, 0x0F0F_0F0F_0F0F_0F0F]), st.sampled_from([None, *BITS]))


class How(NamedTuple):
    """Whether each batch is put into clusters before the next, and for how many documents the whole store is read."""

    each: bool
    fewest: int


HOWS = st.builds(How, st.booleans(), st.sampled_from([1, 500]))


@contextmanager
def empty_store() -> Iterator[Store]:
    with tempfile.TemporaryDirectory() as folder, open_store(Path(folder) / "a.neardup", create=INFO) as store:
        yield store


def arrive(store: Store, batches: Sequence[Sequence[Record]], distance: int = 3, how: How | None = None) -> Arrivals:
    each, fewest = how or How(each=True, fewest=500)
    arrivals = arrivals_of(store, distance, fewest=fewest)
    for batch in batches:
        arrivals.examine(batch)
        stored = [each.ref for each in store.put(batch)]
        assert stored == [each.ref for each in batch]
        arrivals.stored(batch)
        if each:
            arrivals.place()
    arrivals.place()
    return arrivals


def cut(records: Sequence[Record], places: Sequence[int]) -> list[list[Record]]:
    edges = [0, *sorted(place % (len(records) + 1) for place in places), len(records)]
    return [list(records[a:b]) for a, b in pairwise(edges)]


def without_earlier(records: Sequence[Record], distance: int) -> list[Record]:
    """Those that none before them is near."""
    compared = [(each, each.fingerprint.value) for each in records if each.fingerprint and not each.short]
    return [
        each
        for place, (each, value) in enumerate(compared)
        if not any((value ^ other).bit_count() <= distance for _, other in compared[:place])
    ]


def agrees_with_its_clusters(store: Store) -> None:
    """What is kept of clusters as a whole says the same as their members."""
    records = {each.ref: each for each in store.scan()}
    real = {each.id: each for each in stored_clusters(store) if len(each.members) > 1}
    kept = {each.id: each for each in store.clusters()}
    assert real.keys() == kept.keys()
    for name, one in real.items():
        assert kept[name].canonical == one.canonical
        assert kept[name].size == len(one.members)
        assert kept[name].least_similarity == min(one.similarities)
        assert kept[name].total_bytes == sum(records[ref].size for ref in one.members)
        assert kept[name].first_seen == min(records[ref].indexed_at for ref in one.members)
        assert kept[name].last_seen == max(records[ref].indexed_at for ref in one.members)


@settings(max_examples=25, deadline=None)
@given(
    drawn=st.lists(st.tuples(NARROW, st.integers(0, 3)), max_size=25),
    order=st.randoms(use_true_random=False),
    places=st.lists(st.integers(0, 100), max_size=8),
    how=HOWS,
)
def test_any_order_of_arrival_gives_the_clusters_of_all_at_once(drawn, order, places, how) -> None:  # type: ignore[no-untyped-def]
    records = [
        record(f"d{number}", base if bit is None else base ^ (1 << bit), indexed_at=f"2026-01-0{day + 1}", size=number)
        for number, ((base, bit), day) in enumerate(drawn)
    ]
    records += [record("short", 0, short=True), record("empty", None)]
    with empty_store() as once, empty_store() as coming:
        assert all(result for result in once.put(records))
        cluster_store(once, 3, threads=1)
        order.shuffle(records)
        arrivals = arrive(coming, cut(records, places), 3, how)
        assert arrivals.counts.new == len(without_earlier(records, 3))
        assert partition(coming) == partition(once)
        agrees_with_its_clusters(coming)
        # Nothing is left to be done but names.
        assert cluster_store(coming, 3, dry_run=True, threads=1).changes.documents == 0


@settings(max_examples=25, deadline=None)
@given(
    values=st.lists(VALUES, max_size=25),
    replaced=st.lists(st.tuples(st.integers(0, 24), VALUES), max_size=6),
    places=st.lists(st.integers(0, 100), max_size=6),
    how=HOWS,
)
def test_chains_may_be_cut_elsewhere_but_never_left_too_wide(values, replaced, places, how) -> None:  # type: ignore[no-untyped-def]
    records = [record(f"d{number}", value) for number, value in enumerate(values)]
    changes = [record(f"d{number}", value) for number, value in replaced if number < len(values)]
    with empty_store() as store:
        arrivals = arrive(store, cut(records, places), 2, how)
        new = len(without_earlier(records, 2))
        assert (arrivals.counts.new, arrivals.counts.near) == (new, len(records) - new)
        for each in changes:
            arrive(store, [[each]], 2, how)
        agrees_with_its_clusters(store)
        ours = {each.id: {ref.id for ref in each.members} for each in stored_clusters(store)}
        assert sorted(name for members in ours.values() for name in members) == sorted(each.ref.id for each in records)
        now = {each.ref.id: each.fingerprint.value for each in [*records, *changes] if each.fingerprint}
        for members in ours.values():
            assert not wide([now[name] for name in members], 4)
        # No cluster holds what no chain of near ones connects.
        cluster_store(store, 2, bound=64, threads=1)
        connected = [{ref.id for ref in each.members} for each in stored_clusters(store)]
        for members in ours.values():
            assert any(members <= each for each in connected)
        # And the next clustering of all gives what it would have given without any before it.
        cluster_store(store, 2, threads=1)
        with empty_store() as once:
            assert all(result for result in once.put(store.scan()))
            cluster_store(once, 2, threads=1)
            assert partition(once) == partition(store)


def test_a_hundred_copies_in_one_batch_meet() -> None:
    copies = [record(f"{number:03d}", 7 ^ (number & 1)) for number in range(100)]
    with empty_store() as store:
        arrivals = arrive(store, [copies])
        assert (arrivals.counts.new, arrivals.counts.near) == (1, 99)
        assert [len(each.members) for each in stored_clusters(store)] == [100]


def test_what_has_waited_for_long_is_put_into_clusters_before_the_end() -> None:
    with empty_store() as store:
        arrivals = arrivals_of(store)
        for name, waited in (("a", 0), ("b", 0), ("c", 60)):
            arrivals._placed -= waited
            arrivals.examine([record(name, 0)])
            assert all(result for result in store.put([record(name, 0)]))
            arrivals.stored([record(name, 0)])
            assert partition(store) == ({"abc": "a"} if waited else {one: one for one in "ab"[: ord(name) - 96]})


def test_a_copy_of_what_is_replaced_in_the_same_batch_finds_its_cluster() -> None:
    with empty_store() as store:
        arrive(store, [[record("a", 0), record("b", 0)]])
        arrive(store, [[record("x", 1), record("y", 1), record("x", 0xFFFF)]])
        assert partition(store) == {"aby": "a", "x": "x"}
        agrees_with_its_clusters(store)


def test_one_more_copy_rewrites_nothing_but_itself_and_the_cluster() -> None:
    with empty_store() as store:
        arrive(store, [[record(f"{number:04d}", 7, indexed_at="2026-01-01") for number in range(3000)]])
        arrivals = arrive(store, [[record("last", 7, indexed_at="2026-01-02")]])
        assert (arrivals.changes.documents, arrivals.changes.clusters) == (1, 1)
        near = arrive(store, [[record("near", 6, indexed_at="2026-01-03")]])
        assert (near.changes.documents, near.changes.clusters) == (1, 1)
        assert [len(each.members) for each in stored_clusters(store)] == [3002]
        agrees_with_its_clusters(store)


def test_a_document_between_two_clusters_joins_them() -> None:
    with empty_store() as store:
        arrive(store, [[record("a", 0), record("b", 0)], [record("c", 0b11_1100), record("d", 0b11_1100)]])
        assert partition(store) == {"ab": "a", "cd": "c"}
        arrive(store, [[record("e", 0b1100)]])
        assert partition(store) == {"abcde": "a"}
        agrees_with_its_clusters(store)


def test_a_document_that_changes_leaves_its_cluster() -> None:
    with empty_store() as store:
        arrive(store, [[record("a", 0), record("b", 1), record("c", 3)]])
        arrive(store, [[record("a", 1 << 40 | 0xFF00)]])
        assert partition(store) == {"a": "a", "bc": "b"}
        agrees_with_its_clusters(store)
        arrive(store, [[record("c", None)]])
        assert partition(store) == {"a": "a", "b": "b", "c": "c"}
        agrees_with_its_clusters(store)


@pytest.mark.parametrize("fewest", [1, 500])
def test_documents_stored_without_clusters_are_taken_in(fewest: int) -> None:
    with empty_store() as store:
        assert all(result for result in store.put([record("a", 0), record("b", 0)]))
        arrivals = arrive(store, [[record("c", 1)]], how=How(each=True, fewest=fewest))
        assert partition(store) == {"abc": "a"}
        assert (arrivals.counts.new, arrivals.counts.near) == (0, 1)


def test_two_indexers_at_once_find_what_both_have_stored() -> None:
    with empty_store() as store:
        one, other = arrivals_of(store), arrivals_of(store)
        ours = [record("a", 0), record("b", 0), record("c", 0xFF00)]
        theirs = [record("x", 1), record("y", 0xFF00), record("z", 0xFF << 40)]
        one.examine(ours)
        other.examine(theirs)
        assert all(result for result in store.put([*ours, *theirs]))
        one.stored(ours)
        other.stored(theirs)
        one.place()
        other.place()
        assert partition(store) == {"abx": "a", "cy": "c", "z": "z"}
        assert cluster_store(store).changes.documents == 0
        agrees_with_its_clusters(store)


def test_two_indexers_at_once_are_put_right_by_the_next_clustering() -> None:
    with empty_store() as store:
        one, other = arrivals_of(store, skip=True), arrivals_of(store, skip=True)
        ours = [record("a", 0), record("c", 0xFF00)]
        theirs = [record("x", 1), record("y", 0xFF00), record("z", 0xFF << 40)]
        # Each looks before the other has stored anything.
        assert [*one.examine(ours), *other.examine(theirs)] == [None] * 5
        assert all(result for result in store.put([*ours, *theirs]))
        one.stored(ours)
        other.stored(theirs)
        assert partition(store) == {"a": "a", "c": "c", "x": "x", "y": "y", "z": "z"}
        put_right = cluster_store(store)
        assert partition(store) == {"ax": "a", "cy": "c", "z": "z"}
        assert put_right.changes.documents == 4
        agrees_with_its_clusters(store)


def test_a_run_killed_between_storing_and_placing_is_put_right() -> None:
    with empty_store() as store:
        arrive(store, [[record("a", 0), record("b", 0)]])
        killed = arrivals_of(store)
        batch = [record("b", 0xFF00), record("c", 1)]
        killed.examine(batch)
        assert all(result for result in store.put(batch))
        killed.stored(batch)
        assert partition(store) == {"a": "a", "b": "b", "c": "c"}
        cluster_store(store)
        assert partition(store) == {"ac": "a", "b": "b"}
        agrees_with_its_clusters(store)


def test_near_copies_of_stored_documents_are_left_out() -> None:
    with empty_store() as store:
        arrivals = arrivals_of(store, skip=True)
        batch = [record("a", 0), record("b", 1), record("far", 0xFFFF), record("short", 0, short=True)]
        assert [near and near.ref.id for near in arrivals.examine(batch)] == [None, "a", None, None]
        assert all(result for result in store.put([batch[0], batch[2], batch[3]]))
        # One that is stored is brought up to date, whatever it is near to.
        again = [record("far", 0b11), record("new", 0b1), record("empty", None)]
        assert [near and (near.ref, near.similarity) for near in arrivals.examine(again)] == [
            None,
            (Ref("a"), 63 / 64),
            None,
        ]


def test_nothing_is_left_out_for_what_is_replaced_in_the_same_batch() -> None:
    with empty_store() as store:
        batch = [record("a", 0), record("b", 0), record("c", 1), record("a", 0xFFFF), record("d", 0xFFFF)]
        found = [near and near.ref.id for near in arrivals_of(store, skip=True).examine(batch)]
        assert found == [None, None, "b", None, "a"]


def test_in_a_larger_batch_an_equal_document_costs_no_more() -> None:
    calls = []
    for count in (500, 2000):
        batch = [record(str(number), 7) for number in range(count)]
        with empty_store() as store:
            profile = cProfile.Profile()
            profile.enable()
            arrive(store, [batch])
            profile.disable()
            assert [len(each.members) for each in stored_clusters(store)] == [count]
        calls.append(pstats.Stats(profile).total_calls)  # type: ignore[attr-defined]
    assert calls[1] < 5 * calls[0]


def test_what_comes_obeys_the_rule_by_which_the_clusters_were_made(tmp_path: Path) -> None:
    with filled(tmp_path / "a.neardup", named(collection(1, 5)), [registry.scheme("minhash")]) as store:
        usual = "simhash-doc@3bits/minhash@0.6+minhash@0.6"
        assert str(rule_for(store).rule) == usual
        assert str(rule_for(store, parse_rule("minhash@0.7", store)).rule) == "minhash@0.7"
        cluster(store, parse_rule("minhash@0.7", store), bound=0.5, canonical=CanonicalRule("longest"))
        by = rule_for(store)
        assert (str(by.rule), by.bound, by.canonical, by.refused) == ("minhash@0.7", 0.5, CanonicalRule("longest"), "")
        same = rule_for(store, parse_rule("minhash@0.7", store), bound=0.5, canonical=CanonicalRule("longest"))
        assert same == by
        # What is only left out is judged as the user says.
        assert str(rule_for(store, cluster=False).rule) == usual
        for other, said in (
            ({"wanted": parse_rule("minhash@0.8", store)}, "made with the rule minhash@0.7, not minhash@0.8"),
            ({"bound": 0.6}, "made with the bound 0.5, not 0.6"),
            ({"canonical": CanonicalRule()}, "made with the canonical rule longest, not earliest"),
        ):
            with pytest.raises(UsageError, match=rf"{said}.*run neardup cluster with the new one first"):
                rule_for(store, **other)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ("simhash-doc@9bits", "looks up within 0bits to 7bits"),
        ("simhash-doc@3bits+text@0.5", "can't be verified by reading"),
        ("minhash:shingle=3@0.6", "shingle=3"),
    ],
)
def test_what_can_not_judge_documents_as_they_come_is_refused_at_once(tmp_path: Path, rule: str, said: str) -> None:
    with filled(tmp_path / "a.neardup", named(collection(1, 3)), [registry.scheme("minhash")]) as store:
        for made in (True, False):
            with pytest.raises((UsageError, IncompatibleStoreError), match=said):
                rule_for(store, parse_rule(rule), cluster=made)
        if "minhash" not in rule:
            cluster(store, parse_rule(rule))
            with pytest.raises(UsageError, match=said):
                rule_for(store)


def test_what_was_looked_at_is_remembered() -> None:
    with empty_store() as store:
        arrivals = arrive(store, [[record("a", 0), record("b", 0)]])
        [begun] = store.clustering_notes().values()
        assert (begun.finished, begun.at, begun.arrived) == (False, "", ())
        arrivals.close()
        [ended] = store.clustering_notes().values()
        assert (ended.finished, ended.rule, ended.at) == (True, begun.rule, "")
        # All at once, and then others without clusters before some come with them.
        store.put_clustering_note(replace(ended, at="2026-01-05T00:00:00Z", arrived=()))
        arrive(store, [[record("c", 0)]]).close()
        found = remembered(store)
        assert found
        assert found.has_seen("2026-01-04T00:00:00Z")
        assert not found.has_seen("2026-01-06T00:00:00Z")
        [run] = found.arrived
        begin, _, end = run.partition("/")
        assert found.has_seen(begin)
        assert found.has_seen(end)
        for _ in range(60):
            arrive(store, [[record("d", 0)]]).close()
        found = remembered(store)
        assert found
        assert len(found.arrived) <= 50
        assert found.has_seen(found.arrived[-1].partition("/")[2])
        assert not found.has_seen(now())


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.lists(st.integers(0, 11), min_size=1, max_size=6), min_size=1, max_size=12),
    st.lists(st.integers(0, 11), min_size=1, max_size=6),
    st.integers(1, 3),
)
def test_documents_of_a_batch_are_found_like_what_is_stored(
    keys: list[list[int]], asked: list[int], agreeing: int
) -> None:
    """Keys of 2 bits in 3 tables, several of one table, some twice."""
    scheme = WordMinhash(agreeing=agreeing)
    scheme.layout = KeyLayout(3, 2)
    rule = MatchRule((Finder(scheme, 0.0),))

    def made(name: str, some: list[int]) -> Record:
        sketch = Sketch(scheme.id, b"\0\0" * 40, tuple(some), 1)
        return Record(Ref(name), {**Fingerprint(0, 9).sketches((0,)), scheme.family: sketch})

    added = {f"{number:02d}": each for number, each in enumerate(keys)}
    batch = _ComingDocuments(rule, [*(made(name, each) for name, each in added.items()), made("q", asked)])
    for name in added:
        batch.add(Ref(name))
    near, _ = batch.near(Ref("q"))
    equal = [name for name, each in added.items() if each == asked]
    met = [name for name, each in added.items() if len({key >> 2 for key in each if key in asked}) >= agreeing]
    # Of equal ones the first stands for all.
    wanted = equal[:1] or sorted({tuple(added[name]): name for name in reversed(met)}.values())
    assert sorted(one.ref.id for one in near) == wanted
    assert batch.has_equal(Ref("q")) == bool(equal)


def test_what_is_near_only_to_what_could_be_removed_is_not_left_out(tmp_path: Path) -> None:
    with open_store(tmp_path / "a.neardup", create=INFO) as store:
        list(store.put([record("a", 0), record("b", 0b111)]))
        cluster_store(store)
        # Near b, which repeats a; prune would take b away, and nothing near would be left.
        new, near = record("c", 0b111111), record("d", 0b1)
        answers = arrivals_of(store, skip=True).examine([new, near])
        assert [answer and answer.ref.id for answer in answers] == [None, "a"]
        list(store.put([new]))
        cluster_store(store)
        assert {one.record.ref.id: one.repeats.id for one in Pruning(store).surplus()} == {"b": "a"}
