"""What is near in a collection: lookups and pairs."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from indexer.library import asking
from indexer.library.forms import pair_of, similar_of
from indexer.library.held import Held
from indexer.library.records import Match, Pair, Similar
from indexer.library.rows import Rows
from indexer.matching.rule import MatchRule


class Nearness(Held):
    """What is near in a collection."""

    def similar(
        self,
        text: str | os.PathLike[str] | None = None,
        *,
        path: str | os.PathLike[str] | None = None,
        id: str | None = None,  # noqa: A002
        match: str | MatchRule | None = None,
        limit: int | None = 10,
        at_least: float | None = None,
        include_short: bool = False,
    ) -> Rows[Match]:
        """The documents near a text, a file (a Path, or `path`) or a stored document (`id`), the most similar first.

        `limit` is the maximum number, None for all. `at_least` (0 to 1) replaces the rule's thresholds; 0 returns the
        nearest candidates. Short documents are left out unless `include_short`. Raises UsageError, NotFoundError and
        ExtractionError.
        """
        from indexer.matching.asking import Answered
        from indexer.matching.lookups import lookup

        with self._lock:
            rule = self._rule(match)
            question = asking.question_of(self.store, text, path, id, self._folder)
            answer = lookup(
                self.store, rule, question, limit=limit, at_least=at_least, include_short=include_short,
                exclude=question.ref,
            )  # fmt: skip
        return similar_of(Answered(question, answer), rule).matches

    def similar_each(
        self,
        documents_: Any = None,
        *,
        paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]] | None = None,
        ids: Iterable[str] | None = None,
        fields: Mapping[str, str] | None = None,
        match: str | MatchRule | None = None,
        limit: int | None = 10,
        at_least: float | None = None,
        include_short: bool = False,
    ) -> Iterator[Similar]:
        """Yield what `similar` answers for each of many documents, in order; in an engine 50 are one request.

        Documents and `fields` are as for `add_many`, `paths` as for `index`; or they are stored ones, by `ids`. A
        document is no answer to itself: one with its id and source, or its path, is left out. One that can't be read,
        or is not stored, has an `error`. Memory: that of 50 documents. Raises UsageError.
        """

        with self._lock:
            asked = asking.questions(self.store, documents_, paths, ids, fields, self._folder)
            listing = asking.Listing(limit, at_least, include_short)
            found = asking.answers(self.store, self._rule(match), asked, listing)
        return self._turns(lambda: found, 1)

    def iter_pairs(
        self, *, match: str | MatchRule | None = None, collapse: bool = False, include_short: bool = False,
        threads: int | None = None,
    ) -> Iterator[Pair]:  # fmt: skip
        """Yield every pair of documents that the rule calls near, as it is found; see `pairs`."""
        from indexer.matching.pairing import pairs_of

        with self._lock:
            rule = self._rule(match)
        pairs = self._turns(
            lambda: pairs_of(self.store, rule, collapse=collapse, include_short=include_short, threads=threads)
        )
        return (pair_of(pair, rule) for pair in pairs)

    def pairs(
        self, *, match: str | MatchRule | None = None, collapse: bool = False, include_short: bool = False,
        threads: int | None = None,
    ) -> Rows[Pair]:  # fmt: skip
        """Every pair of documents that the rule calls near, the most similar first.

        With `collapse`, documents with equal sketches are paired only with the first of them. Short documents are left
        out unless `include_short`. Memory grows with the number of pairs; `iter_pairs` avoids that.
        """
        iterated = self.iter_pairs(match=match, collapse=collapse, include_short=include_short, threads=threads)
        return Rows(Pair, sorted(iterated, key=lambda pair: (-pair.similarity, pair.left, pair.right)))
