"""Cluster all documents of a store by a match rule."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from indexer.clustering.annotations import READ_AT_ONCE, cluster_of, is_alone, repeated_by
from indexer.clustering.assign import Assigner, Changes, MemberCounts
from indexer.clustering.canonical import CanonicalRule
from indexer.clustering.forms_kept_apart import FormsApart
from indexer.clustering.grouping import Bucket, radius_of
from indexer.clustering.held_decisions import GroupedNodes, HeldDecisions, grouped_nodes
from indexer.clustering.memory import ClusterSettings
from indexer.clustering.relation_notes import NEARER, TO, NotedRelations
from indexer.errors import ExtractionError
from indexer.matching.measures.reading import Reader, reader_of
from indexer.matching.nodes import Nodes, read_nodes
from indexer.matching.relating import Relating, keep_lexicon
from indexer.matching.rule import MatchRule
from indexer.model import CLUSTER_ID_LENGTH, Record, Ref
from indexer.model.chunking import chunks, chunks_by_size
from indexer.model.counts import ClusterCounts
from indexer.model.refs import RefSet, RefTable
from indexer.relations.lexicon import Lexicon
from indexer.schemes.base import Positions
from indexer.stores.base import Store

_ID = f"S{CLUSTER_ID_LENGTH}"


@dataclass(frozen=True, slots=True)
class CostlyKey:
    """The number of different documents with this key of a scheme, and of their comparisons."""

    example: Ref
    scheme: str
    documents: int
    comparisons: int


@dataclass(kw_only=True)
class ClusteringOutcome(ClusterCounts):
    """The result of a clustering: `documents` in the store, `compared` of them by the rule.

    `lacking` have no sketch for the rule. `clusters` have two members or more, `clustered` documents together, the
    `largest` with that many; `split` components were wider than the bound. `comparisons` pairs were compared, most of
    them for the `costliest` keys; `changes` were written, or would be. Reading texts again and aligning them took
    `reading_seconds`, None if there was none.
    """

    rule: MatchRule
    documents: int
    compared: int
    lacking: int
    costliest: tuple[CostlyKey, ...]
    changes: Changes
    reading_seconds: float | None


def cluster(  # noqa: PLR0913 - they are those of a clustering
    store: Store,
    rule: MatchRule,
    *,
    bound: float | None = None,
    canonical: CanonicalRule | None = None,
    relation: Relating | None = False,
    apart: str = "",
    dry_run: bool = False,
    threads: int | None = None,
    reader: Reader | None = None,
) -> ClusteringOutcome:
    """Put every document of a store into its cluster by a rule, and write the changes, and the rule.

    Clusters are the groups of `neardup.clustering.held_decisions.grouped_nodes`. `bound` is the greatest distance of
    two documents of one, as 1 - similarity (0 to 1): each lies within half of it from the cluster's centre, and 1 cuts
    nothing; by default twice the rule's own distance. Each removable document is noted with the kept one it repeats
    (see `neardup.clustering.choosing.choose`), and, if known, with its relation to it (see `NotedRelations`).
    With `apart` "form" documents with other facts are in clusters of their own. A cluster keeps its id as long as the
    document it was named after stays in it. Doing it again writes nothing. `reader` verifies by reading, if the caller
    wants to see its failures; if every needed text fails, ExtractionError is raised and nothing is changed. Memory:
    that of `read_nodes`, and 100 bytes a node. Raises UsageError and StoreError.
    """
    radius = radius_of(bound)
    chosen = canonical or CanonicalRule()
    relations = NotedRelations.after_last(store, read=relation, renews=True, apart=apart)
    decisions = HeldDecisions(store)
    cut = FormsApart(relations, decisions, rule.measure.similarity) if apart else None
    note = ClusterSettings(rule, bound, chosen, apart).note(reads=relations.texts is not None)
    if not dry_run:
        # A store that can't be written says so now, and not when everything was read.
        store.annotate(())
        before = next(iter(store.clustering_notes().values()), None)
        store.put_clustering_note(replace(note, finished=False))
    reading = reader or reader_of(store, rule)
    found = grouped_nodes(
        decisions, read_nodes(store, rule, whole=reading is not None), reading=reading, radius=radius, threads=threads
    )
    if reading:
        try:
            reading.require_read()
        except ExtractionError:
            if not dry_run:
                # The clusters that stand are as they were.
                store.put_clustering_note(before)
            raise
    if cut and relations.counts:
        # What is apart depends on the words of all.
        counting = Assigner(store, chosen, dry_run=True, relations=relations)
        put_groups(counting, found)
        lexicon = relations.learned(found.lone) or Lexicon()
        if not dry_run:
            keep_lexicon(store, lexicon)
        relations.go_by(lexicon)
    assigner = Assigner(store, chosen, dry_run=dry_run, relations=relations, apart=cut)
    sizes = put_groups(assigner, found)
    renew_relations(assigner, found.lone)
    if not dry_run:
        store.put_clustering_note(note)
    return ClusteringOutcome(
        rule=rule,
        documents=store.count(),
        compared=len(found.nodes.refs),
        lacking=found.nodes.lacking,
        clusters=sizes.size,
        clustered=int(sizes.sum()),
        largest=int(sizes.max(initial=0)),
        split=found.groups.split,
        comparisons=found.comparison.compared,
        costliest=tuple(_costly(found.nodes, bucket) for bucket in found.groups.costliest),
        changes=assigner.changes,
        reading_seconds=relations.seconds,
    )


def _costly(nodes: Nodes, bucket: Bucket) -> CostlyKey:
    [example] = nodes.refs.take(np.flatnonzero(nodes.node_of == bucket.example)[:1])
    return CostlyKey(example, bucket.scheme, bucket.nodes, bucket.comparisons)


def put_groups(assigner: Assigner, found: GroupedNodes) -> Positions:
    """Make clusters of the groups of all documents of a store, and forget all others; returns their sizes."""
    components = found.components()
    kept, sizes = [np.empty(0, dtype=_ID)], [np.empty(0, dtype=np.int64)]
    for made in assigned(assigner, found, components):
        kept.append(np.array(list(made), dtype=_ID))
        sizes.append(np.array(list(made.values()), dtype=np.int64))
    groups = [members for groups in components for members in groups]
    inside = np.concatenate(groups) if groups else np.empty(0, dtype=np.int64)
    _set_others_alone(assigner, RefSet(found.nodes.refs, inside))
    _forget(assigner, np.sort(np.concatenate(kept)))
    return np.concatenate(sizes)


def assigned(
    assigner: Assigner, found: GroupedNodes, components: Sequence[list[Positions]]
) -> Iterator[dict[str, int]]:
    """Assign the groups of components read together; returns the clusters and their sizes."""
    for batch in chunks_by_size(components, READ_AT_ONCE, lambda groups: sum(map(len, groups)), READ_AT_ONCE):
        groups = [members for groups in batch for members in groups]
        yield assigner.assign(found.nodes.refs, groups, found.similar, found.choose)


def _set_others_alone(assigner: Assigner, together: RefSet) -> None:
    # They are written when the scan has ended: as long as it looks at an older state, an embedded store has to keep
    # that state beside all that is written.
    changed = RefTable()
    for page in chunks(assigner.store.scan_annotations(clustered=True), READ_AT_ONCE):
        inside = together.contains([ref for ref, _ in page])
        changed.extend(
            ref
            for (ref, known), is_inside in zip(page, inside, strict=True)
            if not is_inside and not is_alone(ref, known)
        )
    assigner.set_alone(changed)


def _forget(assigner: Assigner, kept: npt.NDArray[np.bytes_]) -> None:
    gone: list[str] = []
    for page in chunks(assigner.store.clusters(), READ_AT_ONCE):
        present = np.isin(np.array([one.id.encode("utf-8", "replace") for one in page]), kept)
        gone += [one.id for one, is_kept in zip(page, present.tolist(), strict=True) if not is_kept]
    assigner.remove_clusters(gone)


def renew_relations(assigner: Assigner, lone: Callable[[int], Iterable[Ref]]) -> None:
    if assigner.dry_run or (lexicon := assigner.relations.learned(lone)) is None:
        return
    for refs in chunks(assigner.relations.depending(lexicon), READ_AT_ONCE):
        _tell_again(assigner, lexicon, refs)
    keep_lexicon(assigner.store, lexicon)


def _tell_again(assigner: Assigner, lexicon: Lexicon, refs: Sequence[Ref]) -> None:
    store = assigner.store
    there = [(*known, other) for ref, known in zip(refs, store.described(refs), strict=True) if known
             and (other := repeated_by(ref, known[1]))]  # fmt: skip
    others = store.get([other for _, _, other in there], sketches=False)
    pairs = [(record, noted, other) for (record, noted, _), other in zip(there, others, strict=True) if other]
    words = assigner.relations.by_lexicon(lexicon, [(record, other) for record, _, other in pairs])
    told = assigner.changes.relations
    changed = list[tuple[Record, dict[str, Any], str]]()
    for (record, noted, _), (word, of_repeated) in zip(pairs, words, strict=True):
        before = noted["cluster"].get("relation", "")
        cluster = {**noted["cluster"], "relation": word}
        if of_repeated or word not in NEARER:
            cluster = {name: value for name, value in cluster.items() if name not in TO}
        if not word or cluster == noted["cluster"]:
            continue
        changed.append((record, cluster, before))
        told.subtract([before])
        told[word] += 1
    assigner.changes.relations = +told
    if not changed:
        return
    store.annotate([(record.ref, {"cluster": cluster}) for record, cluster, _ in changed])
    names = list(dict.fromkeys(name for _, cluster, _ in changed if (name := cluster_of({"cluster": cluster}))))
    clusters = {each.id: MemberCounts.of(each) for each in store.get_clusters(names) if each}
    for record, cluster, before in changed:
        if counts := clusters.get(cluster_of({"cluster": cluster}) or ""):
            counts.relate(record, before, -1)
            counts.relate(record, cluster["relation"])
    store.put_clusters([counts.record() for counts in clusters.values()])
