"""neardup: near-duplicate documents by simhash, inside a search cluster or on one machine.

>>> from indexer import fingerprint
>>> a = fingerprint("The quick brown fox jumps over the lazy dog")
>>> a.tokens
9
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from indexer.clustering.clusters import cluster
    from indexer.errors import NeardupError
    from indexer.extract import extract
    from indexer.hamming import HammingIndex, find_pairs
    from indexer.matching.lookups import Match, lookup
    from indexer.matching.pairing import pairs_of
    from indexer.matching.question import Question
    from indexer.matching.rule import MatchRule, parse_rule
    from indexer.model import Document, Fingerprint, Record
    from indexer.schemes.simhash import fingerprint
    from indexer.stores import open_store

__version__ = "0.1.0"

# Where each name lives; it is imported when first asked for, so that the command starts at once.
_HOMES = {
    "Document": "indexer.model",
    "Fingerprint": "indexer.model",
    "HammingIndex": "indexer.hamming",
    "Match": "indexer.matching.lookups",
    "MatchRule": "indexer.matching.rule",
    "NeardupError": "indexer.errors",
    "Question": "indexer.matching.question",
    "Record": "indexer.model",
    "cluster": "indexer.clustering.clusters",
    "extract": "indexer.extract",
    "find_pairs": "indexer.hamming",
    "fingerprint": "indexer.schemes.simhash",
    "lookup": "indexer.matching.lookups",
    "open_store": "indexer.stores",
    "pairs_of": "indexer.matching.pairing",
    "parse_rule": "indexer.matching.rule",
}

# Modules that the pages name, there without an import of their own.
_MODULES = ("core", "errors", "hamming", "model", "schemes", "stores", "text")

__all__ = [
    "Document",
    "Fingerprint",
    "HammingIndex",
    "Match",
    "MatchRule",
    "NeardupError",
    "Question",
    "Record",
    "__version__",
    "cluster",
    "extract",
    "find_pairs",
    "fingerprint",
    "lookup",
    "open_store",
    "pairs_of",
    "parse_rule",
]


class _Root(ModuleType):
    def __setattr__(self, name: str, value: Any) -> None:
        # Importing a submodule binds its name here; where a function has the same name, the function is meant.
        if not (name in _HOMES and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        value = getattr(importlib.import_module(_HOMES[name]), name)
    elif name in _MODULES:
        return importlib.import_module(f"{__name__}.{name}")
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


sys.modules[__name__].__class__ = _Root
