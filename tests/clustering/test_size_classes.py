"""What dashboards count by is kept as documents come, and a large cluster is not written again for one more member."""

from __future__ import annotations

import random
from pathlib import Path

from indexer.clustering.arrivals import Arrivals
from indexer.library.opening import open_store
from indexer.model import MOST_ORIGINS, Record, size_class
from indexer.model.origins import origin_of
from indexer.stores.base import Store
from tests.clustered import INFO, arrivals_of, cluster_store, record


def add(store: Store, arrivals: Arrivals, *records: Record) -> int:
    """Index documents into their clusters; how many documents were given another cluster field."""
    before = arrivals.changes.documents
    arrivals.examine(records)
    assert all(not result.reason for result in store.put(records))
    arrivals.stored(records)
    arrivals.place()
    return arrivals.changes.documents - before


def copy(number: int, place: str = "x") -> Record:
    # The earliest is the canonical one, so that the later ones only join.
    return record(
        f"{place}/{number:05}",
        0,
        source=f"{place}/{number}",
        size=10,
        indexed_at=f"2026-01-01T00:{number:05}",
        text_digest="0a",
    )


def test_one_more_member_writes_the_others_only_where_the_class_is_another(tmp_path: Path) -> None:
    with open_store(str(tmp_path / "s"), create=INFO) as store:
        arrivals = arrivals_of(store)
        written = [add(store, arrivals, copy(number)) for number in range(130)]
        steps = {number + 1: count for number, count in enumerate(written) if count > 1}
        assert steps == {2: 2, 3: 3, 6: 6, 11: 11, 101: 101}
        [whole] = store.clusters()
        assert (whole.size, whole.total_bytes, whole.redundant_bytes) == (130, 1300, 1290)
        assert cluster_store(store, dry_run=True).changes.documents == 0
        annotations = store.annotations([ref for _, ref in store.cluster_members([whole.id])])
        assert {each["cluster"]["size_class"] for each in annotations if each} == {"over 100"}


def test_one_by_one_gives_what_all_at_once_does(tmp_path: Path) -> None:
    chance = random.Random(3)
    records = [
        record(
            f"{number}",
            chance.choice((0, 1, 0xFF << 30)),
            source=f"{chance.choice(('https://EXAMPLE.org', 'a/b', '/c', ''))}/{number}",
            format=chance.choice(("html", "pdf", "")),
            size=number,
            text_digest="0a",
        )
        for number in range(60)
    ]
    with open_store(str(tmp_path / "s"), create=INFO) as store:
        arrivals = arrivals_of(store)
        for each in records:
            add(store, arrivals, each)
        assert sum(each.size for each in store.clusters()) == len(records)
        for each in store.clusters():
            members = [record for record in store.get([ref for _, ref in store.cluster_members([each.id])]) if record]
            assert each.size == len(members)
            assert each.formats == tuple(sorted({record.format for record in members if record.format}))
            assert each.origins == tuple(sorted({origin_of(record.source) for record in members}))
            [kept] = [record for record in members if record.ref == each.canonical]
            assert each.redundant_bytes == sum(record.size for record in members) - kept.size
        changes = cluster_store(store).changes
        assert (changes.documents, changes.clusters, changes.removed) == (0, 0, 0)


def test_origins_are_bounded_and_the_same_in_any_order(tmp_path: Path) -> None:
    places = [f"p{number:03}" for number in range(MOST_ORIGINS + 20)]
    random.Random(5).shuffle(places)
    with open_store(str(tmp_path / "s"), create=INFO) as store:
        arrivals = arrivals_of(store)
        for number, place in enumerate(places):
            add(store, arrivals, copy(number, place))
        [whole] = store.clusters()
        assert whole.origins == tuple(sorted(places)[:MOST_ORIGINS])
        assert cluster_store(store).changes.clusters == 0


def test_classes_of_size() -> None:
    known = {1: "", 2: "2", 3: "3-5", 5: "3-5", 6: "6-10", 10: "6-10", 11: "11-100", 100: "11-100", 101: "over 100"}
    assert {size: size_class(size) for size in known} == known
    assert size_class(10**9) == "over 100"


def test_where_documents_come_from() -> None:
    known = {
        "https://user@WWW.Example.org:8080/a/b": "www.example.org:8080",
        "http://[broken/x": "unknown",
        "/a/b/c.txt": "/a/b",
        "/c.txt": "/",
        "a/b.txt": "a",
        "b.txt": "unknown",
        "minutes": "minutes",
        "": "unknown",
    }
    assert {source: origin_of(source) for source in known} == known
