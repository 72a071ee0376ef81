"""The alignment of two texts: the blocks of words in which they differ, and what was only moved."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from indexer.core_sketch import align
from indexer.relations.wording import Wording

MOST_WORDS = 200_000
"""Texts of more words are not aligned."""

# So many words left out are found in C, in time that grows with their square; more by rapidfuzz.
_QUICK = 1000
# Equal words between two changes that say no more than chance: of a rewritten sentence, a few stay in place.
_BRIDGE = 2
_SLOT = 3
_MOVED = 6


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
    """The blocks in which two texts differ, in order; at least one equal word is between two of them."""
    found = align(left.values, right.values, min(_QUICK, len(left) + len(right)))
    if found is not None:
        return [Block(*block) for block in found.tolist()]
    return list(_slow_blocks(left, right))


def _slow_blocks(left: Wording, right: Wording) -> Iterator[Block]:
    from rapidfuzz.distance import Indel

    together: Block | None = None
    for step in Indel.opcodes(left.values.tolist(), right.values.tolist()):
        if step.tag == "equal":
            if together:
                yield together
            together = None
            continue
        block = Block(step.src_start, step.src_end, step.dest_start, step.dest_end)
        together = together.to(block) if together else block
    if together:
        yield together


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
    return bool((wording.values[start - gap : start] == wording.values[end - gap : end]).all())


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
