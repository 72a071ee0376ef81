"""The schemes of new and existing stores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from indexer.errors import UsageError
from indexer.model import SIMHASH_DOC
from indexer.model.kinds import DOCUMENTS, kind_named
from indexer.schemes import registry
from indexer.schemes.base import Scheme
from indexer.stores.base import Store
from indexer.stores.schemes import require_exactly, wanted_schemes

if TYPE_CHECKING:
    from indexer.text.corpus import Corpus


def schemes_of_new(
    exactly: str | None = None, added: Sequence[str] = (), *, made: bool = True, kind: str = DOCUMENTS
) -> list[Scheme]:
    """The secondary schemes of a new store: the usual ones of its kind, or those of a list.

    If a store may exist, and must not be `made`, schemes without their statistics are left out, since it may have them.
    Raises UsageError.
    """
    usual = {scheme.family: scheme for scheme in map(registry.scheme, kind_named(kind).schemes)}
    chosen = usual if exactly is None else _named(exactly)
    replaceable = {*usual} if exactly is None else set()
    for specification in added:
        family, parameters = registry.split(specification)
        if family == SIMHASH_DOC or (family in chosen and not parameters):
            continue
        if not made and registry.scheme_class(family).needed(parameters):
            continue
        scheme = registry.scheme(specification, _no_corpus)
        if family in chosen and family not in replaceable and chosen[family].id != scheme.id:
            raise UsageError(f"--scheme {specification}: a store has one {family}, here also {chosen[family].id}")
        chosen[family] = scheme
        replaceable.discard(family)
    return list(chosen.values())


def _no_corpus(name: str) -> Corpus:
    raise UsageError(f"a new store has no statistics of a corpus under {name}; `neardup corpus` gathers them")


def _named(exactly: str) -> dict[str, Scheme]:
    names: list[str] = []
    for part in exactly.split(","):
        # A comma also stands between the parameters of one scheme.
        if names and "=" in part and ":" not in part:
            names[-1] += f",{part.strip()}"
        else:
            names.append(part.strip())
    if SIMHASH_DOC not in names:
        raise UsageError(f"--schemes {exactly}: every store keeps {SIMHASH_DOC}; name it too")
    schemes = [registry.scheme(name) for name in names if name and name != SIMHASH_DOC]
    return {scheme.family: scheme for scheme in schemes}


def schemes_of(store: Store, added: Sequence[str] = (), exactly: str | None = None) -> list[Scheme]:
    """The secondary schemes of an open store: its own, and those `added` by their specifications.

    Raises UsageError if `exactly` differs from the schemes of an existing store, and IncompatibleStoreError for one
    with other parameters.
    """
    if exactly is not None and not store.created:
        require_exactly(schemes_of_new(exactly), [scheme.name for scheme in store.info.schemes], added)
    return wanted_schemes(store, added)
