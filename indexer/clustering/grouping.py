"""Groups of near-duplicates: components of near pairs, each cut so that all of a group are near its centre.

Within a bucket of documents with a common key, one is compared only with those not yet connected to it. So a million
copies of one page cost as many comparisons as there are documents.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from indexer.core.components import Components
from indexer.errors import UsageError, shown
from indexer.matching.measures.tables import Comparer
from indexer.matching.nodes import Hashes, Nodes, distinct_payloads
from indexer.matching.rule import Finder
from indexer.model.ragged import ranges
from indexer.schemes.base import Positions, Scheme, Sketches
from indexer.schemes.keys.postings import KeyPostings

# Pairs that are looked at in one step.
_BLOCK = 1 << 18
# In components up to this size the node with most near ones becomes the centre; each then costs at most this many
# comparisons more.
_DENSEST = 1000


# A bucket that took fewer comparisons is not worth a word, nor are more buckets than these.
_COSTLY, _SHOWN_BUCKETS = 100_000, 3
# This many of the largest buckets and components are named, whatever they took.
_LARGEST = 10


@dataclass(frozen=True, slots=True)
class Bucket:
    """The comparisons of the nodes with a common key of a scheme: their number, that of the nodes, and one of these.

    `key` is the key; `example` is the node with the least `digest`, which orders equal sizes.
    """

    scheme: str
    key: int
    nodes: int
    comparisons: int
    example: int
    digest: int


@dataclass(frozen=True, slots=True)
class Component:
    """Nodes near each other, directly or through others: their number, that of documents, and one of them.

    It took so many `comparisons` to find and to cut it, into this many `groups`. `example` is the node with the least
    `digest`, which orders equal sizes.
    """

    nodes: int
    documents: int
    comparisons: int
    groups: int
    example: int
    digest: int


@dataclass(frozen=True, slots=True)
class Groups:
    """`labels[n]` is a node of node n's group; `split` components were cut.

    `whole[n]` is a node of node n's component before any cut. `buckets` has the largest and the costliest of each
    finder, `components` the ten largest; their choice depends on the content of documents, their cost also on the order
    of arrival.
    """

    labels: Positions
    whole: Positions
    split: int
    buckets: tuple[Bucket, ...] = ()
    components: tuple[Component, ...] = ()

    @property
    def costliest(self) -> list[Bucket]:
        """The buckets with most comparisons, the costliest first; cheap ones are left out."""
        costly = [bucket for bucket in self.buckets if bucket.comparisons >= _COSTLY]
        return sorted(costly, key=lambda bucket: -bucket.comparisons)[:_SHOWN_BUCKETS]


def radius_of(bound: float | None) -> float | None:
    """The greatest distance (0 to 1) of a document from its centre, for two at most `bound` apart; None for None.

    Nothing is farther apart than 1, so a bound of 1 cuts nothing. Raises UsageError for one outside of 0 to 1.
    """
    if bound is not None and not (isinstance(bound, int | float) and 0 <= bound <= 1):
        raise UsageError(f"bound {shown(bound)}: must be from 0 to 1 (how far apart two documents of a cluster may be)")
    return None if bound is None else 1.0 if bound >= 1 else bound / 2


def group(nodes: Nodes, comparison: Comparer, *, radius: float | None = None, threads: int | None = None) -> Groups:
    """Group nodes: those near by the rule, directly or through others, make a component.

    A component is cut unless all are as similar to one centre as 1 - `radius` (the rule's threshold if None). Its
    nodes, those with most equal documents first, then by digest, become centres in turn, and each takes the near ones
    without a centre. In components of up to _DENSEST nodes those with most documents near come first. The groups depend
    on the content of documents, and not on the order of arrival.
    """
    joining = Joining(nodes, comparison, threads)
    buckets = [bucket for finder in comparison.rule.finders for bucket in joining.join(finder)]
    labels = joining.components.labels()
    least = comparison.least if radius is None else 1 - radius - 1e-9
    whole = labels.copy()
    split = _cut(labels, nodes, comparison, least, joining.spent)
    return Groups(labels, whole, split, tuple(buckets), tuple(_largest(whole, labels, nodes, joining.spent)))


def _largest(whole: Positions, labels: Positions, nodes: Nodes, spent: Positions) -> Iterator[Component]:
    if not whole.size:
        return
    documents = np.bincount(whole, weights=nodes.weights).astype(np.int64)
    least = np.full(documents.size, np.iinfo(np.uint64).max, dtype=np.uint64)
    np.minimum.at(least, whole, nodes.digests[:, 0])
    sizes = np.bincount(whole)
    for label in _first(documents, least).tolist():
        if documents[label] > 1:
            inside = np.flatnonzero(whole == label)
            groups, example = np.unique(labels[inside]).size, inside[np.argmin(nodes.digests[inside, 0])]
            yield Component(
                int(sizes[label]), int(documents[label]), int(spent[inside].sum()), groups, int(example),
                int(least[label]),
            )  # fmt: skip


def _first(sizes: Positions, digests: Hashes) -> Positions:
    places = np.arange(sizes.size)
    if sizes.size > _LARGEST:
        places = np.flatnonzero(sizes >= np.partition(sizes, -_LARGEST)[-_LARGEST])
    return places[np.lexsort((digests[places], -sizes[places]))[:_LARGEST]]


class Joining:
    """Joins the nodes found by finders and near by the rule to `components`.

    `spent` counts the pairs that were compared, by the first node of each.
    """

    def __init__(self, nodes: Nodes, comparison: Comparer, threads: int | None = None) -> None:
        self._nodes, self._comparison, self._threads = nodes, comparison, threads
        self.components = Components(len(nodes))
        self.spent = np.zeros(len(nodes), dtype=np.int64)

    def join(self, finder: Finder, among: Callable[[Positions], npt.NDArray[np.bool_]] | None = None) -> list[Bucket]:
        """Join what a finder finds; returns the costliest and the largest buckets.

        For a finder by keys, only keys `among` some are looked at, all of them if None.
        """
        sketches, where = self._nodes.having(finder.name)
        buckets, by_keys = list[Bucket](), meets_by_keys(finder)
        found = (
            self._meeting(sketches, where, finder, among, buckets) if by_keys else self._joined(sketches, where, finder)
        )
        for left, right in found:
            near = self._comparison.near(finder, left, right, exact=finder.scheme.exact_join and not by_keys) >= 0
            np.add.at(self.spent, left, 1)
            self.components.join(left[near], right[near])
        return buckets

    def _joined(self, sketches: Sketches, where: Positions, finder: Finder) -> Iterator[tuple[Positions, Positions]]:
        firsts, number = distinct_payloads(sketches)
        order = np.argsort(number, kind="stable")
        sizes = np.bincount(number, minlength=firsts.size)
        starts = np.cumsum(sizes) - sizes
        several = sizes > 1
        for left, right in self._within(order, starts[several], sizes[several], where):
            yield where[left], where[right]
        for left, right in finder.scheme.join(sketches.take(firsts), finder.similarity, threads=self._threads):
            counts = sizes[left] * sizes[right]
            for first, last in spans(counts):
                part = slice(first, last)
                begins = np.cumsum(counts[part]) - counts[part]
                place = np.arange(int(counts[part].sum())) - np.repeat(begins, counts[part])
                width = np.repeat(sizes[right[part]], counts[part])
                one = where[order[np.repeat(starts[left[part]], counts[part]) + place // width]]
                other = where[order[np.repeat(starts[right[part]], counts[part]) + place % width]]
                separate = self._separate(one, other)
                if separate.any():
                    yield one[separate], other[separate]

    def _separate(self, left: Positions, right: Positions) -> npt.NDArray[np.bool_]:
        return np.asarray(self.components.roots(left) != self.components.roots(right))

    def _meeting(
        self,
        sketches: Sketches,
        where: Positions,
        finder: Finder,
        among: Callable[[Positions], npt.NDArray[np.bool_]] | None,
        buckets: list[Bucket],
    ) -> Iterator[tuple[Positions, Positions]]:
        scheme, agreeing = finder.scheme, finder.scheme.plan(finder.similarity).agreeing
        keys = sketches.keys if among is None else sketches.keys.only(among(sketches.keys.values))
        postings = KeyPostings.shared(keys, scheme.layout, scheme.crowded)
        offsets, digests = postings.buckets(), self._nodes.digests[where, 0]
        taken = np.zeros(offsets.size - 1, dtype=np.int64)
        for left, right in self._within(postings.owners, offsets[:-1], np.diff(offsets), where, taken):
            if agreeing > 1:
                enough = agreeing_tables(sketches, left, right, scheme) >= agreeing
                yield where[left[enough]], where[right[enough]]
            else:
                yield where[left], where[right]
        costliest = np.argsort(-taken, kind="stable")[:_SHOWN_BUCKETS]
        if not taken.size:
            return
        least = np.minimum.reduceat(digests[postings.owners], offsets[:-1])
        largest = _first(np.diff(offsets), least)
        for bucket in dict.fromkeys((*costliest.tolist(), *largest.tolist())):
            owners = postings.owners[slice(*offsets[bucket : bucket + 2].tolist())]
            example = int(where[owners[np.argmin(digests[owners])]])
            key = int(postings.keys[offsets[bucket]])
            buckets.append(Bucket(scheme.family, key, owners.size, int(taken[bucket]), example, int(least[bucket])))

    def _within(
        self, owners: Positions, starts: Positions, sizes: Positions, where: Positions, taken: Positions | None = None
    ) -> Iterator[tuple[Positions, Positions]]:
        """Pairs of one bucket, `owners[start:start + size]`, whose nodes (`where` of each) are not joined yet.

        First the neighbours in every bucket, then those two places apart, and so on; a bucket that is one component is
        done. A pair comes again only if it shares several buckets and is not near. `taken[i]` counts the pairs of
        bucket i.
        """
        lag, numbers = 1, np.arange(starts.size)
        while starts.size:
            for first, last in spans(sizes - lag):
                counts = sizes[first:last] - lag
                place = ranges(starts[first:last], counts)
                bucket = np.repeat(numbers[first:last], counts)
                for cut in range(0, place.size, _BLOCK):
                    at = place[cut : cut + _BLOCK]
                    left, right = owners[at], owners[at + lag]
                    separate = self._separate(where[left], where[right])
                    if separate.any():
                        yield left[separate], right[separate]
                    if taken is not None:
                        np.add.at(taken, bucket[cut : cut + _BLOCK][separate], 1)
            lag += 1
            kept = sizes > lag
            starts, sizes, numbers = starts[kept], sizes[kept], numbers[kept]
            if lag & (lag - 1) == 0 and starts.size:
                # Once in a while, because it costs as much as the buckets hold.
                roots = self.components.roots(where[owners[ranges(starts, sizes)]])
                begins = np.cumsum(sizes) - sizes
                open_ = ~np.logical_and.reduceat(roots == np.repeat(roots[begins], sizes), begins)
                starts, sizes, numbers = starts[open_], sizes[open_], numbers[open_]


def meets_by_keys(finder: Finder) -> bool:
    return finder.scheme.joins_keys and type(finder.scheme).probes is Scheme.probes


def spans(counts: Positions) -> Iterator[tuple[int, int]]:
    ends = np.cumsum(counts)
    start = 0
    while start < counts.size:
        base = int(ends[start - 1]) if start else 0
        end = max(start + 1, int(np.searchsorted(ends, base + _BLOCK, side="right")))
        yield start, end
        start = end


def agreeing_tables(sketches: Sketches, left: Positions, right: Positions, scheme: Scheme) -> Positions:
    keys, tables = sketches.keys, scheme.layout.tables
    rows = keys.matrix(tables) if keys.width == tables else None
    if rows is not None and np.array_equal(rows >> scheme.layout.bits, np.broadcast_to(np.arange(tables), rows.shape)):
        return np.asarray((rows[left] == rows[right]).sum(axis=1), dtype=np.int64)
    counts = np.empty(left.size, dtype=np.int64)
    for number, (one, other) in enumerate(zip(left.tolist(), right.tolist(), strict=True)):
        shared = np.intersect1d(keys.row(one), keys.row(other))
        counts[number] = np.unique(shared >> scheme.layout.bits).size
    return counts


def _cut(labels: Positions, nodes: Nodes, comparison: Comparer, least: float, spent: Positions) -> int:
    sizes = np.bincount(labels, minlength=labels.size)
    # A pair was verified when it was joined.
    trivial = 2 if least <= comparison.least else 1
    members = np.flatnonzero(sizes[labels] > trivial)
    if not members.size:
        return 0
    rank = np.argsort(in_rank(nodes))
    members = members[np.lexsort((rank[members], labels[members]))]
    starts = np.concatenate(([0], np.flatnonzero(np.diff(labels[members])) + 1))
    counts = np.diff(np.append(starts, members.size))
    firsts = np.repeat(members[starts], counts)
    far = np.zeros(members.size, dtype=np.bool_)
    for begin in range(0, members.size, _BLOCK):
        part = slice(begin, begin + _BLOCK)
        others = np.flatnonzero(firsts[part] != members[part])
        far[begin + others] = comparison.similarities(firsts[part][others], members[part][others]) < least
        spent[members[part][others]] += 1
    wide = np.flatnonzero(np.logical_or.reduceat(far, starts))
    split = 0
    for start, count in zip(starts[wide].tolist(), counts[wide].tolist(), strict=True):
        inside, before = members[start : start + count], comparison.compared
        labels[inside] = _around_centres(inside, nodes, comparison, least)
        spent[inside[0]] += comparison.compared - before
        split += int(np.any(labels[inside] != labels[inside[0]]))
    return split


def in_rank(nodes: Nodes) -> Positions:
    return np.lexsort((nodes.digests[:, 1], nodes.digests[:, 0], -nodes.weights))


def _around_centres(members: Positions, nodes: Nodes, comparison: Comparer, least: float) -> Positions:
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


def _around_densest(members: Positions, nodes: Nodes, comparison: Comparer, least: float) -> Positions:
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
