"""Passages common to several documents of a collection."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from indexer.library.records import RestingCluster, resting_rows
from indexer.library.results import unread_of
from indexer.library.rows import Rows
from indexer.library.stores import OpenStore, Progress
from indexer.model import MOST_ORIGINS, Ref, name_of
from indexer.model.copied import CopiedRow
from indexer.model.origins import origin_of

if TYPE_CHECKING:
    from indexer.clustering.common_passages import RepeatedPassage, StorePassages
    from indexer.library.repetition import CopiedWords, PartlyCopied, Passage, Repetition

WORDS = 50
"""The words that a passage has at least, where nothing else is asked."""


class Repeated(OpenStore):
    """Passages common to several documents of a collection."""

    def passages(
        self, *, words: int = WORDS, held_by: bool = False, write: bool = False, progress: Progress | None = None
    ) -> Repetition:
        """Every passage of at least `words` words (8 or more) in two documents or more.

        All documents are read again from their sources; with `held_by` each passage names all its documents. Memory
        grows with the passages and the number of documents; a temporary folder takes twice the size of the texts. With
        `write` all of it is kept beside the index, for dashboards, replacing earlier results. Raises UsageError for
        fewer words, and for a store without dashboards.
        """
        from indexer.clustering.common_passages import StorePassages, clusters_on_passages
        from indexer.library import repetition

        with self._lock, StorePassages(self.store, words) as found:
            keep = self.store.keeper_of_copied() if write else None
            found.read(progress)
            counts, inside = found.in_passages
            common = tuple(found.common())
            made = repetition.Repetition(
                words, len(found.holders), int(counts.sum()), int(inside.sum()), unread_of(found.unread),
                Rows(repetition.Passage, _passages(found, common, held_by=held_by)),
                Rows(repetition.CopiedWords, _copied(found)),
                Rows(repetition.PartlyCopied, _partly_copied(found)),
                Rows(RestingCluster, resting_rows(clusters_on_passages(found, self._clustered()))),
            )  # fmt: skip
            if keep is None:
                return made
            return dataclasses.replace(made, written=keep(_kept(made, found, common)))

    def _clustered(self) -> Iterator[tuple[str, tuple[Ref, ...]]]:
        from indexer.clustering.annotations import stored_clusters

        return ((one.id, one.members) for one in stored_clusters(self.store, least=2))


def _passages(found: StorePassages, common: Iterable[RepeatedPassage], *, held_by: bool) -> Iterator[Passage]:
    from indexer.library.repetition import Passage

    names = [name_of(holder.ref) for holder in found.holders]
    for each in common:
        holders = dict.fromkeys(names[document] for document in each.holders.tolist()) if held_by else ()
        yield Passage(
            each.text, each.words, each.documents, each.origins, each.is_boilerplate, names[each.first],
            found.holders[each.first].arrived_at, each.longest, each.variants, tuple(holders),
        )  # fmt: skip


def _copied(found: StorePassages) -> list[CopiedWords]:
    from indexer.library.repetition import CopiedWords

    names, _ = found.origins
    columns = (each.tolist() for each in found.copied())
    made = [CopiedWords(names[origin], names[by], words) for origin, by, words in zip(*columns, strict=True)]
    return sorted(made, key=lambda row: (-row.words, row.origin, row.by))


def _partly_copied(found: StorePassages) -> list[PartlyCopied]:
    from indexer.library.repetition import PartlyCopied

    counts, inside = (each.tolist() for each in found.in_passages)
    made = [
        PartlyCopied(name_of(holder.ref), holder.source, words, some, round(some / words, 6))
        for holder, words, some in zip(found.holders, counts, inside, strict=True)
        if some
    ]
    return sorted(made, key=lambda row: (-row.share, -row.words, row.id))


def _kept(made: Repetition, found: StorePassages, common: Iterable[RepeatedPassage]) -> Iterator[CopiedRow]:
    import numpy as np

    names, numbers = found.origins
    for each in common:
        first = found.holders[each.first]
        yield CopiedRow(
            "passage", each.text, first.ref,
            {"text": each.text, "source": first.source, "first_indexed_at": first.arrived_at},
            {"words": each.words, "documents": each.documents, "origins": each.origins, "longest": each.longest,
             "variants": each.variants, "boilerplate": each.is_boilerplate},
            tuple(sorted({names[number] for number in numbers[each.holders].tolist()})[:MOST_ORIGINS]),
        )  # fmt: skip
    holders = {name_of(holder.ref): holder for holder in found.holders}
    for part in made.partly_copied:
        holder = holders[part.id]
        yield CopiedRow(
            "document", part.id, holder.ref, {"source": part.source, "first_indexed_at": holder.arrived_at},
            {"words": part.words, "in_passages": part.in_passages, "share": part.share}, (origin_of(part.source),),
        )  # fmt: skip
    for pair in made.copied:
        ways = {"first_in": pair.origin, "then_in": pair.by}
        yield CopiedRow("origins", "\0".join(ways.values()), None, ways, {"words": pair.words}, tuple(ways.values()))
    # Of a place with a number, how many documents and words it has, and words in passages.
    totals = (np.bincount(numbers, each).tolist() for each in (np.ones(len(numbers)), *found.in_passages))
    for name, documents, words, inside in zip(names, *totals, strict=True):
        counts = {"documents": int(documents), "words": int(words), "in_passages": int(inside)}
        yield CopiedRow("origin", name, None, {}, counts, (name,))
