"""The figures of a report, for JSON and programs."""

from __future__ import annotations

from dataclasses import dataclass

from indexer.report.counting import Amount, LeftOut, RelationCount, Share, SimilarityStep, SizeClass


@dataclass(frozen=True, slots=True)
class NamedShare:
    """The repeating share of a part of a collection.

    Attributes:
        name: The name of the part
        documents: Its documents
        repeating: Its documents that repeat another one
        repeating_share: The same as a share (0 to 1)
        could_go: Those of these that could go without loss
        bytes: The size of all its documents
        could_go_bytes: The size of what could go
    """

    name: str
    documents: int
    repeating: int
    repeating_share: float
    could_go: int
    bytes: int
    could_go_bytes: int

    @classmethod
    def of(cls, name: str, share: Share) -> NamedShare:
        return cls(
            name, share.documents, share.repeating, round(share.part, 6), share.could_go, share.total_bytes,
            share.could_go_bytes,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class ClusterMember:
    """A document of a cluster.

    Attributes:
        id: The name of the document
        similarity: The similarity (0 to 1) to the canonical document
        title: Its title
        source: Its path or URL
        format: Its format
        bytes: Its size
    """

    id: str
    similarity: float
    title: str
    source: str
    format: str
    bytes: int


@dataclass(frozen=True, slots=True)
class LargeCluster:
    """One of the largest clusters.

    Attributes:
        id: The id of the cluster
        size: The number of its documents
        least_similarity: The smallest similarity (0 to 1) of a document to the canonical one
        members: The first of its documents, the canonical one first
    """

    id: str
    size: int
    least_similarity: float
    members: tuple[ClusterMember, ...]


@dataclass(frozen=True, slots=True)
class ReportFigures:
    """The figures of a report.

    CSV has the same as `section`, `name`, `measure` and `value`.

    Attributes:
        store: The store
        made_at: The time of the report; ISO 8601 in UTC
        made_with: The settings behind the fingerprints
        rule: The match rule of the clusters
        documents: The documents of the store
        bytes: Their size
        repeating: Documents that repeat another one: all near a kept one
        could_go: Those that could go without loss; neardup prune --dry-run names them
        same_work: Those that are the same work in another format or frame
        differ: Those that differ: forms, reworded or corrected texts
        undecided: Those without a readable text, which stay
        not_compared: Documents compared with none
        left_out: The documents not compared, by reason; `not_compared` counts neither duplicates left out on request
            nor files skipped
        fingerprinted: Documents with words
        short: Documents with too few words to be compared
        unclustered: Documents since the last clustering
        clusters: The clusters of two or more documents
        in_clusters: The documents in them
        spanning: Clusters from two or more hosts or folders
        cluster_sizes: Clusters by their size
        similarities: Repeating documents by their similarity to the repeated one
        relations: Repeating documents by the relation of their texts to the near kept one
        by_format: The shares by format
        by_source: The shares by host or folder
        by_time: The shares over time
        largest: The largest clusters
    """

    store: str
    made_at: str
    made_with: str
    rule: str
    documents: int
    bytes: int
    repeating: Amount
    could_go: Amount
    same_work: Amount
    differ: Amount
    undecided: Amount
    not_compared: int
    left_out: tuple[LeftOut, ...]
    fingerprinted: int
    short: int
    unclustered: int
    clusters: int
    in_clusters: int
    spanning: int
    cluster_sizes: tuple[SizeClass, ...]
    similarities: tuple[SimilarityStep, ...]
    relations: tuple[RelationCount, ...]
    by_format: tuple[NamedShare, ...]
    by_source: tuple[NamedShare, ...]
    by_time: tuple[NamedShare, ...]
    largest: tuple[LargeCluster, ...]
