"""neardup finds near-duplicate documents by simhash and minhash, in a search engine or on one machine.

>>> import neardup
>>> found = neardup.dedupe(["Pour hot water on the tea.", "Oranges", "pour hot  water on the tea"])
>>> found.of.tolist()
[0, 1, 0]
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from indexer.core.hamming_index import HammingIndex
    from indexer.core.pairs import find_pairs
    from indexer.errors import NeardupError
    from indexer.extract import extract as read_document
    from indexer.library.collection import Collection, open  # noqa: A004
    from indexer.library.memory import MemoryIndex
    from indexer.library.opening import open_store
    from indexer.library.texts import dedupe, fingerprints, pairs_of, sketches
    from indexer.matching.rule import MatchRule, parse_rule
    from indexer.model import Document, Fingerprint
    from indexer.model.release import VERSION as __version__  # noqa: N811
    from indexer.schemes.simhash import fingerprint

# Where each name lives, and what it is called there; it is imported when first asked for, so that the command starts at
# once.
_HOMES = {
    "Collection": "indexer.library.collection:Collection",
    "Document": "indexer.model:Document",
    "Fingerprint": "indexer.model:Fingerprint",
    "HammingIndex": "indexer.core.hamming_index:HammingIndex",
    "MatchRule": "indexer.matching.rule:MatchRule",
    "MemoryIndex": "indexer.library.memory:MemoryIndex",
    "NeardupError": "indexer.errors:NeardupError",
    "__version__": "indexer.model.release:VERSION",
    "dedupe": "indexer.library.texts:dedupe",
    "find_pairs": "indexer.core.pairs:find_pairs",
    "fingerprint": "indexer.schemes.simhash:fingerprint",
    "fingerprints": "indexer.library.texts:fingerprints",
    "open": "indexer.library.collection:open",
    "open_store": "indexer.library.opening:open_store",
    "pairs_of": "indexer.library.texts:pairs_of",
    "parse_rule": "indexer.matching.rule:parse_rule",
    "read_document": "indexer.extract:extract",
    "sketches": "indexer.library.texts:sketches",
}
# Modules that the pages name, there without an import of their own.
_MODULES = ("errors", "model", "schemes", "stores", "text")

__all__ = [
    "Collection",
    "Document",
    "Fingerprint",
    "HammingIndex",
    "MatchRule",
    "MemoryIndex",
    "NeardupError",
    "__version__",
    "dedupe",
    "find_pairs",
    "fingerprint",
    "fingerprints",
    "open",
    "open_store",
    "pairs_of",
    "parse_rule",
    "read_document",
    "sketches",
]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"{__name__}.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = _found(_HOMES[name])
    return globals()[name]


def _found(place: str) -> Any:
    module, name = place.split(":")
    return getattr(importlib.import_module(module), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
