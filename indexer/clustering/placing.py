"""Put new stored documents into clusters, by their near documents."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import merge
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple

import numpy as np

from indexer.clustering.annotations import (
    READ_AT_ONCE,
    cluster_of,
    is_alone,
    membership,
    repeated_by,
    repeating,
)
from indexer.clustering.assign import Assigner, MemberCounts
from indexer.clustering.clusters import assigned
from indexer.clustering.held_decisions import HeldDecisions, grouped_nodes
from indexer.clustering.relation_notes import RepeatingDocument
from indexer.core.components import NamedComponents
from indexer.matching.lookups import Asking
from indexer.matching.nodes import found_of, nodes_of
from indexer.matching.question import Question
from indexer.matching.rule import MatchRule
from indexer.model import ClusterRecord, Record, Ref
from indexer.model.chunking import chunks
from indexer.model.refs import ref_order
from indexer.schemes.base import Similarities
from indexer.stores.base import Store

# Clusters that together are larger are not grouped anew for each document that comes.
_REGROUPED = 1000
# Clusters of about this many documents together are read, grouped and written at once.
_AT_ONCE = 5000


class Neighbour(NamedTuple):
    ref: Ref
    similarity: float


@dataclass(slots=True)
class _Touching:
    """New documents near each other or touching the same clusters, and these."""

    new: list[Ref] = field(default_factory=list)
    clusters: set[str] = field(default_factory=set)
    loose: list[Ref] = field(default_factory=list)

    @property
    def lone(self) -> bool:
        return not self.clusters and not self.loose and len(self.new) == 1

    def add(self, other: _Touching) -> None:
        self.new += other.new
        self.clusters |= other.clusters
        self.loose += other.loose


class Placer:
    """Puts documents into clusters of a store, as far as its `decisions` let it.

    `radius` is that of `indexer.clustering.grouping.group`.
    """

    def __init__(
        self, store: Store, rule: MatchRule, assigner: Assigner, radius: float | None, decisions: HeldDecisions
    ) -> None:
        self.store, self.rule, self._assigner, self._radius, self._decisions = store, rule, assigner, radius, decisions

    def place(self, near: Mapping[Ref, Sequence[Neighbour]], left: Collection[str]) -> None:
        """Put documents, each given with its near ones, into clusters; clusters whose members have `left` are
        cut too.
        """
        if self._decisions:
            near = dict(near)
            for ref, found in near.items():
                same = [one for one, apart in self._decisions.companions(ref).items() if not apart]
                near[ref] = [*found, *(Neighbour(one, 0.0) for one in same)]
        self._assign(self._components(near, left))

    def _components(self, waiting: Mapping[Ref, Sequence[Neighbour]], left: Collection[str]) -> list[_Touching]:
        joined = NamedComponents()
        others = sorted({near.ref for nearby in waiting.values() for near in nearby} - waiting.keys(), key=ref_order)
        cluster_names = self._names(others)
        # What lost a member by replacement is looked at too, even where nothing new touches it.
        for name in (*waiting, *left):
            joined.add(name)
        for ref, nearby in waiting.items():
            for near in nearby:
                if near.ref in waiting or near.ref in cluster_names:
                    joined.join(ref, cluster_names.get(near.ref) or near.ref)
        components: dict[object, _Touching] = defaultdict(_Touching)
        for ref, nearby in waiting.items():
            touching = components[joined.root(ref)]
            touching.new.append(ref)
            there = [near.ref for near in nearby if near.ref in cluster_names]
            touching.clusters |= {name for other in there if (name := cluster_names[other])}
            touching.loose += [other for other in there if not cluster_names[other]]
        for name in left:
            components[joined.root(name)].clusters.add(name)
        return list(components.values())

    def _names(self, refs: Sequence[Ref]) -> dict[Ref, str]:
        names: dict[Ref, str] = {}
        for part in chunks(refs, READ_AT_ONCE):
            for ref, fields in zip(part, self.store.annotations(part), strict=True):
                if fields is not None:
                    names[ref] = "" if is_alone(ref, fields) else cluster_of(fields) or ""
        return names

    def _assign(self, components: Sequence[_Touching]) -> None:
        names = sorted({name for touching in components for name in touching.clusters})
        known = {name: cluster for name, cluster in zip(names, self.store.get_clusters(names), strict=True) if cluster}
        self._assigner.set_alone([touching.new[0] for touching in components if touching.lone])
        together, size = _Touching(), 0
        for touching in components:
            if touching.lone:
                continue
            touched = [known[name] for name in sorted(touching.clusters) if name in known]
            documents = sum(cluster.size for cluster in touched)
            if documents > _REGROUPED:
                self._join_nearest(touching.new, touched)
                continue
            together.add(touching)
            size += documents + len(touching.loose) + len(touching.new) + 1
            if size >= _AT_ONCE:
                self._regroup(together)
                together, size = _Touching(), 0
        if size:
            self._regroup(together)

    def _join_nearest(self, refs: Sequence[Ref], clusters: Sequence[ClusterRecord]) -> None:
        found = zip(clusters, self.store.get([cluster.canonical for cluster in clusters]), strict=True)
        there = [(cluster, record) for cluster, record in found if record]
        canonical = found_of([record for _, record in there], self.rule, keys=False)
        joining: dict[int, list[tuple[Record, float]]] = {}
        alone_now: list[Ref] = []
        for record in read_records(self.store, refs):
            asking = asking_of(self.store, self.rule, record)
            values = asking.near(canonical) if asking and there else np.empty(0)
            if self._decisions and values.size:
                values = self._allowed(record.ref, [cluster for cluster, _ in there], values)
            best = int(values.argmax()) if values.size else -1
            if best >= 0 and values[best] >= 0:
                joining.setdefault(best, []).append((record, float(values[best])))
            else:
                alone_now.append(record.ref)
        for best, records in joining.items():
            apart = self._assigner.differing([record for record, _ in records], there[best][1])
            alone_now += [record.ref for (record, _), differs in zip(records, apart, strict=True) if differs]
            self._join(*there[best], [one for one, differs in zip(records, apart, strict=True) if not differs])
        self._assigner.set_alone(alone_now)

    def _allowed(self, ref: Ref, clusters: Sequence[ClusterRecord], values: Similarities) -> Similarities:
        decided = self._decisions.companions(ref)
        cluster_names = self._names(list(decided))
        barred, same = (
            {name for other, name in cluster_names.items() if decided[other] == apart} for apart in (True, False)
        )
        names = [one.id for one in clusters]
        if same & set(names):
            return np.array(
                [max(value, 0.0) if name in same else -1.0 for name, value in zip(names, values, strict=True)]
            )
        return np.where([name in barred for name in names], -1.0, values)

    def _join(self, cluster: ClusterRecord, canonical: Record, joining: Sequence[tuple[Record, float]]) -> None:
        [beside] = self.store.annotations([cluster.canonical])
        stays = beside is not None and repeated_by(cluster.canonical, beside) is None and not self.rule.of_parts
        counts = MemberCounts.of(cluster)
        for some in chunks(joining, READ_AT_ONCE):
            annotated = self.store.annotations([record.ref for record, _ in some])
            there = [
                RepeatingDocument(
                    cluster.id, record,
                    repeating(record.ref, cluster.canonical, round(value, 4)) if stays else {},
                    fields, canonical, beside or {},
                )
                for (record, value), fields in zip(some, annotated, strict=True)
                if fields is not None
            ]  # fmt: skip
            if stays:
                self._assigner.tell(there)
            noted = []
            values = [round(value, 4) for (_, value), fields in zip(some, annotated, strict=True) if fields is not None]
            for each, value in zip(there, values, strict=True):
                counts.count(each.record)
                counts.least_similarity = min(counts.least_similarity, value)
                if stays:
                    counts.note(each.record, each.wanted)
                said = membership(cluster.id, False, value, counts.size) | each.wanted
                noted.append((each.record.ref, said, each.noted))
            self._assigner.note(noted)
        self._assigner.put_clusters([counts.record()])

    def _regroup(self, touching: _Touching) -> None:
        names = sorted(touching.clusters)
        members = [ref for _, ref in self.store.cluster_members(names)]
        refs = list(dict.fromkeys([*members, *touching.loose, *touching.new]))
        records = [record for record in read_records(self.store, refs) if not record.short]
        found = nodes_of(self.rule, [found_of(records, self.rule)] if records else [])
        grouped = grouped_nodes(self._decisions, found, radius=self._radius, threads=1)
        components = grouped.components()
        kept = {name for names in assigned(self._assigner, grouped, components) for name in names}
        inside = {ref for groups in components for members in groups for ref in grouped.nodes.refs.take(members)}
        self._assigner.set_alone([ref for ref in refs if ref not in inside])
        stale = [name for name in names if name not in kept]
        there = self.store.get_clusters(stale)
        self._assigner.remove_clusters([name for name, members in zip(stale, there, strict=True) if members])


def miscounted(store: Store) -> list[str]:
    noted: Iterator[tuple[str, int]] = ((cluster.id, cluster.size) for cluster in store.clusters())
    found = store.cluster_sizes()
    # Both are in the order of their ids; what is in one of them alone differs too.
    counts = groupby(merge(noted, found), key=itemgetter(0))
    return [name for name, sizes in counts if len(both := [size for _, size in sizes]) < 2 or both[0] != both[1]]


def asking_of(store: Store, rule: MatchRule, record: Record) -> Asking | None:
    # Without words a document has no simhash, and is found by its other sketches.
    if record.short or any(name not in record.sketches for name in rule.schemes if record.has_words):
        return None
    asking = Asking(store, rule, Question(record.ref.id, record=record))
    return asking if asking.probes else None


def read_records(store: Store, refs: Sequence[Ref]) -> Iterator[Record]:
    for some in chunks(refs, READ_AT_ONCE):
        yield from (record for record in store.get(some) if record)
