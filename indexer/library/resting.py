"""Clusters held together by common passages, as results."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar

if TYPE_CHECKING:
    from indexer.clustering.resting import ClusterOnPassages


@dataclass(frozen=True, slots=True)
class RestingCluster:
    """A cluster of documents near for passages of many documents, such as a menu or a licence."""

    table: ClassVar[tuple[str, ...]] = ("documents", "share", "words", "held_by", "cluster", "text")

    cluster: Annotated[str, "The id of the cluster"]
    documents: Annotated[int, "The number of its documents"]
    share: Annotated[float, "The share of a document's words (0.5 to 0.95) in passages common to half of them, and ten "
        "documents"]  # fmt: skip
    words: Annotated[int, "The words of the longest of these passages"]
    held_by: Annotated[int, "The number of documents read with the longest one"]
    text: Annotated[str, "The text of the longest one"]


def resting_rows(found: Iterable[ClusterOnPassages]) -> list[RestingCluster]:
    """The clusters as results, the largest first."""
    made = [
        RestingCluster(
            one.id, one.size, round(one.share, 6), one.passage.words, one.passage.documents, one.passage.text
        )
        for one in found
    ]
    return sorted(made, key=lambda row: (-row.documents, row.cluster))
