"""The frame of a text: lines found around many other documents."""

from __future__ import annotations

from itertools import takewhile

import numpy as np

from indexer.relations.lexicon import Lexicon
from indexer.relations.wording import HashedLine, TokenValues, Wording


def line_hashes(wording: Wording) -> TokenValues:
    head, foot = wording.outer_lines
    return np.array([line.hash for line in {*head, *foot}], dtype=np.uint64)


def frame_bounds(wording: Wording, lexicon: Lexicon | None) -> tuple[int, int]:
    if lexicon is None or not lexicon.frames:
        return 0, len(wording)
    bounds = HashedLine(0, 0, 0), HashedLine(len(wording), 0, 0)
    head, foot = (
        [bound, *takewhile(lambda line: lexicon.is_frame(line.hash), lines)][-1]
        for bound, lines in zip(bounds, wording.outer_lines, strict=True)
    )
    return head.end, foot.start
