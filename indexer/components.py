"""Groups of hashes: connected components of near ones, and components that are too wide split around dense hashes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import comb

import numpy as np
import numpy.typing as npt

from indexer import core
from indexer.errors import UsageError
from indexer.hamming import HammingIndex
from indexer.pairs import iter_pairs

Hashes = npt.NDArray[np.uint64]
Labels = npt.NDArray[np.int64]

_CENTRES_AT_ONCE = 256


@dataclass(frozen=True, slots=True)
class Groups:
    """`labels[i]` is the position of one hash of the group that hash i is in; `split` components were too wide."""

    labels: Labels
    split: int


class Components:
    """A union-find over `count` positions that takes whole blocks of pairs at once; 8 octets a position."""

    def __init__(self, count: int) -> None:
        self._parent: Labels = np.arange(count, dtype=np.int64)

    def join(self, left: Labels, right: Labels) -> None:
        """Put `left[i]` and `right[i]` into one component, for every i."""
        a, b = left, right
        while a.size:
            a, b = np.split(self._roots(np.concatenate((a, b))), 2)
            apart = a != b
            low, high = np.minimum(a, b)[apart], np.maximum(a, b)[apart]
            # Of several pairs with one root the lowest wins; the others come again.
            np.minimum.at(self._parent, high, low)
            a, b = low, high

    def _roots(self, positions: Labels) -> Labels:
        while True:
            up = self._parent[positions]
            top = self._parent[up]
            if np.array_equal(up, top):
                return up
            # All at once, so that each round halves the way: a chain of a million takes twenty rounds.
            self._parent[positions] = top

    def labels(self) -> Labels:
        """The smallest position of each position's component."""
        return self._roots(np.arange(self._parent.size, dtype=np.int64)).copy()


def connected(pairs: Iterable[tuple[Labels, Labels]], weights: Labels) -> tuple[Labels, Labels]:
    """The component of each node by the smallest of its positions, and each node's density.

    `weights[i]` documents stand behind node i; the density counts those of the node and of all that it is paired with.
    """
    components, density = Components(weights.size), weights.copy()
    for left, right in pairs:
        components.join(left, right)
        np.add.at(density, left, weights[right])
        np.add.at(density, right, weights[left])
    return components.labels(), density


def group(
    values: Hashes,
    counts: npt.NDArray[np.int64] | None = None,
    *,
    distance: int = 3,
    bound: int | None = None,
    threads: int | None = None,
) -> Groups:
    """Group n distinct hashes: those within `distance` bits (0 to 16), directly or through others, go together.

    `counts[i]` documents have hash i (1 where None). A component with two hashes further apart than `bound` bits (0 to
    64, twice the distance where None) is split around its densest hashes, those with most documents within `distance`:
    the densest becomes a centre, then the densest that is not within bound // 2 bits of a centre, and so on; each hash
    goes to its nearest centre, so that no group is wider than the bound. Ties go to the denser centre, then the smaller
    hash: the groups do not depend on the order of the input. Memory: some 70 octets a hash, and a few blocks of pairs.
    Raises UsageError for values out of range.
    """
    reach = check_bound(distance, bound)
    weights = np.ones(values.size, dtype=np.int64) if counts is None else counts.astype(np.int64)
    labels, density = connected(((each.left, each.right) for each in iter_pairs(values, distance, threads)), weights)
    wide = _wide(values, labels, reach)
    if wide.size:
        members = np.flatnonzero(np.isin(labels, wide))
        labels[members] = members[_around_centres(values[members], density[members], labels[members], reach // 2)]
    return Groups(labels, int(wide.size))


def check_bound(distance: int, bound: int | None, farthest: int = core.MAX_DISTANCE) -> int:
    """The bound on a group's diameter, `bound` or twice the distance; UsageError where one is out of range."""
    if not 0 <= distance <= farthest:
        raise UsageError(f"distance {distance} is not between 0 and {farthest}")
    reach = min(64, 2 * distance) if bound is None else bound
    if not distance <= reach <= 64:
        raise UsageError(f"bound {reach} on the diameter of a cluster is not between the distance {distance} and 64")
    return reach


def _wide(values: Hashes, labels: Labels, bound: int) -> Labels:
    """The labels of the components that are wider than the bound."""
    furthest = np.zeros(values.size, dtype=np.uint8)
    np.maximum.at(furthest, labels, np.bitwise_count(values ^ values[labels]))
    sizes = np.bincount(labels, minlength=values.size)
    wide = furthest > bound
    # A hash that has all others within half the bound proves the component narrow, and so does there being only two.
    unclear = np.flatnonzero(~wide & (2 * furthest.astype(np.int64) > bound) & (sizes > 2))
    if unclear.size:
        order = np.argsort(labels, kind="stable")
        starts = np.searchsorted(labels[order], unclear)
        for label, start in zip(unclear.tolist(), starts.tolist(), strict=True):
            wide[label] = is_wide(values[order[start : start + int(sizes[label])]], bound)
    return np.flatnonzero(wide)


def is_wide(values: Hashes, bound: int) -> bool:
    """Whether two of these distinct hashes are more than `bound` bits apart."""
    # No more points of the 64-cube fit into this diameter: D. Kleitman, "On a combinatorial conjecture of Erdos",
    # Journal of Combinatorial Theory 1 (1966) 209-214.
    radius, odd = divmod(bound, 2)
    most = sum(comb(64, bits) for bits in range(radius + 1)) + (comb(63, radius) if odd else 0)
    if values.size > most:
        return True
    return any(
        int(core.hamming_distances(int(values[place]), values[place + 1 :]).max()) > bound
        for place in range(values.size - 1)
    )


def _around_centres(values: Hashes, density: Labels, labels: Labels, radius: int) -> Labels:
    """The position of each hash's centre; centres are chosen by density and lie further than `radius` apart."""
    index = HammingIndex(values, min(radius, core.MAX_DISTANCE))
    centre = np.full(values.size, -1, dtype=np.int64)
    nearest = np.full(values.size, 255, dtype=np.uint8)
    order = np.lexsort((values, -density))
    for start in range(0, order.size, _CENTRES_AT_ONCE):
        asked = order[start : start + _CENTRES_AT_ONCE]
        asked = asked[centre[asked] < 0]
        found = index.search(values[asked], radius)
        bounds = np.searchsorted(found.query, np.arange(asked.size + 1))
        for number, place in enumerate(asked.tolist()):
            if centre[place] >= 0:
                continue
            near = slice(bounds[number], bounds[number + 1])
            positions, distances = found.position[near], found.distance[near]
            better = (distances < nearest[positions]) & (labels[positions] == labels[place])
            centre[positions[better]] = place
            nearest[positions[better]] = distances[better]
    return centre
