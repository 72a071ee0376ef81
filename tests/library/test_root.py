"""The root of the package: few names, found when they are asked for, none of them a module."""

from __future__ import annotations

import doctest
import subprocess
import sys
from types import ModuleType

import pytest

import indexer


def answered(script: str) -> str:
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_every_name_is_there_and_no_module() -> None:
    assert len(indexer.__all__) <= 18
    for name in indexer.__all__:
        assert not isinstance(getattr(indexer, name), ModuleType), name
    assert set(indexer.__all__) <= set(dir(indexer))
    with pytest.raises(AttributeError, match="nothing"):
        indexer.nothing  # noqa: B018


def test_a_module_of_the_root_has_no_name_of_a_function_there() -> None:
    script = (
        "import importlib, pkgutil, types, indexer\n"
        "for module in pkgutil.iter_modules(indexer.__path__):\n"
        "    if module.name not in ('_core', '__main__'):\n"
        "        importlib.import_module('indexer.' + module.name)\n"
        "print([n for n in indexer.__all__ if isinstance(getattr(indexer, n), types.ModuleType)])"
    )
    assert answered(script) == "[]"


def test_the_modules_of_the_pages_are_there_at_once() -> None:
    assert answered("import indexer; print(indexer.errors.UsageError('tea'))") == "tea"


def test_nothing_is_imported_before_it_is_asked_for() -> None:
    script = "import sys, indexer; print([name for name in sys.modules if name.startswith(('indexer.', 'numpy'))])"
    assert answered(script) == "[]"


def test_the_examples_in_the_docstring_run() -> None:
    failed, tried = doctest.testmod(indexer)
    assert tried == 3
    assert failed == 0
