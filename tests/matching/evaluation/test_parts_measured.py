"""What rules find of passages that are taken out of documents."""

from __future__ import annotations

import pytest

from indexer.matching.evaluation.figures import PartFigures
from indexer.matching.evaluation.judging import read_rule
from indexer.matching.evaluation.parts import LENGTHS, MISREAD, measure_parts
from indexer.schemes.testing import document

TEXTS = [document(seed, 1200) for seed in range(6)] + [document(seed, 150) for seed in range(20, 24)]


@pytest.fixture(scope="module")
def measured() -> dict[str, dict[tuple[int, float], PartFigures]]:
    rules = [read_rule(rule) for rule in ("default", "passages@0.5", "passages@0.01")]
    found = measure_parts(TEXTS, rules, asked=12)
    return {rule.name: {(each.words, each.misread): each for each in found[rule.written(whole=True)]} for rule in rules}


def test_each_length_is_asked_for_with_each_share_of_misread_letters(
    measured: dict[str, dict[tuple[int, float], PartFigures]],
) -> None:
    for figures in measured.values():
        assert list(figures) == [(words, misread) for words in LENGTHS for misread in MISREAD]
        assert all(each.asked == 12 for each in figures.values())


def test_passages_are_found_where_whole_documents_are_not(
    measured: dict[str, dict[tuple[int, float], PartFigures]],
) -> None:
    parts, whole = measured["passages@0.5"], measured["default"]
    for words in LENGTHS:
        assert (parts[words, 0].found, parts[words, 0].first, parts[words, 0].wrong) == (1, 1, 0)
        assert parts[words, 0].candidates >= 1
    assert whole[300, 0].found == 0
    assert parts[300, 0.05].found < parts[300, 0].found


def test_a_rule_that_asks_for_next_to_nothing_finds_more_and_is_no_more_right_for_it(
    measured: dict[str, dict[tuple[int, float], PartFigures]],
) -> None:
    for kind, figures in measured["passages@0.01"].items():
        assert figures.found >= measured["passages@0.5"][kind].found
        assert figures.first <= figures.found
    assert measured["passages@0.01"][300, 0.05].found > 0.5


def test_the_passage_is_found_first_in_either_of_its_documents_and_short_texts_are_left_out() -> None:
    rule = read_rule("passages@0.5")
    [figures] = measure_parts([TEXTS[0], TEXTS[0] + " " + TEXTS[7], TEXTS[8]], [rule], asked=6).values()
    assert {(each.found, each.first) for each in figures if not each.misread} == {(1, 1)}
    [short] = measure_parts(["few words"] * 2, [rule], asked=6).values()
    assert short == ()
