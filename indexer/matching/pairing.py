"""All near pairs of stored documents, as a stream."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from indexer.errors import UsageError
from indexer.matching.measures.reading import Reader, reader_of
from indexer.matching.measures.tables import Comparer, Measured
from indexer.matching.nodes import Nodes, read_nodes
from indexer.matching.rule import Finder, MatchRule
from indexer.model import Ref
from indexer.model.ragged import Ragged
from indexer.schemes.base import SLACK, Positions, Similarities
from indexer.stores.base import Store

_BLOCK = 1 << 17
_REFS_AT_ONCE = 2000


class MeasuredPair(NamedTuple):
    """Two documents and their similarity (0 to 1) by the rule's measure."""

    left: Ref
    right: Ref
    similarity: float


ScoredPairs = tuple[Positions, Positions, Similarities]


def pairs_of(
    store: Store,
    rule: MatchRule,
    *,
    against: Nodes | None = None,
    collapse: bool = False,
    include_short: bool = False,
    threads: int | None = None,
    reader: Reader | None = None,
) -> Iterator[MeasuredPair]:
    """Every pair of documents near by the rule, once, in no given order.

    With `against` pairs of a document of the store (left) and one of another collection (right). With `collapse` the
    first of each set of documents with equal sketches represents it, and the others are paired with it only. `reader`
    verifies by reading, if the caller wants to see its failures. Memory: that of `read_nodes`, and a few blocks of
    pairs. Raises UsageError if a plan can't serve a threshold, and ExtractionError at the end if none of the necessary
    texts could be read.
    """
    reading = reader or reader_of(store, rule)
    if reading and against is not None:
        raise UsageError(f"{rule}: the documents of two collections can't be read again; verify by a sketch")
    nodes = read_nodes(store, rule, include_short=include_short, whole=reading is not None)
    if against is not None:
        yield from _between(nodes, against, threads)
        return
    measured = measured_by(nodes, reading) if reading else None
    yield from document_pairs(nodes, Comparer(rule, nodes.payloads, measured), collapse=collapse, threads=threads)
    if reading:
        reading.require_read()


def measured_by(nodes: Nodes, reader: Reader) -> Measured:
    """Similarities of nodes, each of one document, by reading."""

    def measured(left: Positions, right: Positions) -> Similarities:
        values_found = [
            reader.between(
                nodes.refs.take(left[start : start + _REFS_AT_ONCE]),
                nodes.refs.take(right[start : start + _REFS_AT_ONCE]),
            )
            for start in range(0, left.size, _REFS_AT_ONCE)
        ]
        return np.concatenate(values_found) if values_found else np.empty(0)

    return measured


def document_pairs(
    nodes: Nodes, comparison: Comparer, *, collapse: bool = False, threads: int | None = None
) -> Iterator[MeasuredPair]:
    """The pairs of documents behind pairs of nodes, and those of equal documents."""
    documents, offsets = nodes.holders()
    for node in np.flatnonzero(nodes.weights > 1).tolist():
        inside = documents[offsets[node] : offsets[node + 1]]
        for place in range(1 if collapse else inside.size - 1):
            yield from _listed(
                nodes, inside[place : place + 1].repeat(inside.size - place - 1), inside[place + 1 :], 1.0
            )
    for left, right, values in node_pairs(nodes, comparison, threads):
        single = (nodes.weights[left] * nodes.weights[right] == 1) | collapse
        one, other = documents[offsets[left[single]]], documents[offsets[right[single]]]
        yield from _listed(nodes, np.minimum(one, other), np.maximum(one, other), values[single])
        for place in np.flatnonzero(~single).tolist():
            a = documents[offsets[left[place]] : offsets[left[place] + 1]]
            b = documents[offsets[right[place]] : offsets[right[place] + 1]]
            for first in a.tolist():
                yield from _listed(nodes, np.minimum(b, first), np.maximum(b, first), float(values[place]))


def node_pairs(nodes: Nodes, comparison: Comparer, threads: int | None = None) -> Iterator[ScoredPairs]:
    """Blocks of pairs of nodes, left < right, near by the rule, each pair once, with their similarities."""
    once = _Once(nodes.rule, comparison, len(nodes))
    for finder in once.finders:
        sketches, where = nodes.having(finder.name)
        for first, second in finder.scheme.join(sketches, finder.similarity, threads=threads):
            for start in range(0, first.size, _BLOCK):
                left, right = where[first[start : start + _BLOCK]], where[second[start : start + _BLOCK]]
                yield from once.near(finder, left, right)


class _Once:
    """Verifies the finds of a rule's finders, and lets each pair pass once."""

    def __init__(self, rule: MatchRule, comparison: Comparer, count: int) -> None:
        # What an exact finder has given is known from the similarity; what another one has, must be remembered.
        self.finders = sorted(rule.finders, key=lambda finder: not finder.scheme.exact_join)
        self._comparison, self._count = comparison, count
        self._given: dict[str, list[Positions]] = {}

    def near(self, finder: Finder, left: Positions, right: Positions) -> Iterator[ScoredPairs]:
        values = self._comparison.near(finder, left, right, exact=finder.scheme.exact_join)
        kept = values >= 0
        for earlier in self.finders[: self.finders.index(finder)]:
            one, other = left[kept], right[kept]
            if earlier.scheme.exact_join:
                kept[kept] = self._comparison.by(earlier, one, other) < earlier.similarity - SLACK
            else:
                codes = self._codes(earlier.name)
                kept[kept] = ~np.isin(one * self._count + other, codes)
        if kept.any():
            block = left[kept], right[kept], values[kept]
            if not finder.scheme.exact_join and finder is not self.finders[-1]:
                self._given.setdefault(finder.name, []).append(block[0] * self._count + block[1])
            yield block

    def _codes(self, name: str) -> Positions:
        parts = self._given.get(name, [])
        if len(parts) > 1:
            parts[:] = [np.concatenate(parts)]
        return parts[0] if parts else np.empty(0, dtype=np.int64)


def _between(nodes: Nodes, against: Nodes, threads: int | None) -> Iterator[MeasuredPair]:
    first = len(nodes)
    payloads = {name: Ragged.joined([rows, against.payloads[name]]) for name, rows in nodes.payloads.items()}
    once = _Once(nodes.rule, Comparer(nodes.rule, payloads), first + len(against))
    (ours, our_offsets), (theirs, their_offsets) = nodes.holders(), against.holders()
    for finder in once.finders:
        (asked, here), (sketches, there) = nodes.having(finder.name), against.having(finder.name)
        for one, other in finder.scheme.join_between(asked, sketches, finder.similarity, threads=threads):
            for left, right, values in once.near(finder, here[one], first + there[other]):
                for a, b, value in zip(left.tolist(), (right - first).tolist(), values.tolist(), strict=True):
                    many = theirs[their_offsets[b] : their_offsets[b + 1]]
                    for own in ours[our_offsets[a] : our_offsets[a + 1]].tolist():
                        pairs = zip(nodes.refs.take([own]) * many.size, against.refs.take(many), strict=True)
                        yield from (MeasuredPair(*refs, value) for refs in pairs)


def _listed(nodes: Nodes, left: Positions, right: Positions, values: Similarities | float) -> Iterator[MeasuredPair]:
    for start in range(0, left.size, _REFS_AT_ONCE):
        part = slice(start, start + _REFS_AT_ONCE)
        one, other = nodes.refs.take(left[part]), nodes.refs.take(right[part])
        shown = [values] * len(one) if isinstance(values, float) else values[part].tolist()
        yield from map(MeasuredPair, one, other, shown)
