"""minhash: the contract, the oracle, the estimate, the bands."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from indexer.core.sketches import BITS, band_keys, equal_parts, fast_minhash, pack
from indexer.core.sketches import minhash as core_minhash
from indexer.core.text import lookup8, tokenise
from indexer.errors import UsageError
from indexer.extract.markup.html import extract_html
from indexer.matching.measures import exact
from indexer.model.ragged import Ragged
from indexer.schemes.minwise import MinwiseScheme, banding_recall, bands_for, estimated, packed_bits
from indexer.schemes.registry import scheme
from indexer.schemes.testing import VOCABULARY, SchemeContract, document

Hashes = npt.NDArray[np.uint64]


class TestMinhash(SchemeContract):
    specification = "minhash"
    bad = (
        *("minhash:bands=0,rows=4", "minhash:bands=true,rows=4", "minhash:bands=x,rows=4", "minhash:bands=300,rows=4"),
        *("minhash:bands=16", "minhash:rows=4", "minhash:rows=300,bands=1", "minhash:minima=rounds"),
        *("minhash:values=0", "minhash:values=1.5", "minhash:values=x", "minhash:values=1000", "minhash:values=8192"),
        *("minhash:shingle=0", "minhash:shingle=65", "minhash:shingle=x", "minhash:bits=3", "minhash:bits=true"),
        *("minhash:threshold=2", "minhash:threshold=0.01", "minhash:threshold=x", "minhash:threshold=0.5,rows=5"),
        *("minhash:numbers=strip", "minhash:numbers=true"),
    )
    payload_limit = 128
    bad_payloads = (b"", b"x", bytes(127), bytes(129))


class TestMinhashOfTwoBits(SchemeContract):
    specification = "minhash:bits=2,values=512,threshold=0.5,numbers=drop,shingle=2"
    bad = ("minhash:bits=32",)
    payload_limit = 128


class TestMinhashOfLetters(SchemeContract):
    specification = "minhash:features=letters,bands=16,rows=3"
    bad = ("minhash:features=x", "minhash:features=letters,numbers=drop", "minhash:features=letters,shingle=0")
    payload_limit = 128


@given(st.integers(0, 50), st.integers(0, 50))
@settings(max_examples=30, deadline=None)
def test_letters_see_neither_spaces_nor_hyphens(number: int, seed: int) -> None:
    letters, draw = scheme("minhash:features=letters"), random.Random(seed)
    text = document(number, 60)
    broken = "".join(c + ("-\n" if draw.random() < 0.1 else "") for c in text.replace(" ", draw.choice(("", "  "))))
    assert letters.sketch(broken) == letters.sketch(text)


@given(st.text(max_size=80) | st.integers(0, 50).map(lambda number: document(number, 60)))
@settings(max_examples=100, deadline=None)
def test_the_sketch_of_letters_is_that_of_the_runs_in_the_text(text: str) -> None:
    letters = scheme("minhash:features=letters,shingle=4")
    plain = text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
    line = b"".join(tokenise(plain, numbers=True).tokens).decode()
    runs = {line[place : place + 4] for place in range(max(1, len(line) - 3))} if line else set()
    hashes = np.array([lookup8(run.encode()) for run in runs], dtype=np.uint64)
    assert letters.sketch(plain) == letters.sketch_features(hashes)


# Estimates are means of many draws: five of their standard errors are passed once in two million times.
ERRORS = 5


def estimate(one: bytes, other: bytes, values: int, bits: int) -> float:
    equal = equal_parts(one, np.frombuffer(other, dtype=np.uint8)[None], bits)
    return float(estimated(equal, values, bits)[0])


def standard_error(similarity: float, values: int, bits: int) -> float:
    """The standard error of an estimate at a similarity (Li and Koenig 2010, equation 11, with c = 2**-b)."""
    chance: float = 2.0**-bits
    share = similarity + (1 - similarity) * chance
    return math.sqrt(share * (1 - share) / values) / (1 - chance)


@dataclass(frozen=True)
class Way:
    """How signatures are made, and their bits kept."""

    minhash: Callable[[Hashes, int], npt.NDArray[np.uint32] | None]
    pack: Callable[[npt.NDArray[np.uint32], int], bytes]

    def signature(self, hashes: Hashes, values: int) -> npt.NDArray[np.uint32]:
        found = self.minhash(hashes, values)
        assert found is not None
        return found


WAYS = (Way(fast_minhash, pack), Way(core_minhash, packed_bits))
ways = pytest.mark.parametrize("way", WAYS, ids=["rounds", "permutations"])


def pair(draw: np.random.Generator, shared: int, left: int, right: int) -> tuple[Hashes, Hashes]:
    """Two random sets that share this many hashes and have this many of their own."""
    hashes = draw.integers(0, 2**64, shared + left + right, dtype=np.uint64)
    return hashes[: shared + left], np.concatenate([hashes[:shared], hashes[shared + left :]])


@ways
@given(st.integers(0, 2**32), st.integers(0, 300), st.integers(1, 200), st.integers(0, 200))
@settings(max_examples=40)
def test_equal_values_are_as_frequent_as_the_jaccard_coefficient(
    way: Way, seed: int, shared: int, left: int, right: int
) -> None:
    draw, values, sets = np.random.default_rng(seed), 512, 40
    equal = 0
    for _ in range(sets):
        one, other = pair(draw, shared, left, right + (shared == 0))
        equal += int(np.count_nonzero(way.signature(one, values) == way.signature(other, values)))
    jaccard = shared / (shared + left + right + (shared == 0))
    error = math.sqrt(jaccard * (1 - jaccard) / (values * sets))
    assert abs(equal / (values * sets) - jaccard) <= ERRORS * error


@ways
@given(st.integers(0, 2**32), st.sampled_from(BITS), st.integers(20, 300), st.integers(20, 200))
@settings(max_examples=40)
def test_the_estimate_from_b_bits_is_unbiased_and_has_the_stated_error(
    way: Way, seed: int, bits: int, shared: int, own: int
) -> None:
    draw, values, sets = np.random.default_rng(seed), 1024, 60
    found = []
    for _ in range(sets):
        one, other = (way.pack(way.signature(side, values), bits) for side in pair(draw, shared, own, 0))
        found.append(estimate(one, other, values, bits))
    jaccard = shared / (shared + own)
    error = standard_error(jaccard, values, bits)
    # Estimates are kept within 0 and 1: to be seen as unbiased, they must not come near.
    assume(5 * error < jaccard < 1 - 5 * error)
    assert abs(np.mean(found) - jaccard) <= ERRORS * error / math.sqrt(sets)
    # The variance of 60 draws leaves these bounds once in some million times. Of few features rounds take each of
    # them in turn, not each value by chance, so that it may be much less.
    variance = np.var(found, ddof=1) / error**2
    assert variance <= 2.3
    assert variance >= 0.35 or way is WAYS[0]


@ways
@pytest.mark.parametrize(("bands", "rows"), [(16, 4), (25, 5), (9, 14)])
@pytest.mark.parametrize("jaccard", [0.5, 0.7, 0.8, 0.9])
def test_bands_find_as_many_as_the_formula_says(way: Way, bands: int, rows: int, jaccard: float) -> None:
    draw, pairs = np.random.default_rng(bands), 800
    shared = round(200 * jaccard)
    met = 0
    for _ in range(pairs):
        one, other = (way.signature(side, 1024) for side in pair(draw, shared, 200 - shared, 0))
        met += bool(np.any(band_keys(one, bands, rows) == band_keys(other, bands, rows)))
    expected = banding_recall(jaccard, bands, rows)
    assert abs(met / pairs - expected) <= ERRORS * math.sqrt(max(expected * (1 - expected), 1 / pairs) / pairs)


@given(st.floats(0, 1), st.integers(1, 60), st.integers(1, 20), st.data())
def test_the_recall_of_bands_is_the_tail_of_a_binomial(p: float, bands: int, rows: int, data: st.DataObject) -> None:
    agreeing = data.draw(st.integers(1, bands))
    expected = binom.sf(agreeing - 1, bands, p**rows)
    assert banding_recall(p, bands, rows, agreeing) == pytest.approx(expected, abs=1e-9)


@given(st.floats(0.05, 1.0), st.integers(1, 512))
def test_bands_for_a_threshold_find_what_they_must(threshold: float, values: int) -> None:
    try:
        bands, rows = bands_for("minhash", threshold, values)
    except UsageError:
        assert banding_recall(threshold, values, 1) < 0.98
        return
    assert bands * rows <= values
    assert banding_recall(threshold, bands, rows) >= 0.98
    longer = min(rows + 1, values)
    assert longer > 256 or longer == rows or banding_recall(threshold, values // longer, longer) < 0.98


def test_bands_are_chosen_by_the_threshold_or_by_each_other() -> None:
    chosen = {
        "minhash": (16, 4),
        "minhash:threshold=0.5": (16, 2),
        "minhash:threshold=0.8": (16, 6),
        "minhash:threshold=1": (4, 256),
        "minhash:values=64,rows=10,bands=3": (3, 10),
    }
    for specification, (bands, rows) in chosen.items():
        parameters = scheme(specification).parameters
        assert (parameters["bands"], parameters["rows"]) == (bands, rows)
        assert "threshold" not in parameters


def test_ids_name_all_parameters() -> None:
    assert scheme("minhash").id == "minhash:bands=16,bits=1,numbers=keep,rows=4,shingle=5,values=1024"


# Sizes of two sets, and what they share: a coefficient of 0.8 or as near as so few shingles come.
SIZES = {1: (1, 1, 1), 5: (5, 4, 4), 30: (30, 30, 27), 300: (300, 300, 267), 5000: (5000, 5000, 4444)}


@pytest.mark.parametrize("size", SIZES)
def test_the_sketch_is_as_sharp_as_it_says_for_texts_of_any_length(size: int) -> None:
    draw, pairs = np.random.default_rng(size), 400 if size < 5000 else 150
    one, other, shared = SIZES[size]
    jaccard = shared / (one + other - shared)
    errors = []
    for _ in range(pairs):
        sides = pair(draw, shared, one - shared, other - shared)
        left, right = (pack(WAYS[0].signature(side, 1024), 1) for side in sides)
        errors.append(estimate(left, right, 1024, 1) - jaccard)
    assert np.sqrt(np.mean(np.square(errors))) <= 0.022
    assert abs(np.mean(errors)) <= ERRORS * standard_error(jaccard, 1024, 1) / math.sqrt(pairs)


def test_unrelated_texts_of_one_shingle_do_not_look_alike() -> None:
    made = scheme("minhash")
    payloads = [sketch.payload for word in VOCABULARY[:150] if (sketch := made.sketch(word))]
    for place, payload in enumerate(payloads):
        assert made.similarities(payload, payloads[place + 1 :]).max(initial=0.0) < 0.25


@pytest.mark.parametrize("text", ["dog", "the dog", "the dog and the", "12 dogs"])
def test_a_text_of_fewer_words_than_a_shingle_is_one_shingle(text: str) -> None:
    made = scheme("minhash")
    sketch, words = made.sketch(text), text.split()
    assert sketch
    assert sketch.features == 1
    joined = b"".join(lookup8(word.encode()).to_bytes(8, "little") for word in words)
    signature = WAYS[0].signature(np.array([lookup8(joined)], dtype=np.uint64), 1024)
    assert sketch.payload == pack(signature, 1)
    # Another text of as few words is wholly another, also with one word more.
    for other in (made.sketch(text + " x"), made.sketch(text.replace("dog", "cat"))):
        assert other
        assert made.similarities(sketch.payload, [other.payload])[0] < 0.2
        assert not set(sketch.keys) & set(other.keys)


def test_numbers_count_unless_they_are_dropped() -> None:
    bill = "Invoice {} of {}: {} boxes of paper at {} euros each, payable within {} days to the account {} of the bank."
    one, other = bill.format(12, 2024, 3, "4,50", 30, 7711), bill.format(95, 2025, 8, "6,20", 14, 4190)
    for specification, alike in (("minhash", False), ("minhash:numbers=drop", True)):
        made = scheme(specification)
        left, right = made.sketch(one), made.sketch(other)
        assert left
        assert right
        assert (made.similarities(left.payload, [right.payload])[0] > 0.99) == alike
        assert (made.similarities(left.payload, [right.payload])[0] < 0.25) != alike


def test_many_sketches_are_compared_at_once() -> None:
    for specification in ("minhash", "minhash:bits=8,values=128", "supershingles:bits=1"):
        made = scheme(specification)
        assert isinstance(made, MinwiseScheme)
        payloads = [sketch.payload for n in range(20) if (sketch := made.sketch(document(n % 7, 200 + n)))]
        expected = np.array([made.similarities(one, payloads) for one in payloads])
        left, right = (side.ravel() for side in np.indices(expected.shape))
        assert made.compare(Ragged.of_bytes(payloads), left, right).tolist() == expected.ravel().tolist()
        with pytest.raises(UsageError, match="a row of"):
            made.compare(Ragged.of_bytes([payload[1:] for payload in payloads]), left, right)


def test_real_pages_that_share_most_of_their_text_are_found(shared_data: Path) -> None:
    truth = [json.loads(line) for line in (shared_data / "truth" / "javadoc.jsonl").read_text("utf-8").splitlines()]
    texts = [extract_html((shared_data / page["path"]).read_bytes(), "full", "fast").text for page in truth]
    made = scheme("minhash")
    sketches = [made.sketch(text) for text in texts]
    assert all(len(sketch.payload) <= 128 for sketch in sketches if sketch)
    sets = exact.shingle_sets(texts)
    left, right = np.triu_indices(len(texts), 1)
    jaccard = exact.jaccard(sets, left, right)
    returned = np.zeros(left.size, dtype=bool)
    for place in np.flatnonzero(jaccard > 0.2).tolist():
        one, other = sketches[left[place]], sketches[right[place]]
        assert one is not None
        assert other is not None
        if set(one.keys) & set(other.keys):
            returned[place] = made.similarities(one.payload, [other.payload])[0] >= made.default_similarity
    assert returned[jaccard >= 0.8].mean() >= 0.99
    assert returned[(jaccard >= 0.7) & (jaccard < 0.8)].mean() >= 0.93
    assert (jaccard[returned] >= 0.5).mean() >= 0.99
