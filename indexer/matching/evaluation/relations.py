"""The relations of pairs in an evaluation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from indexer.matching.relating import relation_of
from indexer.relations.relation import Relation

MOST_PAIRS = 1000
"""So many pairs of a rule are aligned, taken evenly from all of them."""
TOO_LONG = "too long"

IndexPair = tuple[int, int]


class RelatedPairs:
    def __init__(self, texts: Sequence[str]) -> None:
        self._texts = texts
        self._known: dict[IndexPair, str] = {}

    def counts(self, pairs: Sequence[IndexPair]) -> Mapping[str, int]:
        step = max(1.0, len(pairs) / MOST_PAIRS)
        some = [pairs[int(at * step)] for at in range(min(len(pairs), MOST_PAIRS))]
        return dict(Counter(map(self._relation, some)).most_common())

    def _relation(self, pair: IndexPair) -> str:
        if pair not in self._known:
            made = relation_of(self._texts[pair[0]], self._texts[pair[1]], brief=True)
            self._known[pair] = made.word if isinstance(made, Relation) else TOO_LONG
        return self._known[pair]
