"""The blocks of words and signs that differ in two texts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from indexer.core.text import align
from indexer.relations.wording import TokenValues, Wording

MOST_WORDS = 200_000
"""Texts of more words are not aligned."""

# So many words left out are found in C, in time that grows with their square. Longer differences are cut first, where
# whole sentences are equal, and rapidfuzz aligns the pieces, where its table has no more places (50 MB).
_QUICK, _LARGEST = 1000, 400_000_000


class Block(NamedTuple):
    """A stretch that differs in two texts: words `start` to `end - 1` of the left, the others of the right."""

    start: int
    end: int
    other_start: int
    other_end: int

    def meets(self, other: Block) -> bool:
        return (self.start < other.end or self.other_start < other.other_end) and (
            self.end > other.start or self.other_end > other.other_start
        )


def blocks_between(left: Wording, right: Wording) -> list[Block]:
    if (found := _quickly(left.values, right.values)) is not None:
        return found
    ours, theirs = left.sorted_ends, right.sorted_ends
    made: list[Block] = []
    for piece in aligned(left.sentence_hashes(ours), right.sentence_hashes(theirs)):
        start, end, other, other_end = ours[piece[0]], ours[piece[1]], theirs[piece[2]], theirs[piece[3]]
        inner = aligned(left.values[start:end], right.values[other:other_end])
        made += [Block(each[0] + start, each[1] + start, each[2] + other, each[3] + other) for each in inner]
    return made


def _quickly(left: TokenValues, right: TokenValues) -> list[Block] | None:
    found = align(left, right, min(_QUICK, left.size + right.size))
    return None if found is None else [Block(*block) for block in found.tolist()]


def aligned(left: TokenValues, right: TokenValues) -> list[Block]:
    if (found := _quickly(left, right)) is not None:
        return found
    if left.size * right.size > _LARGEST:
        return [Block(0, left.size, 0, right.size)]
    from rapidfuzz.distance import Indel

    equal = Indel.editops(left.tolist(), right.tolist()).as_matching_blocks()
    ends = [(0, 0), *((each.a + each.size, each.b + each.size) for each in equal)]
    pairs = zip(ends, equal, strict=False)
    return [Block(start, each.a, other, each.b) for (start, other), each in pairs if (start, other) != (each.a, each.b)]


def equal_runs(blocks: Sequence[Block], size: int) -> Iterator[tuple[int, int, int]]:
    """The equal stretches around blocks, in the left of so many words, each with its distance in the right."""
    place = shift = 0
    for block in (*blocks, Block(size, size, 0, 0)):
        yield place, block.start, shift
        place, shift = block.end, block.other_end - block.end
