"""passages: the contract, a slow oracle, the guarantee, and joins that miss no pair."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from indexer.core.sketches import winnowed
from indexer.core.text import lookup8, shingle_hashes, tokenise
from indexer.errors import PayloadError, UsageError
from indexer.model.ragged import Ragged
from indexer.schemes import registry, set_joins
from indexer.schemes.base import Sketches
from indexer.schemes.passages import KEY_BITS, Passages
from indexer.schemes.testing import VOCABULARY, SchemeContract, document, words

MASK = (1 << KEY_BITS) - 1
NUMBERS = st.lists(st.integers(0, 30), max_size=60)


class TestPassages(SchemeContract):
    specification = "passages"
    bad = (
        *("passages:features=x", "passages:features=true", "passages:shingle=0", "passages:shingle=65"),
        *("passages:shingle=2.5", "passages:window=0", "passages:window=1025", "passages:window=x"),
    )
    payload_limit = 5 * 3000


class TestPassagesOfLetters(SchemeContract):
    specification = "passages:features=letters"
    bad = ("passages:features=letters,window=0",)
    payload_limit = 5 * 5000


class TestPassagesOfEveryShingle(SchemeContract):
    specification = "passages:shingle=1,window=1"
    bad = ("passages:shingle=0",)
    payload_limit = 5 * 500


# Winnowing


@given(NUMBERS, st.integers(1, 80))
def test_winnowing_keeps_the_least_of_each_window(numbers: list[int], window: int) -> None:
    size = min(window, len(numbers))
    least = [min(numbers[start : start + size]) for start in range(len(numbers) - size + 1)] if numbers else []
    wanted = [number for place, number in enumerate(least) if place == 0 or number != least[place - 1]]
    given = np.array(numbers, dtype=np.uint64)
    assert winnowed(given, window).tolist() == wanted
    assert given.tolist() == numbers, "what was given stays as it was"


def test_a_window_of_nothing_is_refused() -> None:
    with pytest.raises(UsageError, match="window"):
        winnowed(np.zeros(3, dtype=np.uint64), 0)


def test_rising_and_falling_hashes_take_no_longer_than_others() -> None:
    # One at a time looked for anew, these would take 10,000,000 times 1,000,000 steps.
    many = np.arange(10_000_000, dtype=np.uint64)
    assert winnowed(many, 1_000_000).size == 9_000_001
    assert winnowed(many[::-1], 1_000_000).size == 9_000_001


@pytest.mark.parametrize("parameters", ["", "features=letters", "window=4", "shingle=2,window=9"])
def test_keys_are_the_winnowed_shingles(parameters: str) -> None:
    scheme = registry.scheme(f"passages:{parameters}")
    assert isinstance(scheme, Passages)
    for text in (document(3, 200), "Tea for 2, or 22.", document(4, 40)):
        if scheme.features == "words":
            hashes = shingle_hashes(text, scheme.shingle, numbers=True).tolist()
        else:
            line = b"".join(tokenise(text, numbers=True).tokens).decode()
            runs = [line[at : at + scheme.shingle] for at in range(max(len(line) - scheme.shingle + 1, 1))]
            hashes = [lookup8(run.encode()) for run in runs]
        size = min(scheme.window, len(hashes))
        wanted = sorted({min(hashes[start : start + size]) & MASK for start in range(len(hashes) - size + 1)})
        sketch = scheme.sketch(text)
        assert sketch is not None
        assert sketch.keys == tuple(wanted)
        assert sketch.payload == b"".join(key.to_bytes(5, "big") for key in wanted)
        assert sketch.features == len(wanted)


# The guarantee


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_what_shares_enough_words_in_a_row_shares_a_key(data: st.DataObject) -> None:
    scheme = Passages(shingle=data.draw(st.integers(1, 6)), window=data.draw(st.integers(1, 40)))
    common = data.draw(st.lists(st.sampled_from(VOCABULARY), min_size=scheme.guarantee, max_size=scheme.guarantee + 5))
    keys = []
    for _ in range(2):
        front, back = (data.draw(st.lists(st.sampled_from(VOCABULARY), max_size=80)) for _ in range(2))
        sketch = scheme.sketch(" ".join((*front, *common, *back)))
        assert sketch is not None
        keys.append(set(sketch.keys))
    assert keys[0] & keys[1]


@given(st.data())
@settings(max_examples=30, deadline=None)
def test_letters_see_neither_spaces_nor_hyphens(data: st.DataObject) -> None:
    scheme = Passages(features="letters")
    text = document(data.draw(st.integers(0, 50)), 60)
    draw = random.Random(data.draw(st.integers(0, 50)))
    broken = "".join(
        c + ("-\n" if draw.random() < 0.1 else "") for c in text.replace(" ", draw.choice(("", " ", "  ")))
    )
    assert scheme.sketch(broken) == scheme.sketch(text)


def test_one_letter_less_than_the_guarantee_is_not_enough() -> None:
    """Else the guarantee is not the least number, and should be said as what it is."""
    scheme = Passages(window=8)
    missed = 0
    for seed in range(300):
        common = words(seed, scheme.guarantee - 1)
        texts = (
            " ".join(words(1000 + 2 * seed + side, 60) + common + words(5000 + 2 * seed + side, 60)) for side in (0, 1)
        )
        one, other = (scheme.sketch(text) for text in texts)
        assert one is not None
        assert other is not None
        missed += not set(one.keys) & set(other.keys)
    assert missed


def test_a_part_is_wholly_similar_and_its_whole_only_in_part() -> None:
    scheme = Passages()
    book = " ".join(document(seed, 3000) for seed in range(20))
    chapter = " ".join(book.split()[20_000:21_000])
    parts = [sketch.payload for text in (chapter, book, document(99, 1000)) if (sketch := scheme.sketch(text))]
    [(of_chapter, of_book), (of_other, _)] = scheme.shares(
        Ragged.of_bytes(parts), np.array([0, 0]), np.array([1, 2])
    ).tolist()
    # The windows at the ends reach beyond the chapter in the book.
    assert of_chapter > 0.95
    assert 0.01 < of_book < 0.03
    assert of_other < 0.05
    assert scheme.similarities(parts[0], [parts[1]]).tolist() == [of_chapter]


def test_one_key_of_several_is_no_passage() -> None:
    scheme = Passages()
    payloads = Ragged.of_bytes([b"".join(key.to_bytes(5, "big") for key in keys) for keys in ((7,), (7, 8), (7, 8, 9))])
    left, right = np.array([0, 0, 1, 1]), np.array([0, 1, 1, 2])
    assert scheme.compare(payloads, left, right).tolist() == [1.0, 0.0, 1.0, 1.0]


def test_bytes_out_of_order_are_refused() -> None:
    scheme = Passages()
    sketch = scheme.sketch(document(1))
    assert sketch is not None
    with pytest.raises(PayloadError, match="is damaged"):
        scheme.similarities(sketch.payload, [sketch.payload[5:10] + sketch.payload[:5]])


# Joins


@given(st.lists(st.lists(st.integers(0, 12), min_size=1, max_size=9), max_size=14), st.integers(0, 10))
@settings(deadline=None)
def test_a_join_finds_every_pair_of_which_one_holds_enough_of_the_other(sets: list[list[int]], tenths: int) -> None:
    share = tenths / 10
    met = [
        pair
        for left, right in set_joins.containing(Ragged.of_integers(sets), share)
        for pair in zip(left.tolist(), right.tolist(), strict=True)
    ]
    assert len(set(met)) == len(met)
    near = set()
    for left, one in enumerate(map(set, sets)):
        for right, other in enumerate(map(set, sets)):
            common = len(one & other)
            if left < right and common and common / min(len(one), len(other)) >= share:
                near.add((left, right))
    assert near <= set(met)
    assert all(left < right and set(sets[left]) & set(sets[right]) for left, right in met)


def test_a_join_in_small_blocks_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    draw = random.Random(5)
    sets = Ragged.of_integers([[draw.randrange(60) for _ in range(draw.randrange(1, 20))] for _ in range(200)])
    whole = {tuple(pair) for block in set_joins.containing(sets, 0.3) for pair in np.stack(block, axis=1).tolist()}
    monkeypatch.setattr(set_joins, "_MET_AT_ONCE", 7)
    small = [tuple(pair) for block in set_joins.containing(sets, 0.3) for pair in np.stack(block, axis=1).tolist()]
    assert len(set(small)) == len(small)
    assert set(small) == whole


def test_what_all_hold_costs_nothing_beside_what_is_rare() -> None:
    """A hundred thousand pages with one licence: none of a thousand million pairs is looked at."""
    licence = list(range(20))
    sets = Ragged.of_integers([[*licence, *range(1000 + 30 * page, 1030 + 30 * page)] for page in range(100_000)])
    payloads = Ragged.of_integers([])
    assert list(Passages().join(Sketches(payloads, sets), 0.5)) == []
