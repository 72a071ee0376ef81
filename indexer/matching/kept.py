"""The schemes whose sketches a store keeps: those of a new one, and those that a user adds."""

from __future__ import annotations

from collections.abc import Sequence

from indexer.errors import UsageError
from indexer.matching.rule import PREFERRED
from indexer.model import SIMHASH_DOC
from indexer.schemes import registry
from indexer.schemes.base import Scheme
from indexer.stores.base import Store
from indexer.stores.schemes import require_exactly, wanted_schemes


def schemes_of_new(exactly: str | None = None) -> list[Scheme]:
    """The schemes beside simhash-doc that a new store is made with: the usual one, or those that a list names.

    `exactly` is a list of specifications with commas between, simhash-doc among them. Raises UsageError.
    """
    if exactly is None:
        return [registry.scheme(PREFERRED)]
    names: list[str] = []
    for part in exactly.split(","):
        # A comma also stands between the parameters of one scheme.
        if names and "=" in part and ":" not in part:
            names[-1] += f",{part.strip()}"
        else:
            names.append(part.strip())
    if SIMHASH_DOC not in names:
        raise UsageError(f"--schemes {exactly}: every store keeps {SIMHASH_DOC}; name it too")
    return [registry.scheme(name) for name in names if name and name != SIMHASH_DOC]


def schemes_of(store: Store, added: Sequence[str] = (), exactly: str | None = None) -> list[Scheme]:
    """The schemes beside simhash-doc of an open store: its own, and those `added` by their specifications.

    Raises UsageError where `exactly` names others than a store has that was made before, and IncompatibleStoreError
    where one is there with other parameters.
    """
    if exactly is not None and not store.created:
        require_exactly(schemes_of_new(exactly), [scheme.name for scheme in store.info.schemes], added)
    return wanted_schemes(store, added)
