"""The tests are one package: each imports what it shares with others by its full name, and no other test."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
# These measure, or examine the project's own files.
_MAY_IMPORT_BENCHMARKS = {"benchmarks", "engines/bench.py", "repository"}


def imported() -> Iterator[tuple[str, str]]:
    """Each file of the tests, by its path in the folder, with each module that it imports."""
    for file in sorted(TESTS.rglob("*.py")):
        name = file.relative_to(TESTS).as_posix()
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.Import):
                yield from ((name, alias.name) for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module:
                yield name, node.module
                yield from ((name, f"{node.module}.{alias.name}") for alias in node.names)


def test_no_test_imports_another() -> None:
    tests = {".".join(("tests", *file.relative_to(TESTS).with_suffix("").parts)) for file in TESTS.rglob("test_*.py")}
    assert [(name, module) for name, module in imported() if module in tests] == []


def test_only_measurements_import_benchmarks() -> None:
    found = [name for name, module in imported() if module.startswith("tests.benchmarks")]
    assert {name for name in found if not {name, name.split("/")[0]} & _MAY_IMPORT_BENCHMARKS} == set()


def test_shared_code_is_imported_by_its_full_name() -> None:
    own = {file.stem for file in TESTS.rglob("*.py")} | {folder.name for folder in TESTS.iterdir() if folder.is_dir()}
    beginnings = {"tests", "conftest", "__init__"}
    local = [(name, module) for name, module in imported() if module.split(".")[0] in own - beginnings]
    # Names of the standard library and of packages that a file or a folder of the tests has, too.
    assert [(name, module) for name, module in local if not _installed(module.split(".")[0])] == []


def _installed(name: str) -> bool:
    from importlib.util import find_spec

    found = find_spec(name)
    return found is not None and not str(found.origin).startswith(str(TESTS))
