"""What every store must do with clusters; a part of the contract."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from indexer.clustering import clusters
from indexer.clustering.annotations import repeated_by, stored_clusters, version_of
from indexer.clustering.decision_acts import DecidedPruning, keep_decisions
from indexer.clustering.memory import remembered
from indexer.clustering.parts import PartPruning
from indexer.clustering.placing import miscounted
from indexer.clustering.prune import Pruning
from indexer.core.text import text_digest
from indexer.errors import StoreError
from indexer.library.texts import dedupe
from indexer.matching.pairing import pairs_of
from indexer.matching.rule import parse_rule
from indexer.model import ClusteringNote, Record, Ref
from indexer.model.decisions import DecidedChoice, DecidedDocument, Decision
from indexer.report.counting import figures
from indexer.schemes.passages import Passages
from indexer.schemes.testing import document
from indexer.stores import Store
from tests import planted
from tests.clustered import cluster_store
from tests.planted import drifting
from tests.stores.made import INFO, cluster, put, record

FAR = 0xFFFF_0000_FFFF_0000


class ClusterContract:
    """Inherited by the whole contract, which has the fixture `store`: an empty store, open for writing."""

    def test_every_document_is_scanned_for_annotations(self, store: Store) -> None:
        put(store, record("a", 1), record("b", 2, short=True), record("c", None))
        store.annotate([(Ref("a"), {"x": 1, "cluster": {"id": "k", "is_canonical": True, "distance": 0}})])
        annotations = {"x": 1, "cluster": {"id": "k", "is_canonical": True, "distance": 0}}
        found = sorted(store.scan_annotations(), key=lambda pair: pair[0])
        assert [(ref.id, dict(fields)) for ref, fields in found] == [("a", annotations), ("b", {}), ("c", {})]

    def test_the_documents_of_clusters_are_scanned_without_those_of_which_nothing_is_said(self, store: Store) -> None:
        put(store, *[record(name, 1) for name in "abcde"])
        said = {"a": {"cluster": {"id": "k"}, "x": 1}, "b": {"cluster": {"id": "l"}}, "c": {"cluster": {"id": "k"}}}
        store.annotate([(Ref(name), fields) for name, fields in said.items()])
        store.annotate([(Ref("d"), {"x": 1}), (Ref("c"), {"cluster": None}), (Ref("b"), {"x": 2})])
        found = sorted((ref.id, dict(fields)) for ref, fields in store.scan_annotations(clustered=True))
        assert found == [("a", said["a"]), ("b", {**said["b"], "x": 2})]
        put(store, record("a", 1))
        assert [ref.id for ref, _ in store.scan_annotations(clustered=True)] == ["b"]

    def test_documents_are_described_by_record_and_annotations(self, store: Store) -> None:
        put(store, record("a", 1), record("b", 2, short=True))
        store.annotate([(Ref("a"), {"x": 1, "cluster": {"id": "k"}})])
        refs = [Ref("b"), Ref("none"), Ref("a")]
        found = store.described(refs)
        assert found[1] is None
        assert [one and one[0] for one in found] == store.get(refs, sketches=False)
        assert [one and dict(one[1]) for one in found] == [{}, None, {"x": 1, "cluster": {"id": "k"}}]
        # What was read does not stand in the way of what is written next.
        assert store.annotate([(Ref("a"), {"x": 2}), (Ref("b"), {"x": 3})]) == 2
        assert [one and one[1].get("x") for one in store.described(refs)] == [3, None, 2]

    def test_the_version_of_a_document_is_kept_until_its_text_is_another(self, store: Store) -> None:
        put(store, *[record(name, 1, text_digest="0a") for name in "abcd"])
        said = {"ordinal": 2, "is_latest": False}
        store.annotate([(Ref(name), {"version": said}) for name in "abc"])
        store.annotate([(Ref("b"), {"version": None}), (Ref("d"), {"version": {"ordinal": "2"}})])
        put(store, record("a", 1, text_digest="0a", title="new"), record("c", 1, text_digest="0b"))
        found = [one or {} for one in store.annotations([Ref(name) for name in "abcd"])]
        assert found == [{"version": said}, {}, {}, {"version": {"ordinal": "2"}}]
        assert [version_of(one) for one in found[:3]] == [(2, False), (None, True), (None, True)]

    def test_clusters_put_versions_in_order(self, store: Store) -> None:
        places = {"a": "/d/1.9/x.html", "b": "/d/1.10/x.html", "c": "/other/y.html", "d": "/d/1.8/x.html"}
        put(
            store, *[record(name, 1, source=place) for name, place in places.items()], record("e", FAR, source="/d/2/x")
        )
        cluster_store(store)
        found = store.annotations([Ref(name) for name in "abcde"])
        assert [version_of(one or {}) for one in found] == [
            (2, False),
            (3, True),
            (None, True),
            (1, False),
            (None, True),
        ]
        assert cluster_store(store).changes.documents == 0
        # What has left its cluster is its own latest again.
        put(store, record("b", FAR, source=places["b"]))
        cluster_store(store)
        found = store.annotations([Ref(name) for name in "abd"])
        assert [version_of(one or {}) for one in found] == [(2, True), (None, True), (1, False)]

    def test_members_of_clusters_are_found_by_their_annotation(self, store: Store) -> None:
        put(store, *[record(name, 1) for name in "abcdef"])
        in_cluster = {"a": "one", "b": "two", "c": "one", "d": "three"}
        store.annotate([(Ref(name), {"cluster": {"id": each}}) for name, each in in_cluster.items()])
        store.annotate([(Ref("e"), {"cluster": "one"}), (Ref("f"), {"other": {"id": "one"}})])
        found = sorted((name, ref.id) for name, ref in store.cluster_members(["one", "two", "none", "one"]))
        assert found == [("one", "a"), ("one", "c"), ("two", "b")]
        # A document that moves, is replaced, loses the annotation or is deleted is no longer a member.
        store.annotate([(Ref("a"), {"cluster": {"id": "two"}}), (Ref("c"), {"cluster": None})])
        put(store, record("b", 1))
        store.delete([Ref("d")])
        assert [ref.id for _, ref in store.cluster_members(["one", "two", "three"])] == ["a"]

    def test_the_documents_of_each_cluster_are_counted(self, store: Store) -> None:
        put(store, *[record(name, 1) for name in "abcdefg"])
        said = [("a", "one"), ("b", "two"), ("c", "one"), ("d", "three"), ("e", "two")]
        store.annotate([(Ref(name), {"cluster": {"id": each, "size_class": "2"}}) for name, each in said])
        store.annotate([(Ref("f"), {"cluster": {"id": "alone"}}), (Ref("g"), {"x": 1})])
        assert list(store.cluster_sizes()) == [("one", 2), ("three", 1), ("two", 2)]
        store.delete([Ref("a"), Ref("d")])
        put(store, record("b", 2))
        assert list(store.cluster_sizes()) == [("one", 1), ("two", 1)]

    def test_clusters_that_lost_documents_are_told(self, store: Store) -> None:
        put(
            store,
            record("a", 1),
            record("b", 1),
            record("c", 1),
            record("d", FAR),
            record("e", FAR),
            record("f", 0x0F0F),
        )
        cluster_store(store)
        assert miscounted(store) == []
        before = {each.id: each.size for each in store.clusters()}
        store.delete([Ref("a"), Ref("d"), Ref("e")])
        assert sorted(miscounted(store)) == sorted(before)
        assert len(before) == 2
        cluster_store(store)
        assert miscounted(store) == []

    def test_clusters_stay_as_they_are_while_texts_do(self, store: Store) -> None:
        chance = random.Random(7)
        values = {f"{number:02d}": chance.choice([0, 1, 0x00FF_0000_0000_FF00, 2**63 - 1]) for number in range(16)}

        def written(name: str, step: int, text: str = "0a") -> Record:
            at = f"2026-01-01T00:00:{step:02d}.000000Z"
            return record(
                name, values[name], text_digest=text + name, indexed_at=at, source=f"/there/{step}-{name}", size=9
            )

        put(store, *[written(name, 30 - step) for step, name in enumerate(values)])
        assert cluster_store(store).clusters == 3
        before = {ref: dict(known) for ref, known in store.scan_annotations()}, list(store.clusters())
        for step in range(31, 50):
            put(store, *[written(name, step) for name in chance.sample(sorted(values), 3)])
        again = cluster_store(store)
        assert (again.changes.documents, again.changes.removed) == (0, 0)
        assert ({ref: dict(known) for ref, known in store.scan_annotations()}) == before[0]
        assert list(store.clusters()) == before[1]

    def test_a_cluster_keeps_its_name_where_the_document_that_it_is_named_after_was_edited(self, store: Store) -> None:
        put(
            store,
            *[record(name, 0, text_digest="0a", indexed_at=f"2026-01-0{day}") for day, name in enumerate("cab", 1)],
        )
        cluster_store(store)
        [named] = store.clusters()
        assert named.canonical == Ref("c")
        put(store, record("c", 1, text_digest="0b", indexed_at="2026-01-09"))
        cluster_store(store)
        assert [(one.id, one.canonical, one.size) for one in store.clusters()] == [(named.id, Ref("c"), 3)]

    def test_what_prune_names_and_the_report_counts_is_what_dedupe_removes(self, store: Store) -> None:
        rule = parse_rule("simhash-doc@3bits/minhash@0.6+minhash@0.6")
        minhash = rule.schemes["minhash"]
        store.add_scheme(minhash.info)
        texts = drifting(4, 14)
        random.Random(3).shuffle(texts)
        put(
            store,
            *[
                planted.record(f"d{56 - at}", text, [minhash], indexed_at=f"2026-01-01T00:00:{at:02}Z", size=at)
                for at, text in enumerate(texts)
            ],
        )
        clustering = clusters.cluster(store, rule, threads=1)
        assert clustering.split > 0
        found = dedupe(texts, rule, verify="sketch", threads=1)
        wanted = {f"d{56 - copy.position}": (f"d{56 - copy.of}", copy.similarity) for copy in found.copies}
        assert 20 < len(wanted) < 50
        surplus = {one.record.ref.id: (one.repeats.id, one.similarity) for one in Pruning(store).surplus()}
        assert surplus == wanted
        noted = {
            ref.id: (repeated.id, fields["cluster"]["repeats_similarity"])
            for ref, fields in store.scan_annotations()
            if (repeated := repeated_by(ref, fields))
        }
        assert noted == {name: (of, round(share, 4)) for name, (of, share) in wanted.items()}
        made = remembered(store)
        assert made
        found = figures(store, "", made, most=1)[0]
        # Without a text none could go.
        assert (found.undecided, found.could_go.documents) == (found.repeating, 0)
        repeating = [(ref, fields["cluster"]) for ref, fields in store.scan_annotations() if ref.id in wanted]
        for relation in ("reflowed", "form"):
            store.annotate([(ref, {"cluster": fields | {"relation": relation}}) for ref, fields in repeating])
            # What was noted of their relation stays, also where one is alone that others repeat.
            assert clusters.cluster(store, rule, threads=1).changes.documents == 0
            found = figures(store, "", made, most=1)[0]
            group = found.could_go if relation == "reflowed" else found.differ
            assert group == found.repeating
            assert (group.documents, group.bytes) == (len(wanted), sum(56 - int(name[1:]) for name in wanted))
            # Those of clusters of two or more; some are alone in theirs, and repeat one of another.
            going = sum(one.redundant for one in store.clusters())
            assert 20 < going <= len(wanted) if relation == "reflowed" else going == 0
        assert Pruning(store).delete() == len(wanted)
        left = clusters.cluster(store, rule, threads=1)
        assert (left.documents, left.clusters, list(pairs_of(store, rule))) == (56 - len(wanted), 0, [])

    def test_it_is_noted_how_each_document_stands_to_what_it_repeats(self, store: Store) -> None:
        invoice, minhash = document(3, 90), parse_rule("minhash@0.6").schemes["minhash"]
        texts = {
            "a": f"{invoice} the amount is 120 EUR",
            "b": f"{invoice} the amount is 95 EUR",
            "c": f"{invoice}  the amount is 120 eur",
        }
        store.add_scheme(minhash.info)
        records = [
            planted.record(name, text, [minhash], text_digest=text_digest(text).hex(), indexed_at="2026")
            for name, text in texts.items()
        ]
        put(store, *records)
        rule = parse_rule("minhash@0.6", store)

        def noted() -> dict[str, Any]:
            there = store.annotations([Ref(name) for name in texts])
            return {
                name: fields["cluster"].get("relation") for name, fields in zip(texts, there, strict=True) if fields
            }

        # No text of these can be read; what is identical is known by its digest.
        made = clusters.cluster(store, rule, threads=1)
        assert noted() == {"a": None, "b": None, "c": "identical"}
        assert made.changes.relations == store.stats().relations == {"": 1, "identical": 1}
        made = clusters.cluster(store, rule, relation=True, threads=1)
        assert noted() == {"a": None, "b": "unverified", "c": "identical"}
        assert made.changes.relations == store.stats().relations == {"unverified": 1, "identical": 1}
        [[_, fields]] = [each for each in store.scan_annotations(clustered=True) if each[0].id == "b"]
        store.annotate([(Ref("b"), {"cluster": fields["cluster"] | {"relation": "form"}})])
        # What was noted stays as long as both texts do.
        for relation in (False, True):
            assert clusters.cluster(store, rule, relation=relation, threads=1).changes.documents == 0
            assert noted()["b"] == "form"
        put(store, dataclasses.replace(records[0], text_digest="00", indexed_at="2027", first_indexed_at="2026"))
        clusters.cluster(store, rule, threads=1)
        assert noted() == {"a": None, "b": None, "c": None}

    def test_clusters_come_back_as_they_were(self, store: Store) -> None:
        full = cluster(
            "b",
            canonical=Ref("é\udc80"),
            title="<b>\0",
            size=2**40,
            total_bytes=2**50,
            first_seen="2026",
            last_seen="2027",
            redundant_bytes=2**49,
            formats=("html", "pdf"),
            origins=("/é", "a\udc80", "example.org"),
            least_similarity=0.1 + 0.2,
            relations=(("", 2), ("form", 2**40 - 4), ("noise", 1)),
            repeated_origins=("/é", "a\udc80"),
        )
        store.put_clusters(iter([full, cluster("c"), cluster("a")]))
        assert list(store.clusters()) == [cluster("a"), full, cluster("c")]
        assert store.get_clusters(["c", "none", "b", "c"]) == [cluster("c"), None, full, cluster("c")]
        store.put_clusters([cluster("b", size=3)])
        assert store.get_clusters(["b"]) == [cluster("b", size=3)]
        assert store.delete_clusters(["a", "none", "b"]) == 2
        assert list(store.clusters()) == [cluster("c")]
        assert store.stats().documents == 0

    def test_thousands_of_clusters_may_be_named(self, store: Store) -> None:
        names = [f"{number:05d}" for number in range(5000)]
        store.put_clusters(map(cluster, names))
        assert [found is not None for found in store.get_clusters([*names, "x"])] == [True] * 5000 + [False]
        assert store.delete_clusters(names) == 5000

    def test_how_clusters_were_made_is_remembered(self, opened: Callable[..., Store]) -> None:
        note = ClusteringNote(
            "simhash-doc@7bits+minhash:bands=25,rows=5@0.6", "0.4", "oldest", False, "2026-01-02", apart="form"
        )
        with opened(create=INFO) as store:
            assert store.clustering_notes() == {}
            store.put_clustering_note(note)
            assert list(store.clustering_notes().values()) == [note]
            done = dataclasses.replace(note, finished=True)
            store.put_clustering_note(done)
            # It is no cluster.
            store.put_clusters([cluster("c")])
            assert list(store.clusters()) == [cluster("c")]
            assert store.stats().documents == 0
        with opened(read_only=True) as store:
            assert list(store.clustering_notes().values()) == [done]
            with pytest.raises(StoreError, match="read-only"):
                store.put_clustering_note(None)
        with opened(create=INFO) as store:
            store.put_clustering_note(None)
            assert store.clustering_notes() == {}
            assert list(store.clusters()) == [cluster("c")]

    def test_decisions_are_remembered_by_what_they_say(self, opened: Callable[..., Store]) -> None:
        one, other = (
            Decision(tuple(DecidedDocument(f"{name}é\udc80", f"{n:032x}", "keep") for n, name in enumerate(names)))
            for names in ("ab", ["x" * 9000, *map(str, range(3000))])
        )
        apart = Decision((DecidedDocument("a", "0" * 32, "apart"), DecidedDocument("b", "1" * 32, "apart")))
        with opened(create=INFO) as store:
            assert list(store.decisions()) == []
            assert store.delete_decisions([one.id]) == 0
            store.put_decisions(iter([one, other, apart, one]))
            assert list(store.decisions()) == sorted((one, other, apart), key=lambda each: each.id)
            assert store.stats().documents == store.count() == 0
            assert list(store.clusters()) == []
        with opened(read_only=True) as store:
            assert len(list(store.decisions())) == 3
            with pytest.raises(StoreError, match="read-only"):
                store.put_decisions([one])
            with pytest.raises(StoreError, match="read-only"):
                store.delete_decisions([one.id])
        with opened(create=INFO) as store:
            assert store.delete_decisions([one.id, "none", other.id]) == 2
            assert list(store.decisions()) == [apart]

    def test_clusters_obey_decisions(self, store: Store) -> None:
        values = {"a": 0xF0F0, "b": 0xF0F1, "c": 0xF0F0, "x": FAR, "y": FAR ^ 1}
        put(store, *[record(name, value, text_digest=f"{value:032x}") for name, value in values.items()])

        def decided(**choices: DecidedChoice) -> Decision:
            return Decision(tuple(DecidedDocument(n, f"{values[n]:032x}", choice) for n, choice in choices.items()))

        kept = keep_decisions(store, [decided(a="keep", b="drop", c="apart"), decided(a="keep", x="keep")])
        assert (kept.kept, kept.refused) == (2, [])
        cluster_store(store)
        together = sorted("".join(sorted(ref.id for ref in one.members)) for one in stored_clusters(store))
        assert together == ["abxy", "c"]
        assert cluster_store(store).changes.documents == 0
        drops = DecidedPruning(store, [decided(a="keep", b="drop"), decided(c="apart", y="drop")])
        said = {one.record.ref.id: one.kept for one in drops.surplus()}
        assert said["b"] == ""
        assert said["y"].startswith("the file names no document")
        assert drops.delete() == 1
        assert [found is not None for found in store.get([Ref(name) for name in "abcxy"])] == [True, False, *[True] * 3]

    def test_what_stands_whole_in_another_goes_for_one_that_stays(self, store: Store, tmp_path: Path) -> None:
        scheme = Passages()
        store.add_scheme(scheme.info)
        chapters = [document(seed, 200) for seed in range(4)]
        texts = {
            "book": " ".join(chapters),
            "half": " ".join(chapters[:2]),
            "chapter": chapters[1].upper(),
            "edited": f"{chapters[1]} and more",
            "unread": chapters[2],
        }
        for name, text in texts.items():
            (tmp_path / name).write_text(text)
        made = [
            planted.record(name, text, [scheme], source=str(tmp_path / name), text_digest=text_digest(text).hex())
            for name, text in texts.items()
        ]
        put(store, *made)
        (tmp_path / "unread").unlink()
        found = list(PartPruning(store).surplus())
        assert {one.record.ref.id: one.repeats.id for one in found if not one.kept} == {
            "half": "book",
            "chapter": "book",
        }
        assert {one.record.ref.id for one in found if one.kept} == {"edited", "unread"}
        assert PartPruning(store).delete() == 2
        assert {each.ref.id for each in store.scan()} == {"book", "edited", "unread"}
        assert PartPruning(store).delete() == 0
