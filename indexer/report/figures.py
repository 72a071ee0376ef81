"""The figures of a report, for JSON and programs."""

from __future__ import annotations

from dataclasses import dataclass

from indexer.report.counting import LeftOut, RelationCount, Share, SimilarityStep, SizeClass


@dataclass(frozen=True, slots=True)
class NamedShare:
    """The redundant share of a part of a collection.

    Attributes:
        name: The name of the part
        documents: Its documents
        redundant: Its documents that repeat a kept one
        redundant_share: The same as a share (0 to 1)
        bytes: Their size
        redundant_bytes: The size of the redundant ones
    """

    name: str
    documents: int
    redundant: int
    redundant_share: float
    bytes: int
    redundant_bytes: int

    @classmethod
    def of(cls, name: str, share: Share) -> NamedShare:
        part = round(share.part, 6)
        return cls(name, share.documents, share.redundant, part, share.total_bytes, share.redundant_bytes)


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
        not_compared: Documents compared with none
        left_out: The documents not compared, by reason; `not_compared` counts neither duplicates left out on request
            nor files skipped
        documents: The documents of the store
        redundant: Its documents known to say the same as a kept one
        redundant_share: The same as a share (0 to 1)
        differing: Documents near a kept one with other content
        bytes: Their size
        redundant_bytes: The size of the redundant ones
        fingerprinted: Documents with words
        short: Documents with too few words to be compared
        unclustered: Documents since the last clustering
        clusters: The clusters of two or more documents
        in_clusters: The documents in them
        spanning: Clusters from two or more hosts or folders
        cluster_sizes: Clusters by their size
        similarities: Redundant documents by their similarity to the repeated one
        relations: Redundant documents, forms and parts by the relation of their texts to the near kept one
        by_format: The shares by format
        by_source: The shares by host or folder
        by_time: The shares over time
        largest: The largest clusters
    """

    store: str
    made_at: str
    made_with: str
    rule: str
    not_compared: int
    left_out: tuple[LeftOut, ...]
    documents: int
    redundant: int
    redundant_share: float
    differing: int
    bytes: int
    redundant_bytes: int
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
