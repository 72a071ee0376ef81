"""Parts of documents: found, called what they are, and never removed for the document that holds them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

import indexer
from indexer.clustering.annotations import stored_clusters
from indexer.clustering.arrivals import Arrivals, rule_for
from indexer.clustering.clusters import cluster
from indexer.clustering.copies import Copies
from indexer.clustering.prune import Pruning
from indexer.errors import UsageError
from indexer.library.batch_options import BatchOutput
from indexer.library.batches import dedupe as batch_dedupe
from indexer.library.collection import Collection
from indexer.library.results import plan_of
from indexer.matching.lookups import part_label
from indexer.matching.rule import parse_rule
from indexer.matching.shorthand import explained
from indexer.model import Ref
from indexer.schemes.passages import Passages
from indexer.schemes.testing import document

CHAPTERS = [document(seed, 1000) for seed in range(12)]
BOOK = " ".join(CHAPTERS)
RELEASE = document(77, 400)
ARTICLES = {f"article{n}": f"{document(80 + n, 300)} {RELEASE} {document(90 + n, 300)}" for n in range(2)}
TEXTS = {"book": BOOK, "other": document(50, 3000), **ARTICLES}
RULE = "passages@0.3"


@pytest.fixture
def collection(tmp_path: Path) -> Iterator[Collection]:
    with indexer.open(tmp_path / "store.db", schemes=["minhash", "passages"]) as opened:
        opened.add_many(TEXTS.items())
        yield opened


def labels(collection: Collection, text: str, match: str = RULE) -> dict[str, str]:
    return {one.id: one.label for one in collection.similar(text, match=match)}


def test_a_chapter_is_contained_and_a_book_contains(collection: Collection) -> None:
    assert labels(collection, CHAPTERS[5]) == {"book": "contains"}
    assert labels(collection, CHAPTERS[5], "minhash@0.6") == {}
    collection.add("chapter", CHAPTERS[3])
    assert labels(collection, BOOK) == {"book": "identical", "chapter": "contained in"}


def test_shares_are_said_for_both_sides(collection: Collection) -> None:
    [match] = collection.similar(CHAPTERS[5], match=RULE)
    assert match.of_query is not None
    assert match.of_match is not None
    assert match.similarity == match.of_query > 0.9
    assert 1 / 14 < match.of_match < 1 / 10
    assert collection.similar(BOOK, match="minhash@0.6")[0].of_query is None


def test_articles_that_quote_one_release_share_it(collection: Collection) -> None:
    assert labels(collection, RELEASE) == {"article0": "contains", "article1": "contains"}
    assert labels(collection, ARTICLES["article0"]) == {"article0": "identical", "article1": "shares"}


def test_what_is_shared_is_named_by_both_shares() -> None:
    assert [part_label(*both) for both in ((1, 1), (0.9, 0.1), (0.1, 0.9), (0.7, 0.7))] == [
        "near", "contains", "contained in", "shares"
    ]  # fmt: skip


@pytest.mark.parametrize(
    "rule", [RULE, "minhash@0.3+passages@0.5", "minhash@0.3+containment@0.9", "minhash@0.3+aligned@0.5"]
)
def test_clusters_of_parts_name_nothing_to_remove(collection: Collection, rule: str) -> None:
    cluster(collection.store, parse_rule(rule, collection.store))
    for one in stored_clusters(collection.store):
        assert not any(one.repeats)
    with pytest.raises(UsageError, match="parts"):
        Pruning(collection.store)


def test_clusters_of_parts_are_there_to_be_looked_at(collection: Collection) -> None:
    collection.add("chapter", CHAPTERS[3])
    cluster(collection.store, parse_rule(RULE, collection.store))
    found = {frozenset(ref.id for ref in one.members) for one in stored_clusters(collection.store, least=2)}
    assert found == {frozenset({"book", "chapter"}), frozenset({"article0", "article1"})}
    by = rule_for(collection.store)
    with pytest.raises(UsageError, match="parts"):
        Arrivals(collection.store, by, skip=True)


@pytest.mark.parametrize("rule", [RULE, "minhash@0.3+passages@0.5"])
def test_nothing_is_removed_by_a_rule_of_parts(collection: Collection, tmp_path: Path, rule: str) -> None:
    stored = parse_rule(rule, collection.store)
    with pytest.raises(UsageError, match="parts"):
        Copies(collection.store, [Ref("book")], stored)
    with pytest.raises(UsageError, match="parts"):
        Arrivals(collection.store, rule_for(collection.store, stored, cluster=False), cluster=False, skip=True)
    with pytest.raises(UsageError, match="parts"):
        indexer.dedupe(list(TEXTS.values()), rule)
    (tmp_path / "in.jsonl").write_text(
        "".join(json.dumps({"id": name, "text": text}) + "\n" for name, text in TEXTS.items())
    )
    with pytest.raises(UsageError, match=r"parts|sketches"):
        batch_dedupe([str(tmp_path / "in.jsonl")], BatchOutput(str(tmp_path / "out")), match=rule)


def test_every_one_is_found_but_by_keys_that_very_many_hold(tmp_path: Path) -> None:
    """What --explain promises of passages, and of what it makes an exception: pairs make none."""
    licence, many = document(500, 150), Passages.common + 1
    texts = {f"page{number}": f"{licence} {document(1000 + number, 40)}" for number in range(many)}
    rare = document(600, 100)
    question = f"{licence} {rare}"
    with indexer.open(tmp_path / "store.db", schemes=["passages"]) as opened:
        opened.add_many({**texts, "quoting": f"{document(700, 100)} {rare}", "only": licence}.items())
        rule = opened.rule("passages@0.5")
        [line] = [line for line in explained(rule) if "finds every one" in line]
        assert "finds every one with one that no more than 1,000 documents hold" in line
        assert [one.guaranteed for one in plan_of(rule).finders] == [False]
        # By a key of its own the one is found, and the others by what all have are not.
        assert [one.id for one in opened.similar(question, match="passages@0.2")] == ["quoting"]
        [answer] = opened.similar_each([question], match="passages@0.2")
        assert answer.set_aside > 0
        # Of keys that all are common some documents are found.
        assert len(opened.similar(licence, match="passages@0.5", limit=5)) == 5
        opened.add("again", question)
        near = {pair.right for pair in opened.iter_pairs(match="passages@0.5") if pair.left == "only"}
        near |= {pair.left for pair in opened.iter_pairs(match="passages@0.5") if pair.right == "only"}
        assert near == {*texts, "again"}
