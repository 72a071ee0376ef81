"""The nearest documents, however distant: what a store answers equals a comparison with every stored sketch."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import indexer
from indexer import MemoryIndex
from indexer.matching.asking import Answered, lookup_each
from indexer.matching.lookups import lookup
from indexer.matching.question import Question
from indexer.matching.rule import Finder, MatchRule, parse_rule
from indexer.model import Record, Ref
from indexer.model.ragged import Ragged
from indexer.schemes import registry
from indexer.schemes.base import Scheme
from indexer.stores import Store
from tests.planted import empty, put, record

FAMILIES = ("simhash", "spotsigs", "minhash", "weighted-minhash", "supershingles", "random-projection", "passages")
RULES = (
    "simhash-doc@3bits",
    "simhash@3bits",
    "spotsigs@0.8",
    "minhash@0.6",
    "weighted-minhash@0.7",
    "supershingles@0.7",
    "random-projection@0.95",
    "passages@0.5",
    "passages@0.5query",
    "simhash-doc@3bits/minhash@0.6+minhash@0.6",
    "simhash-doc@1bits+minhash@0.7",
)
WORDS = [f"w{number}" for number in range(400)]


def text_of(seed: int) -> str:
    """A text that shares with some others a beginning, with others a few words, and with most nothing."""
    draw = random.Random(seed)
    common = random.Random(seed % 7).choices(WORDS, k=60)
    own = draw.choices(WORDS, k=80)
    words = common[: draw.choice((0, 10, 30, 60))] + own
    return " the ".join(" ".join(words[place : place + 6]) for place in range(0, len(words), 6))


@pytest.fixture(scope="module")
def documents() -> list[Record]:
    schemes = [registry.scheme(family) for family in FAMILIES]
    texts = [text_of(seed) for seed in range(120)] + [text_of(3)] * 4
    short = [record(f"short {number}", " ".join(WORDS[:3]), schemes, short=True) for number in range(2)]
    return [*(record(f"{number:03}", text, schemes) for number, text in enumerate(texts)), *short]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory, documents: Sequence[Record]) -> Iterator[Store]:
    with empty(tmp_path_factory.mktemp("nearest") / "s.neardup", [registry.scheme(each) for each in FAMILIES]) as made:
        put(made, documents)
        yield made


def brute_force(
    rule: MatchRule, question: Question, documents: Sequence[Record], *, least: float, exclude: Ref | None = None
) -> list[tuple[str, float]]:
    """Every document with its similarity by the rule's measure, one compared after the other."""
    measure = rule.measure
    assert isinstance(measure, Finder)
    asked = question.sketch(measure.scheme)
    found = []
    for each in documents:
        own = each.sketches.get(measure.name)
        if asked is None or own is None or not own.payload or each.short or each.ref == exclude:
            continue
        similarity = similarity_of(measure, asked.payload, own.payload)
        if similarity >= least - 1e-9:
            found.append((each.ref.id, similarity))
    return sorted(found, key=lambda pair: (-pair[1], pair[0]))


def similarity_of(measure: Finder, asked: bytes, stored: bytes) -> float:
    """The similarity of two payloads, by the scheme's plainest way."""
    scheme: Scheme = measure.scheme
    if measure.of_query:
        both = Ragged.of_bytes([asked, stored])
        return float(scheme.shares(both, both.offsets[:1], both.offsets[:1] + 1)[0, 0])
    return float(scheme.similarities(asked, [stored])[0])


def calls_near(rule: MatchRule, question: Question, document: Record) -> bool:
    """True if the rule calls a document near, whether its keys find it or not."""
    reached = []
    for part in (*rule.finders, rule.measure):
        assert isinstance(part, Finder)
        asked, own = question.sketch(part.scheme), document.sketches.get(part.name)
        both = asked is not None and own is not None and asked.payload and own.payload
        reached.append(bool(both) and similarity_of(part, asked.payload, own.payload) >= part.similarity - 1e-9)  # type: ignore[union-attr]
    return any(reached[:-1]) and reached[-1]


@pytest.mark.parametrize("written", RULES)
@settings(deadline=None, max_examples=15)
@given(
    seed=st.integers(0, 300),
    limit=st.none() | st.integers(0, 30),
    least=st.sampled_from((0.0, 0.1, 0.3)),
    stored=st.booleans(),
)
def test_the_nearest_are_those_of_a_comparison_with_all(
    store: Store, documents: list[Record], written: str, seed: int, limit: int | None, least: float, stored: bool
) -> None:
    rule = parse_rule(written, store)
    own = documents[seed % 120] if stored else None
    question = Question("asked", record=own) if own else Question("asked", text=text_of(seed))
    exclude = own.ref if own else None
    wanted = brute_force(rule, question, documents, least=least, exclude=exclude)
    answer = lookup(store, rule, question, limit=limit, at_least=least, exclude=exclude)
    assert answer.total == len(wanted)
    found = [(match.record.ref.id, match.similarity) for match in answer.matches]
    assert [name for name, _ in found] == [name for name, _ in wanted[:limit]]
    assert [value for _, value in found] == pytest.approx([value for _, value in wanted[:limit]])
    by_name = {each.ref.id: each for each in documents}
    for match in answer.matches:
        assert match.near == calls_near(rule, question, by_name[match.record.ref.id])


def test_many_are_compared_in_one_reading(store: Store, documents: list[Record]) -> None:
    rule = parse_rule("default", store)
    readings = 0
    scan = store.scan_sketches

    def counted(*arguments: object, **options: object) -> object:
        nonlocal readings
        readings += 1
        return scan(*arguments, **options)  # type: ignore[arg-type]

    questions = [Question(each.ref.id, record=each, ref=each.ref) for each in documents[:50]]
    store.scan_sketches = counted  # type: ignore[method-assign,assignment]
    try:
        answers = list(lookup_each(store, rule, questions, limit=5, at_least=0))
    finally:
        del store.scan_sketches
    assert readings == 1
    for question, answered in zip(questions, answers, strict=True):
        assert isinstance(answered, Answered)
        wanted = brute_force(rule, question, documents, least=0, exclude=question.ref)
        assert [match.record.ref.id for match in answered.answer.matches] == [name for name, _ in wanted[:5]]


@pytest.mark.parametrize("written", ["minhash@0.6", "simhash-doc@1bits+minhash@0.7", "spotsigs@0.8", "passages@0.5"])
def test_an_index_in_memory_gives_the_same(store: Store, written: str) -> None:
    index = MemoryIndex(written)
    texts = {f"{number:03}": text_of(number) for number in range(120)}
    index.insert_many(texts.items(), threads=1)
    index.remove("005")
    for seed in range(200, 220):
        question = Question("asked", text=text_of(seed))
        answer = lookup(store, parse_rule(written, store), question, limit=None, at_least=0.0)
        theirs = {match.record.ref.id: match.similarity for match in answer.matches}
        ours = {near.id: near.similarity for near in index.query(text_of(seed), limit=None, at_least=0)}
        assert ours == {name: pytest.approx(theirs[name]) for name in texts if name in theirs and name != "005"}
        assert [near.id for near in index.query(text_of(seed), limit=3, at_least=0)] == list(ours)[:3]


def test_a_rule_that_reads_texts_goes_by_its_keys(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(text_of(1), "utf-8")
    (tmp_path / "b.txt").write_text(text_of(2), "utf-8")
    with indexer.open(tmp_path / "s.neardup") as collection:
        collection.index(tmp_path)
        assert not collection.similar("words of nobody else at all here", match="minhash@0.6+text@0.5", at_least=0)
        assert len(collection.similar("words of nobody else at all here", at_least=0)) == 2
