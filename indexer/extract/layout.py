"""Lines of a page in reading order, without line numbers."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import pairwise
from statistics import median

from indexer.extract.paragraphs import PageLine

# Points: lines that stand beside each other, and beginnings of lines below each other.
_SAME_BASE, _SAME_LEFT = 3.0, 6.0
# Fewer lines, or shorter ones, may be a table.
_LEAST_ROWS, _LEAST_LETTERS = 8, 15
_LEAST_NUMBERS, _LONGEST_NUMBER, _FARTHEST = 3, 4, 10
# Of the rows of a page most have two columns, or a number where each line has one.
_MOST = 0.6
# Of lines of prose so many begin within a sentence; cells of tables begin with capitals and digits.
_WITHIN = 1 / 3

NUMBERED = re.compile(r"\s*([0-9]{1,4}) +(?=\S)")
"""A number before the words of a line."""
Lefts = Callable[[int], float]
"""The distance of a character from the left side of its page, in points, by its number."""
_SPACES = re.compile(r"(?<=\S) +(?=\S)")
# Lines that may go over two columns, how many of them are looked at for a gap, and how straight it is, in points.
_LONG_ROW, _SAMPLED, _SAME_COLUMN, _MOST_ROWS, _LEAST_GAPS = 30, 6, 6.0, 0.6, 4


def _number_of(text: str) -> int | None:
    text = text.strip()
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= _LONGEST_NUMBER else None


def _is_counting(numbers: Sequence[int]) -> bool:
    steps = {after - before for before, after in pairwise(numbers)}
    return len(numbers) >= _LEAST_NUMBERS and len(steps) == 1 and 0 < steps.pop() <= _FARTHEST


def without_line_numbers(lines: list[PageLine]) -> list[PageLine]:
    numbers = [line for line in lines if _number_of(line.text) is not None]
    others = [line for line in lines if _number_of(line.text) is None]
    if len(numbers) < _LEAST_NUMBERS or len(others) < _LEAST_ROWS:
        return lines
    by_base = {round(line.base / _SAME_BASE): line for line in reversed(others)}
    beside = []
    for number in sorted(numbers, key=lambda line: -line.base):
        row = round(number.base / _SAME_BASE)
        line = next((by_base[near] for near in (row, row - 1, row + 1) if near in by_base), None)
        if line and number.left < line.left:
            beside.append((number, line))
    values = [_number_of(number.text) or 0 for number, _ in beside]
    if not _is_counting(values) or max(number.left for number, _ in beside) >= min(line.left for line in others):
        return lines
    step = values[1] - values[0]
    is_each = (
        len(beside) >= _MOST * len(by_base) if step == 1 else abs(len(by_base) / len(beside) - step) <= 1 + step / 5
    )
    if not is_each or not _is_prose(
        [line.text for _, line in (beside if step == 1 else zip(others, others, strict=True))]
    ):
        return lines
    out = {id(number) for number, _ in beside}
    return [line for line in lines if id(line) not in out]


def by_columns(lines: list[PageLine]) -> list[PageLine]:
    rows: list[list[PageLine]] = []
    for line in lines:
        before = rows[-1][-1] if rows else None
        if before and abs(before.base - line.base) < _SAME_BASE and line.left > before.left:
            rows[-1].append(line)
        else:
            rows.append([line])
    pairs = [row for row in rows if len(row) == 2]
    if len(pairs) < max(_LEAST_ROWS, _MOST * len(rows)):
        return lines
    gutter = median(right.left for _, right in pairs)
    letters = [min(median(len(row[side].text) for row in pairs), 1000) for side in range(2)]
    is_straight = sum(abs(right.left - gutter) < _SAME_LEFT for _, right in pairs) >= 0.9 * len(pairs)
    if (
        not is_straight
        or min(letters) < _LEAST_LETTERS
        or not all(_is_prose([row[side].text for row in pairs]) for side in range(2))
    ):
        return lines
    ordered: list[PageLine] = []
    columns: tuple[list[PageLine], list[PageLine]] = [], []
    longest = max(len(left.text) for left, _ in pairs)
    for row in rows:
        first = row[0]
        if len(row) > 2 or (len(row) == 1 and first.left < gutter - _SAME_LEFT and len(first.text) > longest):
            # What goes over both columns parts what is above from what is below.
            ordered += [*columns[0], *columns[1], *row]
            columns = [], []
        else:
            for line in row:
                columns[line.left >= gutter - _SAME_LEFT].append(line)
    return [line._replace(below=1.0) for line in (*ordered, *columns[0], *columns[1])]


def _is_prose(texts: Sequence[str]) -> bool:
    letters = [letter for text in texts if (letter := text.lstrip()[:1]).isalpha()]
    return len(letters) >= len(texts) / 2 and sum(letter == letter.lower() for letter in letters) >= _WITHIN * len(
        letters
    )


def ordered(left_of: Lefts, lines: list[PageLine], places: list[int], *, by_gaps: bool) -> tuple[list[PageLine], bool]:
    # Most pages have few lines that begin with a digit.
    begun = [row for row, line in enumerate(lines) if line.text.lstrip()[:1].isdigit()]
    if len(begun) >= _LEAST_NUMBERS:
        numbered = {row: found for row in begun if (found := NUMBERED.match(lines[row].text))}
        alone = sum(lines[row].text.strip().isdecimal() for row in begun)
        numbers = [int(numbered[row][1]) for row in sorted(numbered, key=lambda row: -lines[row].base)]
        # Where they are few or don't rise they count no lines, and looking for their places takes time.
        if len(numbers) + alone >= _LEAST_NUMBERS and all(before < after for before, after in pairwise(numbers)):
            cut = list[PageLine]()
            for row, line in enumerate(lines):
                found = numbered.get(row)
                cut += parted_number(line, found, left_of(places[row] + found.end())) if found else [line]
            if len(plain := without_line_numbers(cut)) < len(cut):
                return plain, False
    gutter = _gutter(left_of, lines, places) if by_gaps else None
    if gutter is None:
        return lines, False
    parted = list[PageLine]()
    for line, place in zip(lines, places, strict=True):
        gaps = _gaps(left_of, line, place)
        at = next((end for end, left, _ in gaps if abs(left - gutter) < _SAME_COLUMN), None)
        if at is None:
            parted.append(line)
        else:
            parted.append(line._replace(text=line.text[:at]))
            parted.append(line._replace(text=line.text[at:], left=left_of(place + at)))
    columns = by_columns(parted)
    return (lines, False) if columns is parted else (columns, True)


def parted_number(line: PageLine, number: re.Match[str], left: float) -> list[PageLine]:
    return [line._replace(text=number[1]), line._replace(text=line.text[number.end() :], left=left, below=1.0)]


def _gutter(left_of: Lefts, lines: list[PageLine], places: list[int]) -> float | None:
    rows = [row for row, line in enumerate(lines) if len(line.text) >= _LONG_ROW]
    if len(rows) < _SAMPLED or _widest(left_of, lines, places, max(rows, key=lambda row: len(lines[row].text))) is None:
        return None
    some, begins = rows[:: len(rows) // _SAMPLED][:_SAMPLED], list[float]()
    for looked_at, row in enumerate(some, 1):
        if (left := _widest(left_of, lines, places, row)) is not None:
            begins.append(left)
        if len(begins) + len(some) - looked_at < _MOST_ROWS * len(some):
            return None
    middle = median(begins)
    return middle if sum(abs(left - middle) < _SAME_COLUMN for left in begins) >= _MOST_ROWS * len(some) else None


def _widest(left_of: Lefts, lines: list[PageLine], places: list[int], row: int) -> float | None:
    # A gutter is in the middle of a page.
    side = len(lines[row].text) // 5
    gaps = sorted(_gaps(left_of, lines[row], places[row], side), key=lambda gap: gap[2])
    if len(gaps) < _LEAST_GAPS or gaps[-1][2] <= 1.5 * gaps[len(gaps) // 2][2]:
        return None
    return gaps[-1][1]


def _gaps(left_of: Lefts, line: PageLine, place: int, side: int = 0) -> list[tuple[int, float, float]]:
    found = []
    for space in _SPACES.finditer(line.text, side, len(line.text) - side):
        left = left_of(place + space.end())
        found.append((space.end(), left, left - left_of(place + space.start() - 1)))
    return found
