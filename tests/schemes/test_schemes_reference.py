"""The figures of docs/reference/schemes.md are those of the schemes."""

from __future__ import annotations

from pathlib import Path

import pytest

from indexer.schemes.registry import scheme
from indexer.schemes.testing import document

LINES = (Path(__file__).resolve().parents[2] / "docs" / "reference" / "schemes.md").read_text("utf-8").splitlines()
FAMILIES = ("minhash", "weighted-minhash", "supershingles", "random-projection")


def cells(start: str) -> list[str]:
    line = next(line for line in LINES if line.startswith(start))
    return [cell.strip() for cell in line.strip("|").split("|")]


@pytest.mark.parametrize("family", FAMILIES)
def test_what_lookups_find(family: str) -> None:
    similarities = [float(cell) for cell in cells("| family | 0.50")[1:]]
    found = cells(f"| `{family}` | ")[1:]
    assert found == [f"{scheme(family).plan(similarity).recall:.1%}" for similarity in similarities]


@pytest.mark.parametrize("family", FAMILIES)
def test_sizes_and_keys(family: str) -> None:
    made = scheme(family)
    sketch = made.sketch(document(1))
    assert sketch is not None
    agreeing = {1: "one has", 2: "two have"}[made.agreeing]
    _, _, size, keys, _ = cells(f"| [`{family}`]")
    assert (size, keys) == (str(len(sketch.payload)), f"{len(sketch.keys)}, {agreeing} to agree")


@pytest.mark.parametrize("family", FAMILIES)
def test_defaults(family: str) -> None:
    section = LINES[LINES.index(f"## {family}") + 1 :]
    ends = [at for at, line in enumerate(section) if line.startswith("## ")]
    written = {}
    for line in section[: ends[0] if ends else None]:
        if line.startswith("| `"):
            names, values = line.split("|")[1:3]
            written |= dict(zip(names.replace("`", "").replace(" ", "").split(","), values.split(","), strict=True))
    written.pop("threshold", None)
    expected = {name: str(value) for name, value in scheme(family).parameters.items()}
    assert {name: value.strip() for name, value in written.items()} == expected
