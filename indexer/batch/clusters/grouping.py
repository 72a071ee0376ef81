"""From sketches to clusters: keys, what meets by them, groups that are verified, and which document stands for each.

Functions of arrays and batches, without state. Documents are numbers here: their places among all of a batch.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from indexer.batch.arrow import arrow, bytes_of, column_of, flags_of, integers_of, joined_of, numbers_of, present_in
from indexer.batch.form import column_name
from indexer.clustering.assign import Gathered, Member, named
from indexer.clustering.canonical import CanonicalRule
from indexer.clustering.clusters import document_groups, similar_documents
from indexer.clustering.grouping import Bucket, Component, group
from indexer.matching.measures.tables import Comparison
from indexer.matching.nodes import Nodes, comparable, distinct_payloads, keyed, nodes_of_sketches
from indexer.matching.rule import Finder, MatchRule
from indexer.model import SIMHASH_DOC, Fingerprint, Record, Ref
from indexer.model.ragged import Ragged
from indexer.model.refs import RefTable
from indexer.schemes.base import Positions, Sketches
from indexer.stores.sketches import Found

# The cluster that a document of an older batch was in; null for a new document.
OLDER_CLUSTER = "older_cluster"
SPREAD_BITS = 24
# Documents that are compared at once, unless one component or bucket has more.
_TOGETHER = 1 << 16


def columns_of(rule: MatchRule, canonical: CanonicalRule, *, against: bool = False) -> list[str]:
    """The columns of sketches that clusters by a rule are made from."""
    names = ["id", "tokens", "short", "time"] + [OLDER_CLUSTER] * against
    names += {"field": ["metadata"], "source": ["source"]}.get(canonical.kind, [])
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
    """The clusters of two documents or more among some: document `positions[i]` is in number `of[i]` of them.

    `similarity` is to the canonical document (0 to 1), `canonical` whether it is that one. Of each cluster: `ids`,
    `names` of the canonical documents, `sizes`, and `before`, the one of its older documents that comes first by the
    canonical rule (None for none); `to_before` is the similarity to that one, NaN for none. `split` components were
    cut, `comparisons` pairs compared. The largest `buckets` and `components` are as those of
    `indexer.clustering.grouping.Groups`, each with the id of an example.
    """

    positions: Positions
    of: Positions
    similarity: npt.NDArray[np.float64]
    canonical: npt.NDArray[np.bool_]
    ids: list[str]
    names: list[str]
    sizes: list[int]
    before: list[str | None]
    to_before: npt.NDArray[np.float64]
    split: int
    comparisons: int
    buckets: list[dict[str, Any]]
    components: list[dict[str, Any]]


def clusters_of(
    table: Any, positions: Positions, rule: MatchRule, canonical: CanonicalRule, radius: float | None, threads: int
) -> Clusters:
    """The clusters of documents that the rule compares, rows of a table of sketches, numbered by their `positions`.

    They are those of `indexer.clustering.clusters.cluster` as long as what may be near is all among them.
    """
    nodes = nodes_in(table, rule)
    comparison = Comparison(rule, nodes.payloads)
    grouped = group(nodes, comparison, radius=radius, threads=threads)
    groups = document_groups(nodes, grouped)
    members = np.concatenate(groups) if groups else np.empty(0, dtype=np.int64)
    numbers = np.repeat(np.arange(len(groups)), [one.size for one in groups])
    gathered = [Gathered() for _ in groups]
    places = np.concatenate([np.arange(one.size) for one in groups]) if groups else members
    older: dict[int, Gathered] = {}
    for member in _members(table.take(column_of(members)), members, numbers, places, canonical):
        gathered[member.group].add(member, canonical)
        if member.annotation:
            older.setdefault(member.group, Gathered()).add(member, canonical)
    near = named(gathered, groups, lambda left, right: similar_documents(nodes, comparison, left, right))
    stands = np.full(len(groups), -1, dtype=np.int64)
    stands[list(older)] = [one.position for one in older.values()]
    stands = stands[numbers]
    to_before, known = np.full(members.size, np.nan), np.flatnonzero(stands >= 0)
    if known.size:
        to_before[known] = np.round(similar_documents(nodes, comparison, stands[known], members[known]), 4)
    similarity = np.concatenate(near) if near else np.empty(0)
    first = np.array([one.position for one in gathered], dtype=np.int64)[numbers] == members
    similarity[first] = 1.0
    return Clusters(
        positions[members],
        numbers,
        similarity,
        first,
        [one.id for one in gathered],
        [_name(one) or "" for one in gathered],
        [one.size for one in gathered],
        [_name(older.get(number)) for number in range(len(groups))],
        to_before,
        grouped.split,
        comparison.compared,
        with_example(nodes, grouped.buckets),
        with_example(nodes, grouped.components),
    )


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


def _members(
    rows: Any, members: Positions, numbers: Positions, places: Positions, canonical: CanonicalRule
) -> Iterator[Member]:
    """What the choice of a canonical document looks at, of each document of a group."""
    columns = [rows[name].to_pylist() for name in ("id", "tokens", "time")]
    count = len(members)
    metadata = rows["metadata"].to_pylist() if canonical.kind == "field" else [""] * count
    sources = rows["source"].to_pylist() if canonical.kind == "source" else [""] * count
    clusters_before = rows[OLDER_CLUSTER].to_pylist() if OLDER_CLUSTER in rows.schema.names else [None] * count
    nothing: Mapping[str, Any] = {}
    for place, (name, tokens, time) in enumerate(zip(*columns, strict=True)):
        written: str | None = metadata[place]
        known = json.loads(written) if written else nothing
        record = Record(Ref(name), Fingerprint(0, tokens), indexed_at=time or "", source=sources[place], metadata=known)
        before = {"cluster": {"id": clusters_before[place]}} if clusters_before[place] else nothing
        yield Member(int(numbers[place]), int(places[place]), int(members[place]), record, before)


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


def joined(
    sketches: Sketches, positions: Positions, finder: Finder, threads: int
) -> Iterator[tuple[Positions, Positions]]:
    """Pairs that join all that a finder of its own way finds near, by blocks; equal sketches among them."""
    firsts, number = distinct_payloads(sketches)
    yield positions[firsts[number]], positions
    stands = positions[firsts]
    for left, right in finder.scheme.join(sketches.take(firsts), finder.similarity, threads=threads):
        yield stands[left], stands[right]


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
