"""Put documents into clusters as they come, or leave out near-duplicates."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np

from indexer.clustering.annotations import MARK, READ_AT_ONCE, cluster_of, is_alone, leaving
from indexer.clustering.assign import Assigner, Changes
from indexer.clustering.canonical import CanonicalRule
from indexer.clustering.choosing import preceded
from indexer.clustering.clusters import put_groups, renew_relations
from indexer.clustering.forms_kept_apart import FormsApart
from indexer.clustering.grouping import radius_of
from indexer.clustering.held_decisions import HeldDecisions, grouped_nodes
from indexer.clustering.memory import ClusterSettings, arriving, remembered
from indexer.clustering.placing import Neighbour, Placer, asking_of, read_records
from indexer.clustering.policy import KnownOriginal, Policy, StandIns
from indexer.clustering.relation_notes import NotedRelations
from indexer.clustering.verdicts import MOST_TRIED
from indexer.clustering.versions import ReplacedVersions
from indexer.errors import StoreError, UsageError
from indexer.ingest.left_out import MARKED_DUPLICATE, DuplicateFilter
from indexer.matching.lookups import Asking, plans
from indexer.matching.measures.tables import Comparer
from indexer.matching.nodes import found_of, nodes_of, read_nodes
from indexer.matching.pairing import node_pairs
from indexer.matching.rule import MatchRule, TextVerification, default_rule
from indexer.model import Failure, Record, Ref
from indexer.model.chunking import chunks
from indexer.model.refs import ref_order
from indexer.stores.base import Store

# This many near documents are looked at for one that comes: enough to know what it belongs to.
_MOST_NEAR = 1000
# Reading a document of a store takes a fifteenth of looking one up; but not for so few, and never of so many.
_READ_FOR = 15
_FEWEST_READ_FOR, _MOST_READ = 500, 500_000
# Documents are put into clusters after as many seconds, or as many times the seconds that it took before.
_WAIT_SECONDS, _WAIT_TIMES = 30.0, 5
# Of documents with equal sketches so many are tried beside the first, of which each may say something else.
_MOST_EQUAL = 3
_SketchIdentity = tuple[bytes, ...]


@dataclass(slots=True)
class Arrived:
    """Counts of comparable new documents: `new` ones had no near document when they came, `marked` ones a mark.

    `outdated` ones were stored because their counterpart was changed by its owner after its fingerprint.
    """

    new: int = 0
    near: int = 0
    marked: int = 0
    outdated: int = 0


# What is said where the stored clusters don't say how they were made.
NOT_CLUSTERED = "documents are stored, each in a cluster of its own"


def rule_for(
    store: Store,
    wanted: MatchRule | None = None,
    *,
    bound: float | None = None,
    canonical: CanonicalRule | None = None,
    cluster: bool = True,
) -> ClusterSettings:
    """The rule for documents that come: the one of the store's clusters, or the wanted one.

    Raises UsageError if it differs from the remembered one, and for a rule that verifies by reading.
    """
    chosen = ClusterSettings(wanted or default_rule(store)).asked(wanted, bound, canonical)
    if not cluster:
        return _served(store, chosen)
    try:
        made = remembered(store)
    except StoreError as error:
        return replace(_served(store, chosen), refused=str(error))
    if made is None:
        return _served(store, chosen)
    asked, kept = made.asked(wanted, bound, canonical).note(), made.note()
    for name, ours, theirs, same in (
        ("rule", wanted and wanted.name, made.rule.name, asked.rule == kept.rule),
        ("bound", bound, made.bound, asked.bound == kept.bound),
        ("canonical rule", canonical, made.canonical, asked.canonical == kept.canonical),
    ):
        if not same:
            raise UsageError(
                f"the store's clusters were made with the {name} {'of the match rule' if theirs is None else theirs}, "
                f"not {ours}: leave it out, or run neardup cluster with the new one first"
            )
    return _served(store, made)


def _served(store: Store, by: ClusterSettings) -> ClusterSettings:
    if isinstance(by.rule.verifier, TextVerification):
        raise UsageError(f"{by.rule}: arriving documents can't be verified by reading texts; verify by a sketch")
    by.rule.require_served(store)
    try:
        plans(by.rule)
    except UsageError as error:
        raise UsageError(f"{by.rule}: this rule can't look up arriving documents ({error})") from error
    return by


class Arrivals(DuplicateFilter[KnownOriginal]):
    """Puts documents into their clusters as they come with `cluster`; with `skip` names the document each one repeats.

    With a `policy` the relation of their texts decides if one is left out or marked; else near ones are left out.

    Call `examine` with a batch before storing it, `stored` with its stored documents, `close` at the end. `since` is
    the beginning of a longer run, empty for now. `on_new` is called with each stored document without a near one on
    arrival.

    Documents are put into clusters together: at the end, and every half minute or so (with `skip` after each batch). A
    few are looked up, and the clusters they touch are grouped anew, as `cluster` would do. If no component is cut, and
    their clusters have at most 1,000 documents together, the result does not depend on the order of arrival. A document
    touching larger ones joins the cluster with the nearest canonical document. If at least `fewest` came, and reading
    the whole store takes less time, everything is grouped anew. The next `cluster` corrects the effects of concurrent
    indexers and deletions.
    """

    def __init__(
        self,
        store: Store,
        by: ClusterSettings,
        *,
        cluster: bool = True,
        skip: bool = False,
        policy: Policy | None = None,
        on_new: Callable[[Ref], None] | None = None,
        fewest: int = _FEWEST_READ_FOR,
        since: str = "",
    ) -> None:
        if skip:
            by.rule.require_copies()
        self.store, self.rule, self.by = store, by.rule, by
        self.cluster, self.skip, self.on_new = cluster and not by.refused, skip, on_new
        self._stand_ins = StandIns(store, policy)
        self.counts, self._replaced = Arrived(), ReplacedVersions(store)
        read = None if self.cluster else False
        self._relations = NotedRelations.after_last(store, read=read, apart=by.apart)
        self._decisions = HeldDecisions(store)
        apart = None
        if by.apart and self.cluster:
            apart = FormsApart(self._relations, self._decisions, by.rule.measure.similarity)
        self._assigner = Assigner(store, by.canonical, relations=self._relations, apart=apart)
        self._fewest = fewest
        # Of the batch that is being stored: what is put into clusters, and what is near, None where nothing was asked.
        self._coming: set[Ref] = set()
        self._near: dict[Ref, list[Neighbour]] | None = None
        # Stored documents that are not in their clusters yet, in the order in which they came, with what is near.
        self._waiting: dict[Ref, list[Neighbour] | None] = {}
        # What documents of the batch repeat that get a mark.
        self._marks: dict[Ref, KnownOriginal] = {}
        # Clusters of which documents were replaced.
        self._left: set[str] = set()
        self._placed, self._took, self._last = time.monotonic(), 0.0, 0
        self._note = by.note(reads=self._relations.texts is not None)
        self._begun = False
        self._since = since or self._note.at

    @property
    def changes(self) -> Changes:
        return self._assigner.changes

    @property
    def reading_seconds(self) -> float | None:
        return self._relations.seconds

    def close(self) -> None:
        self.place()
        renew_relations(self._assigner, self._lone)
        self._replaced.close()
        if self._begun:
            # What came in this run is in its cluster, so that it has ended now and not when it began.
            self.store.put_clustering_note(arriving(self.store, self._note, since=self._since))
            self._begun = False

    def _lone(self, count: int) -> list[Ref]:
        return [*islice(self._compared_alone(), count)]

    def _compared_alone(self) -> Iterator[Ref]:
        alone = (ref for ref, known in self.store.scan_annotations() if is_alone(ref, known))
        for record in (one for some in chunks(alone, READ_AT_ONCE) for one in self.store.get(some, sketches=False)):
            # What no clustering has seen, and what is too short for one, may be near others.
            seen = record and (record.indexed_at >= self._since or self.by.has_seen(record.indexed_at))
            if record and seen and not record.short:
                yield record.ref

    def examine(self, records: Sequence[Record]) -> list[KnownOriginal | None]:
        if self.cluster:
            # Before anything is stored: what a kill leaves without a cluster is put right by the next `cluster`.
            self._begin()
        else:
            self._replaced.examine(records)
        often = Counter(record.ref for record in records)
        there = self.store.described([record.ref for record in records])
        known = [(one, *before) for one, before in zip(records, there, strict=True) if before]
        # An identical text stays in the cluster that it is in.
        settled = {
            one.ref
            for one, before, fields in known
            if often[one.ref] == 1 and one.is_identical(before) and not is_alone(one.ref, fields)
        }
        self._decisions.note(records)
        self._coming, self._near = set(often) - settled, None
        self._left |= {name for one, _, fields in known if one.ref in self._coming and (name := cluster_of(fields))}
        return self._look_up(records, often, {one.ref for one, *_ in known}) if self.skip else [None] * len(records)

    def _look_up(
        self, records: Sequence[Record], often: Counter[Ref], known: Collection[Ref]
    ) -> list[KnownOriginal | None]:
        # What another document replaces in this batch is near nothing.
        last = {record.ref: place for place, record in enumerate(records) if record.ref in self._coming}
        found = self._stored_near([records[place] for place in last.values()])
        stored = {ref: [one for one in near if one.ref not in last] for ref, near in found.items()}
        going = leaving(self.store, {one.ref for near in stored.values() for one in near})
        outdated, unseen = self._outdated(stored.values(), going)
        nearby = self._near = {}
        batch = _ComingDocuments(self.rule, [records[last[ref]] for ref in stored])
        earlier, answers = dict[Ref, Record](), list[KnownOriginal | None]()
        for place, record in enumerate(records):
            if record.ref not in stored or last[record.ref] != place:
                answers.append(None)
                continue
            near, equal = batch.near(record.ref)
            out = None
            if record.ref not in known and often[record.ref] == 1:
                likely = dict.fromkeys((*near, *equal, *stored[record.ref]))
                near_enough = [one for one in likely if not self._decisions.are_apart(record.ref, one.ref)]
                left = going | outdated | unseen
                staying = sorted((one for one in near_enough if one.ref not in left), key=_nearest)
                out = self._stand_ins.first_of(record, staying, earlier) if staying else None
                self.counts.outdated += out is None and any(one.ref in outdated for one in near_enough)
                if out and out.action == "mark":
                    self._marks[record.ref], out = out, None
            answers.append(out)
            if out is None:
                # A document with equal sketches leads on to all that is near both.
                nearby[record.ref] = near if batch.has_equal(record.ref) else [*stored[record.ref], *near]
                batch.add(record.ref)
                earlier[record.ref] = record
        return answers

    def _outdated(self, found: Iterable[Sequence[Neighbour]], going: Collection[Ref]) -> tuple[set[Ref], set[Ref]]:
        if self.store.embedded:
            return set(), set()
        near = [sorted((one for one in some if one.ref not in going), key=_nearest) for some in found]
        looked_at = {one.ref for some in near for one in some[:MOST_TRIED]}
        outdated = set[Ref]()
        for refs in chunks(looked_at, READ_AT_ONCE):
            outdated |= self.store.outdated([one for one in self.store.get(refs, sketches=False) if one])
        return outdated, {one.ref for some in near for one in some if one.ref not in looked_at}

    def said(self, near: KnownOriginal) -> str:
        return self.rule.said(near.similarity, near.ref.id) + f"; {near.relation}" * bool(near.relation)

    def refuses(self, near: KnownOriginal) -> bool:
        return near.action == "refuse"

    def _stored_near(self, records: Iterable[Record]) -> dict[Ref, list[Neighbour]]:
        """The near stored documents of each comparable document; those with equal sketches share one list."""
        alike, first = dict[Ref, _SketchIdentity](), dict[_SketchIdentity, Asking]()
        for record in records:
            if asking := asking_of(self.store, self.rule, record):
                first.setdefault(alike.setdefault(record.ref, _sketch_identity(asking)), asking)
        results = self.store.probe_many([asking.probes for asking in first.values()], list(self.rule.schemes))
        found: dict[_SketchIdentity, list[Neighbour]] = {}
        for (sketches, asking), batches in zip(first.items(), results, strict=True):
            near = found[sketches] = []
            for batch in batches:
                if len(batch.refs):
                    values = asking.near(batch)
                    places = np.flatnonzero(values >= 0).tolist()
                    near += [Neighbour(batch.refs[place], float(values[place])) for place in places]
                if len(near) >= _MOST_NEAR:
                    break
        return {ref: found[sketches] for ref, sketches in alike.items()}

    def stored(self, records: Sequence[Record]) -> None:
        refs = dict.fromkeys(record.ref for record in records if record.ref in self._coming)
        near = self._near
        if near is not None and near.keys() - refs.keys():
            # What the store refused may be all that others were noted to be near; what stays in its place is unknown.
            near = None
        for ref in refs:
            self._waiting.pop(ref, None)
            if near is None:
                self._waiting[ref] = None
            elif ref in near:
                self._waiting[ref] = near[ref]
                self._count(ref, near=bool(near[ref]))
        marked = {record.ref: record for record in records if record.ref in self._marks}
        if marked:
            self.store.annotate((ref, {MARK: self._marks[ref].ref.id}) for ref in marked)
            self.store.put_failures(
                Failure(ref, record.source, MARKED_DUPLICATE, self.said(self._marks[ref]), record.indexed_at)
                for ref, record in marked.items()
            )
        self.counts.marked += len(marked)
        self._marks.clear()
        waited = time.monotonic() - self._placed
        if self.skip or waited >= max(_WAIT_SECONDS, _WAIT_TIMES * self._took):
            self.place()

    def found(self, ref: Ref, *, is_settled: bool) -> None:
        if self.cluster and not is_settled:
            self._begin()
            self._waiting.setdefault(ref, None)

    def leave(self, clusters: Collection[str]) -> None:
        if self.cluster and clusters:
            self._begin()
            self._left.update(clusters)

    def _count(self, ref: Ref, *, near: bool) -> None:
        self.counts.near += near
        self.counts.new += not near
        if self.on_new and not near:
            self.on_new(ref)

    def _reads_all(self, documents: int) -> bool:
        documents = max(documents, self._last)
        return documents >= self._fewest and self.store.count() <= min(documents * _READ_FOR, _MOST_READ)

    def _begin(self) -> None:
        if not self._begun:
            self.store.put_clustering_note(arriving(self.store, self._note))
            self._begun = True

    def place(self) -> None:
        begin = time.monotonic()
        unasked = sum(near is None for near in self._waiting.values())
        if unasked and self._reads_all(unasked):
            self._place_all()
        else:
            self._ask_for_waiting()
            if self.cluster:
                near = {ref: near or [] for ref, near in self._waiting.items()}
                placer = Placer(self.store, self.rule, self._assigner, radius_of(self.by.bound), self._decisions)
                placer.place(near, self._left)
        self._relations.forget()
        self._last, self._waiting, self._left = unasked, {}, set()
        self._placed = time.monotonic()
        self._took = self._placed - begin

    def _place_all(self) -> None:
        nodes = read_nodes(self.store, self.rule)
        found = grouped_nodes(self._decisions, nodes, radius=radius_of(self.by.bound))
        nodes = found.nodes
        numbers = {ref: number for number, (ref, near) in enumerate(self._waiting.items()) if near is None}
        came = np.array([numbers.get(ref, -1) for ref in nodes.refs], dtype=np.int64)
        # Those that were there came before.
        ranks = np.where(came < 0, np.arange(came.size), came + came.size)
        near = preceded(nodes, found.comparison, found.groups.whole, ranks)
        places = np.argsort(ranks)[int((came < 0).sum()) :]
        if self.cluster:
            put_groups(self._assigner, found)
        # At the end, because what was broken off is done again.
        for ref, is_near in zip(nodes.refs.take(places), near[places].tolist(), strict=True):
            self._count(ref, near=is_near)

    def _ask_for_waiting(self) -> None:
        unasked = {ref: None for ref, near in self._waiting.items() if near is None}
        after = dict(unasked)
        for refs in chunks(unasked, READ_AT_ONCE):
            stored = self._stored_near(read_records(self.store, refs))
            first: dict[int, Ref] = {}
            for ref in refs:
                near = stored.get(ref)
                if near is not None:
                    equal = first.setdefault(id(near), ref)
                    near = near if equal == ref else [Neighbour(equal, 1.0)]
                    self._count(ref, near=any(one.ref not in after for one in near))
                    after.pop(ref)
                self._waiting[ref] = [one for one in near or () if one.ref != ref]


class _ComingDocuments:
    """The documents of a batch that are not left out, near each other as stored ones would be."""

    def __init__(self, rule: MatchRule, records: Sequence[Record]) -> None:
        nodes = nodes_of(rule, [found_of(records, rule)])
        self._node = dict(zip(nodes.refs, nodes.node_of.tolist(), strict=True))
        self._beside: dict[int, list[tuple[int, float]]] = {node: [] for node in range(len(nodes))}
        for block in node_pairs(nodes, Comparer(rule, nodes.payloads), 1):
            for left, right, value in zip(*(column.tolist() for column in block), strict=True):
                self._beside[left].append((right, value))
                self._beside[right].append((left, value))
        self._taken: dict[int, list[Ref]] = {node: [] for node in range(len(nodes))}

    def has_equal(self, ref: Ref) -> bool:
        return bool(self._taken[self._node[ref]])

    def near(self, ref: Ref) -> tuple[list[Neighbour], list[Neighbour]]:
        """The first document of each node near another one, alone the equal one if there is one, and others equal to
        these.
        """
        node = self._node[ref]
        nodes = [(node, 1.0)] if self._taken[node] else self._beside[node]
        first = [Neighbour(one, value) for other, value in nodes for one in self._taken[other][:1]]
        return first, [Neighbour(one, value) for other, value in nodes for one in self._taken[other][1:]]

    def add(self, ref: Ref) -> None:
        if len(taken := self._taken[self._node[ref]]) <= _MOST_EQUAL:
            taken.append(ref)


def _sketch_identity(asking: Asking) -> _SketchIdentity:
    return tuple(asking.sketches[name].payload for name in sorted(asking.sketches)) + tuple(
        np.array(probe.keys, dtype=np.int64).tobytes() for probe in asking.probes
    )


def _nearest(near: Neighbour) -> tuple[float, tuple[str, str, str]]:
    return -near.similarity, ref_order(near.ref)
