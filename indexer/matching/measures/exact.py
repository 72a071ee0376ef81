"""Exact resemblance by sets of word shingles, the reference for every estimate."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from indexer.core.sketches import intersection_sizes, sorted_distinct
from indexer.core.text import shingle_hashes
from indexer.errors import UsageError
from indexer.model.ragged import Ragged
from indexer.schemes.set_joins import similar

SHINGLE = 5


@dataclass(frozen=True, slots=True)
class ExactPairs:
    """Pairs of documents, left < right, each once, with their Jaccard coefficient; equal shapes (n,)."""

    left: npt.NDArray[np.int64]
    right: npt.NDArray[np.int64]
    jaccard: npt.NDArray[np.float64]


def shingle_sets(texts: Iterable[str | bytes], size: int = SHINGLE, *, numbers: bool = True) -> Ragged:
    """The shingle hashes (uint64) of each text, sorted."""
    sets = [sorted_distinct(shingle_hashes(text, size, numbers=numbers)) for text in texts]
    offsets = np.cumsum([0, *(one.size for one in sets)], dtype=np.int64)
    return Ragged(np.concatenate([*sets, np.empty(0, dtype=np.uint64)]), offsets)


def jaccard(sets: Ragged, left: npt.ArrayLike, right: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """The Jaccard coefficient |A & B| / |A | B| of each pair of positions; 0 if both sets are empty."""
    common, one, other = _common(sets, left, right)
    return np.asarray(common / np.maximum(one + other - common, 1), dtype=np.float64)


def containment(sets: Ragged, left: npt.ArrayLike, right: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """The share of the smaller set in the other, |A & B| / min(|A|, |B|) (Broder 1997), for each pair of positions."""
    common, one, other = _common(sets, left, right)
    return np.asarray(common / np.maximum(np.minimum(one, other), 1), dtype=np.float64)


def _common(sets: Ragged, left: npt.ArrayLike, right: npt.ArrayLike) -> tuple[npt.NDArray[np.int64], ...]:
    one, other = np.asarray(left, dtype=np.int64), np.asarray(right, dtype=np.int64)
    return intersection_sizes(sets.values, sets.offsets, one, other), sets.sizes[one], sets.sizes[other]


def jaccard_pairs(sets: Ragged, floor: float) -> ExactPairs:
    """Every pair of documents with a Jaccard coefficient of at least `floor` (above 0, to 1); empty sets are in none.

    They are looked up by the rarest shingles of the smaller set (`indexer.schemes.set_joins.containing`). Memory: some
    40 bytes a shingle, 24 a pair found, and a block of pairs. Raises UsageError for another floor.
    """
    if not 0 < floor <= 1:
        raise UsageError(f"floor {floor}: pairs can be listed from a Jaccard coefficient above 0, up to 1")
    members = _equal_sets(sets)
    keys = sets.take(np.array([group[0] for group in members], dtype=np.int64))
    found = [(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64), np.empty(0))]
    for left, right in similar(Ragged(keys.values.view(np.int64), keys.offsets), floor):
        coefficients = jaccard(keys, left, right)
        near = coefficients >= floor
        found.append((left[near], right[near], coefficients[near]))
    return _spread(members, *(np.concatenate(each) for each in zip(*found, strict=True)))


def _equal_sets(sets: Ragged) -> list[list[int]]:
    groups: dict[bytes, list[int]] = {}
    for position in range(len(sets)):
        if content := sets.bytes_of(position):
            groups.setdefault(content, []).append(position)
    return list(groups.values())


def _spread(
    members: Sequence[Sequence[int]],
    left: npt.NDArray[np.int64],
    right: npt.NDArray[np.int64],
    coefficients: npt.NDArray[np.float64],
) -> ExactPairs:
    groups = [np.array(group, dtype=np.int64) for group in members]
    blocks = [(groups[a], groups[b], value) for a, b, value in zip(left, right, coefficients, strict=True)]
    ones = [np.repeat(a, b.size) for a, b, _ in blocks]
    others = [np.tile(b, a.size) for a, b, _ in blocks]
    values = [np.full(a.size * b.size, value) for a, b, value in blocks]
    for group in groups:
        first, second = np.triu_indices(group.size, 1)
        ones.append(group[first])
        others.append(group[second])
        values.append(np.ones(first.size))
    one = np.concatenate([np.empty(0, dtype=np.int64), *ones])
    other = np.concatenate([np.empty(0, dtype=np.int64), *others])
    value = np.concatenate([np.empty(0), *values])
    low, high = np.minimum(one, other), np.maximum(one, other)
    order = np.lexsort((high, low))
    return ExactPairs(low[order], high[order], value[order])
