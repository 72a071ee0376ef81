"""The pages claim no figure that no benchmark prints."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from indexer.schemes import registry
from tests.benchmarks.__main__ import PARTS

ROOT = Path(__file__).resolve().parents[2]
FIGURES = "docs/figures.md"
PAGES = sorted(str(path.relative_to(ROOT)) for path in (ROOT / "README.md", *(ROOT / "docs").rglob("*.md")))
_UNITS = (
    "MB/s|GB/s|pages/s|documents/s|a second|ms|µs|microseconds|s|x|times|MB|GB|GiB|kB|TB|%|bytes|core-hours|dollars"
)
_NUMBER = re.compile(r"\d(?:[\d,.]*\d)?")
# A number with the unit of a measurement, as pages write it.
_FIGURE = re.compile(rf"(?<![\w.`-])\d(?:[\d,.]*\d)?(?: ?(?:{_UNITS})(?![\w/-])|%)")
_NAMED = re.compile(r"(?:python -m tests\.benchmarks[. ]|tests\.engines\.bench --)([a-z_-]+)")
# Numbers that say what the program does, what a rule asks for, or what follows by calculation: none is measured.
DEFINED = {
    "docs/coming-from.md": ["68%"],
    "docs/concepts.md": ["8 bytes"],
    "docs/explanation/how-it-works.md": ["95%", "85%"],
    "docs/explanation/spark.md": ["16 bytes", "100 bytes"],
    "docs/glossary.md": ["8 bytes"],
    "docs/how-to/batch-passages.md": ["8 bytes"],
    "docs/how-to/evaluation.md": ["5%", "25%"],
    "docs/how-to/kinds.md": ["65%"],
    "docs/how-to/passages.md": ["95%"],
    "docs/how-to/report.md": ["10 MB"],
    "docs/operations.md": ["50 GB"],
    "docs/reference/pipelines.md": ["1,000,000 bytes"],
    "docs/reference/batches.md": ["120 bytes", "16 bytes", "64 MB"],
    "docs/reference/clusters.md": ["4 GiB"],
    "docs/reference/formats.md": ["4 GiB", "200 times"],
    "docs/reference/schemes.md": ["8 bytes", "5 bytes", "16,000 bytes", "95%"],
    "docs/reference/fields.md": ["16 bytes"],
    "docs/rules.md": ["90%", "65%"],
    "docs/schemes.md": ["5 bytes", "8 bytes", "16 bytes"],
}


def sections(page: str) -> Iterator[tuple[int, str]]:
    """The parts of a page from one heading to the next, with the number of their first line; without code."""
    text = re.sub(
        r"```.*?```", lambda block: "\n" * block[0].count("\n"), (ROOT / page).read_text("utf-8"), flags=re.DOTALL
    )
    start = 0
    for heading in [*[*re.finditer(r"^#+ ", text, re.MULTILINE)][1:], None]:
        end = heading.start() if heading else len(text)
        yield text.count("\n", 0, start) + 1, text[start:end]
        start = end


def figures(text: str) -> list[str]:
    """The figures of a text; what is a command or a name is none."""
    return _FIGURE.findall(re.sub(r"`[^`]*`", "``", text))


def known() -> set[str]:
    """The figures of the page of figures; those of a table's column may have their unit in its first line."""
    found = set()
    for _, text in sections(FIGURES):
        found |= set(figures(text))
        for table in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
            rows = [row.split("|")[1:-1] for row in table.splitlines()]
            units = [re.findall(rf"\b(?:{_UNITS})\b", name) for name in rows[0]]
            cells = [
                (cell.strip(), unit)
                for row in rows[2:]
                for cell, names in zip(row, units, strict=True)
                for unit in names
            ]
            found |= {f"{cell} {unit}" for cell, unit in cells}
    return found


def computed() -> dict[str, set[str]]:
    """What the program itself says of its schemes, as pages write it."""
    text = (ROOT / "docs/reference/schemes.md").read_text("utf-8")
    [(heading, rows)] = re.findall(r"^(\| family \| 0.*\n)\|---.*\n((?:\|.*\n)+)", text, re.MULTILINE)
    similarities = [float(cell) for cell in heading.split("|")[2:-1]]
    families = re.findall(r"^\| `([\w-]+)`", rows, re.MULTILINE)
    expected = {f"{registry.scheme(name).plan(at).recall:.1%}" for name in families for at in similarities}
    return {"docs/reference/schemes.md": expected}


@pytest.mark.parametrize("page", [page for page in PAGES if page != FIGURES])
def test_every_figure_stands_among_the_figures_or_beside_its_benchmark(page: str) -> None:
    allowed = known() | set(DEFINED.get(page, ())) | computed().get(page, set())
    strange = []
    for line, text in sections(page):
        named = {name.replace("-", "_") for name in _NAMED.findall(text)}
        assert named <= PARTS.keys(), f"{page}:{line}: no such benchmark: {named - PARTS.keys()}"
        strange += [(line, figure) for figure in figures(text) if not named and figure not in allowed]
    assert not strange


def test_what_is_defined_is_still_said() -> None:
    for page, numbers in DEFINED.items():
        said = {figure for _, text in sections(page) for figure in figures(text)}
        assert set(numbers) <= said - known(), f"{page}: {set(numbers) - (said - known())}"


def test_every_section_of_the_figures_names_its_benchmark() -> None:
    measured = [(line, text) for line, text in sections(FIGURES) if figures(text)]
    assert len(measured) > 10
    for line, text in measured:
        names = [
            name
            for name in re.findall(r"`(?:python -m tests.benchmarks[. ])?([a-z_]+)\b[^`]*`:?", text)
            if name in PARTS
        ]
        assert names, f"{FIGURES}:{line}"


def test_the_main_figures_of_a_row_stand_in_one_section() -> None:
    front = (ROOT / "README.md").read_text("utf-8")
    [table] = re.findall(r"^## Main figures$.*?^\| \|.*?\n\|---.*?\n(.*?)\n\n", front, re.MULTILINE | re.DOTALL)
    measured = [set(_NUMBER.findall(text)) for _, text in sections(FIGURES)]
    rows = {row: set(_NUMBER.findall(row.split("|")[2])) for row in table.splitlines()}
    assert sum(map(len, rows.values())) > 10
    assert not [row for row, numbers in rows.items() if not any(numbers <= section for section in measured)]
