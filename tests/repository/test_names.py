"""Names say what a thing is: no two classes share one, and docstrings open with the thing."""

from __future__ import annotations

import ast
import re
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


QUESTION = re.compile(r"(What|Whether|How|Where|Which|Why|Who|When)\b")


def test_docstrings_open_with_the_thing_and_ask_nothing() -> None:
    asking = [
        f"{path.relative_to(PACKAGE)}:{node.lineno}: {node.value.value.splitlines()[0]}"
        for path in sorted(PACKAGE.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        # Those of modules, classes and functions, and those below constants and fields.
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        if QUESTION.match(node.value.value.strip())
    ]
    assert asking == []
