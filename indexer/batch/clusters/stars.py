"""Components of more pairs than one task holds, in rounds in which each document looks only at its own pairs.

In a round a document's pairs with larger ones become pairs of these with the smallest document that it knows (a large
star), and then each block of pairs becomes stars around the smallest document of each of its components, which does at
once what the small stars of all of its documents would do one after the other. There are never more pairs than in the
round before, and when nothing changes, each document is paired with the smallest one of its component alone. See
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
    """Pairs in blocks by their first document: (number of the block, one, other)."""
    yield from key_blocks(Ragged.of_matrix(one[:, np.newaxis]), other, blocks)


def large_stars(one: Positions, other: Positions) -> tuple[Positions, Positions, bool]:
    """(larger, smaller, whether they are others than before) of the large star of each document in `one`.

    `other` has all that these are paired with, smaller and larger, and each pair comes both ways to some block.
    """
    owners, places = np.unique(one, return_inverse=True)
    least = _least(owners, places, other)
    up = other > one
    larger, smaller = other[up], least[places[up]]
    return larger, smaller, not np.array_equal(smaller, one[up])


def small_stars(larger: Positions, smaller: Positions) -> tuple[Positions, Positions, bool]:
    """(larger, smaller, whether they are others than before) of pairs of a block, all of each larger document in it."""
    owners, labels = contracted(larger, smaller)
    paired = owners != labels
    same = np.array_equal(labels[np.searchsorted(owners, larger)], smaller)
    return owners[paired], labels[paired], not same


def labels_of(one: Positions, other: Positions) -> tuple[Positions, Positions]:
    """The documents in `one`, and the smallest one of the component of each, of pairs that no round changes any more.

    Each pair comes both ways to some block.
    """
    owners, places = np.unique(one, return_inverse=True)
    return owners, _least(owners, places, other)


def _least(owners: Positions, places: Positions, other: Positions) -> Positions:
    """The smallest of each document and those that it is paired with."""
    least = owners.copy()
    np.minimum.at(least, places, other)
    return least
