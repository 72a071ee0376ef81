"""The blocks of words and signs that differ in two texts."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from indexer.core.text import align
from indexer.relations.wording import Wording

MOST_WORDS = 200_000
"""Texts of more words are not aligned."""

# So many words left out are found in C, in time that grows with their square. Texts with more are cut first, where runs
# of so many words stand once in each of them, and rapidfuzz aligns what is left, where its table has no more places.
_QUICK, _ANCHOR, _LARGEST = 1000, 8, 100_000_000
_MIXER = 0x9E3779B97F4A7C15

Values = np.ndarray[tuple[int], np.dtype[np.uint64]]


class Block(NamedTuple):
    """A stretch that differs in two texts: words `start` to `end - 1` of the left, the others of the right."""

    start: int
    end: int
    other_start: int
    other_end: int

    def to(self, other: Block) -> Block:
        return Block(self.start, other.end, self.other_start, other.other_end)


def blocks_between(left: Wording, right: Wording) -> list[Block]:
    if (found := _aligned(left.values, right.values)) is not None:
        return found
    return _joined(_blocks_of_pieces(left.values, right.values))


def _blocks_of_pieces(left: Values, right: Values) -> Iterator[Block]:
    begun, other_begun = 0, 0
    for end, other_end in [*_cuts(left, right), (left.size, right.size)]:
        for block in _blocks_of_piece(left[begun:end], right[other_begun:other_end]):
            yield Block(
                block.start + begun, block.end + begun, block.other_start + other_begun, block.other_end + other_begun
            )
        begun, other_begun = end, other_end


def _joined(blocks: Iterable[Block]) -> list[Block]:
    made: list[Block] = []
    for block in blocks:
        if made and (made[-1].end, made[-1].other_end) == (block.start, block.other_start):
            made[-1] = made[-1].to(block)
        else:
            made.append(block)
    return made


def _aligned(left: Values, right: Values) -> list[Block] | None:
    found = align(left, right, min(_QUICK, left.size + right.size))
    return None if found is None else [Block(*block) for block in found.tolist()]


def _cuts(left: Values, right: Values) -> list[tuple[int, int]]:
    if min(left.size, right.size) < _ANCHOR:
        return []
    mine, ours = _once(left)
    yours, theirs = _once(right)
    _, places, others = np.intersect1d(mine, yours, assume_unique=True, return_indices=True)
    order = np.argsort(ours[places])
    begins, other_begins = ours[places[order]], theirs[others[order]]
    new = np.ones(begins.size, dtype=np.bool_)
    new[1:] = (np.diff(begins) != 1) | (np.diff(other_begins) != 1)
    return _rising(begins[new].tolist(), other_begins[new].tolist())


def _once(values: Values) -> tuple[Values, np.ndarray[tuple[int], np.dtype[np.int64]]]:
    count = values.size - _ANCHOR + 1
    hashes = np.zeros(count, dtype=np.uint64)
    for place in range(_ANCHOR):
        hashes = hashes * np.uint64(_MIXER) + values[place : place + count]
    found, places, counts = np.unique(hashes, return_index=True, return_counts=True)
    return found[counts == 1], places[counts == 1]


def _rising(places: Sequence[int], others: Sequence[int]) -> list[tuple[int, int]]:
    lowest: list[int] = []
    ends: list[int] = []
    before: list[int] = []
    for number, other in enumerate(others):
        length = bisect_left(lowest, other)
        before.append(ends[length - 1] if length else -1)
        lowest[length : length + 1], ends[length : length + 1] = [other], [number]
    chain: list[tuple[int, int]] = []
    number = ends[-1] if ends else -1
    while number >= 0:
        chain.append((places[number], others[number]))
        number = before[number]
    return chain[::-1]


def _blocks_of_piece(left: Values, right: Values) -> list[Block]:
    if (found := _aligned(left, right)) is not None:
        return found
    if left.size * right.size > _LARGEST:
        return [Block(0, left.size, 0, right.size)]
    from rapidfuzz.distance import Indel

    steps = Indel.opcodes(left.tolist(), right.tolist())
    return _joined(
        Block(step.src_start, step.src_end, step.dest_start, step.dest_end) for step in steps if step.tag != "equal"
    )
