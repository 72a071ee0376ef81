"""The golden vectors of simhash, I-Match, SpotSigs and passages: made by the oracles, met by the schemes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from indexer.schemes.base import Scheme
from indexer.schemes.imatch import IMatch
from indexer.schemes.passages import Passages
from indexer.schemes.simhash_variants import SimhashVariant
from indexer.schemes.spotsigs import SpotSigs
from indexer.text import corpus, features, languages

VECTORS = Path(__file__).resolve().parents[1] / "vectors"
DOCUMENTS = {
    name: json.loads((VECTORS / f"{name}.json").read_text("utf-8"))
    for name in ("simhash", "i-match", "spotsigs", "passages")
}


def made(family: str, parameters: dict[str, Any], texts: list[str]) -> Scheme:
    if family == "spotsigs":
        return SpotSigs(**parameters)
    if family == "passages":
        return Passages(**parameters)
    known = corpus.gather(texts, features.recipe())
    if family == "i-match":
        return IMatch(corpus=known, **parameters)
    return SimhashVariant(corpus=known if parameters.get("weights") == "tfidf" else None, **parameters)


@pytest.mark.parametrize("family", DOCUMENTS)
def test_the_oracle_still_writes_the_same_file(family: str) -> None:
    from tests.vectors import make_variant_vectors

    assert make_variant_vectors.render(family) == (VECTORS / f"{family}.json").read_text("utf-8")


@pytest.mark.parametrize("family", DOCUMENTS)
def test_the_scheme_meets_every_vector(family: str) -> None:
    document = DOCUMENTS[family]
    texts = document["texts"]
    for vector in document["vectors"]:
        sketch = made(family, vector["parameters"], list(texts.values())).sketch(texts[vector["text"]])
        found = (None, []) if sketch is None else (sketch.payload.hex(), list(sketch.keys))
        assert found == (vector["payload"], vector["keys"]), (vector["parameters"], vector["text"])


def test_the_stop_words_of_the_vectors_are_those_of_the_list() -> None:
    listed = languages.stop_words(languages.stop_list("en"), "")
    given = DOCUMENTS["spotsigs"]["texts"].values()
    words = {token.decode() for text in given for token in features.recipe().cut(text)[0].tokens}
    assert sorted(words & listed) == DOCUMENTS["spotsigs"]["stop_words"]
