"""The package under the name that people import: `neardup.X` is `indexer.X`, for public names and submodules.

>>> import neardup
>>> found = neardup.dedupe(["Pour hot water on the tea.", "Oranges", "pour hot  water on the tea"])
>>> found.of.tolist()
[0, 1, 0]
"""

from __future__ import annotations

import importlib.util
import sys
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
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
    """Imports `neardup.a.b` as the very module `indexer.a.b`."""

    def find_spec(self, name: str, *_: object) -> ModuleSpec | None:
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


# First: else Python would load the files of `neardup.core`, which is `indexer.core`, a second time.
sys.meta_path.insert(0, _SameModules())


# For a type checker a name that is not in the list above is an error.
if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        value = getattr(indexer, name)
        if isinstance(value, type):
            value.__module__ = __name__
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


for _error in vars(indexer.errors).values():
    if isinstance(_error, type) and issubclass(_error, indexer.errors.NeardupError):
        _error.__module__ = f"{__name__}.errors"
