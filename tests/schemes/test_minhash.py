"""minhash: the contract, the oracle, the estimate, the bands."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scheme_contract import SchemeContract
from scipy.stats import binom

from indexer import core, exact
from indexer.errors import UsageError
from indexer.extract.html import extract_html
from indexer.schemes.minwise import BITS, banding_recall, bands_for, estimates, pack, standard_error
from indexer.schemes.registry import scheme

Hashes = npt.NDArray[np.uint64]


class TestMinhash(SchemeContract):
    specification = "minhash"
    bad = (
        *("minhash:bands=0", "minhash:bands=true", "minhash:bands=x", "minhash:bands=30,rows=5", "minhash:rows=200"),
        *("minhash:values=0", "minhash:values=1.5", "minhash:values=x", "minhash:bits=3", "minhash:bits=true"),
        *("minhash:shingle=0", "minhash:shingle=65", "minhash:shingle=x"),
        *("minhash:threshold=2", "minhash:threshold=0.01", "minhash:threshold=x", "minhash:threshold=0.5,rows=5"),
    )
    payload_limit = 128
    bad_payloads = (b"", b"x", bytes(127), bytes(129))


class TestMinhashOfSixteenBits(SchemeContract):
    specification = "minhash:bits=16,values=84,threshold=0.5"
    bad = ("minhash:bits=32",)
    payload_limit = 168


class TestMinhashOfOneBit(SchemeContract):
    specification = "minhash:bits=1,values=1001,shingle=2,rows=4"
    bad = ("minhash:bits=0",)
    payload_limit = 126


# Estimates are means of many draws: five of their standard errors are passed once in two million times.
ERRORS = 5


def signature(hashes: Hashes, values: int) -> npt.NDArray[np.uint32]:
    found = core.minhash(hashes, values)
    assert found is not None
    return found


def pair(draw: np.random.Generator, shared: int, left: int, right: int) -> tuple[Hashes, Hashes]:
    """Two random sets that share so many hashes and have so many of their own."""
    hashes = draw.integers(0, 2**64, shared + left + right, dtype=np.uint64)
    return hashes[: shared + left], np.concatenate([hashes[:shared], hashes[shared + left :]])


@given(st.integers(0, 2**32), st.integers(0, 300), st.integers(1, 200), st.integers(0, 200))
@settings(max_examples=40)
def test_equal_values_are_as_frequent_as_the_jaccard_coefficient(seed: int, shared: int, left: int, right: int) -> None:
    draw, values, sets = np.random.default_rng(seed), 512, 40
    equal = 0
    for _ in range(sets):
        one, other = pair(draw, shared, left, right + (shared == 0))
        equal += int(np.count_nonzero(signature(one, values) == signature(other, values)))
    jaccard = shared / (shared + left + right + (shared == 0))
    error = math.sqrt(jaccard * (1 - jaccard) / (values * sets))
    assert abs(equal / (values * sets) - jaccard) <= ERRORS * error


@given(st.integers(0, 2**32), st.sampled_from(BITS), st.integers(20, 300), st.integers(20, 200))
@settings(max_examples=40)
def test_the_estimate_from_b_bits_is_unbiased_and_has_the_stated_error(
    seed: int, bits: int, shared: int, own: int
) -> None:
    draw, values, sets = np.random.default_rng(seed), 1024, 60
    found = []
    for _ in range(sets):
        one, other = (pack(signature(side, values), bits) for side in pair(draw, shared, own, 0))
        found.append(float(estimates(one, [other], values, bits)[0]))
    jaccard = shared / (shared + own)
    error = standard_error(jaccard, values, bits)
    # Estimates are kept within 0 and 1: to be seen as unbiased, they must not come near.
    assume(5 * error < jaccard < 1 - 5 * error)
    assert abs(np.mean(found) - jaccard) <= ERRORS * error / math.sqrt(sets)
    # The variance of 60 draws leaves these bounds once in some million times.
    assert 0.35 <= np.var(found, ddof=1) / error**2 <= 2.3


@pytest.mark.parametrize(("bands", "rows"), [(25, 5), (20, 6), (9, 14)])
@pytest.mark.parametrize("jaccard", [0.5, 0.7, 0.8, 0.9])
def test_bands_find_as_many_as_the_formula_says(bands: int, rows: int, jaccard: float) -> None:
    draw, pairs = np.random.default_rng(bands), 800
    shared = round(200 * jaccard)
    met = 0
    for _ in range(pairs):
        one, other = (signature(side, bands * rows) for side in pair(draw, shared, 200 - shared, 0))
        met += bool(np.any(core.band_keys(one, bands, rows) == core.band_keys(other, bands, rows)))
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
        "minhash": (25, 5),
        "minhash:threshold=0.8": (18, 7),
        "minhash:threshold=1": (1, 128),
        "minhash:bands=20": (20, 6),
        "minhash:rows=6": (21, 6),
        "minhash:values=200,rows=10,bands=3": (3, 10),
    }
    for specification, (bands, rows) in chosen.items():
        parameters = scheme(specification).parameters
        assert (parameters["bands"], parameters["rows"]) == (bands, rows)
        assert "threshold" not in parameters


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
