"""The alignment of two texts: the blocks of words in which they differ, and what was only moved."""

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
# Equal words between two changes that say no more than chance: of a rewritten sentence, a few stay in place.
_BRIDGE = 2
_SLOT = 3
_MOVED = 6
_MIXER = 0x9E3779B97F4A7C15

Values = np.ndarray[tuple[int], np.dtype[np.uint64]]


class Block(NamedTuple):
    """A stretch in which two texts differ: words `start` to `end - 1` of the left, the others of the right."""

    start: int
    end: int
    other_start: int
    other_end: int

    @property
    def loose(self) -> bool:
        """True if it is no slot, in which one filling of a few words stands for another."""
        ours, theirs = self.end - self.start, self.other_end - self.other_start
        return ours != theirs or ours > _SLOT

    def to(self, other: Block) -> Block:
        """The stretch from this block to the end of a later one."""
        return Block(self.start, other.end, self.other_start, other.other_end)


def blocks_between(left: Wording, right: Wording) -> list[Block]:
    """The blocks in which two texts differ, in order; at least one equal word is between two of them.

    As few words as can be are left out where these are up to a thousand; long texts with more are aligned piece by
    piece, and pieces of over ten thousand words each that have little in common are a block as a whole.
    """
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
    """Blocks in order, those as one between which no word is."""
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
    """Places in both texts, in order, from which on a run of words is equal that stands once in either."""
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
    """The hashes of runs of words that stand once, rising, and the places of these."""
    count = values.size - _ANCHOR + 1
    hashes = np.zeros(count, dtype=np.uint64)
    for place in range(_ANCHOR):
        hashes = hashes * np.uint64(_MIXER) + values[place : place + count]
    found, places, counts = np.unique(hashes, return_index=True, return_counts=True)
    return found[counts == 1], places[counts == 1]


def _rising(places: Sequence[int], others: Sequence[int]) -> list[tuple[int, int]]:
    """The most pairs of places, given as the first ones rise, of which the second ones rise too."""
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


def bridged(left: Wording, right: Wording, blocks: list[Block]) -> list[Block]:
    """The blocks with those put together that a few equal words divide by chance.

    These are one or two words where one of the blocks is no slot, and more where what was added or removed could as
    well begin so many words earlier.
    """
    made: list[Block] = []
    for block in blocks:
        gap = block.start - made[-1].end if made else 0
        if made and ((gap <= _BRIDGE and (block.loose or made[-1].loose)) or _slides(left, right, block, gap)):
            made[-1] = made[-1].to(block)
        else:
            made.append(block)
    return made


def _slides(left: Wording, right: Wording, block: Block, gap: int) -> bool:
    """True if words that stand on one side only could as well stand `gap` words earlier."""
    if block.start < block.end and block.other_start < block.other_end:
        return False
    wording, start, end = (
        (left, block.start, block.end) if block.start < block.end else (right, block.other_start, block.other_end)
    )
    values = wording.values
    return not gap or bool(
        values[start - 1] == values[end - 1] and (values[start - gap : start] == values[end - gap : end]).all()
    )


def moved(left: Wording, right: Wording, blocks: list[Block]) -> tuple[set[int], set[int]]:
    """The places, on either side, of words in runs of six or more that stand elsewhere in the other text."""
    ours = [(block.start, block.end) for block in blocks if block.end - block.start >= _MOVED]
    theirs = [(block.other_start, block.other_end) for block in blocks if block.other_end - block.other_start >= _MOVED]
    moved_here: set[int] = set()
    moved_there: set[int] = set()
    if not ours or not theirs:
        return moved_here, moved_there
    first: dict[bytes, int] = {}
    for start, end in theirs:
        for place in range(start, end - _MOVED + 1):
            first.setdefault(_run(right, place), place)
    for start, end in ours:
        for place in range(start, end - _MOVED + 1):
            there = first.get(_run(left, place))
            if (there is not None and there not in moved_there) or (there is not None and place in moved_here):
                moved_here.update(range(place, place + _MOVED))
                moved_there.update(range(there, there + _MOVED))
    return moved_here, moved_there


def _run(wording: Wording, place: int) -> bytes:
    return wording.values[place : place + _MOVED].tobytes()


def equal_words(left: Wording, blocks: list[Block]) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
    """The hashes of the words that are equal in both texts and in place."""
    kept = np.ones(len(left), dtype=np.bool_)
    for block in blocks:
        kept[block.start : block.end] = False
    return left.hashes[kept]
