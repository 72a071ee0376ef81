"""Clusters of a whole store: groups, splitting, names, canonical documents, and what is written."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from indexer.clustering.annotations import stored_clusters
from indexer.clustering.canonical import CanonicalRule, copy_words, parse_canonical, read_canonical
from indexer.clustering.grouping import Groups, group
from indexer.core.components import Components
from indexer.errors import StoreError, UsageError
from indexer.library.opening import open_store
from indexer.matching.measures.tables import Comparer
from indexer.matching.nodes import nodes_of
from indexer.model import SIMHASH_DOC, Record, Ref, own_cluster_id
from indexer.model.mails import is_mail
from indexer.model.ragged import Ragged
from indexer.model.refs import RefSet, RefTable
from indexer.stores import PutStatus, Store
from indexer.stores.sketches import Found
from tests.clustered import INFO, bits, cluster_store, partition, record

FAR = 0xFFFF_0000_FFFF_0000


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """An empty store, open for writing."""
    with open_store(tmp_path / "a.neardup", create=INFO) as opened:
        yield opened


def put(store: Store, *records: Record) -> None:
    assert PutStatus.FAILED not in {result.status for result in store.put(records)}


def sets_of(labels: list[int]) -> list[set[int]]:
    found: dict[int, set[int]] = {}
    for place, label in enumerate(labels):
        found.setdefault(label, set()).add(place)
    return sorted(found.values(), key=min)


def connected(values: list[int], distance: int) -> list[set[int]]:
    """The components, the slow way."""
    left, found = set(range(len(values))), []
    while left:
        inside, front = set(), {min(left)}
        while front:
            inside |= front
            front = {b for b in left - inside if any((values[a] ^ values[b]).bit_count() <= distance for a in front)}
        found.append(inside)
        left -= inside
    return found


@given(st.integers(1, 40), st.lists(st.tuples(st.integers(0, 39), st.integers(0, 39)), max_size=60), st.integers(1, 9))
def test_components_are_the_same_however_the_pairs_come(count: int, pairs: list[tuple[int, int]], size: int) -> None:
    pairs = [(a % count, b % count) for a, b in pairs]
    components = Components(count)
    for start in range(0, len(pairs), size):
        left, right = (np.array(side, dtype=np.int64) for side in zip(*pairs[start : start + size], strict=True))
        components.join(left, right)
    names = list(range(count))
    for a, b in pairs:
        names = [names[b] if name == names[a] else name for name in names]
    assert sets_of(components.labels().tolist()) == sets_of(names)
    assert all(label <= place for place, label in enumerate(components.labels().tolist()))


def test_long_chains_are_joined_in_few_rounds() -> None:
    count = 300_000
    places = np.random.default_rng(1).permutation(count)
    along = np.arange(count)
    to_the_last = np.full(count, count - 1)
    for left, right in (
        (along[:-1], along[1:]),
        (along[:0:-1], along[-2::-1]),
        (places[:-1], places[1:]),
        (along, to_the_last),
        (to_the_last, along[::-1]),
    ):
        components = Components(count)
        components.join(left, right)
        assert not components.labels().any()


BITS = st.sets(st.integers(0, 11), max_size=8).map(lambda bits: sum(1 << (5 * bit) for bit in bits))


def grouped(values: list[int], distance: int, radius: int | None = None) -> tuple[Groups, list[set[int]]]:
    """Groups of hashes, equal ones too, and the sets of positions that they are."""
    payloads = Ragged.of_bytes([value.to_bytes(8, "big") for value in values])
    refs = [Ref(str(place)) for place in range(len(values))]
    nodes = nodes_of(bits(distance), [Found(refs, {SIMHASH_DOC: payloads})])
    comparison = Comparer(nodes.rule, nodes.payloads)
    found = group(nodes, comparison, radius=None if radius is None else radius / 64, threads=1)
    return found, sets_of(found.labels[nodes.node_of].tolist())


@settings(max_examples=80, deadline=None)
@given(st.lists(BITS, max_size=30), st.integers(0, 4), st.integers(0, 8), st.randoms(use_true_random=False))
def test_groups_are_components_that_are_cut_only_where_no_centre_is_near_all(values, distance, more, order) -> None:  # type: ignore[no-untyped-def]
    radius = (distance + more) // 2 if more else distance
    found, groups = grouped(values, distance, radius)
    components = connected(values, distance)

    def has_centre(places: set[int]) -> bool:
        return any(all((values[a] ^ values[b]).bit_count() <= radius for b in places) for a in places)

    assert found.split == sum(not has_centre(each) for each in components)
    for each in components:
        assert (each in groups) == has_centre(each)
    for each in groups:
        assert any(each <= component for component in components)
        assert has_centre(each)
    shuffled = list(range(len(values)))
    order.shuffle(shuffled)
    _, again = grouped([values[place] for place in shuffled], distance, radius)
    assert sorted(map(sorted, groups)) == sorted(sorted(shuffled[place] for place in each) for each in again)


def test_a_chain_is_cut_around_its_densest_members() -> None:
    # Steps of 3 bits: 0 - 3 - 6 - 9 - 12 bits from the first; the second is where most documents are.
    chain = [(1 << 3 * step) - 1 for step in range(5)]
    _, groups = grouped([chain[0], *[chain[1]] * 9, *chain[2:]], 3)
    assert groups == [set(range(11)), {11, 12}]
    _, groups = grouped(chain, 3, 6)
    assert groups == [set(range(5))]


@pytest.mark.parametrize(("distance", "bound"), [(65, None), (-1, None), (3, -1), (3, 65)])
def test_bounds_out_of_range_are_refused(store: Store, distance: int, bound: int | None) -> None:
    with pytest.raises(UsageError):
        cluster_store(store, distance, bound=bound)


def test_every_document_has_a_cluster_and_the_lone_ones_their_own(store: Store) -> None:
    put(
        store,
        record("a", 0, indexed_at="2026-01-02", size=10, title="A", text_digest="0a"),
        record("b", 0b111, indexed_at="2026-01-01", size=20, title="B", text_digest="0a"),
        record("far", FAR),
        record("short", 0, short=True),
        record("empty", None),
    )
    found = cluster_store(store)
    assert (found.documents, found.compared, found.clusters, found.clustered, found.largest) == (5, 3, 1, 2, 2)
    assert partition(store) == {"ab": "b", "far": "far", "short": "short", "empty": "empty"}
    b = own_cluster_id(Ref("b"))
    repeats = {"repeats": "b", "repeats_similarity": 0.9531, "relation": "identical"}
    assert store.annotations([Ref("a"), Ref("b"), Ref("short")]) == [
        {"cluster": {"id": b, "is_canonical": False, "similarity": 0.9531, "size_class": "2"} | repeats},
        {"cluster": {"id": b, "is_canonical": True, "similarity": 1.0, "size_class": "2"}},
        {},
    ]
    [whole] = store.clusters()
    assert (whole.id, whole.canonical, whole.title, whole.size, whole.total_bytes) == (b, Ref("b"), "B", 2, 30)
    assert (whole.least_similarity, whole.first_seen, whole.last_seen) == (0.9531, "2026-01-01", "2026-01-02")
    assert (whole.redundant, whole.redundant_bytes) == (1, 10)
    [cluster] = stored_clusters(store, least=2)
    assert (cluster.members, cluster.similarities) == ((Ref("b"), Ref("a")), (1.0, 0.9531))


def test_a_second_run_writes_nothing_and_a_dry_run_never(store: Store) -> None:
    generator = random.Random(1)
    values = [generator.getrandbits(64) for _ in range(300)]
    values += [value ^ 1 << generator.randrange(64) for value in values[:200]]
    put(store, *[record(f"{number}", value) for number, value in enumerate(values)])
    tried = cluster_store(store, dry_run=True)
    assert (tried.changes.documents, tried.changes.clusters) == (400, 200)
    assert list(store.clusters()) == []
    assert not any(annotations for _, annotations in store.scan_annotations())
    assert cluster_store(store) == tried
    again = cluster_store(store)
    assert (again.changes.documents, again.changes.clusters, again.changes.removed) == (0, 0, 0)


def test_a_store_opened_to_be_read_is_clustered_only_dry(tmp_path: Path) -> None:
    with open_store(tmp_path / "a.neardup", create=INFO) as store:
        put(store, record("a", 0), record("b", 0))
    with open_store(tmp_path / "a.neardup", read_only=True) as reader:
        assert cluster_store(reader, dry_run=True).clusters == 1
        with pytest.raises(StoreError, match="read-only"):
            cluster_store(reader)


def test_a_cluster_of_more_documents_than_are_read_at_once(store: Store) -> None:
    put(store, *[record(f"{number:05d}", number & 1, size=1, indexed_at=f"{number:05d}") for number in range(4500)])
    found = cluster_store(store)
    assert (found.clusters, found.largest, found.changes.documents) == (1, 4500, 4500)
    [whole] = store.clusters()
    assert (whole.canonical, whole.size, whole.total_bytes) == (Ref("00000"), 4500, 4500)
    assert whole.least_similarity == 0.9844
    assert cluster_store(store).changes.documents == 0
    put(store, record("new", 0, indexed_at="1"))
    assert cluster_store(store).changes.documents == 1


def test_a_cluster_keeps_its_id_as_others_change(store: Store) -> None:
    put(store, record("a", 0), record("b", 1), record("c", FAR), record("d", FAR), record("e", FAR ^ 1))
    cluster_store(store)
    before = {each.canonical.id: each.id for each in stored_clusters(store, least=2)}
    # The canonical documents change, one cluster grows, and the other loses a member.
    put(store, record("0", 0, indexed_at="2025"))
    store.delete([Ref("d")])
    changed = cluster_store(store, canonical=CanonicalRule("longest"))
    after = {each.canonical.id: each.id for each in stored_clusters(store, least=2)}
    assert after == {"0": before["a"], "c": before["c"]}
    assert changed.changes.removed == 0
    # Without the document that it was named after, a cluster has another name, and the old one is free.
    store.delete([Ref("a")])
    put(store, record("a", 0x0F0F_0F0F_0F0F_0F0F))
    cluster_store(store)
    found = {each.id: sorted(ref.id for ref in each.members) for each in stored_clusters(store)}
    assert found[before["a"]] == ["a"]
    assert sorted(map(len, found.values())) == [1, 2, 2]
    assert {each.id for each in store.clusters()} == {name for name, members in found.items() if len(members) > 1}


def test_a_cluster_that_is_made_anew_may_have_another_id(store: Store, tmp_path: Path) -> None:
    """One that has lived keeps the name of a document that was canonical once."""
    put(store, record("b", 0), record("c", 0))
    cluster_store(store)
    put(store, record("a", 0))
    cluster_store(store, canonical=CanonicalRule("longest"))
    with open_store(tmp_path / "anew.neardup", create=INFO) as anew:
        put(anew, *store.scan())
        cluster_store(anew, canonical=CanonicalRule("longest"))
        (lived,), (made) = list(store.clusters()), list(anew.clusters())
    assert (lived.id, lived.canonical.id) == (own_cluster_id(Ref("b")), "a")
    assert [(each.id, each.canonical.id) for each in made] == [(own_cluster_id(Ref("a")), "a")]


def test_two_clusters_that_become_one_keep_the_name_of_the_larger(store: Store) -> None:
    put(store, record("a", 0), record("b", 0), record("x", 0b111111), record("y", 0b111111), record("z", 0b101111))
    cluster_store(store)
    larger = next(each.id for each in stored_clusters(store) if len(each.members) == 3)
    put(store, record("m", 0b000111))
    found = cluster_store(store)
    assert [each.id for each in stored_clusters(store)] == [larger]
    assert (found.changes.removed, len(list(store.clusters()))) == (1, 1)


RECORDS = [
    record("a", 0, indexed_at="2026-01-03", tokens=10, source="/first/a", metadata={"n": 5, "at": {"day": "b"}}),
    record("b", 0, indexed_at="2026-01-01", tokens=30, source="/new/b", metadata={"n": "text", "at": {"day": "ba"}}),
    record("c", 0, indexed_at="2026-01-02", tokens=20, source="/mirror/c", metadata={"n": 2.5, "at": {"day": "a"}}),
    record("d", 0, indexed_at="", tokens=1, metadata={}),
]


@pytest.mark.parametrize(
    ("rule", "prefer", "order"),
    [
        ("earliest", (), "bcad"),
        ("longest", (), "bcad"),
        ("field:n", (), "cabd"),
        ("field:n:desc", (), "acbd"),
        ("field:at.day", (), "cabd"),
        ("field:at.day:desc", (), "bacd"),
        ("field:none", (), "bcad"),
        ("source", ("/mirror/*", "/first/*"), "cabd"),
    ],
)
def test_rules_for_the_canonical_document(store: Store, rule: str, prefer: tuple[str, ...], order: str) -> None:
    asked = parse_canonical(rule, prefer)
    assert "".join(each.ref.id for each in sorted(RECORDS, key=asked.key)) == order
    assert read_canonical(str(asked)) == asked
    put(store, *reversed(RECORDS))
    cluster_store(store, canonical=asked)
    assert partition(store) == {"abcd": order[0]}


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("", 0), ("/library/a.html", 0), ("/golden/oldest.html", 0), ("/photocopy/templates/copying.html", 0),
        ("https://example.org/f(x)", 0), ("/Backup/a.html", 1), ("/backup-2024/a.html", 1), ("/a.html.bak", 1),
        ("/Copy of a.html", 1), ("/a - Copy.html", 1), ("/a (1).pdf", 1), ("/a.txt~", 1), ("/old_site/a.html", 1),
        ("C:\\Old\\a.html", 1), ("https://old.example.org/trash/a", 2),
        ("/exporters/conversion.html", 0), ("/Converted/a.pdf", 1), ("/a_export/b", 1),
        ("/all.zip/a.pdf", 1), ("/all.tar.gz/b.ZIP/a.pdf", 2), ("/m.mbox/4bc8.eml/a.pdf", 2), ("/all.zip", 0),
        ("/Sicherung/a.html", 1), ("/sauvegarde/a.html", 1), ("/Papierkorb/a.html", 1), ("/corbeille/a.html", 1),
        ("/Papelera/a.html", 1), ("/Cestino/a.html", 1), ("/lixeira/a.html", 1), ("/Копия/a.html", 1),
        ("/备份/a.html", 1), ("/exporté.html", 1), ("/Versicherung/a.html", 0), ("/microcopia/a.html", 0),
        ("/oldřich/a.html", 0),
        ("/tmp/a.html", 0), ("old/a.html", 1), ("/Backup/a/old/b (12).pdf", 3),
    ],
)  # fmt: skip
def test_words_that_call_a_file_a_copy(source: str, words: int) -> None:
    assert copy_words(source) == words


@pytest.mark.parametrize(
    ("source", "mail"),
    [
        ("/m/a.eml", True), ("a.EML", True), ("/m/all.mbox/4bc8.eml", True), ("/m/a.emlx.gz", True), ("/a.msg", True),
        ("new/1700000000.M5.host", True), ("C:\\m\\a.eml", True), ("", False), ("/m/a.eml/minutes.pdf", False),
        ("/m/a.eml.txt", False), ("/new/1700000000.M5.host/minutes.txt", False), ("/eml", False), ("/a.mht", False),
    ],
)  # fmt: skip
def test_paths_of_mails(source: str, mail: bool) -> None:
    assert is_mail(source) is mail


def test_what_is_called_a_copy_is_canonical_only_among_copies(store: Store) -> None:
    put(
        store,
        record("a", 0, indexed_at="2026-01-01", source="/backup/x.html", tokens=9000),
        record("b", 0, indexed_at="2026-01-02", source="/x.html"),
        record("c", FAR, indexed_at="2026-01-01", source="/old/y (1).html"),
        record("d", FAR, indexed_at="2026-01-02", source="/old/y.html"),
    )
    cluster_store(store)
    assert partition(store) == {"ab": "b", "cd": "d"}
    cluster_store(store, canonical=CanonicalRule("longest"))
    assert partition(store)["ab"] == "a"


def test_pages_that_declare_another_canonical_come_last() -> None:
    def page(name: str, url: Any, source: str = "") -> Record:
        said = {} if url is None else {"canonical_url": url}
        return record(name, 0, indexed_at=f"2026-{name}", source=source or f"https://x.org/{name}", metadata=said)

    pages = [
        page("a", "https://x.org/f"), page("b", "f"), page("c", None), page("d", "http://[bad"), page("e", 7),
        page("f", "/f#top"), page("g", "https://x.org/g"), page("h", "https://x.org/f", "/saved/h.html"),
    ]  # fmt: skip
    asked = parse_canonical("declared")
    assert "".join(each.ref.id for each in sorted(pages, key=asked.key)) == "fgcdehab"
    assert read_canonical(str(asked)) == asked


@pytest.mark.parametrize(
    ("rule", "prefer"), [("", ()), ("latest", ()), ("field:", ()), ("field", ()), ("source", ()), ("earliest", ("*",))]
)
def test_rules_that_are_none(rule: str, prefer: tuple[str, ...]) -> None:
    with pytest.raises(UsageError):
        parse_canonical(rule, prefer)


def test_identities_come_back_from_the_table() -> None:
    refs = [Ref("a"), Ref(""), Ref("é\udc80", "index", "r"), Ref("a", "index"), Ref("a", "index", ""), Ref("\0" * 9)]
    table = RefTable(refs)
    assert table.take([5, 0, 2, 1, 3, 4]) == [refs[place] for place in (5, 0, 2, 1, 3, 4)]
    inside = RefSet(table, np.array([0, 2, 4]))
    assert inside.contains([*refs, Ref("b")]) == [True, False, True, False, True, False, False]
    assert len({own_cluster_id(ref) for ref in refs}) == len(refs)
