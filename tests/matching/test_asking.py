"""What is asked for and not said in full: the rule of hashes, the schemes of a new store, a document that is stored."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from indexer.errors import IncompatibleStoreError, UsageError
from indexer.ingest.indexing import store_info
from indexer.library.opening import open_store
from indexer.matching.lists import read_store
from indexer.matching.lookups import NearDocument
from indexer.matching.question import Question, stored_as
from indexer.matching.rule import LEAN_RULE, default_rule, parse_rule
from indexer.matching.shorthand import RuleRequest, rule_asked, rule_of
from indexer.matching.store_schemes import schemes_of, schemes_of_new
from indexer.model import DEFAULT_MIN_TOKENS, Ref, parse_fingerprint
from indexer.schemes import registry
from indexer.stores import Store
from tests.planted import empty, put, record

TEXT = " ".join(f"word{number}" for number in range(50))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """A store with the usual sketch and one document."""
    with empty(tmp_path / "s.neardup", [minhash := registry.scheme("minhash")]) as made:
        put(made, [record("a", TEXT, [minhash])])
        yield made


def test_what_has_hashes_alone_is_compared_by_these_unless_another_rule_is_asked_for(store: Store) -> None:
    assert rule_of(RuleRequest(), store) == default_rule(store)
    assert rule_of(RuleRequest(), store, hashes=True) == parse_rule(LEAN_RULE, store)
    for asked in (RuleRequest(distance=5), RuleRequest(match="minhash@0.7"), RuleRequest(similarity=0.9)):
        assert rule_of(asked, store, hashes=True) == rule_of(asked, store)


def test_no_rule_is_asked_for_where_nothing_is(store: Store) -> None:
    assert rule_asked(RuleRequest(), store) is None
    assert rule_asked(RuleRequest(distance=0), store) == parse_rule("simhash-doc@0bits", store)


def test_a_new_store_gets_the_usual_schemes_or_exactly_those_that_are_named() -> None:
    def families(exactly: str | None = None) -> list[str]:
        return [each.id for each in schemes_of_new(exactly)]

    assert families() == [registry.scheme("minhash").id]
    assert families("simhash-doc") == []
    assert families(" simhash-doc , minhash:shingle=3,bits=1,values=1024,simhash") == [
        registry.scheme("minhash:shingle=3,bits=1,values=1024").id,
        registry.scheme("simhash").id,
    ]
    with pytest.raises(UsageError, match="every store keeps simhash-doc"):
        schemes_of_new("minhash")


def test_a_store_that_is_there_keeps_its_schemes(store: Store, tmp_path: Path) -> None:
    with open_store(tmp_path / "s.neardup") as there:
        assert [each.family for each in schemes_of(there)] == ["minhash"]
        assert [each.family for each in schemes_of(there, ["simhash"])] == ["minhash", "simhash"]
        assert [each.family for each in schemes_of(there, exactly="simhash-doc,minhash")] == ["minhash"]
        with pytest.raises(UsageError, match="--schemes is for a new store"):
            schemes_of(there, exactly="simhash-doc")


@pytest.mark.parametrize("words", [0, 1, DEFAULT_MIN_TOKENS - 1, DEFAULT_MIN_TOKENS])
def test_a_question_is_short_with_a_few_words(words: int) -> None:
    asked = Question("q", " ".join(f"word{number}" for number in range(words)))
    assert asked.is_short(DEFAULT_MIN_TOKENS) == (0 < words < DEFAULT_MIN_TOKENS)


def test_a_hash_alone_is_not_called_short() -> None:
    assert not Question("q", fingerprint=parse_fingerprint("0" * 15 + "1")).is_short(DEFAULT_MIN_TOKENS)


def test_a_file_is_known_by_the_name_and_the_place_that_it_was_stored_under(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with empty(tmp_path / "s.neardup", []) as made:
        put(
            made, [record("a.txt", TEXT, source=os.path.abspath("a.txt")), record("b.txt", TEXT, source="/other/b.txt")]
        )
        assert stored_as(made, "a.txt", str(tmp_path)) == Ref("a.txt")
        assert stored_as(made, str(tmp_path / "a.txt"), str(tmp_path)) == Ref("a.txt")
        # Stored under this name is another file.
        assert stored_as(made, "b.txt", str(tmp_path)) is None
        assert stored_as(made, "c.txt", str(tmp_path)) is None


def test_another_store_has_to_be_comparable(store: Store, tmp_path: Path) -> None:
    rule = default_rule(store)
    with empty(tmp_path / "other.neardup", [minhash := registry.scheme("minhash")]) as other:
        put(other, [record("b", TEXT, [minhash])])
        assert list(read_store(other, store, rule, name="other").refs.take([0])) == [Ref("b")]
    with (
        open_store(tmp_path / "full.neardup", create=store_info("full", [minhash])) as other,
        pytest.raises(IncompatibleStoreError, match=r"full\.neardup"),
    ):
        read_store(other, store, rule, name="full.neardup")


def test_the_bits_that_differ_are_those_of_the_rule_where_it_counts_bits(store: Store) -> None:
    [found] = store.get([Ref("a")])
    assert found
    by_bits, by_share = parse_rule("simhash-doc@6bits", store), parse_rule("minhash@0.5", store)
    assert NearDocument(found, 1 - 5 / 64, None, by_bits).differing == 5
    assert NearDocument(found, 0.75, 9, by_share).differing == 9
    assert NearDocument(found, 0.75, None, by_share).differing is None
