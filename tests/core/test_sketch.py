"""Fast similarity sketching, packed parts and text digests of the C core: against the oracles, by every level."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from indexer._core import ffi, lib
from numpy.typing import NDArray

from indexer.core.native import pointer, set_simd_level, simd_level
from indexer.core.one_pass import Forms, MinhashForm, TextFeatures, features_of_texts
from indexer.core.sketches import BITS, band_keys, equal_parts, equal_parts_of_pairs, fast_minhash, pack
from indexer.core.sketches import fingerprint as core_fingerprint
from indexer.core.text import folded_text, shingle_hashes, text_digest
from indexer.errors import UsageError
from tests import oracle
from tests.schemes import oracle_minwise

unsigned = st.integers(0, 2**64 - 1)
features = st.lists(unsigned | st.sampled_from([0, 1, 2**63, 2**64 - 1]), min_size=1, max_size=40)
texts = st.lists(
    st.sampled_from(
        ["one ", "two", " 12", " 3.5 ", "é", "Ё", "中文", "٣", "_", " https://a.b/c ", "\n", " \u0301x", "a1 "]
    ),
    max_size=40,
).map("".join)


@pytest.fixture(params=[0, 1, 2], ids=["plain", "avx2", "avx512"])
def level(request: pytest.FixtureRequest) -> Iterator[int]:
    best = simd_level()
    yield set_simd_level(request.param)
    set_simd_level(best)


def alone(text: str, form: MinhashForm) -> TextFeatures:
    """What one pass over a text gives."""
    return features_of_texts([text], Forms(form))


def fingerprint(features: TextFeatures) -> tuple[int, int] | None:
    """The fingerprint of the first text."""
    return (int(features.simhashes[0]), int(features.tokens[0])) if features.tokens[0] else None


def array(numbers: list[int]) -> np.ndarray:
    return np.array(numbers, dtype=np.uint64)


@given(features, st.sampled_from([8, 16, 128]), st.sampled_from([0, 2, 8, 40]))
@settings(max_examples=60, deadline=None)
def test_signatures_are_those_of_the_oracle(found: list[int], values: int, rounds: int) -> None:
    signature = fast_minhash(array(found), values, rounds)
    assert signature is not None
    assert signature.tolist() == oracle_minwise.fast_minhash(found, values, rounds)


@pytest.mark.parametrize("count", [1, 2, 5, 30, 127, 128, 129, 300, 1000, 5000])
def test_signatures_are_the_same_with_all_instructions(level: int, count: int) -> None:
    hashes = np.random.default_rng(count).integers(0, 2**64, count, dtype=np.uint64)
    found = [fast_minhash(hashes, values) for values in (8, 1024, 4096)]
    set_simd_level(0)
    for one, values in zip(found, (8, 1024, 4096), strict=True):
        assert one is not None
        plain = fast_minhash(hashes, values)
        assert plain is not None
        assert one.tolist() == plain.tolist()


def test_a_large_set_needs_one_round_only() -> None:
    hashes = np.random.default_rng(1).integers(0, 2**64, 3000, dtype=np.uint64)
    one = fast_minhash(hashes, 64)
    assert one is not None
    assert one.tolist() == oracle_minwise.fast_minhash(hashes.tolist(), 64, 8)


@given(features, st.randoms())
def test_order_and_repeats_are_of_no_account(found: list[int], draw: object) -> None:
    again = [*found, *found[:7]]
    draw.shuffle(again)  # type: ignore[attr-defined]
    one, other = (fast_minhash(array(each), 64) for each in (found, again))
    assert one is not None
    assert other is not None
    assert one.tolist() == other.tolist()


@pytest.mark.parametrize(("values", "rounds"), [(0, 8), (4, 8), (100, 8), (8192, 8), (64, 3), (64, -2), (64, 4096)])
def test_signatures_of_other_lengths_or_rounds_are_refused(values: int, rounds: int) -> None:
    with pytest.raises(UsageError, match="must be"):
        fast_minhash([1], values, rounds)


def distinct(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """What the core keeps, for shingles of a text: each number once, by its first place."""
    kept, count = numbers.copy(), ffi.new("size_t *", numbers.size)
    assert lib.nd_distinct(pointer(kept), count) == 0
    return kept[: count[0]]


def test_no_features_have_no_signature() -> None:
    assert fast_minhash([], 64) is None


@given(st.lists(st.integers(0, 20) | unsigned, max_size=300))
def test_distinct(numbers: list[int]) -> None:
    assert distinct(array(numbers)).tolist() == list(dict.fromkeys(numbers))


@pytest.mark.parametrize("count", [1000, 16384, 40000, 300000])
def test_distinct_of_many(count: int) -> None:
    numbers = np.random.default_rng(count).integers(0, 2**64, count, dtype=np.uint64)
    numbers[count // 2 :: 3] = numbers[: numbers[count // 2 :: 3].size]
    assert distinct(numbers).tolist() == list(dict.fromkeys(numbers.tolist()))


@given(st.lists(st.integers(0, 2**32 - 1), max_size=60), st.sampled_from(BITS))
def test_pack(signature: list[int], bits: int) -> None:
    packed = pack(np.array(signature, dtype=np.uint32), bits)
    assert packed == oracle_minwise.pack(signature, bits, 1)


def test_other_numbers_of_bits_are_refused() -> None:
    with pytest.raises(UsageError, match="bits"):
        pack(np.zeros(8, dtype=np.uint32), 3)


FORMS = (
    MinhashForm(),
    MinhashForm(shingle=1, numbers=False, values=8, bits=16, bands=0, rows=1),
    MinhashForm(shingle=3, numbers=True, values=64, bits=4, bands=9, rows=7),
)


@given(texts | st.text(max_size=60), st.sampled_from(FORMS))
@settings(max_examples=200, deadline=None)
def test_one_pass_gives_what_several_give(text: str, form: MinhashForm) -> None:
    found = alone(text, form)
    shingles = shingle_hashes(text, form.shingle, numbers=form.numbers)
    plain = text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
    assert shingles.tolist() == oracle_minwise.shingle_hashes(plain, form.shingle, numbers=form.numbers)
    assert fingerprint(found) == core_fingerprint(text) == oracle.fingerprint(plain)
    signature = fast_minhash(shingles, form.values)
    assert int(found.shingles[0]) == len(set(shingles.tolist()))
    if signature is None:
        assert not found.packed.any()
        assert not oracle.tokens(plain, numbers=form.numbers)
        return
    assert found.packed[0].tobytes() == pack(signature, form.bits)
    keys = band_keys(signature, form.bands, form.rows).tolist()
    assert found.keys[0].tolist() == [band << 32 | key & 0xFFFFFFFF for band, key in enumerate(keys)]


def test_a_long_text_with_numbers_over_many_batches(level: int) -> None:
    text = " ".join(f"{n} word{n % 701}" if n % 3 else f"w{n}" for n in range(5000))
    found = alone(text, MinhashForm())
    set_simd_level(0)
    plain = alone(text, MinhashForm())
    assert found.packed.tolist() == plain.packed.tolist()
    assert found.keys.tolist() == plain.keys.tolist()
    assert fingerprint(found) == fingerprint(plain) == core_fingerprint(text)
    assert int(found.shingles[0]) == len(set(shingle_hashes(text, 5, numbers=True).tolist()))


def test_numbers_alone_have_a_sketch_and_no_fingerprint() -> None:
    found = alone("12 34,5", MinhashForm())
    assert fingerprint(found) is None
    assert found.shingles.tolist() == [1]
    assert alone("12 34,5", MinhashForm(numbers=False)).shingles.tolist() == [0]


@pytest.mark.parametrize(
    "form",
    [MinhashForm(values=100), MinhashForm(bits=3), MinhashForm(bands=300), MinhashForm(rows=0), MinhashForm(shingle=0)],
)
def test_forms_that_are_none_are_refused(form: MinhashForm) -> None:
    with pytest.raises(UsageError):
        alone("a", form)


@given(st.data(), st.sampled_from(BITS), st.integers(1, 20))
@settings(max_examples=80)
def test_equal_parts(data: st.DataObject, bits: int, size: int) -> None:
    size += size % 2
    strings = data.draw(st.lists(st.binary(min_size=size, max_size=size), min_size=1, max_size=6))
    packed = np.frombuffer(b"".join(strings), dtype=np.uint8).reshape(len(strings), size)
    split = [oracle_minwise.unpack(one, size * 8 // bits, bits) for one in strings]
    expected = [[sum(a == b for a, b in zip(one, other, strict=True)) for other in split] for one in split]
    assert equal_parts(strings[0], packed, bits).tolist() == expected[0]
    left, right = (side.ravel() for side in np.indices((len(strings), len(strings))))
    assert equal_parts_of_pairs(packed, left, right, bits).tolist() == [count for row in expected for count in row]


@pytest.mark.parametrize("size", [1, 8, 64, 128, 136, 200])
def test_many_parts_are_compared_alike_by_all_instructions(level: int, size: int) -> None:
    packed = np.random.default_rng(size).integers(0, 256, (300, size), dtype=np.uint8)
    expected = 8 * size - np.unpackbits(packed ^ packed[0], axis=1).sum(axis=1)
    assert equal_parts(packed[0].tobytes(), packed).tolist() == expected.tolist()
    zeros, others = np.zeros(300, dtype=np.int64), np.arange(300)
    assert equal_parts_of_pairs(packed, others, zeros).tolist() == expected.tolist()
    # Rows that do not lie behind one another are compared too.
    assert equal_parts(packed[0].tobytes(), packed[::3]).tolist() == expected[::3].tolist()


def test_parts_of_other_shapes_are_refused() -> None:
    packed = np.zeros((3, 4), dtype=np.uint8)
    for call in (
        lambda: equal_parts(b"abc", packed),
        lambda: equal_parts(b"abcd", packed, 3),
        lambda: equal_parts(b"abcd", packed.ravel()),
        lambda: equal_parts(b"abcd", packed.astype(np.int8)),
        lambda: equal_parts_of_pairs(packed, [3], [0]),
        lambda: equal_parts_of_pairs(packed, [0], [-1]),
        lambda: equal_parts_of_pairs(packed, [0, 1], [0]),
    ):
        with pytest.raises(UsageError):
            call()


spaced = st.lists(
    st.sampled_from(
        [*" \t\n\x0b\x0c\r\x1c\x85\xa0\u1680\u2003\u2028\u2029\u202f\u205f\u3000\u200b", "a", "Ä", "1", "+", "\u1681"]
    )
).map("".join)


@given(spaced | st.text(max_size=40))
@settings(max_examples=300, deadline=None)
def test_folded_texts_are_those_of_the_oracle(text: str) -> None:
    plain = text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
    assert folded_text(text).decode() == oracle.fold(plain)


@given(spaced, spaced)
def test_equal_digests_are_equal_folded_texts(left: str, right: str) -> None:
    same = text_digest(left) == text_digest(right)
    assert same == (oracle.fold(left) == oracle.fold(right))


def test_digests_tell_what_fingerprints_do_not() -> None:
    for one, other in (
        ("a+b", "a-b"),
        ("pay 10.50", "pay 11.50"),
        ("see https://a.b/1", "see https://a.b/2"),
        ("a b", "ab"),
    ):
        assert text_digest(one) != text_digest(other)
    assert text_digest(" STRASSE\u00a01\r\n") == text_digest("strasse 1") != text_digest("Stra\u00dfe 1")


def test_digests_are_as_documented() -> None:
    lines = (Path(__file__).resolve().parents[2] / "docs" / "vectors" / "digests.tsv").read_text("ascii").splitlines()
    assert len(lines) > 40
    for line in lines:
        written, digest = line.split("\t")
        assert text_digest(bytes.fromhex(written)).hex() == digest
