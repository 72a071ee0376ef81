"""Groups of near-duplicates: components of near pairs, each cut so that all of a group are near its centre.

Within a bucket of documents that share a key, one is compared only with those that no verified pair connects to it
yet; so a million copies of one page, or pages with one boilerplate, cost as many comparisons as there are documents.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from indexer.clustering.components import Components
from indexer.matching.measures.tables import Comparison
from indexer.matching.nodes import Nodes, distinct_payloads
from indexer.matching.rule import Finder
from indexer.schemes.base import Positions, Scheme, Sketches
from indexer.schemes.joins.by_keys import Postings

# Pairs that are looked at in one step.
_BLOCK = 1 << 18
# In components up to this size the node with most near ones becomes the centre; each then costs at most this many
# comparisons more.
_DENSEST = 1000


# A bucket that took fewer comparisons is not worth a word, nor are more buckets than these.
_COSTLY, _SHOWN_BUCKETS = 100_000, 3


@dataclass(frozen=True, slots=True)
class Bucket:
    """What it took to compare the nodes that share a key of a scheme: how many they are, and one of them."""

    scheme: str
    nodes: int
    comparisons: int
    example: int


@dataclass(frozen=True, slots=True)
class Groups:
    """`labels[n]` is a node of the group that node n is in; `split` components were cut; `compared` pairs compared.

    `costliest` are the buckets that took most comparisons, the costliest first; those that took few are left out.
    """

    labels: Positions
    split: int
    compared: int
    costliest: tuple[Bucket, ...] = ()


def radius_of(bound: float | None) -> float | None:
    """How far (0 to 1) from its centre a document may be, where two of a cluster may be `bound` apart; None for None.

    Nothing is farther apart than 1, so that a bound of 1 cuts nothing.
    """
    return None if bound is None else 1.0 if bound >= 1 else bound / 2


def group(nodes: Nodes, comparison: Comparison, *, radius: float | None = None, threads: int | None = None) -> Groups:
    """Group nodes: those that the rule calls near, directly or through others, make a component.

    A component in which not all are as similar to one centre as 1 - `radius` (the rule's threshold where None) is cut:
    its nodes, those with most equal documents first, then by digest, become centres in turn, and each takes what is
    near it and has no centre yet. In components of up to _DENSEST nodes those with most documents near come first. The
    groups depend on what documents hold, and not on the order in which they came.
    """
    found, costliest = Components(len(nodes)), []
    for finder in comparison.rule.finders:
        costliest += _connect(found, nodes, comparison, finder, threads)
    labels = found.labels()
    least = comparison.least if radius is None else 1 - radius - 1e-9
    split = _cut(labels, nodes, comparison, least)
    costliest.sort(key=lambda bucket: -bucket.comparisons)
    return Groups(labels, split, comparison.compared, tuple(costliest[:_SHOWN_BUCKETS]))


def _connect(
    found: Components, nodes: Nodes, comparison: Comparison, finder: Finder, threads: int | None
) -> list[Bucket]:
    """Join the nodes that a finder finds and the rule calls near; gives the costliest buckets."""
    sketches, where = _with_sketch(nodes, finder.name)
    scheme, costliest = finder.scheme, list[Bucket]()
    if scheme.joins_keys and type(scheme).probes is Scheme.probes:
        agreeing = scheme.plan(finder.similarity).agreeing
        for left, right in _meeting(found, sketches, where, agreeing, scheme, costliest):
            near = comparison.near(finder, left, right) >= 0
            found.join(left[near], right[near])
        return costliest
    for left, right in _joined(found, sketches, where, finder, threads):
        near = comparison.near(finder, left, right, exact=scheme.exact_join) >= 0
        found.join(left[near], right[near])
    return costliest


def _with_sketch(nodes: Nodes, family: str) -> tuple[Sketches, Positions]:
    """The sketches of a scheme that nodes have, and the nodes that have them."""
    where = nodes.present(family)
    every = nodes.sketches[family]
    return (every if where.size == len(nodes) else every.take(where)), where


def _joined(
    found: Components, sketches: Sketches, where: Positions, finder: Finder, threads: int | None
) -> Iterator[tuple[Positions, Positions]]:
    """Pairs of nodes by a scheme's own join over distinct sketches, and those of equal ones, that nothing joins yet."""
    firsts, number = distinct_payloads(sketches)
    order = np.argsort(number, kind="stable")
    sizes = np.bincount(number, minlength=firsts.size)
    starts = np.cumsum(sizes) - sizes
    several = sizes > 1
    for left, right in _within(found, order, starts[several], sizes[several], where):
        yield where[left], where[right]
    for left, right in finder.scheme.join(sketches.take(firsts), finder.similarity, threads=threads):
        counts = sizes[left] * sizes[right]
        for first, last in _spans(counts):
            some = slice(first, last)
            place = np.arange(int(counts[some].sum())) - np.repeat(np.cumsum(counts[some]) - counts[some], counts[some])
            width = np.repeat(sizes[right[some]], counts[some])
            one = where[order[np.repeat(starts[left[some]], counts[some]) + place // width]]
            other = where[order[np.repeat(starts[right[some]], counts[some]) + place % width]]
            apart = found.roots(one) != found.roots(other)
            if apart.any():
                yield one[apart], other[apart]


def _meeting(
    found: Components,
    sketches: Sketches,
    where: Positions,
    agreeing: int,
    scheme: Scheme,
    costliest: list[Bucket],
) -> Iterator[tuple[Positions, Positions]]:
    """Pairs of nodes that share keys in this many tables, and that nothing joins yet; `found` grows meanwhile."""
    postings = Postings.shared(sketches.keys, scheme.layout)
    offsets = postings.buckets()
    taken = np.zeros(offsets.size - 1, dtype=np.int64)
    for left, right in _within(found, postings.owners, offsets[:-1], np.diff(offsets), where, taken):
        if agreeing > 1:
            enough = _agreeing(sketches, left, right, scheme) >= agreeing
            yield where[left[enough]], where[right[enough]]
        else:
            yield where[left], where[right]
    for bucket in np.argsort(-taken, kind="stable")[:_SHOWN_BUCKETS].tolist():
        if taken[bucket] >= _COSTLY:
            start, end = offsets[bucket : bucket + 2].tolist()
            example = int(where[postings.owners[start]])
            costliest.append(Bucket(scheme.family, end - start, int(taken[bucket]), example))


def _within(
    found: Components,
    owners: Positions,
    starts: Positions,
    sizes: Positions,
    where: Positions,
    taken: Positions | None = None,
) -> Iterator[tuple[Positions, Positions]]:
    """Pairs of one bucket, `owners[start:start + size]`, whose nodes (`where` of each) nothing joins yet.

    First the neighbours in every bucket, then those two places apart, and so on; a bucket that has become one component
    is done. A pair comes again only where it shares several buckets and is not near. `taken[i]` counts the pairs that
    bucket i gave.
    """
    lag, numbers = 1, np.arange(starts.size)
    while starts.size:
        for first, last in _spans(sizes - lag):
            counts = sizes[first:last] - lag
            begin = np.repeat(starts[first:last], counts)
            place = begin + np.arange(begin.size) - np.repeat(np.cumsum(counts) - counts, counts)
            bucket = np.repeat(numbers[first:last], counts)
            for cut in range(0, place.size, _BLOCK):
                at = place[cut : cut + _BLOCK]
                left, right = owners[at], owners[at + lag]
                apart = found.roots(where[left]) != found.roots(where[right])
                if apart.any():
                    yield left[apart], right[apart]
                if taken is not None:
                    np.add.at(taken, bucket[cut : cut + _BLOCK][apart], 1)
        lag += 1
        kept = sizes > lag
        starts, sizes, numbers = starts[kept], sizes[kept], numbers[kept]
        if lag & (lag - 1) == 0 and starts.size:
            # Once in a while, because it costs as much as the buckets hold.
            unfinished = _not_one(found, owners, starts, sizes, where)
            starts, sizes, numbers = starts[unfinished], sizes[unfinished], numbers[unfinished]


def _spans(counts: Positions) -> Iterator[tuple[int, int]]:
    """Ranges of buckets with at most about _BLOCK pairs together, at least one bucket in each."""
    ends = np.cumsum(counts)
    start = 0
    while start < counts.size:
        base = int(ends[start - 1]) if start else 0
        end = max(start + 1, int(np.searchsorted(ends, base + _BLOCK, side="right")))
        yield start, end
        start = end


def _not_one(
    found: Components, owners: Positions, starts: Positions, sizes: Positions, where: Positions
) -> npt.NDArray[np.bool_]:
    """Which buckets are not yet one component."""
    place = np.repeat(starts, sizes) + np.arange(int(sizes.sum())) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    roots = found.roots(where[owners[place]])
    begins = np.cumsum(sizes) - sizes
    same = roots == np.repeat(roots[begins], sizes)
    return np.asarray(~np.logical_and.reduceat(same, begins), dtype=np.bool_)


def _agreeing(sketches: Sketches, left: Positions, right: Positions, scheme: Scheme) -> Positions:
    """In how many tables the keys of each pair agree."""
    keys, tables = sketches.keys, scheme.layout.tables
    rows = keys.matrix(tables) if keys.width == tables else None
    if rows is not None and np.array_equal(rows >> scheme.layout.bits, np.broadcast_to(np.arange(tables), rows.shape)):
        return np.asarray((rows[left] == rows[right]).sum(axis=1), dtype=np.int64)
    found = np.empty(left.size, dtype=np.int64)
    for number, (one, other) in enumerate(zip(left.tolist(), right.tolist(), strict=True)):
        shared = np.intersect1d(keys.row(one), keys.row(other))
        found[number] = np.unique(shared >> scheme.layout.bits).size
    return found


def _cut(labels: Positions, nodes: Nodes, comparison: Comparison, least: float) -> int:
    """Cut the components that no one centre is near all of, in place; how many were."""
    sizes = np.bincount(labels, minlength=labels.size)
    rank = _ranks(nodes)
    # A pair was verified when it was joined.
    trivial = 2 if least <= comparison.least else 1
    members = np.flatnonzero(sizes[labels] > trivial)
    if not members.size:
        return 0
    members = members[np.lexsort((rank[members], labels[members]))]
    starts = np.concatenate(([0], np.flatnonzero(np.diff(labels[members])) + 1))
    counts = np.diff(np.append(starts, members.size))
    firsts = np.repeat(members[starts], counts)
    far = np.zeros(members.size, dtype=np.bool_)
    for begin in range(0, members.size, _BLOCK):
        some = slice(begin, begin + _BLOCK)
        others = np.flatnonzero(firsts[some] != members[some])
        far[begin + others] = comparison.similarities(firsts[some][others], members[some][others]) < least
    wide = np.flatnonzero(np.logical_or.reduceat(far, starts))
    split = 0
    for start, count in zip(starts[wide].tolist(), counts[wide].tolist(), strict=True):
        inside = members[start : start + count]
        labels[inside] = _around_centres(inside, nodes, comparison, least)
        split += int(np.any(labels[inside] != labels[inside[0]]))
    return split


def _ranks(nodes: Nodes) -> Positions:
    """The place of each node in the order in which nodes become centres."""
    order = np.lexsort((nodes.digests[:, 1], nodes.digests[:, 0], -nodes.weights))
    ranks = np.empty(order.size, dtype=np.int64)
    ranks[order] = np.arange(order.size)
    return ranks


def _around_centres(members: Positions, nodes: Nodes, comparison: Comparison, least: float) -> Positions:
    """The centre of each member of a component; members come in the order in which they become centres."""
    if members.size <= _DENSEST:
        return _around_densest(members, nodes, comparison, least)
    centre = np.full(members.size, -1, dtype=np.int64)
    left = np.arange(members.size)
    while left.size:
        first, rest = left[0], left[1:]
        near = comparison.similarities(np.full(rest.size, members[first]), members[rest]) >= least
        centre[first] = members[first]
        centre[rest[near]] = members[first]
        left = rest[~near]
    return centre


def _around_densest(members: Positions, nodes: Nodes, comparison: Comparison, least: float) -> Positions:
    """The same, those with most documents near first."""
    size = members.size
    left, right = np.triu_indices(size, 1)
    near = np.eye(size, dtype=np.bool_)
    close = comparison.similarities(members[left], members[right]) >= least
    near[left[close], right[close]] = True
    near |= near.T
    density = near @ nodes.weights[members]
    centre = np.full(size, -1, dtype=np.int64)
    # The sort is stable, so that ties stay in the order of the members.
    for place in np.argsort(-density, kind="stable").tolist():
        if centre[place] < 0:
            taken = near[place] & (centre < 0)
            centre[taken] = members[place]
    return centre
