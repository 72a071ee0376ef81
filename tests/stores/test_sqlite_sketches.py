"""Sketches in the embedded store's file: each distinct one once."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from contract_probes import BANDED, BANDS, LOOSE, LOOSES, HealthCheck, agree, carry_out, given, records, settings, st
from made import INFO, put, record

from indexer.model import SIMHASH_DOC, Record, Ref, Sketch
from indexer.schemes.keys.layout import SchemeInfo
from indexer.stores import Store, open_store
from indexer.stores.sketches import Probe
from indexer.stores.sqlite import parts
from indexer.stores.sqlite import sketches as sqlite_sketches


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


def rows(path: Path, query: str) -> list[tuple[object, ...]]:
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
        counts = store.lacking([SIMHASH_DOC, *(each.name for each in store.info.schemes)])
        schemes = {each.name: each for each in store.info.schemes}
    compared = [each for each in held if each.fingerprint and not each.short]
    for name in schemes:
        assert counts[name] == sum(name not in each.sketches for each in compared)
        distinct = {(s.payload, s.keys) for each in held if (s := each.sketches.get(name)) and s.payload}
        numbered = f"scheme = (SELECT number FROM schemes WHERE name = '{name}')"
        assert rows(path, f"SELECT count(*) FROM distinct_sketches WHERE {numbered}") == [(len(distinct),)]
        posted = [
            sketch
            for table in ("scheme_postings", "scheme_recent")
            for _, sketch in rows(path, f"SELECT key, sketch FROM {table} WHERE {numbered} AND key >= 0")
        ]
        assert len(posted) == sum(len(set(keys)) for _, keys in distinct)
        of_digests = f"SELECT sketch FROM scheme_postings WHERE {numbered} AND key < 0 UNION ALL "
        of_digests += f"SELECT sketch FROM scheme_recent WHERE {numbered} AND key < 0"
        numbers = f"SELECT number FROM distinct_sketches WHERE {numbered} ORDER BY number"
        assert sorted(rows(path, of_digests)) == rows(path, numbers)
        assert set(posted) <= {number for (number,) in rows(path, numbers)}


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
        patch.setattr(parts, "merge_bits", lambda _: bits)
        carry_out(store, data.draw(st.lists(st.lists(records(), max_size=9), max_size=6)))
        consistent(path)
        agree_and_empty = [each.ref for each in store.scan()]
        store.delete(agree_and_empty)
        agree(store, data)
    consistent(path)


def test_a_thousand_equal_documents_cost_one_set_of_keys(store: Store, path: Path) -> None:
    made = {BANDS.name: BANDED[1], LOOSE.name: LOOSES[2]}
    put(store, *[record(f"{number:04d}", number, sketches=made) for number in range(2_500)])
    assert rows(path, "SELECT count(*) FROM distinct_sketches") == [(2,)]
    # A key for each, and one for the digest.
    assert rows(path, "SELECT count(*) FROM scheme_postings") == [(4 + 1 + 2 + 1,)]
    store.delete([Ref(f"{number:04d}") for number in range(1, 2_500)])
    put(store, record("0000", 5, sketches={BANDS.name: BANDED[1]}))
    assert rows(path, "SELECT count(*) FROM distinct_sketches") == [(1,)]
    [found] = store.probe([Probe(BANDS.name, BANDED[1].keys, 4)])
    assert list(found.refs) == [Ref("0000")]
    store.delete([Ref("0000")])
    for table in ("distinct_sketches", "document_sketches", "scheme_postings", "scheme_recent"):
        assert rows(path, f"SELECT * FROM {table}") == []


def test_sketches_of_one_digest_key_are_told_apart(store: Store, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("indexer.stores.sqlite.sketches.digest_key", lambda digest: -1)
    stored = [record(f"{n}", n, sketches={BANDS.name: BANDED[n % 12]}) for n in range(24)]
    put(store, *stored)
    assert store.get([each.ref for each in stored]) == stored
    assert rows(path, "SELECT count(*) FROM distinct_sketches") == [(12,)]
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
