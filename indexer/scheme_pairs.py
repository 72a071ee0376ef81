"""All pairs of similar sketches: a join on their keys, block by block, each candidate verified by the scheme."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

import numpy as np
import numpy.typing as npt

from indexer.placing import READ_AT_ONCE
from indexer.schemes.base import Scheme
from indexer.sketch_table import Positions, SketchTable, distance_of, read_sketches, runs
from indexer.store_pairs import StorePair
from indexer.stores.base import Store

_BLOCK = 1 << 17


@dataclass(frozen=True, slots=True)
class SketchPairs:
    """A block of pairs of distinct sketches, left < right, with their similarities; equal shapes (n,)."""

    left: Positions
    right: Positions
    similarity: npt.NDArray[np.float64]


def similar_sketches(table: SketchTable, similarity: float) -> Iterator[SketchPairs]:
    """Every pair of distinct sketches that the scheme's plan finds from this similarity (0 to 1) on, each once.

    A scheme with a way of its own to find all pairs (a method `all_pairs(sketches, similarity)` that gives positions
    and similarity) uses that; else those are compared that share keys in as many tables as the plan says. A key that
    many hold costs time, not memory: no pair is left out. Memory: some 50 octets a key, and a block of candidates.
    """
    own = getattr(table.scheme, "all_pairs", None)
    if own is not None:
        yield from _given(own([table.sketch(number) for number in range(len(table.payloads))], similarity))
        return
    for left, right in candidate_sketches(table, similarity):
        yield from verified_pairs(table, left, right, similarity)


def candidate_sketches(table: SketchTable, similarity: float) -> Iterator[tuple[Positions, Positions]]:
    """Blocks of pairs of distinct sketches that a lookup for this similarity lets meet, each pair once, unverified."""
    plan = table.scheme.plan(similarity)
    if type(table.scheme).probes is Scheme.probes:
        return _sharing(table, plan.agreeing)
    return _probing(table, similarity, plan.agreeing)


def verified_pairs(table: SketchTable, left: Positions, right: Positions, similarity: float) -> Iterator[SketchPairs]:
    """Of a block of candidates those that are so similar."""
    order = np.argsort(left, kind="stable")
    left, right = left[order], right[order]
    found = [table.similarities(int(left[start]), right[start:end]) for start, end in runs(left)]
    if found:
        values = np.concatenate(found)
        kept = values >= similarity - 1e-9
        if kept.any():
            yield SketchPairs(left[kept], right[kept], values[kept])


def _given(pairs: Iterator[tuple[int, int, float]]) -> Iterator[SketchPairs]:
    block: list[tuple[int, int, float]] = []
    for pair in chain(pairs, (None,)):
        if pair is not None:
            block.append(pair)
        if block and (pair is None or len(block) >= _BLOCK):
            left, right, values = zip(*block, strict=True)
            one, other = np.array(left, dtype=np.int64), np.array(right, dtype=np.int64)
            yield SketchPairs(np.minimum(one, other), np.maximum(one, other), np.array(values, dtype=np.float64))
            block = []


class _Postings:
    """The keys that several sketches hold, numbered in their order: `runs` rises, `owners` rises within a run."""

    def __init__(self, table: SketchTable) -> None:
        owners = np.repeat(np.arange(len(table.payloads)), np.diff(table.offsets))
        order = np.lexsort((owners, table.keys))
        keys, owners = table.keys[order], owners[order]
        fresh = np.ones(keys.size, dtype=bool)
        fresh[1:] = (keys[1:] != keys[:-1]) | (owners[1:] != owners[:-1])
        self.keys, self.owners = keys[fresh], owners[fresh]
        self.layout = table.scheme.layout

    def shared(self) -> tuple[Positions, Positions, Positions]:
        """(run, owner, table) of the keys that two sketches or more hold."""
        _, runs, holders = np.unique(self.keys, return_inverse=True, return_counts=True)
        several = holders[runs] > 1
        return runs[several], self.owners[several], self.keys[several] >> self.layout.bits


def _sharing(table: SketchTable, agreeing: int) -> Iterator[tuple[Positions, Positions]]:
    """Blocks of pairs that share keys in at least `agreeing` tables, each pair once."""
    runs, owners, tables = _Postings(table).shared()
    common = _Common(runs, owners, tables, len(table.payloads))
    starts = np.arange(runs.size)
    lag = 1
    # Neighbours at a distance of 1, of 2, ... within the run of one key: every two holders meet.
    while starts.size:
        starts = starts[starts + lag < runs.size]
        starts = starts[runs[starts] == runs[starts + lag]]
        for begin in range(0, starts.size, _BLOCK):
            some = starts[begin : begin + _BLOCK]
            left, right = owners[some], owners[some + lag]
            kept = common.first_of(left, right, runs[some], agreeing)
            if kept.any():
                yield left[kept], right[kept]
        lag += 1


class _Common:
    """Which keys two sketches have in common, by the runs of the keys that several hold."""

    def __init__(self, runs: Positions, owners: Positions, tables: Positions, count: int) -> None:
        order = np.argsort(owners, kind="stable")
        self._runs, self._count = runs[order], int(runs.max(initial=-1)) + 1
        self._starts = np.searchsorted(owners[order], np.arange(count + 1))
        self._table_of = np.zeros(self._count, dtype=np.int64)
        self._table_of[runs] = tables

    def first_of(self, left: Positions, right: Positions, runs: Positions, agreeing: int) -> npt.NDArray[np.bool_]:
        """Whether each pair, which has the key of that run in common, has no earlier one and shares enough tables."""
        both = np.concatenate((self._listed(left), self._listed(right)))
        both.sort()
        same = both[1:][both[1:] == both[:-1]]
        pairs, common = same // self._count, same % self._count
        firsts = np.ones(pairs.size, dtype=bool)
        firsts[1:] = pairs[1:] != pairs[:-1]
        kept = common[firsts] == runs
        if agreeing > 1:
            places = self._table_of[common]
            changed = firsts.copy()
            changed[1:] |= places[1:] != places[:-1]
            kept &= np.bincount(pairs[changed], minlength=left.size) >= agreeing
        return np.asarray(kept, dtype=np.bool_)

    def _listed(self, sketches: Positions) -> Positions:
        """pair * number of runs + run, for each run of each pair's sketch."""
        starts, ends = self._starts[sketches], self._starts[sketches + 1]
        lengths = ends - starts
        offsets = np.repeat(starts - np.concatenate(([0], np.cumsum(lengths)[:-1])), lengths)
        listed = self._runs[np.arange(int(lengths.sum())) + offsets]
        return np.asarray(np.repeat(np.arange(sketches.size), lengths) * self._count + listed, dtype=np.int64)


def _probing(table: SketchTable, similarity: float, agreeing: int) -> Iterator[tuple[Positions, Positions]]:
    """Blocks of pairs of which the first one's probes hit the second one's keys in at least `agreeing` tables."""
    postings = _Postings(table)
    lefts: list[Positions] = []
    rights: list[Positions] = []
    held = 0
    for number in range(len(table.payloads)):
        asked = np.unique(np.array(table.scheme.probes(table.sketch(number), similarity), dtype=np.int64))
        starts, ends = np.searchsorted(postings.keys, asked), np.searchsorted(postings.keys, asked, side="right")
        hits = np.flatnonzero(ends > starts)
        found = [
            np.stack((postings.owners[start:end], np.full(end - start, asked[hit] >> postings.layout.bits)))
            for hit, start, end in zip(hits.tolist(), starts[hits].tolist(), ends[hits].tolist(), strict=True)
        ]
        pairs = np.unique(np.concatenate(found, axis=1), axis=1) if found else np.empty((2, 0), dtype=np.int64)
        others, tables = np.unique(pairs[0], return_counts=True)
        others = others[(tables >= agreeing) & (others > number)]
        lefts.append(np.full(others.size, number))
        rights.append(others)
        held += others.size
        if held >= _BLOCK:
            yield np.concatenate(lefts), np.concatenate(rights)
            lefts, rights, held = [], [], 0
    if held:
        yield np.concatenate(lefts), np.concatenate(rights)


def document_pairs(table: SketchTable, similarity: float, *, collapse: bool = False) -> Iterator[SketchPairs]:
    """The same as pairs of documents, by their positions in the table, those with equal sketches too.

    With `collapse` each distinct sketch is stood for by one document, and the others that have it are paired with that
    one only.
    """
    order = np.argsort(table.distinct, kind="stable")
    starts = np.searchsorted(table.distinct[order], np.arange(len(table.payloads) + 1))
    holders = np.split(order, starts[1:-1]) if table.payloads else []
    for group in holders:
        for place in range(min(1, group.size - 1) if collapse else group.size - 1):
            yield _product(group[place : place + 1], group[place + 1 :], 1.0)
    for block in similar_sketches(table, similarity):
        for one, other, found in zip(block.left.tolist(), block.right.tolist(), block.similarity.tolist(), strict=True):
            left, right = holders[one], holders[other]
            yield from _products(left[:1] if collapse else left, right[:1] if collapse else right, found)


def _products(left: Positions, right: Positions, similarity: float) -> Iterator[SketchPairs]:
    rows = max(1, _BLOCK // right.size)
    for start in range(0, left.size, rows):
        yield _product(left[start : start + rows], right, similarity)


def _product(left: Positions, right: Positions, similarity: float) -> SketchPairs:
    count = left.size * right.size
    return SketchPairs(np.repeat(left, right.size), np.tile(right, left.size), np.full(count, similarity))


def scheme_pairs_of_store(
    store: Store, scheme: Scheme, similarity: float, *, collapse: bool = False, include_short: bool = False
) -> Iterator[StorePair]:
    """Every pair of documents whose sketches are so similar, once, in no given order; see document_pairs().

    Their distance is the dissimilarity in 64ths, rounded up.
    """
    table = read_sketches(store, scheme, include_short=include_short)
    for block in document_pairs(table, similarity, collapse=collapse):
        apart = distance_of(block.similarity)
        for start in range(0, block.left.size, READ_AT_ONCE):
            some = slice(start, start + READ_AT_ONCE)
            left, right = table.refs.take(block.left[some]), table.refs.take(block.right[some])
            yield from map(StorePair, left, right, apart[some].tolist(), block.similarity[some].tolist())
