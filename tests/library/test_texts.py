"""What needs no store, against slow ways to the same answers."""

from __future__ import annotations

import pickle
import random
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import indexer
from indexer.core.sketches import simhash
from indexer.core.text import lookup8
from indexer.errors import UsageError
from indexer.library.memory import MemoryIndex
from indexer.schemes.registry import scheme
from tests.cli.written import changed, prose
from tests.relations.filled import COPIES, forms

TEXTS = [prose(1), changed(prose(1)), prose(2), "", "!?", prose(1), changed(prose(2), 150), prose(3)]


def texts_of(seed: int, count: int = 60) -> list[str]:
    """Texts of which many are near to others, by more or less."""
    draw = random.Random(seed)
    words = [prose(number, 60).split() for number in range(6)]
    found = []
    for _ in range(count):
        text = list(draw.choice(words))
        for _ in range(draw.choice((0, 1, 2, 4, 8))):
            text[draw.randrange(len(text))] = f"w{draw.randrange(9)}"
        found.append(" ".join(text))
    return found


def slow_pairs(texts: list[Any], threshold: float) -> dict[tuple[int, int], float]:
    made = scheme("minhash")
    found = [made.sketch(text) for text in texts]
    return {
        (i, j): value
        for i, one in enumerate(found)
        for j, other in enumerate(found[:i])
        if one and other and (value := float(made.similarities(one.payload, [other.payload])[0])) >= threshold
    }


def test_fingerprints_are_those_of_each_text() -> None:
    found = indexer.fingerprints(TEXTS)
    assert found.values.dtype == np.uint64
    assert found.mask.tolist() == [bool(text.strip("!?")) for text in TEXTS]
    for text, value, there in zip(TEXTS, found.values.tolist(), found.mask.tolist(), strict=True):
        one = indexer.fingerprint(text)
        assert (one.value if one else 0) == value
        assert (one is not None) == there
    none = indexer.fingerprints([])
    assert none.values.shape == none.mask.shape == (0,)


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_the_answer_does_not_depend_on_the_threads(threads: int) -> None:
    texts = texts_of(1, 300)
    assert np.array_equal(
        indexer.fingerprints(iter(texts), threads=threads).values, indexer.fingerprints(texts, threads=1).values
    )
    assert np.array_equal(indexer.dedupe(texts, threads=threads).of, indexer.dedupe(texts, threads=1).of)
    assert indexer.pairs_of(texts, threads=threads) == indexer.pairs_of(texts, threads=1)


def test_threads_that_are_none_are_refused() -> None:
    with pytest.raises(UsageError, match="threads"):
        indexer.fingerprints(TEXTS, threads=0)


def test_an_error_in_a_thread_reaches_the_caller() -> None:
    for threads in (1, 3):
        with pytest.raises(UsageError, match="neither a text nor features"):
            indexer.fingerprints([*TEXTS * 100, 7], threads=threads)  # type: ignore[list-item]


@pytest.mark.parametrize("name", ["minhash", "simhash:bits=128", "spotsigs"])
def test_sketches_are_those_of_the_scheme(name: str) -> None:
    made = scheme(name)
    found = indexer.sketches(TEXTS, name)
    singles = [made.sketch(text) for text in TEXTS]
    assert found.mask.tolist() == [each is not None for each in singles]
    assert [found.payloads.bytes_of(place) for place in range(len(TEXTS))] == [
        each.payload if each else b"" for each in singles
    ]
    left, right = np.mgrid[: len(TEXTS), : len(TEXTS)].reshape(2, -1)
    for i, j, value in zip(left.tolist(), right.tolist(), found.similarities(left, right).tolist(), strict=True):
        one, other = singles[i], singles[j]
        if one and other:
            assert value == pytest.approx(made.similarities(one.payload, [other.payload])[0])
        else:
            assert np.isnan(value)


def test_sketches_of_one_length_are_a_matrix() -> None:
    found = indexer.sketches(TEXTS)
    assert found.matrix.shape == (len(TEXTS), 128)
    assert found.matrix[3].any() == found.mask[3] == False  # noqa: E712 - of numpy's type
    assert found.matrix[0].tobytes() == found.payloads.bytes_of(0)
    assert indexer.sketches([]).matrix.shape == (0, 0)


@pytest.mark.parametrize("seed", range(4))
def test_pairs_are_all_that_are_near(seed: int) -> None:
    texts = texts_of(seed)
    found = {(pair.right, pair.left): pair.similarity for pair in indexer.pairs_of(texts, "minhash@0.7")}
    wanted = slow_pairs(texts, 0.7)
    assert found.items() <= wanted.items()
    # 16 bands of four rows find 98.8% of the pairs at 0.7, and all but 22 in 100,000 from 0.8 on.
    assert {pair for pair, value in wanted.items() if value >= 0.8} <= found.keys()
    assert len(found) >= 0.9 * len(wanted)


def test_pairs_come_in_order_and_once() -> None:
    found = [(pair.left, pair.right) for pair in indexer.pairs_of(TEXTS)]
    assert found == [(0, 1), (0, 5), (1, 5), (2, 6)]
    assert [(pair.left, pair.right) for pair in indexer.pairs_of(TEXTS, collapse=True)] == [(0, 1), (0, 5), (2, 6)]


# Which to keep by sketches alone: texts with other words in a few places are forms.
by_sketch = partial(indexer.dedupe, verify="sketch")


def test_which_to_keep() -> None:
    assert by_sketch(TEXTS).of.tolist() == [0, 0, 2, 3, 4, 0, 2, 7]
    assert by_sketch(TEXTS).kept.tolist() == [0, 2, 3, 4, 7]
    assert by_sketch(iter(TEXTS)).mask.tolist() == [True, False, True, True, True, False, False, True]
    assert by_sketch(TEXTS, keep="last").of.tolist() == [5, 5, 6, 3, 4, 5, 6, 7]
    longer = [*TEXTS, prose(1) + " and more"]
    assert by_sketch(longer, keep="longest").of.tolist()[:2] == [8, 8]
    copies = by_sketch(TEXTS).copies
    assert [(each.position, each.of) for each in copies] == [(1, 0), (5, 0), (6, 2)]
    assert copies[1].similarity == 1
    assert 0.6 <= copies[0].similarity < 1
    with pytest.raises(UsageError, match="keep"):
        by_sketch(TEXTS, keep="some")  # type: ignore[arg-type]


@pytest.mark.parametrize("one_shot", [False, True])
def test_copies_go_and_forms_stay(one_shot: bool) -> None:
    filled, draw = forms(200), random.Random(1)
    copies = [COPIES[number % 3](filled[7 * number], draw) for number in range(24)]
    texts = [*filled, *copies]
    found = indexer.dedupe(iter(texts) if one_shot else texts)
    assert found.kept.tolist() == list(range(200))
    assert found.of[200:].tolist() == [7 * number for number in range(24)]
    assert {found.relations[place].word for place in range(200, 224)} == {"identical", "reflowed"}
    assert {(copy.relation, copy.evidence) for copy in found.copies} == {("identical", ""), ("reflowed", "")}
    again = indexer.dedupe([*texts, filled[0], *copies])
    assert again.relations[224].word == "identical"
    assert [again.relations[place].word for place in range(225, 249)] == [
        found.relations[place].word for place in range(200, 224)
    ]
    assert len(found.reasons) > 100
    assert all("form: " in reason or "reworded: " in reason for reason in found.reasons.values())
    assert dict(pickle.loads(pickle.dumps(found.reasons))) == dict(found.reasons)
    with pytest.raises(KeyError):
        found.reasons[len(texts)]
    assert indexer.dedupe(texts, remove="identical,reflowed,noise,form").kept.size < 150
    with pytest.raises(UsageError, match="verify='words': is text or sketch"):
        indexer.dedupe(texts, verify="words")  # type: ignore[arg-type]


def test_a_text_that_says_less_goes_only_where_that_is_asked_for() -> None:
    whole = prose(1, 200)
    for more in (f"{whole} and so on.", f"{whole}\n\n{prose(2, 30)}", f"{whole}\n\nWritten by Meyer."):
        assert indexer.dedupe([whole, more]).of.tolist() == [0, 1]
        assert indexer.dedupe([more, whole]).of.tolist() == [0, 1]
    # What says less goes where that is asked for, whichever comes first.
    assert indexer.dedupe([more, whole], remove="edited").of.tolist() == [0, 0]
    assert indexer.dedupe([whole, more], remove="edited").of.tolist() == [1, 1]


def test_equal_texts_are_copies_whatever_they_hold() -> None:
    assert indexer.dedupe(["", "a", "", "!", "!", None, float("nan"), "a"]).of.tolist() == [0, 1, 0, 3, 3, 5, 6, 1]  # type: ignore[list-item]
    assert indexer.dedupe([]).of.shape == (0,)


@given(st.integers(0, 10_000), st.sampled_from(["first", "last", "longest"]))
@settings(max_examples=25, deadline=None)
def test_what_is_kept_is_kept_again(seed: int, keep: Any) -> None:
    texts = texts_of(seed, 40)
    found = by_sketch(texts, "minhash@0.7", keep=keep, threads=1)
    assert np.array_equal(found.of[found.of], found.of), "a copy is of what is kept"
    made = indexer.sketches(texts, threads=1)
    assert np.array_equal(made.similarities(np.arange(40), found.of), found.similarity)
    assert found.similarity.min() >= 0.7
    again = by_sketch([texts[place] for place in found.kept], "minhash@0.7", keep=keep, threads=1)
    assert again.kept.size == found.kept.size


def test_columns_of_tables_are_texts() -> None:
    table = pa.table({"text": [*TEXTS[:3], None]})
    assert by_sketch(table["text"]).of.tolist() == [0, 0, 2, 3]
    assert by_sketch(table["text"].combine_chunks()).of.tolist() == [0, 0, 2, 3]
    assert by_sketch(np.array(TEXTS[:3])).of.tolist() == [0, 0, 2]
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"text": [*TEXTS[:3], None]})
    assert frame[by_sketch(frame["text"]).mask].index.tolist() == [0, 2, 3]
    for wrong in ("text", b"text", table, frame, 7, {"a": "b"}, {"a", "b"}):
        with pytest.raises(UsageError, match="not a list of texts"):
            by_sketch(wrong)


def test_what_is_missing_is_no_text_and_repeats_nothing() -> None:
    for missing in (None, float("nan")):
        found = indexer.dedupe([missing, "a tea", missing, "a tea", ""])
        assert (found.of.tolist(), found.missing.tolist()) == ([0, 1, 2, 1, 4], [0, 2])
        assert repr(found).startswith("2 of 3 texts kept; 2 more are missing")
    assert repr(indexer.dedupe([])) == "0 of 0 texts kept\nno text copy"


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: indexer.dedupe(TEXTS, threshold=0.8), r"dedupe\(\): .*'threshold'; its arguments are texts, match"),
        (lambda: indexer.pairs_of(TEXTS, similarity=0.8), "match='minhash@0.8' says from which similarity"),
        (lambda: indexer.MemoryIndex(similarity=0.8), r"MemoryIndex\(\): .*'similarity'"),
        (lambda: indexer.open("a.neardup", creates=True), r"open\(\): .*'creates'; its arguments are store"),
        (lambda: indexer.MemoryIndex().query(), "missing a required argument: 'text'"),
        (lambda: indexer.dedupe([7]), "7 is neither a text nor features"),
        (lambda: indexer.dedupe([{"id": "a", "text": "b"}]), "of documents give the texts"),
    ],
)
def test_wrong_arguments_are_named(call: Any, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        call()


def test_a_type_error_from_within_stays_one() -> None:
    def broken() -> Any:
        raise TypeError("of the caller's own")
        yield

    with pytest.raises(TypeError, match="own"):
        indexer.dedupe(broken())


def test_a_rule_that_reads_texts_is_refused() -> None:
    for call in (indexer.dedupe, indexer.pairs_of):
        with pytest.raises(UsageError, match="without a store"):
            call(TEXTS, "minhash@0.5+text@0.8")


def test_a_store_has_pairs_of_its_own(tmp_path: Any) -> None:
    with indexer.open(tmp_path / "a.neardup") as collection, pytest.raises(UsageError, match="pairs"):
        indexer.pairs_of(collection.store)  # type: ignore[arg-type]


# Features of one's own


def shingled(text: str) -> list[str]:
    """What another program cuts a text into."""
    return [text[place : place + 9] for place in range(len(text) - 8)]


def test_features_take_the_place_of_texts() -> None:
    features = [shingled(text) for text in TEXTS]
    found = indexer.sketches(features)
    exact = len(set(features[0]) & set(features[1])) / len(set(features[0]) | set(features[1]))
    # Four standard errors of an estimate by 1,024 values.
    assert found.similarities([0], [1])[0] == pytest.approx(exact, abs=0.1)
    assert indexer.dedupe(features, "minhash@0.7").of.tolist() == [0, 0, 2, 3, 4, 0, 2, 7]
    index = indexer.MemoryIndex("minhash@0.7")
    index.insert("one", features[0])
    assert [each.id for each in index.query(features[1])] == ["one"]


def test_tokens_are_hashed_as_the_core_hashes_them() -> None:
    words = ["tea", "with", "milk", "and", "tea"]
    hashes = [lookup8(word.encode()) for word in words]
    wanted = simhash(np.array(hashes, dtype=np.uint64))
    counted = {"tea": 2, "with": 1, "milk": 1, "and": 1}
    for features in (words, [word.encode() for word in words], tuple(words), counted):
        assert indexer.fingerprints([features]).values.tolist() == [wanted]
    assert indexer.fingerprints([words]).values[0] == indexer.fingerprint(" ".join(words)).value  # type: ignore[union-attr]


@given(st.lists(st.integers(-(2**63), 2**64 - 1), min_size=1))
@settings(max_examples=50, deadline=None)
def test_numbers_are_features_of_64_bits(numbers: list[int]) -> None:
    encoded = [(number % 2**64).to_bytes(8, "little") for number in numbers]
    wanted = simhash(np.array([lookup8(each) for each in encoded], dtype=np.uint64))
    assert indexer.fingerprints([numbers], threads=1).values.tolist() == [wanted]


@pytest.mark.parametrize("kind", [np.int32, np.int64, np.uint16, np.uint64, ">i8"])
def test_arrays_of_numbers_are_features(kind: Any) -> None:
    numbers = [3, 7, 7, 250]
    array = np.array(numbers, dtype=kind)
    assert indexer.fingerprints([array]).values[0] == indexer.fingerprints([numbers]).values[0]


def test_what_is_no_feature_is_refused() -> None:
    wrong: list[Any] = [[1.5], [None], [2**64], [["a"]], {"a": 0}, {"a": 1.5}, {"a": -1}, np.array([1.5])]
    for features in wrong:
        with pytest.raises(UsageError, match="feature"):
            indexer.fingerprints([features])
    with pytest.raises(UsageError, match="spotsigs: reads texts"):
        indexer.sketches([["a"]], "spotsigs")


def test_no_features_are_no_text() -> None:
    assert indexer.fingerprints([[], {}, np.empty(0, dtype=np.int64), set()]).mask.tolist() == [False] * 4


def test_a_generator_is_read_a_little_ahead_only() -> None:
    read = 0

    def endless() -> Iterator[str]:
        nonlocal read
        while True:
            read += 1
            yield prose(1)

    from indexer.library.making import all_sketches

    found = all_sketches(endless(), {"minhash": scheme("minhash")}, 2)
    for _ in range(10):
        next(found)
    assert read <= 64 * 6
    found.close()  # type: ignore[attr-defined]


@given(st.integers(0, 10_000), st.sampled_from(["first", "last", "longest"]))
@settings(max_examples=25, deadline=None)
def test_what_is_kept_is_the_greedy_choice_over_all_pairs(seed: int, keep: Any) -> None:
    texts = texts_of(seed, 60)
    edges = {(pair.left, pair.right): pair.similarity for pair in indexer.pairs_of(texts, "minhash@0.7", threads=1)}
    edges |= {(right, left): value for (left, right), value in edges.items()}
    order = sorted(range(60), key=lambda place: {"first": place, "last": -place, "longest": -len(texts[place])}[keep])
    kept: list[int] = []
    memory = indexer.MemoryIndex("minhash@0.7")
    by_memory = []
    for place in order:
        if not any((place, other) in edges for other in kept):
            kept.append(place)
        if not memory.query(texts[place], limit=1):
            memory.insert(place, texts[place])
            by_memory.append(place)
    found = by_sketch(texts, "minhash@0.7", keep=keep, threads=1)
    assert found.kept.tolist() == sorted(kept) == sorted(by_memory)
    for place in set(range(60)) - set(kept):
        # The nearest of the kept ones; of equally near ones the first in the order.
        nearest = max(kept, key=lambda other: (edges.get((place, other), 0.0), -order.index(other)))
        assert (found.of[place], found.similarity[place]) == (nearest, edges[place, nearest])


class Deep(list[Any]):
    """Too deep to be shown, but for this."""

    def __init__(self) -> None:
        inner: list[Any] = []
        for _ in range(9_000):
            inner = [inner]
        super().__init__(inner)

    def __repr__(self) -> str:
        return "Deep()"


ODD = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(), st.binary(), st.just(10**5000), st.builds(object),
    st.lists(st.integers() | st.none()), st.just(np.array(3)), st.just(np.array([])), st.builds(Deep),
)  # fmt: skip


@given(ODD)
@settings(max_examples=30, deadline=None)
def test_whatever_is_given_is_taken_or_refused_in_words(odd: Any) -> None:
    calls: list[Callable[[], object]] = [
        lambda: indexer.fingerprint(odd), lambda: indexer.fingerprints(odd), lambda: indexer.sketches(odd),
        lambda: indexer.sketches(["a"], odd), lambda: indexer.sketches([odd]), lambda: indexer.dedupe(odd),
        lambda: indexer.dedupe([odd]), lambda: indexer.dedupe(["a"], odd), lambda: indexer.dedupe([], keep=odd),
        lambda: indexer.pairs_of(odd), lambda: indexer.pairs_of(["a"], odd), lambda: indexer.parse_rule(odd),
        lambda: indexer.find_pairs([1, 2], odd), lambda: indexer.find_pairs(odd), lambda: MemoryIndex(odd),
        lambda: indexer.HammingIndex(odd), lambda: indexer.HammingIndex([1], odd),
        lambda: MemoryIndex().insert(odd, "a"), lambda: MemoryIndex().insert("a", odd),
        lambda: MemoryIndex().insert_many(odd), lambda: MemoryIndex().insert_many([odd]),
        lambda: MemoryIndex().query("a", limit=odd), lambda: MemoryIndex().query("a", at_least=odd),
    ]  # fmt: skip
    if not (isinstance(odd, int) and odd > 0):
        calls += [lambda: indexer.find_pairs([1, 2], 3, odd), lambda: indexer.dedupe(["a"], threads=odd)]
    for call in calls:
        with suppress(UsageError):
            call()
