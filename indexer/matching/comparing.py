"""Two documents beside each other, by every available measure."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from indexer.errors import ExtractionError
from indexer.matching.measures import exact
from indexer.matching.measures.reading import ShingleReader, preferred, reader_of
from indexer.matching.question import Question, are_equal_without_words, are_identical
from indexer.matching.rule import Finder, MatchRule, TextVerification
from indexer.model.ragged import Ragged
from indexer.schemes.base import SLACK
from indexer.stores.base import Store


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
    measure = rule.measure
    if reader := reader_of(store, rule):
        one, other = reader.readable(one), reader.readable(other)
        value = reader.of_two(one, other)
    else:
        assert isinstance(measure, Finder)  # noqa: S101 - else it is read
        value = _by(measure, one, other)
    any_found = any(_by(finder, one, other) >= finder.similarity - SLACK for finder in rule.finders)
    shares, estimated = _shares(one, other, store)
    near = any_found and value >= measure.similarity - SLACK
    identical = are_identical(one.digests, other.digests)
    return Compared(rule, near, max(value, 0.0), bits, shares, estimated, identical)


def _by(finder: Finder, one: Question, other: Question) -> float:
    scheme = finder.scheme
    left, right = one.sketch(scheme), other.sketch(scheme)
    if left is None or right is None or not left.payload or not right.payload:
        return -1.0
    if finder.of_query:
        payloads = Ragged.of_bytes([left.payload, right.payload])
        return float(scheme.shares(payloads, np.array([0]), np.array([1]))[0, 0])
    return float(scheme.similarities(left.payload, [right.payload])[0])


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
    value = _by(Finder(scheme, 0.0), one, other)
    return (None, False) if value < 0 else (value, True)
