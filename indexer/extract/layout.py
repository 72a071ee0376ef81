"""Lines of a page in reading order, without line numbers."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from statistics import median

from indexer.extract.paragraphs import PageLine

# Points: lines that stand beside each other, and beginnings of lines below each other.
_SAME_BASE, _SAME_LEFT = 3.0, 6.0
# Fewer lines, or shorter ones, may be a table.
_LEAST_ROWS, _LEAST_LETTERS = 8, 15
LEAST_NUMBERS, _LONGEST_NUMBER, _FARTHEST = 3, 4, 10
# Of the rows of a page most have two columns, or a number where each line has one.
_MOST = 0.6
# Of lines of prose so many begin within a sentence; cells of tables begin with capitals and digits.
_WITHIN = 1 / 3


def _number_of(text: str) -> int | None:
    text = text.strip()
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= _LONGEST_NUMBER else None


def _is_counting(numbers: Sequence[int]) -> bool:
    steps = {after - before for before, after in pairwise(numbers)}
    return len(numbers) >= LEAST_NUMBERS and len(steps) == 1 and 0 < steps.pop() <= _FARTHEST


def without_line_numbers(lines: list[PageLine]) -> list[PageLine]:
    numbers = [line for line in lines if _number_of(line.text) is not None]
    others = [line for line in lines if _number_of(line.text) is None]
    if len(numbers) < LEAST_NUMBERS or len(others) < _LEAST_ROWS:
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
