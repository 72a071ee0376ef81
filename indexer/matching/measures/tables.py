"""Similarities by a rule's finders and verifier."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import numpy.typing as npt

from indexer.matching.rule import Finder, MatchRule
from indexer.model.ragged import Ragged
from indexer.schemes.base import SLACK, Positions, Similarities

Measured = Callable[[Positions, Positions], Similarities]
# True for each pair that is not near, whatever its similarity.
Apart = Callable[[Positions, Positions], npt.NDArray[np.bool_]]


class Comparer:
    """Compares documents, or nodes of equal ones, as a rule does, and counts the compared pairs.

    `payloads[family]` has a row for each, empty without a sketch. `measured` returns the similarities of pairs (shape
    (n,), below 0 if unknown) by the rule's verifier; if None the sketches decide. Pairs `apart` have a similarity below
    0.
    """

    def __init__(
        self,
        rule: MatchRule,
        payloads: Mapping[str, Ragged],
        measured: Measured | None = None,
        apart: Apart | None = None,
    ) -> None:
        self.rule, self._apart = rule, apart
        self.compared = 0
        self.least = rule.measure.similarity - SLACK
        self._given = measured
        self._rows = {name: _compact(rows) for name, rows in payloads.items()}

    def similarities(self, left: Positions, right: Positions) -> Similarities:
        if self._given is not None:
            self.compared += left.size
            values = self._given(left, right)
        else:
            measure = self.rule.measure
            assert isinstance(measure, Finder)  # noqa: S101 what reads texts is given
            values = self.by(measure, left, right)
        return values if self._apart is None else np.where(self._apart(left, right), -1.0, values)

    def near(self, finder: Finder, left: Positions, right: Positions, *, exact: bool = False) -> Similarities:
        rule = self.rule
        if finder is rule.measure:
            similarities = self.similarities(left, right)
            return np.where(similarities >= self.least, similarities, -1.0)
        similarities = np.full(left.size, -1.0)
        # Where both are of one scheme, one similarity has to reach both thresholds.
        same = isinstance(rule.verifier, Finder) and rule.verifier.scheme.id == finder.scheme.id
        if exact or same:
            passed = np.arange(left.size)
        else:
            passed = np.flatnonzero(self.by(finder, left, right) >= finder.similarity - SLACK)
        if passed.size:
            values = self.similarities(left[passed], right[passed])
            least = max(self.least, finder.similarity - SLACK) if same else self.least
            similarities[passed] = np.where(values >= least, values, -1.0)
        return similarities

    def found(self, left: Positions, right: Positions) -> npt.NDArray[np.bool_]:
        """True for each pair that is near by a finder."""
        reached = [self.by(finder, left, right) >= finder.similarity - SLACK for finder in self.rule.finders]
        return np.asarray(np.logical_or.reduce(reached))

    def judged(self, left: Positions, right: Positions) -> Similarities:
        values = self.similarities(left, right)
        return np.where(self.found(left, right) & (values >= self.least), values, -1.0)

    def by(self, finder: Finder, left: Positions, right: Positions) -> Similarities:
        """The similarities of pairs by a finder's scheme, below 0 if one has no sketch; shape (len(left),).

        By a share of the query it is that of the left one.
        """
        self.compared += left.size
        rows, place = self._rows[finder.name]
        if place is None:
            return self._measured(finder, rows, left, right)
        one, other = place[left], place[right]
        there = (one >= 0) & (other >= 0)
        similarities = np.full(left.size, -1.0)
        similarities[there] = self._measured(finder, rows, one[there], other[there])
        return similarities

    def _measured(self, finder: Finder, rows: Ragged, left: Positions, right: Positions) -> Similarities:
        if finder.of_query:
            return finder.scheme.shares(rows, left, right)[:, 0]
        return finder.scheme.compare(rows, left, right)


def _compact(payloads: Ragged) -> tuple[Ragged, Positions | None]:
    there = payloads.sizes > 0
    if there.all():
        return payloads, None
    place = np.cumsum(there) - 1
    place[~there] = -1
    return payloads.take(there), place
