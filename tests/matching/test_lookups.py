"""The lookup against brute force, on a real store."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from indexer.errors import ExtractionError, IncompatibleStoreError, UsageError
from indexer.ingest.indexing import store_info
from indexer.library.opening import open_store
from indexer.matching.lookups import Answer, label_of, lookup
from indexer.matching.question import Question
from indexer.matching.rule import MatchRule, parse_rule
from indexer.model import SIMHASH_DOC, Fingerprint, Record, Ref
from indexer.schemes import registry
from indexer.schemes import simhash as simhashes
from indexer.schemes.keys.simhash64 import SIMHASH64_LAYOUT
from indexer.stores import Store, StoreInfo

INFO = StoreInfo(SIMHASH_DOC, SIMHASH64_LAYOUT, "landmarks", "1", "16.0.0", "0.1.0")
CENTRE = 0x0123_4567_89AB_CDEF


def record(name: str, value: int | None, *, short: bool = False) -> Record:
    """A record with the true keys of its value."""
    own = {} if value is None else simhashes.sketched(Fingerprint(value, 100))
    return Record(Ref(name), own, short)


def flipped(value: int, bits: int, generator: random.Random) -> int:
    """A value with that many bits flipped."""
    for bit in generator.sample(range(64), bits):
        value ^= 1 << bit
    return value


def bits(distance: int) -> MatchRule:
    """The rule of simhash-doc alone."""
    return parse_rule(f"{SIMHASH_DOC}@{distance}bits")


def asked(store: Store, value: int, distance: int = 3, **more: object) -> Answer:
    """The lookup of a simhash."""
    return lookup(store, bits(distance), Question("asked", fingerprint=Fingerprint(value, 9)), **more)  # type: ignore[arg-type]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """An empty store."""
    with open_store(tmp_path / "store.db", create=INFO) as opened:
        yield opened


@pytest.fixture(scope="module")
def crowd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Store, list[Record]]]:
    """A store of values around a few centres at every distance, random ones, short ones and empty ones."""
    generator = random.Random(6)
    centres = [0, 2**64 - 1, CENTRE, *(generator.getrandbits(64) for _ in range(5))]
    values = [flipped(centre, distance, generator) for centre in centres for distance in range(12) for _ in range(30)]
    values += [generator.getrandbits(64) for _ in range(500)]
    values += generator.choices(values, k=300)
    records = [record(f"d{n:05d}", v, short=generator.random() < 0.1) for n, v in enumerate(values)]
    records += [record(f"empty{n}", None) for n in range(5)]
    generator.shuffle(records)
    with open_store(tmp_path_factory.mktemp("crowd") / "store.db", create=INFO) as opened:
        assert len(list(opened.put(records))) == len(records)
        yield opened, records


def brute(
    records: list[Record], value: int, distance: int, *, include_short: bool = False, exclude: Ref | None = None
) -> list[tuple[int, Ref]]:
    """Every document within the distance, nearest first, then by ref."""
    return sorted(
        (distance_of, each.ref)
        for each in records
        if each.fingerprint
        and (distance_of := (each.fingerprint.value ^ value).bit_count()) <= distance
        and (include_short or not each.short)
        and each.ref != exclude
    )


@settings(deadline=None, max_examples=150)
@given(
    st.data(),
    st.integers(0, 7),
    st.integers(0, 8),
    st.none() | st.integers(0, 50),
    st.booleans(),
)
def test_the_answer_is_that_of_brute_force(
    crowd: tuple[Store, list[Record]],
    data: st.DataObject,
    distance: int,
    away: int,
    limit: int | None,
    include_short: bool,
) -> None:
    store, records = crowd
    about = data.draw(st.sampled_from(records))
    value = about.fingerprint.value if about.fingerprint else 0
    for bit in data.draw(st.sets(st.integers(0, 63), max_size=away)):
        value ^= 1 << bit
    exclude = data.draw(st.sampled_from([None, about.ref, Ref("none")]))
    answer = asked(store, value, distance, limit=limit, include_short=include_short, exclude=exclude)
    expected = brute(records, value, distance, include_short=include_short, exclude=exclude)
    assert [(match.bits, match.record.ref) for match in answer.matches] == expected[:limit]
    assert [match.similarity for match in answer.matches] == [1 - bits / 64 for bits, _ in expected[:limit]]
    assert answer.total == len(expected)


@pytest.mark.parametrize("distance", range(8))
def test_every_value_at_the_very_radius_is_found(store: Store, distance: int) -> None:
    generator = random.Random(distance)
    values = {flipped(CENTRE, distance, generator) for _ in range(2000)}
    for _ in store.put(record(f"{value:016x}", value) for value in values):
        pass
    answer = asked(store, CENTRE, distance, limit=None)
    assert {match.record.fingerprint.value for match in answer.matches if match.record.fingerprint} == values
    assert answer.total == len(values)
    if distance:
        assert asked(store, CENTRE, distance - 1).total == 0


def test_a_crowd_of_equal_documents_is_counted_and_the_first_are_listed(store: Store) -> None:
    for _ in store.put(record(f"{number:05d}", CENTRE) for number in range(20_000)):
        pass
    for _ in store.put([record("near", CENTRE ^ 1)]):
        pass
    answer = asked(store, CENTRE, limit=3, exclude=Ref("00001"))
    assert [match.record.ref.id for match in answer.matches] == ["00000", "00002", "00003"]
    assert answer.total == 20_000
    assert answer.candidates == 20_001
    none = asked(store, CENTRE, limit=0)
    assert (none.total, none.matches) == (20_001, [])


def test_no_fingerprint_matches_nothing(store: Store) -> None:
    for _ in store.put([record("zero", 0), record("empty", None)]):
        pass
    for question in (Question("nothing"), Question("no words", text=" ... "), Question("e", record=record("e", None))):
        answer = lookup(store, bits(7), question, limit=None, include_short=True)
        assert (list(answer.matches), answer.total) == ([], 0)


@pytest.mark.parametrize("distance", [8, 64])
def test_other_distances_are_refused_in_bits(store: Store, distance: int) -> None:
    for question in (Question("asked", fingerprint=Fingerprint(1, 1)), Question("nothing")):
        with pytest.raises(UsageError, match=rf"simhash-doc@{distance}bits: .* 0bits to 7bits"):
            lookup(store, bits(distance), question)


def test_a_negative_limit_is_refused(store: Store) -> None:
    with pytest.raises(UsageError, match="limit -1"):
        asked(store, 1, limit=-1)


def test_what_the_store_has_not_is_refused(tmp_path: Path, store: Store) -> None:
    with pytest.raises(UsageError, match="minhash"):
        lookup(store, parse_rule("minhash@0.6"), Question("asked", text="a text of some words"))
    # A rule that was not made for this store may name other parameters: its keys and payloads are others.
    made = store_info("landmarks", [registry.scheme("minhash:shingle=3")])
    with (
        open_store(tmp_path / "other.db", create=made) as other,
        pytest.raises(IncompatibleStoreError, match="shingle=3"),
    ):
        lookup(other, parse_rule("minhash@0.6"), Question("asked", text="a text of some words"))


TEXTS = {
    "all": "one two three four five six seven eight nine ten eleven twelve",
    "most": "one two three four five six seven eight nine ten eleven other",
    "half": "one two three four five six seven nothing of the rest is here",
    "none": "there is no passage of five words that occurs in the others too",
}


@pytest.fixture
def sketched(store: Store) -> Store:
    """Four texts with a sketch of minhash, and two that came before it."""
    minhash = registry.scheme("minhash")
    for _ in store.put([record("older", CENTRE), record("empty", None)]):
        pass
    store.add_scheme(minhash.info)
    simhash = registry.scheme(SIMHASH_DOC)
    records = []
    for name, text in TEXTS.items():
        found, sketch = simhash.sketch(text), minhash.sketch(text)
        assert found
        assert sketch
        records.append(Record(Ref(name), {SIMHASH_DOC: found, "minhash": sketch}))
    for _ in store.put(records):
        pass
    return store


def names(answer: Answer) -> list[str]:
    return [match.record.ref.id for match in answer.matches]


def test_what_can_not_be_compared_is_counted(sketched: Store) -> None:
    question = Question("asked", text=TEXTS["all"])
    for rule, lacking in (
        ("minhash@0.6", 1),
        ("minhash@0.6+simhash-doc@7bits", 1),
        ("simhash-doc@3bits/minhash@0.6+minhash@0.6", 1),
        ("simhash-doc@3bits", 0),
    ):
        assert lookup(sketched, parse_rule(rule), question).lacking == lacking, rule
    # No text that was stored here can be read again.
    for rule in ("minhash@0.6+text@0.5", "simhash-doc@3bits/minhash@0.6+text@0.5"):
        with pytest.raises(ExtractionError, match="none of the texts"):
            lookup(sketched, parse_rule(rule), question)


def test_the_nearest_candidates_come_whatever_they_are_like(sketched: Store) -> None:
    question = Question("asked", text=TEXTS["all"])
    rule = parse_rule("simhash-doc@7bits/minhash@0.95+minhash@0.95")
    assert names(lookup(sketched, rule, question)) == ["all"]
    nearest = lookup(sketched, rule, question, at_least=0)
    assert names(nearest)[:2] == ["all", "most"]
    assert [match.similarity for match in nearest.matches] == sorted(
        (match.similarity for match in nearest.matches), reverse=True
    )
    assert [match.label for match in nearest.matches] == ["near"] + [""] * (len(nearest.matches) - 1)
    some = lookup(sketched, rule, question, at_least=0.5)
    assert names(some) == [match.record.ref.id for match in nearest.matches if match.similarity >= 0.5]


def test_a_question_says_what_it_lacks(sketched: Store) -> None:
    rule = parse_rule("minhash@0.6")
    with pytest.raises(UsageError, match=r"a hash is of simhash-doc.*--match simhash-doc@3bits"):
        lookup(sketched, rule, Question("sd1-x", fingerprint=Fingerprint(1, 1)))
    [older] = sketched.get([Ref("older")])
    with pytest.raises(UsageError, match=r"older has no sketch of minhash.*index it again"):
        lookup(sketched, rule, Question("older", record=older))
    [empty] = sketched.get([Ref("empty")])
    assert lookup(sketched, rule, Question("empty", record=empty)).total == 0


def test_only_simhash_alone_is_verified_in_an_engine(sketched: Store) -> None:
    question = Question("asked", text=TEXTS["all"])
    for rule in ("minhash@0.6", "simhash-doc@3bits+minhash@0.6"):
        with pytest.raises(UsageError, match="simhash-doc alone"):
            lookup(sketched, parse_rule(rule), question, inside=True)


@pytest.mark.parametrize(
    ("rule", "label"),
    [("simhash-doc@7bits", "close"), ("simhash:bits=128@3bits", "close"), ("minhash@0.5", "near")],
)
def test_labels_are_the_rule_s(tmp_path: Path, rule: str, label: str) -> None:
    text = " ".join(f"word{n % 50} and{n % 7}" for n in range(200))
    by = parse_rule(rule)
    beside = [scheme for name, scheme in by.schemes.items() if name != SIMHASH_DOC]
    with open_store(tmp_path / "labels.db", create=store_info("landmarks", beside)) as store:
        sketches = {each.family: sketch for each in beside if (sketch := each.sketch(text))}
        simhash = registry.scheme(SIMHASH_DOC).sketch(text)
        assert simhash
        for _ in store.put([Record(Ref("a"), {SIMHASH_DOC: simhash, **sketches})]):
            pass
        [match] = lookup(store, by, Question("asked", text=text)).matches
        assert (match.label, match.bits, match.similarity) == (label, 0, 1.0)


def test_labels_of_a_simhash_go_by_the_share_of_its_bits() -> None:
    assert [label_of(1 - distance / 64) for distance in (0, 1, 2, 6, 7)] == ["close", "close", "loose", "loose", ""]
    assert [label_of(1 - distance / 128) for distance in (2, 3, 12, 13)] == ["close", "loose", "loose", ""]
