"""Assign documents to clusters in a store, writing only changes."""

from __future__ import annotations

import time
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from indexer.clustering.annotations import (
    READ_AT_ONCE,
    alone,
    annotate,
    cluster_of,
    is_alone,
    membership,
    repeated_by,
    repeating,
)
from indexer.clustering.canonical import CanonicalRule, values_for
from indexer.clustering.choosing import Choice, ranks_of
from indexer.clustering.forms_kept_apart import FormsApart, GroupedDocuments, MeasureSimilarity
from indexer.clustering.relation_notes import NotedRelations, RepeatingDocument
from indexer.clustering.versions import PlacedVersion, Succession, by_version
from indexer.model import MOST_ORIGINS, ClusterRecord, Record, Ref, first_of, own_cluster_id
from indexer.model.chunking import chunks
from indexer.model.origins import origin_of
from indexer.model.refs import RefTable
from indexer.relations.relation import verdict_of
from indexer.stores.base import Store

Positions = npt.NDArray[np.int64]
# What to keep of documents, by their positions and ranks: all of whole components.
Choose = Callable[[Positions, Positions], Choice]

_NO_REF = Ref("")
AnnotatedRecord = tuple[Record, Mapping[str, Any]] | None
"""The record of a document and its annotations; None where it is gone."""


@dataclass(slots=True)
class Changes:
    """The changes written, or to be written: documents with another cluster, clusters written and forgotten.

    `versions` documents are in a known order with others; in `unordered` clusters the order asked for is unknown and
    does not choose the canonical document. `relations` counts the removable documents by their relation to the repeated
    one, empty if unknown. `apart` are in clusters of their own for their facts, though near others. `without_field`
    lack a field of the canonical rule.
    """

    documents: int = 0
    clusters: int = 0
    removed: int = 0
    versions: int = 0
    unordered: int = 0
    relations: Counter[str] = field(default_factory=Counter)
    apart: int = 0
    without_field: int = 0


class GroupMember(NamedTuple):
    """A document of group number `group`: its `place` there, its `position` in all, its `annotation` so far."""

    group: int
    place: int
    position: int
    record: Record
    annotation: Mapping[str, Any]


@dataclass(slots=True)
class MemberCounts:
    """The counts of a cluster while its members are gone through; `indexer.model.ClusterRecord` explains them."""

    id: str = ""
    canonical: Ref = _NO_REF
    title: str = ""
    size: int = 0
    total_bytes: int = 0
    first_seen: str = ""
    last_seen: str = ""
    redundant_bytes: int = 0
    formats: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()
    least_similarity: float = 1.0
    redundant: int = 0
    relations: Counter[str] = field(default_factory=Counter)
    repeated_origins: tuple[str, ...] = ()
    repeated_shares: set[int] = field(default_factory=set)

    @classmethod
    def of(cls, cluster: ClusterRecord) -> Self:
        known = {each.name: getattr(cluster, each.name) for each in fields(cluster)}
        relations, shares = Counter(dict(cluster.relations)), {*cluster.repeated_shares}
        return cls(**{**known, "relations": relations, "repeated_shares": shares})

    def count(self, record: Record) -> None:
        self.size += 1
        self.total_bytes += record.size
        seen = record.arrived_at
        self.first_seen = min(filter(None, (self.first_seen, seen)), default="")
        self.last_seen = max(self.last_seen, seen)
        self.formats = _with(self.formats, record.format)
        self.origins = _with(self.origins, origin_of(record.source))

    def note(self, record: Record, repeats: Mapping[str, Any]) -> None:
        self.relate(record, repeats.get("relation", ""))
        # A file has no dashboards.
        if "repeats_origin" in repeats:
            self.repeated_origins = _with(self.repeated_origins, repeats["repeats_origin"])
            # A share of 0.7 is a bit less than 14 steps.
            self.repeated_shares.add(int(20 * repeats["repeats_similarity"] + 1e-6) * 5)

    def relate(self, record: Record, word: str, count: int = 1) -> None:
        self.relations[word] += count
        going = count * (verdict_of(word) == "could go")
        self.redundant += going
        self.redundant_bytes += going * record.size

    def record(self) -> ClusterRecord:
        known = {each.name: getattr(self, each.name) for each in fields(ClusterRecord)}
        relations, shares = tuple(sorted((+self.relations).items())), tuple(sorted(self.repeated_shares))
        return ClusterRecord(**{**known, "relations": relations, "repeated_shares": shares})


class EarlierNames:
    """The ids that the members of a cluster had, and may leave to it."""

    def __init__(self) -> None:
        self._named: Counter[str] = Counter()
        self._by_others: set[str] = set()
        # Hashes of the names that members would have alone: there may be a million, and few are looked for.
        self._founders = array("q")

    def add(self, ref: Ref, old: str | None) -> None:
        own = own_cluster_id(ref)
        if old is not None:
            self._named[old] += 1
            self._by_others |= {old} - {own}
        if old in (None, own):
            self._founders.append(hash(own))

    def chosen(self, canonical: Ref, size: int) -> str:
        kept = [(-self._named[name], name) for name in self._by_others if hash(name) in self._founders]
        return min(kept)[1] if kept and size > 1 else own_cluster_id(canonical)


@dataclass(slots=True)
class Gathered(MemberCounts):
    """The facts about the members of one cluster, gathered before anything is written."""

    best: tuple[Any, ...] = ()
    position: int = -1
    names: EarlierNames = field(default_factory=EarlierNames)
    without_field: int = 0
    is_unordered: bool = False

    def add(self, member: GroupMember, key: tuple[Any, ...]) -> None:
        if not self.size or key < self.best:
            self.choose(member.record, member.position, key)
        self.count(member.record)
        self.names.add(member.record.ref, cluster_of(member.annotation))

    def choose(self, record: Record, position: int, key: tuple[Any, ...]) -> None:
        self.canonical, self.title, self.position, self.best = record.ref, record.title, position, key


def _with(names: tuple[str, ...], name: str) -> tuple[str, ...]:
    # A million members may each be from elsewhere.
    if not name or name in names or (len(names) == MOST_ORIGINS and name > names[-1]):
        return names
    return first_of(names, (name,))


def named(
    clusters: Sequence[Gathered], groups: Sequence[Positions], similar: MeasureSimilarity
) -> list[npt.NDArray[np.float64]]:
    """Give each group its id; returns the similarities of its members to its canonical document, to four decimal
    places.
    """
    there = [number for number, cluster in enumerate(clusters) if cluster.size]
    near = [np.ones(positions.size) for positions in groups]
    if not there:
        return near
    for number in there:
        clusters[number].id = clusters[number].names.chosen(clusters[number].canonical, clusters[number].size)
    sizes = [groups[number].size for number in there]
    canonical = np.repeat(np.array([clusters[number].position for number in there], dtype=np.int64), sizes)
    # A similarity is written to four decimal places: what is read back is then what was written.
    values = np.maximum(similar(canonical, np.concatenate([groups[number] for number in there])), 0.0)
    for number, own in zip(there, np.split(np.round(values, 4), np.cumsum(sizes)[:-1]), strict=True):
        near[number] = np.asarray(own, dtype=np.float64)
        clusters[number].least_similarity = float(own.min())
    return near


class Assigner:
    """Assigns documents to clusters in a store; with `dry_run` it only counts.

    `relations` tells the known relation of each removable document to the repeated one; `apart` cuts the groups if they
    are to be cut.
    """

    def __init__(
        self,
        store: Store,
        rule: CanonicalRule,
        *,
        dry_run: bool = False,
        relations: NotedRelations | None = None,
        apart: FormsApart | None = None,
    ) -> None:
        self.store, self.rule, self.dry_run = store, rule, dry_run
        self.relations, self._apart = relations or NotedRelations(store, read=False), apart
        self.changes = Changes()
        # What was read of the documents that are assigned together, where they are few.
        self._once: dict[Ref, AnnotatedRecord] | None = None

    def assign(
        self, refs: RefTable, groups: Sequence[Positions], similar: MeasureSimilarity, choose: Choose
    ) -> dict[str, int]:
        """Make each group of positions a cluster; returns the ids of those with two members or more, and their sizes.

        The groups are those of whole components; a group of one document is alone, but may repeat one of another
        group. `choose` selects the kept documents and the one each other repeats. Large groups are read once for each
        use, with only their preferences kept in memory. Documents gone meanwhile are left out.
        """
        self._once = {} if sum(map(len, groups)) <= 2 * READ_AT_ONCE else None
        clusters, versions, documents, ranks = self._gathered(refs, groups)
        if documents.size < sum(map(len, groups)):
            groups = [group[np.isin(group, documents)] for group in groups]
        choice = choose(documents, ranks)
        chosen = GroupedDocuments(documents, ranks, choice, lambda some: self._described(refs.take(some)), similar)
        if self._apart:
            groups = self._cut(self._apart, groups, chosen)
            clusters, versions, _, _ = self._gathered(refs, groups)
        self.changes.without_field += sum(cluster.without_field for cluster in clusters)
        self.changes.unordered += sum(cluster.is_unordered for cluster in clusters)
        self.changes.versions += len(versions)
        near = named(clusters, groups, similar)
        for batch in self._members(refs, groups):
            repeated = _repeats(refs, chosen, batch)
            self._relate(batch, repeated, clusters)
            noted, ordinals = [], dict[Ref, Mapping[str, Any]]()
            for member, repeats in zip(batch, repeated, strict=True):
                record, cluster = member.record, clusters[member.group]
                if version := versions.get(member.position):
                    ordinals[record.ref] = version.annotation
                if repeats:
                    cluster.note(record, repeats)
                # A document of which nothing is said is alone.
                if cluster.size > 1 or repeats or not is_alone(record.ref, member.annotation):
                    is_canonical = record.ref == cluster.canonical
                    similarity = 1.0 if is_canonical else float(near[member.group][member.place])
                    wanted = membership(cluster.id, is_canonical, similarity, cluster.size) | repeats
                    noted.append((record.ref, wanted, member.annotation))
            self.note(noted, ordinals)
        self._once = None
        real = [cluster for cluster in clusters if cluster.size > 1]
        self.put_clusters([cluster.record() for cluster in real])
        return {cluster.id: cluster.size for cluster in real}

    def _cut(self, apart: FormsApart, groups: Sequence[Positions], chosen: GroupedDocuments) -> list[Positions]:
        begun = time.monotonic()
        parts = apart.cut(groups, chosen)
        self.relations.took(time.monotonic() - begun)
        self.relations.given, self.changes.apart = apart.words, apart.count
        return parts

    def _gathered(
        self, refs: RefTable, groups: Sequence[Positions]
    ) -> tuple[list[Gathered], dict[int, PlacedVersion], Positions, Positions]:
        clusters = [Gathered() for _ in groups]
        positions, keys = array("q"), list[tuple[Any, ...]]()
        succession = Succession()
        for batch in self._members(refs, groups):
            owners = values_for(self.rule, self.store, [member.record for member in batch])
            for member, values in zip(batch, owners, strict=True):
                key = self.rule.key(member.record, values)
                clusters[member.group].without_field += not self.rule.has_fields(member.record, values)
                clusters[member.group].add(member, key)
                succession.add(member.group, member.position, member.record)
                positions.append(member.position)
                keys.append(key)
        versions = succession.placed()
        if self.rule.by_version:
            keys = by_version(positions, keys, versions, newest=self.rule.kind == "newest")
            self._choose_again(refs, groups, clusters, dict(zip(positions, keys, strict=True)), versions)
        return clusters, versions, np.array(positions, dtype=np.int64), ranks_of(keys)

    def _relate(self, batch: Sequence[GroupMember], said: Sequence[dict[str, Any]], groups: Sequence[Gathered]) -> None:
        others = {
            place: repeated_by(member.record.ref, {"cluster": repeats})
            for place, (member, repeats) in enumerate(zip(batch, said, strict=True))
            if repeats
        }
        known = {member.record.ref: (member.record, member.annotation) for member in batch}
        missing = list(dict.fromkeys(ref for ref in others.values() if ref and ref not in known))
        there = zip(missing, self._described(missing) if missing else (), strict=True)
        known |= {ref: found for ref, found in there if found}
        documents = []
        for place, ref in others.items():
            member = batch[place]
            other, noted = known.get(ref, (None, {})) if ref else (None, {})
            documents.append(
                RepeatingDocument(groups[member.group].id, member.record, said[place], member.annotation, other, noted)
            )
        owners = values_for(self.rule, self.store, [each.record for each in documents])
        keys = [
            (batch[place].group, self.rule.key(batch[place].record, own))
            for place, own in zip(others, owners, strict=True)
        ]
        self.tell([documents[place] for place in sorted(range(len(keys)), key=keys.__getitem__)])

    def tell(self, documents: Sequence[RepeatingDocument]) -> None:
        for document, word in zip(documents, self.relations.words(documents), strict=True):
            self.changes.relations[word] += 1
            if word:
                document.wanted["relation"] = word
            # A file has no dashboards, and may be moved with its documents.
            if document.other and not self.store.embedded:
                document.wanted["repeats_origin"] = origin_of(document.other.source)

    def _choose_again(
        self,
        refs: RefTable,
        groups: Sequence[Positions],
        new_groups: Sequence[Gathered],
        keys: Mapping[int, tuple[Any, ...]],
        placed: Mapping[int, PlacedVersion],
    ) -> None:
        for group, members in zip(new_groups, groups, strict=True):
            there = [position for position in members.tolist() if position in keys]
            first = min(there, key=keys.__getitem__, default=-1)
            if first not in (group.position, -1) and (known := self._described(refs.take([first]))[0]):
                group.choose(known[0], first, keys[first])
            group.is_unordered = len(there) > 1 and first not in placed

    def _described(self, refs: Sequence[Ref]) -> list[AnnotatedRecord]:
        if self._once is None:
            return self.store.described(refs)
        if missing := [ref for ref in refs if ref not in self._once]:
            self._once.update(zip(missing, self.store.described(missing), strict=True))
        return [self._once[ref] for ref in refs]

    def differing(self, records: Sequence[Record], other: Record) -> list[bool]:
        return self._apart.differing(records, other) if self._apart else [False] * len(records)

    def _members(self, table: RefTable, groups: Sequence[Positions]) -> Iterator[list[GroupMember]]:
        if not groups:
            return
        positions = np.concatenate(groups)
        numbers = np.repeat(np.arange(len(groups)), [group.size for group in groups])
        places = np.concatenate([np.arange(group.size) for group in groups])
        for start in range(0, positions.size, READ_AT_ONCE):
            part = positions[start : start + READ_AT_ONCE]
            refs = table.take(part)
            yield [
                GroupMember(number, place, position, *known)
                for number, place, position, known in zip(
                    numbers[start : start + READ_AT_ONCE].tolist(),
                    places[start : start + READ_AT_ONCE].tolist(),
                    part.tolist(),
                    self._described(refs),
                    strict=True,
                )
                if known is not None
            ]

    def note(
        self,
        wanted: Sequence[tuple[Ref, Mapping[str, Any], Mapping[str, Any]]],
        versions: Mapping[Ref, Mapping[str, Any]] | None = None,
    ) -> None:
        """Write the membership of documents, each given with the wanted one and its present annotations.

        `versions` are the annotations of versions of others.
        """
        written = []
        for ref, new, old in wanted:
            version = versions.get(ref) if versions else None
            if old.get("cluster") != new or old.get("version") != version:
                written.append((ref, {"cluster": new, "version": version}, old))
        if self.dry_run:
            self.changes.documents += len(written)
            return
        self.changes.documents += annotate(self.store, [(ref, new) for ref, new, _ in written])
        for ref, new, old in written:
            if (other := repeated_by(ref, new)) and not repeated_by(ref, old):
                self.store.watcher.copied(ref, other, new["cluster"] or {})

    def set_alone(self, refs: Iterable[Ref]) -> None:
        for some in chunks(refs, READ_AT_ONCE):
            known = zip(some, self.store.annotations(some), strict=True)
            self.note([(ref, alone(ref), fields) for ref, fields in known if fields and not is_alone(ref, fields)])

    def put_clusters(self, clusters: Sequence[ClusterRecord]) -> None:
        old = self.store.get_clusters([cluster.id for cluster in clusters])
        changed = [(cluster, before) for cluster, before in zip(clusters, old, strict=True) if cluster != before]
        self.changes.clusters += len(changed)
        if changed and not self.dry_run:
            self.store.put_clusters([cluster for cluster, _ in changed])
            for cluster, before in changed:
                if before is None:
                    self.store.watcher.formed(cluster)

    def remove_clusters(self, ids: Sequence[str]) -> None:
        self.changes.removed += len(ids)
        if ids and not self.dry_run:
            self.store.delete_clusters(ids)


def _repeats(refs: RefTable, chosen: GroupedDocuments, members: Sequence[GroupMember]) -> list[dict[str, Any]]:
    places = chosen.places(np.array([member.position for member in members], dtype=np.int64))
    others = refs.take(chosen.choice.of[places])
    # To four decimal places, as the similarity to the canonical document.
    shares = np.round(chosen.choice.similarity[places], 4).tolist()
    return [
        {} if other == member.record.ref else repeating(member.record.ref, other, share)
        for member, other, share in zip(members, others, shares, strict=True)
    ]
