"""The frame of a text: lines found around many other documents."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from indexer.relations.lexicon import Lexicon
from indexer.relations.wording import TokenValues, Wording

# More lines at one end are a list, and no frame.
_MOST_LINES = 30
_MIXER = np.uint64(0x9E3779B97F4A7C15)


def _lines(wording: Wording) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    return list(wording.frame_lines(_MOST_LINES)), list(wording.frame_lines(_MOST_LINES, from_end=True))


def line_hashes(wording: Wording) -> TokenValues:
    lines = {line for side in _lines(wording) for line in side}
    return np.array([_hash(wording, line) for line in sorted(lines)], dtype=np.uint64)


def frame_bounds(wording: Wording, lexicon: Lexicon | None) -> tuple[int, int]:
    if lexicon is None or not lexicon.frames:
        return 0, len(wording)
    head, foot = _lines(wording)
    return _last(wording, head, lexicon)[1], _first(wording, foot, lexicon)


def _last(wording: Wording, lines: list[tuple[int, int]], lexicon: Lexicon) -> tuple[int, int]:
    found = (0, 0)
    for line in _known(wording, lines, lexicon):
        found = line
    return found


def _first(wording: Wording, lines: list[tuple[int, int]], lexicon: Lexicon) -> int:
    found = len(wording)
    for line in _known(wording, lines, lexicon):
        found = line[0]
    return found


def _known(wording: Wording, lines: list[tuple[int, int]], lexicon: Lexicon) -> Iterator[tuple[int, int]]:
    for line in lines:
        if not lexicon.is_frame(int(_hash(wording, line))):
            return
        yield line


def _hash(wording: Wording, line: tuple[int, int]) -> np.uint64:
    value = np.uint64(line[1] - line[0])
    with np.errstate(over="ignore"):
        for each in wording.values[line[0] : line[1]]:
            value = (value ^ each) * _MIXER
    return value
