"""Two documents beside each other, by every measure that there is evidence for."""

from __future__ import annotations

from dataclasses import dataclass

from indexer import exact
from indexer.errors import UsageError
from indexer.matching.question import Question
from indexer.matching.rule import MatchRule, Reading
from indexer.schemes.base import SLACK, Scheme


@dataclass(frozen=True, slots=True)
class Compared:
    """Two documents: `near` by `rule`, of which `similarity` (0 to 1) is the measure's.

    `bits` is how many of the 64 bits of simhash-doc differ, `shares` how much of all 5-word passages is in both, None
    where that can't be told; `estimated` says that it comes from sketches and not from the texts.
    """

    rule: MatchRule
    near: bool
    similarity: float
    bits: int | None
    shares: float | None
    estimated: bool


def compare(rule: MatchRule, one: Question, other: Question) -> Compared:
    """Compare two documents by a rule, which has a store's own schemes where either is stored.

    Raises UsageError where one lacks what the rule compares, or has no words.
    """
    for each in (one, other):
        if each.simhash is None:
            raise UsageError(f"{each.name} has no words, so there is nothing to compare")
    left, right = one.simhash, other.simhash
    bits = left.distance(right) if left and right else None
    shares, estimated = _shares(rule, one, other)
    measure = rule.measure
    similarity = _by_texts(measure, one, other) if isinstance(measure, Reading) else _by(measure.scheme, one, other)
    found = any(_by(finder.scheme, one, other) >= finder.similarity - SLACK for finder in rule.finders)
    near = found and similarity >= measure.similarity - SLACK
    return Compared(rule, near, similarity, bits, shares, estimated)


def _by(scheme: Scheme, one: Question, other: Question) -> float:
    left, right = one.sketch(scheme), other.sketch(scheme)
    if left is None or right is None or not left.payload or not right.payload:
        return 0.0
    return float(scheme.similarities(left.payload, [right.payload])[0])


def _by_texts(reading: Reading, one: Question, other: Question) -> float:
    if one.text is None or other.text is None:
        raise UsageError(f"{reading.kind} needs both texts; name two files")
    sets = exact.shingle_sets([one.text, other.text])
    coefficient = exact.jaccard if reading.kind == "text" else exact.containment
    return float(coefficient(sets, [0], [1])[0])


def _shares(rule: MatchRule, one: Question, other: Question) -> tuple[float | None, bool]:
    """The share of common passages, and whether it is an estimate."""
    if one.text is not None and other.text is not None:
        return _by_texts(Reading("text", 0.0), one, other), False
    for scheme in rule.schemes.values():
        if scheme.unit == "share":
            return _by(scheme, one, other), True
    return None, False
