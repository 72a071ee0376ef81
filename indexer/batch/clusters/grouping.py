"""From sketches to clusters: keys, what meets by them, groups that are verified, and which document stands for each.

Functions of arrays and batches, without state. Documents are numbers here: their places among all of a batch.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from indexer.batch.arrow import arrow, bytes_of, column_of, flags_of, integers_of, joined_of, numbers_of, present_in
from indexer.batch.form import column_name
from indexer.clustering.assign import Gathered, Member, named
from indexer.clustering.canonical import CanonicalRule
from indexer.clustering.choosing import choose, ranks_of
from indexer.clustering.clusters import similar_documents
from indexer.clustering.grouping import Bucket, Component, Groups, group
from indexer.matching.measures.tables import Comparison
from indexer.matching.nodes import Nodes, comparable, keyed, nodes_of_sketches
from indexer.matching.rule import MatchRule
from indexer.model import SIMHASH_DOC, Fingerprint, Record, Ref
from indexer.model.ragged import Ragged
from indexer.model.refs import RefTable
from indexer.schemes.base import Positions, Sketches
from indexer.stores.sketches import Found

# The cluster that a document of an older batch was in, and whether it was kept there; null for a new document.
OLDER_CLUSTER, OLDER_KEEP = "older_cluster", "older_keep"
SPREAD_BITS = 24
# Documents that are compared at once, unless one component or bucket has more.
_TOGETHER = 1 << 16
# Which arrival decides between, and not the id.
_ANY = Ref("")


def columns_of(rule: MatchRule, canonical: CanonicalRule, *, against: bool = False) -> list[str]:
    """The columns of sketches that clusters by a rule are made from."""
    names = ["id", "source", "tokens", "short", "time"] + [OLDER_CLUSTER, OLDER_KEEP] * against
    names += ["metadata"] * (canonical.kind == "field")
    wanted = keyed(rule)
    for family in rule.schemes:
        name = column_name(family)
        names += [name, f"{name}_keys"] if family in wanted else [name]
    return names


def found_by(rule: MatchRule) -> list[str]:
    """The columns of sketches that show which documents a rule compares, and what its finders find them by."""
    names = ["short", *(column_name(family) for family in rule.schemes)]
    return names + [f"{column_name(family)}_keys" for family in keyed(rule)]


def sketches_of(batch: Any, rule: MatchRule) -> dict[str, Sketches]:
    """The sketches by each scheme of a rule, a row for each document."""
    found = {}
    wanted = keyed(rule)
    for family in rule.schemes:
        name = column_name(family)
        payloads = _simhashes(batch[name]) if family == SIMHASH_DOC else bytes_of(batch[name])
        keys = integers_of(batch[f"{name}_keys"]) if family in wanted else Ragged.joined([], np.int64)
        found[family] = Sketches(payloads, keys)
    return found


def compared(batch: Any, rule: MatchRule) -> npt.NDArray[np.bool_]:
    """Which documents of a batch the rule compares: those that are not short and have what it needs."""
    payloads = {family: made.payloads for family, made in sketches_of(batch, rule).items()}
    short = flags_of(batch["short"])
    return np.asarray(comparable(rule, Found((), payloads)) & ~short, dtype=np.bool_)


def _simhashes(column: Any) -> Ragged:
    there = present_in(column)
    values = numbers_of(column)[there].astype(">i8")
    offsets = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(8 * there.astype(np.int64))))
    return Ragged(values.view(np.uint8), offsets)


@dataclass(frozen=True, slots=True)
class Clusters:
    """The clusters of those of some documents that are near others: document `positions[i]` is in number `of[i]`.

    A cluster has one document where a wide component was cut. `similarity` is to the canonical document (0 to 1),
    `canonical` whether it is that one. Of each cluster: `ids`, `names` of the canonical documents, `sizes`, `origins`
    (how many, MOST_ORIGINS for that many or more), and `before`, the one of its older documents that comes first by the
    canonical rule (None for none); `to_before` is the similarity to that one, NaN for none.

    `repeats[i]` is the place in `kept`, ids of documents that are kept, of the one that a document is near and is
    removed for, with the similarity `to_kept`; -1 and NaN where it is kept itself. See
    `indexer.clustering.choosing.choose`; the order is that of the canonical rule, what an older batch kept before it.

    `split` components were cut, `comparisons` pairs compared. The largest `buckets` and `components` are
    as those of `indexer.clustering.grouping.Groups`, each with the id of an example.
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
    split: int
    comparisons: int
    buckets: list[dict[str, Any]]
    components: list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class _First(CanonicalRule):
    """The canonical documents where the members of a cluster come in the order of the rule."""

    def key(self, record: Record) -> tuple[Any, ...]:  # noqa: ARG002 - their order says it
        """See CanonicalRule."""
        return ()


def clusters_of(
    table: Any,
    positions: Positions,
    rule: MatchRule,
    canonical: CanonicalRule,
    radius: float | None,
    threads: int,
    *,
    arrivals: Positions | None = None,
) -> Clusters:
    """The clusters of documents that the rule compares, rows of a table of sketches, numbered by their `positions`.

    They are those of `indexer.clustering.clusters.cluster` as long as what may be near is all among them. Where the
    canonical rule prefers none of two, the one with the lower number in `arrivals` comes first, where None by id.
    """
    nodes = nodes_in(table, rule)
    comparison = Comparison(rule, nodes.payloads)
    grouped = group(nodes, comparison, radius=radius, threads=threads)
    whole = grouped.whole[nodes.node_of]
    members = np.flatnonzero(np.bincount(whole)[whole] > 1) if whole.size else whole
    records, before, keys = _described(table.take(column_of(members)), canonical, arrivals, members)
    ranks, labels = ranks_of(keys), grouped.labels[nodes.node_of[members]]
    order = np.lexsort((ranks, labels))
    members, ranks, labels = members[order], ranks[order], labels[order]
    starts = np.flatnonzero(np.concatenate((np.ones(1, dtype=np.bool_), labels[1:] != labels[:-1])))[: members.size]
    groups = np.split(members, starts[1:]) if members.size else []
    numbers = np.repeat(np.arange(len(groups)), [one.size for one in groups])
    gathered = [Gathered() for _ in groups]
    older: dict[int, Gathered] = {}
    first_of_all, nothing = _First(), dict[str, Any]()
    for number, position, place in zip(numbers.tolist(), members.tolist(), order.tolist(), strict=True):
        known = before[place]
        annotation = {"cluster": {"id": known[0]}} if known else nothing
        member = Member(number, 0, position, records[place], annotation)
        gathered[number].add(member, first_of_all)
        if known:
            older.setdefault(number, Gathered()).add(member, first_of_all)
    near = named(gathered, groups, lambda left, right: similar_documents(nodes, comparison, left, right))
    stands = np.full(len(groups), -1, dtype=np.int64)
    stands[list(older)] = [one.position for one in older.values()]
    stands = stands[numbers]
    to_before, known_before = np.full(members.size, np.nan), np.flatnonzero(stands >= 0)
    if known_before.size:
        one, other = stands[known_before], members[known_before]
        to_before[known_before] = np.round(similar_documents(nodes, comparison, one, other), 4)
    similarity = np.concatenate(near) if near else np.empty(0)
    first = np.array([one.position for one in gathered], dtype=np.int64)[numbers] == members
    similarity[first] = 1.0
    stayed = [known[1] if (known := before[place]) else None for place in order.tolist()]
    repeats, to_kept, kept = _chosen(nodes, comparison, grouped, members, ranks, stayed, threads)
    return Clusters(
        positions[members],
        numbers,
        similarity,
        first,
        [one.id for one in gathered],
        [_name(one) or "" for one in gathered],
        [one.size for one in gathered],
        [len(one.origins) for one in gathered],
        [_name(older.get(number)) for number in range(len(groups))],
        to_before,
        repeats,
        to_kept,
        kept,
        grouped.split,
        comparison.compared,
        with_example(nodes, grouped.buckets),
        with_example(nodes, grouped.components),
    )


def _chosen(
    nodes: Nodes,
    comparison: Comparison,
    grouped: Groups,
    members: Positions,
    ranks: Positions,
    stayed: Sequence[bool | None],
    threads: int,
) -> tuple[Positions, npt.NDArray[np.float64], list[str]]:
    """`repeats`, `to_kept` and `kept` of Clusters; what an older batch kept comes first, what it removed is not there.

    `stayed` says which of both a document is, and None of a new one.
    """
    there = np.array([place for place, one in enumerate(stayed) if one is not False], dtype=np.int64)
    first = np.array([stayed[place] is True for place in there.tolist()], dtype=np.bool_)
    preferred = ranks[there] - np.where(first, members.size, 0)
    choice = choose(nodes, comparison, grouped.whole, members[there], preferred, threads=threads)
    gone = np.flatnonzero(choice.of != members[there])
    kept, place_of = np.unique(choice.of[gone], return_inverse=True)
    repeats, to_kept = np.full(members.size, -1, dtype=np.int64), np.full(members.size, np.nan)
    repeats[there[gone]], to_kept[there[gone]] = place_of, np.round(choice.similarity[gone], 4)
    return repeats, to_kept, [ref.id for ref in nodes.refs.take(kept)]


def _name(gathered: Gathered | None) -> str | None:
    """The id of the canonical document of what was gathered."""
    return gathered.canonical.ref.id if gathered and gathered.canonical else None


def with_example(nodes: Nodes, largest: Sequence[Bucket | Component]) -> list[dict[str, Any]]:
    """Buckets and components for people and programs, with the first id of the example's documents in its place."""
    names = {
        node: min(ref.id for ref in nodes.refs.take(np.flatnonzero(nodes.node_of == node)))
        for node in {one.example for one in largest}
    }
    return [{**asdict(one), "example": names[one.example]} for one in largest]


def nodes_in(table: Any, rule: MatchRule) -> Nodes:
    """The nodes of documents, rows of a table of sketches."""
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


def _described(
    rows: Any, canonical: CanonicalRule, arrivals: Positions | None, members: Positions
) -> tuple[list[Record], list[tuple[str, bool] | None], list[tuple[Any, ...]]]:
    """Of each document what its cluster is named by; its cluster in an older batch, and whether that one kept it; and
    what to compare documents by: the preferred ones have the smallest.
    """
    ids, sources, tokens, times = (rows[name].to_pylist() for name in ("id", "source", "tokens", "time"))
    nothing: Sequence[None] = [None] * len(ids)
    metadata = rows["metadata"].to_pylist() if canonical.kind == "field" else nothing
    clusters, stayed = nothing, nothing
    if OLDER_CLUSTER in rows.schema.names:
        clusters, stayed = rows[OLDER_CLUSTER].to_pylist(), rows[OLDER_KEEP].to_pylist()
    before: list[tuple[str, bool] | None] = [
        None if cluster is None else (cluster, kept) for cluster, kept in zip(clusters, stayed, strict=True)
    ]
    records, keys = [], []
    arrived = [None] * len(ids) if arrivals is None else arrivals[members].tolist()
    for name, count, time, written, source, arrival in zip(ids, tokens, times, metadata, sources, arrived, strict=True):
        known = json.loads(written) if written else {}
        given: dict[str, Any] = {"indexed_at": time or "", "source": source or "", "metadata": known}
        record = Record(Ref(name), Fingerprint(0, count), **given)
        records.append(record)
        if arrival is None:
            keys.append(canonical.key(record))
        else:
            keys.append((*canonical.key(Record(_ANY, record.fingerprint, **given)), arrival))
    return records, before, keys


def key_blocks(keys: Ragged, positions: Positions, blocks: int) -> Iterator[tuple[int, Positions, Positions]]:
    """The keys of some documents, in blocks by what they are: (number of the block, keys, who holds each)."""
    owners = np.repeat(positions, keys.sizes)
    block = spread(keys.values) % blocks
    order = np.argsort(block, kind="stable")
    ends = np.searchsorted(block[order], np.arange(blocks + 1))
    for number in np.flatnonzero(np.diff(ends)).tolist():
        part = order[ends[number] : ends[number + 1]]
        yield number, keys.values[part], owners[part]


def spread(keys: Positions) -> Positions:
    """A number of SPREAD_BITS for each key, by a multiplication, so that the keys of one table get all numbers."""
    mixed = keys.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    return (mixed >> np.uint64(64 - SPREAD_BITS)).astype(np.int64)


def scanned(keys: Positions, owners: Positions) -> tuple[Positions, Positions]:
    """Pairs that join all holders of each key of a block: each with the first of them."""
    order = np.lexsort((owners, keys))
    keys, owners = keys[order], owners[order]
    fresh = np.ones(keys.size, dtype=np.bool_)
    fresh[1:] = keys[1:] != keys[:-1]
    first = owners[np.flatnonzero(fresh)][np.cumsum(fresh) - 1]
    other = first != owners
    return first[other], owners[other]


def whole_runs(batches: Iterable[Any]) -> Iterator[Any]:
    """Tables of some rows each, with all of a `label` in one; they come sorted by it."""
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
    """To which of `count` partitions each document goes: whole components together, dealt by size to and fro."""
    _, component, sizes = np.unique(labels, return_inverse=True, return_counts=True)
    turn = np.empty(sizes.size, dtype=np.int64)
    turn[np.argsort(-sizes, kind="stable")] = np.arange(sizes.size) % (2 * count)
    of = np.where(turn < count, turn, 2 * count - 1 - turn)
    return np.asarray(of[component], dtype=np.int64)


def replaced(hashes: Sequence[npt.NDArray[np.uint64]]) -> Positions:
    """The positions of documents whose id's hash a later one has too; their ids have to be compared."""
    every = np.concatenate(hashes) if hashes else np.empty(0, dtype=np.uint64)
    order = np.argsort(every, kind="stable")
    same = every[order][1:] == every[order][:-1]
    return np.sort(np.unique(np.concatenate((order[1:][same], order[:-1][same]))))
