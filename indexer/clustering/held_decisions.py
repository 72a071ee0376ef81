"""A store's remembered decisions, obeyed by every clustering."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice, pairwise

import numpy as np
import numpy.typing as npt

from indexer.clustering.choosing import Choice, choose
from indexer.clustering.grouping import Groups, group, in_rank
from indexer.core.components import Components
from indexer.matching.measures.reading import Reader
from indexer.matching.measures.tables import Comparer
from indexer.matching.nodes import Nodes, similar_documents
from indexer.matching.pairing import measured_by
from indexer.model import Record, Ref, name_of
from indexer.model.chunking import chunks
from indexer.model.decisions import Decision
from indexer.model.refs import RefTable
from indexer.schemes.base import Positions, Similarities
from indexer.stores.base import Store

_AT_ONCE = 2000
# By the number of a decision whether a document is apart in it.
Sides = Mapping[int, bool]


class HeldDecisions:
    """The decisions remembered by a store; each holds of a document as long as its text is the one seen.

    Memory: some 300 bytes for each document of a decision.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._decisions: list[Decision] = list(store.decisions())
        self._all_apart = [not decision.together for decision in self._decisions]
        self._said: dict[str, list[tuple[int, str, bool]]] = {}
        for number, decision in enumerate(self._decisions):
            for one in decision.documents:
                self._said.setdefault(one.id, []).append((number, one.digest, one.choice == "apart"))
        self._sides: dict[Ref, Sides] = {}

    def __bool__(self) -> bool:
        return bool(self._said)

    def note(self, records: Iterable[Record]) -> None:
        for record in records if self else ():
            said = self._said.get(name_of(record.ref), ())
            self._sides[record.ref] = {number: apart for number, text, apart in said if text == record.seen_digest}

    def sides(self, refs: Iterable[Ref]) -> list[Sides]:
        refs = list(refs)
        unknown = [ref for ref in dict.fromkeys(refs) if ref not in self._sides and name_of(ref) in self._said]
        for page in chunks(unknown, _AT_ONCE):
            self.note(record for record in self._store.get(page, sketches=False) if record)
        return [self._sides.get(ref, {}) for ref in refs]

    def are_apart(self, left: Ref, right: Ref) -> bool:
        if not self:
            return False
        one, other = self.sides((left, right))
        return self.conflict(one, other)

    def conflict(self, one: Sides, other: Sides) -> bool:
        if len(one) > len(other):
            one, other = other, one
        return any(
            number in other and (apart != other[number] or (apart and self._all_apart[number]))
            for number, apart in one.items()
        )

    def companions(self, ref: Ref) -> dict[Ref, bool]:
        """The documents that decisions name beside one, True for those apart from it."""
        [sides] = self.sides([ref])
        names = dict.fromkeys(one.id for number in sides for one in self._decisions[number].documents)
        found = [refs[0] for refs in self._store.find_each(list(names)) if refs and refs[0] != ref]
        return {
            other: self.are_apart(ref, other)
            for other, theirs in zip(found, self.sides(found), strict=True)
            if any(not apart or self.conflict({number: sides[number]}, {number: apart})
                   for number, apart in theirs.items() if number in sides)
        }  # fmt: skip

    def places(self, refs: RefTable) -> dict[int, Sides]:
        if not self:
            return {}
        named = [found[0] for page in chunks(self._said, _AT_ONCE) for found in self._store.find_each(page) if found]
        decided = {ref: sides for ref, sides in zip(named, self.sides(named), strict=True) if sides}
        return {place: decided[ref] for place, ref in enumerate(refs) if ref in decided}


@dataclass(frozen=True, slots=True)
class _DecidedNodes:
    """The nodes of documents with decisions, each of one document, with their sides."""

    decisions: HeldDecisions
    sides: Mapping[int, Sides]
    decided: npt.NDArray[np.bool_]

    def apart(self, left: Positions, right: Positions) -> npt.NDArray[np.bool_]:
        found = self.decided[left] & self.decided[right]
        for place in np.flatnonzero(found).tolist():
            found[place] = self.decisions.conflict(self.sides[int(left[place])], self.sides[int(right[place])])
        return found

    def together(self) -> Components:
        first: dict[int, int] = {}
        pairs = [
            (first.setdefault(number, node), node)
            for node, sides in self.sides.items()
            for number, apart in sides.items()
            if not apart
        ]
        components = Components(self.decided.size)
        if pairs:
            components.join(*np.array(pairs, dtype=np.int64).T)
        return components

    def obeyed(self, nodes: Nodes, comparison: Comparer, grouped: Groups) -> Groups:
        same = self.together().labels()
        members = np.array(sorted(self.sides), dtype=np.int64)
        labels, whole = (_joined(labels, members, same[members]) for labels in (grouped.labels, grouped.whole))
        order = in_rank(nodes)
        # What belongs together comes first in its group, then what nobody decided about.
        late = np.ones(len(nodes), dtype=np.int64)
        for node, sides in self.sides.items():
            late[node] = 2 if all(sides.values()) else 0
        order = order[np.lexsort((late[order], labels[order]))]
        groups = np.unique(labels[members])
        starts, ends = (np.searchsorted(labels[order], groups, side) for side in ("left", "right"))
        for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
            inside = order[start:end]
            if self.decided[inside].sum() > 1:
                self._cut(inside, same, labels, comparison)
        return replace(grouped, labels=labels, whole=whole)

    def _cut(self, inside: Positions, same: Positions, labels: Positions, comparison: Comparer) -> None:
        units: dict[int, list[int]] = {}
        for node in inside.tolist():
            units.setdefault(int(same[node]), []).append(node)
        cut_groups: list[_CutGroup] = []
        # How many of the first groups are all apart from this side of a decision, and stay so.
        blocked: dict[tuple[int, bool], int] = {}
        for nodes in units.values():
            sides = [self.sides[node] for node in nodes if node in self.sides]
            for number, apart in {pair for each in sides for pair in each.items()}:
                first = blocked.get((number, apart), 0)
                while first < len(cut_groups) and cut_groups[first].conflicts({number: apart}, self.decisions):
                    first += 1
                blocked[number, apart] = first
            start = max((blocked[pair] for each in sides for pair in each.items()), default=0)
            fitting = (one for one in islice(cut_groups, start, None) if self._fits(one, nodes[0], sides, comparison))
            made = next(fitting, None)
            if made is None:
                made = _CutGroup(nodes[0], main=not cut_groups)
                cut_groups.append(made)
            for each in sides:
                made.add(each)
            labels[nodes] = made.centre

    def _fits(self, made: _CutGroup, node: int, sides: Sequence[Sides], comparison: Comparer) -> bool:
        if any(made.conflicts(each, self.decisions) for each in sides):
            return False
        if made.main:
            return True
        [near] = comparison.similarities(np.array([made.centre]), np.array([node]))
        return bool(near >= comparison.least)


class _CutGroup:
    def __init__(self, centre: int, *, main: bool) -> None:
        self.centre, self.main = centre, main
        self._inside: dict[tuple[int, bool], Sides] = {}

    def add(self, sides: Sides) -> None:
        for number, apart in sides.items():
            self._inside[number, apart] = {number: apart}

    def conflicts(self, sides: Sides, decisions: HeldDecisions) -> bool:
        return any(
            decisions.conflict({number: apart}, self._inside[number, other])
            for number, apart in sides.items()
            for other in (False, True)
            if (number, other) in self._inside
        )


@dataclass(frozen=True, slots=True)
class GroupedNodes:
    """Nodes with their groups, and what compares them."""

    nodes: Nodes
    comparison: Comparer
    groups: Groups
    threads: int | None = None

    def components(self) -> list[list[Positions]]:
        """The positions of the documents of each group, even of one, for each component of two documents or more."""
        whole, labels = self.groups.whole[self.nodes.node_of], self.groups.labels[self.nodes.node_of]
        sizes = np.bincount(whole) if whole.size else np.empty(0, dtype=np.int64)
        inside = np.flatnonzero(sizes[whole] > 1)
        if not inside.size:
            return []
        ordered = inside[np.lexsort((labels[inside], whole[inside]))]
        groups = np.split(ordered, np.flatnonzero(np.diff(labels[ordered])) + 1)
        of = whole[[group[0] for group in groups]]
        ends = np.flatnonzero(np.diff(of)) + 1
        return [groups[first:last] for first, last in pairwise([0, *ends.tolist(), len(groups)])]

    def lone(self, count: int) -> list[Ref]:
        """At most `count` documents of components of one, evenly taken."""
        whole = self.groups.whole[self.nodes.node_of]
        found = np.flatnonzero(np.bincount(whole)[whole] == 1) if whole.size else whole
        return self.nodes.refs.take(found[np.linspace(0, found.size - 1, min(count, found.size)).astype(np.int64)])

    def similar(self, left: Positions, right: Positions) -> Similarities:
        return similar_documents(self.nodes, self.comparison, left, right)

    def choose(self, documents: Positions, ranks: Positions) -> Choice:
        return choose(self.nodes, self.comparison, self.groups.whole, documents, ranks, threads=self.threads)


def grouped_nodes(
    decisions: HeldDecisions,
    nodes: Nodes,
    *,
    reading: Reader | None = None,
    radius: float | None = None,
    threads: int | None = None,
) -> GroupedNodes:
    places = decisions.places(nodes.refs)
    if places:
        nodes = nodes.separated(np.array(sorted(places), dtype=np.int64))
    sides = {int(nodes.node_of[place]): said for place, said in places.items()}
    decided = np.zeros(len(nodes), dtype=np.bool_)
    decided[list(sides)] = True
    by_people = _DecidedNodes(decisions, sides, decided)
    measured = measured_by(nodes, reading) if reading else None
    comparison = Comparer(nodes.rule, nodes.payloads, measured, by_people.apart if places else None)
    groups = group(nodes, comparison, radius=radius, threads=threads)
    groups = by_people.obeyed(nodes, comparison, groups) if places else groups
    return GroupedNodes(nodes, comparison, groups, threads)


def _joined(labels: Positions, members: Positions, same: Positions) -> Positions:
    components = Components(labels.size)
    components.join(labels[members], labels[same])
    return components.roots(labels)
