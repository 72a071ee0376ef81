"""The figures of a report, for JSON and programs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from indexer.ingest.left_out import DUPLICATE
from indexer.ingest.remembered import PASSED_OVER


@dataclass(frozen=True, slots=True)
class Amount:
    """Some documents."""

    documents: Annotated[int, "Their number"] = 0
    share: Annotated[float, "Their share (0 to 1) of all documents"] = 0.0
    bytes: Annotated[int, "Their size"] = 0


@dataclass(frozen=True, slots=True)
class SizeClass:
    """Clusters of a size."""

    low: Annotated[int, "The least number of members"]
    high: Annotated[int, "The largest number of members"]
    clusters: Annotated[int, "The clusters of so many members"]
    documents: Annotated[int, "The documents in them"]

    @property
    def label(self) -> str:
        return f"{self.low:,}" if self.low == self.high else f"{self.low:,} to {self.high:,}"


@dataclass(frozen=True, slots=True)
class SimilarityStep:
    """Documents of a similarity to the repeated one."""

    label: Annotated[str, 'The similarity in the unit of the rule, as "3" for bits, or a range of shares']
    least: Annotated[float, "The least similarity (0 to 1), up to that of the step before"]
    documents: Annotated[int, "The documents"]


@dataclass(frozen=True, slots=True)
class RelationCount:
    """Documents of a relation to their near kept ones."""

    relation: Annotated[str, '"identical", "reflowed", "noise", "rendition", "form", "reworded", "edited", "contains", '
        '"part", "unverified" for an unreadable text, or empty if unknown']  # fmt: skip
    documents: Annotated[int, "The documents"]


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Documents outside the other figures."""

    reason: Annotated[str, 'A reason of `neardup failures`, or "no-text", "too-short", "no-sketch" or "passed-over"']
    documents: Annotated[int, "Their number"]
    names: Annotated[tuple[str, ...], "The first 20, by their paths below the common folder; for files skipped their "
        "number by suffix"]  # fmt: skip

    @property
    def uncounted(self) -> bool:
        return self.reason in (DUPLICATE, PASSED_OVER)


@dataclass(frozen=True, slots=True)
class NamedShare:
    """The repeating share of a part of a collection."""

    name: Annotated[str, "The name of the part"]
    documents: Annotated[int, "Its documents"]
    repeating: Annotated[int, "Its documents that repeat another one"]
    repeating_share: Annotated[float, "The same as a share (0 to 1)"]
    could_go: Annotated[int, "Those of these that could go without loss"]
    bytes: Annotated[int, "The size of all its documents"]
    could_go_bytes: Annotated[int, "The size of what could go"]


@dataclass(frozen=True, slots=True)
class ClusterMember:
    """A document of a cluster."""

    id: Annotated[str, "The name of the document"]
    similarity: Annotated[float, "The similarity (0 to 1) to the canonical document"]
    verdict: Annotated[str, '"could go", "differs" or "stays"']
    title: Annotated[str, "Its title"]
    source: Annotated[str, "Its path or URL"]
    format: Annotated[str, "Its format"]
    bytes: Annotated[int, "Its size"]


@dataclass(frozen=True, slots=True)
class LargeCluster:
    """One of the largest clusters."""

    id: Annotated[str, "The id of the cluster"]
    size: Annotated[int, "The number of its documents"]
    least_similarity: Annotated[float, "The smallest similarity (0 to 1) of a document to the canonical one"]
    members: Annotated[tuple[ClusterMember, ...], "The first of its documents, the canonical one first"]


@dataclass(frozen=True, slots=True)
class ReportFigures:
    """The figures of a report.

    CSV has the same as `section`, `name`, `measure` and `value`.
    """

    store: Annotated[str, "The store"]
    made_at: Annotated[str, "The time of the report; ISO 8601 in UTC"]
    made_with: Annotated[str, "The settings behind the fingerprints"]
    rule: Annotated[str, "The match rule of the clusters"]
    documents: Annotated[int, "The documents of the store"]
    bytes: Annotated[int, "Their size"]
    repeating: Annotated[Amount, "Documents that repeat another one: all near a kept one"]
    could_go: Annotated[Amount, "Of these, documents that could go without loss; neardup prune --dry-run names them"]
    same_work: Annotated[Amount, "Of these, the same work in another format or frame"]
    differ: Annotated[Amount, "Of these, different texts: forms, reworded or corrected texts"]
    undecided: Annotated[Amount, "Those without a readable text, which stay"]
    not_compared: Annotated[int, "Documents compared with none"]
    left_out: Annotated[tuple[LeftOut, ...], "The documents not compared, by reason; `not_compared` counts neither "
        "duplicates left out on request nor files skipped"]  # fmt: skip
    fingerprinted: Annotated[int, "Documents with words"]
    short: Annotated[int, "Documents with too few words to be compared"]
    unclustered: Annotated[int, "Documents since the last clustering"]
    clusters: Annotated[int, "The clusters of two or more documents"]
    in_clusters: Annotated[int, "The documents in them"]
    spanning: Annotated[int, "Clusters from two or more hosts or folders"]
    cluster_sizes: Annotated[tuple[SizeClass, ...], "Clusters by their size"]
    similarities: Annotated[tuple[SimilarityStep, ...], "Repeating documents by their similarity to the repeated one"]
    relations: Annotated[tuple[RelationCount, ...], "Repeating documents by the relation of their texts to the near "
        "kept one"]  # fmt: skip
    by_format: Annotated[tuple[NamedShare, ...], "The shares by format"]
    by_source: Annotated[tuple[NamedShare, ...], "The shares by host or folder"]
    by_time: Annotated[tuple[NamedShare, ...], "The shares over time"]
    largest: Annotated[tuple[LargeCluster, ...], "The largest clusters"] = ()
