"""Sketches in the embedded store's file: each distinct one once."""

from __future__ import annotations

import dataclasses
import sqlite3
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example

from indexer.errors import StoreError
from indexer.library.opening import open_store
from indexer.model import SIMHASH_DOC, Record, Ref, Sketch
from indexer.schemes import registry
from indexer.schemes.keys.layout import KeyLayout, SchemeInfo
from indexer.stores import PutStatus, Store
from indexer.stores.sketches import Probe
from indexer.stores.sqlite import sketches as sqlite_sketches
from tests.stores.contract_probes import (
    BANDED,
    BANDS,
    LOOSE,
    LOOSES,
    HealthCheck,
    agree,
    carry_out,
    given,
    records,
    settings,
    st,
)
from tests.stores.made import INFO, put, record


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the test's store is made."""
    return tmp_path / "store.db"


@pytest.fixture
def store(path: Path) -> Iterator[Store]:
    """An empty store with two secondary schemes."""
    with open_store(path, create=INFO) as opened:
        opened.add_scheme(BANDS)
        opened.add_scheme(LOOSE)
        yield opened


def rows(path: Path, query: str) -> list[tuple[Any, ...]]:
    """What the file itself holds."""
    connection = sqlite3.connect(path)
    try:
        return connection.execute(query).fetchall()
    finally:
        connection.close()


def having(store: Store, scheme: SchemeInfo, sketch: Sketch) -> set[str]:
    """The ids of documents with this very sketch."""
    answers = store.probe([Probe(scheme.name, sketch.keys, scheme.layout.tables)], [scheme.name])
    return {
        ref.id
        for some in answers
        for place, ref in enumerate(some.refs)
        if some.payloads[scheme.name].bytes_of(place) == sketch.payload
    }


def consistent(path: Path) -> None:
    """The file is sound, and its tables of sketches hold what those of documents say, and no more."""
    assert rows(path, "PRAGMA integrity_check") == [("ok",)]
    with open_store(path, read_only=True) as store:
        held = list(store.scan())
        schemes = [SIMHASH_DOC, *(each.name for each in store.info.schemes)]
        counts = store.lacking(schemes)
    compared = [each for each in held if each.fingerprint and not each.short]
    for name in schemes:
        assert counts[name] == sum(each.sketches.get(name) is None for each in compared)
        distinct = {(s.payload, s.keys) for each in held if (s := each.sketches.get(name)) and s.payload}
        [(number, tables, bits)] = rows(path, f"SELECT number, tables, bits FROM schemes WHERE name = '{name}'")
        half = KeyLayout(tables, bits).end // 2
        numbers = rows(path, f"SELECT number FROM sketches_{number} WHERE payload IS NOT NULL ORDER BY number")
        assert len(numbers) == len(distinct)
        counted = rows(path, f"SELECT documents, sketches FROM schemes WHERE number = {number}")
        assert counted == [(sum(each.sketches.get(name) is not None for each in held), len(distinct))]
        every = f"(SELECT * FROM postings_{number} UNION ALL SELECT * FROM recent_{number})"
        posted = rows(path, f"SELECT sketch FROM {every} WHERE key >= -{half}")
        assert len(posted) == sum(len(set(keys)) for _, keys in distinct)
        assert rows(path, f"SELECT sketch FROM {every} WHERE key < -{half} ORDER BY sketch") == numbers
        assert set(posted) <= set(numbers)


@settings(max_examples=120, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_many_stores_are_asked_as_a_slow_oracle_is(store: Store, data: st.DataObject) -> None:
    agree(store, data)


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_keys_of_arrivals_are_moved_and_found(store: Store, path: Path, data: st.DataObject) -> None:
    # Every key comes to the small table first, and moves on with nearly every document.
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sqlite_sketches, "_SMALL_STORE", 0)
        bits = data.draw(st.integers(0, 2))
        patch.setattr("indexer.stores.sqlite.rows.merge_bits", lambda _: bits)
        carry_out(store, data.draw(st.lists(st.lists(records(), max_size=9), max_size=6)))
        consistent(path)
        agree_and_empty = [each.ref for each in store.scan()]
        store.delete(agree_and_empty)
        agree(store, data)
    consistent(path)


def test_a_thousand_equal_documents_cost_one_set_of_keys(store: Store, path: Path) -> None:
    made = {BANDS.name: BANDED[1], LOOSE.name: LOOSES[2]}
    put(store, *[record(f"{number:04d}", number, sketches=made) for number in range(2_500)])
    # A key for each, and one for the digest.
    for scheme, keys in ((1, 4), (2, 2)):
        assert rows(path, f"SELECT count(*) FROM sketches_{scheme}") == [(1,)]
        assert rows(path, f"SELECT count(*) FROM postings_{scheme}") == [(keys + 1,)]
    store.delete([Ref(f"{number:04d}") for number in range(1, 2_500)])
    put(store, record("0000", 5, sketches={BANDS.name: BANDED[1]}))
    assert rows(path, "SELECT count(*) FROM sketches_1") == [(1,)]
    assert rows(path, "SELECT count(*) FROM sketches_2") == [(0,)]
    [found] = store.probe([Probe(BANDS.name, BANDED[1].keys, 4)])
    assert list(found.refs) == [Ref("0000")]
    store.delete([Ref("0000")])
    for table in ("sketches", "equals", "postings", "recent"):
        for scheme in (0, 1, 2):
            assert rows(path, f"SELECT * FROM {table}_{scheme}") == []


def test_sketches_of_one_digest_key_are_told_apart(store: Store, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("indexer.stores.sqlite.sketches.sketch_digest", lambda payload, keys: b"digest")
    stored = [record(f"{n}", n, sketches={BANDS.name: BANDED[n % 12]}) for n in range(24)]
    put(store, *stored)
    assert store.get([each.ref for each in stored]) == stored
    assert rows(path, "SELECT count(*) FROM sketches_1") == [(12,)]
    assert having(store, BANDS, BANDED[3]) == {"15", "3"}
    store.delete([each.ref for each in stored[:12]])
    assert store.get([each.ref for each in stored[12:]]) == stored[12:]


def test_equal_payloads_with_other_keys_are_two(store: Store) -> None:
    one, other = (Sketch(BANDS.id, b"same", (key,), 1) for key in (1, 2))
    stored: list[Record] = [record(name, 1, sketches={BANDS.name: each}) for name, each in (("a", one), ("b", other))]
    put(store, *stored)
    assert store.get([Ref("a"), Ref("b")]) == stored
    found = [[list(some.refs) for some in store.probe([Probe(BANDS.name, [key])])] for key in (1, 2)]
    assert found == [[[Ref("a")]], [[Ref("b")]]]


def test_keys_come_back_in_whatever_tables_and_order_they_are(store: Store) -> None:
    full = BANDED[1].keys
    layout = BANDS.layout
    largest = tuple(layout.pack(table, (1 << layout.bits) - 1) for table in range(layout.tables))
    forms = [full, full[::-1], full[1:], (*full, full[-1] ^ 1), (full[0],) * layout.tables, largest, largest[:1]]
    stored = [
        record(f"{number}", number, sketches={BANDS.name: Sketch(BANDS.id, b"x", keys, 1)})
        for number, keys in enumerate(forms)
    ]
    put(store, *stored)
    assert store.get([each.ref for each in stored]) == stored
    for some in (stored, stored[:1]):
        store.delete([each.ref for each in stored if each not in some])
        [found] = store.scan_sketches([BANDS.name], keys=[BANDS.name])
        assert [tuple(found.keys[BANDS.name].row(n).tolist()) for n in range(len(some))] == forms[: len(some)]


MOMENTS = st.one_of(
    st.datetimes().map(lambda moment: moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")),
    st.datetimes().map(lambda moment: moment.strftime("%Y-%m-%dT%H:%M:%SZ")),
    st.sampled_from(["9998-13-01T00:00:00Z", "2026-01-01T00:00:00.000000Z", "9999-01-01T00:00:60Z", "9998"]),
)


@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
@example(moments=["2000-01-01T00:00:00.500000Z", "2000-01-01T00:00:00Z"])
@given(moments=st.lists(MOMENTS, min_size=1, max_size=8))
def test_times_come_back_as_they_were_and_the_last_is_known(store: Store, moments: list[str]) -> None:
    stored = [record(str(n), n, indexed_at=moment, format=str(n % 3)) for n, moment in enumerate(moments)]
    store.delete([Ref(str(n)) for n in range(8)])
    put(store, *stored)
    assert store.get([each.ref for each in stored]) == stored
    assert store.stats().last_indexed_at == max(moments, key=lambda moment: moment.removesuffix("Z"))
    assert store.stats().formats == Counter(each.format for each in stored)


def test_ids_of_one_digest_are_told_apart(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("rows", "store"):
        monkeypatch.setattr(f"indexer.stores.sqlite.{module}.id_digest", lambda name: 7)
    stored = [record(name, number) for number, name in enumerate("abc")]
    put(store, *stored)
    assert put(store, record("b", 9)) == [PutStatus.REPLACED]
    assert store.get([Ref(name) for name in "cbad"]) == [stored[2], record("b", 9), stored[0], None]
    assert store.delete([Ref("a"), Ref("d")]) == 1
    assert [each.ref.id for each in store.scan()] == ["c", "b"]


def test_keys_that_the_payload_holds_are_kept_once(store: Store, path: Path) -> None:
    passages = registry.scheme("passages")
    store.add_scheme(passages.info)
    text = " ".join(f"word{number}" for number in range(2_000))
    sketch = passages.sketch(text)
    assert sketch is not None
    stored = [record("a", 1, sketches={passages.family: sketch}), record("b", 2)]
    put(store, *stored)
    assert rows(
        path, "SELECT sum(length(keys)) FROM (SELECT keys FROM sketches_0 UNION SELECT keys FROM sketches_3)"
    ) == [(0,)]
    assert store.get([Ref("a"), Ref("b")]) == stored
    [found] = store.scan_sketches(["passages", SIMHASH_DOC], keys=["passages"])
    assert [found.keys["passages"].row(place).tolist() for place in range(2)] == [list(sketch.keys), []]
    # Others than those of the payload come back as they were.
    odd = dataclasses.replace(sketch, keys=(1, 5))
    put(store, record("c", 1, sketches={passages.family: odd}))
    assert store.get([Ref("c")]) == [record("c", 1, sketches={passages.family: odd})]
    store.delete([Ref("a"), Ref("b"), Ref("c")])
    consistent(path)


@pytest.mark.parametrize("digest", ["", "d", "ab", "AB", "0" * 64, "a b", "ab\n", "\u00e9\u00e9", "\ud800", "\x01"])
def test_digests_come_back_as_they_were_and_are_found(store: Store, digest: str) -> None:
    stored = record("a", 1, source_digest=digest, text_digest=digest, source="a" if digest else "b")
    put(store, stored)
    assert store.get([Ref("a")]) == [stored]
    assert store.find_digests([digest]) == ({digest: stored} if digest else {})


def test_a_scheme_that_another_program_has_removed_is_told(store: Store, path: Path) -> None:
    put(store, record("a", 1, sketches={BANDS.name: BANDED[1]}))
    asked = [Probe(BANDS.name, BANDED[1].keys, 1)]
    with open_store(path, read_only=True) as reader:
        store.remove_scheme(BANDS.name)
        with pytest.raises(StoreError, match=r"store\.db: a scheme was removed since the store was opened"):
            list(reader.probe(asked))
        # Nor is it taken for another one of the name.
        store.add_scheme(SchemeInfo(BANDS.name, "other:x=2", KeyLayout(2, 8)))
        with pytest.raises(StoreError, match="a scheme was removed"):
            list(reader.scan_sketches([BANDS.name]))
    with open_store(path, read_only=True) as reader:
        assert [list(each.refs) for each in reader.probe([Probe(BANDS.name, [1], 1)])] == [[]]
