"""Components of more pairs than one task holds, in rounds.

In a round a document's pairs with larger ones become pairs of these with its smallest known document (a large star).
Then each block of pairs becomes stars around the smallest document of each of its components. There are never more
pairs than in the round before. At the end each document is paired only with the smallest one of its component. See
Kiveris, Lattanzi, Mirrokni, Rastogi and Vassilvitskii, "Connected Components in MapReduce and Beyond", SoCC 2014.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from indexer.batch.clusters.blocking import contracted
from indexer.batch.clusters.grouping import key_blocks
from indexer.model.ragged import Ragged
from indexer.schemes.base import Positions


def dealt(one: Positions, other: Positions, blocks: int) -> Iterator[tuple[int, Positions, Positions]]:
    yield from key_blocks(Ragged.of_matrix(one[:, np.newaxis]), other, blocks)


def large_stars(one: Positions, other: Positions) -> tuple[Positions, Positions, bool]:
    owners, places = np.unique(one, return_inverse=True)
    least = _least(owners, places, other)
    up = other > one
    larger, smaller = other[up], least[places[up]]
    return larger, smaller, not np.array_equal(smaller, one[up])


def small_stars(larger: Positions, smaller: Positions) -> tuple[Positions, Positions, bool]:
    owners, labels = contracted(larger, smaller)
    paired = owners != labels
    same = np.array_equal(labels[np.searchsorted(owners, larger)], smaller)
    return owners[paired], labels[paired], not same


def labels_of(one: Positions, other: Positions) -> tuple[Positions, Positions]:
    """The documents in `one`, and the smallest one of each one's component, from stable pairs.

    Each pair comes both ways to some block.
    """
    owners, places = np.unique(one, return_inverse=True)
    return owners, _least(owners, places, other)


def _least(owners: Positions, places: Positions, other: Positions) -> Positions:
    least = owners.copy()
    np.minimum.at(least, places, other)
    return least
