"""The simhash family: the contract, the guarantee of its tables, and a slow oracle."""

from __future__ import annotations

import json
import math
import random
from collections import Counter
from functools import cache
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from indexer.core.sketches import fingerprint
from indexer.core.text import without_marks
from indexer.errors import UsageError
from indexer.schemes import registry
from indexer.schemes.keys import blocks
from indexer.schemes.keys.simhash64 import simhash_keys
from indexer.schemes.simhash_variants import SIMHASH_DOC_PARAMETERS, SimhashVariant, mixed
from indexer.schemes.testing import SchemeContract, document
from indexer.text import corpus, features
from tests import oracle
from tests.schemes import variants_oracle as slow

VECTORS = Path(__file__).parents[1] / "vectors"


@cache
def gathered(name: str) -> corpus.Corpus:
    recipe = features.parse_recipe(name.removeprefix("corpus."))
    return corpus.gather((document(seed, 100) for seed in range(20)), recipe)


class TestSimhash(SchemeContract):
    specification = "simhash"
    bad = (
        "simhash:bits=48",
        "simhash:bits=true",
        "simhash:features=lines",
        "simhash:features=words,size=2",
        "simhash:features=chars,size=0",
        "simhash:features=chars,size=1.5",
        "simhash:lower=1",
        "simhash:numbers=some",
        "simhash:stop=xx",
        "simhash:stop=en-0.0",
        "simhash:tokenizer=none",
        "simhash:tokenizer=uax29-1.0",
        "simhash:weights=heavy",
        "simhash:corpus=c0",
    )
    payload_limit = 8


class TestSimhash32Shingles(SchemeContract):
    specification = "simhash:bits=32,features=shingles,size=2,weights=set,stop=en,tokenizer=icu"
    bad = ("simhash:bits=32,size=65",)
    payload_limit = 4


class TestSimhash128Characters(SchemeContract):
    specification = "simhash:bits=128,features=chars,weights=log,lower=false,numbers=keep,stop=auto"
    bad = ("simhash:stop=auto-0.1-0.2",)
    payload_limit = 16


class TestSimhashByIdf(SchemeContract):
    specification = "simhash:weights=tfidf,numbers=strip"
    bad = ("simhash:weights=tfidf,corpus=c0123456789abcdef",)
    payload_limit = 8

    def corpus(self, name: str) -> Any:
        return gathered(name)


def test_the_defaults_are_simhash_doc() -> None:
    plain = registry.scheme("simhash")
    assert plain.parameters.keys() == SIMHASH_DOC_PARAMETERS.keys()
    named = SimhashVariant(**SIMHASH_DOC_PARAMETERS)
    assert named.id == plain.id
    for vector in json.loads((VECTORS / "simhash-doc.json").read_text())["vectors"]:
        # Of marks that may be left out only simhash-doc itself is made.
        if oracle.without_marks(vector["text"]) != oracle.normalise(vector["text"]):
            continue
        sketch = named.sketch(vector["text"])
        if vector["value"] is None:
            assert sketch is None
            continue
        assert sketch is not None
        assert sketch.payload.hex() == vector["value"]
        assert sketch.features == len(vector["tokens"])
        assert sketch.keys == simhash_keys(int(vector["value"], 16))


@given(st.text(max_size=80))
def test_the_slow_way_to_the_same_bits(text: str) -> None:
    """The fast route of the defaults, and that of all other parameters, give the same 64 bits."""
    scheme = SimhashVariant()
    found = fingerprint(without_marks(text))
    made = scheme._payload(scheme.recipe.hashes(text), None)
    assert made == (None if found is None else found[0].to_bytes(8, "big"))


@pytest.mark.parametrize("size", [1, 3])
@pytest.mark.parametrize("weights", features.WEIGHTS)
@pytest.mark.parametrize("bits", [32, 64, 128])
def test_bits_are_those_of_the_oracle(bits: int, weights: str, size: int) -> None:
    kind = "words" if size == 1 else "shingles"
    recipe = features.recipe(kind, size)
    texts = ["one", "one two", "The cat sees the dog, and the dog sees the cat.", document(1, 60)]
    known = corpus.gather([*texts, document(1, 60), document(2, 60)], recipe)
    frequency = dict(zip(known.hashes.tolist(), known.frequencies.tolist(), strict=True))
    scheme = SimhashVariant(weights, bits, known if weights == "tfidf" else None, features=kind, size=size)
    for text in texts:
        counts = Counter(slow.shingles(oracle.tokens(text), size))
        weighed = {
            each: slow.weight(weights, count, known.documents, frequency.get(each, 1)) for each, count in counts.items()
        }
        found = scheme.sketch(text)
        assert found is not None
        assert found.payload == slow.simhash(weighed, bits)
        assert list(found.keys) == slow.simhash_keys(found.payload)


def test_the_second_half_has_hashes_of_its_own() -> None:
    hashes = np.array([0, 1, 2**64 - 1, 12345678901234567890], dtype=np.uint64)
    assert mixed(hashes).tolist() == [slow.mixed(int(each)) for each in hashes]


# The tables of 32 and 128 bits


@pytest.mark.parametrize("bits", [32, 128])
def test_no_pattern_of_differing_bits_is_missed(bits: int) -> None:
    """Whether a plan finds a pair depends only on how many bits differ in each block: all such counts are tried."""
    tables = bits // blocks.BLOCK_BITS
    farthest = blocks.max_distance(bits) if bits == 32 else 15
    for distance in range(farthest + 1):
        flips = np.array(blocks.flips(bits, distance))
        counts = np.array(list(spread(distance, tables)))
        assert np.all(np.any(counts <= flips, axis=1))
    # One bit more is missed somewhere, so no table could be asked for less.
    for distance in range(blocks.max_distance(bits) + 1):
        assert sum(flip + 1 for flip in blocks.flips(bits, distance)) == distance + 1


def spread(total: int, parts: int) -> list[tuple[int, ...]]:
    """All ways to put `total` bits into this many blocks; fewer bits are never harder to find."""
    bars = combinations(range(total + parts - 1), parts - 1)
    return [
        tuple(right - left - 1 for left, right in zip((-1, *each), (*each, total + parts - 1), strict=True))
        for each in bars
    ]


@pytest.mark.parametrize("distance", range(4))
def test_every_pattern_of_32_bits_is_found(distance: int) -> None:
    payload = bytes.fromhex("3a9c51e7")
    asked = set(blocks.probes(payload, distance))
    value = int.from_bytes(payload, "big")
    for places in combinations(range(32), distance):
        other = value ^ sum(1 << place for place in places)
        assert asked.intersection(blocks.keys(other.to_bytes(4, "big"))), places


@given(st.sampled_from([4, 16]), st.integers(0, 23), st.randoms(use_true_random=False))
@settings(max_examples=200)
def test_probes_meet_what_lies_within_the_distance(size: int, distance: int, draw: random.Random) -> None:
    distance = min(distance, blocks.max_distance(8 * size))
    payload = draw.randbytes(size)
    flipped = sum(1 << place for place in draw.sample(range(8 * size), draw.randint(0, distance)))
    other = (int.from_bytes(payload, "big") ^ flipped).to_bytes(size, "big")
    asked = blocks.probes(payload, distance)
    assert set(asked) & set(blocks.keys(other))
    assert len(asked) == len(set(asked)) == blocks.probe_count(8 * size, distance)


def test_a_distance_out_of_reach_is_refused() -> None:
    for bits, distance in product((32, 128), (-1, 24)):
        with pytest.raises(UsageError, match="distance"):
            blocks.flips(bits, distance)


def test_similarities_are_counted_bit_by_bit() -> None:
    draw = random.Random(1)
    for bits in (32, 64, 128):
        scheme = SimhashVariant(bits=bits)
        payloads = [draw.randbytes(bits // 8) for _ in range(20)]
        wanted = [
            1 - sum(((a ^ b).bit_count()) for a, b in zip(payloads[0], other, strict=True)) / bits for other in payloads
        ]
        assert scheme.similarities(payloads[0], payloads).tolist() == wanted


def test_another_corpus_is_refused() -> None:
    words = corpus.gather(["a b"], features.recipe())
    with pytest.raises(UsageError, match="corpus"):
        SimhashVariant(weights="tfidf", corpus=words, features="chars")
    with pytest.raises(UsageError, match="no document"):
        SimhashVariant(weights="tfidf", corpus=corpus.CorpusBuilder(features.recipe()).corpus())
    with pytest.raises(UsageError, match="needs the statistics"):
        registry.scheme("simhash:weights=tfidf")


@pytest.mark.parametrize("other", [20, 100, 180])
def test_equal_bits_estimate_the_angle(other: int) -> None:
    """Over many vocabularies the mean is within three standard errors of 1 - angle / pi (Charikar 2002, section 3)."""
    scheme, found = SimhashVariant(bits=128), []
    shared, own = 200 - other, other
    wanted = 1 - math.acos(shared / (shared + own)) / math.pi
    for seed in range(60):
        left = " ".join(f"v{seed}w{n}x" for n in range(shared + own))
        right = " ".join(f"v{seed}w{n}x" for n in range(own, shared + 2 * own))
        sketches = [scheme.sketch(text) for text in (left, right)]
        found.append(scheme.similarities(sketches[0].payload, [sketches[1].payload])[0])  # type: ignore[union-attr]
    error = math.sqrt(wanted * (1 - wanted) / (60 * 128))
    # A tie in a bit counts as 0 on both sides, which makes texts of few features a little more alike.
    assert abs(np.mean(found) - wanted) <= 3 * error + 0.01
