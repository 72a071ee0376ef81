"""Many texts in one call give what each gives alone."""

from __future__ import annotations

import threading
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from indexer.core.one_pass import Forms, MinhashForm, PassagesForm, features_of_texts
from indexer.errors import UsageError
from indexer.model.joined import Joined, joined_texts
from indexer.schemes.base import sketch_texts
from indexer.schemes.registry import scheme
from indexer.schemes.testing import ODD, document

NAMES = [
    *("simhash-doc", "minhash", "minhash:numbers=drop,shingle=2,values=64,bits=4"),
    *("supershingles", "passages", "passages:features=letters,shingle=3,window=2", "passages:shingle=2,window=3"),
]
FORMS = Forms(MinhashForm(), PassagesForm())
TEXT = st.one_of(st.text(), st.binary(), st.sampled_from(["", "12 34", "one 2 three", "word " * 40, document(1, 60)]))


@given(st.lists(TEXT, max_size=8), st.lists(st.sampled_from(NAMES), max_size=6))
@settings(max_examples=150, deadline=None)
def test_each_is_sketched_as_alone_by_any_schemes_together(texts: list[str | bytes], names: list[str]) -> None:
    schemes = [scheme(name) for name in names]
    made = sketch_texts(schemes, texts)
    assert [len(each) for each in made] == [len(texts)] * len(names)
    for each, sketched in zip(schemes, made, strict=True):
        assert sketched.listed(each.id) == [each.sketch(text) for text in texts]


@given(st.lists(TEXT, max_size=8))
@settings(max_examples=50, deadline=None)
def test_a_buffer_of_texts_is_read_as_they_are(texts: list[str | bytes]) -> None:
    for name in ("passages", "supershingles"):
        made = scheme(name)
        assert made.sketch_many(Joined(*joined_texts(texts))).listed(made.id) == made.sketch_many(texts).listed(made.id)


def test_odd_texts_stand_beside_others() -> None:
    texts = [document(9), *ODD, document(9)]
    found = features_of_texts(texts, FORMS)
    assert found.packed.shape == (len(texts), 128)
    assert found.keys.shape == (len(texts), 16)
    for place, text in enumerate(texts):
        alone = features_of_texts([text], FORMS)
        assert found.packed[place].tolist() == alone.packed[0].tolist()
        assert found.keys[place].tolist() == alone.keys[0].tolist()
        assert found.shingles[place] == alone.shingles[0]
        assert found.passages.row(place).tolist() == alone.passages.values.tolist()


def test_a_form_that_is_none_is_refused() -> None:
    with pytest.raises(UsageError, match="not a form"):
        features_of_texts(["a"], Forms(MinhashForm(shingle=0)))
    with pytest.raises(UsageError, match="not a form"):
        features_of_texts(["a"], Forms(passages=PassagesForm(window=0)))


def test_other_threads_go_on_meanwhile() -> None:
    """A call for many texts lets go of the GIL: this thread counts while another sketches for a second or two."""
    texts = [document(seed, 3000) for seed in range(4)] * 500
    begun, ended = threading.Event(), threading.Event()

    def work() -> None:
        begun.set()
        features_of_texts(texts, FORMS)
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
