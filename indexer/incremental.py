"""Documents put into their clusters as they come, or left out where they are near-duplicates of stored ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from indexer import core
from indexer.canonical import Rule
from indexer.cluster import group_documents
from indexer.components import check_bound
from indexer.keys import check_distance, probes
from indexer.model import DEFAULT_DISTANCE, ClusterRecord, Record, Ref, first_of, size_class
from indexer.origins import origin_of
from indexer.pairs import find_pairs
from indexer.placing import READ_AT_ONCE, Changes, Collection, Placer, cluster_of, lone, membership
from indexer.refs import RefTable, ref_order
from indexer.similar import verified
from indexer.stores.base import Store

# A search engine finds a document only after its next refresh; so many of the latest are looked up here too.
REMEMBERED = 50_000


class Near(NamedTuple):
    """A stored document and its distance in bits."""

    ref: Ref
    distance: int


@dataclass(slots=True)
class Arrived:
    """Counts of documents with a meaningful fingerprint that came: `new` ones had nothing near when they came."""

    new: int = 0
    near: int = 0


@dataclass(slots=True)
class _Component:
    """New documents that are near each other or touch the same clusters, and what they touch."""

    new: list[Record] = field(default_factory=list)
    clusters: dict[str, Ref | None] = field(default_factory=dict)
    loose: list[Ref] = field(default_factory=list)


class _Remembering(Placer):
    """A placer that knows where it has put the latest documents, for stores that show a write later."""

    def __init__(self, store: Store, rule: Rule) -> None:
        super().__init__(store, rule)
        self.latest: dict[Ref, str] = {}

    def note(self, wanted: Sequence[tuple[Ref, Mapping[str, Any], Mapping[str, Any]]]) -> None:
        """Write the membership of documents."""
        super().note(wanted)
        if not self.store.capabilities.visible_at_once:
            for ref, cluster, _ in wanted:
                self.latest.pop(ref, None)
                self.latest[ref] = cluster["id"]
            for ref in list(islice(self.latest, max(0, len(self.latest) - REMEMBERED))):
                del self.latest[ref]


class Arrivals:
    """Looks each document up as it comes; with `cluster` puts it into its cluster, with `skip` names what it repeats.

    `examine` is called with a batch before it is stored, `stored` with those of it that were. `distance` is 0 to 7.
    `told` is called with each compared document, once it is stored, and what was near when it came.

    A new document is compared with what is stored. The clusters that it touches are grouped anew, by themselves, as
    `cluster_store` would group them: where no component is wider than `bound`, the outcome is the same whatever the
    order of arrival. A wider one is split by what was there at the time. A store that was never clustered, documents
    of two indexers at work at once, and deletions are put right by the next `cluster_store`.
    """

    def __init__(
        self,
        store: Store,
        *,
        distance: int = DEFAULT_DISTANCE,
        bound: int | None = None,
        rule: Rule | None = None,
        cluster: bool = True,
        skip: bool = False,
        told: Callable[[Record, Near | None], None] | None = None,
    ) -> None:
        check_distance(distance)
        self.store, self.distance, self.bound = store, distance, check_bound(distance, bound)
        self.cluster, self.skip, self.told = cluster, skip, told
        self.counts = Arrived()
        self._placer = _Remembering(store, rule or Rule())
        self._latest: dict[Ref, int] = {}
        self._near: dict[int, dict[int, Ref]] = {}
        self._verdicts: dict[Ref, Near | None] = {}
        self._left: set[str] = set()

    @property
    def changes(self) -> Changes:
        """What was written about clusters so far."""
        return self._placer.changes

    def examine(self, records: Sequence[Record]) -> list[Near | None]:
        """For each document about to be stored, in order, the stored or earlier one that it is left out for, or None.

        Only with `skip` is one left out, and only one that is not stored yet; short documents never are.
        """
        coming = {record.ref for record in records}
        noted = self.store.annotations([record.ref for record in records])
        self._near = {}
        self._verdicts = {}
        self._left = {name for fields in noted if fields and (name := cluster_of(fields))}
        kept = _Kept()
        answers: list[Near | None] = []
        for record, before in zip(records, noted, strict=True):
            value = compared(record)
            if value is None:
                answers.append(None)
                continue
            if value not in self._near:
                self._near[value] = self._look_up(value, coming)
            near = self._nearest(value, self._near[value], kept.nearest(value, self.distance, record.ref))
            out = near if self.skip and before is None and not kept.holds(record.ref) else None
            answers.append(out)
            if out is None:
                kept.add(record.ref, value)
                self._verdicts[record.ref] = near
        return answers

    def _look_up(self, value: int, coming: set[Ref]) -> dict[int, Ref]:
        """For each stored value within the distance one document that has it and is not about to be replaced."""
        candidates = self.store.candidates(probes(value, self.distance))
        values = [candidate.value for apart, candidate in verified(value, candidates) if apart <= self.distance]
        found: dict[int, Ref] = {}
        for each in values:
            records = self.store.with_value([each])
            ref = next((record.ref for record in records if record.ref not in coming), None)
            if ref is not None:
                found[each] = ref
        if self._latest:
            latest = np.fromiter(self._latest.values(), dtype=np.uint64, count=len(self._latest))
            refs = list(self._latest)
            for place in np.flatnonzero(core.hamming_distances(value, latest) <= self.distance).tolist():
                if refs[place] not in coming:
                    found.setdefault(int(latest[place]), refs[place])
        return found

    @staticmethod
    def _nearest(value: int, stored: Mapping[int, Ref], earlier: Near | None) -> Near | None:
        found = [Near(ref, (value ^ other).bit_count()) for other, ref in stored.items()]
        if earlier:
            found.append(earlier)
        return min(found, key=lambda near: (near.distance, ref_order(near.ref)), default=None)

    def stored(self, records: Sequence[Record]) -> None:
        """Put documents that were examined, and are stored now, into their clusters."""
        latest = {record.ref: record for record in records}
        fresh = [record for record in latest.values() if compared(record) is not None]
        for record in fresh:
            near = self._verdicts.get(record.ref)
            self.counts.near += near is not None
            self.counts.new += near is None
            if self.told:
                self.told(record, near)
        if self.cluster:
            alone = [record.ref for record in latest.values() if compared(record) is None]
            self._note_lone(alone)
            for component in self._components(fresh):
                if not self._join(component):
                    self._regroup(component)
        if not self.store.capabilities.visible_at_once:
            for record in fresh:
                self._latest.pop(record.ref, None)
                self._latest[record.ref] = _value(record)
            for ref in list(islice(self._latest, max(0, len(self._latest) - REMEMBERED))):
                del self._latest[ref]

    def _note_lone(self, refs: Sequence[Ref]) -> None:
        noted = self.store.annotations(refs)
        there = [(ref, lone(ref), fields) for ref, fields in zip(refs, noted, strict=True) if fields is not None]
        self._placer.note(there)

    def _components(self, fresh: Sequence[Record]) -> list[_Component]:
        """The new documents, put together where they are near each other or touch the same cluster."""
        joined = _Joined()
        values = np.array([_value(record) for record in fresh], dtype=np.uint64)
        for record in fresh:
            joined.add(record.ref)
        pairs = find_pairs(values, self.distance, 1, collapse=True)
        for left, right in zip(pairs.left.tolist(), pairs.right.tolist(), strict=True):
            joined.join(fresh[left].ref, fresh[right].ref)
        touched = self._touched(set(values.tolist()))
        for record in fresh:
            for name in touched[_value(record)]:
                joined.join(record.ref, name)
        # What lost a member by replacement is looked at too, even where nothing new touches it.
        for name in self._left:
            joined.add(name)
        found: dict[object, _Component] = {}
        for record in fresh:
            component = found.setdefault(joined.root(record.ref), _Component())
            component.new.append(record)
            for name, ref in touched[_value(record)].items():
                if isinstance(name, str):
                    component.clusters[name] = ref
                else:
                    component.loose.append(ref)
        for name in self._left:
            found.setdefault(joined.root(name), _Component()).clusters[name] = None
        self._left = set()
        return list(found.values())

    def _touched(self, values: Iterable[int]) -> dict[int, dict[str | Ref, Ref]]:
        """For each new value the clusters that it touches, with a member of each, and documents that are in none."""
        near = {value: self._near.get(value, {}) for value in values}
        refs = sorted({ref for found in near.values() for ref in found.values()}, key=ref_order)
        noted = dict(zip(refs, self.store.annotations(refs), strict=True))
        names = {ref: cluster_of(fields) for ref, fields in noted.items() if fields is not None}
        touched: dict[int, dict[str | Ref, Ref]] = {}
        for value, found in near.items():
            touched[value] = {}
            # Where an equal document is there, what it is near to was settled when it came.
            settled = value in found and names.get(found[value]) is not None
            for other, ref in ({value: found[value]} if settled else found).items():
                name = names.get(ref)
                if name:
                    touched[value][name] = ref
                elif ref in names:
                    touched[value].update((each.ref, each.ref) for each in self.store.with_value([other]))
        return touched

    def _join(self, component: _Component) -> bool:
        """Add documents to one cluster without reading its members; False where that is not sure to be right."""
        if not component.clusters and not component.loose and len(component.new) == 1:
            self._note_lone([component.new[0].ref])
            return True
        if len(component.clusters) != 1 or component.loose:
            return False
        ((name, member),) = component.clusters.items()
        cluster, canonical = self._whole(name, member)
        if cluster is None or canonical is None or canonical.fingerprint is None:
            return False
        size = cluster.size + len(component.new)
        apart = [canonical.fingerprint.value ^ _value(record) for record in component.new]
        distances = [bits.bit_count() for bits in apart]
        radius = max(cluster.radius, *distances)
        if 2 * radius > self.bound and not all(_value(r) in self._near.get(_value(r), {}) for r in component.new):
            return False
        rule = self._placer.rule
        if size_class(size) != size_class(cluster.size) or min(map(rule.key, component.new)) < rule.key(canonical):
            return False
        refs = [record.ref for record in component.new]
        noted = self.store.annotations(refs)
        wanted = [membership(name, False, distance, size) for distance in distances]
        triples = zip(refs, wanted, noted, strict=True)
        self._placer.note([(ref, new, fields) for ref, new, fields in triples if fields is not None])
        self._placer.put_clusters([_grown(cluster, component.new, radius)])
        return True

    def _whole(self, name: str, member: Ref | None) -> tuple[ClusterRecord | None, Record | None]:
        """A cluster and its canonical document, where both are as the last clustering left them."""
        [cluster] = self.store.get_clusters([name])
        if member is None or cluster is None:
            return None, None
        [canonical] = self.store.get([cluster.canonical])
        [noted] = self.store.annotations([cluster.canonical])
        if canonical is None or noted is None or noted.get("cluster") != membership(name, True, 0, cluster.size):
            return None, None
        return cluster, canonical

    def _regroup(self, component: _Component) -> None:
        """Group the members of the clusters touched and the new documents anew."""
        names = sorted(component.clusters)
        refs = dict.fromkeys([*self._members(names), *component.loose, *(record.ref for record in component.new)])
        documents = _read(self.store, refs)
        groups, _ = group_documents(documents, self.distance, self.bound, 1)
        kept = set(self._placer.place(documents, groups))
        inside = {ref for each in groups for ref in documents.refs.take(each)}
        alone = [ref for ref in refs if ref not in inside]
        for start in range(0, len(alone), READ_AT_ONCE):
            self._note_lone(alone[start : start + READ_AT_ONCE])
        stale = [name for name in names if name not in kept]
        there = self.store.get_clusters(stale)
        self._placer.remove_clusters([name for name, found in zip(stale, there, strict=True) if found])

    def _members(self, names: Sequence[str]) -> Iterator[Ref]:
        latest = self._placer.latest
        for name, ref in list(self.store.cluster_members(names)):
            if latest.get(ref, name) == name:
                yield ref
        wanted = set(names)
        yield from (ref for ref, name in latest.items() if name in wanted)


class _Kept:
    """The documents of a batch that are kept so far: of each distinct value, who has it, and who had it first."""

    def __init__(self) -> None:
        self._count = 0
        self._known: set[Ref] = set()
        self._having: dict[int, dict[Ref, int]] = {}
        self._values = np.empty(64, dtype=np.uint64)

    def add(self, ref: Ref, value: int) -> None:
        if value not in self._having:
            if len(self._having) == self._values.size:
                self._values = np.resize(self._values, 2 * self._values.size)
            self._values[len(self._having)] = value
        self._having.setdefault(value, {}).setdefault(ref, self._count)
        self._known.add(ref)
        self._count += 1

    def holds(self, ref: Ref) -> bool:
        return ref in self._known

    def nearest(self, value: int, distance: int, but: Ref) -> Near | None:
        """The nearest one within the distance, ties to the earliest."""
        apart = core.hamming_distances(value, self._values[: len(self._having)])
        found = []
        for place in np.flatnonzero(apart <= distance).tolist():
            having = self._having[int(self._values[place])]
            first = next(((number, ref) for ref, number in having.items() if ref != but), None)
            if first:
                found.append((int(apart[place]), *first))
        bits, _, ref = min(found, default=(0, 0, None))
        return Near(ref, bits) if ref else None


class _Joined:
    """A union-find over a few names of any kind."""

    def __init__(self) -> None:
        self._parent: dict[object, object] = {}

    def add(self, name: object) -> None:
        self._parent.setdefault(name, name)

    def root(self, name: object) -> object:
        while (up := self._parent[name]) != name:
            self._parent[name] = name = self._parent[up]
        return name

    def join(self, a: object, b: object) -> None:
        self.add(a)
        self.add(b)
        self._parent[self.root(b)] = self.root(a)


def compared(record: Record) -> int | None:
    """The value that a document is compared by; None where it is short or has no fingerprint."""
    return record.fingerprint.value if record.fingerprint and not record.short else None


def _value(record: Record) -> int:
    value = compared(record)
    if value is None:
        raise ValueError(f"{record.ref.id!r} is compared with nothing")
    return value


def _grown(cluster: ClusterRecord, new: Sequence[Record], radius: int) -> ClusterRecord:
    seen = sorted(record.indexed_at for record in new if record.indexed_at)
    octets = sum(record.size for record in new)
    return ClusterRecord(
        id=cluster.id,
        canonical=cluster.canonical,
        title=cluster.title,
        size=cluster.size + len(new),
        octets=cluster.octets + octets,
        radius=radius,
        first_seen=min(filter(None, (cluster.first_seen, *seen)), default=""),
        last_seen=max(cluster.last_seen, *seen, ""),
        redundant_octets=cluster.redundant_octets + octets,
        formats=first_of(cluster.formats, (record.format for record in new)),
        origins=first_of(cluster.origins, (origin_of(record.source) for record in new)),
    )


def _read(store: Store, refs: Iterable[Ref]) -> Collection:
    """The documents of these that are there and compared."""
    table = RefTable()
    values: list[int] = []
    iterator = iter(refs)
    while some := list(islice(iterator, READ_AT_ONCE)):
        for record in store.get(some):
            value = compared(record) if record else None
            if record and value is not None:
                table.extend((record.ref,))
                values.append(value)
    return Collection(table, np.array(values, dtype=np.uint64))
