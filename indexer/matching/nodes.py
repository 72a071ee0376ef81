"""Documents with equal sketches as one node."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from indexer.matching.measures.tables import Comparer
from indexer.matching.rule import Finder, MatchRule
from indexer.model import Record
from indexer.model.ragged import Ragged
from indexer.model.refs import RefTable
from indexer.schemes.base import Positions, Similarities, Sketches
from indexer.stores.base import Store
from indexer.stores.sketches import Found

Hashes = npt.NDArray[np.uint64]

_ROWS_AT_ONCE = 1 << 16
_ODD = np.uint64(0x9E3779B97F4A7C15)
_STEPS = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))


@dataclass(frozen=True, slots=True)
class Nodes:
    """Documents and their nodes: document i, `refs[i]`, is one of the `weights[n]` documents of node n = `node_of[i]`.

    `sketches[family]` has a row for each node, with an empty payload without a sketch; `digests` (uint64, shape (nodes,
    2)) order nodes by content, whatever the order of documents. At least `lacking` documents without a necessary sketch
    are not among them.
    """

    rule: MatchRule
    refs: RefTable
    node_of: Positions
    weights: Positions
    sketches: dict[str, Sketches]
    digests: Hashes
    lacking: int = 0

    def __len__(self) -> int:
        return int(self.weights.size)

    @property
    def payloads(self) -> dict[str, Ragged]:
        return {name: column.payloads for name, column in self.sketches.items()}

    def having(self, family: str) -> tuple[Sketches, Positions]:
        """The sketches of a family, and the nodes that have one."""
        every = self.sketches[family]
        where = np.flatnonzero(every.payloads.sizes)
        return (every if where.size == len(self) else every.take(where)), where

    def separated(self, documents: Positions) -> Nodes:
        node_of, weights, moved = self.node_of.copy(), self.weights.copy(), list[int]()
        for document in documents.tolist():
            node = int(node_of[document])
            if weights[node] > 1:
                weights[node] -= 1
                node_of[document] = len(self) + len(moved)
                moved.append(node)
        rows = np.concatenate((np.arange(len(self)), np.array(moved, dtype=np.int64)))
        weights = np.concatenate((weights, np.ones(len(moved), dtype=np.int64)))
        sketches = {name: column.take(rows) for name, column in self.sketches.items()}
        return replace(self, node_of=node_of, weights=weights, sketches=sketches, digests=self.digests[rows])

    def holders(self) -> tuple[Positions, Positions]:
        """(documents, offsets): the documents of node n are documents[offsets[n]:offsets[n + 1]], in their order."""
        order = np.argsort(self.node_of, kind="stable")
        return order, np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(self.weights)))


def keyed(rule: MatchRule) -> list[str]:
    return [finder.name for finder in rule.finders if finder.scheme.joins_keys]


def read_nodes(store: Store, rule: MatchRule, *, include_short: bool = False, whole: bool = False) -> Nodes:
    """The nodes of all documents of a store the rule can compare; `whole` makes each document a node of its own.

    Memory: some 30 bytes a document beside its id, and its sketches; once more while equal ones are found. Raises
    IncompatibleStoreError if the store's sketches have other parameters, UsageError for a share of the query.
    """
    rule.require_served(store)
    rule.require_symmetric()
    names = list(rule.schemes)
    batches = store.scan_sketches(names, keys=keyed(rule), include_short=include_short)
    return nodes_of(rule, batches, whole=whole, lacking=rule.lacking(store.lacking(names)))


def nodes_of(rule: MatchRule, batches: Iterable[Found], *, whole: bool = False, lacking: int = 0) -> Nodes:
    refs = RefTable()
    payloads: dict[str, list[Ragged]] = {name: [] for name in rule.schemes}
    keys: dict[str, list[Ragged]] = {name: [] for name in keyed(rule)}
    for batch in batches:
        kept = comparable(rule, batch)
        places = np.flatnonzero(kept)
        refs.extend(batch.refs if places.size == kept.size else [batch.refs[place] for place in places.tolist()])
        for name, rows in payloads.items():
            rows.append(batch.payloads[name].take(places))
        for name, rows in keys.items():
            rows.append(batch.keys[name].take(places))
    # One after the other, so that no more than one is there twice; so again below.
    sketches = {
        name: Sketches(Ragged.joined(payloads.pop(name)), Ragged.joined(keys.pop(name, []), np.int64))
        for name in list(payloads)
    }
    return nodes_of_sketches(rule, refs, sketches, whole=whole, lacking=lacking)


def nodes_of_sketches(
    rule: MatchRule, refs: RefTable, sketches: dict[str, Sketches], *, whole: bool = False, lacking: int = 0
) -> Nodes:
    if whole:
        count = len(refs)
        return Nodes(
            rule, refs, np.arange(count), np.ones(count, dtype=np.int64), sketches, _digests(sketches, count), lacking
        )
    digests = _digests(sketches, len(refs))
    firsts, node_of = _distinct(sketches, digests)
    distinct = {name: sketches.pop(name).take(firsts) for name in list(sketches)}
    weights = np.bincount(node_of, minlength=firsts.size)
    return Nodes(rule, refs, node_of, weights, distinct, digests[firsts], lacking)


def comparable(rule: MatchRule, batch: Found) -> npt.NDArray[np.bool_]:
    finders = [batch.payloads[finder.name].sizes > 0 for finder in rule.finders]
    able = np.asarray(np.any(finders, axis=0), dtype=np.bool_)
    if isinstance(rule.verifier, Finder):
        able &= batch.payloads[rule.verifier.name].sizes > 0
    return able


def found_of(records: Sequence[Record], rule: MatchRule, *, keys: bool = True) -> Found:
    sketches = {name: [record.sketches.get(name) for record in records] for name in rule.schemes}
    payloads = {
        name: Ragged.of_bytes([sketch.payload if sketch else b"" for sketch in sketches[name]]) for name in sketches
    }
    families = keyed(rule) if keys else []
    rows = {name: Ragged.of_integers([sketch.keys if sketch else () for sketch in sketches[name]]) for name in families}
    return Found([record.ref for record in records], payloads, rows)


def similar_documents(nodes: Nodes, comparison: Comparer, left: Positions, right: Positions) -> Similarities:
    """The similarities of pairs of documents, 1 for equal sketches."""
    one, other = nodes.node_of[left], nodes.node_of[right]
    similar = np.ones(right.size)
    differing = np.flatnonzero(one != other)
    if differing.size:
        similar[differing] = comparison.similarities(one[differing], other[differing])
    return similar


def _distinct(sketches: dict[str, Sketches], digests: Hashes) -> tuple[Positions, Positions]:
    count = digests.shape[0]
    order = np.lexsort((digests[:, 1], digests[:, 0]))
    ordered = digests[order]
    fresh = np.ones(count, dtype=np.bool_)
    if count:
        fresh[1:] = np.any(ordered[1:] != ordered[:-1], axis=1)
    # The sort is stable, so the first of a run is the one that came first.
    firsts = order[fresh]
    numbers = np.empty(count, dtype=np.int64)
    numbers[order] = np.cumsum(fresh) - 1
    # Digests are quick and no proof: what is not equal to the first of its run is a node of its own.
    same = np.ones(count, dtype=np.bool_)
    others = np.flatnonzero(firsts[numbers] != np.arange(count)) if count else order
    for start in range(0, others.size, _ROWS_AT_ONCE):
        part = others[start : start + _ROWS_AT_ONCE]
        for column in sketches.values():
            for rows in (column.payloads, column.keys):
                if len(rows):
                    same[part] &= _equal_rows(rows, part, firsts[numbers[part]])
    strangers = np.flatnonzero(~same)
    numbers[strangers] = firsts.size + np.arange(strangers.size)
    return np.concatenate((firsts, strangers)), numbers


def distinct_payloads(sketches: Sketches) -> tuple[Positions, Positions]:
    alone = {"": Sketches(sketches.payloads, Ragged.joined([], np.int64))}
    return _distinct(alone, _digests(alone, len(sketches)))


def _equal_rows(rows: Ragged, left: Positions, right: Positions) -> npt.NDArray[np.bool_]:
    one, other = rows.take(left), rows.take(right)
    equal: npt.NDArray[np.bool_] = one.sizes == other.sizes
    if not equal.all():
        one, other = one.take(equal), other.take(equal)
    differing = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(one.values != other.values)))
    equal[equal] = differing[one.offsets[1:]] == differing[one.offsets[:-1]]
    return equal


def _digests(sketches: dict[str, Sketches], count: int) -> Hashes:
    digests = np.zeros((count, 2), dtype=np.uint64)
    for name in sorted(sketches):
        column = sketches[name]
        for rows in (column.payloads, column.keys):
            if len(rows):
                for start in range(0, count, _ROWS_AT_ONCE):
                    part = slice(start, min(start + _ROWS_AT_ONCE, count))
                    digests[part] = _mixed(digests[part] + _ODD) ^ _row_hashes(rows, part)
    return digests


def _row_hashes(rows: Ragged, part: slice) -> Hashes:
    """A sum of each value times a number for its place and the hash; shape (n, 2)."""
    offsets = rows.offsets[part.start : part.stop + 1]
    values = rows.values[offsets[0] : offsets[-1]]
    offsets = offsets - offsets[0]
    sizes = np.diff(offsets)
    if values.dtype == np.uint8 and not np.any(sizes % 8):
        values, offsets, sizes = np.ascontiguousarray(values).view("<u8"), offsets // 8, sizes // 8
    words = values.astype(np.uint64)
    places = (np.arange(words.size) - np.repeat(offsets[:-1], sizes)).astype(np.uint64)
    hashes = np.empty((sizes.size, 2), dtype=np.uint64)
    for number, step in enumerate(_STEPS):
        factors = _mixed((places + np.uint64(number + 1)) * step) | np.uint64(1)
        sums = np.concatenate((np.zeros(1, dtype=np.uint64), np.cumsum(_mixed(words * factors), dtype=np.uint64)))
        hashes[:, number] = _mixed(sums[offsets[1:]] - sums[offsets[:-1]] + sizes.astype(np.uint64) * step)
    return hashes


def _mixed(values: Hashes) -> Hashes:
    """The finaliser of SplitMix64 (Steele, Lea and Flood 2014)."""
    mixed = (values ^ (values >> np.uint64(30))) * _STEPS[0]
    mixed = (mixed ^ (mixed >> np.uint64(27))) * _STEPS[1]
    return np.asarray(mixed ^ (mixed >> np.uint64(31)), dtype=np.uint64)
