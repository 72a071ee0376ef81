"""Versions among the members of clusters: which is canonical, and what a document's history lists."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from indexer.clustering.annotations import version_of
from indexer.clustering.canonical import CanonicalRule, parse_canonical, read_canonical
from indexer.clustering.versions import version_history
from indexer.library.opening import open_store
from indexer.model import Record, Ref
from indexer.stores import Store
from tests.clustered import INFO, arrivals_of, cluster_store, partition, record

FAR = 0xFFFF_0000_FFFF_0000
# The first to come is neither the oldest nor the newest.
PLACES = {"a": "/d/1.9/x.html", "b": "/d/1.10/x.html", "c": "/d/1.8/x.html", "d": "/elsewhere.html"}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """A store with three versions of one page, a copy elsewhere, and two copies of another page."""
    with open_store(tmp_path / "a.neardup", create=INFO) as opened:
        made = [
            record(name, 1, source=place, indexed_at=f"2026-01-0{ord(name) - 96}") for name, place in PLACES.items()
        ]
        made += [record(name, FAR, source=f"/{name}", indexed_at="2026-01-09") for name in "xy"]
        assert all(opened.put(made))
        yield opened


@pytest.mark.parametrize(("rule", "first"), [("earliest", "a"), ("newest", "b"), ("oldest", "c")])
def test_the_canonical_document_by_version(store: Store, rule: str, first: str) -> None:
    asked = parse_canonical(rule)
    assert read_canonical(str(asked)) == asked
    made = cluster_store(store, canonical=asked)
    assert partition(store) == {"abcd": first, "xy": "x"}
    assert made.changes.versions == 3
    assert made.changes.unordered == (rule != "earliest")
    [cluster] = store.get_clusters([next(each.id for each in store.clusters() if each.size == 4)])
    assert cluster
    assert cluster.canonical == Ref(first)
    assert cluster_store(store, canonical=asked).changes.documents == 0


def test_what_repeats_is_named_for_the_canonical_version(store: Store) -> None:
    cluster_store(store, canonical=CanonicalRule("newest"))
    found = store.annotations([Ref(name) for name in "abcd"])
    assert [one and one["cluster"].get("repeats") for one in found] == ["b", None, "b", "b"]


def test_what_comes_is_put_in_order(store: Store) -> None:
    cluster_store(store)
    new = record("e", 1, source="/d/2.0/x.html", indexed_at="2026-02-01")
    arrivals = arrivals_of(store)
    arrivals.examine([new])
    assert all(store.put([new]))
    arrivals.stored([new])
    arrivals.close()
    found = store.annotations([Ref("b"), Ref("e")])
    assert [version_of(one or {}) for one in found] == [(3, False), (4, True)]


def test_the_history_of_a_document(store: Store) -> None:
    def history(name: str) -> tuple[list[list[str]], list[tuple[str, str]]]:
        [asked] = store.get([Ref(name)])
        assert isinstance(asked, Record)
        found = version_history(store, asked)
        steps = found.lineage.steps if found.lineage else ()
        return (
            [[found.records[place].ref.id for place in step] for step in steps],
            [(found.records[place].ref.id, order.word) for place, order in found.others],
        )

    assert history("a") == ([], [])
    cluster_store(store)
    assert history("a") == ([["c"], ["a"], ["b"]], [("d", "unknown")])
    assert history("d") == ([], [(name, "unknown") for name in "abc"])


def test_the_dates_of_a_field_put_captures_in_order(store: Store) -> None:
    days = {"x": "2021-05-02", "y": "2020-01-31T10:00:00Z", "z": "soon"}
    for name, day in days.items():
        made = record(name, 2**60 - 1, source="https://example.org/page", metadata={"seen": {"on": day}})
        assert all(store.put([made]))
    cluster_store(store)
    [asked] = store.get([Ref("x")])
    assert isinstance(asked, Record)
    assert version_history(store, asked).lineage is None
    found = version_history(store, asked, "seen.on")
    assert found.lineage
    assert [[found.records[place].ref.id for place in step] for step in found.lineage.steps] == [["y"], ["x"]]
    assert found.lineage.evidence == ("published 2020-01-31 < 2021-05-02 in the field of dates",)
