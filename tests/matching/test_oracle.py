"""Random rules over random collections: all that rests on a rule, against a slow oracle that knows no scheme's ways.

The oracle compares all with all by `sketch` and `similarities`. What is returned must be right, and what a finder
guarantees must be found; clusters are the same for any order of storing and any batches.
"""

from __future__ import annotations

import random
import tempfile
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from itertools import combinations, pairwise
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from indexer.clustering.annotations import stored_clusters
from indexer.clustering.arrivals import Arrivals, rule_for
from indexer.clustering.clusters import cluster
from indexer.clustering.memory import remembered
from indexer.clustering.prune import Pruning
from indexer.errors import UsageError
from indexer.matching.lookups import lookup
from indexer.matching.nodes import read_nodes
from indexer.matching.pairing import pairs_of
from indexer.matching.question import Question
from indexer.matching.rule import MatchRule, TextVerification, parse_rule
from indexer.model import SIMHASH_DOC, Record, Ref
from indexer.report.counting import figures
from indexer.schemes import registry
from indexer.schemes.base import Scheme
from indexer.stores import Store
from indexer.text.corpus import Corpus, gather
from indexer.text.features import parse_recipe
from tests.planted import Edge, Oracle, components, empty, greedy, put, record

COMMON = ["the", "is", "a", "of", "to", "and", "in", "it", "was", "for"]


@cache
def pool() -> list[str]:
    """Families of texts with stop-words between: copies, edits, parts, others in front, the same words in order."""
    draw = random.Random(12)
    texts: list[str] = []
    for family in range(5):
        length = draw.choice([30, 60, 120])
        base = [draw.choice(COMMON) if n % 3 == 0 else f"w{family}x{draw.randrange(50)}" for n in range(length)]
        for changes in (0, 1, 1, 2, 3, 5, 8, 12, 20):
            for _ in range(changes):
                base[draw.randrange(length)] = f"new{draw.randrange(10**6)}"
            texts.append(" ".join(base))
        texts += [" ".join(base[: length * 3 // 4]), " ".join(texts[-1].split()[::-1]), " ".join(sorted(base))]
        texts.append(" ".join(["a", "line", "in", "front", "of", "it", *base]))
    texts += [" ".join(draw.choices(COMMON, k=40)) for _ in range(3)]
    return [*texts, "one two", "one", "?!"]


@cache
def scheme(specification: str) -> Scheme:
    """A scheme, with the statistics of the pool where it needs them."""

    def corpus(name: str) -> Corpus:
        return gather(pool(), parse_recipe(name.removeprefix("corpus.")))

    return registry.scheme(specification, corpus)


# Thresholds of each scheme, the loose ones first.
THRESHOLDS: Mapping[str, Sequence[str]] = {
    "simhash-doc": ("7bits", "3bits", "0bits"),
    "simhash": ("7bits", "2bits"),
    "simhash:bits=32": ("3bits", "1bit"),
    "simhash:bits=128,weights=tfidf": ("9bits", "4bits"),
    "i-match:low=0.0,high=1.0": ("0.05", "0.3"),
    "spotsigs": ("0.5", "0.8"),
    "minhash": ("0.2", "0.6", "0.9"),
    "minhash:shingle=2,bands=30,rows=1": ("0.3", "0.7"),
    "weighted-minhash": ("0.4", "0.8"),
    "supershingles": ("0.2", "0.8"),
    "supershingles:groups=12,agreeing=3": ("0.2", "0.6"),
    "random-projection": ("0.9", "0.99"),
    "random-projection:bits=64,block=16": ("0.8",),
    "passages": ("0.5", "1"),
    "passages:shingle=2,window=4": ("0.2", "0.6"),
    "passages:features=letters,window=9": ("0.4",),
    "short-text": ("0.5", "0.8"),
}


def test_every_scheme_of_the_registry_takes_part() -> None:
    assert {registry.split(each)[0] for each in THRESHOLDS} == set(registry.families())


@st.composite
def rules(draw: st.DrawFn) -> MatchRule:
    """One finder; one finder and a verifier; several finders and a verifier that may be one of them."""
    family = {each: registry.split(each)[0] for each in THRESHOLDS}
    found = draw(
        st.lists(st.sampled_from(list(THRESHOLDS)), min_size=1, max_size=3, unique_by=lambda each: family[each])
    )
    named = {family[each]: each for each in found}
    verifier = (
        draw(st.none() | st.sampled_from(list(THRESHOLDS)))
        if len(found) == 1
        else draw(st.sampled_from(list(THRESHOLDS)))
    )
    text = "/".join(f"{each}@{draw(st.sampled_from(THRESHOLDS[each]))}" for each in found)
    if verifier is not None:
        verifier = named.get(family[verifier], verifier)
        text += f"+{verifier}@{draw(st.sampled_from(THRESHOLDS[verifier]))}"
    return parse_rule(text, scheme=scheme)


@dataclass
class Collected:
    """Documents: some equal, some short, and those in `older` without a sketch beside the simhash."""

    texts: dict[str, str]
    short: set[str] = field(default_factory=set)
    older: set[str] = field(default_factory=set)

    def records(self, by: MatchRule) -> list[Record]:
        schemes = list(by.schemes.values())
        return [
            record(name, text, () if name in self.older else schemes, short=name in self.short, size=len(text),
                   indexed_at=f"2026-01-{1 + int(name[1:]) % 7:02d}")
            for name, text in self.texts.items()
        ]  # fmt: skip

    def oracle(self, by: MatchRule) -> Oracle:
        """What the rule says of those that are not short."""
        return Oracle(by, {name: text for name, text in self.texts.items() if name not in self.short}, self.older)


@st.composite
def collections(draw: st.DrawFn, *, older: bool = True) -> Collected:
    """Up to 16 documents of few families, so that many are near."""
    places = draw(st.lists(st.integers(0, len(pool()) - 1), min_size=2, max_size=16))
    start = draw(st.integers(0, 60))
    near = draw(st.booleans())
    chosen = [(start + place % 14) % len(pool()) if near else place for place in places]
    texts = {f"d{number:02d}": pool()[place] for number, place in enumerate(chosen)}
    some = st.sets(st.sampled_from(list(texts)), max_size=2)
    return Collected(texts, draw(some), draw(some) if older and draw(st.booleans()) else set())


def cut(records: Sequence[Record], places: Sequence[int]) -> list[list[Record]]:
    """Records in batches."""
    edges = [0, *sorted(place % (len(records) + 1) for place in places), len(records)]
    return [list(records[a:b]) for a, b in pairwise(edges)]


ORDERS = st.randoms(use_true_random=False)
PLACES = st.lists(st.integers(0, 100), max_size=4)


@contextmanager
def opened(by: MatchRule) -> Iterator[Store]:
    """A new store with the schemes of a rule, and the statistics that they rest on."""
    with tempfile.TemporaryDirectory() as folder, empty(Path(folder) / "a.neardup", by.schemes.values()) as store:
        for each in by.schemes.values():
            statistics: Corpus | None = getattr(each, "corpus", None)
            if statistics:
                store.put_resource(type(each).needed(each.parameters), statistics.to_bytes())
        yield store


def members(store: Store) -> set[frozenset[str]]:
    """The clusters, a lone document too."""
    return {frozenset(ref.id for ref in each.members) for each in stored_clusters(store)}


def found_pairs(store: Store, by: MatchRule) -> dict[Edge, float]:
    """All pairs, each once."""
    listed = [(min(a.id, b.id), max(a.id, b.id), similarity) for a, b, similarity in pairs_of(store, by, threads=1)]
    found = {(a, b): similarity for a, b, similarity in listed}
    assert len(found) == len(listed)
    return found


def are_right(found: Mapping[Edge, float], oracle: Oracle) -> None:
    """All that was found is near and as similar as said, and all that is certain was found."""
    every = oracle.edges()
    assert found == pytest.approx({pair: every[pair] for pair in found})
    assert not {pair for pair in every if oracle.certain(*pair)} - set(found)


def asked(store: Store, by: MatchRule, collected: Collected, oracle: Oracle) -> set[Edge]:
    """Ask for each document by what is stored of it and by its text; the pairs that were found."""
    found: set[Edge] = set()
    for name, text in collected.texts.items():
        [one] = store.get([Ref(name)])
        questions = [Question(name, record=one)] if name not in collected.older else []
        for question in [*questions, Question("text", text)]:
            answer = lookup(store, by, question, limit=None, exclude=Ref(name))
            assert answer.total == len(answer.matches)
            similarities = {match.record.ref.id: match.similarity for match in answer.matches}
            order = [(-match.similarity, match.record.ref.id) for match in answer.matches]
            assert order == sorted(order)
            if name in collected.short or name in collected.older:
                continue
            assert similarities == pytest.approx({each: oracle.similarity(name, each) for each in similarities})
            assert all(oracle.near(name, each) for each in similarities)
            others = [each for each in oracle.texts if each != name]
            assert not {each for each in others if oracle.certain(name, each)} - set(similarities)
            found |= {(min(name, each), max(name, each)) for each in similarities}
    return found


def lacking(by: MatchRule, collected: Collected) -> int:
    """How many documents a rule can't compare, of those that have words and are not short."""
    finders, verifier = [each.name for each in by.finders], by.verifier.name if by.verifier else SIMHASH_DOC
    without = verifier != SIMHASH_DOC or SIMHASH_DOC not in finders
    return sum(name not in collected.short and "?" not in collected.texts[name] for name in collected.older) * without


@settings(max_examples=60, deadline=None)
@given(rules(), collections(), ORDERS)
def test_lookups_and_pairs(by: MatchRule, collected: Collected, order: random.Random) -> None:
    oracle = collected.oracle(by)
    records = collected.records(by)
    order.shuffle(records)
    with opened(by) as store:
        put(store, records)
        pairs = found_pairs(store, by)
        are_right(pairs, oracle)
        by_lookups = asked(store, by, collected, oracle)
        # A lookup may find more: what the keys of one finder bring and another one calls near.
        assert by_lookups >= {pair for pair in pairs if not set(pair) <= collected.older}
        assert lookup(store, by, Question("text", pool()[0])).lacking == lacking(by, collected)


def centred(names: Collection[str], oracle: Oracle) -> bool:
    """Whether one of the names is as near to all others as the rule's measure demands."""
    least = oracle.rule.measure.similarity - 1e-9
    return any(all(a == b or oracle.similarity(a, b) >= least for b in names) for a in names)


def are_groups(found: set[frozenset[str]], names: Collection[str], pairs: Collection[Edge], oracle: Oracle) -> None:
    """Clusters are components, cut only where no one document is near all; each part has a centre."""
    assert sorted(name for each in found for name in each) == sorted(names)
    connected = set(components(names, pairs))
    for each in connected:
        assert (each in found) == centred(each, oracle)
    for each in found:
        assert centred(each, oracle)
        assert any(each <= whole for whole in connected)


@settings(max_examples=60, deadline=None)
@given(rules(), collections(), ORDERS, PLACES)
def test_clusters_prune_and_report(
    by: MatchRule, collected: Collected, order: random.Random, places: list[int]
) -> None:
    oracle = collected.oracle(by)
    records = collected.records(by)
    with opened(by) as store, opened(by) as other:
        put(store, records)
        found = cluster(store, by, threads=1)
        assert (found.documents, found.lacking) == (len(records), lacking(by, collected))
        clusters = members(store)
        are_groups(clusters, collected.texts, found_pairs(store, by), oracle)
        for each in stored_clusters(store, least=2):
            near = [1.0, *(round(oracle.similarity(each.canonical.id, member.id), 4) for member in each.members[1:])]
            assert list(each.similarities) == pytest.approx([max(value, 0.0) for value in near])
            earliest = min((record.indexed_at, record.ref.id) for record in records if record.ref in each.members)
            assert each.canonical.id == earliest[1]
        # Stored in another order and in other batches, and clustered over other clusters: the same.
        order.shuffle(records)
        for batch in cut(records, places):
            put(other, batch)
            cluster(other, by, threads=1)
        assert members(other) == clusters
        assert cluster(other, by, threads=1).changes.documents == 0
        is_pruned(store, by, records)
        is_reported(store, collected, clusters)


def is_pruned(store: Store, by: MatchRule, records: Sequence[Record]) -> None:
    """Prune names what is near what it keeps, each with the nearest of these; nothing by a rule of parts."""
    if by.of_parts:
        with pytest.raises(UsageError, match="parts"):
            Pruning(store)
        return
    edges = found_pairs(store, by)
    order = [name for _, name in sorted((record.indexed_at, record.ref.id) for record in records)]
    wanted = greedy(order, edges)
    surplus = {each.record.ref.id: (each.repeats.id, each.similarity, each.kept) for each in Pruning(store).surplus()}
    removed = {name: (of, pytest.approx(value), "") for name, (of, value) in wanted.items() if of != name}
    assert surplus == removed


def is_reported(store: Store, collected: Collected, clusters: set[frozenset[str]]) -> None:
    """The report counts what there is."""
    made = remembered(store)
    assert made
    found, _, largest = figures(store, "", made, most=3)
    sizes = sorted((len(each) for each in clusters if len(each) > 1), reverse=True)
    shares = [] if made.rule.of_parts else [each.similarity for each in Pruning(store).surplus()]
    repeating = len(shares)
    assert (found.documents, found.repeating.documents) == (len(collected.texts), repeating)
    assert (found.clusters, found.in_clusters, found.unclustered) == (len(sizes), sum(sizes), 0)
    assert [len(each.members) for each in largest] == sizes[:3]
    assert sum(each.documents for each in found.cluster_sizes) == sum(sizes)
    assert sum(each.documents for each in found.similarities) == repeating
    counted = Counter(len(each) for each in clusters)
    assert [each.clusters for each in found.cluster_sizes if each.low == each.high] == [
        counted[each.low] for each in found.cluster_sizes if each.low == each.high
    ]


@settings(max_examples=60, deadline=None)
@given(rules(), collections(older=False), ORDERS, PLACES, st.sampled_from([1, 500]))
def test_documents_as_they_come(
    by: MatchRule, collected: Collected, order: random.Random, places: list[int], fewest: int
) -> None:
    oracle = collected.oracle(by)
    records = collected.records(by)
    order.shuffle(records)
    batches = cut(records, places)
    with opened(by) as store, opened(by) as once:
        new: list[str] = []
        arrivals = Arrivals(store, rule_for(store, by), on_new=lambda ref: new.append(ref.id), fewest=fewest)
        for batch in batches:
            assert not any(arrivals.examine(batch))
            put(store, batch)
            arrivals.stored(batch)
        arrivals.close()
        put(once, records)
        pairs = found_pairs(once, by)
        cluster(once, by, threads=1)
        came = members(store)
        connected = set(components(collected.texts, pairs))
        for each in came:
            assert centred(each, oracle)
            assert any(each <= whole for whole in connected)
        if never_cut(batches, pairs, oracle) or fewest == 1:
            assert came == members(once)
        # What comes is looked up, and a lookup may find more than all pairs do.
        near = pairs if fewest == 1 else oracle.edges()
        lonely = sum(not any(name in pair for pair in near) for name in oracle.texts)
        assert len(new) >= lonely - sum("?" in text for text in oracle.texts.values()) - without(by, oracle)
        assert len(new) == arrivals.counts.new
        if fewest == 1:
            # The whole store was read, by the same finders.
            table = read_nodes(once, by).refs
            came_first = {each.ref.id: place for place, each in enumerate(records)}
            compared = sorted((ref.id for ref in table.take(range(len(table)))), key=came_first.__getitem__)
            later = {max(pair, key=came_first.__getitem__) for pair in pairs}
            assert new == [name for name in compared if name not in later]
        # And the next clustering of all gives what it would have given without them.
        assert remembered(store) is not None
        cluster(store, by, threads=1)
        assert members(store) == members(once)


def without(by: MatchRule, oracle: Oracle) -> int:
    """How many documents have no features that the rule compares."""
    return sum(any(oracle.by(each, name, name) < 0 for each in (*by.finders, by.measure)) for name in oracle.texts)


def never_cut(batches: Sequence[Sequence[Record]], pairs: Collection[Edge], oracle: Oracle) -> bool:
    """Whether at no time a component had no centre."""
    there: set[str] = set()
    for batch in batches:
        there |= {each.ref.id for each in batch}
        inside = [pair for pair in pairs if set(pair) <= there]
        if not all(centred(each, oracle) for each in components(there, inside)):
            return False
    return True


@settings(max_examples=40, deadline=None)
@given(rules(), collections(older=False), ORDERS, PLACES)
def test_near_duplicates_that_are_left_out(
    by: MatchRule, collected: Collected, order: random.Random, places: list[int]
) -> None:
    assume(not by.of_parts)
    oracle = collected.oracle(by)
    records = collected.records(by)
    order.shuffle(records)
    kept: set[str] = set()
    with opened(by) as store:
        arrivals = Arrivals(store, rule_for(store, by, cluster=False), cluster=False, skip=True)
        for batch in cut(records, places):
            answers = arrivals.examine(batch)
            for each, near in zip(batch, answers, strict=True):
                name = each.ref.id
                if near is None:
                    kept.add(name)
                else:
                    assert near.ref.id in kept
                    assert oracle.near(name, near.ref.id)
                    assert near.similarity == pytest.approx(oracle.similarity(name, near.ref.id))
            stored = [each for each, near in zip(batch, answers, strict=True) if near is None]
            put(store, stored)
            arrivals.stored(stored)
        assert {each.ref.id for each in store.scan()} == kept
        assert list(store.clusters()) == []
    compared = [name for name in kept if name in oracle.texts]
    assert not [pair for pair in combinations(sorted(compared), 2) if oracle.certain(*pair)]
    # Nothing that has no near-duplicate was left out.
    near = {name for pair in oracle.edges() for name in pair}
    assert set(collected.texts) - near <= kept


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The pool's texts as files."""
    folder = tmp_path_factory.mktemp("texts")
    for number, text in enumerate(pool()):
        (folder / str(number)).write_text(text)
    return folder


@settings(max_examples=12, deadline=None)
@given(
    st.sampled_from(list(THRESHOLDS)),
    st.sampled_from(["text@0.3", "text@0.6", "containment@0.5", "containment@0.9"]),
    collections(older=False),
    ORDERS,
)
def test_what_is_verified_by_reading(
    written: Path, finder: str, reading: str, collected: Collected, order: random.Random
) -> None:
    by = parse_rule(f"{finder}@{THRESHOLDS[finder][0]}+{reading}", scheme=scheme)
    assert isinstance(by.verifier, TextVerification)
    oracle = collected.oracle(by)
    records = [
        record(each.ref.id, text, by.schemes.values(), short=each.short, source=str(written / str(pool().index(text))))
        for each in collected.records(by)
        if (text := collected.texts[each.ref.id])
    ]
    order.shuffle(records)
    with opened(by) as store:
        put(store, records)
        pairs = found_pairs(store, by)
        are_right(pairs, oracle)
        assert asked(store, by, collected, oracle) >= set(pairs)
        cluster(store, by, threads=1)
        are_groups(members(store), collected.texts, pairs, oracle)
        is_pruned(store, by, records)
        with pytest.raises(UsageError, match="can't be verified by reading"):
            rule_for(store)
