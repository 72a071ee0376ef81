"""Imports go one way: a package may import those below it, never those above."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import NamedTemporaryFile

import pytest

PACKAGE = Path(__file__).resolve().parents[2] / "indexer"

# From the bottom up; a package may import its own and every lower layer, of its own layer only itself.
LAYERS = [
    {"errors"},
    {"model"},
    {"core"},
    {"text"},
    {"schemes", "extract", "relations"},
    {"stores"},
    {"ingest"},
    {"engine"},
    {"matching"},
    {"clustering"},
    {"batch", "report"},
    {"library"},
    {"service"},
    {"cli"},
    {"__init__", "__main__"},
]
# The same inside folders of several packages.
STORE_LAYERS = [
    {"kept", "sketches", "texts"},
    {"base"},
    {"loading", "schemes", "sqlite"},
    {"__init__"},
]
ENGINE_LAYERS = [
    {"client"},
    {"index"},
    {"setup"},
    {"store.context"},
    {
        *("store.examination", "store.probing", "store.reading", "store.schemes"),
        *("store.texts", "store.writes"),
    },
    {"store.store"},
    {"documents"},
    {"__init__", "index.__init__", "store.__init__"},
]
SCHEME_LAYERS = [
    {"keys"},
    {"base"},
    {"minwise", "registry", "set_joins", "simhash"},
    {"simhash_variants"},
    {
        *("imatch", "minhash", "passages", "random_projection", "shingling", "short_text", "spotsigs"),
        "weighted_minhash",
    },
    {"interchange", "testing"},
    {"__init__"},
]
LAYERS_INSIDE = {"engine": ENGINE_LAYERS, "stores": STORE_LAYERS, "schemes": SCHEME_LAYERS}


def package_of(module: str, layer_of: Mapping[str, int]) -> str:
    """The package that a module is in: the longest beginning of its name that has a layer, else the first part."""
    parts = module.split(".")
    beginnings = [".".join(parts[:length]) for length in range(len(parts), 0, -1)]
    return next((package for package in beginnings if package in layer_of), parts[0])


@functools.cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


def imports(path: Path) -> Iterator[tuple[str, int]]:
    """Every module of this package that a file imports, and the line."""
    tree = tree_of(path)
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "indexer":
            if (PACKAGE.parent / node.module.replace(".", "/")).is_dir():
                yield from ((f"{node.module}.{alias.name}", node.lineno) for alias in node.names)
            else:
                yield node.module, node.lineno
        elif isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names if alias.name.startswith("indexer."))


def needed(path: Path) -> Iterator[Path]:
    """The files of this package that a file imports as it runs, also within functions; not those for types alone."""
    tree = tree_of(path)
    typing = [node for node in ast.walk(tree) if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"]
    for_types = {id(node) for block in typing for node in ast.walk(block)}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and id(node) not in for_types:
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
            files = [file for file in map(file_of, names) if file]
            # Of a package that gives a module of its own, that one.
            yield from files[1:] if len(files) == len(names) else files
        elif isinstance(node, ast.Import) and id(node) not in for_types:
            yield from filter(None, (file_of(alias.name) for alias in node.names))


def file_of(module: str) -> Path | None:
    """The file of a module of this package; None for another one, and for a name that is none."""
    path = PACKAGE.parent / module.replace(".", "/")
    files = (path.with_suffix(".py"), path / "__init__.py")
    return next((file for file in files if module.partition(".")[0] == "indexer" and file.is_file()), None)


def circle(arrows: Mapping[Path, Sequence[Path]]) -> list[Path]:
    """Files that import each other in a circle, the first of them once more at the end; none where there is none."""
    done: set[Path] = set()
    way: list[Path] = []

    def visit(file: Path) -> list[Path]:
        if file in way:
            return [*way[way.index(file) :], file]
        if file in done:
            return []
        way.append(file)
        found = next((found for other in arrows[file] if (found := visit(other))), [])
        way.pop()
        done.add(file)
        return found

    return next((found for file in arrows if (found := visit(file))), [])


def require_downward(path: Path, folder: Path, layer_of: Mapping[str, int]) -> None:
    """AssertionError where a file imports what is not below it, of the packages in its folder."""
    shown = path.relative_to(PACKAGE)
    package = package_of(".".join(path.relative_to(folder).with_suffix("").parts), layer_of)
    assert package in layer_of, f"{shown} has no layer yet; give it one in this test"
    inside = ".".join(folder.relative_to(PACKAGE.parent).parts) + "."
    for module, line in imports(path):
        if not module.startswith(inside):
            continue
        other = package_of(module.removeprefix(inside), layer_of)
        if other not in ("_core", package):
            allowed = layer_of.get(other, 0) < layer_of[package]
            assert allowed, f"{shown}:{line} imports {module}, which is not below it"


def numbered(layers: Sequence[set[str]]) -> dict[str, int]:
    return {package: number for number, packages in enumerate(layers) for package in packages}


FILES = sorted(PACKAGE.rglob("*.py"))
INSIDE = [(path, folder) for folder in LAYERS_INSIDE for path in sorted((PACKAGE / folder).rglob("*.py"))]


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_no_upward_import(path: Path) -> None:
    require_downward(path, PACKAGE, numbered(LAYERS))


@pytest.mark.parametrize(("path", "folder"), INSIDE, ids=lambda value: str(value).removeprefix(f"{PACKAGE}/"))
def test_no_upward_import_inside_a_folder_of_several_rooms(path: Path, folder: str) -> None:
    require_downward(path, PACKAGE / folder, numbered(LAYERS_INSIDE[folder]))


def test_no_files_import_each_other_in_a_circle() -> None:
    found = circle({path: [other for other in needed(path) if other != path] for path in FILES})
    assert not found, " -> ".join(str(path.relative_to(PACKAGE)) for path in found)


def test_every_folder_is_in_layers() -> None:
    """No file or folder in a folder needs another one there that needs it in turn, by way of any of their files."""
    for folder in sorted({path.parent for path in FILES} - {PACKAGE}):
        inside = [path for path in FILES if folder in path.parents]
        rooms = {path: folder / path.relative_to(folder).parts[0] for path in inside}
        arrows: dict[Path, list[Path]] = {room: [] for room in rooms.values()}
        for path in inside:
            arrows[rooms[path]] += [
                rooms[other] for other in needed(path) if other in rooms and rooms[other] != rooms[path]
            ]
        found = circle(arrows)
        assert not found, " -> ".join(str(room.relative_to(PACKAGE)) for room in found)


def test_a_circle_is_seen_wherever_it_is_closed() -> None:
    one, other, third = map(Path, "abc")
    assert circle({one: [other], other: [third], third: []}) == []
    assert circle({one: [other], other: [third], third: [other]}) == [other, third, other]
    within = "def late():\n    from indexer.ingest import outcomes, sources\n"
    for_types = "if TYPE_CHECKING:\n    from indexer.ingest import left_out\n"
    with NamedTemporaryFile("w", suffix=".py") as file:
        file.write(within + for_types)
        file.flush()
        assert [path.stem for path in needed(Path(file.name))] == ["outcomes", "sources"]


def test_nobody_takes_from_the_top_what_it_has_from_below() -> None:
    top = PACKAGE / "__init__.py"
    assert [path for path in FILES if path != top and top in needed(path)] == []


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_no_module_has_the_name_of_a_function_in_it(path: Path) -> None:
    functions = {node.name for node in tree_of(path).body if isinstance(node, ast.FunctionDef)}
    assert path.stem not in functions


def test_imports_are_seen_however_they_are_written(tmp_path: Path) -> None:
    lines = (
        "import indexer.engine.store.store",
        "from indexer.engine.store import context, store",
        "from indexer.engine.store.store import SearchStore",
        "if TYPE_CHECKING:\n    from indexer.engine.store.store import SearchStore",
        "def late():\n    from indexer.engine.store.store import SearchStore",
    )
    for line in lines:
        (tmp_path / "part.py").write_text(line, "utf-8")
        assert "indexer.engine.store.store" in [module for module, _ in imports(tmp_path / "part.py")]


def test_only_the_core_imports_the_extension() -> None:
    users = {path.parent for path in FILES if any(module == "indexer._core" for module, _ in imports(path))}
    assert users == {PACKAGE / "core"}


def test_only_the_batches_on_spark_name_it() -> None:
    users = [path.relative_to(PACKAGE).as_posix() for path in FILES if "pyspark" in path.read_text("utf-8")]
    assert users == ["batch/spark/session.py"]
    # And what its tasks run needs nothing of it.
    users = {path.name for path in FILES if any(name == "indexer.batch.spark.session" for name, _ in imports(path))}
    assert users == {
        *("batches.py", "clustering.py", "frames.py", "runner.py", "tables.py"),
    }


# What the two may import of these is what they say and how: the rest is the library.
OF_THEIR_OWN = {"cli": {"cli", "service"}, "service": {"service"}}
SAID = {"errors", "library", "model", "text"}


@pytest.mark.parametrize("folder", OF_THEIR_OWN)
def test_command_and_service_are_thin_over_the_library(folder: str) -> None:
    lower = [
        f"{path.relative_to(PACKAGE)}: {module}"
        for path in FILES
        if PACKAGE / folder in path.parents
        for module, _ in imports(path)
        if module.split(".")[1] not in OF_THEIR_OWN[folder] | SAID
    ]
    assert not lower, "\n".join(lower)
