"""What every store must do with the documents that it is given."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

from asked import documents_with_keys
from made import INFO, put, record

from indexer.model import Record, Ref
from indexer.schemes.keys.simhash64 import simhash_keys
from indexer.stores import PutStatus, Store


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
        bad = Record(Ref("bad"), None, keys=(1,))
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
