"""`neardup` is the package under the name that people import."""

from __future__ import annotations

import importlib
import pickle
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import indexer
import neardup
import neardup.errors
from neardup.errors import UsageError

STUBS = Path(neardup.__file__).parent


@pytest.mark.parametrize("name", indexer.__all__)
def test_each_public_name_is_the_same(name: str) -> None:
    value = getattr(neardup, name)
    assert value is getattr(indexer, name)
    if isinstance(value, type):
        assert value.__module__.startswith("neardup")


def test_what_the_library_gives_has_public_names(tmp_path: Path) -> None:
    script = """
import pickle, typing
import indexer.library.records
import neardup
from neardup.stores import Store
with neardup.open("tea.neardup") as collection:
    collection.add("a", "pour hot water on the leaves of the tea and wait")
    match = collection["a"]
    folded = collection.distinct([("a", None)])[0]
assert pickle.loads(pickle.dumps(match)) == match
assert typing.get_type_hints(type(match))["title"] is str
print(*(kind.__module__ for kind in (type(collection), type(match), type(folded), Store, neardup.errors.StoreError)))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=tmp_path)
    assert done.stderr == ""
    assert done.stdout.split() == [
        "neardup", "neardup.library.records", "neardup.library.distinct_hits", "neardup.stores.base", "neardup.errors",
    ]  # fmt: skip


def test_each_module_is_the_same_and_loaded_once() -> None:
    names = [
        found.name for found in pkgutil.walk_packages(indexer.__path__, "indexer.") if "__main__" not in found.name
    ]
    assert len(names) > 200
    for name in names:
        if not name.startswith(("indexer.batch.spark", "indexer.service", "indexer._core")):
            ours = importlib.import_module("neardup" + name.removeprefix("indexer"))
            assert ours is importlib.import_module(name), name
            assert ours.__spec__
            assert ours.__spec__.name == name


def test_a_module_that_is_not_there_is_named() -> None:
    with pytest.raises(ModuleNotFoundError, match=r"neardup\.nosuch"):
        importlib.import_module("neardup.nosuch")
    with pytest.raises(AttributeError, match="nosuch"):
        _ = neardup.nosuch


def test_values_travel_between_processes() -> None:
    values = [neardup.Document("tea"), UsageError("no tea"), neardup.fingerprint("one two three")]
    script = "import sys, pickle; print(*map(type, pickle.load(sys.stdin.buffer)))"
    done = subprocess.run([sys.executable, "-c", script], input=pickle.dumps(values), capture_output=True, check=True)
    expected = "<class 'neardup.Document'> <class 'neardup.errors.UsageError'> <class 'neardup.Fingerprint'>"
    assert done.stdout.decode().strip() == expected


def test_importing_it_loads_little() -> None:
    script = "import sys, neardup; print(sorted({'numpy', 'indexer.library', 'elasticsearch'} & {*sys.modules}))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_each_stub_names_a_module() -> None:
    stubs = sorted(STUBS.rglob("*.pyi"))
    assert len(stubs) > 20
    for stub in stubs:
        parts = stub.relative_to(STUBS).with_suffix("").parts
        module = ".".join(("indexer", *parts)).removesuffix(".__init__")
        assert stub.read_text("utf-8") == f"from {module} import *\n"
        assert importlib.util.find_spec(module), module
