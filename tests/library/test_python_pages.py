"""The Python in the pages runs, and prints what it is said to print."""

from __future__ import annotations

import importlib
import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.pages import DOCS, steps

SCRIPTS = DOCS / "how-to" / "scripts.md"
RECIPES = DOCS / "how-to" / "recipes.md"
RAG = DOCS / "for" / "rag.md"
END = "==== end of step"


@pytest.mark.parametrize("page", [SCRIPTS, RECIPES, RAG], ids=lambda page: page.stem)
def test_the_examples_print_what_they_promise(page: Path, tmp_path: Path) -> None:
    if page == RECIPES:
        for package in ("langchain_core", "haystack"):
            pytest.importorskip(package, reason=f"NEEDS {package}: the recipes did not run")
    subprocess.run(["bash", "-ec", steps(DOCS / "tutorial.md")[0][0]], cwd=tmp_path, check=True, timeout=60)
    shown = steps(page, "python")
    assert shown
    script = "".join(f"{block}\nprint({END!r})\n" for block, _ in shown)
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script],
        cwd=tmp_path / "tutorial",
        capture_output=True,
        text=True,
        timeout=240,
        env={**os.environ, "HAYSTACK_TELEMETRY_ENABLED": "False"},
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split(f"{END}\n")[:-1] == [text for _, text in shown]


@pytest.mark.parametrize("page", ["coming-from.md", "reference/python.md"])
def test_every_name_of_the_package_in_a_page_is_there(page: str) -> None:
    text = (DOCS / page).read_text("utf-8")
    named = set(re.findall(r"\bneardup(?:\.(?!neardup)\w+)+", text))
    assert len(named) > 5
    for name in named:
        module, parts = "neardup", name.split(".")[1:]
        while len(parts) > 1 and importlib.util.find_spec(f"{module}.{parts[0]}"):
            module = f"{module}.{parts.pop(0)}"
        found = importlib.import_module(module)
        for part in parts:
            # A module is there once it was imported.
            whole = f"{found.__name__}.{part}"
            found = getattr(found, part) if hasattr(found, part) else importlib.import_module(whole)
