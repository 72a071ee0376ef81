"""The margins of pages: lines repeated at their edges through a document."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

# Running headers and footers of more lines than this are not known in practice.
_EDGE = 4
# Left and right pages may have their own: a page is compared with the next two on either side.
_NEIGHBOURS = (1, 2)
# Without IGNORECASE, which also takes the Turkish i without a dot.
_NUMBERS = re.compile(r"(\d+|\b[ivxlcIVXLC]+\b)")
_ROMAN = {"i": 1, "v": 5, "x": 10, "l": 50, "c": 100}


def without_running_lines(pages: Sequence[list[str]]) -> tuple[Sequence[list[str]], list[str]]:
    tops = [[_edge(line) for line in page[:_EDGE]] for page in pages]
    bottoms = [[_edge(line) for line in page[: -_EDGE - 1 : -1]] for page in pages]
    kept, running = [], dict[str, None]()
    for number, page in enumerate(pages):
        top, bottom = _running(tops, number), _running(bottoms, number)
        kept.append(page[len(top) : max(len(top), len(page) - len(bottom))])
        running |= dict.fromkeys(top + bottom)
    return (kept, list(running)) if 2 * _size(kept) > _size(pages) else (pages, [])


def _size(pages: Sequence[list[str]]) -> int:
    return sum(sum(map(len, page)) for page in pages)


class _Edge(NamedTuple):
    text: str
    counts: tuple[int, int, int]


def _edge(line: str) -> _Edge:
    text = " ".join(line.split())
    # No number has these, and few lines have equally many.
    return _Edge(text, (text.count(" "), text.count("a"), text.count("e")))


def _running(edges: list[list[_Edge]], number: int) -> list[str]:
    near = [
        (other - number, line)
        for step in _NEIGHBOURS
        for other in (number - step, number + step)
        if 0 <= other < len(edges)
        for line in edges[other]
    ]
    found: list[str] = []
    for text, counts in edges[number]:
        alike = (_as_on(text, other.text, pages) for pages, other in near if other.counts == counts)
        same = next((said for said in alike if said is not None), None)
        if same is None:
            break
        found.append(same)
    return found


def _as_on(line: str, other: str, pages: int) -> str | None:
    """The line with a sign for each number that counts the pages, if the other line says the same so many pages on."""
    own, ahead = _NUMBERS.split(line), _NUMBERS.split(other)
    if own[::2] != ahead[::2]:
        return None
    for place in range(1, len(own), 2):
        if own[place] != ahead[place]:
            if _number(ahead[place]) - _number(own[place]) != pages:
                return None
            own[place] = "#"
    return "".join(own)


def _number(digits: str) -> int:
    if digits.isdecimal():
        return int(digits[:18])
    values = [_ROMAN[letter] for letter in digits.lower()[:18]]
    return sum(-one if one < after else one for one, after in zip(values, [*values[1:], 0], strict=True))
