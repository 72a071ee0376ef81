"""Names say what a thing is: no two classes share one, and docstrings open with the thing."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[2] / "indexer"


def test_no_two_classes_have_the_same_name() -> None:
    places: dict[str, list[str]] = defaultdict(list)
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.parse(path.read_text("utf-8")).body:
            if isinstance(node, ast.ClassDef):
                places[node.name].append(str(path.relative_to(PACKAGE)))
    assert len(places) > 500
    assert {name: paths for name, paths in places.items() if len(paths) > 1} == {}
