"""What the workers make of a text is what each scheme makes of it alone."""

from __future__ import annotations

import pytest

from indexer.core.text import text_digest
from indexer.ingest.sketching import fingerprint_of, sketch_document, sketched_texts
from indexer.matching.question import Question
from indexer.model import Document, Sketch
from indexer.relations.beside import NOTHING_BESIDE
from indexer.schemes import registry, simhash
from indexer.text.digests import read_digest

TEXT = "A page of 20 words, with 3 numbers among them, is read once and gives 2 things: a simhash and a sketch."


def document(text: str) -> Document:
    return Document(text)


@pytest.mark.parametrize(
    "specifications",
    [(), ("minhash",), ("spotsigs", "minhash"), ("minhash", "passages"), ("supershingles", "spotsigs", "passages")],
)
def test_in_one_pass_and_alone_the_same_is_made(specifications: tuple[str, ...]) -> None:
    schemes = [registry.scheme(each) for each in specifications]
    sketches, digest, read, beside, end = sketch_document(schemes, document(TEXT))
    assert fingerprint_of(sketches) == simhash.fingerprint(TEXT)
    assert (digest, read, beside, end) == (text_digest(TEXT).hex(), read_digest(TEXT), NOTHING_BESIDE, None)
    assert sketches == {each.family: each.sketch(TEXT) for each in (simhash.SimhashDoc(), *schemes)}


SCHEMES = [registry.scheme(each) for each in ("minhash", "simhash:numbers=keep", "passages", "short-text")]


@pytest.mark.parametrize("text", [" ... !", "1", "12 345 6,789.10 2024-01-02 " * 50])
def test_what_has_no_words_is_near_its_equal_alone(text: str) -> None:
    sketches, *digests = sketch_document(SCHEMES, document(text))
    assert fingerprint_of(sketches) is None
    assert digests == [text_digest(text).hex(), read_digest(text), NOTHING_BESIDE, None]
    assert sketches == sketched_texts(SCHEMES, [text.encode()])[0][0]
    others, *_ = sketch_document(SCHEMES, document(f"{text} 2"))
    asked = Question("asked", text=text)
    for scheme in SCHEMES:
        assert asked.sketch(scheme) == sketches[scheme.family]
        assert not {*sketches[scheme.family].keys} & {*others[scheme.family].keys}


def test_what_has_nothing_matches_nothing() -> None:
    sketches, *_ = sketch_document(SCHEMES, document(""))
    assert sketches == {each.family: Sketch.without_features(each.id) for each in (simhash.SimhashDoc(), *SCHEMES)}
    assert not any(Question("asked", text="").sketch(each).payload for each in SCHEMES)


def test_a_text_without_features_of_one_scheme_has_those_of_another() -> None:
    schemes = [registry.scheme(each) for each in ("minhash", "spotsigs")]
    text = "tea 1 bread 2 salt 3 yeast 4 water 5"
    sketches, *_ = sketch_document(schemes, document(text))
    assert sketches["minhash"].payload
    assert sketches["spotsigs"] == Sketch.without_features(schemes[1].id)
