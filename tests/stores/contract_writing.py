"""What every store must do with the documents that it is given."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from indexer.clustering.arrivals import Arrivals, Neighbour, rule_for
from indexer.clustering.copies import Copies
from indexer.core.text import text_digest
from indexer.errors import UsageError
from indexer.ingest.indexing import Settings, index, store_info
from indexer.ingest.sources import Input
from indexer.matching.rule import parse_rule
from indexer.model import Failure, Fingerprint, Record, Ref, own_cluster_id
from indexer.model.counts import IndexingSummary
from indexer.schemes.keys.simhash64 import simhash_keys
from indexer.stores import PutStatus, Store
from tests.stores.asked import documents_with_keys
from tests.stores.made import INFO, cluster, put, record

TEXT = " ".join(f"word{number}" for number in range(200))


def given(name: str, text: str = TEXT, **fields: Any) -> Input:
    """A text to index; one with `bad` is refused by every store."""
    metadata = {"x": float("inf")} if fields.pop("bad", False) else {}
    return Input(name, "somewhere", data=text.encode(), format="text", metadata=metadata)


def skipping(store: Store, *inputs: Input) -> tuple[IndexingSummary, dict[str, str]]:
    """What became of documents of which near-duplicates are left out, and what is said of those not stored."""
    arrivals = Arrivals(store, rule_for(store), skip=True)
    summary = index(inputs, store, Settings(jobs=0), arrivals=arrivals)
    arrivals.close()
    assert summary.done == len(inputs)
    return summary, {failure.ref.id: f"{failure.reason}: {failure.detail}" for failure in store.failures()}


class WritingContract:
    """Inherited by the whole contract, which has the fixtures `opened` and `store`, at first an empty one."""

    def test_results_come_in_the_order_of_the_records(self, store: Store) -> None:
        names = [f"{number * 7919 % 3001:04d}" for number in range(3001)]
        results = list(store.put(record(name, number) for number, name in enumerate(names)))
        assert [result.ref.id for result in results] == names
        assert {result.status for result in results} == {PutStatus.CREATED}

    def test_records_are_taken_lazily(self, store: Store) -> None:
        taken = []

        def source() -> Iterator[Record]:
            for number in range(10_000):
                taken.append(number)
                yield record(str(number), number)

        results = store.put(source())
        assert not taken
        next(results)
        assert len(taken) < 10_000

    def test_documents_are_stored_while_the_store_is_read(self, store: Store) -> None:
        put(store, record("0", 1), record("1", 1))
        names = [str(number) for number in range(3001)]
        wait = store.begin_put([record(name, 2, title="new") for name in names])
        for name in names[:3] * 10:
            (found,) = store.get([Ref(name)])
            assert found in (record(name, 2, title="new"), record(name, 1) if name in "01" else None)
        results = wait()
        assert wait() == results
        assert [result.ref.id for result in results] == names
        assert [result.status.value for result in results[:3]] == ["replaced", "replaced", "created"]
        assert store.get([Ref("3000")]) == [record("3000", 2, title="new")]
        assert len(documents_with_keys(store, simhash_keys(2))) == 3001

    def test_what_is_written_after_a_batch_that_was_begun_comes_after_it(self, opened: Callable[..., Store]) -> None:
        store = opened(create=INFO)
        bad = Record(Ref("bad"), Fingerprint(1, 5).sketches(()))
        waits = [store.begin_put([record(str(number), turn) for number in range(500)] + [bad]) for turn in (1, 2)]
        assert store.annotate([(Ref("7"), {"seen": True})]) == 1
        assert store.delete([Ref("8")]) == 1
        put(store, record("9", 3))
        assert [Counter(result.status.value for result in wait()) for wait in waits] == [
            {"created": 500, "failed": 1},
            {"replaced": 500, "failed": 1},
        ]
        assert store.annotations([Ref("7"), Ref("8")]) == [{"seen": True}, None]
        store.begin_put([record("later", 4)])
        store.close()
        found = opened(create=INFO).get([Ref("6"), Ref("9"), Ref("later")])
        assert found == [record("6", 2), record("9", 3), record("later", 4)]

    def test_the_same_ref_replaces(self, store: Store) -> None:
        put(store, record("a", 1, title="old", metadata={"x": 1}), record("b", 2))
        assert put(store, record("a", 7, title="new")) == [PutStatus.REPLACED]
        assert store.get([Ref("a")]) == [record("a", 7, title="new")]
        assert store.stats().documents == 2
        # The old value is gone with its keys, and the new one is found.
        assert documents_with_keys(store, [*simhash_keys(1), *simhash_keys(7)]) == {Ref("a"): 7, Ref("b"): 2}

    def test_the_last_of_equal_refs_in_one_call_stays(self, store: Store) -> None:
        statuses = put(store, record("a", 1), record("b", 2), record("a", 3), record("a", None))
        assert statuses == [PutStatus.CREATED, PutStatus.CREATED, PutStatus.REPLACED, PutStatus.REPLACED]
        assert store.get([Ref("a")]) == [record("a", None)]
        assert store.stats().documents == 2
        assert documents_with_keys(store, simhash_keys(1)) == {Ref("b"): 2}

    @pytest.fixture
    def indexed(self, opened: Callable[..., Store]) -> Store:
        """An empty store that texts can be indexed into."""
        return opened(create=store_info("landmarks"))

    def test_of_near_duplicates_one_is_stored_where_the_first_is_refused(self, indexed: Store) -> None:
        summary, said = skipping(
            indexed,
            given("a", bad=True),
            given("b", TEXT.upper()),
            given("c", TEXT.title()),
            given("other", TEXT[::-1]),
        )
        assert (summary.indexed, summary.duplicates, dict(summary.failed)) == (2, 1, {"refused": 1})
        assert sorted(each.ref.id for each in indexed.scan()) == ["b", "other"]
        assert sorted(said) == ["a", "c"]
        assert said["a"].startswith("refused: ")
        assert said["c"].startswith("duplicate: ")
        assert said["c"].endswith(" b")
        # One whose id an engine refuses is stored in a file.
        far = TEXT.upper().replace("WORD", "far")
        summary, said = skipping(indexed, given("x" * 513, far), given("y", far), given("z", far))
        stored = {each.ref.id for each in indexed.scan()} - {"b", "other"}
        assert len(stored) == 1
        assert said.keys() - {"a", "c"} == {"x" * 513, "y", "z"} - stored
        assert stored <= {"x" * 513, "y"}
        assert said["z"].endswith(f" {stored.pop()}")

    def test_what_is_left_out_is_examined_once_more_for_each_that_is_refused(self, indexed: Store) -> None:
        examined = 0

        class Counting(Arrivals):
            def examine(self, records: Sequence[Record]) -> list[Neighbour | None]:
                nonlocal examined
                examined += len(records)
                return super().examine(records)

        names = [f"{number:03d}" for number in range(100)]
        inputs = [given(name, f"{TEXT} {name}", bad=name < "040") for name in names]
        arrivals = Counting(indexed, rule_for(indexed), skip=True)
        summary = index(inputs, indexed, Settings(jobs=0), arrivals=arrivals)
        assert (summary.indexed, summary.duplicates, dict(summary.failed)) == (1, 59, {"refused": 40})
        assert summary.done == 100
        assert [each.ref.id for each in indexed.scan()] == ["040"]
        assert {failure.detail.split()[-1] for failure in indexed.failures() if failure.reason == "duplicate"} == {
            "040"
        }
        assert examined <= 200

    def test_copies_of_documents_are_deleted_with_them(self, store: Store) -> None:
        same, other, none = (text_digest(text).hex() for text in ("A  letter", "another", ""))
        assert text_digest("a letter").hex() == same
        put(store, record("a", 5, text_digest=same), record("b", 9, text_digest=same, short=True))
        put(store, record("c", 5, text_digest=other), record("d", 5), record("e", None, text_digest=none))
        put(store, record("f", None, text_digest=none), record("g", 4, text_digest=other))
        store.put_failures([Failure(Ref("h"), "h", "reason", "", "2026-01-01T00:00:00Z")])
        found = Copies(store, [Ref("a"), Ref("missing")])
        assert [(one.record.ref.id, one.repeats.id, one.identical) for one in found.found] == [
            ("a", "a", True),
            ("b", "a", True),
        ]
        # Without a digest or a text it can't be told.
        assert (found.uncompared.documents, found.uncompared.failures) == (3, 1)
        by_rule = Copies(store, [Ref("a")], parse_rule("simhash-doc@1bits"))
        assert [one.record.ref.id for one in by_rule.found] == ["a", "b", "c", "d", "g"]
        assert [one.similarity for one in by_rule.found] == [1, 1, 1, 1, 1 - 1 / 64]
        # What has no text has no copies.
        assert [one.record.ref.id for one in Copies(store, [Ref("e")]).found] == ["e"]
        with pytest.raises(UsageError, match="no digest of its text"):
            Copies(store, [Ref("d")])
        # One that has changed since stays.
        put(store, record("b", 9, text_digest=other))
        gone = found.delete()
        assert [[one.record.ref.id for one in some] for some in gone.values()] == [["a"], [], ["b"]]
        assert sorted(each.ref.id for each in store.scan()) == ["b", "c", "d", "e", "f", "g"]

    def test_nothing_is_left_of_the_clusters_of_what_is_deleted(self, store: Store) -> None:
        same = text_digest("a letter").hex()
        name, untouched = own_cluster_id(Ref("a")), own_cluster_id(Ref("c"))
        put(store, record("a", 5, text_digest=same, title="Dear Ann"), record("b", 5), record("c", 5), record("d", 5))
        clusters = [("a", name), ("b", name), ("c", untouched), ("d", untouched)]
        store.annotate([(Ref(one), {"cluster": {"id": its, "is_canonical": one in "ac"}}) for one, its in clusters])
        store.put_clusters([cluster(name, title="Dear Ann"), cluster(untouched, canonical=Ref("c"))])
        Copies(store, [Ref("a")]).delete()
        assert [one.id for one in store.clusters()] == [untouched]

    def test_a_document_that_has_changed_since_is_not_annotated(self, store: Store) -> None:
        put(store, record("same", 5), record("changed", 5), record("gone", 5))
        refs = [Ref(name) for name in ("same", "changed", "gone")]
        versions = {ref: each.version for ref, each in zip(refs, store.versioned(refs), strict=True) if each}
        store.annotate([(Ref("changed"), {"x": 1})])
        store.delete([Ref("gone")])
        assert store.annotate([(ref, {"y": 2}) for ref in refs], versions=versions) == 1
        assert store.annotations(refs) == [{"y": 2}, {"x": 1}, None]
