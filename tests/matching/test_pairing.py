"""All pairs by a scheme: what shares keys in enough tables and is similar enough, each pair once."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from word_minhash import ProbingWordMinhash, WordMinhash

from indexer import scheme_pairs
from indexer.keys import KeyLayout
from indexer.model import Record, Ref, Sketch
from indexer.pipeline import store_info
from indexer.scheme_pairs import scheme_pairs_of_store, similar_sketches
from indexer.schemes.base import Scheme
from indexer.sketch_table import distance_of, read_sketches, table_of_sketches
from indexer.stores import Store, open_store


def collection(seed: int, count: int) -> list[str]:
    """Texts of which many are versions of others, and some are equal."""
    draw = random.Random(seed)
    texts: list[list[str]] = []
    for number in range(count):
        if texts and draw.random() < 0.6:
            words = list(draw.choice(texts))
            for _ in range(draw.choice([0, 1, 3, 10])):
                words[draw.randrange(len(words))] = f"changed{draw.randrange(1000)}"
        else:
            words = [f"word{number}x{draw.randrange(500)}" for _ in range(40)]
        texts.append(words)
    return [" ".join(words) for words in texts]


def stored(folder: Path, scheme: Scheme, texts: Sequence[str]) -> Store:
    store = open_store(folder / "pairs.neardup", create=store_info("landmarks"))
    store.add_scheme(scheme.info)
    records = []
    for number, text in enumerate(texts):
        sketch = scheme.sketch(text) or Sketch.without_features(scheme.id)
        records.append(Record(Ref(f"d{number:03d}"), None, sketches={scheme.family: sketch}))
    assert {result.status.value for result in store.put(records)} == {"created"}
    return store


def expected(scheme: Scheme, texts: Sequence[str], similarity: float) -> dict[tuple[str, str], float]:
    """By comparing everything with everything."""
    sketches = [scheme.sketch(text) for text in texts]
    found = {}
    for (i, a), (j, b) in combinations(enumerate(sketches), 2):
        if a is None or b is None:
            continue
        asked = set(scheme.probes(a, similarity))
        tables = {key >> scheme.layout.bits for key in asked & set(b.keys)}
        value = float(scheme.similarities(a.payload, [b.payload])[0])
        if (a == b or len(tables) >= scheme.agreeing) and value >= similarity:
            found[f"d{i:03d}", f"d{j:03d}"] = value
    return found


@pytest.mark.parametrize(
    "scheme",
    [WordMinhash(), WordMinhash(bands=6, rows=5), WordMinhash(bands=40, rows=1, agreeing=15), ProbingWordMinhash()],
    ids=lambda scheme: scheme.id,
)
@pytest.mark.parametrize("block", [7, 1 << 17])
def test_every_pair_of_a_store_is_found_once(
    tmp_path: Path, scheme: Scheme, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scheme_pairs, "_BLOCK", block)
    texts = [*collection(1, 120), "", *["the very same words"] * 30]
    with stored(tmp_path, scheme, texts) as store:
        pairs = list(scheme_pairs_of_store(store, scheme, 0.6))
        found = {(min(p.left.id, p.right.id), max(p.left.id, p.right.id)): p.similarity for p in pairs}
        assert len(found) == len(pairs)
        assert found == pytest.approx(expected(scheme, texts, 0.6))
        assert len(found) > 500
        # Collapsed, the 30 equal ones are 29 pairs, and every document is still in the same component.
        few = list(scheme_pairs_of_store(store, scheme, 0.6, collapse=True))
        assert len(few) < len(pairs) - 400
        assert {p.left.id for p in few} | {p.right.id for p in few} == {name for pair in found for name in pair}


@settings(deadline=None, max_examples=150)
@given(
    st.lists(st.sets(st.integers(0, 23), min_size=1, max_size=8), min_size=2, max_size=25),
    st.integers(1, 3),
    st.sampled_from([1, 3, 1000]),
)
def test_a_pair_comes_once_however_its_keys_lie(keys: list[set[int]], agreeing: int, block: int) -> None:
    """Keys of 3 bits in 3 tables, several of one table."""

    class Free(WordMinhash):
        def similarities(self, payload: bytes, others: Sequence[bytes]) -> np.ndarray:
            return np.ones(len(others))

    scheme = Free(agreeing=agreeing)
    scheme.layout = KeyLayout(3, 3)
    sketches = [Sketch(scheme.id, bytes([number]), tuple(some), 1) for number, some in enumerate(keys)]
    table = table_of_sketches(scheme, sketches)
    before = scheme_pairs._BLOCK
    scheme_pairs._BLOCK = block
    try:
        found = [pair for b in similar_sketches(table, 0.0) for pair in zip(b.left, b.right, strict=True)]
    finally:
        scheme_pairs._BLOCK = before
    wanted = {
        (i, j) for i, j in combinations(range(len(keys)), 2) if len({k >> 3 for k in keys[i] & keys[j]}) >= agreeing
    }
    assert sorted(found) == sorted(wanted)


def test_a_scheme_s_own_way_is_used() -> None:
    class Own(WordMinhash):
        def all_pairs(self, sketches: Sequence[Sketch], similarity: float) -> Iterator[tuple[int, int, float]]:
            assert similarity == 0.75
            yield len(sketches) - 1, 0, 0.8

    table = table_of_sketches(Own(), [Sketch("", payload, (1,), 1) for payload in (b"x", b"y", b"z")])
    [block] = similar_sketches(table, 0.75)
    assert (block.left.tolist(), block.right.tolist(), block.similarity.tolist()) == ([0], [2], [0.8])


def test_equal_sketches_are_read_once(tmp_path: Path) -> None:
    scheme = WordMinhash()
    with stored(tmp_path, scheme, ["a b c"] * 10 + ["d e f"] * 5 + [""]) as store:
        table = read_sketches(store, scheme)
        assert len(table.payloads) == 2
        assert table.sketch(1).keys == WordMinhash().sketch("d e f").keys  # type: ignore[union-attr]
        assert np.bincount(table.distinct).tolist() == [10, 5]
        assert table.apart(0, np.array([1, 12])).tolist() == [0, 64]


def test_distances_are_64ths_rounded_up() -> None:
    values = [1.0, 1 - 1 / 64, 0.98, 0.5, 1 / 3, 0.0, 1.0000001]
    assert distance_of(values).tolist() == [0, 1, 2, 32, 43, 64, 0]
    assert all(1 - d / 64 <= s + 1e-9 for d, s in zip(distance_of(values).tolist(), values, strict=True))
