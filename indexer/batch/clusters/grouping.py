"""Group sketches into clusters, by stateless functions of arrays and batches.

Documents are numbers here: their places among all of a batch.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from indexer.batch.arrow import (
    arrow,
    bytes_of,
    column_of,
    column_of_strings,
    compute,
    flags_of,
    integers_of,
    joined_of,
    numbers_of,
    one_array,
    present_in,
    schema_of,
)
from indexer.batch.clusters.describing import (
    DIGESTS,
    HEAD_COLUMNS,
    ids_of,
    mail_heads,
    origins_of,
    own_titles,
    ranks_by_version,
    ranks_in,
    versions_in,
)
from indexer.batch.form import OLDER_CLUSTER, OLDER_KEEP, column_name
from indexer.clustering.canonical import CanonicalRule
from indexer.clustering.choosing import choose
from indexer.clustering.grouping import Bucket, Component, Groups, group
from indexer.core.sketches import cluster_ids
from indexer.ingest.sketching import NOTHING
from indexer.matching.measures.tables import Comparer
from indexer.matching.nodes import Nodes, comparable, keyed, nodes_of_sketches, similar_documents
from indexer.matching.rule import MatchRule
from indexer.model import SIMHASH_DOC
from indexer.model.counts import ClusterCounts
from indexer.model.mails import may_be_one_mail
from indexer.model.ragged import Ragged
from indexer.model.refs import RefTable
from indexer.relations.beside import title_facts
from indexer.schemes.base import Positions, Sketches
from indexer.schemes.keys.postings import KeyPostings
from indexer.stores.sketches import Found

SPREAD_BITS = 24
EQUAL_COLUMNS = ("short", "text_digest")
"""The columns that `equal_keys` takes."""
_DESCRIBED = ("id", "source", "title", "tokens", "time", "metadata", OLDER_CLUSTER, OLDER_KEEP)
_NOTHING = arrow.array([bytes.fromhex(NOTHING)], arrow.binary())[0]
_SHOWN = 10
# Documents that are compared at once, unless one component or bucket has more.
_TOGETHER = 1 << 16


def columns_of(rule: MatchRule, *, against: bool = False) -> list[str]:
    names = ["id", "source", "title", "tokens", "short", "time", "metadata", *DIGESTS]
    names += [OLDER_CLUSTER, OLDER_KEEP] * against
    wanted = keyed(rule)
    for family in rule.schemes:
        name = column_name(family)
        names += [name, f"{name}_keys"] if family in wanted else [name]
    return names


def found_by(rule: MatchRule) -> list[str]:
    names = ["short", *(column_name(family) for family in rule.schemes)]
    return names + [f"{column_name(family)}_keys" for family in keyed(rule)]


def payloads_of(batch: Any, family: str) -> Ragged:
    column = batch[column_name(family)]
    return _simhashes(column) if family == SIMHASH_DOC else bytes_of(column)


def sketches_of(batch: Any, rule: MatchRule) -> dict[str, Sketches]:
    found = {}
    wanted = keyed(rule)
    for family in rule.schemes:
        keys = integers_of(batch[f"{column_name(family)}_keys"]) if family in wanted else Ragged.joined([], np.int64)
        found[family] = Sketches(payloads_of(batch, family), keys)
    return found


def compared(batch: Any, rule: MatchRule) -> npt.NDArray[np.bool_]:
    payloads = {family: made.payloads for family, made in sketches_of(batch, rule).items()}
    short = flags_of(batch["short"])
    return np.asarray(comparable(rule, Found((), payloads)) & ~short, dtype=np.bool_)


def equal_keys(batch: Any) -> Any:
    """Equal bytes for documents that repeat each other although they are too short to be compared, null for others."""
    digests = compute.cast(batch["text_digest"], arrow.binary())
    return compute.if_else(batch["short"], digests, arrow.nulls(1, arrow.binary())[0])


def _simhashes(column: Any) -> Ragged:
    there = present_in(column)
    values = numbers_of(column)[there].astype(">i8")
    offsets = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(8 * there.astype(np.int64))))
    return Ragged(values.view(np.uint8), offsets)


FOUND = schema_of(
    "owner int64, id string, cluster string, is_canonical bool, similarity double, size int64, origins int64, "
    "canonical string, before string, to_before double, near_to string, near_similarity double, stand_in int64, "
    "version int64, is_latest bool, component int64, rank int64, is_read bool"
)
"""Documents near others, by their `owner`, a number of each, in the columns of files of clusters, and in others.

`before` is the first older document of the cluster by the canonical rule, at `to_before`. The `stand_in` is the owner
of `near_to`. Documents near directly or through others share a `component`, and `rank` is their order in it, kept older
ones first. `is_read` says if the text is compared to decide on documents, null where none is decided on.
"""


@dataclass
class ClusteringFigures(ClusterCounts):
    """The figures of the clusters of some partitions.

    The largest `buckets` and `components` are as in `indexer.clustering.grouping.Groups`; the distribution over
    partitions changes only their comparisons.
    """

    buckets: list[dict[str, Any]] = field(default_factory=list)
    components: list[dict[str, Any]] = field(default_factory=list)

    def add(self, other: ClusteringFigures) -> None:
        self.largest = max(self.largest, other.largest)
        for name in ("clusters", "clustered", "split", "unordered", "comparisons"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        buckets, components = _whole([*self.buckets, *other.buckets]), [*self.components, *other.components]
        self.buckets = sorted(buckets, key=lambda one: (-one["nodes"], one["digest"], one["scheme"]))[:_SHOWN]
        self.components = sorted(components, key=lambda one: (-one["documents"], one["digest"]))[:_SHOWN]

    def shown(self) -> dict[str, Any]:
        said = asdict(self)
        for name, listed in (("shared_keys", "buckets"), ("chains", "components")):
            said[name] = [
                {"texts" if key == "nodes" else key: each for key, each in one.items() if key not in ("digest", "key")}
                for one in said.pop(listed)
            ]
        return said


def _whole(buckets: Sequence[dict[str, Any]]) -> Iterable[dict[str, Any]]:
    by_key: dict[tuple[str, int], dict[str, Any]] = {}
    for one in sorted(buckets, key=lambda one: -one["nodes"]):
        known = by_key.setdefault((one["scheme"], one["key"]), {**one, "comparisons": 0})
        known["comparisons"] += one["comparisons"]
    return by_key.values()


def clusters_of(
    table: Any,
    owners: Positions,
    rule: MatchRule,
    canonical: CanonicalRule,
    radius: float | None,
    threads: int,
    *,
    by_arrival: bool = True,
    equal: bool = False,
) -> tuple[Any, ClusteringFigures]:
    """The clusters of documents the rule compares, in FOUND, and their figures; `table` has their sketches.

    With `equal` they are documents too short to be compared: those of one `label` are equal and repeat one of them, and
    all are alone, as in a store.

    They equal `indexer.clustering.clusters.cluster` if all documents that may be near are among them. Of equally
    preferred documents the lower owner comes first, unless `by_arrival` is false: then the lower id.
    """
    nodes = equal_nodes(table, rule) if equal else nodes_in(table, rule)
    comparison = Comparer(rule, nodes.payloads)
    grouped = group(nodes, comparison, radius=radius, threads=threads)
    members, rows, ranks, numbers, unordered = _in_order(
        table, owners, nodes, grouped, canonical, by_arrival=by_arrival
    )
    whole, sizes = grouped.whole[nodes.node_of[members]], np.bincount(numbers)
    fresh = np.diff(numbers, prepend=-1) > 0
    starts, number = np.flatnonzero(fresh), column_of(numbers)
    similarity = _similarity(nodes, comparison, members[starts][numbers], members)
    similarity[starts] = 1.0
    there, stayed, older = np.arange(members.size), np.zeros(members.size, dtype=np.bool_), None
    if OLDER_CLUSTER in rows.schema.names:
        older = rows[OLDER_CLUSTER]
        # Of new documents, whose value is null, it is anything.
        stayed = present_in(older) & flags_of(rows[OLDER_KEEP])
        there = np.flatnonzero(stayed | ~present_in(older))
    # What an older batch kept comes first, whatever the canonical rule prefers.
    ranks = ranks - np.where(stayed, members.size, 0)
    choice = choose(nodes, comparison, grouped.whole, members[there], ranks[there], threads=threads)
    stand_in, to_kept = members.copy(), np.zeros(members.size)
    stand_in[there] = choice.of
    repeating = stand_in != members
    to_kept[there] = np.round(choice.similarity, 4)
    columns = {
        "owner": column_of(owners[members]),
        "id": rows["id"],
        "cluster": column_of_strings(ids_of(rows, starts, older)).take(number),
        "is_canonical": column_of(fresh),
        "similarity": column_of(similarity),
        "size": column_of(sizes[numbers]),
        "origins": column_of(np.array(origins_of(rows["source"], numbers), dtype=np.int64)[numbers]),
        "canonical": rows["id"].take(column_of(starts)).take(number),
        **_first_older(nodes, comparison, rows, older, members, numbers),
        "near_to": table["id"].take(column_of(stand_in, ~repeating)),
        "near_similarity": column_of(to_kept, ~repeating),
        "stand_in": column_of(owners[stand_in], ~repeating),
        **{name: rows[name] for name in ("version", "is_latest")},
        # Whichever documents are in a table, the first of a component names it.
        "component": column_of(_least(whole, owners[members])),
        "rank": column_of(ranks),
        "is_read": _is_read(table, members, stand_in, repeating),
    }
    several = sizes[sizes > 1]
    figures = ClusteringFigures(
        several.size, int(several.sum()), int(several.max(initial=0)), grouped.split, unordered, comparison.compared,
        with_example(nodes, grouped.buckets), with_example(nodes, grouped.components),
    )  # fmt: skip
    if equal:
        columns |= alone(rows["id"], np.zeros(len(rows), dtype=np.bool_))
        columns |= {name: arrow.nulls(len(rows), FOUND.field(name).type) for name in ("version", "before", "to_before")}
        figures = replace(figures, clusters=0, clustered=0, largest=0)
    made = [one_array(column).cast(field.type) for column, field in zip(columns.values(), FOUND, strict=True)]
    return arrow.RecordBatch.from_arrays(made, schema=FOUND), figures


def _in_order(
    table: Any, owners: Positions, nodes: Nodes, grouped: Groups, canonical: CanonicalRule, *, by_arrival: bool
) -> tuple[Positions, Any, Positions, Positions, int]:
    """The documents near others, cluster by cluster and by preference: their places in the table, what describes them,
    their ranks, and the numbers of their clusters; then how many of these are `unordered`.
    """
    whole = grouped.whole[nodes.node_of]
    members = np.flatnonzero(np.bincount(whole)[whole] > 1) if whole.size else whole
    rows = table.select([name for name in _DESCRIBED if name in table.schema.names]).take(column_of(members))
    rows, labels = rows.combine_chunks(), grouped.labels[nodes.node_of[members]]
    ranks, unordered = ranks_in(rows, canonical, owners[members] if by_arrival else None), 0
    placed = versions_in(rows, labels)
    if canonical.by_version:
        ranks, unordered = ranks_by_version(placed, labels, ranks, newest=canonical.kind == "newest")
    order = np.lexsort((ranks, labels))
    versions = [placed.get(place, (0, 0, True)) for place in range(members.size)]
    ordinal, latest = (np.array([each[at] for each in versions], dtype=np.int64) for at in (1, 2))
    rows = rows.append_column("version", column_of(ordinal, ordinal == 0))
    rows = rows.append_column("is_latest", column_of(latest > 0)).take(column_of(order)).combine_chunks()
    [*batches] = rows.to_batches()
    known = batches[0] if batches else arrow.RecordBatch.from_pylist([], schema=rows.schema)
    return members[order], known, ranks[order], np.unique(labels[order], return_inverse=True)[1], unordered


def alone(ids: Any, gone: npt.NDArray[np.bool_]) -> dict[str, Any]:
    """The columns of documents that are each in a cluster of their own, null where one is `gone`."""
    count = column_of(np.ones(gone.size, dtype=np.int64), gone)
    return {
        "cluster": column_of(cluster_ids(joined_of(ids)), gone).cast(arrow.string()),
        "is_canonical": column_of(~gone),
        "similarity": column_of(np.ones(gone.size), gone),
        **dict.fromkeys(("size", "origins"), count),
        "canonical": ids,
        "is_latest": column_of(np.ones(gone.size, dtype=np.bool_), gone),
    }


def _first_older(
    nodes: Nodes, comparison: Comparer, rows: Any, older: Any, members: Positions, numbers: Positions
) -> dict[str, Any]:
    known = np.flatnonzero(present_in(older)) if older is not None else members[:0]
    clusters, at = np.unique(numbers[known], return_index=True)
    first = np.full(members.size, -1, dtype=np.int64)
    first[clusters] = known[at]
    place, similarity = first[numbers], np.zeros(members.size)
    near = place >= 0
    similarity[near] = _similarity(nodes, comparison, members[place[near]], members[near])
    return {"before": rows["id"].take(column_of(place, ~near)), "to_before": column_of(similarity, ~near)}


def _least(labels: Positions, owners: Positions) -> Positions:
    _, number = np.unique(labels, return_inverse=True)
    least = np.full(number.max(initial=-1) + 1, np.iinfo(np.int64).max)
    np.minimum.at(least, number, owners)
    return np.asarray(least[number], dtype=np.int64)


def _is_read(table: Any, members: Positions, stand_in: Positions, repeating: npt.NDArray[np.bool_]) -> Any:
    differing = repeating.copy()
    differing[repeating] = ~_are_told_by_digests(table, members[repeating], stand_in[repeating])
    judged, read = (those | np.isin(members, stand_in[those]) for those in (repeating, differing))
    return column_of(read, ~judged)


def _similarity(nodes: Nodes, comparison: Comparer, left: Positions, right: Positions) -> npt.NDArray[np.float64]:
    if not left.size:
        return np.empty(0)
    return np.asarray(np.round(np.maximum(similar_documents(nodes, comparison, left, right), 0.0), 4), dtype=np.float64)


def _are_told_by_digests(table: Any, one: Positions, other: Positions) -> npt.NDArray[np.bool_]:
    """True for pairs that are known to say the same: see `indexer.matching.relating.RelatedTexts.known`."""
    table = table.select([*HEAD_COLUMNS, *DIGESTS])
    pairs = [table.take(column_of(rows)).combine_chunks() for rows in (one, other)]
    text, read, beside = (_are_equal(*(rows[name] for rows in pairs)) for name in DIGESTS)
    beside &= ~_are_equal(pairs[0]["text_digest"], _NOTHING)
    told = text & (read | beside)
    places = np.flatnonzero(told)
    pairs = [rows.take(column_of(places)) for rows in pairs]
    heads, titles = ([column(rows).to_pylist() for rows in pairs] for column in (mail_heads, own_titles))
    for number, place in enumerate(places.tolist()):
        told[place] = may_be_one_mail(*(json.loads(each[number] or "{}") for each in heads)) and (
            read[place] or not title_facts((titles[0][number], titles[1][number]), ("", ""))
        )
    return told


def _are_equal(left: Any, right: Any) -> npt.NDArray[np.bool_]:
    equal = compute.equal(*(compute.cast(each, arrow.binary()) for each in (left, right)))
    return flags_of(equal)


def with_example(nodes: Nodes, largest: Sequence[Bucket | Component]) -> list[dict[str, Any]]:
    names = {
        node: min(ref.id for ref in nodes.refs.take(np.flatnonzero(nodes.node_of == node)))
        for node in {one.example for one in largest}
    }
    return [{**asdict(one), "example": names[one.example]} for one in largest]


def nodes_in(table: Any, rule: MatchRule) -> Nodes:
    made = [sketches_of(batch, rule) for batch in table.to_batches()]
    sketches = {
        family: Sketches(
            Ragged.joined([one[family].payloads for one in made]),
            Ragged.joined([one[family].keys for one in made], np.int64),
        )
        for family in rule.schemes
    }
    return nodes_of_sketches(rule, _refs_of(table), sketches)


def _refs_of(table: Any) -> RefTable:
    refs = RefTable()
    for batch in table.to_batches():
        ids = joined_of(batch["id"])
        refs.extend_packed(bytes(ids.data), ids.ends.astype(np.int64))
    return refs


def equal_nodes(table: Any, rule: MatchRule) -> Nodes:
    labels = numbers_of(table["label"])
    same = Ragged.of_matrix(np.ascontiguousarray(labels).view(np.uint8).reshape(-1, 8))
    nodes = nodes_of_sketches(rule, _refs_of(table), {"": Sketches(same, Ragged.of_integers([()] * len(same)))})
    none = Sketches(Ragged.of_bytes([b""] * len(nodes)), Ragged.of_integers([()] * len(nodes)))
    return replace(nodes, sketches=dict.fromkeys(rule.schemes, none))


def key_blocks(keys: Ragged, positions: Positions, blocks: int) -> Iterator[tuple[int, Positions, Positions]]:
    owners = np.repeat(positions, keys.sizes)
    block = spread(keys.values) % blocks
    order = np.argsort(block, kind="stable")
    ends = np.searchsorted(block[order], np.arange(blocks + 1))
    for number in np.flatnonzero(np.diff(ends)).tolist():
        part = order[ends[number] : ends[number + 1]]
        yield number, keys.values[part], owners[part]


def spread(keys: Positions) -> Positions:
    """A number of SPREAD_BITS for each key, by a multiplication that spreads the keys of one table over all numbers."""
    mixed = keys.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    return (mixed >> np.uint64(64 - SPREAD_BITS)).astype(np.int64)


def scanned(keys: Positions, owners: Positions) -> tuple[Positions, Positions]:
    postings = KeyPostings.of_pairs(keys, owners)
    starts = postings.buckets()
    first = np.repeat(postings.owners[starts[:-1]], np.diff(starts))
    other = first != postings.owners
    return first[other], postings.owners[other]


def whole_runs(batches: Iterable[Any]) -> Iterator[Any]:
    waiting: list[Any] = []
    rows, enough = 0, _TOGETHER
    for batch in batches:
        waiting.append(batch)
        rows += batch.num_rows
        if rows < enough:
            continue
        table = arrow.Table.from_batches(waiting)
        labels = numbers_of(table["label"])
        cut = int(np.searchsorted(labels, labels[-1]))
        if cut:
            yield table.slice(0, cut).combine_chunks()
            waiting, rows = table.slice(cut).to_batches(), rows - cut
        enough = max(_TOGETHER, 2 * rows)
    if rows:
        yield arrow.Table.from_batches(waiting).combine_chunks()


def partitions(labels: Positions, count: int) -> Positions:
    _, component, sizes = np.unique(labels, return_inverse=True, return_counts=True)
    turn = np.empty(sizes.size, dtype=np.int64)
    turn[np.argsort(-sizes, kind="stable")] = np.arange(sizes.size) % (2 * count)
    of = np.where(turn < count, turn, 2 * count - 1 - turn)
    return np.asarray(of[component], dtype=np.int64)
