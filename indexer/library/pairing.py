"""Pairs as a stream, with an account of documents not compared."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from indexer.errors import NotFoundError
from indexer.library.forms import pair_of, unread_of
from indexer.library.records import Pair, Uncompared, Unread
from indexer.text.hiding import shown_name

if TYPE_CHECKING:
    from indexer.matching.measures.reading import Reader
    from indexer.matching.nodes import Nodes
    from indexer.matching.relating import RelatedPair
    from indexer.matching.rule import MatchRule
    from indexer.stores.base import Store


class PairStream(Iterator[Pair]):
    """An iterator over pairs by the match rule `rule`; `count` have come so far.

    `lacking` documents of the other collection, if there is one, have no sketch for the rule.
    """

    def __init__(
        self, store: Store, rule: MatchRule, pairs: Iterator[RelatedPair], reader: Reader | None, other: Nodes | None,
        *, include_short: bool,
    ) -> None:  # fmt: skip
        self.rule, self.lacking, self.count = rule, other.lacking if other else 0, 0
        self._store, self._pairs, self._reader, self._include_short = store, pairs, reader, include_short

    def __next__(self) -> Pair:
        pair = pair_of(next(self._pairs), self.rule)
        self.count += 1
        return pair

    @property
    def unread(self) -> tuple[Unread, ...]:
        return unread_of(self._reader.unread if self._reader else {})

    def uncompared(self) -> Uncompared:
        from indexer.ingest.failures import DUPLICATE

        stats = self._store.stats()
        refused = sum(stats.failures.values()) - stats.failures.get(DUPLICATE, 0)
        lacking = self.rule.lacking(self._store.lacking(list(self.rule.schemes)))
        return Uncompared(stats.empty, 0 if self._include_short else stats.short, refused, lacking)


def is_list(name: str | os.PathLike[str]) -> bool:
    from indexer.matching.lists import is_store

    return not is_store(os.fspath(name))


def other_nodes(store: Store, rule: MatchRule, against: str | os.PathLike[str], *, include_short: bool) -> Nodes:
    """The documents of another store or of a list, to compare with those of `store`.

    Raises NotFoundError for neither.
    """
    from indexer.library.opening import open_store
    from indexer.matching.lists import read_list, read_store

    name = os.fspath(against)
    if is_list(name):
        if not os.path.exists(name):
            raise NotFoundError(f"{shown_name(name)}: no such file or store")
        return read_list(Path(name), rule)
    with open_store(name, read_only=True) as other:
        return read_store(other, store, rule, name=shown_name(name), include_short=include_short)
