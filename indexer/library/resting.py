"""Clusters that rest on what very many documents have, as results."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from indexer.clustering.resting import ClusterOnPassages


@dataclass(frozen=True, slots=True)
class RestingCluster:
    """A cluster whose documents are near for passages that many documents have, such as a menu or a licence.

    Attributes:
        cluster: The id of the cluster
        documents: How many documents it has
        share: The share of a document's words (0.5 to 0.95) in passages that half of them, and ten documents, have
        words: The words of the longest of these passages
        held_by: How many of the documents that were read have that one
        text: What it says
    """

    table: ClassVar[tuple[str, ...]] = ("documents", "share", "words", "held_by", "cluster", "text")

    cluster: str
    documents: int
    share: float
    words: int
    held_by: int
    text: str


def resting_rows(found: Iterable[ClusterOnPassages]) -> list[RestingCluster]:
    """The same as results, the largest clusters first."""
    made = [
        RestingCluster(
            one.id, one.size, round(one.share, 6), one.passage.words, one.passage.documents, one.passage.text
        )
        for one in found
    ]
    return sorted(made, key=lambda row: (-row.documents, row.cluster))
