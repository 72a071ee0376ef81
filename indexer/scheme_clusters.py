"""Groups of documents by any scheme or verification: components of similar pairs, wide ones split around centres."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import numpy as np
import numpy.typing as npt

from indexer.cluster import Grouped, read_documents
from indexer.components import check_bound, connected
from indexer.pairs import iter_pairs
from indexer.placing import READ_AT_ONCE
from indexer.refs import RefTable
from indexer.scheme_pairs import document_pairs, similar_sketches
from indexer.schemes.base import Scheme
from indexer.sketch_table import Positions, distance_of, read_sketches
from indexer.stores.base import Store
from indexer.verifying import Verifier

Apart = Callable[[int, Positions], Positions]
Pairs = Iterable[tuple[Positions, Positions]]


def group_by_scheme(
    store: Store, scheme: Scheme, similarity: float, bound: int | None = None, checked: Verifier | None = None
) -> Grouped:
    """Groups of documents whose sketches are so similar, directly or through others, at most `bound` 64ths apart.

    `checked` verifies each pair of documents too. See `indexer.components.group` for how wide components are split.
    """
    distance = int(distance_of(similarity))
    reach = check_bound(distance, bound, 64)
    table = read_sketches(store, scheme)
    if checked:
        found = ((block.left, block.right) for block in document_pairs(table, similarity))
        labels, split = group_nodes(len(table.refs), _checked(found, table.refs, checked), table.apart, reach)
        return Grouped(table, groups_of(labels), split)
    weights = np.bincount(table.distinct, minlength=len(table.payloads))
    pairs = ((block.left, block.right) for block in similar_sketches(table, similarity))
    labels, split = group_nodes(
        len(table.payloads), pairs, lambda one, others: distance_of(table.similarities(one, others)), reach, weights
    )
    return Grouped(table, groups_of(labels[table.distinct]), split)


def group_checked(store: Store, distance: int, bound: int | None, checked: Verifier) -> Grouped:
    """Groups of documents within `distance` bits of the store's first scheme that pass a verification too."""
    reach = check_bound(distance, bound)
    documents = read_documents(store)
    found = ((block.left, block.right) for block in iter_pairs(documents.values, distance))
    labels, split = group_nodes(len(documents.refs), _checked(found, documents.refs, checked), documents.apart, reach)
    return Grouped(documents, groups_of(labels), split)


def _checked(pairs: Pairs, refs: RefTable, checked: Verifier) -> Iterator[tuple[Positions, Positions]]:
    for left, right in pairs:
        for start in range(0, left.size, READ_AT_ONCE):
            one, other = left[start : start + READ_AT_ONCE], right[start : start + READ_AT_ONCE]
            kept = checked.between(refs.take(one), refs.take(other))
            yield one[kept], other[kept]


def group_nodes(
    count: int, pairs: Pairs, apart: Apart, bound: int, weights: npt.NDArray[np.int64] | None = None
) -> tuple[Positions, int]:
    """The label of each of `count` nodes, and how many components were split because they were wider than the bound.

    `apart` gives the distances of one node to others; `weights[i]` documents stand behind node i. The densest nodes,
    those with most documents near, become centres, as in `indexer.components.group`.
    """
    behind = np.ones(count, dtype=np.int64) if weights is None else weights.astype(np.int64)
    labels, density = connected(pairs, behind)
    split = 0
    for members in groups_of(labels):
        if members.size > 2 and _is_wide(members, apart, bound):
            labels[members] = _around_centres(members, density[members], apart, bound // 2)
            split += 1
    return labels, split


def groups_of(labels: Positions) -> list[Positions]:
    """The positions of each label that two or more have."""
    sizes = np.bincount(labels) if labels.size else np.empty(0, dtype=np.int64)
    inside = np.flatnonzero(sizes[labels] > 1)
    ordered = inside[np.argsort(labels[inside], kind="stable")]
    ends = np.cumsum(sizes[sizes > 1])
    return np.split(ordered, ends[:-1]) if ends.size else []


def _is_wide(members: Positions, apart: Apart, bound: int) -> bool:
    """Whether two members are more than `bound` apart."""
    furthest = int(apart(int(members[0]), members[1:]).max())
    if furthest > bound or 2 * furthest <= bound:
        return furthest > bound
    return any(int(apart(int(one), members[place + 1 :]).max()) > bound for place, one in enumerate(members[:-1]))


def _around_centres(members: Positions, density: Positions, apart: Apart, radius: int) -> Positions:
    """The centre of each member; centres are chosen by density and lie further than `radius` apart."""
    centre = np.full(members.size, -1, dtype=np.int64)
    nearest = np.full(members.size, 65, dtype=np.int64)
    for place in np.lexsort((members, -density)).tolist():
        if centre[place] >= 0:
            continue
        distances = apart(int(members[place]), members)
        distances[place] = 0
        better = (distances <= radius) & (distances < nearest)
        centre[better] = members[place]
        nearest[better] = distances[better]
    return centre
