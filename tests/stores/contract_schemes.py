"""What every store must do with secondary schemes, and with resources; a part of the contract."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping, Sequence

import pytest

from indexer.errors import IncompatibleStoreError, StoreError, UsageError
from indexer.model import SIMHASH_DOC, Record, Ref, Sketch
from indexer.schemes.keys.layout import KeyLayout, SchemeInfo
from indexer.stores import PutStatus, Store
from indexer.stores.sketches import Probe
from tests.stores.made import INFO, put, record

# Small keys, so that chance meetings happen; and keys that need all 63 bits.
SMALL = SchemeInfo("small", "small:x=1", KeyLayout(tables=4, bits=4))
WIDE = SchemeInfo("wide-2", "wide-2:seed=0,words=5", KeyLayout(tables=2, bits=62))


def sketch(scheme: SchemeInfo, *keys: int, payload: bytes = b"\0\xff payload") -> Sketch:
    """A sketch with keys given as table * 100 + key."""
    packed = tuple(scheme.layout.pack(*divmod(key, 100)) for key in keys)
    return Sketch(scheme.id, payload if keys else b"", packed, 7 * len(keys))


def found(
    store: Store, scheme: SchemeInfo, keys: Sequence[int], *, agreeing: int = 1, include_short: bool = False
) -> dict[str, bytes]:
    """The documents that share keys, each of them once, with their payloads."""
    packed = [scheme.layout.pack(*divmod(key, 100)) for key in keys]
    probe = Probe(scheme.name, packed, agreeing)
    pairs = [
        (ref.id, some.payloads[scheme.name].bytes_of(place))
        for some in store.probe([probe], [scheme.name], include_short=include_short)
        for place, ref in enumerate(some.refs)
    ]
    assert len(dict(pairs)) == len(pairs)
    return dict(pairs)


def scanned(store: Store, name: str, **options: bool) -> dict[str, tuple[bytes, tuple[int, ...]]]:
    """Payload and keys of every document with a sketch."""
    return {
        ref.id: (batch.payloads[name].bytes_of(place), tuple(sorted(batch.keys[name].row(place).tolist())))
        for batch in store.scan_sketches([name], keys=[name], **options)
        for place, ref in enumerate(batch.refs)
    }


def sketches(*each: tuple[SchemeInfo, Sketch]) -> Mapping[str, Sketch]:
    return {scheme.name: made for scheme, made in each}


class StoreSchemeContract:
    """Inherited by the whole contract, which has the fixtures `store` and `opened`."""

    def test_schemes_are_added_once_and_remembered(self, opened: Callable[..., Store]) -> None:
        with opened(create=INFO) as store:
            assert store.info.schemes == ()
            store.add_scheme(SMALL)
            store.add_scheme(WIDE)
            store.add_scheme(SMALL)
            assert store.info.schemes == (SMALL, WIDE)
            with pytest.raises(IncompatibleStoreError, match=r"small:x=1.*small:x=2"):
                store.add_scheme(SchemeInfo("small", "small:x=2", SMALL.layout))
        # Whoever opens it to write, with or without them, finds them there.
        with opened(create=INFO) as store:
            assert store.info.schemes == (SMALL, WIDE)
        with opened(read_only=True) as store:
            assert store.info.schemes == (SMALL, WIDE)
            for write in (
                lambda: store.add_scheme(SchemeInfo("third", "third", SMALL.layout)),
                lambda: store.remove_scheme("small"),
                lambda: store.put_resource("r", b""),
            ):
                with pytest.raises(StoreError, match="read-only"):
                    write()

    def test_sketches_come_back_as_they_were(self, store: Store) -> None:
        store.add_scheme(SMALL)
        store.add_scheme(WIDE)
        wide = Sketch(WIDE.id, bytes(range(256)) * 8, (0, 2**62 - 1, 2**62, 2**63 - 1), 123_456)
        both = record("both", 1, sketches=sketches((SMALL, sketch(SMALL, 3, 105, 115)), (WIDE, wide)))
        one = record("one", 2, source_digest="d", sketches=sketches((SMALL, sketch(SMALL, 1))))
        none, featureless = record("none", 3), record("bare", 4, sketches=sketches((SMALL, sketch(SMALL))))
        wordless = record("wordless", None, sketches=sketches((SMALL, Sketch.without_features(SMALL.id))))
        everything = [both, one, none, featureless, wordless]
        assert put(store, *everything) == [PutStatus.CREATED] * 5
        assert store.get([each.ref for each in everything]) == everything
        assert sorted(store.scan(), key=lambda r: r.ref) == sorted(everything, key=lambda r: r.ref)
        assert store.find_digests(["d"]) == {"d": one}
        assert store.sketch_counts() == {"small": 4, "wide-2": 1}
        [alone] = store.get([both.ref], sketches=False)
        assert alone == record("both", 1).without_sketches()
        assert {r.ref: r for r in store.scan(sketches=False)} == {r.ref: r.without_sketches() for r in everything}
        assert scanned(store, "wide-2") == {"both": (wide.payload, wide.keys)}

    @pytest.mark.parametrize(
        "bad",
        [
            pytest.param({"other": sketch(SMALL, 1)}, id="a-scheme-that-is-not-there"),
            pytest.param({"small": Sketch("small:x=2", b"p", (1,), 1)}, id="other-parameters"),
            pytest.param({"small": Sketch(SMALL.id, b"p", (), 1)}, id="no-keys"),
            pytest.param({"small": Sketch(SMALL.id, b"", (1,), 1)}, id="no-payload"),
            pytest.param({"small": Sketch(SMALL.id, b"p", (64,), 1)}, id="a-key-past-the-layout"),
            pytest.param({"small": Sketch(SMALL.id, b"p", (-1,), 1)}, id="a-negative-key"),
            pytest.param({"small": Sketch(SMALL.id, b"p" * (17 << 20), (1,), 1)}, id="17-MB"),
        ],
    )
    def test_a_sketch_that_does_not_fit_is_refused(self, store: Store, bad: Mapping[str, Sketch]) -> None:
        store.add_scheme(SMALL)
        results = list(store.put([record("bad", 1, sketches=bad), record("good", 2)]))
        assert [result.status for result in results] == [PutStatus.FAILED, PutStatus.CREATED]
        assert results[0].reason
        assert store.get([Ref("bad")]) == [None]

    def test_documents_that_share_keys_are_found(self, store: Store) -> None:
        store.add_scheme(SMALL)
        put(
            store,
            record("a", 1, sketches=sketches((SMALL, sketch(SMALL, 1, 101, 201, 301, payload=b"A")))),
            record("b", 2, sketches=sketches((SMALL, sketch(SMALL, 1, 101, 202, 302, payload=b"B")))),
            # Several keys of one table count once.
            record("c", 3, sketches=sketches((SMALL, sketch(SMALL, 1, 2, 3, 103, payload=b"C")))),
            record("d", 4, short=True, sketches=sketches((SMALL, sketch(SMALL, 1, 101, payload=b"D")))),
            record("e", 5, sketches=sketches((SMALL, sketch(SMALL)))),
            record("f", 6),
        )
        assert found(store, SMALL, [1]) == {"a": b"A", "b": b"B", "c": b"C"}
        assert found(store, SMALL, [1, 2, 3, 101], agreeing=2) == {"a": b"A", "b": b"B"}
        assert found(store, SMALL, [1, 101, 201, 302], agreeing=3) == {"a": b"A", "b": b"B"}
        assert found(store, SMALL, [1, 101, 201, 301], agreeing=4) == {"a": b"A"}
        assert found(store, SMALL, [1], agreeing=2) == {}
        assert found(store, SMALL, [101, 1], agreeing=2, include_short=True) == {"a": b"A", "b": b"B", "d": b"D"}
        assert found(store, SMALL, [15, 315]) == found(store, SMALL, []) == {}
        assert set(scanned(store, "small")) == {"a", "b", "c"}
        assert set(scanned(store, "small", include_short=True)) == {"a", "b", "c", "d"}
        with pytest.raises(UsageError, match=r"'other'.*small"):
            list(store.scan_sketches(["other"]))

    def test_no_window_hides_documents_of_a_frequent_key(self, store: Store) -> None:
        store.add_scheme(SMALL)
        made = sketches((SMALL, sketch(SMALL, 1, 101)))
        put(store, *[record(f"{number:05d}", number, sketches=made) for number in range(2_500)])
        assert len(found(store, SMALL, [1])) == 2_500
        assert len(found(store, SMALL, [1, 101], agreeing=2)) == 2_500
        batches = store.probe([Probe("small", [SMALL.layout.pack(0, 1)])], ["small"])
        first = next(batches)
        put(store, record("later", 1, sketches=made))
        store.delete([Ref("00007")])
        assert len(first.refs) + sum(len(batch.refs) for batch in batches) == 2_500
        assert len(scanned(store, "small")) == 2_500

    def test_replacing_deleting_and_removing_leave_nothing_behind(self, store: Store) -> None:
        generator = random.Random(4)
        store.add_scheme(SMALL)
        store.add_scheme(WIDE)
        model: dict[str, Record] = {}
        for _ in range(8):
            batch = [self._random_record(generator) for _ in range(generator.randrange(30))]
            put(store, *batch)
            model.update((each.ref.id, each) for each in batch)
            gone = [str(generator.randrange(60)) for _ in range(generator.randrange(10))]
            store.delete([Ref(name) for name in gone])
            for name in gone:
                model.pop(name, None)
            self._agree(store, model.values())
        store.remove_scheme("small")
        store.remove_scheme("small")
        assert store.info.schemes == (WIDE,)
        assert "small" not in store.sketch_counts()
        assert all("small" not in r.sketches for r in store.scan())
        # The name is free again, for other parameters too, and what was kept under it does not come back.
        again = SchemeInfo("small", "small:x=2", SMALL.layout)
        store.add_scheme(again)
        assert scanned(store, "small") == found(store, again, range(16)) == {}
        put(store, record("0", 1, sketches={"small": Sketch(again.id, b"new", (5,), 1)}))
        assert found(store, again, range(16)) == {"0": b"new"}

    @staticmethod
    def _random_record(generator: random.Random) -> Record:
        made = {}
        if generator.random() < 0.8:
            every = [table * 100 + key for table in range(4) for key in range(8)]
            keys = generator.sample(every, generator.randrange(6))
            made["small"] = sketch(SMALL, *keys, payload=generator.randbytes(5))
        if generator.random() < 0.3:
            made["wide-2"] = sketch(WIDE, generator.randrange(9), 100 + generator.randrange(9))
        value = generator.choice([None, *range(5)])
        return record(str(generator.randrange(50)), value, short=generator.random() < 0.2, sketches=made)

    @staticmethod
    def _agree(store: Store, model: Iterable[Record]) -> None:
        kept = {r.ref.id: r for r in model}
        refs = [r.ref for r in kept.values()]
        assert [
            r and {name: (s.payload, sorted(s.keys), s.features) for name, s in r.sketches.items()}
            for r in store.get(refs)
        ] == [{name: (s.payload, sorted(s.keys), s.features) for name, s in r.sketches.items()} for r in kept.values()]
        for agreeing in (1, 2):
            asked = {SMALL.layout.pack(table, key) for table in range(4) for key in (0, 3, 6)}
            expected = {
                name
                for name, r in kept.items()
                if not r.short
                and "small" in r.sketches
                and len({key >> 4 for key in asked.intersection(r.sketches["small"].keys)}) >= agreeing
            }
            got = [ref.id for some in store.probe([Probe("small", sorted(asked), agreeing)]) for ref in some.refs]
            assert sorted(got) == sorted(expected)
        listed = scanned(store, "small", include_short=True)
        assert listed == {
            name: (r.sketches["small"].payload, tuple(sorted(r.sketches["small"].keys)))
            for name, r in kept.items()
            if "small" in r.sketches and r.sketches["small"].keys
        }

    def test_annotations_leave_sketches_alone(self, store: Store) -> None:
        store.add_scheme(SMALL)
        put(store, record("a", 1, sketches=sketches((SMALL, sketch(SMALL, 1, 101)))))
        store.annotate([(Ref("a"), {"cluster": {"id": "c", "is_canonical": True, "distance": 0}, "x": 1})])
        assert set(found(store, SMALL, [1])) == {"a"}
        [kept] = store.get([Ref("a")])
        assert kept
        assert set(kept.sketches) == {SIMHASH_DOC, "small"}

    def test_resources_come_back_as_they_were(self, opened: Callable[..., Store]) -> None:
        large = random.Random(5).randbytes(4_300_000)
        with opened(create=INFO) as store:
            assert store.get_resource("corpus") is None
            store.put_resource("corpus", large)
            store.put_resource("lexicon:v=1", b"")
            store.put_resource("corpus.old", b"old")
            store.put_resource("corpus.old", b"new")
            assert store.stats().documents == 0
        with opened(read_only=True) as store:
            assert store.get_resource("corpus") == large
            assert store.get_resource("corpus.old") == b"new"
            assert store.get_resource("lexicon:v=1") == b""
        with opened(create=INFO) as store:
            # A shorter one leaves nothing of the longer one.
            store.put_resource("corpus", large[:3_000_000])
            assert store.get_resource("corpus") == large[:3_000_000]
            for name in ("", "a b", "a#b", "é", "x" * 101):
                with pytest.raises(UsageError, match="name"):
                    store.put_resource(name, b"")
