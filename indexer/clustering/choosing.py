"""Choose the documents to keep: no two kept ones are near, and each removed one has a near kept one.

One greedy choice for stores, batches and texts in memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from indexer.clustering.grouping import agreeing_tables, meets_by_keys, spans
from indexer.core.sketches import sorted_distinct
from indexer.matching.measures.tables import Comparer
from indexer.matching.nodes import Nodes, distinct_payloads
from indexer.matching.rule import Finder
from indexer.model.ragged import Ragged
from indexer.schemes.base import Positions, Similarities, Sketches
from indexer.schemes.keys.postings import KeyPostings

# Pairs that are looked at in one step, unless one node meets more.
_BLOCK = 1 << 18
# Of one component this many nodes at most are decided in one step.
_WIDEST = 128
# Pairs of payloads that are held at once of what a scheme's own join finds.
_HELD = 1 << 23
_NEVER = np.iinfo(np.int64).max


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
    """The choice: the document at place i is kept if `of[i]` is itself, else it repeats document `of[i]`.

    `of` (int64) and `similarity` (float64, 0 to 1, to document `of[i]` by the rule's measure) have a place for each
    given document.
    """

    of: Positions
    similarity: Similarities


def ranks_of(keys: Sequence[tuple[object, ...]]) -> Positions:
    """The place (int64, from 0) of each key in their order; equal keys in the order of arrival."""
    ranks = np.empty(len(keys), dtype=np.int64)
    ranks[sorted(range(len(keys)), key=keys.__getitem__)] = np.arange(len(keys))
    return ranks


def choose(
    nodes: Nodes,
    comparison: Comparer,
    whole: Positions,
    documents: Positions,
    ranks: Positions,
    *,
    threads: int | None = None,
) -> Choice:
    """Choose the documents to keep, in an order of preference.

    In the order of `ranks` a document is kept if none kept before it is near; each other one repeats the nearest of all
    kept ones, of equally near ones the first. So the choice depends neither on the cuts of wide components nor on
    documents later in the order. By a rule of parts all are kept, since a part can't replace its whole.

    `documents` (int64) are positions in `nodes`, each once: all those of some whole components. `whole` (shape
    (nodes,)) is that of `indexer.clustering.grouping.Groups`; nodes of other components are never compared. `ranks`
    (int64, none twice) has a place for each document, the least is preferred. `threads` is for a scheme's own join.

    Cost: each kept node is compared with the nodes of its component met through a finder. Memory: 100 bytes a node,
    those of its keys, and some 400 MB at most of a join's pairs.
    """
    if comparison.rule.of_parts:
        return Choice(documents, np.ones(documents.size))
    greedy = _Greedy(nodes, comparison, whole, documents, ranks, threads)
    greedy.decide()
    inside, there = greedy.inside, greedy.there
    stands, similarity = np.arange(there.size), np.ones(there.size)
    stands[inside], similarity[inside] = inside[greedy.of], greedy.similarity
    place = np.searchsorted(there, nodes.node_of[documents])
    return Choice(documents[greedy.first[stands[place]]], similarity[place])


def preceded(nodes: Nodes, comparison: Comparer, whole: Positions, ranks: Positions) -> npt.NDArray[np.bool_]:
    """True for each document in `nodes` with a near or equal one of lower rank.

    Otherwise like choose(), including the cost.
    """
    documents = np.arange(nodes.node_of.size)
    greedy = _Greedy(nodes, comparison, whole, documents, ranks, None)
    found = np.ones(documents.size, dtype=np.bool_)
    found[greedy.first] = False
    found[greedy.first[greedy.inside]] = greedy.preceded()
    return found


@dataclass(frozen=True, slots=True, eq=False)
class _Meeting:
    """The members a finder lets meet: those in a group the other one asks for.

    Member i asks for the groups in row `row[i]` of `asked` (none if it is below 0), and is in these groups, or in group
    `row[i]` itself with `own`. `held` has, in order, group * number of members + member for each group of each.
    """

    finder: Finder
    row: Positions
    asked: Ragged
    own: bool
    held: Positions
    sketches: Sketches

    def held_by(self, members: Positions) -> Positions:
        members = members[self.row[members] >= 0]
        rows, count = self.row[members], self.row.size
        if self.own:
            return np.sort(rows * count + members)
        groups = self.asked.take(rows)
        return np.sort(groups.values * count + np.repeat(members, groups.sizes))


class _Greedy:
    """The choice among the nodes `there` of some documents, `first` the preferred document of each.

    Its members are `inside` of these nodes: those of components with others, sorted by component and in it by rank.
    `decide` completes `of` (places of members) and `similarity`.
    """

    def __init__(
        self, nodes: Nodes, comparison: Comparer, whole: Positions, documents: Positions, ranks: Positions,
        threads: int | None,
    ) -> None:  # fmt: skip
        self._nodes, self._comparison, self._threads = nodes, comparison, threads
        order = np.argsort(ranks, kind="stable")
        self.there, first = np.unique(nodes.node_of[documents[order]], return_index=True)
        self.first = order[first]
        _, component, sizes = np.unique(whole[self.there], return_inverse=True, return_counts=True)
        inside = np.flatnonzero(sizes[component] > 1)
        self.inside = inside = inside[np.lexsort((ranks[self.first[inside]], component[inside]))]
        self._members, self._component = self.there[inside], component[inside]
        self._ranks = ranks[self.first[inside]]
        # Of components with two nodes.
        self._alone = np.bincount(whole)[whole[self._members]] == 2
        self._kept = np.zeros(inside.size, dtype=np.bool_)
        self._decided = np.zeros(inside.size, dtype=np.bool_)
        self.of = np.arange(inside.size)
        self.similarity = np.ones(inside.size)

    def decide(self) -> None:
        if not self._members.size:
            return
        self._decide_pairs()
        undecided = np.flatnonzero(~self._decided)
        while undecided.size:
            undecided = self._decide(*self._meetings(undecided), undecided)

    def _decide_pairs(self) -> None:
        pairs = np.flatnonzero(self._alone).reshape(-1, 2)
        for start in range(0, len(pairs), _BLOCK):
            one, other = pairs[start : start + _BLOCK].T
            values = self._comparison.similarities(self._members[one], self._members[other])
            near = values >= self._comparison.least
            self.of[other[near]], self.similarity[other[near]] = one[near], values[near]
            self._kept[one] = self._kept[other[~near]] = self._decided[one] = self._decided[other] = True

    def preceded(self) -> npt.NDArray[np.bool_]:
        self.decide()
        found = self._removed(np.arange(self._members.size))
        later = np.zeros(found.size, dtype=np.bool_)
        later[1:] = self._component[1:] == self._component[:-1]
        # What is kept may be near one that was removed before it.
        asking = np.flatnonzero(later & ~found)
        self._kept[:] = False
        self._decided[asking] = False
        while asking.size:
            meetings, limit = self._meetings(asking)
            early = self._ranks[asking] < limit
            for meeting in meetings:
                for left, right, _ in self._near(meeting, asking[early]):
                    found[left[right < left]] = True
            self._decided[asking[early]] = True
            asking = asking[~early]
        return found

    def _meetings(self, undecided: Positions) -> tuple[list[_Meeting], int]:
        finders = self._comparison.rule.finders
        joined = [self._by_join(finder, undecided) for finder in finders if not meets_by_keys(finder)]
        limit = min((limit for _, limit in joined), default=_NEVER)
        return [*self._keyed, *(meeting for meeting, _ in joined)], limit

    @cached_property
    def _keyed(self) -> list[_Meeting]:
        return [self._by_keys(finder) for finder in self._comparison.rule.finders if meets_by_keys(finder)]

    def _decide(self, meetings: Sequence[_Meeting], limit: int, undecided: Positions) -> Positions:
        width = 1
        while True:
            undecided = undecided[~self._decided[undecided]]
            ready = undecided[self._ranks[undecided] < limit]
            if not ready.size:
                return undecided
            component = self._component[ready]
            starts = np.flatnonzero(np.concatenate(([True], component[1:] != component[:-1])))
            place = np.arange(ready.size) - np.repeat(starts, np.diff(np.append(starts, ready.size)))
            block = ready[place < width]
            kept = block if width == 1 else self._independent(meetings, block)
            self._kept[kept] = self._decided[block] = True
            for meeting in meetings:
                for left, right, values in self._near(meeting, kept):
                    self._remove(left, right, values)
            # A component that is one family is done in the first round; the others are worth more at once.
            width = min(2 * width, _WIDEST, max(1, int((2 * _BLOCK / starts.size) ** 0.5)))

    def _independent(self, meetings: Sequence[_Meeting], block: Positions) -> Positions:
        near = [
            pair
            for meeting in meetings
            for left, right, _ in self._near(meeting, block, among=True)
            for pair in zip(left.tolist(), right.tolist(), strict=True)
        ]
        dropped: set[int] = set()
        for left, right in sorted(near):
            if left not in dropped:
                dropped.add(right)
        return block[~np.isin(block, list(dropped))]

    def _remove(self, left: Positions, right: Positions, values: Similarities) -> None:
        order = np.lexsort((left, -values, right))
        left, right, values = left[order], right[order], values[order]
        best = np.ones(right.size, dtype=np.bool_)
        best[1:] = right[1:] != right[:-1]
        left, right, values = left[best], right[best], values[best]
        fresh, known = ~self._removed(right), self.similarity[right]
        better = fresh | (values > known) | ((values == known) & (left < self.of[right]))
        self.of[right[better]], self.similarity[right[better]] = left[better], values[better]
        self._decided[right] = True

    def _removed(self, members: Positions) -> npt.NDArray[np.bool_]:
        return np.asarray(self.of[members] != members, dtype=np.bool_)

    def _near(
        self, meeting: _Meeting, asking: Positions, *, among: bool = False
    ) -> Iterator[tuple[Positions, Positions, Similarities]]:
        finder = meeting.finder
        for left, right in self._met(meeting, asking, among=among):
            for start in range(0, left.size, _BLOCK):
                one, other = left[start : start + _BLOCK], right[start : start + _BLOCK]
                exact = finder.scheme.exact_join and meeting.own
                values = self._comparison.near(finder, self._members[one], self._members[other], exact=exact)
                near = values >= 0
                yield one[near], other[near], values[near]

    def _met(self, meeting: _Meeting, asking: Positions, *, among: bool) -> Iterator[tuple[Positions, Positions]]:
        asking = asking[meeting.row[asking] >= 0]
        count = self._members.size
        held = meeting.held_by(asking) if among else meeting.held
        groups = meeting.asked.take(meeting.row[asking])
        after = np.repeat(asking + 1, groups.sizes) if among else 0
        begins = np.searchsorted(held, groups.values * count + after)
        sizes = np.searchsorted(held, (groups.values + 1) * count) - begins
        totals = np.diff(np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(sizes)))[groups.offsets])
        for first, last in spans(totals):
            part = slice(*groups.offsets[[first, last]].tolist())
            if totals[first] > _BLOCK:
                # One that meets so many: sorting would take longer than comparing.
                met = np.zeros(count, dtype=np.bool_)
                for begin, size in zip(begins[part].tolist(), sizes[part].tolist(), strict=True):
                    met[held[begin : begin + size] % count] = True
                right = np.flatnonzero(met & ~self._kept)
                left = np.full(right.size, asking[first])
            else:
                shift = np.repeat(begins[part] - np.cumsum(sizes[part]) + sizes[part], sizes[part])
                right = held[np.arange(shift.size) + shift] % count
                left = np.repeat(asking[first:last], totals[first:last])
                pairs = sorted_distinct((left * count + right)[~self._kept[right]])
                left, right = pairs // count, pairs % count
            left, right = self._agreeing(meeting, left, right)
            if left.size:
                yield left, right

    def _agreeing(self, meeting: _Meeting, left: Positions, right: Positions) -> tuple[Positions, Positions]:
        finder = meeting.finder
        agreeing = 1 if meeting.own else finder.scheme.plan(finder.similarity).agreeing
        if agreeing == 1 or not left.size:
            return left, right
        tables = agreeing_tables(meeting.sketches, meeting.row[left], meeting.row[right], finder.scheme)
        return left[tables >= agreeing], right[tables >= agreeing]

    def _with_sketch(self, finder: Finder, among: npt.NDArray[np.bool_]) -> tuple[Sketches, Positions]:
        sketches = self._nodes.sketches[finder.name]
        there = np.flatnonzero(among & (sketches.payloads.sizes[self._members] > 0))
        return sketches.take(self._members[there]), there

    def _by_keys(self, finder: Finder) -> _Meeting:
        count = self._members.size
        sketches, there = self._with_sketch(finder, ~self._alone)
        postings = KeyPostings.shared(sketches.keys, finder.scheme.layout)
        owners = there[postings.owners]
        fresh = np.ones(owners.size, dtype=np.bool_)
        # The owners of a key come in their order, so those of one component one after the other.
        fresh[1:] = postings.keys[1:] != postings.keys[:-1]
        fresh[1:] |= self._component[owners[1:]] != self._component[owners[:-1]]
        group = np.cumsum(fresh) - 1
        several = np.bincount(group)[group] > 1 if group.size else fresh
        group, places, owners = group[several], postings.owners[several], owners[several]
        row = np.full(count, -1, dtype=np.int64)
        row[there] = np.arange(there.size)
        asked = _ragged(places, group, there.size)
        return _Meeting(finder, row, asked, False, group * count + owners, sketches)

    def _by_join(self, finder: Finder, undecided: Positions) -> tuple[_Meeting, int]:
        count, ranks = self._members.size, self._ranks
        sketches, there = self._with_sketch(finder, ~self._kept & ~self._alone)
        firsts, number = distinct_payloads(sketches)
        units, unit = np.unique(self._component[there] * firsts.size + number, return_inverse=True)
        asker = np.full(units.size, _NEVER)
        waits = ~self._decided[there]
        np.minimum.at(asker, unit[waits], ranks[there[waits]])
        held = _MeetingPairs(asker, int(ranks[undecided].min()))
        held.add(np.arange(units.size), np.arange(units.size))
        payload = units % max(firsts.size, 1)
        by_payload = np.argsort(payload, kind="stable")
        starts = np.searchsorted(payload[by_payload], np.arange(firsts.size + 1))
        for pairs in finder.scheme.join(sketches.take(firsts), finder.similarity, threads=self._threads):
            for one, other in (pairs, pairs[::-1]):
                sizes = starts[one + 1] - starts[one]
                for first, last in spans(sizes):
                    part = sizes[first:last]
                    shift = np.repeat(starts[one[first:last]] - np.cumsum(part) + part, part)
                    asking = by_payload[np.arange(shift.size) + shift]
                    wanted = units[asking] - payload[asking] + np.repeat(other[first:last], part)
                    at = np.minimum(np.searchsorted(units, wanted), units.size - 1)
                    met = units[at] == wanted
                    held.add(asking[met], at[met])
        row = np.full(count, -1, dtype=np.int64)
        row[there] = unit
        asked = held.asked()
        return _Meeting(finder, row, asked, True, np.sort(unit * count + there), sketches), held.limit


class _MeetingPairs:
    """The meeting pairs of payloads, of members asking first: complete below the rank `limit`.

    `asker` is the rank of the first to ask from each.
    """

    def __init__(self, asker: Positions, least: int) -> None:
        self.limit = _NEVER
        self._asker, self._least, self._room = asker, least, _HELD
        self._asking: list[Positions] = []
        self._met: list[Positions] = []
        self._count = 0

    def add(self, asking: Positions, met: Positions) -> None:
        early = self._asker[asking] < self.limit
        self._asking.append(asking[early])
        self._met.append(met[early])
        self._count += int(early.sum())
        if self._count > self._room:
            asking, met = np.concatenate(self._asking), np.concatenate(self._met)
            ranks = self._asker[asking]
            # At least the first is decided in each turn, however many it meets.
            self.limit = max(int(np.partition(ranks, ranks.size // 2)[ranks.size // 2]), self._least + 1)
            kept = ranks < self.limit
            self._asking, self._met, self._count = [asking[kept]], [met[kept]], int(kept.sum())
            self._room = max(_HELD, 2 * self._count)

    def asked(self) -> Ragged:
        return _ragged(np.concatenate(self._asking), np.concatenate(self._met), self._asker.size)


def _ragged(rows: Positions, values: Positions, count: int) -> Ragged:
    order = np.argsort(rows, kind="stable")
    offsets = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(np.bincount(rows, minlength=count))))
    return Ragged(values[order], offsets)
