"""Names say what a thing is: no two classes share one, and docstrings open with the thing."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from itertools import permutations
from pathlib import Path

ALIAS = re.compile(r"[A-Z][A-Za-z]*[a-z][A-Za-z]*")
PACKAGE = Path(__file__).resolve().parents[2] / "indexer"


def test_no_two_classes_or_types_have_the_same_name() -> None:
    """A type that is written the same in several places, as an array of int64, is one type."""
    places: dict[str, dict[str, str]] = defaultdict(dict)
    for path in sorted(PACKAGE.rglob("*.py")):
        shown = str(path.relative_to(PACKAGE))
        for node in ast.parse(path.read_text("utf-8")).body:
            if isinstance(node, ast.ClassDef):
                # One for a module alone too: whoever reads both should not take one for the other.
                places[node.name.lstrip("_")][shown] = shown
            elif isinstance(node, ast.Assign) and ALIAS.fullmatch(name := ast.unparse(node.targets[0])):
                places[name][shown] = ast.unparse(node.value).replace("npt.", "")
    assert len(places) > 500
    assert {name: list(of) for name, of in places.items() if len(set(of.values())) > 1} == {}


def test_few_classes_have_all_fields_of_another() -> None:
    """A result is declared where it is made; another class with all of its fields is a copy of it."""
    fields = {
        f"{path.stem}:{node.name}": {ast.unparse(each.target) for each in node.body if isinstance(each, ast.AnnAssign)}
        for path in PACKAGE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.ClassDef)
    }
    copies = [
        each for each in permutations(fields, 2) if len(fields[each[0]]) > 4 and fields[each[0]] <= fields[each[1]]
    ]
    assert len(fields) > 500
    assert len(copies) <= 13, copies


QUESTION = re.compile(r"(What|Whether|How|Where|Which|Why|Who|Whose|When)\b")


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
