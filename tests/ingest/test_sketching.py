"""What the workers make of a text is what each scheme makes of it alone."""

from __future__ import annotations

import pytest

from indexer.core_sketch import text_digest
from indexer.ingest.sketching import sketch_document
from indexer.matching.question import Question
from indexer.model import Document, Sketch
from indexer.schemes import registry, simhash

TEXT = "A page of 20 words, with 3 numbers among them, is read once and gives 2 things: a simhash and a sketch."


def document(text: str) -> Document:
    return Document(text)


@pytest.mark.parametrize(
    "specifications",
    [(), ("minhash",), ("spotsigs", "minhash"), ("minhash", "spotsigs"), ("supershingles", "spotsigs")],
)
def test_in_one_pass_and_alone_the_same_is_made(specifications: tuple[str, ...]) -> None:
    schemes = [registry.scheme(each) for each in specifications]
    fingerprint, keys, sketches, digest = sketch_document(schemes, document(TEXT))
    assert fingerprint == simhash.fingerprint(TEXT)
    assert digest == text_digest(TEXT).hex()
    assert fingerprint
    assert keys == simhash.keys(fingerprint)
    assert sketches == {each.family: each.sketch(TEXT) for each in schemes}


@pytest.mark.parametrize("text", ["", " ... !", "1", "12 345 6,789.10 2024-01-02 " * 50])
def test_what_has_no_words_matches_nothing(text: str) -> None:
    schemes = [registry.scheme(each) for each in ("minhash", "simhash:numbers=keep", "spotsigs")]
    fingerprint, keys, sketches, digest = sketch_document(schemes, document(text))
    assert (fingerprint, keys, digest) == (None, (), text_digest(text).hex())
    assert sketches == {each.family: Sketch.without_features(each.id) for each in schemes}
    asked = Question("asked", text=text)
    assert [asked.sketch(each) for each in schemes] == [None] * 3


def test_a_text_without_features_of_one_scheme_has_those_of_another() -> None:
    schemes = [registry.scheme(each) for each in ("minhash", "spotsigs")]
    text = "tea 1 bread 2 salt 3 yeast 4 water 5"
    _, _, sketches, _ = sketch_document(schemes, document(text))
    assert sketches["minhash"].payload
    assert sketches["spotsigs"] == Sketch.without_features(schemes[1].id)
