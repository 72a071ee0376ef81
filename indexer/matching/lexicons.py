"""The lexicon kept with a store."""

from __future__ import annotations

from indexer.errors import StoreError
from indexer.relations.lexicon import Lexicon
from indexer.stores.base import Store

LEXICON = "lexicon"
"""The name of the resource that a store keeps it under."""


def read_lexicon(store: Store, *, makes_anew: bool = False) -> Lexicon | None:
    """The lexicon kept by a store, None without one.

    Raises StoreError if it is damaged, unless the caller `makes_anew` a missing one.
    """
    data = store.get_resource(LEXICON)
    if data is None:
        return None
    try:
        return Lexicon.from_bytes(data)
    except ValueError as error:
        if makes_anew:
            return None
        raise StoreError(
            f"the words of the collection, the resource {LEXICON!r} of the store, are damaged: {error}; "
            "neardup cluster makes them anew"
        ) from error


def keep_lexicon(store: Store, lexicon: Lexicon) -> None:
    store.put_resource(LEXICON, lexicon.to_bytes())


class StoredLexicon(Lexicon):
    """The lexicon of a store, read when the first word is asked for; without one it knows no word."""

    def __init__(self, store: Store) -> None:
        super().__init__()
        self._store: Store | None = store

    def frequency(self, word: int) -> int:
        if self._store is not None:
            kept, self._store = read_lexicon(self._store), None
            if kept is not None:
                self.take(kept)
        return super().frequency(word)
