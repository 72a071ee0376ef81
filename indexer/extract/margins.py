"""The margins of pages: lines repeated at their edges through a document."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import zip_longest
from typing import NamedTuple

# Running headers and footers of more lines than this are not known in practice.
_EDGE = 4
# Left and right pages may have their own: a page is compared with the next two on either side.
_NEIGHBOURS = (1, 2)
_NUMBERS = re.compile(r"(\d+|\b[ivxlc]+\b)", re.IGNORECASE)
_ROMAN = {"i": 1, "v": 5, "x": 10, "l": 50, "c": 100}


def without_running_lines(pages: Sequence[list[str]]) -> tuple[Sequence[list[str]], list[str]]:
    tops = [[_plain(line) for line in page[:_EDGE]] for page in pages]
    bottoms = [[_plain(line) for line in page[: -_EDGE - 1 : -1]] for page in pages]
    kept, running = [], dict[str, None]()
    for number, page in enumerate(pages):
        top, bottom = _running(tops, number), _running(bottoms, number)
        kept.append(page[len(top) : max(len(top), len(page) - len(bottom))])
        running |= dict.fromkeys(top + bottom)
    return (kept, list(running)) if 2 * _size(kept) > _size(pages) else (pages, [])


def _size(pages: Sequence[list[str]]) -> int:
    return sum(sum(map(len, page)) for page in pages)


class _Edge(NamedTuple):
    words: tuple[str, ...]
    numbers: tuple[str, ...]

    def as_on(self, other: _Edge, pages: int) -> str | None:
        if self.words != other.words:
            return None
        pairs = list(zip(self.numbers, other.numbers, strict=True))
        if any(own != ahead and _number(ahead) - _number(own) != pages for own, ahead in pairs):
            return None
        numbers = [own if own == ahead else "#" for own, ahead in pairs]
        return "".join(piece for pair in zip_longest(self.words, numbers, fillvalue="") for piece in pair)


def _plain(line: str) -> _Edge:
    pieces = _NUMBERS.split(" ".join(line.split()))
    return _Edge(tuple(pieces[::2]), tuple(pieces[1::2]))


def _number(digits: str) -> int:
    if digits.isdecimal():
        return int(digits[:18])
    values = [_ROMAN[letter] for letter in digits.lower()[:18]]
    return sum(-one if one < after else one for one, after in zip(values, [*values[1:], 0], strict=True))


def _running(edges: list[list[_Edge]], number: int) -> list[str]:
    near = [
        (other - number, line)
        for step in _NEIGHBOURS
        for other in (number - step, number + step)
        if 0 <= other < len(edges)
        for line in edges[other]
    ]
    found: list[str] = []
    for line in edges[number]:
        same = next((said for pages, other in near if (said := line.as_on(other, pages)) is not None), None)
        if same is None:
            break
        found.append(same)
    return found
