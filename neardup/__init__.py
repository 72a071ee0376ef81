"""The package under its public name: `neardup.X` is `indexer.X`, for public names and submodules.

>>> import neardup
>>> found = neardup.dedupe(["Pour hot water on the tea.", "Oranges", "pour hot  water on the tea"])
>>> found.of.tolist()
[0, 1, 0]
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import indexer.errors

if TYPE_CHECKING:
    from indexer import Collection as Collection
    from indexer import Document as Document
    from indexer import Fingerprint as Fingerprint
    from indexer import HammingIndex as HammingIndex
    from indexer import MatchRule as MatchRule
    from indexer import MemoryIndex as MemoryIndex
    from indexer import NeardupError as NeardupError
    from indexer import __version__ as __version__
    from indexer import dedupe as dedupe
    from indexer import find_pairs as find_pairs
    from indexer import fingerprint as fingerprint
    from indexer import fingerprints as fingerprints
    from indexer import open as open  # noqa: A004
    from indexer import open_store as open_store
    from indexer import pairs_of as pairs_of
    from indexer import parse_rule as parse_rule
    from indexer import read_document as read_document
    from indexer import sketches as sketches
    from neardup import errors as errors
    from neardup import model as model
    from neardup import schemes as schemes
    from neardup import stores as stores
    from neardup import text as text

__all__: list[str] = []
__all__ += indexer.__all__


class _SameModules(MetaPathFinder, Loader):
    """Imports `neardup.a.b` as the very module `indexer.a.b`, and gives the public classes in it their public names."""

    def find_spec(self, name: str, path: Sequence[str] | None = None, _: object = None) -> ModuleSpec | None:
        if name.startswith(f"{indexer.__name__}."):
            return self._named(name, path) if _is_public(name) else None
        if not name.startswith(f"{__name__}.") or name == f"{__name__}.__main__":
            return None
        found = importlib.util.find_spec(self._real(name))
        return found and ModuleSpec(name, self, is_package=found.submodule_search_locations is not None)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = importlib.import_module(self._real(spec.name))
        # Python writes the new spec into the module, and the first one is put back.
        spec.loader_state = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        assert module.__spec__  # noqa: S101 - Python has just set it
        module.__spec__ = module.__spec__.loader_state

    def _real(self, name: str) -> str:
        return indexer.__name__ + name.removeprefix(__name__)

    def _named(self, name: str, path: Sequence[str] | None) -> ModuleSpec | None:
        others = (each.find_spec(name, path) for each in sys.meta_path if each is not self)
        spec = next(filter(None, others), None)
        if spec and spec.loader:
            execute = spec.loader.exec_module

            def executed(module: ModuleType) -> None:
                execute(module)
                _name_classes(module)

            spec.loader.exec_module = executed  # type: ignore[method-assign]
        return spec


def _is_public(name: str) -> bool:
    """True for a module with a stub, as the pages name them, and for the home of a name of this package."""
    stub = Path(__file__).parent.joinpath(*name.split(".")[1:])
    is_home = any(home.startswith(f"{name}:") for home in indexer._HOMES.values())
    return is_home or stub.with_suffix(".pyi").exists() or (stub / "__init__.pyi").exists()


def _name_classes(module: ModuleType) -> None:
    name, classes = __name__ + module.__name__.removeprefix(indexer.__name__), vars(module)
    # Who evaluates the annotations of a class looks there for their names.
    sys.modules[name] = module
    for value in classes.values():
        if isinstance(value, type) and value.__module__ == module.__name__:
            value.__module__ = name
    for home in indexer._HOMES.values():
        place, _, own = home.partition(":")
        if place == module.__name__ and isinstance(classes.get(own), type):
            classes[own].__module__ = __name__


# First: else Python would load the files of `neardup.core`, which is `indexer.core`, a second time.
sys.meta_path.insert(0, _SameModules())


# For a type checker a name that is not in the list above is an error.
if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        globals()[name] = getattr(indexer, name)
        return globals()[name]


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


for _name, _module in [*sys.modules.items()]:
    if _name.startswith(f"{indexer.__name__}.") and _is_public(_name):
        _name_classes(_module)
