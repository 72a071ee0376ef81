"""Numbers of lines in the margin of PDFs, and columns that were drawn row by row."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from indexer.extract.base import Extractor, Limits, Options
from indexer.extract.document import read_document
from tests.extract.made_pdf import make_pdf

TEXT = (
    "The keeper of the old lock opened both gates before sunrise, because three barges with gravel were waiting below "
    "the weir and the water had risen by a hand since midnight. Nobody in the village had heard the bell, and so the "
    "bridge stayed closed until the miller came with his key. When the first barge had passed, the keeper wrote its "
    "name into the book, drank his tea and counted the coins that the captain had left on the sill. Two of them were "
    "foreign, but he kept them for his daughter, who liked to look at ships and birds and castles on money that nobody "
    "could spend here any more. By noon the wind had turned, the last boat lay at the pier, and the children of the "
    "schoolmaster were fishing from the wall with a line that the smith had given them in return for carrying his mail."
)
SAID = TEXT.split()


def wrapped(width: int) -> list[str]:
    lines = [""]
    for word in SAID:
        if len(lines[-1]) + len(word) >= width:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return lines


Drawn = list[tuple[str, float, float]]


def numbered(lines: Sequence[str], step: int, first: int = 1) -> Drawn:
    drawn: Drawn = []
    for row, line in enumerate(lines):
        base = 780 - 14 * row
        if (row + first) % step == 0:
            drawn.append((str(row + first), 30, base))
        drawn.append((line, 70, base))
    return drawn


def by_rows(lines: Sequence[str], right: float = 330) -> Drawn:
    half = (len(lines) + 1) // 2
    rows = [(row, side) for row in range(half) for side in range(2) if row + side * half < len(lines)]
    return [(lines[row + side * half], right if side else 40, 780 - 14 * row) for row, side in rows]


def read(drawn: Drawn, extractor: Extractor) -> list[str]:
    return read_document(
        make_pdf([[]], numbered=False, placed=drawn), "a.pdf", Options(extractor=extractor), Limits()
    ).text.split()


@pytest.mark.parametrize("extractor", ["fast", "reference"])
@pytest.mark.parametrize(("step", "first"), [(1, 1), (1, 212), (5, 1), (5, 43), (2, 1)])
def test_numbers_of_lines_are_no_words(extractor: Extractor, step: int, first: int) -> None:
    assert read(numbered(2 * wrapped(60), step, first), extractor) == 2 * SAID


@pytest.mark.parametrize("extractor", ["fast", "reference"])
def test_columns_that_were_drawn_in_turn_are_read_one_after_the_other(extractor: Extractor) -> None:
    assert read(by_rows(wrapped(36)), extractor) == SAID


@pytest.mark.parametrize("extractor", ["fast", "reference"])
def test_the_first_column_of_a_table_and_its_rows_stay(extractor: Extractor) -> None:
    names = [
        f"Barge {name} from Upper {name} with {load}"
        for name, load in zip("ABCDEFGHIJKL", ["Gravel", "Coal"] * 6, strict=True)
    ]
    drawn = numbered(names, 1)
    assert set(read(drawn, extractor)) >= set(map(str, range(1, 13)))
    cells: Drawn = []
    for row, name in enumerate(names):
        cells += [(name, 40, 780 - 14 * row), (f"Captain {name[6]} of the Lower Harbour", 330, 780 - 14 * row)]
    rows = " ".join(text for text, _, _ in cells).split()
    # pdfminer draws what stands below each other together itself.
    assert (read(cells, extractor) == rows) if extractor == "fast" else sorted(read(cells, extractor)) == sorted(rows)


@pytest.mark.parametrize("extractor", ["fast", "reference"])
def test_numbers_that_count_nothing_stay(extractor: Extractor) -> None:
    drawn = [
        (f"{year} {line}", 70.0, 780.0 - 14 * row)
        for row, (year, line) in enumerate(zip([1901, 1911, 1914, 1930], wrapped(60), strict=False))
    ]
    assert {"1901", "1911", "1914", "1930"} <= set(read(drawn, extractor))
