"""Documents put into their clusters as they come, or left out where they are near-duplicates of stored ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import NamedTuple

import numpy as np

from indexer.clustering.assign import (
    READ_AT_ONCE,
    REMEMBERED,
    Changes,
    RememberingAssigner,
    alone,
    cluster_of,
    is_alone,
    membership,
    repeated_by,
    repeating,
    repeating_others,
)
from indexer.clustering.canonical import CanonicalRule
from indexer.clustering.clusters import assigned, component_groups
from indexer.clustering.grouping import group, radius_of
from indexer.clustering.memory import arriving, note_of, remembered
from indexer.clustering.recent import Held, Judging, Recent, held_of
from indexer.errors import StoreError, UsageError
from indexer.hamming.components import NamedComponents
from indexer.matching.lookups import Asking, plans
from indexer.matching.measures.tables import Comparison
from indexer.matching.nodes import found_of, nodes_of
from indexer.matching.question import Question
from indexer.matching.rule import MatchRule, Reading, default_rule
from indexer.model import ClusterRecord, Record, Ref, first_of
from indexer.model.chunking import chunks
from indexer.model.origins import origin_of
from indexer.model.ragged import Ragged
from indexer.model.refs import ref_order
from indexer.schemes.base import Similarities
from indexer.stores.base import Store

# This many near documents are looked at for one that comes: enough to know what it belongs to.
_MOST_NEAR = 1000
# Clusters that together are larger are not grouped anew for each document that comes.
_REGROUPED = 1000
# Clusters of about this many documents together are read, grouped and written at once.
_AT_ONCE = 5000


class Near(NamedTuple):
    """A stored document and its similarity, 0 to 1, by the rule's measure."""

    ref: Ref
    similarity: float


@dataclass(slots=True)
class Arrived:
    """Counts of documents that the rule can compare and that came: `new` ones had nothing near when they came."""

    new: int = 0
    near: int = 0


@dataclass(slots=True)
class _Touching:
    """New documents that are near each other or touch the same clusters, and what they touch."""

    new: list[Record] = field(default_factory=list)
    clusters: set[str] = field(default_factory=set)
    loose: list[Ref] = field(default_factory=list)

    @property
    def lone(self) -> bool:
        """Whether it is one document that touches nothing."""
        return not self.clusters and not self.loose and len(self.new) == 1

    def add(self, other: _Touching) -> None:
        """Take in what another one has."""
        self.new += other.new
        self.clusters |= other.clusters
        self.loose += other.loose


@dataclass(frozen=True, slots=True)
class ArrivalRule:
    """By what documents that come are judged, and whether they are put into clusters now.

    `refused` says why they are not, where the stored clusters don't say how they were made.
    """

    rule: MatchRule
    bound: float | None = None
    canonical: CanonicalRule = field(default_factory=CanonicalRule)
    refused: str = ""


def rule_for(
    store: Store,
    wanted: MatchRule | None = None,
    *,
    bound: float | None = None,
    canonical: CanonicalRule | None = None,
    cluster: bool = True,
) -> ArrivalRule:
    """The rule for documents that come: the one by which the store's clusters were made, or the one wanted.

    A store without clusters takes the one wanted, or its default. Raises UsageError where another one is wanted than
    the store remembers, and for one that verifies by reading.
    """
    chosen = ArrivalRule(wanted or default_rule(store), bound, canonical or CanonicalRule())
    if not cluster:
        return _served(store, chosen)
    try:
        clustering = remembered(store)
    except StoreError as error:
        return replace(_served(store, chosen), refused=str(error))
    if clustering is None:
        return _served(store, chosen)
    kept = note_of(clustering.rule, clustering.bound, clustering.canonical)
    asked = note_of(
        wanted or clustering.rule, clustering.bound if bound is None else bound, canonical or clustering.canonical
    )
    for name, ours, theirs, same in (
        ("rule", wanted, clustering.rule, asked.rule == kept.rule),
        ("bound", bound, clustering.bound, asked.bound == kept.bound),
        ("canonical rule", canonical, clustering.canonical, asked.canonical == kept.canonical),
    ):
        if not same:
            raise UsageError(
                f"the store's clusters were made with the {name} {'of the match rule' if theirs is None else theirs}, "
                f"not {ours}: leave it out, or run neardup cluster with the new one first"
            )
    return _served(store, ArrivalRule(clustering.rule, clustering.bound, clustering.canonical))


def _served(store: Store, by: ArrivalRule) -> ArrivalRule:
    """The same rule; UsageError where documents can't be judged by it as they come."""
    if isinstance(by.rule.verifier, Reading):
        raise UsageError(f"{by.rule}: arriving documents can't be verified by reading texts; verify by a sketch")
    by.rule.require_served(store)
    try:
        plans(by.rule)
    except UsageError as error:
        raise UsageError(f"{by.rule}: arriving documents are looked up, which this rule can't do ({error})") from error
    return by


class Arrivals:
    """Looks each document up as it comes; with `cluster` puts it into its cluster, with `skip` names what it repeats.

    `examine` is called with a batch before it is stored, `stored` with those of it that were, `close` at the end.
    `on_stored` is called with each compared document, once it is stored, and what was near when it came.

    The clusters that a new document touches are grouped anew, by themselves, as `cluster` would group them: where no
    component is cut, and none of their clusters has more than 1,000 documents together, the outcome is the same
    whatever the order of arrival. What touches larger ones joins the cluster whose canonical document it is nearest to.
    Documents of two indexers at work at once, and deletions, are put right by the next `cluster`.
    """

    def __init__(
        self,
        store: Store,
        by: ArrivalRule,
        *,
        cluster: bool = True,
        skip: bool = False,
        on_stored: Callable[[Record, Near | None], None] | None = None,
    ) -> None:
        self.store, self.rule, self.by = store, by.rule, by
        self.cluster, self.skip, self.on_stored = cluster and not by.refused, skip, on_stored
        self.counts = Arrived()
        self._assigner = RememberingAssigner(store, by.canonical)
        self._latest = Recent(by.rule, REMEMBERED)
        self._near: dict[Ref, list[Near]] = {}
        self._left: set[str] = set()
        self._came: dict[Ref, str] = {}
        self._note = note_of(by.rule, by.bound, by.canonical)
        self._begun = False

    @property
    def changes(self) -> Changes:
        """What was written about clusters so far."""
        return self._assigner.changes

    def close(self) -> None:
        """Note that the clusters are whole; not called where a batch was broken off."""
        if self._begun:
            # What came in this run is in its cluster, so that it has ended now and not when it began.
            self.store.put_clustering_note(arriving(self.store, self._note, since=self._note.at))
            self._begun = False

    def examine(self, records: Sequence[Record]) -> list[Near | None]:
        """For each document about to be stored, in order, the stored or earlier one that it is left out for, or None.

        Only with `skip` is one left out, if it is not stored yet, comes once, is not short, and what is near stays.
        """
        often = Counter(record.ref for record in records)
        there = self.store.described([record.ref for record in records])
        known = [(one, *before) for one, before in zip(records, there, strict=True) if before]
        # An identical text stays in the cluster that it is in.
        settled = {
            one.ref
            for one, before, fields in known
            if often[one.ref] == 1 and one.is_identical(before) and not is_alone(one.ref, fields)
        }
        coming, later = set(often) - settled, often.copy()
        annotations = [None if before is None else before[1] for before in there]
        self._near, self._came = {}, {one.ref: before.arrived_at for one, before, _ in known}
        self._left = {name for one, _, fields in known if one.ref in coming and (name := cluster_of(fields))}
        kept = Recent(self.rule)
        answers: list[Near | None] = []
        askings = [self._asking(record) if record.ref in coming else None for record in records]
        rows = found_of(records, self.rule, keys=False).payloads
        asked = {held_of(one): (place, one) for place, one in enumerate(askings) if one}
        stored = self._stored_near(asked, rows, coming)
        leaving = repeating_others(self.store, {one.ref for near in stored.values() for one in near if self.skip})
        judging, place_of = Judging(self.rule, rows), dict[Ref, int]()
        for place, (record, before, asking) in enumerate(zip(records, annotations, askings, strict=True)):
            later[record.ref] -= 1
            if asking is None or later[record.ref]:
                # What another document replaces in this batch is near nothing.
                answers.append(None)
                continue
            near = self._near[record.ref] = list(stored[held_of(asking)])
            same = kept.equal(record)
            if same is not None:
                # That one leads on to all that is near both.
                near[:] = [Near(same, 1.0)]
            elif met := kept.met(asking):
                payloads = {
                    name: payload.take(np.array([place_of[ref] for ref in met])) for name, payload in rows.items()
                }
                judging.add(place, payloads, len(met), partial(_add_near, near, met))
            out = None
            if self.skip and before is None and often[record.ref] == 1:
                # What is left out is near nothing that comes later in the batch.
                judging.flush()
                out = min((one for one in near if one.ref not in leaving), key=_nearest, default=None)
            answers.append(out)
            if out is None:
                kept.add(record)
                place_of[record.ref] = place
            else:
                del self._near[record.ref]
        judging.flush()
        for found in self._near.values():
            found.sort(key=_nearest)
        return answers

    def said(self, near: Near) -> str:
        """What a document that is left out repeats, in words."""
        return self.rule.said(near.similarity, near.ref.id)

    def _asking(self, record: Record) -> Asking | None:
        """The question for what is near a document; None where the rule can't compare it."""
        if record.short or record.fingerprint is None:
            return None
        if any(record.sketch_of(name) is None for name in self.rule.schemes):
            return None
        asking = Asking(self.store, self.rule, Question(record.ref.id, record=record))
        return asking if asking.probes else None

    def _stored_near(
        self, asked: Mapping[Held, tuple[int, Asking]], rows: Mapping[str, Ragged], coming: set[Ref]
    ) -> dict[Held, list[Near]]:
        """What is stored and near, and not about to be replaced, by what is asked, given with its place in `rows`."""
        answers: dict[Held, list[Near]] = {}
        judging = Judging(self.rule, rows)
        results = self.store.probe_many([one.probes for _, one in asked.values()], list(self.rule.schemes))
        for (held, (place, _)), batches in zip(asked.items(), results, strict=True):
            near = answers[held] = []
            for number, batch in enumerate(batches):
                if len(batch.refs):
                    judging.add(place, batch.payloads, len(batch.refs), partial(_add_near, near, batch.refs))
                if number:
                    judging.flush()
                if len(near) >= _MOST_NEAR:
                    break
        judging.flush()
        for held, (_, asking) in asked.items() if len(self._latest) else ():
            there = {each.ref for each in answers[held]}
            latest = self._latest.near(asking, coming)
            answers[held] += [Near(ref, value) for value, ref in latest if ref not in there]
        return {held: [each for each in near if each.ref not in coming] for held, near in answers.items()}

    def stored(self, records: Sequence[Record]) -> None:
        """Put documents that were examined, and are stored now, into their clusters."""
        latest = {record.ref: record for record in records if record.ref in self._near}
        # The store keeps the time at which a document first came.
        fresh = [one.since(self._came.get(ref, "")) for ref, one in latest.items()]
        if refused := self._near.keys() - latest.keys():
            self._without(refused, fresh)
        for record in fresh:
            near = self._near[record.ref]
            self.counts.near += bool(near)
            self.counts.new += not near
            if self.on_stored:
                self.on_stored(record, near[0] if near else None)
        if self.cluster:
            self._begin()
            self._assign(self._components(fresh))
        if not self.store.capabilities.visible_at_once:
            for record in fresh:
                self._latest.add(record)

    def _without(self, refused: Collection[Ref], fresh: Sequence[Record]) -> None:
        """Take note of what else is near where the store has refused a document; an older form of it stays."""
        there = [record for record in self.store.get(list(self._came.keys() & refused)) if record]
        older = found_of(there, self.rule, keys=False)
        led: dict[Ref, Ref] = {}
        for record in fresh:
            asking = self._asking(record)
            values = asking.near(older).tolist() if asking and there else []
            near = {one.ref: Near(one.ref, value) for one, value in zip(there, values, strict=False) if value >= 0}
            # One whose sketches are equal is all that was noted, because it leads on to the others, also of this batch.
            following, seen = list(self._near[record.ref]), {record.ref}
            while following:
                one = following.pop()
                if one.ref in refused and one.ref not in seen:
                    first = led.setdefault(one.ref, record.ref)
                    following += [*self._near[one.ref], Near(first, one.similarity)]
                elif one.ref not in seen:
                    near.setdefault(one.ref, one)
                seen.add(one.ref)
            self._near[record.ref] = sorted(near.values(), key=_nearest)

    def _begin(self) -> None:
        if not self._begun:
            self.store.put_clustering_note(arriving(self.store, self._note))
            self._begun = True

    def _components(self, fresh: Sequence[Record]) -> list[_Touching]:
        """The new documents, put together where they are near each other or touch the same cluster."""
        joined = NamedComponents()
        new = {record.ref for record in fresh}
        others = sorted({near.ref for ref in new for near in self._near[ref]} - new, key=ref_order)
        cluster_names = self._names(others)
        touched: dict[Ref, tuple[set[str], list[Ref]]] = {}
        for record in fresh:
            joined.add(record.ref)
            names: set[str] = set()
            loose: list[Ref] = []
            for near in self._near[record.ref]:
                if near.ref in new:
                    joined.join(record.ref, near.ref)
                elif near.ref in cluster_names:
                    name = cluster_names[near.ref]
                    joined.join(record.ref, name or near.ref)
                    if name:
                        names.add(name)
                    else:
                        loose.append(near.ref)
            touched[record.ref] = names, loose
        # What lost a member by replacement is looked at too, even where nothing new touches it.
        for name in self._left:
            joined.add(name)
        components: dict[object, _Touching] = {}
        for record in fresh:
            touching = components.setdefault(joined.root(record.ref), _Touching())
            touching.new.append(record)
            names, loose = touched[record.ref]
            touching.clusters |= names
            touching.loose += loose
        for name in self._left:
            components.setdefault(joined.root(name), _Touching()).clusters.add(name)
        self._left = set()
        return list(components.values())

    def _names(self, refs: Sequence[Ref]) -> dict[Ref, str]:
        """The cluster of each stored document, empty where it is alone."""
        names: dict[Ref, str] = {}
        for start in range(0, len(refs), READ_AT_ONCE):
            part = refs[start : start + READ_AT_ONCE]
            for ref, fields in zip(part, self.store.annotations(part), strict=True):
                if fields is not None:
                    names[ref] = "" if is_alone(ref, fields) else cluster_of(fields) or ""
        return names

    def _assign(self, components: Sequence[_Touching]) -> None:
        names = sorted({name for touching in components for name in touching.clusters})
        known = {name: cluster for name, cluster in zip(names, self.store.get_clusters(names), strict=True) if cluster}
        self._set_alone([touching.new[0].ref for touching in components if touching.lone])
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

    def _join_nearest(self, records: Sequence[Record], clusters: Sequence[ClusterRecord]) -> None:
        """Add each document to the cluster whose canonical document it is nearest to, if that is near."""
        canonical = dict(zip(clusters, self.store.get([cluster.canonical for cluster in clusters]), strict=True))
        there = [record for record in canonical.values() if record]
        for record in records:
            asking = self._asking(record)
            values = asking.near(found_of(there, self.rule, keys=False)) if asking and there else np.empty(0)
            best = int(values.argmax()) if values.size else -1
            if best >= 0 and values[best] >= 0:
                [name] = [cluster.id for cluster, document in canonical.items() if document is there[best]]
                self._join(name, record, float(values[best]))
            else:
                self._set_alone([record.ref])

    def _join(self, name: str, record: Record, similarity: float) -> None:
        """Add a document to a large cluster without reading its members."""
        [cluster] = self.store.get_clusters([name])
        [annotations] = self.store.annotations([record.ref])
        if cluster is None or annotations is None:
            return
        value = round(similarity, 4)
        [beside] = self.store.annotations([cluster.canonical])
        stays = beside is not None and repeated_by(cluster.canonical, beside) is None
        said = repeating(record.ref, cluster.canonical, value) if stays else {}
        self._assigner.note([(record.ref, membership(name, False, value, cluster.size + 1) | said, annotations)])
        self._assigner.put_clusters([_grown(cluster, record, value, redundant=stays)])

    def _regroup(self, touching: _Touching) -> None:
        """Group the members of the clusters touched and the new documents anew."""
        names = sorted(touching.clusters)
        new = {record.ref: record for record in touching.new}
        refs = list(dict.fromkeys([*self._members(names), *touching.loose, *new]))
        read = [*self._read([ref for ref in refs if ref not in new]), *new.values()]
        records = [record for record in read if not record.short and record.fingerprint is not None]
        self._assigner.read = {record.ref: record for record in records}
        nodes = nodes_of(self.rule, [found_of(records, self.rule)] if records else [])
        comparison = Comparison(self.rule, nodes.payloads)
        grouped = group(nodes, comparison, radius=radius_of(self.by.bound), threads=1)
        components = component_groups(nodes, grouped)
        ids = assigned(self._assigner, nodes, comparison, grouped, components, threads=1)
        kept = {name for names in ids for name in names}
        inside = {ref for groups in components for members in groups for ref in nodes.refs.take(members)}
        self._set_alone([ref for ref in refs if ref not in inside])
        stale = [name for name in names if name not in kept]
        there = self.store.get_clusters(stale)
        self._assigner.remove_clusters([name for name, members in zip(stale, there, strict=True) if members])

    def _set_alone(self, refs: Sequence[Ref]) -> None:
        for some in chunks(refs, READ_AT_ONCE):
            known = [(ref, fields) for ref, fields in zip(some, self.store.annotations(some), strict=True) if fields]
            self._assigner.note([(ref, alone(ref), fields) for ref, fields in known if not is_alone(ref, fields)])

    def _read(self, refs: Sequence[Ref]) -> Iterator[Record]:
        for start in range(0, len(refs), READ_AT_ONCE):
            yield from (record for record in self.store.get(refs[start : start + READ_AT_ONCE]) if record)

    def _members(self, names: Sequence[str]) -> Iterator[Ref]:
        latest = self._assigner.latest
        for name, ref in list(self.store.cluster_members(names)):
            if latest.get(ref, name) == name:
                yield ref
        wanted = set(names)
        yield from (ref for ref, name in latest.items() if name in wanted)


def _add_near(near: list[Near], refs: Sequence[Ref], similarities: Similarities) -> None:
    near += [Near(refs[place], float(similarities[place])) for place in np.flatnonzero(similarities >= 0).tolist()]


def _nearest(near: Near) -> tuple[float, tuple[str, str, str]]:
    return -near.similarity, ref_order(near.ref)


def _grown(cluster: ClusterRecord, record: Record, similarity: float, *, redundant: bool) -> ClusterRecord:
    seen = [record.arrived_at] if record.arrived_at else []
    return replace(
        cluster,
        size=cluster.size + 1,
        total_bytes=cluster.total_bytes + record.size,
        least_similarity=min(cluster.least_similarity, similarity),
        first_seen=min(filter(None, (cluster.first_seen, *seen)), default=""),
        last_seen=max(cluster.last_seen, *seen, ""),
        redundant=cluster.redundant + redundant,
        redundant_bytes=cluster.redundant_bytes + record.size * redundant,
        formats=first_of(cluster.formats, (record.format,)),
        origins=first_of(cluster.origins, (origin_of(record.source),)),
    )
