"""Passages that stand in several documents of a collection."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from indexer.library.forms import unread_of
from indexer.library.repetition import CopiedWords, PartlyCopied, Passage, Repetition
from indexer.library.resting import RestingCluster, resting_rows
from indexer.library.rows import Rows
from indexer.library.stores import OpenStore, Progress
from indexer.model import Ref, name_of

if TYPE_CHECKING:
    from indexer.clustering.copied import StorePassages

WORDS = 50
"""The words that a passage has at least, where nothing else is asked."""


class Repeated(OpenStore):
    """Passages that stand in several documents of a collection."""

    def passages(self, *, words: int = WORDS, held_by: bool = False, progress: Progress | None = None) -> Repetition:
        """Every passage of at least `words` words (8 or more) that stands in two documents or more.

        All documents are read again from where they came from; with `held_by` each passage names all that have it.
        Memory grows with the passages and the number of documents; a temporary folder takes twice the size of the
        texts. Raises UsageError for fewer words.
        """
        from indexer.clustering.copied import StorePassages
        from indexer.clustering.resting import clusters_on_passages

        with self._lock, StorePassages(self.store, words) as found:
            found.read(progress)
            counts, inside = found.in_passages()
            return Repetition(
                words, len(found.holders), int(counts.sum()), int(inside.sum()), unread_of(found.unread),
                Rows(Passage, _passages(found, held_by=held_by)), Rows(CopiedWords, _copied(found)),
                Rows(PartlyCopied, _partly_copied(found)),
                Rows(RestingCluster, resting_rows(clusters_on_passages(found, self._clustered()))),
            )  # fmt: skip

    def _clustered(self) -> Iterator[tuple[str, tuple[Ref, ...]]]:
        from indexer.clustering.stored import stored_clusters

        return ((one.id, one.members) for one in stored_clusters(self.store, least=2))


def _passages(found: StorePassages, *, held_by: bool) -> Iterator[Passage]:
    names = [name_of(holder.ref) for holder in found.holders]
    for each in found.common():
        holders = dict.fromkeys(names[document] for document in each.holders.tolist()) if held_by else ()
        yield Passage(
            each.text, each.words, each.documents, each.origins, each.is_boilerplate, names[each.first],
            found.holders[each.first].arrived_at, each.longest, each.variants, tuple(holders),
        )  # fmt: skip


def _copied(found: StorePassages) -> list[CopiedWords]:
    names, _ = found.origins
    columns = (each.tolist() for each in found.copied())
    made = [CopiedWords(names[origin], names[by], words) for origin, by, words in zip(*columns, strict=True)]
    return sorted(made, key=lambda row: (-row.words, row.origin, row.by))


def _partly_copied(found: StorePassages) -> list[PartlyCopied]:
    counts, inside = (each.tolist() for each in found.in_passages())
    made = [
        PartlyCopied(name_of(holder.ref), holder.source, words, some, round(some / words, 6))
        for holder, words, some in zip(found.holders, counts, inside, strict=True)
        if some
    ]
    return sorted(made, key=lambda row: (-row.share, -row.words, row.id))
