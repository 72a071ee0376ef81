"""The front page claims no figure that the page of figures, which the benchmarks print, does not have."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# A number, and the unit that it has, as both pages write them.
_FIGURE = re.compile(r"\d(?:[\d,.]*\d)?(?: (?:MB/s|pages/s|ms|s|x|MB|GB|%)(?![\w/])|%)?")


def test_every_main_figure_stands_among_the_figures() -> None:
    front = (ROOT / "README.md").read_text("utf-8")
    [table] = re.findall(r"^## Main figures$.*?^\| \|.*?\n\|---.*?\n(.*?)\n\n", front, re.MULTILINE | re.DOTALL)
    known = set(_FIGURE.findall((ROOT / "docs/figures.md").read_text("utf-8")))
    claimed = [(row, figure) for row in table.splitlines() for figure in _FIGURE.findall(row.split("|")[2])]
    assert len(claimed) > 10
    # A table may have the unit in its first line.
    assert not [row for row, figure in claimed if not {figure, figure.split(" ")[0]} & known]
