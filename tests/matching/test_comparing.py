"""Two documents beside each other: by a rule, and by what both share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from indexer.errors import ExtractionError, UsageError
from indexer.matching.comparing import Compared, compare
from indexer.matching.lookups import lookup
from indexer.matching.question import Question
from indexer.matching.rule import parse_rule
from indexer.model import Ref
from indexer.schemes import registry
from indexer.stores import Store
from tests.planted import empty, put, record

WORDS = [f"w{number}" for number in range(120)]
# Of the 96 passages of each, 76 are in both.
ONE, OTHER = " ".join(WORDS[:100]), " ".join(WORDS[20:])
SHARED = 76 / 116
UNLIKE = " ".join(f"other{number}" for number in range(100))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """Three texts with a sketch of minhash, one without it, and one without words."""
    minhash = registry.scheme("minhash")
    with empty(tmp_path / "a.neardup", [minhash]) as made:
        for name, text in (("one", ONE), ("other", OTHER), ("unlike", UNLIKE)):
            (tmp_path / name).write_text(text)
            put(made, [record(name, text, [minhash], source=str(tmp_path / name))])
        put(made, [record("older", ONE), record("empty", "", [minhash])])
        yield made


def stored(store: Store, name: str) -> Question:
    [found] = store.get([Ref(name)])
    return Question(name, record=found)


def test_texts_are_counted_and_sketches_estimate(store: Store) -> None:
    one, other = Question("a", ONE), Question("b", OTHER)
    rule = parse_rule("simhash-doc@3bits/minhash@0.4+minhash@0.4", store)
    exact = compare(rule, one, other)
    assert (exact.shares, exact.estimated) == (pytest.approx(SHARED), False)
    assert exact.near == (exact.similarity >= 0.4) is True
    for two in ((stored(store, "one"), stored(store, "other")), (one, stored(store, "other"))):
        found = compare(rule, *two, store)
        assert found.estimated
        assert found.shares == found.similarity == exact.similarity
        assert found.bits == exact.bits
    # Without the sketch of one, a simhash rule still says what it can.
    lean = parse_rule("simhash-doc@3bits", store)
    found = compare(lean, stored(store, "older"), stored(store, "other"), store)
    assert (found.shares, found.estimated) == (None, False)
    assert found.similarity == 1 - exact.bits / 64  # type: ignore[operator]
    by_sketches = compare(lean, stored(store, "one"), stored(store, "other"), store)
    assert by_sketches.shares == exact.similarity


@pytest.mark.parametrize(
    ("rule", "near"),
    [
        ("simhash-doc@64bits", True),
        ("simhash-doc@0bits", False),
        ("minhash@0.4", True),
        ("minhash@0.95", False),
        ("simhash-doc@0bits+minhash@0.4", False),
        ("simhash-doc@64bits+minhash@0.4", True),
        ("simhash-doc@0bits/minhash@0.4+minhash@0.4", True),
        ("simhash-doc@64bits+text@0.65", True),
        ("simhash-doc@64bits+text@0.66", False),
        ("simhash-doc@64bits+containment@0.79", True),
        ("simhash-doc@64bits+containment@0.8", False),
        ("simhash-doc@0bits+text@0.65", False),
    ],
)
def test_near_is_what_finder_and_verifier_say(store: Store, rule: str, near: bool) -> None:
    by = parse_rule(rule, store)
    for one, other in (
        (Question("a", ONE), Question("b", OTHER)),
        (stored(store, "one"), stored(store, "other")),
        (stored(store, "one"), Question("b", OTHER)),
    ):
        found: Compared = compare(by, one, other, store)
        assert found.near == near
        assert 0 <= found.similarity <= 1


def test_a_lookup_and_a_comparison_agree(store: Store) -> None:
    for text in ("simhash-doc@7bits", "minhash@0.4", "simhash-doc@7bits/minhash@0.5+minhash@0.5"):
        rule = parse_rule(text, store)
        for name in ("one", "other", "unlike"):
            asked = stored(store, name)
            near = {match.record.ref.id: match.similarity for match in lookup(store, rule, asked).matches}
            for other in ("one", "other", "unlike"):
                found = compare(rule, asked, stored(store, other), store)
                assert found.near == (other in near)
                assert other not in near or found.similarity == near[other]


def test_nothing_in_common_is_no_similarity(store: Store) -> None:
    found = compare(parse_rule("minhash@0", store), Question("a", ONE), Question("b", "?! one"))
    assert found.similarity <= 0.1
    with pytest.raises(ExtractionError, match="b has no words"):
        compare(parse_rule("minhash@0.4", store), Question("a", ONE), Question("b", "?!"))
    with pytest.raises(ExtractionError, match="empty has no words"):
        compare(parse_rule("minhash@0.4", store), Question("a", ONE), stored(store, "empty"))
    # No spot in either: they can't be compared, and are not near from 0 on.
    spots = compare(parse_rule("spotsigs@0.5+spotsigs@0"), Question("a", ONE), Question("b", ONE))
    assert (spots.near, spots.similarity) == (False, 0.0)


def test_what_is_missing_is_named(store: Store, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="older has no sketch of minhash"):
        compare(parse_rule("minhash@0.4", store), stored(store, "older"), stored(store, "one"), store)
    reading = parse_rule("simhash-doc@3bits+text@0.5", store)
    with pytest.raises(UsageError, match=r"one has no text.*give a text or file"):
        compare(reading, stored(store, "one"), Question("b", OTHER))
    (tmp_path / "one").unlink()
    with pytest.raises(ExtractionError, match="one: No such file"):
        compare(reading, stored(store, "one"), Question("b", OTHER), store)
