"""Evaluations against documents whose likeness is known, and the truth that users write."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from indexer.errors import UsageError
from indexer.matching.evaluation.documents import placed, read_truth
from indexer.matching.evaluation.figures import EvaluationFigures
from indexer.matching.evaluation.judging import BANDS, Truth, candidates, evaluate, read_rule
from indexer.matching.evaluation.showing import COLUMNS, heading, picture, rows
from indexer.matching.measures.exact import jaccard_pairs, shingle_sets
from indexer.matching.rule import Finder, MatchRule
from indexer.model import Sketch
from indexer.model.declared import as_json
from indexer.schemes.base import Plan, Scheme
from indexer.schemes.keys.layout import KeyLayout

VOCABULARY = [
    f"{a}{b}{c}" for a in ("ba", "ko", "mi", "tu") for b in ("ran", "lis", "ved", "on") for c in ("a", "e", "i")
]


def versions(seed: int, families: int, words: int = 300) -> list[str]:
    """Families of texts: a first one, and versions with ever more words replaced."""
    chance = random.Random(seed)
    texts = []
    for _ in range(families):
        base = [chance.choice(VOCABULARY) + str(chance.randrange(30)) for _ in range(words)]
        texts.append(" ".join(base))
        for share in (0.002, 0.006, 0.012, 0.02, 0.03, 0.05, 0.08):
            changed = [chance.choice(VOCABULARY) if chance.random() < share else word for word in base]
            texts.append(" ".join(changed))
    return texts


RULES = ("minhash@0.6", "simhash-doc@7bits+minhash@0.6", "simhash-doc@3bits")


class Keyed(Scheme):
    """Documents as sets of small numbers: a key each, two tables."""

    family = "keyed"
    summary = "For tests."
    measure = "nothing"
    layout = KeyLayout(tables=4, bits=3)
    default_similarity = 0.5

    def __init__(self, agreeing: int) -> None:
        self.agreeing = agreeing

    @property
    def parameters(self) -> dict[str, int]:
        return {"agreeing": self.agreeing}

    def sketch(self, text: str | bytes) -> Sketch | None:
        raise NotImplementedError

    def similarities(self, payload: bytes, others: Sequence[bytes]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        return np.array([len(set(payload) & set(other)) / 32 for other in others])

    def plan(self, similarity: float) -> Plan:
        return Plan(similarity, 32, self.agreeing, 1.0, True, "")


def keyed(keys: set[int]) -> Sketch | None:
    return Sketch("keyed", bytes(sorted(keys)), tuple(sorted(keys)), len(keys)) if keys else None


@settings(max_examples=200, deadline=None)
@given(st.lists(st.sets(st.integers(0, 31), max_size=6), max_size=20), st.integers(1, 3))
def test_lookup_in_memory_equals_brute_force(sets: list[set[int]], agreeing: int) -> None:
    rule = MatchRule((Finder(Keyed(agreeing), 0.5),))
    found = candidates(rule, {"keyed": [keyed(each) for each in sets]})
    expected = {
        (a, b) for a, b in combinations(range(len(sets)), 2) if len({key >> 3 for key in sets[a] & sets[b]}) >= agreeing
    }
    assert set(zip(found.left.tolist(), found.right.tolist(), strict=True)) == expected
    assert found.left.size == found.compared == len(expected)
    assert found.probes == max(map(len, sets), default=0)
    assert found.scores.tolist() == [len(sets[a] & sets[b]) / 32 for a, b in zip(found.left, found.right, strict=True)]


@pytest.fixture(scope="module")
def evaluation() -> EvaluationFigures:
    return evaluate(versions(7, 40), [read_rule(text) for text in RULES])


def test_minhash_keeps_what_it_promises(evaluation: EvaluationFigures) -> None:
    """A floor under the quality, which a change may not lower."""
    assert min(band.pairs for band in evaluation.bands[:3]) >= 40
    result = evaluation.rules[0]
    assert result.precision is not None
    assert result.precision >= 0.99
    for (low, _), recall in zip(BANDS, result.recall_by_band, strict=True):
        if low >= 0.8:
            assert recall is not None
            assert recall >= 0.99
        elif low >= 0.7:
            assert recall is not None
            assert recall >= 0.93


def test_a_sketch_makes_simhash_precise(evaluation: EvaluationFigures) -> None:
    _, verified, alone = evaluation.rules
    assert verified.precision is not None
    assert verified.precision >= 0.99
    assert verified.candidates_per_query >= alone.candidates_per_query
    assert verified.payload_octets <= 8 + 128


def test_figures_agree_with_themselves(evaluation: EvaluationFigures) -> None:
    sets = shingle_sets(versions(7, 40))
    exact = jaccard_pairs(sets, 0.5)
    for (low, high), band in zip(BANDS, evaluation.bands, strict=True):
        assert band.pairs == sum(low <= value < high or value == high == 1.0 for value in exact.jaccard.tolist())
    for result in evaluation.rules:
        recalls = [point.recall for point in result.curve]
        assert recalls == sorted(recalls, key=lambda value: -(value or 0.0))
        assert result.best.f1 == max(point.f1 or 0.0 for point in result.curve)
        assert result.wrong <= result.returned


def test_every_form_has_every_rule(evaluation: EvaluationFigures) -> None:
    table = list(rows(RULES, evaluation))
    assert [row[0] for row in table] == list(RULES)
    assert all(len(row) == len(COLUMNS) for row in table)
    assert any("wanted" in line for line in heading(evaluation))
    plain = json.loads(json.dumps(as_json(evaluation)))
    assert [str(read_rule(each["rule"])) for each in plain["rules"]] == [row[0] for row in table]
    assert [[finder["scheme"].partition(":")[0] for finder in each["finders"]] for each in plain["rules"]] == [
        ["minhash"],
        ["simhash-doc"],
        ["simhash-doc"],
    ]
    assert plain["rules"][0]["measure"] == plain["rules"][1]["measure"] != plain["rules"][2]["measure"]
    assert picture(RULES, evaluation).count("<svg") == 1


def test_named_truth_replaces_the_coefficient() -> None:
    texts = versions(3, 2)
    truth = Truth(frozenset({(0, 1), (0, 15)}), "pairs of mine")
    found = evaluate(texts, [read_rule("minhash@0.6")], truth)
    [result] = found.rules
    assert found.wanted == 2
    assert result.recall == 0.5
    assert result.wrong == result.returned - 1


def test_one_document_is_too_few() -> None:
    with pytest.raises(UsageError, match="at least two"):
        evaluate(["alone"], [read_rule("minhash@0.6")])


@pytest.mark.parametrize(
    "text",
    [
        *("minhash+minhash+minhash", "+minhash", "minhash+", "minhash@2", "minhash@much", "nothing", "minhash:x"),
        *("minhash/simhash-doc", "simhash-doc@7bits+text@0.5"),
    ],
)
def test_rules_that_can_not_be(text: str) -> None:
    with pytest.raises(UsageError):
        read_rule(text)


def test_truth_of_pairs_and_of_groups(tmp_path: Path) -> None:
    file = tmp_path / "truth.jsonl"
    lines: list[dict[str, object]] = [
        {"id": "a", "group": "one", "path": "x/a.html"},
        {"id": "b", "group": "one"},
        {"id": "c", "group": "one"},
        {"id": "d", "group": None, "path": "x/d.html"},
        {"a": "d", "b": "a"},
        {"left": "a", "right": "z", "similarity": 0.9},
        {"a": "a", "b": "a"},
    ]
    file.write_text("\n".join(map(json.dumps, lines)) + "\n\n", "utf-8")
    named = read_truth(file)
    assert named.pairs == {("a", "b"), ("a", "c"), ("b", "c"), ("a", "d"), ("a", "z")}
    assert named.paths == {"a": str(tmp_path / "x/a.html"), "d": str(tmp_path / "x/d.html")}
    assert named.ids == {"a", "b", "c", "d", "z"}
    truth, missing = placed(named, ["d", "c", "b", "a"])
    assert truth.pairs == {(0, 3), (1, 2), (1, 3), (2, 3)}
    assert missing == 1


@pytest.mark.parametrize(
    ("text", "complaint"),
    [("[1]\n", "line 1 is not a JSON object"), ('\n{"x": 1}\n', "line 2"), ("{" * 5000, "line 1 is not a JSON object")],
)
def test_truth_that_is_none(tmp_path: Path, text: str, complaint: str) -> None:
    file = tmp_path / "truth.jsonl"
    file.write_text(text, "utf-8")
    with pytest.raises(UsageError, match=complaint):
        read_truth(file)


def test_truth_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="can't be read"):
        read_truth(tmp_path / "none.jsonl")
