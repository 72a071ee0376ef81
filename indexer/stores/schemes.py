"""Secondary schemes, as a store remembers or a user names them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, TypeVar

from indexer.errors import IncompatibleStoreError, UsageError
from indexer.model import SIMHASH_DOC
from indexer.schemes import registry
from indexer.schemes.base import Scheme
from indexer.stores.base import Store, StoreInfo
from indexer.stores.sketches import scheme_named

if TYPE_CHECKING:
    from indexer.text.corpus import Corpus

AnyStore = TypeVar("AnyStore", bound=Store)


def corpus_of(store: Store) -> Callable[[str], Corpus]:
    def read(name: str) -> Corpus:
        data = store.get_resource(name)
        if data is None:
            raise UsageError(f"the store has no statistics of a corpus under {name}; `neardup corpus` gathers them")
        from indexer.text.corpus import read_corpus

        return read_corpus(data, name)

    return read


def scheme_of(store: Store, name: str) -> Scheme:
    """The scheme of this name with sketches in a store.

    Raises UsageError if there is none, and IncompatibleStoreError if this version makes other sketches.
    """
    known = scheme_named(store.info.schemes, name, "the store")
    try:
        made = registry.scheme(known.id, corpus_of(store))
    except UsageError as error:
        raise IncompatibleStoreError(
            f"the store's sketches are of {known.id!r}, which can't be made here ({error}): a newer neardup made "
            "them, or a package that is not installed here, or the store is damaged"
        ) from error
    if made.info != known:
        raise IncompatibleStoreError(
            f"the store's sketches are of {known.id} in {known.layout.describe()}, this version makes {made.id} in "
            f"{made.layout.describe()}: index into a new store, or `neardup schemes --remove {name}` and index again"
        )
    return made


@lru_cache(maxsize=64)
def scheme_written(scheme: Scheme) -> str:
    try:
        usual = registry.scheme(scheme.family).id.partition(":")[2].split(",")
    except UsageError:
        # It takes the statistics of a corpus, so that no two are the same by their name.
        return scheme.id
    others = ",".join(part for part in scheme.id.partition(":")[2].split(",") if part not in usual)
    written = f"{scheme.family}:{others}" if others else scheme.family
    return written if _makes(written, scheme) else scheme.id


def _makes(specification: str, scheme: Scheme) -> bool:
    try:
        return registry.scheme(specification).id == scheme.id
    except UsageError:
        return False


def require_same(store: Store, own: Scheme, specification: str) -> None:
    made = registry.scheme(specification, corpus_of(store))
    if made.id != own.id:
        raise IncompatibleStoreError(
            f"the store has sketches of {own.id}, which can't be compared with those of {made.id}: name {own.family} "
            f"alone, remove the old one (neardup schemes --remove {own.family}), or use a new store"
        )


def require_exactly(wanted: Sequence[Scheme], there: Collection[str], added: Sequence[str]) -> None:
    names = {scheme.family for scheme in wanted}
    if names - set(there) or set(there) - names - {registry.split(specification)[0] for specification in added}:
        raise UsageError(
            f"--schemes is for a new store; this one has {', '.join((SIMHASH_DOC, *sorted(there)))}: add one by "
            "neardup index --scheme or annotate --scheme, or forget one by neardup schemes --remove"
        )


def wanted_schemes(store: Store, specifications: Sequence[str]) -> list[Scheme]:
    """Every secondary scheme of the store, and the named ones, each once.

    Raises UsageError, and IncompatibleStoreError for a name with other parameters.
    """
    present = {known.name: scheme_of(store, known.name) for known in store.info.schemes}
    for specification in specifications:
        family, parameters = registry.split(specification)
        if family == SIMHASH_DOC or (family in present and not parameters):
            continue
        if family in present:
            require_same(store, present[family], specification)
            continue
        present[family] = registry.scheme(specification, corpus_of(store))
    return list(present.values())


def with_schemes(store: AnyStore, create: StoreInfo | None) -> AnyStore:
    if store.created and create is not None:
        for scheme in create.schemes:
            store.add_scheme(scheme)
    return store
