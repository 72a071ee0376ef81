"""What the schemes have of the C core: against the oracles, with every level of instructions."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from indexer.core.native import set_simd_level, simd_level
from indexer.core.sketches import (
    RunMeetings,
    band_keys,
    equal_parts,
    intersection_sizes,
    logarithm,
    minhash,
    random_projection,
    weighted_minhash,
)
from indexer.core.text import (
    Tokens,
    character_hashes,
    hash_tokens,
    lookup8,
    shingle_hashes,
    strip_digits,
    token_hashes,
    tokenise,
)
from indexer.errors import UsageError
from tests.schemes import oracle_minwise, oracle_projection, oracle_weighted

unsigned = st.integers(0, 2**64 - 1)
features = st.lists(unsigned, min_size=1, max_size=40)


@pytest.fixture(params=[0, 1, 2], ids=["plain", "avx2", "avx512"])
def level(request: pytest.FixtureRequest) -> Iterator[int]:
    best = simd_level()
    yield set_simd_level(request.param)
    set_simd_level(best)


def array(numbers: list[int]) -> np.ndarray:
    return np.array(numbers, dtype=np.uint64)


@given(st.text(st.sampled_from("abcdefg \n.'ßä中文1_-/:@"), max_size=120), st.integers(1, 12))
@settings(max_examples=150)
def test_hashes_of_tokens_and_shingles(text: str, size: int) -> None:
    assert token_hashes(text).tolist() == oracle_minwise.token_hashes(text)
    assert shingle_hashes(text, size).tolist() == oracle_minwise.shingle_hashes(text, size)


def test_shingles_of_a_long_text_are_those_of_its_parts() -> None:
    words = [f"w{n % 97}x{n % 89}" for n in range(3000)]
    whole = shingle_hashes(" ".join(words), 5)
    assert whole.size == 2996
    for at in (0, 251, 252, 255, 256, 257, 1000, 2995):
        assert whole[at] == shingle_hashes(" ".join(words[at : at + 5]), 5)[0]


def test_a_shingle_of_no_tokens_is_refused() -> None:
    with pytest.raises(UsageError, match="shingle"):
        shingle_hashes("a b", 0)
    with pytest.raises(UsageError, match="shingle"):
        character_hashes(tokenise("a b"), 0)


def test_hashes_outlive_the_text_that_they_were_made_of() -> None:
    kept = [token_hashes(f"word{n} " * 1000) for n in range(50)]
    for n, hashes in enumerate(kept):
        assert set(hashes.tolist()) == {lookup8(f"word{n}".encode())}


@pytest.mark.parametrize("size", [*range(60), 500])
def test_tokens_are_hashed_where_they_lie(level: int, size: int) -> None:
    text = bytes(n % 251 for n in range(size))
    spans = [(start, end) for start in range(0, size + 1, 7) for end in range(start, size + 1, 5)]
    starts, ends = np.array(spans, dtype=np.uintp).T
    found = hash_tokens(Tokens(text, starts, ends))
    assert found.tolist() == [lookup8(text[start:end]) for start, end in spans]


@pytest.mark.parametrize(
    ("starts", "ends", "kind"), [([0], [4], np.uintp), ([2], [1], np.uintp), ([0, 1], [1], np.uintp), ([0], [1], float)]
)
def test_tokens_outside_of_their_text_are_refused(starts: list[int], ends: list[int], kind: type) -> None:
    tokens = Tokens(b"abc", np.array(starts, dtype=kind), np.array(ends, dtype=kind))
    for call in (hash_tokens, strip_digits, lambda each: character_hashes(each, 2)):
        with pytest.raises(UsageError, match="tokens"):
            call(tokens)


@given(features, st.sampled_from([1, 7, 64, 128, 257]))
@settings(max_examples=40)
def test_minhash(found: list[int], values: int) -> None:
    signature = minhash(array(found), values)
    assert signature is not None
    assert signature.tolist() == oracle_minwise.minhash(found, values)


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 257, 1000])
def test_signatures_are_the_same_with_all_instructions(level: int, count: int) -> None:
    hashes = np.random.default_rng(count).integers(0, 2**64, count, dtype=np.uint64)
    weights = np.random.default_rng(count + 1).uniform(1e-3, 1e3, count)
    found = (
        minhash(hashes, 300),
        weighted_minhash(hashes, weights, 40),
        random_projection(hashes, 3),
    )
    set_simd_level(0)
    plain = (
        minhash(hashes, 300),
        weighted_minhash(hashes, weights, 40),
        random_projection(hashes, 3),
    )
    for one, other in zip(found, plain, strict=True):
        assert one is not None
        assert other is not None
        assert one.tolist() == other.tolist()


def test_no_features_have_no_signature() -> None:
    assert minhash([], 5) is None
    assert weighted_minhash([], [], 5) is None
    assert random_projection([], 1) is None


@given(st.dictionaries(unsigned, st.one_of(st.integers(1, 1000), st.floats(1e-6, 1e9)), min_size=1, max_size=20))
@settings(max_examples=40)
def test_weighted_minhash(weights: dict[int, float]) -> None:
    ordered = sorted(weights)
    signature = weighted_minhash(array(ordered), [weights[feature] for feature in ordered], 20)
    assert signature is not None
    assert signature.tolist() == oracle_weighted.weighted_minhash(weights, 20)


@pytest.mark.parametrize("weights", [[0.0, 1.0], [-1.0, 1.0], [math.nan, 1.0], [math.inf, 1.0], [1e-310, 1.0], [1.0]])
def test_weights_that_are_none_are_refused(weights: list[float]) -> None:
    with pytest.raises(UsageError, match="weights"):
        weighted_minhash(array([1, 2]), weights, 5)


@given(st.floats(2.3e-308, 1.7e308))
@settings(max_examples=300)
def test_logarithm(x: float) -> None:
    found = logarithm(x)
    assert found == oracle_weighted.logarithm(x)
    assert found == pytest.approx(math.log(x), rel=4e-15, abs=1e-15)


@given(features, st.integers(1, 5))
@settings(max_examples=40)
def test_random_projection(found: list[int], words: int) -> None:
    projection = random_projection(array(found), words)
    assert projection is not None
    bits = oracle_projection.projection(found, 64 * words)
    assert projection.astype(">u8").tobytes() == oracle_projection.payload(bits)


@given(st.lists(st.integers(0, 2**32 - 1), min_size=1, max_size=60), st.integers(1, 20), st.integers(1, 20))
def test_band_keys(signature: list[int], bands: int, rows: int) -> None:
    found = np.array(signature, dtype=np.uint32)
    if bands * rows > len(signature):
        with pytest.raises(UsageError, match="do not fit"):
            band_keys(found, bands, rows)
        return
    keys = band_keys(found, bands, rows)
    assert [key & 0xFFFFFFFF for key in keys.tolist()] == oracle_minwise.band_keys(signature, bands, rows)


@given(st.data(), st.sampled_from([1, 2, 4, 8, 16]), st.integers(0, 45))
@settings(max_examples=100)
def test_equal_parts(data: st.DataObject, bits: int, size: int) -> None:
    strings = data.draw(st.lists(st.binary(min_size=size, max_size=size), min_size=1, max_size=5))
    values = size * 8 // bits
    padded = [one + bytes(size % 2 if bits == 16 else 0) for one in strings]
    split = [oracle_minwise.unpack(one, values + (bits == 16 and size % 2), bits) for one in padded]
    expected = [sum(a == b for a, b in zip(split[0], other, strict=True)) for other in split]
    packed = np.frombuffer(b"".join(strings), dtype=np.uint8).reshape(len(strings), size)
    assert equal_parts(strings[0], packed, bits).tolist() == expected


@pytest.mark.parametrize("size", [1, 8, 84, 128, 129])
def test_many_packed_values_are_compared_alike_by_all_instructions(level: int, size: int) -> None:
    draw = np.random.default_rng(size)
    packed = draw.integers(0, 4, (300, size), dtype=np.uint8)
    assert equal_parts(packed[0].tobytes(), packed, 8).tolist() == (packed == packed[0]).sum(axis=1).tolist()


def test_values_of_other_lengths_or_bits_are_refused() -> None:
    packed = np.zeros((2, 2), dtype=np.uint8)
    with pytest.raises(UsageError, match="bytes"):
        equal_parts(b"a", packed, 8)
    with pytest.raises(UsageError, match="bits"):
        equal_parts(b"ab", packed, 3)


sets = st.lists(st.sets(st.integers(0, 60) | unsigned, max_size=50), min_size=1, max_size=6)


@given(sets)
def test_intersection_sizes(found: list[set[int]]) -> None:
    found = [*found, {7 * n for n in range(400)}]  # so much larger than the others that it is searched
    values = array([number for one in found for number in sorted(one)])
    offsets = np.cumsum([0, *map(len, found)])
    left, right = (side.ravel() for side in np.meshgrid(np.arange(len(found)), np.arange(len(found))))
    sizes = intersection_sizes(values, offsets, left, right)
    assert sizes.tolist() == [len(found[a] & found[b]) for a, b in zip(left, right, strict=True)]


@pytest.mark.parametrize(
    ("values", "offsets", "left", "right", "message"),
    [
        ([3, 2, 1], [0, 3], [0], [0], "sorted"),
        ([1, 1], [0, 2], [0], [0], "sorted"),
        ([1, 2], [0, 3], [0], [0], "offsets"),
        ([1, 2], [2, 0], [0], [0], "offsets"),
        ([1, 2], [], [0], [0], "offsets"),
        ([1, 2], [0, 2], [1], [0], "numbers of the 1 rows"),
        ([1, 2], [0, 2], [0], [-1], "numbers of the 1 rows"),
        ([1, 2], [0, 2], [0, 0], [0], "shape"),
    ],
)
def test_sets_that_are_none_are_refused(
    values: list[int], offsets: list[int], left: list[int], right: list[int], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        intersection_sizes(values, offsets, left, right)


@given(
    st.lists(st.dictionaries(st.integers(0, 11), st.integers(0, 1), max_size=8), min_size=1, max_size=8),
    st.integers(1, 3),
)
def test_where_sketches_meet(found: list[dict[int, int]], agreeing: int) -> None:
    """Runs of four tables, three of each."""
    codes = [sorted(2 * run + side for run, side in one.items()) for one in found]
    offsets = np.cumsum([0, *map(len, codes)])
    left, right = (side.ravel() for side in np.meshgrid(np.arange(len(found)), np.arange(len(found))))
    meetings = RunMeetings(
        np.array([code for one in codes for code in one], dtype=np.int64), offsets, np.arange(12) // 3
    )
    wanted = []
    for one, other in zip(left, right, strict=True):
        met = [run for run in sorted({*found[one]} & {*found[other]}) if not found[one][run] & found[other][run]]
        wanted.append(met[0] if len({run // 3 for run in met}) >= agreeing else -1)
    assert meetings.firsts(left, right, agreeing).tolist() == wanted


@pytest.mark.parametrize(
    ("codes", "offsets", "tables", "pair", "agreeing", "message"),
    [
        ([3, 2], [0, 2], [0, 0], (0, 0), 1, "sorted"),
        ([2, 3], [0, 3], [0, 0], (0, 0), 1, "offsets"),
        ([2, 4], [0, 2], [0, 0], (0, 0), 1, "2 runs"),
        ([2], [0, 1], [0, 0], (0, 1), 1, "numbers of the 1 rows"),
        ([2], [0, 1], [0, 0], (0, 0), 0, "agreeing=0"),
    ],
)
def test_runs_that_are_none_are_refused(
    codes: list[int], offsets: list[int], tables: list[int], pair: tuple[int, int], agreeing: int, message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        RunMeetings(codes, offsets, tables).firsts([pair[0]], [pair[1]], agreeing)
