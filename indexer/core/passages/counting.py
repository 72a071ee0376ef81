"""Count shared words, and find the document they came from."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from indexer.core.passages.repeats import Repeats
from indexer.core.passages.windows import Positions


class Copied(NamedTuple):
    origin: Positions
    by: Positions
    words: Positions


def repeated_words(repeats: Repeats) -> Positions:
    """The number of words of each document inside passages: shape (documents,)."""
    words = np.bincount(repeats.documents, _new_words(repeats), repeats.copy_of.size).astype(np.int64)
    return words[repeats.copy_of]


def copied_between(repeats: Repeats, ranks: Positions, origins: Positions) -> Copied:
    """Count passage words of each origin whose first document belongs to another origin or the same one.

    `ranks` order the documents by time, `origins` number their origins: both of shape (documents,).
    """
    several = int(origins.max(initial=-1)) + 1
    # The first of all documents of a kind: of a document's copies the earliest stands for all.
    earliest = np.full(repeats.copy_of.size, np.iinfo(np.int64).max)
    np.minimum.at(earliest, repeats.copy_of, ranks)
    by_rank = np.argsort(ranks)
    firsts = np.full(int(repeats.kinds.max(initial=-1)) + 1, np.iinfo(np.int64).max)
    np.minimum.at(firsts, repeats.kinds, earliest[repeats.documents])
    first = by_rank[firsts[repeats.kinds]] if firsts.size else firsts
    # (document with stretches, document where they stood first) -> words, then the same for its copies.
    pairs, which = np.unique(np.stack((repeats.documents, first)), axis=1, return_inverse=True)
    words = np.bincount(which.reshape(-1), _new_words(repeats), pairs.shape[1]).astype(np.int64)
    holders = np.argsort(repeats.copy_of, kind="stable")
    begins = np.searchsorted(repeats.copy_of[holders], pairs[0])
    counts = repeats.copies[pairs[0]]
    spread = np.arange(int(counts.sum())) + np.repeat(begins - (np.cumsum(counts) - counts), counts)
    document, source, amount = holders[spread], np.repeat(pairs[1], counts), np.repeat(words, counts)
    elsewhere = document != source
    cells = origins[source[elsewhere]] * several + origins[document[elsewhere]]
    found, which = np.unique(cells, return_inverse=True)
    sums = np.bincount(which.reshape(-1), amount[elsewhere], found.size).astype(np.int64)
    return Copied(found // max(1, several), found % max(1, several), sums)


def _new_words(repeats: Repeats) -> Positions:
    ends = repeats.ends
    before = np.append(0, ends[:-1])[: ends.size]
    new: Positions = ends - np.maximum(repeats.starts, before)
    return new
