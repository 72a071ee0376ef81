"""The notebooks run, on what is installed here, and tell what they are there to tell."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.pages import DOCS

sys.path.insert(0, str(DOCS / "site"))

import notebook_pages

NOTEBOOKS = sorted(notebook_pages.NOTEBOOKS.glob("*.ipynb"))


@pytest.fixture(scope="module")
def duplicates() -> Any:
    return notebook_pages.executed(notebook_pages.NOTEBOOKS / "duplicates.ipynb")


def outputs(notebook: Any) -> list[dict[str, Any]]:
    return [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]


def test_it_finds_duplicates(duplicates: Any) -> None:
    said = "\n".join(output.get("text", "") for output in outputs(duplicates))
    texts, different = map(int, re.findall(r"^(\d+) licences.* (\d+) differ", said, re.MULTILINE)[0])
    [kept] = [
        re.match(r"(\d+) of (\d+) texts kept", output["data"]["text/plain"])
        for output in outputs(duplicates)
        if "texts kept" in output.get("data", {}).get("text/plain", "")
    ]
    assert kept
    assert int(kept[2]) == texts > 50
    assert int(kept[1]) < different / 2, "most licences are copies with changes"
    assert re.search(r"% of the shingles in common$", said, re.MULTILINE)


def test_it_shows_pictures(duplicates: Any) -> None:
    assert sum("image/png" in output.get("data", {}) for output in outputs(duplicates)) == 2


def test_nothing_goes_wrong_on_the_way(duplicates: Any) -> None:
    assert not [output for output in outputs(duplicates) if output.get("name") == "stderr"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_what_is_stored_is_of_this_notebook(path: Path) -> None:
    """Each cell that prints has its output: the page would lack it."""
    page, pictures = notebook_pages.page_of(path)
    assert page.startswith("# ")
    assert all(f"({name})" in page for name in pictures)
    assert len(pictures) == 2
    assert page.count("```text") >= 4
    assert "Error" not in page
