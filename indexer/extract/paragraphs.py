"""The ends of paragraphs among the lines of a page."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from math import inf
from typing import NamedTuple

END = "\f"
"""Stands behind the last line of a paragraph."""

# Against the usual ones of the page: typesetters stretch the gaps between lines by a few percent, and leave half a line
# or more before a heading; a last line is shorter than the others.
_WIDE, _SHORT = 1.3, 0.8
# Points, half of a small indent.
_INDENT = 4.0
_SENTENCE_END, _CLOSING = ".!?:;\u3002\uff01\uff1f\u0964\u061f", "\"'\u201d\u2019\u00bb)]"
_BULLETS = "\u2022\u2023\u25aa\u25cf\u25e6"
# A dash or a number may also stand in a sentence.
_ITEM = re.compile(r"\s*(?:[\u2013\u2014*-]|\(?(?:\d{1,3}|[a-zA-Z])[.)])\s")


class PageLine(NamedTuple):
    """A line of a page, or a part of one, with its place in points.

    `below` is its distance below the line before it, in points or in lines.
    """

    text: str
    left: float = 0.0
    below: float = 1.0
    base: float = 0.0


def with_ends(lines: Sequence[PageLine]) -> list[str]:
    if not lines:
        return []
    wide = _WIDE * _usual([line.below for line in lines[1:] if 0 < line.below < inf], 0.5)
    short = _SHORT * _usual([len(line.text) for line in lines], 0.75)
    texts = []
    for line, after in pairwise(lines):
        ends = after.below > wide or _ends(line, after, is_short=len(line.text) < short)
        texts.append(line.text + END * ends)
    return [*texts, lines[-1].text + END]


def of_text(text: str) -> list[str]:
    found, below = [], 1.0
    for line in text.replace(END, " ").splitlines():
        if line.strip():
            found.append(PageLine(line, 0.0, below))
        below = 1.0 if line.strip() else inf
    return with_ends(found)


def _usual(numbers: Sequence[float], share: float) -> float:
    return sorted(numbers)[int(share * len(numbers))] if numbers else 0.0


def _ends(line: PageLine, after: PageLine, *, is_short: bool) -> bool:
    begins = after.text.lstrip()[:1]
    if begins and begins in _BULLETS:
        return True
    last = line.text.rstrip().rstrip(_CLOSING)[-1:]
    ended = last != "" and last in _SENTENCE_END
    if is_short:
        return ended or not begins.islower()
    return ended and (after.left > line.left + _INDENT or bool(_ITEM.match(after.text)))
