"""Many texts in one call give what each gives alone."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from indexer import core, core_sketch
from indexer.errors import UsageError
from indexer.schemes.registry import scheme
from indexer.testing import ODD, document

NAMES = [
    *("simhash-doc", "minhash", "minhash:numbers=drop,shingle=2,values=64,bits=4"),
    "supershingles",
]
TEXT = st.one_of(st.text(), st.binary(), st.sampled_from(["", "12 34", "one 2 three", "word " * 40, document(1, 60)]))


@given(st.lists(TEXT, max_size=8), st.sampled_from(NAMES))
@settings(max_examples=100, deadline=None)
def test_each_is_sketched_as_alone(texts: list[str | bytes], name: str) -> None:
    made = scheme(name)
    assert made.sketch_many(texts) == [made.sketch(text) for text in texts]
    fingerprints, sketches = made.fingerprints_and_sketches(texts)
    assert list(zip(fingerprints, sketches, strict=True)) == [made.fingerprint_and_sketch(text) for text in texts]


@given(st.lists(TEXT, max_size=8))
@settings(max_examples=50, deadline=None)
def test_each_is_fingerprinted_as_alone(texts: list[str | bytes]) -> None:
    values, tokens = core.fingerprints(texts)
    assert values.shape == tokens.shape == (len(texts),)
    assert [(v, t) if t else None for v, t in zip(values.tolist(), tokens.tolist(), strict=True)] == [
        core.fingerprint(text) for text in texts
    ]


def test_odd_texts_stand_beside_others() -> None:
    texts = [document(9), *ODD, document(9)]
    found = core_sketch.features_of_texts(texts, fold=False)
    assert found.packed.shape == (len(texts), 128)
    assert found.keys.shape == (len(texts), 16)
    for place, text in enumerate(texts):
        alone = core_sketch.fingerprint_and_minhash(text)
        assert alone is not None
        assert found.packed[place].tobytes() == alone.packed
        assert found.keys[place].tolist() == list(alone.keys)
        assert int(found.shingles[place]) == alone.shingles


def test_a_form_that_is_none_is_refused() -> None:
    with pytest.raises(UsageError, match="not a form"):
        core_sketch.features_of_texts(["a"], core_sketch.MinhashForm(shingle=0))


def test_other_threads_go_on_meanwhile() -> None:
    """A call for many texts lets go of the GIL: this thread counts while another sketches for a second or two."""
    texts = [document(seed, 3000) for seed in range(4)] * 500
    begun, ended = threading.Event(), threading.Event()

    def work() -> None:
        begun.set()
        core_sketch.features_of_texts(texts, fold=False)
        ended.set()

    other = threading.Thread(target=work)
    other.start()
    begun.wait()
    counted = 0
    while not ended.is_set():
        counted += 1
        time.sleep(0.001)
    other.join()
    assert counted > 20
    assert np.array_equal(core.fingerprints(texts[:2])[0], core.fingerprints(texts[4:6])[0])
