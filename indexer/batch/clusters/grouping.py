"""Group sketches into clusters, by stateless functions of arrays and batches.

Documents are numbers here: their places among all of a batch.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from indexer.batch.arrow import (
    arrow,
    bytes_of,
    column_of,
    compute,
    flags_of,
    integers_of,
    joined_of,
    numbers_of,
    present_in,
    scalar,
)
from indexer.batch.clusters.describing import ids_of, mail_heads, origins_of, ranks_by_version, ranks_in, versions_in
from indexer.batch.form import OLDER_CLUSTER, OLDER_KEEP, column_name
from indexer.clustering.canonical import CanonicalRule
from indexer.clustering.choosing import choose
from indexer.clustering.clusters import similar_documents
from indexer.clustering.grouping import Bucket, Component, Groups, group
from indexer.core.sketches import cluster_ids
from indexer.matching.measures.tables import Comparer
from indexer.matching.nodes import Nodes, comparable, keyed, nodes_of_sketches
from indexer.matching.rule import MatchRule
from indexer.model import SIMHASH_DOC
from indexer.model.mails import may_be_one_mail
from indexer.model.ragged import Ragged
from indexer.model.refs import RefTable
from indexer.schemes.base import Positions, Sketches
from indexer.stores.sketches import Found

SPREAD_BITS = 24
# Documents that are compared at once, unless one component or bucket has more.
_TOGETHER = 1 << 16


def columns_of(rule: MatchRule, *, against: bool = False) -> list[str]:
    names = ["id", "source", "title", "tokens", "short", "time", "metadata", "text_digest", "read_digest"]
    names += [OLDER_CLUSTER, OLDER_KEEP] * against
    wanted = keyed(rule)
    for family in rule.schemes:
        name = column_name(family)
        names += [name, f"{name}_keys"] if family in wanted else [name]
    return names


def found_by(rule: MatchRule) -> list[str]:
    names = ["short", "tokens", "text_digest", *(column_name(family) for family in rule.schemes)]
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


def only_equal(batch: Any) -> npt.NDArray[np.bool_]:
    there = present_in(batch["text_digest"]) & flags_of(batch["short"])
    return np.asarray(there & (numbers_of(batch["tokens"]) > 0), dtype=np.bool_)


def _simhashes(column: Any) -> Ragged:
    there = present_in(column)
    values = numbers_of(column)[there].astype(">i8")
    offsets = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(8 * there.astype(np.int64))))
    return Ragged(values.view(np.uint8), offsets)


@dataclass(frozen=True, slots=True)
class GroupedClusters:
    """The clusters of documents near others: document `positions[i]` is in number `of[i]`.

    A cut component may leave a cluster of one document. `similarity` is to the canonical document (0 to 1), `canonical`
    marks this one. For each cluster: `ids`, `names` of the canonical documents, `sizes`, `origins` (at most
    MOST_ORIGINS), and `before`, its first older document by the canonical rule (None for none); `to_before` is the
    similarity to it, else NaN.

    `repeats[i]` is the place in `kept`, ids of kept documents, of the near document it is removed for, with the
    similarity `to_kept`; -1 and NaN for a kept one. `stand_in[i]` is the position of the same document, -1 for none;
    `identical[i]` says that their texts are known to be equal. `version[i]` is the ordinal among its versions, from 1,
    the oldest, on, and 0 if unknown; `latest[i]` marks the latest. Documents near directly or through others share a
    `component`, and `ranks` is their order in it, kept older ones first.

    `split` components were cut, in `unordered` clusters the canonical rule needs an unknown order of versions,
    `comparisons` pairs were compared. The largest `buckets` and `components` are as in
    `indexer.clustering.grouping.Groups`.
    """

    positions: Positions
    of: Positions
    similarity: npt.NDArray[np.float64]
    canonical: npt.NDArray[np.bool_]
    ids: list[str]
    names: list[str]
    sizes: list[int]
    origins: list[int]
    before: list[str | None]
    to_before: npt.NDArray[np.float64]
    repeats: Positions
    to_kept: npt.NDArray[np.float64]
    kept: list[str]
    stand_in: Positions
    identical: npt.NDArray[np.bool_]
    version: Positions
    latest: npt.NDArray[np.bool_]
    component: Positions
    ranks: Positions
    split: int
    unordered: int
    comparisons: int
    buckets: list[dict[str, Any]]
    components: list[dict[str, Any]]


def clusters_of(
    table: Any,
    positions: Positions,
    rule: MatchRule,
    canonical: CanonicalRule,
    radius: float | None,
    threads: int,
    *,
    arrivals: Positions | None = None,
    equal: bool = False,
) -> GroupedClusters:
    """The clusters of documents the rule compares, rows of a table of sketches, numbered by their `positions`.

    With `equal` they are documents too short to be compared: equal texts repeat one of them, and all are alone, as in a
    store.

    They equal `indexer.clustering.clusters.cluster` if all documents that may be near are among them. Of equally
    preferred documents the lower number in `arrivals` comes first, without it the lower id.
    """
    nodes = equal_nodes(table, rule) if equal else nodes_in(table, rule)
    comparison = Comparer(rule, nodes.payloads)
    grouped = group(nodes, comparison, radius=radius, threads=threads)
    whole = grouped.whole[nodes.node_of]
    members = np.flatnonzero(np.bincount(whole)[whole] > 1) if whole.size else whole
    rows = table.select(_described_by(table)).take(column_of(members)).combine_chunks()
    ranks = ranks_in(rows, canonical, None if arrivals is None else arrivals[members])
    labels = grouped.labels[nodes.node_of[members]]
    placed, unordered = versions_in(rows, labels), 0
    if canonical.by_version:
        ranks, unordered = ranks_by_version(placed, labels, ranks, newest=canonical.kind == "newest")
    versions = [placed.get(place, (0, 0, True)) for place in range(members.size)]
    order = np.lexsort((ranks, labels))
    members, ranks, labels, rows = members[order], ranks[order], labels[order], _batch(rows.take(column_of(order)))
    fresh = np.ones(members.size, dtype=np.bool_)
    fresh[1:] = labels[1:] != labels[:-1]
    starts, numbers = np.flatnonzero(fresh), np.cumsum(fresh) - 1
    similarity = _similarity(nodes, comparison, members[starts][numbers], members)
    similarity[starts] = 1.0
    older = rows[OLDER_CLUSTER] if OLDER_CLUSTER in rows.schema.names else None
    before, to_before = _first_older(nodes, comparison, rows, members, numbers)
    there, stayed = np.arange(members.size), np.zeros(members.size, dtype=np.bool_)
    if older is not None:
        # Of new documents, whose value is null, it is anything.
        stayed = present_in(older) & flags_of(rows[OLDER_KEEP])
        there = np.flatnonzero(stayed | ~present_in(older))
    # What an older batch kept comes first, whatever the canonical rule prefers.
    ranks = ranks - np.where(stayed, members.size, 0)
    repeats, to_kept, kept, stand_in = _chosen(nodes, comparison, grouped, members, ranks, there, threads)
    chosen = np.flatnonzero(stand_in >= 0)
    identical = np.zeros(members.size, dtype=np.bool_)
    identical[chosen] = _same_texts(table, members[chosen], stand_in[chosen])
    # Whichever documents are in a table, the first of a component names it.
    _, component = np.unique(grouped.whole[nodes.node_of[members]], return_inverse=True)
    heads = np.full(component.max(initial=-1) + 1, np.iinfo(np.int64).max)
    np.minimum.at(heads, component, positions[members])
    made = GroupedClusters(
        positions[members],
        numbers,
        similarity,
        fresh,
        ids_of(rows, starts, older),
        rows["id"].take(column_of(starts)).to_pylist(),
        np.bincount(numbers).tolist(),
        origins_of(rows["source"], numbers),
        before,
        to_before,
        repeats,
        to_kept,
        kept,
        np.where(stand_in >= 0, positions[stand_in], -1),
        identical,
        np.array([ordinal for _, ordinal, _ in versions], dtype=np.int64)[order],
        np.array([latest for *_, latest in versions], dtype=np.bool_)[order],
        heads[component],
        ranks,
        grouped.split,
        unordered,
        comparison.compared,
        with_example(nodes, grouped.buckets),
        with_example(nodes, grouped.components),
    )
    return _each_alone(made, rows["id"]) if equal else made


def _each_alone(found: GroupedClusters, names: Any) -> GroupedClusters:
    count, ids = found.positions.size, names.to_pylist()
    yes = np.ones(count, dtype=np.bool_)
    return replace(
        found, of=np.arange(count), similarity=np.ones(count), canonical=yes, latest=yes, names=ids, sizes=[1] * count,
        origins=[1] * count, before=[None] * count, to_before=np.full(count, np.nan), version=np.zeros_like(found.of),
        ids=[name.decode("ascii") for name in cluster_ids(joined_of(names)).tolist()],
    )  # fmt: skip


def _first_older(
    nodes: Nodes, comparison: Comparer, rows: Any, members: Positions, numbers: Positions
) -> tuple[list[str | None], npt.NDArray[np.float64]]:
    count = int(numbers.max(initial=-1)) + 1
    older = rows[OLDER_CLUSTER] if OLDER_CLUSTER in rows.schema.names else None
    known = np.flatnonzero(present_in(older)) if older is not None else members[:0]
    clusters, at = np.unique(numbers[known], return_index=True)
    first = np.full(count, -1, dtype=np.int64)
    first[clusters] = members[known[at]]
    similarity, near_older = np.full(members.size, np.nan), np.flatnonzero(first[numbers] >= 0)
    similarity[near_older] = _similarity(nodes, comparison, first[numbers[near_older]], members[near_older])
    names: list[str | None] = [None] * count
    for number, name in zip(clusters.tolist(), rows["id"].take(column_of(known[at])).to_pylist(), strict=True):
        names[number] = name
    return names, similarity


def _described_by(table: Any) -> list[str]:
    wanted = ("id", "source", "title", "tokens", "time", "metadata", OLDER_CLUSTER, OLDER_KEEP)
    return [name for name in wanted if name in table.schema.names]


def _batch(table: Any) -> Any:
    [*batches] = table.combine_chunks().to_batches()
    return batches[0] if batches else arrow.RecordBatch.from_pylist([], schema=table.schema)


def _similarity(nodes: Nodes, comparison: Comparer, left: Positions, right: Positions) -> npt.NDArray[np.float64]:
    if not left.size:
        return np.empty(0)
    return np.asarray(np.round(np.maximum(similar_documents(nodes, comparison, left, right), 0.0), 4), dtype=np.float64)


def _chosen(
    nodes: Nodes,
    comparison: Comparer,
    grouped: Groups,
    members: Positions,
    ranks: Positions,
    there: Positions,
    threads: int,
) -> tuple[Positions, npt.NDArray[np.float64], list[str], Positions]:
    choice = choose(nodes, comparison, grouped.whole, members[there], ranks[there], threads=threads)
    gone = np.flatnonzero(choice.of != members[there])
    kept, place_of = np.unique(choice.of[gone], return_inverse=True)
    repeats, to_kept = np.full(members.size, -1, dtype=np.int64), np.full(members.size, np.nan)
    repeats[there[gone]], to_kept[there[gone]] = place_of, np.round(choice.similarity[gone], 4)
    stand_in = np.full(members.size, -1, dtype=np.int64)
    stand_in[there[gone]] = choice.of[gone]
    return repeats, to_kept, [ref.id for ref in nodes.refs.take(kept)], stand_in


def _same_texts(table: Any, one: Positions, other: Positions) -> npt.NDArray[np.bool_]:
    same = np.ones(one.size, dtype=np.bool_)
    for name in ("text_digest", "read_digest"):
        left, right = (compute.cast(table[name].take(column_of(rows)), arrow.binary()) for rows in (one, other))
        same &= flags_of(compute.coalesce(compute.equal(left, right), scalar(False)).combine_chunks())
    left, right = (mail_heads(table.take(column_of(rows)).combine_chunks()).to_pylist() for rows in (one, other))
    for place in np.flatnonzero(same).tolist():
        same[place] = may_be_one_mail(*(json.loads(heads[place] or "{}") for heads in (left, right)))
    return same


def with_example(nodes: Nodes, largest: Sequence[Bucket | Component]) -> list[dict[str, Any]]:
    names = {
        node: min(ref.id for ref in nodes.refs.take(np.flatnonzero(nodes.node_of == node)))
        for node in {one.example for one in largest}
    }
    return [{**asdict(one), "example": names[one.example]} for one in largest]


def nodes_in(table: Any, rule: MatchRule) -> Nodes:
    refs = RefTable()
    parts: dict[str, list[Sketches]] = {family: [] for family in rule.schemes}
    for batch in table.to_batches():
        ids = joined_of(batch["id"])
        refs.extend_packed(bytes(ids.data), ids.ends.astype(np.int64))
        for family, made in sketches_of(batch, rule).items():
            parts[family].append(made)
    sketches = {
        family: Sketches(
            Ragged.joined([one.payloads for one in made]), Ragged.joined([one.keys for one in made], np.int64)
        )
        for family, made in parts.items()
    }
    return nodes_of_sketches(rule, refs, sketches)


def equal_nodes(table: Any, rule: MatchRule) -> Nodes:
    refs = RefTable()
    for batch in table.to_batches():
        ids = joined_of(batch["id"])
        refs.extend_packed(bytes(ids.data), ids.ends.astype(np.int64))
    digests = Ragged.of_bytes(table["text_digest"].to_pylist())
    nodes = nodes_of_sketches(rule, refs, {"": Sketches(digests, Ragged.of_integers([()] * len(digests)))})
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
    order = np.lexsort((owners, keys))
    keys, owners = keys[order], owners[order]
    fresh = np.ones(keys.size, dtype=np.bool_)
    fresh[1:] = keys[1:] != keys[:-1]
    first = owners[np.flatnonzero(fresh)][np.cumsum(fresh) - 1]
    other = first != owners
    return first[other], owners[other]


def whole_runs(batches: Iterable[Any]) -> Iterator[Any]:
    waiting: list[Any] = []
    rows, enough = 0, _TOGETHER
    for batch in batches:
        waiting.append(batch)
        rows += batch.num_rows
        if rows < enough:
            continue
        table = arrow.Table.from_batches(waiting)
        labels = numbers_of(table["label"].combine_chunks())
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
