"""What every store must do: a suite that a store's tests inherit as it is."""

from __future__ import annotations

import random
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence

import pytest

from indexer.core.text import text_digest
from indexer.errors import UsageError
from indexer.matching.asking import Answered, lookup_each
from indexer.matching.lookups import lookup
from indexer.matching.question import Question
from indexer.matching.rule import parse_rule
from indexer.model import SIMHASH_DOC, Failure, Fingerprint, Record, Ref, Sketch
from indexer.schemes.keys.simhash64 import SIMHASH64_LAYOUT, probes, simhash_keys
from indexer.schemes.simhash import SimhashDoc, sketched
from indexer.stores import PutStatus, Store
from tests.stores.asked import counts_with_keys, documents_with_keys, holders_of, values_of
from tests.stores.contract_clusters import ClusterContract
from tests.stores.contract_opening import OpeningContract
from tests.stores.contract_probes import ProbeContract
from tests.stores.contract_schemes import StoreSchemeContract
from tests.stores.contract_writing import WritingContract
from tests.stores.made import INFO, put, record

# Names that files, URLs and people have: every one is stored exactly or refused.
HOSTILE = [
    "plain",
    "with space and 'quotes' \"double\"",
    "ünïcödé/文档/ملف",
    "cafe\u0301",
    "café",
    "nul\0inside",
    "control\x1b[31m\r\n",
    "surrogate\udc80escape",
    "\ud800",
    "\U0010ffff",
    "; DROP TABLE documents; --",
    "*",
    "_all",
    "x" * 10_000,
    "é" * 5_000,
]


class StoreContract(WritingContract, ClusterContract, StoreSchemeContract, ProbeContract, OpeningContract):
    """Inherited by each store's tests; `opened` is a fixture that opens the test's own, at first empty, store."""

    @pytest.fixture
    @abstractmethod
    def opened(self) -> Iterator[Callable[..., Store]]:
        """A function `opened(create=INFO, read_only=False)`; every store it gave is closed after the test."""

    @pytest.fixture
    def store(self, opened: Callable[..., Store]) -> Store:
        """An empty store, open for writing."""
        return opened(create=INFO)

    # Storing and reading

    def test_an_empty_store_has_nothing(self, store: Store) -> None:
        assert list(store.scan()) == []
        assert values_of(store) == {}
        assert list(store.failures()) == []
        assert list(store.put([])) == []
        assert store.get([]) == []
        assert store.get([Ref("a")]) == [None]
        assert store.annotations([Ref("a")]) == [None]
        assert documents_with_keys(store, probes(0, 7)) == {}
        assert store.find_digests(["d"]) == {}
        assert list(store.scan_annotations()) == []
        assert list(store.clusters()) == list(store.cluster_members(["c"])) == []
        assert store.get_clusters(["c"]) == [None]
        assert store.delete_clusters(["c"]) == 0
        assert store.delete([Ref("a")]) == 0
        stats = store.stats()
        assert (stats.documents, stats.fingerprinted, stats.distinct, stats.short, stats.empty) == (0, 0, 0, 0, 0)
        assert stats.last_indexed_at == ""

    def test_a_record_comes_back_as_it_was(self, store: Store) -> None:
        full = record(
            "dir/a.html",
            0xFFFF_FFFF_FFFF_FFFF,
            tokens=1234,
            short=True,
            source="/somewhere/dir/a.html",
            title="A <b>title</b>",
            format="html",
            extractor="engine 1.2",
            size=98_765,
            source_digest="c0ffee",
            text_digest="0123456789abcdef0123456789abcdef",
            read_digest="fedcba9876543210fedcba9876543210",
            beside_digest="00112233445566778899aabbccddeeff",
            container="/all/of/them.warc.gz",
            indexed_at="2026-01-02T03:04:05Z",
            metadata={"lang": "en", "nested": {"list": [1, 2.5, None, True, "ß"]}, "big": 2**53},
        )
        empty = record("empty", None, title="no words")
        assert put(store, full, empty) == [PutStatus.CREATED, PutStatus.CREATED]
        assert store.get([Ref("empty"), Ref("none"), Ref("dir/a.html")]) == [empty, None, full]
        assert sorted(store.scan(), key=lambda found: found.ref) == [full, empty]

    @pytest.mark.parametrize("value", [0, 1, 2**63 - 1, 2**63, 2**64 - 1])
    def test_all_64_bits_are_unsigned(self, store: Store, value: int) -> None:
        put(store, record("a", value))
        (found,) = store.get([Ref("a")])
        assert found is not None
        assert found.fingerprint == Fingerprint(value, 500)
        assert documents_with_keys(store, probes(value, 0)) == values_of(store) == {Ref("a"): value}

    @pytest.mark.parametrize("name", HOSTILE, ids=range(len(HOSTILE)))
    def test_any_text_is_stored_exactly_or_refused(self, store: Store, name: str) -> None:
        hostile = record(name, 5, title=name, source=name, format=name[:9], metadata={name: [name]}, source_digest=name)
        (result,) = store.put([hostile])
        if result.status is PutStatus.FAILED:
            assert result.reason
            assert store.get([Ref(name)]) == [None]
            return
        assert store.get([Ref(name)]) == [hostile]
        assert list(store.scan()) == [hostile]
        assert values_of(store) == {Ref(name): 5}
        assert store.find_digests([name]) == {name: hostile}
        assert store.annotate([(Ref(name), {"note": name})]) == 1
        assert store.annotations([Ref(name)]) == [{"note": name}]
        store.put_failures([Failure(Ref(name), name, "reason", name, "2026-01-01T00:00:00Z", name)])
        assert [failure.detail for failure in store.failures()] == [name]
        assert store.delete([Ref(name)]) == 1
        assert store.get([Ref(name)]) == [None]

    def test_names_that_look_alike_are_two(self, store: Store) -> None:
        names = ["café", "cafe\u0301", "CAFÉ", "café ", "a", "a\0", "1", "01"]
        put(store, *[record(name, number) for number, name in enumerate(names)])
        assert store.stats().documents == len(names)
        assert [found and found.ref.id for found in store.get([Ref(name) for name in names])] == names

    @pytest.mark.parametrize(
        "refused",
        [
            pytest.param(record("bad", 1, metadata={"x": float("nan")}), id="not-a-number"),
            pytest.param(record("bad", 1, metadata={"x": {1, 2}}), id="a-set"),
            pytest.param(record("bad", 1, metadata={1: "x"}), id="a-key-that-is-no-string"),
            pytest.param(record("bad", 1, metadata={"x": b"octets"}), id="octets"),
            pytest.param(record("bad", 1, size=2**64), id="a-size-past-64-bits"),
            pytest.param(record("bad", 1, title="x" * (17 << 20)), id="a-title-of-17-MB"),
            pytest.param(Record(Ref("bad"), Fingerprint(1, 5).sketches(())), id="no-keys"),
            pytest.param(Record(Ref("bad"), {SIMHASH_DOC: Sketch(SIMHASH_DOC, b"", (), 0)}), id="no-bits"),
            pytest.param(
                Record(Ref("bad"), Fingerprint(1, 5).sketches((SIMHASH64_LAYOUT.end,))), id="a-key-past-the-layout"
            ),
            pytest.param(Record(Ref("bad"), Fingerprint(1, 5).sketches((-1,))), id="a-negative-key"),
            pytest.param(Record(Ref("bad"), sketched(Fingerprint(1, 5, "another"))), id="another-scheme"),
        ],
    )
    def test_a_record_that_can_not_be_stored_is_a_failed_result(self, store: Store, refused: Record) -> None:
        results = list(store.put([record("before", 2), refused, record("after", 3)]))
        assert [result.status for result in results] == [PutStatus.CREATED, PutStatus.FAILED, PutStatus.CREATED]
        assert results[1].ref == Ref("bad")
        assert results[1].reason
        assert store.get([Ref("bad")]) == [None]
        assert store.stats().documents == 2

    def test_a_refused_record_leaves_the_stored_one(self, store: Store) -> None:
        put(store, record("a", 1))
        assert put(store, record("a", 2, metadata={"x": float("inf")})) == [PutStatus.FAILED]
        assert store.get([Ref("a")]) == [record("a", 1)]

    def test_routing_is_kept_or_refused(self, store: Store) -> None:
        routed = Record(Ref("a", store.stats().extra.get("index", "other"), "r"), sketched(Fingerprint(1, 5)))
        (result,) = store.put([routed])
        if not store.embedded:
            # The identity holds the routing: without it the document is another one.
            assert result.status is PutStatus.CREATED
            assert store.get([routed.ref]) == [routed]
        else:
            # A file has one unnamed index; a routing value would be lost.
            assert result.status is PutStatus.FAILED
            assert store.get([routed.ref]) == [None]
            assert store.annotations([routed.ref]) == [None]
            assert store.delete([routed.ref]) == 0

    # Finding

    def test_what_is_found_shares_a_key(self, store: Store) -> None:
        generator = random.Random(1)
        stored = {generator.getrandbits(64) for _ in range(500)}
        stored |= {value ^ 1 << generator.randrange(64) for value in list(stored)[:100]}
        put(store, *[record(f"{value:x}", value) for value in stored])
        for asked in list(stored)[:50]:
            keys = set(probes(asked, 4))
            expected = {Ref(f"{value:x}"): value for value in stored if not keys.isdisjoint(simhash_keys(value))}
            assert documents_with_keys(store, list(keys)) == expected

    def test_any_number_of_documents_may_have_a_value(self, store: Store) -> None:
        put(store, *[record(f"{number:05d}", 42) for number in range(3000)], record("other", 43))
        assert counts_with_keys(store, probes(42, 3)) == {42: 3000, 43: 1}
        assert holders_of(store, [42]) == [Ref(f"{number:05d}") for number in range(3000)]
        assert store.stats().distinct == 2

    def test_short_documents_are_left_out_unless_asked_for(self, store: Store) -> None:
        put(store, record("long", 1), record("short", 1, short=True), record("alone", 2, short=True))
        keys = [*simhash_keys(1), *simhash_keys(2)]
        every = {Ref("alone"): 2, Ref("long"): 1, Ref("short"): 1}
        assert documents_with_keys(store, keys) == {Ref("long"): 1}
        assert documents_with_keys(store, keys, include_short=True) == every
        assert values_of(store) == {Ref("long"): 1}
        assert values_of(store, include_short=True) == every

    def test_short_documents_with_the_text_of_a_question_are_found_all_the_same(self, store: Store) -> None:
        text = "The ferry leaves at noon."
        sketch, same = SimhashDoc().sketch(text), text_digest(text).hex()
        named = [(name, same) for name in "abcd"] + [("another text", "0" * 32)]
        own = {SIMHASH_DOC: sketch}
        put(store, *(record(name, None, sketches=own, text_digest=digest, short=True) for name, digest in named))
        rule = parse_rule(f"{SIMHASH_DOC}@3bits")
        for at_least in (None, 0.0):
            found = lookup(store, rule, Question("q", text=text), limit=2, exclude=Ref("b"), at_least=at_least)
            assert ([each.record.ref.id for each in found.matches], found.total) == (["a", "c"], 3)
            assert all(each.identical for each in found.matches)
        stored = Question("a", record=store.get([Ref("a")])[0])
        [other] = lookup_each(store, rule, [stored])
        assert isinstance(other, Answered)
        assert other.answer.total == 4

    def test_a_document_without_fingerprint_matches_nothing(self, store: Store) -> None:
        put(store, record("empty", None), record("zero", 0))
        assert documents_with_keys(store, probes(0, 7)) == values_of(store) == {Ref("zero"): 0}
        assert store.stats().empty == 1

    def test_thousands_of_keys_and_values_may_be_asked_for(self, store: Store) -> None:
        put(store, *[record(f"{number:05d}", number << 20) for number in range(4000)])
        keys = [key for number in range(0, 4000, 2) for key in simhash_keys(number << 20)]
        refs = [Ref(f"{number:05d}") for number in range(5000)]
        found = documents_with_keys(store, keys)
        assert {ref: found[ref] for ref in refs[:4000:2]} == {refs[n]: n << 20 for n in range(0, 4000, 2)}
        assert [r is not None for r in store.get(refs)] == [number < 4000 for number in range(5000)]

    def test_digests_are_found(self, store: Store) -> None:
        put(store, record("a", 1, source_digest="d1"), record("b", 2, source_digest="d2"), record("c", 3))
        found = store.find_digests(["d2", "d1", "d1", "none", ""])
        assert {digest: r.ref.id for digest, r in found.items()} == {"d1": "a", "d2": "b"}
        put(store, record("a", 1, source_digest="d9"))
        assert store.find_digests(["d1"]) == {}
        many = [f"digest-{number}" for number in range(3000)]
        put(store, *[record(f"m{number}", number, source_digest=digest) for number, digest in enumerate(many)])
        assert set(store.find_digests(many)) == set(many)

    # Deleting

    def test_deleting_the_last_document_of_a_value_removes_its_keys(self, store: Store) -> None:
        put(store, record("a", 5), record("b", 5), record("c", 5, short=True))
        assert store.delete([Ref("a"), Ref("none"), Ref("a")]) == 1
        assert documents_with_keys(store, simhash_keys(5)) == {Ref("b"): 5}
        assert store.delete([Ref("b"), Ref("c")]) == 2
        assert documents_with_keys(store, simhash_keys(5), include_short=True) == {}
        assert store.stats().distinct == 0
        put(store, record("d", 5))
        assert documents_with_keys(store, simhash_keys(5)) == {Ref("d"): 5}

    def test_a_document_that_has_changed_since_is_not_deleted(self, store: Store, opened: Callable[..., Store]) -> None:
        names = ["same", "replaced", "annotated", "marked", "gone"]
        put(store, *[record(name, 5) for name in names])
        store.annotate([(Ref("same"), {"x": 1}), (Ref("marked"), {"x": 1})])
        store.put_failures([Failure(Ref(name), name, "reason", "", "2026-01-01T00:00:00Z") for name in names])
        refs = [Ref(name) for name in (*names, "none")]
        found = store.versioned(refs)
        assert [each and each.record and each.record.ref.id for each in found] == [*names, None]
        assert [dict(each.annotations) for each in found if each] == [{"x": 1}, {}, {}, {"x": 1}, {}]
        versions = {ref: each.version for ref, each in zip(refs, found, strict=True) if each}
        # What another one does counts too.
        store.close()
        with opened() as other:
            put(other, record("replaced", 6))
            other.put_failures([Failure(Ref("replaced"), "replaced", "later", "", "2026-01-02T00:00:00Z")])
            other.annotate([(Ref("annotated"), {"x": 1}), (Ref("marked"), {"x": None})])
            other.delete([Ref("gone")])
        with opened() as again:
            assert again.delete(refs, versions=versions) == 1
            assert again.get(refs) == [
                None,
                record("replaced", 6),
                record("annotated", 5),
                record("marked", 5),
                None,
                None,
            ]
            assert [each.ref.id for each in again.failures()] == ["annotated", "marked", "replaced"]
            # One without a version is taken to be gone: then only its failure is left to be forgotten.
            again.put_failures([Failure(Ref("gone"), "gone", "later", "", "2026-01-02T00:00:00Z")])
            assert again.delete([Ref("gone"), Ref("marked")], versions={}) == 0
            assert [each.ref.id for each in again.failures()] == ["annotated", "marked", "replaced"]
            # As it is now it can be deleted.
            [now] = again.versioned([Ref("replaced")])
            assert now
            assert again.delete([Ref("replaced")], versions={Ref("replaced"): now.version}) == 1
            assert again.delete(refs) == 2

    def test_counts_stay_true_over_many_changes(self, store: Store) -> None:
        generator = random.Random(2)
        model: dict[str, Record] = {}
        for _ in range(30):
            batch = [
                record(
                    str(generator.randrange(60)), generator.choice([None, *range(12)]), short=generator.random() < 0.3
                )
                for _ in range(generator.randrange(40))
            ]
            put(store, *batch)
            model.update((each.ref.id, each) for each in batch)
            gone = [str(generator.randrange(80)) for _ in range(generator.randrange(15))]
            assert store.delete([Ref(name) for name in gone]) == len(set(gone) & model.keys())
            for name in gone:
                model.pop(name, None)
            self._agrees(store, list(model.values()))

    @staticmethod
    def _agrees(store: Store, model: Sequence[Record]) -> None:
        assert sorted(store.scan(), key=lambda r: r.ref) == sorted(model, key=lambda r: r.ref)
        everything = [key for value in range(12) for key in simhash_keys(value)]
        for include_short in (False, True):
            expected = {
                each.ref: each.fingerprint.value
                for each in model
                if each.fingerprint and (include_short or not each.short)
            }
            assert documents_with_keys(store, everything, include_short=include_short) == expected
            assert values_of(store, include_short=include_short) == expected
        stats = store.stats()
        assert stats.documents == len(model)
        assert stats.fingerprinted == sum(r.fingerprint is not None for r in model)
        assert stats.distinct == len({r.fingerprint.value for r in model if r.fingerprint})
        assert stats.short == sum(r.short for r in model)
        assert stats.empty == stats.documents - stats.fingerprinted

    # Scanning

    def test_a_scan_is_a_snapshot_and_does_not_stand_in_the_way(self, store: Store) -> None:
        put(store, *[record(f"{number:04d}", number) for number in range(2500)])
        scan, values = store.scan(), store.scan_sketches([SIMHASH_DOC])
        first, batch = next(scan), next(values)
        put(store, record("later", 9999))
        store.delete([Ref("0007")])
        store.annotate([(Ref("0008"), {"x": 1})])
        assert len([first, *scan]) == 2500
        assert len(batch.refs) + sum(len(more.refs) for more in values) == 2500
        assert store.stats().documents == 2500

    def test_scans_keep_their_order(self, store: Store) -> None:
        put(store, *[record(str(number * 31 % 997), number) for number in range(997)])
        assert list(store.scan()) == list(store.scan())
        assert list(values_of(store)) == list(values_of(store))

    def test_values_belong_to_their_refs(self, store: Store) -> None:
        generator = random.Random(3)
        stored = {f"doc-{number}": generator.getrandbits(64) for number in range(2500)}
        put(store, *[record(name, value) for name, value in stored.items()])
        assert {ref.id: value for ref, value in values_of(store).items()} == stored

    # Annotations

    def test_annotations_are_merged(self, store: Store) -> None:
        put(store, record("a", 1), record("b", 2))
        assert store.annotations([Ref("a"), Ref("none")]) == [{}, None]
        assert store.annotate([(Ref("a"), {"cluster": {"id": "c1"}, "n": 1}), (Ref("none"), {"n": 1})]) == 1
        assert store.annotate([(Ref("a"), {"n": None, "m": [1]}), (Ref("a"), {"m": [2]}), (Ref("b"), {"n": 0})]) == 3
        assert store.annotations([Ref("b"), Ref("a")]) == [{"n": 0}, {"cluster": {"id": "c1"}, "m": [2]}]
        assert store.get([Ref("a")]) == [record("a", 1)]

    def test_replacing_or_deleting_drops_annotations(self, store: Store) -> None:
        put(store, record("a", 1), record("b", 1))
        store.annotate([(Ref("a"), {"x": 1}), (Ref("b"), {"x": 1})])
        put(store, record("a", 1))
        store.delete([Ref("b")])
        put(store, record("b", 1))
        assert store.annotations([Ref("a"), Ref("b")]) == [{}, {}]

    def test_an_identical_text_keeps_what_is_known_of_the_document(self, store: Store) -> None:
        said = {"x": 1, "cluster": {"id": "k", "is_canonical": True, "similarity": 1.0, "size_class": "2"}}
        put(store, *[record(name, 1, text_digest="0a") for name in "abc"])
        store.annotate([(Ref(name), said) for name in "abc"])
        put(store, record("a", 1, text_digest="0a", title="new"), record("b", 1, text_digest="0b"), record("c", 1))
        assert store.annotations([Ref(name) for name in "abc"]) == [said, {}, {}]
        assert [ref.id for _, ref in store.cluster_members(["k"])] == ["a"]

    def test_the_time_of_arrival_stays_however_often_a_document_is_replaced(self, store: Store) -> None:
        first, second, third = (f"2026-01-0{day}T00:00:00.000001Z" for day in (1, 2, 3))
        put(store, record("a", 1, indexed_at=second), record("b", 1, indexed_at=second))
        # The later one of one batch, and others after it.
        put(store, record("a", 2, indexed_at=third), record("a", 3, indexed_at=third, text_digest="0a"))
        put(store, record("b", 1, indexed_at=third, first_indexed_at=first))
        a, b = store.get([Ref("a"), Ref("b")])
        assert a == record("a", 3, indexed_at=third, first_indexed_at=second, text_digest="0a")
        assert (a.arrived_at, b and b.arrived_at) == (second, first)
        put(store, record("a", 3, indexed_at=third, text_digest="0a"))
        assert [one and one.arrived_at for one in store.get([Ref("a")])] == [second]
        store.delete([Ref("a")])
        put(store, record("a", 1, indexed_at=third))
        assert [one and one.arrived_at for one in store.get([Ref("a")])] == [third]

    def test_an_annotation_that_is_no_json_is_refused(self, store: Store) -> None:
        put(store, record("a", 1))
        with pytest.raises(UsageError, match="JSON"):
            store.annotate([(Ref("a"), {"x": float("nan")})])
        assert store.annotations([Ref("a")]) == [{}]

    # Failures

    def test_failures_are_kept_until_the_document_is_stored(self, store: Store) -> None:
        failure = Failure(Ref("b"), "dir/b", "encrypted", "needs a password", "2026-01-01T00:00:00Z", "d")
        other = Failure(Ref("a"), "dir/a", "timeout", "60 s", "2026-01-01T00:00:00Z")
        store.put_failures([failure, other])
        assert list(store.failures()) == [other, failure]
        assert store.stats().failures == {"encrypted": 1, "timeout": 1}
        again = Failure(Ref("b"), "dir/b", "broken", "", "2026-01-02T00:00:00Z", "e")
        store.put_failures([again])
        assert list(store.failures()) == [other, again]
        put(store, record("b", 1))
        assert list(store.failures()) == [other]
        assert store.delete([Ref("a")]) == 0
        assert list(store.failures()) == []
