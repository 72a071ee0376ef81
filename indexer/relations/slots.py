"""The slots of forms: places with different content in each."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from indexer.relations.alignment import Block, blocks_between
from indexer.relations.facts import widened
from indexer.relations.wording import Wording

# Nearly every one.
_MOST = 0.75
_AROUND, _FILL = 60, 40


class FormSlot(NamedTuple):
    before: str
    fills: tuple[str, ...]
    after: str


def slots_of(frame: Wording, others: Sequence[Wording]) -> list[FormSlot]:
    aligned = [blocks_between(frame, other) for other in others]
    # Place 2i is the gap before word i, place 2i + 1 the word.
    differing = np.zeros(2 * len(frame) + 1, dtype=np.int64)
    for blocks in aligned:
        for block in blocks:
            differing[2 * block.start : 2 * block.end + 1] += 1
    is_slot = np.concatenate(([False], differing >= max(1, math.ceil(_MOST * len(others))), [False]))
    bounds = np.flatnonzero(is_slot[1:] != is_slot[:-1]).reshape(-1, 2).tolist()
    # A fact may have two of them.
    whole = dict.fromkeys(widened(frame, low // 2, high // 2) for low, high in bounds)
    return [_slot(frame, others, aligned, *each) for each in whole]


def _slot(
    frame: Wording, others: Sequence[Wording], aligned: Sequence[Sequence[Block]], start: int, end: int
) -> FormSlot:
    fills = [other.written(*_place(blocks, start, end), _FILL) for other, blocks in zip(others, aligned, strict=True)]
    before = " ".join(frame.written(max(0, start - 8), start, 10 * _AROUND).split())[-_AROUND:]
    after = frame.written(end, min(len(frame), end + 8), _AROUND)
    return FormSlot(before, tuple(dict.fromkeys([frame.written(start, end, _FILL), *fills])), after)


def _place(blocks: Sequence[Block], start: int, end: int) -> tuple[int, int]:
    shift, first, last = 0, None, None
    for block in blocks:
        if block.start > end:
            break
        if block.end >= start:
            first = block.other_start if block.start <= start else start + shift if first is None else first
            last = block.other_end if block.end >= end else None
        shift = block.other_end - block.end
    return start + shift if first is None else first, end + shift if last is None else last
