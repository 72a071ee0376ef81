"""Verification by what documents hold: their texts, read again from where they came from."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from indexer.errors import ExtractionError, UsageError
from indexer.matching.lookups import lookup
from indexer.matching.measures.reading import UNKNOWN, ShingleReader
from indexer.matching.pairing import pairs_of
from indexer.matching.question import Question
from indexer.matching.rule import TextVerification, parse_rule
from indexer.matching.shorthand import RuleRequest, rule_of
from indexer.model import Ref
from indexer.stores import Store
from tests.planted import empty, put, record

WORDS = [f"w{number}" for number in range(40)]
# 20 words have 16 passages of five; neighbours share 16 words, so 12 of them.
TEXTS = {f"c{step}": " ".join(WORDS[step * 4 : step * 4 + 20]) for step in range(6)}
TEXTS["far"] = " ".join(f"other{number}" for number in range(20))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where the texts are."""
    (tmp_path / "texts").mkdir()
    for name, text in TEXTS.items():
        (tmp_path / "texts" / name).write_text(text)
    return tmp_path / "texts"


@pytest.fixture
def store(tmp_path: Path, folder: Path) -> Iterator[Store]:
    """A chain of texts, each a fifth other than the one before, and one that is far from all."""
    with empty(tmp_path / "chain.neardup", []) as made:
        put(made, (record(name, text, source=str(folder / name)) for name, text in TEXTS.items()))
        yield made


def test_texts_are_compared_exactly(store: Store, folder: Path) -> None:
    contained = ShingleReader(store, TextVerification("containment", 0.7))
    left, right = [Ref("c0"), Ref("c0"), Ref("far")], [Ref("c1"), Ref("c2"), Ref("c0")]
    assert contained.between(left, right).tolist() == [12 / 16, 8 / 16, 0]
    resembling = ShingleReader(store, TextVerification("text", 0.5))
    assert resembling.between(left, right).tolist() == [12 / 20, 8 / 24, 0]
    assert not resembling.unread
    (folder / "c4").unlink()
    (folder / "c5").write_text("quite another text")
    assert resembling.between([Ref("c3"), Ref("c4")], [Ref("c4"), Ref("c5")]).tolist() == [UNKNOWN, UNKNOWN]
    assert set(resembling.unread) == {Ref("c4"), Ref("c5")}
    assert "no longer holds" in resembling.unread[Ref("c5")]


def test_thresholds_are_reached_by_what_equals_them(store: Store) -> None:
    for rule, found in (("text@0.6", 5), ("text@0.601", 0), ("containment@0.75", 5), ("containment@0.76", 0)):
        by = parse_rule(f"simhash-doc@16bits+{rule}", store)
        pairs = list(pairs_of(store, by, include_short=True))
        near = {(pair.left.id, pair.right.id) for pair in pairs}
        assert len(near) == found, rule
        assert all(pair.similarity >= by.measure.similarity for pair in pairs)


def test_little_is_remembered_and_nothing_forgotten(store: Store) -> None:
    reader = ShingleReader(store, TextVerification("text", 0.5))
    reader.remembered = 2
    draw = random.Random(1)
    refs = [Ref(f"c{draw.randrange(6)}") for _ in range(50)]
    assert (reader.between(refs, refs) == 1).all()
    assert (reader.between(refs, refs[::-1]) >= 0).all()
    assert len(reader._known) <= 2
    assert reader.between([Ref("gone")], [Ref("c1")]).tolist() == [UNKNOWN]
    assert reader.unread == {Ref("gone"): "it has nothing to be verified by"}


def test_a_lookup_that_could_read_nothing_is_refused(store: Store, folder: Path) -> None:
    by = parse_rule("simhash-doc@7bits+text@0.5", store)
    question = Question("asked", text=TEXTS["c2"])
    every = lookup(store, by, question)
    assert next((match.record.ref.id, match.similarity) for match in every.matches) == ("c2", 1.0)
    (folder / "c2").unlink()
    # Where that was all that would have been compared, nothing is known of what is near.
    with pytest.raises(ExtractionError, match=r"none of the texts of 1 document .*: c2: No such file"):
        lookup(store, by, question)
    # A stored document that is asked about is read itself.
    [one] = store.get([Ref("c1")])
    assert [match.similarity for match in lookup(store, by, Question("c1", record=one), limit=1).matches] == [1.0]


def test_the_document_that_is_asked_about_has_to_be_there(store: Store, folder: Path) -> None:
    by = parse_rule("simhash-doc@7bits+text@0.5", store)
    [one] = store.get([Ref("c1")])
    (folder / "c1").unlink()
    with pytest.raises(ExtractionError, match="c1: No such file"):
        lookup(store, by, Question("c1", record=one))
    # A fingerprint alone has no text.
    with pytest.raises(UsageError, match=r"sd1-x has no text.*--match simhash-doc@3bits"):
        lookup(store, by, Question("sd1-x", fingerprint=one.fingerprint))  # type: ignore[union-attr]


def test_a_sketch_is_needed_to_verify_by(store: Store) -> None:
    with pytest.raises(UsageError, match="--scheme minhash"):
        rule_of(RuleRequest(verify="sketch"), store)
