"""Two documents beside each other, by every available measure."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from indexer.errors import ExtractionError
from indexer.matching.measures import exact
from indexer.matching.measures.reading import ShingleReader, preferred, reader_of
from indexer.matching.measures.tables import Comparer
from indexer.matching.question import Question, are_equal_without_words, are_identical
from indexer.matching.rule import Finder, MatchRule, TextVerification
from indexer.model.ragged import Ragged
from indexer.stores.base import Store

_LEFT, _RIGHT = np.array([0]), np.array([1])


@dataclass(frozen=True, slots=True)
class Compared:
    """Two documents: `near` by `rule`; `similarity` (0 to 1) is by its measure.

    `bits` is the number of differing bits of simhash-doc's 64, `shares` the share of all 5-word shingles common to both
    (None if unknown); `estimated` if from sketches. `identical` is None if unknown.
    """

    rule: MatchRule
    near: bool
    similarity: float
    bits: int | None
    shares: float | None
    estimated: bool
    identical: bool | None


def compare(rule: MatchRule, one: Question, other: Question, store: Store | None = None) -> Compared:
    """Compare two documents by a rule, with a store's own schemes if either is stored.

    Raises UsageError if one lacks data for the rule, and ExtractionError if one has no words or can't be read again.
    """
    if are_equal_without_words(one, other):
        return Compared(rule, True, 1.0, None, None, False, True)
    for question in (one, other):
        if question.simhash is None:
            raise ExtractionError("empty", f"{question.name} has no words, so there is nothing to compare")
    left, right = one.simhash, other.simhash
    bits = left.distance(right) if left and right else None
    if reader := reader_of(store, rule):
        one, other = reader.readable(one), reader.readable(other)
    comparison = _comparer(rule, one, other)
    value = reader.of_two(one, other) if reader else float(comparison.similarities(_LEFT, _RIGHT)[0])
    near = bool(comparison.found(_LEFT, _RIGHT)[0]) and value >= comparison.least
    shares, estimated = _shares(one, other, store)
    identical = are_identical(one.digests, other.digests)
    return Compared(rule, near, max(value, 0.0), bits, shares, estimated, identical)


def _comparer(rule: MatchRule, one: Question, other: Question) -> Comparer:
    sketches = {name: (one.sketch(scheme), other.sketch(scheme)) for name, scheme in rule.schemes.items()}
    rows = {name: Ragged.of_bytes([each.payload if each else b"" for each in both]) for name, both in sketches.items()}
    return Comparer(rule, rows)


def _shares(one: Question, other: Question, store: Store | None) -> tuple[float | None, bool]:
    if one.text is not None and other.text is not None:
        return ShingleReader(None, TextVerification("text", 0.0)).of_two(one, other), False
    scheme = preferred(store) if store else None
    if scheme is None or scheme.parameters["shingle"] != exact.SHINGLE:
        return None, False
    if any(
        each.text is None and scheme.family not in (each.record.sketches if each.record else ())
        for each in (one, other)
    ):
        return None, False
    finder = Finder(scheme, 0.0)
    value = float(_comparer(MatchRule((finder,)), one, other).by(finder, _LEFT, _RIGHT)[0])
    return (None, False) if value < 0 else (value, True)
