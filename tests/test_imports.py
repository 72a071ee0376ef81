"""Imports go one way: a room may import those above it, never those below."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[1] / "indexer"

# From the ground up; a room may import its own and every lower floor, of its own floor only itself.
FLOORS = [
    {"errors", "hiding", "model", "origins", "own_files", "ragged", "text_diff", "tokens", "visible"},
    {"config", "core", "keys", "source_fields"},
    {"core_sketch", "exact", "hamming", "languages", "pairs"},
    {"features", "refs"},
    {"corpus"},
    {"schemes", "extract", "stores"},
    {"dashboards", "interchange", "jsonlines", "sketching", "slices", "store_schemes"},
    {"ownership", "sources"},
    {"outcomes", "removal"},
    {"provision"},
    {"gathering", "pipeline", "stored_text"},
    {"matching", "stored_inputs"},
    {"clustering"},
    {"annotate_sinks", "pipelines"},
    {"annotate"},
    {"report_figures"},
    {"report"},
    {"evaluate"},
    {"evaluate_documents", "evaluate_show", "report_html"},
    {"bench"},
    {"cli", "demo"},
    {"__init__", "__main__"},
]
FLOOR_OF = {room: number for number, rooms in enumerate(FLOORS) for room in rooms}
# On the ground floor the model and the rows raise the errors.
SIDEWAYS = {("model", "errors"), ("ragged", "errors")}


def room_of(module: str) -> str:
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else "__init__"


def imports(path: Path) -> Iterator[tuple[str, int]]:
    """Every module of this package that a file imports, and the line."""
    tree = ast.parse(path.read_text("utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "indexer":
            if (PACKAGE.parent / node.module.replace(".", "/")).is_dir():
                yield from ((f"{node.module}.{alias.name}", node.lineno) for alias in node.names)
            else:
                yield node.module, node.lineno
        elif isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names if alias.name.startswith("indexer."))


FILES = sorted(PACKAGE.rglob("*.py"))
STORES = sorted((PACKAGE / "stores").glob("*.py"))
# The store in a cluster is put together of parts; these modules are what they share.
SHARED = {"search_bodies", "search_context", "search_lookup"}
PARTS = {path.stem for path in STORES if path.stem.startswith("search_")} - SHARED


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_no_upward_import(path: Path) -> None:
    room = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
    assert room in FLOOR_OF, f"{room} has no floor yet; give it one in this test"
    for module, line in imports(path):
        other = room_of(module)
        if other in ("_core", room):
            continue
        allowed = FLOOR_OF.get(other, 0) < FLOOR_OF[room] or (room, other) in SIDEWAYS
        assert allowed, f"{path.relative_to(PACKAGE)}:{line} imports {module}, which is not below it"


@pytest.mark.parametrize("path", STORES, ids=lambda path: path.name)
def test_the_parts_of_the_store_in_a_cluster_know_neither_it_nor_each_other(path: Path) -> None:
    known = {"__init__": {"search"}, "search": PARTS}.get(path.stem, set())
    for module, line in imports(path):
        other = module.removeprefix("indexer.stores.")
        assert other in known or other not in {"search", *PARTS}, f"{path.name}:{line} imports {module}"


def test_imports_are_seen_however_they_are_written(tmp_path: Path) -> None:
    lines = (
        "import indexer.stores.search",
        "from indexer.stores import mapping, search",
        "from indexer.stores.search import SearchStore",
        "if TYPE_CHECKING:\n    from indexer.stores.search import SearchStore",
        "def late():\n    from indexer.stores.search import SearchStore",
    )
    for line in lines:
        (tmp_path / "part.py").write_text(line, "utf-8")
        assert "indexer.stores.search" in [module for module, _ in imports(tmp_path / "part.py")]


def test_only_the_core_imports_the_extension() -> None:
    users = {path.name for path in FILES if any(module == "indexer._core" for module, _ in imports(path))}
    assert users == {"core.py", "core_sketch.py"}


def test_no_two_test_files_share_a_name() -> None:
    # They are imported by their names alone.
    names = [path.name for path in PACKAGE.parent.joinpath("tests").rglob("*.py")]
    assert sorted({name for name in names if names.count(name) > 1} - {"conftest.py", "__init__.py"}) == []
