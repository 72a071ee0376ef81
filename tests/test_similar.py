"""The lookup against brute force, on a real store."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from indexer.errors import IncompatibleStoreError, UsageError
from indexer.keys import SIMHASH64_LAYOUT, KeyLayout, simhash_keys
from indexer.model import SIMHASH_DOC, Fingerprint, Record, Ref
from indexer.similar import similar
from indexer.stores import Store, StoreInfo, open_store

INFO = StoreInfo(SIMHASH_DOC, SIMHASH64_LAYOUT, "landmarks", "1", "16.0.0", "0.1.0")
CENTRE = 0x0123_4567_89AB_CDEF


def record(name: str, value: int | None, *, short: bool = False) -> Record:
    """A record with the true keys of its value."""
    fingerprint = None if value is None else Fingerprint(value, 100)
    return Record(Ref(name), fingerprint, () if value is None else simhash_keys(value), short)


def flipped(value: int, bits: int, generator: random.Random) -> int:
    """A value with that many bits flipped."""
    for bit in generator.sample(range(64), bits):
        value ^= 1 << bit
    return value


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
    answer = similar(
        store, Fingerprint(value, 9), distance=distance, limit=limit, include_short=include_short, exclude=exclude
    )
    expected = brute(records, value, distance, include_short=include_short, exclude=exclude)
    assert [(match.distance, match.record.ref) for match in answer.matches] == expected[:limit]
    assert answer.total == len(expected)
    assert answer.distance == distance


@pytest.mark.parametrize("distance", range(8))
def test_every_value_at_the_very_radius_is_found(store: Store, distance: int) -> None:
    generator = random.Random(distance)
    values = {flipped(CENTRE, distance, generator) for _ in range(2000)}
    for _ in store.put(record(f"{value:016x}", value) for value in values):
        pass
    answer = similar(store, Fingerprint(CENTRE, 9), distance=distance, limit=None)
    assert {match.record.fingerprint.value for match in answer.matches if match.record.fingerprint} == values
    assert answer.total == len(values)
    if distance:
        assert similar(store, Fingerprint(CENTRE, 9), distance=distance - 1).total == 0


def test_a_crowd_of_equal_documents_is_counted_and_the_first_are_listed(store: Store) -> None:
    for _ in store.put(record(f"{number:05d}", CENTRE) for number in range(20_000)):
        pass
    for _ in store.put([record("near", CENTRE ^ 1)]):
        pass
    answer = similar(store, Fingerprint(CENTRE, 9), limit=3, exclude=Ref("00001"))
    assert [match.record.ref.id for match in answer.matches] == ["00000", "00002", "00003"]
    assert answer.total == 20_000
    assert answer.candidates == 2
    assert similar(store, Fingerprint(CENTRE, 9), limit=0).total == 20_001
    assert similar(store, Fingerprint(CENTRE, 9), limit=0).matches == []


def test_no_fingerprint_matches_nothing(store: Store) -> None:
    for _ in store.put([record("zero", 0), record("empty", None)]):
        pass
    answer = similar(store, None, distance=7, limit=None, include_short=True)
    assert (answer.matches, answer.total) == ([], 0)


@pytest.mark.parametrize("distance", [-1, 8, 64])
def test_other_distances_are_refused(store: Store, distance: int) -> None:
    for asked in (Fingerprint(1, 1), None):
        with pytest.raises(UsageError, match="from 0 to 7"):
            similar(store, asked, distance=distance)


def test_a_negative_limit_is_refused(store: Store) -> None:
    with pytest.raises(UsageError, match="limit -1"):
        similar(store, Fingerprint(1, 1), limit=-1)


def test_another_scheme_is_refused(tmp_path: Path, store: Store) -> None:
    with pytest.raises(IncompatibleStoreError, match="minhash"):
        similar(store, Fingerprint(1, 1, "minhash"))
    other = StoreInfo(SIMHASH_DOC, KeyLayout(tables=4, bits=16), "landmarks", "1", "16.0.0", "0.1.0")
    with (
        open_store(tmp_path / "other.db", create=other) as four,
        pytest.raises(IncompatibleStoreError, match="4 tables of 16 bits"),
    ):
        similar(four, Fingerprint(1, 1))
