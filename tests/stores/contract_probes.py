"""What every store must find by the keys of sketches, against a slow oracle; a part of the contract."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from indexer.errors import StoreError, UsageError
from indexer.model import SIMHASH_DOC, Record, Ref, Sketch
from indexer.schemes.keys.layout import KeyLayout, SchemeInfo
from indexer.schemes.keys.simhash64 import SIMHASH64_LAYOUT, simhash_keys
from indexer.schemes.keys.simhash64 import probes as keys_near
from indexer.stores import Store
from indexer.stores.sketches import BOUND, Check, Found, Probe
from tests.stores.made import INFO, put, record

# One key in each table, few enough for chance meetings; and any number of keys, up to all 63 bits.
BANDS = SchemeInfo("bands", "bands:x=1", KeyLayout(tables=4, bits=3))
LOOSE = SchemeInfo("loose-2", "loose-2:x=1", KeyLayout(tables=2, bits=62))
LAYOUTS = {SIMHASH_DOC: SIMHASH64_LAYOUT, BANDS.name: BANDS.layout, LOOSE.name: LOOSE.layout}
ALL = (SIMHASH_DOC, BANDS.name, LOOSE.name)

VALUES = [0, 1, 0b111, 1 << 63, 0xFFFF_0000_FFFF_0000, 0xFFFF_0000_FFFF_0003, 0x0123_4567_89AB_CDEF]


def _banded(number: int) -> Sketch:
    """One of 64 sketches: equal numbers, equal sketches; in each table one of a few keys."""
    keys = tuple(BANDS.layout.pack(table, number >> table & 3) for table in range(4))
    return Sketch(BANDS.id, bytes([number, 255 - number]), keys, 5 + number)


def _loose(places: Sequence[int]) -> Sketch:
    keys = tuple(LOOSE.layout.pack(place & 1, (1 << 62) - 1 - place) for place in places)
    return Sketch(LOOSE.id, repr(keys).encode() * 3, keys, len(keys))


BANDED = [*map(_banded, range(0, 64, 5)), Sketch.without_features(BANDS.id)]
LOOSES = [*map(_loose, ([0], [1], [0, 1], [0, 2, 4], [1, 2, 3, 5])), Sketch.without_features(LOOSE.id)]


@st.composite
def records(draw: st.DrawFn) -> Record:
    """A document of few possible ones: many are equal, some lack schemes, some are short or without words."""
    sketches = {}
    if draw(st.booleans()):
        sketches[BANDS.name] = draw(st.sampled_from(BANDED))
    if draw(st.booleans()):
        sketches[LOOSE.name] = draw(st.sampled_from(LOOSES))
    value = draw(st.sampled_from([None, *VALUES]))
    short = draw(st.sampled_from([False, False, False, True]))
    return record(draw(st.sampled_from("abcdefghijklmnop")), value, short=short, sketches=sketches)


# What is done to a store: documents are put, in calls of their own, or deleted.
HISTORIES = st.lists(
    st.one_of(st.lists(records(), max_size=12), st.lists(st.sampled_from("abcdefghijklmnop"), max_size=4)), max_size=5
)


@st.composite
def asked(draw: st.DrawFn) -> Probe:
    """A probe of any scheme, mostly with keys that documents have."""
    name = draw(st.sampled_from(ALL))
    layout = LAYOUTS[name]
    if name == SIMHASH_DOC:
        keys = keys_near(draw(st.sampled_from([*VALUES, 0b11])), draw(st.integers(0, 4)))
    else:
        made = BANDED if name == BANDS.name else LOOSES
        keys = [key for sketch in draw(st.lists(st.sampled_from(made), max_size=3)) for key in sketch.keys]
        keys += draw(st.lists(st.integers(0, layout.end - 1), max_size=2))
    return Probe(name, keys, draw(st.integers(1, 3)))


def satisfies(each: Record, probe: Probe) -> bool:
    """What a probe means, said slowly."""
    sketch = each.sketches.get(probe.scheme)
    bits = LAYOUTS[probe.scheme].bits
    return sketch is not None and len({key >> bits for key in sketch.keys if key in probe.keys}) >= probe.agreeing


def payloads_of(each: Record, schemes: Iterable[str]) -> dict[str, bytes]:
    """The payloads of a record, empty where it has none."""
    return {name: sketch.payload if (sketch := each.sketches.get(name)) else b"" for name in schemes}


def read(found: Iterable[Found], schemes: Sequence[str]) -> dict[Ref, dict[str, bytes]]:
    """Documents with their payloads; each document once, in rows that fit; records belong to their documents."""
    held: dict[Ref, dict[str, bytes]] = {}
    for place, some in enumerate(found):
        assert set(some.payloads) == set(schemes)
        assert all(len(rows) == len(some.refs) and rows.values.dtype == np.uint8 for rows in some.payloads.values())
        assert (some.lacking is None) == (place > 0)
        for number, ref in enumerate(some.refs):
            assert ref not in held
            held[ref] = {name: rows.bytes_of(number) for name, rows in some.payloads.items()}
        if some.records is not None:
            assert [each.ref for each in some.records] == list(some.refs)
    return held


def carry_out(store: Store, history: Sequence[Sequence[Record | str]]) -> dict[str, Record]:
    """Do to an empty store what a history says; what it then holds."""
    model: dict[str, Record] = {}
    for step in history:
        gone = [each for each in step if isinstance(each, str)]
        store.delete([Ref(name) for name in gone])
        put(store, *[each for each in step if isinstance(each, Record)])
        for name in gone:
            model.pop(name, None)
        model.update((each.ref.id, each) for each in step if isinstance(each, Record))
    return model


def agree(store: Store, data: st.DataObject) -> None:
    """Make a store, ask it all, compare it with the oracle, and leave it empty."""
    model = carry_out(store, data.draw(HISTORIES))
    try:
        for include_short in (False, True):
            listed = [each for each in model.values() if include_short or not each.short]
            _probing(store, data, listed, include_short=include_short)
            _scanning(store, data, listed, include_short=include_short)
        assert store.lacking(ALL) == lacking(model.values(), ALL)
    finally:
        store.delete([each.ref for each in store.scan()])
    assert store.lacking(ALL) == dict.fromkeys(ALL, 0)
    assert all(not list(some.refs) for some in store.scan_sketches(ALL))


def lacking(held: Iterable[Record], schemes: Iterable[str]) -> dict[str, int]:
    """How many documents could be compared if they had a sketch."""
    compared = [each for each in held if each.fingerprint and not each.short]
    return {name: sum(each.sketches.get(name) is None for each in compared) for name in schemes}


def _probing(store: Store, data: st.DataObject, listed: Sequence[Record], *, include_short: bool) -> None:
    questions = data.draw(st.lists(st.lists(asked(), max_size=3), max_size=3))
    schemes = data.draw(st.lists(st.sampled_from(ALL), unique=True))
    expected = [
        {each.ref: payloads_of(each, schemes) for each in listed if any(satisfies(each, probe) for probe in probes)}
        for probes in questions
    ]
    bare = {each.ref: each.without_sketches() for each in listed}
    for probes, wanted in zip(questions, expected, strict=True):
        answers = list(store.probe(probes, schemes, include_short=include_short))
        assert read(answers, schemes) == wanted
        for some in answers:
            assert some.records is None or list(some.records) == [bare[ref] for ref in some.refs]
        lacking = answers[0].lacking
        assert lacking == store.lacking([*schemes, *(probe.scheme for probe in probes)])
    many = [list(some) for some in store.probe_many(questions, schemes, include_short=include_short)]
    assert [read(some, schemes) for some in many] == expected
    for probes, answers in zip(questions, many, strict=True):
        assert all(some.records is None or list(some.records) == [bare[ref] for ref in some.refs] for some in answers)
        assert answers[0].lacking == store.lacking([*schemes, *(probe.scheme for probe in probes)])


def _scanning(store: Store, data: st.DataObject, listed: Sequence[Record], *, include_short: bool) -> None:
    schemes = data.draw(st.lists(st.sampled_from(ALL), unique=True))
    keyed = data.draw(st.lists(st.sampled_from(schemes), unique=True)) if schemes else []
    payloads: dict[Ref, dict[str, bytes]] = {}
    keys: dict[Ref, dict[str, list[int]]] = {}
    for some in store.scan_sketches(schemes, keys=keyed, include_short=include_short):
        assert set(some.payloads) == set(schemes)
        assert set(some.keys) == set(keyed)
        assert all(rows.values.dtype == np.int64 for rows in some.keys.values())
        for place, ref in enumerate(some.refs):
            assert ref not in payloads
            payloads[ref] = {name: rows.bytes_of(place) for name, rows in some.payloads.items()}
            keys[ref] = {name: sorted(rows.row(place).tolist()) for name, rows in some.keys.items()}
    having = [each for each in listed if any(payloads_of(each, schemes).values())]
    assert payloads == {each.ref: payloads_of(each, schemes) for each in having}
    assert keys == {each.ref: {name: _keys_of(each, name) for name in keyed} for each in having}


def _keys_of(each: Record, name: str) -> list[int]:
    sketch = each.sketches.get(name)
    return sorted(sketch.keys) if sketch else []


# More than any store reads at once.
MANY = 20_500


def spread(number: int) -> int:
    """A fingerprint that shares no key with those of other small numbers."""
    return number * 0x9E37_79B9_7F4A_7C15 % 2**64


SLOWLY = settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))


class ProbeContract:
    """Inherited by the whole contract, which has the fixtures `store` and `opened`."""

    @SLOWLY
    @given(data=st.data())
    def test_sketches_are_found_as_a_slow_oracle_finds_them(self, store: Store, data: st.DataObject) -> None:
        store.add_scheme(BANDS)
        store.add_scheme(LOOSE)
        agree(store, data)

    def test_a_scheme_that_came_late_is_lacking(self, opened: Callable[..., Store]) -> None:
        banded = {BANDS.name: BANDED[0]}
        with opened(create=INFO) as store:
            put(store, record("a", 1), record("b", 2, short=True), record("c", None))
            assert store.lacking([SIMHASH_DOC]) == {SIMHASH_DOC: 0}
            store.add_scheme(BANDS)
            assert store.lacking([BANDS.name, SIMHASH_DOC]) == {BANDS.name: 1, SIMHASH_DOC: 0}
            put(store, record("d", 3, sketches=banded), record("b", 2, short=True, sketches=banded))
            put(store, record("e", 4, sketches={BANDS.name: Sketch.without_features(BANDS.id)}))
            [found] = store.probe([Probe(BANDS.name, BANDED[0].keys)], [SIMHASH_DOC])
            assert (list(found.refs), found.lacking) == ([Ref("d")], {SIMHASH_DOC: 0, BANDS.name: 1})
            put(store, record("a", 1, sketches=banded))
            assert store.lacking([BANDS.name]) == {BANDS.name: 0}
            put(store, record("d", 3))
        with opened(read_only=True) as store:
            assert store.lacking([BANDS.name]) == {BANDS.name: 1}
            [found] = store.probe([Probe(BANDS.name, ())])
            assert (list(found.refs), found.lacking) == ([], {BANDS.name: 1})
        with opened(create=INFO) as store:
            store.remove_scheme(BANDS.name)
            store.add_scheme(BANDS)
            assert store.lacking([BANDS.name]) == {BANDS.name: 3}

    def test_no_window_hides_what_satisfies_a_probe(self, store: Store) -> None:
        store.add_scheme(BANDS)
        made = {BANDS.name: BANDED[1]}
        put(store, *[record(f"{number:05d}", spread(number % 7), sketches=made) for number in range(MANY)])
        asked = [Probe(SIMHASH_DOC, simhash_keys(spread(3))), Probe(BANDS.name, BANDED[1].keys, 4)]
        answers = store.probe(asked, ALL[:2])
        scan = store.scan_sketches([BANDS.name], keys=[BANDS.name])
        first, scanned = next(answers), next(scan)
        put(store, record("later", 1, sketches=made))
        store.delete([Ref("00007"), Ref(f"{MANY - 1:05d}")])
        rest = list(answers)
        assert rest
        assert (first.lacking, first.records) == ({SIMHASH_DOC: 0, BANDS.name: 0}, None)
        held = read([first, *rest], ALL[:2])
        assert sorted(ref.id for ref in held) == [f"{number:05d}" for number in range(MANY)]
        payload = spread(3).to_bytes(8, "big")
        assert held[Ref("00003")] == {SIMHASH_DOC: payload, BANDS.name: BANDED[1].payload}
        assert len(scanned.refs) + sum(len(some.refs) for some in scan) == MANY
        # Of several questions one may find more than fits into an answer that is read at once.
        questions = [asked[:1], asked, [Probe(BANDS.name, BANDED[2].keys, 4)]]
        many = [len(read(some, ())) for some in store.probe_many(questions)]
        assert many == [MANY // 7, MANY - 1, 0]
        # Of what all documents say so many are compared, if no more than one stands for all equal ones.
        bounded = [Probe(BANDS.name, BANDED[1].keys, common=1000)]
        compared = list(store.probe(bounded, [BANDS.name]))
        there = len(read(compared, [BANDS.name]))
        assert there == (BOUND if compared[0].set_aside else MANY - 1)
        assert not any(found.set_aside for found in compared[1:])

    def test_common_keys_do_not_hide_rare_ones(self, store: Store) -> None:
        store.add_scheme(LOOSE)
        # Key 0 is in every document, key 2 in every third, 4 in two, and one more of its own in each.
        held = {
            f"{number:02d}": _loose([0, *[2] * (number % 3 == 0), *[4] * (number in (7, 8)), 100 + number])
            for number in range(30)
        }
        put(store, *[record(name, spread(int(name)), sketches={LOOSE.name: made}) for name, made in held.items()])
        every, third, two, one, gone = (_loose([number]).keys for number in (0, 2, 4, 105, 99))
        for keys, common, expected, set_aside in (
            ([*every, *third, *two], 0, [*held], 0),
            ([*every, *third, *two], 30, [*held], 0),
            ([*every, *third, *two], 10, [name for name in held if name in ("07", "08") or int(name) % 3 == 0], 1),
            ([*every, *third, *two], 5, ["07", "08"], 2),
            ([*every, *one], 10, ["05"], 1),
            ([*gone, *every], 10, [], 1),
            # Of common ones only the rarest are asked for, as far as the bound goes.
            ([*every], 10, [*held], 1),
            ([*every, *third], 5, [*held], 2),
        ):
            probe = Probe(LOOSE.name, keys, common=common)
            [many, none] = (list(some) for some in store.probe_many([[probe], [Probe(LOOSE.name, gone)]], [LOOSE.name]))
            for answers in (list(store.probe([probe], [LOOSE.name])), many):
                assert sorted(ref.id for ref in read(answers, [LOOSE.name])) == expected, (keys, common)
                assert [found.set_aside for found in answers] == [set_aside], (keys, common)
            assert [(list(found.refs), found.set_aside) for found in none] == [([], 0)]
        # Each finder of a rule sets its own aside.
        both = [Probe(LOOSE.name, [*every, *two], common=5), Probe(SIMHASH_DOC, simhash_keys(spread(3)))]
        [found] = store.probe(both)
        assert ({ref.id for ref in found.refs}, found.set_aside) == ({"03", "07", "08"}, 1)

    def test_a_document_comes_once_however_many_probes_it_satisfies(self, store: Store) -> None:
        store.add_scheme(LOOSE)
        few, many = _loose([0]), _loose(range(400))
        put(store, record("few", 1, sketches={LOOSE.name: few}), record("many", 2, sketches={LOOSE.name: many}))
        probes = [Probe(LOOSE.name, _loose(range(number, 400, 8)).keys) for number in range(8)]
        assert set(read(store.probe(probes), ())) == {Ref("few"), Ref("many")}
        assert set(read(store.probe(probes[1:]), ())) == {Ref("many")}

    def test_fifty_questions_at_once(self, store: Store) -> None:
        put(store, *[record(f"{number:03d}", spread(number)) for number in range(120)])
        questions = [[Probe(SIMHASH_DOC, keys_near(spread(number), 3))] for number in range(120)]
        found = [read(some, [SIMHASH_DOC]) for some in store.probe_many(questions, [SIMHASH_DOC])]
        assert [Ref(f"{number:03d}") in each for number, each in enumerate(found)] == [True] * 120
        assert list(store.probe_many([])) == []

    def test_thousands_of_keys_may_be_asked_for_at_once(self, store: Store) -> None:
        store.add_scheme(LOOSE)
        one = {number: _loose([number]) for number in range(0, 300, 3)}
        put(store, *[record(f"{number:03d}", number, sketches={LOOSE.name: made}) for number, made in one.items()])
        keys = [LOOSE.layout.pack(number & 1, (1 << 62) - 1 - number) for number in range(5_000)]
        assert len(read(store.probe([Probe(LOOSE.name, keys)]), ())) == 100
        assert read(store.probe([Probe(LOOSE.name, keys, 2)]), ()) == {}
        both = [Probe(LOOSE.name, keys), Probe(SIMHASH_DOC, [key for n in range(400) for key in simhash_keys(n)])]
        assert len(read(store.probe(both), ())) == 100

    def test_an_engine_may_verify_what_it_finds(self, store: Store) -> None:
        put(store, *[record(f"{bits}", (1 << bits) - 1) for bits in range(12)])
        near = [Probe(SIMHASH_DOC, keys_near(0, 6))]
        try:
            found = {ref.id for ref in read(store.probe(near, check=Check(bytes(8), 2)), ())}
        except UsageError as error:
            # Some engines run no scripts.
            assert "file" in str(error) if store.embedded else "Painless" in str(error)  # noqa: PT017
        else:
            assert not store.embedded
            assert found == {"0", "1", "2"}

    def test_what_is_not_there_is_refused(self, store: Store) -> None:
        store.add_scheme(BANDS)
        for ask in (
            lambda: list(store.probe([Probe("other", [1])])),
            lambda: list(store.probe([], ["other"])),
            lambda: list(store.scan_sketches(["other"])),
            lambda: list(store.scan_sketches([BANDS.name], keys=["other"])),
            lambda: store.lacking(["other"]),
        ):
            with pytest.raises(UsageError, match=r"'other'.*bands"):
                ask()
        store.close()
        for ask in (
            lambda: list(store.probe([Probe(BANDS.name, [1])])),
            lambda: list(store.probe([])),
            lambda: list(store.scan_sketches([BANDS.name])),
            lambda: store.lacking([SIMHASH_DOC]),
        ):
            with pytest.raises(StoreError, match="closed"):
                ask()
