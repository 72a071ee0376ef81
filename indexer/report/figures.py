"""The figures of a report as plain values, for JSON and for programs."""

from __future__ import annotations

from dataclasses import dataclass

from indexer.report.counting import LeftOut, RelationCount, Share, SimilarityStep, SizeClass


@dataclass(frozen=True, slots=True)
class NamedShare:
    """The redundant share of a part of a collection.

    Attributes:
        name: What the part is called
        documents: Its documents
        redundant: Those of them that repeat one which is kept
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
        """The share of a part."""
        part = round(share.part, 6)
        return cls(name, share.documents, share.redundant, part, share.total_bytes, share.redundant_bytes)


@dataclass(frozen=True, slots=True)
class ClusterMember:
    """A document of a cluster.

    Attributes:
        id: The name of the document
        similarity: The similarity (0 to 1) to the canonical document
        title: Its title
        source: The path or URL that it came from
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
        made_at: When the report was made; ISO 8601 in UTC
        made_with: How the fingerprints were made
        rule: The match rule of the clusters
        not_compared: Documents that were compared with none
        left_out: What was not compared, by reason; `not_compared` counts no duplicates that were left out on request,
            and no files that were passed over
        documents: The documents of the store
        redundant: Those of them that say the same as a kept one, as far as that is known
        redundant_share: The same as a share (0 to 1)
        differing: Documents near a kept one that say something else
        bytes: Their size
        redundant_bytes: The size of the redundant ones
        fingerprinted: Documents that have words
        short: Documents with too few words to be compared
        unclustered: Documents that came since the last clustering
        clusters: The clusters of two or more documents
        in_clusters: The documents in them
        spanning: Clusters from two hosts or folders or more
        cluster_sizes: Clusters by their size
        similarities: Redundant documents by their similarity to what they repeat
        relations: Redundant documents, forms and parts by how their texts stand to the near one that is kept
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
