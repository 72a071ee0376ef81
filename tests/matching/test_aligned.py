"""Verification by an alignment of the texts, and the rules that count words in a row or shares of the query."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import indexer
from indexer.errors import UsageError
from indexer.library.collection import Collection
from indexer.matching.comparing import compare
from indexer.matching.lookups import Answer, lookup
from indexer.matching.pairing import pairs_of
from indexer.matching.question import Question
from indexer.matching.rule import parse_rule
from indexer.schemes.testing import document

CHAPTERS = [document(seed, 400) for seed in range(6)]
BOOK = " ".join(CHAPTERS)
RELEASE = document(77, 120)
TEXTS = {
    "book": BOOK,
    "article": f"{document(80, 300)} {RELEASE} {document(90, 300)}",
    "other": document(50, 2000),
}


@pytest.fixture(scope="module", params=["passages", "passages:features=letters"])
def collection(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Collection]:
    folder = tmp_path_factory.mktemp("aligned")
    for name, text in TEXTS.items():
        (folder / f"{name}.txt").write_text(text)
    with indexer.open(folder / "store.db", schemes=["minhash", request.param]) as opened:
        opened.index([folder / f"{name}.txt" for name in TEXTS])
        yield opened


def asked(collection: Collection, rule: str, text: str) -> Answer:
    return lookup(collection.store, parse_rule(rule, collection.store), Question("asked", text))


def found(collection: Collection, rule: str, text: str) -> list[str]:
    return [Path(match.record.ref.id).stem for match in asked(collection, rule, text).matches]


def misread(text: str, share: float, seed: int = 5) -> str:
    chance = random.Random(seed)
    return "".join(chance.choice("etaoin") if each.isalpha() and chance.random() < share else each for each in text)


def test_a_part_is_verified_by_its_words(collection: Collection) -> None:
    answer = asked(collection, "passages@0.2+aligned@0.9", misread(CHAPTERS[3], 0.01))
    [match] = answer.matches
    assert match.label == "contains"
    assert match.longest is not None
    assert match.longest > 300
    assert match.shares is not None
    assert match.similarity == match.shares[0] > 0.9
    assert 1 / 8 < match.shares[1] < 1 / 5
    assert found(collection, "passages@0.2+aligned@0.9", CHAPTERS[3] + " " + document(60, 300)) == []
    assert found(collection, "passages@0.2+aligned@0.5", CHAPTERS[3] + " " + document(60, 300)) == ["book"]


def test_the_share_is_that_of_the_query_or_of_the_shorter(collection: Collection) -> None:
    longer = f"{RELEASE} {BOOK} {document(61, 2200)}"
    assert found(collection, "passages@0.4+aligned@0.4", longer) == ["book"]
    assert found(collection, "passages@0.1query+aligned@0.4query", longer) == ["book"]
    assert found(collection, "passages@0.1query+aligned@0.6query", longer) == []
    assert found(collection, "passages@0.6query", longer) == []
    assert found(collection, "passages@0.4query", longer) == ["book"]
    one, other = Question("a", longer), Question("b", BOOK)
    for rule, near in (("passages@0.6query", False), ("passages@0.6", True), ("passages@0.4query", True)):
        assert compare(parse_rule(rule, collection.store), one, other).near is near
    with pytest.raises(UsageError, match="no query here"):
        list(pairs_of(collection.store, parse_rule("passages@0.5query", collection.store)))


def test_words_in_a_row_are_counted_in_the_texts(collection: Collection) -> None:
    words = f"{document(62, 1000)} {' '.join(RELEASE.split()[:90])} {document(63, 1000)}"
    assert found(collection, "passages@80words", words) == ["article"]
    assert found(collection, "passages@95words", words) == []
    assert compare(
        parse_rule("passages@80words", collection.store), Question("a", words), Question("b", TEXTS["article"])
    ).near
    [match] = asked(collection, "passages@80words", words).matches
    assert match.label == "shares"
    assert match.longest is not None
    assert 89 <= match.longest <= 92


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_whatever_has_the_guaranteed_words_in_a_row_is_found(collection: Collection, data: st.DataObject) -> None:
    rule = parse_rule("passages", collection.store)
    guarantee = rule.finders[0].scheme.guarantee
    assert guarantee is not None
    name = data.draw(st.sampled_from(sorted(TEXTS)))
    words = TEXTS[name].split()
    start = data.draw(st.integers(0, len(words) - guarantee))
    before, behind = (document(data.draw(st.integers(1000, 2000)), data.draw(st.integers(1, 400))) for _ in range(2))
    text = " ".join([before, *words[start : start + guarantee], behind])
    assert name in found(collection, f"passages@{guarantee}words", text)


def test_pairs_are_verified_too(collection: Collection, tmp_path: Path) -> None:
    with indexer.open(tmp_path / "store.db", schemes=["minhash", "passages"]) as made:
        for name, text in (("a", BOOK), ("b", CHAPTERS[1]), ("c", misread(CHAPTERS[2], 0.02)), ("d", RELEASE)):
            (tmp_path / f"{name}.txt").write_text(text)
        made.index([tmp_path / f"{name}.txt" for name in "abcd"])
        for rule in ("passages@0.2+aligned@0.9", "passages@100words"):
            pairs = pairs_of(made.store, parse_rule(rule, made.store))
            near = [{Path(one.left.id).stem, Path(one.right.id).stem} for one in pairs]
            assert sorted(map(sorted, near)) == [["a", "b"], ["a", "c"]]
