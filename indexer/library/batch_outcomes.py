"""The results of batches, declared as in `neardup.library.records`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated

from indexer.library.outcomes import OfStore
from indexer.library.records import OfRule, Written
from indexer.library.rows import Shown
from indexer.model.counts import (
    ClusterCounts,
    DecidedCounts,
    Failing,
    Filtered,
    LoadingCounts,
    PassagesCut,
    RemovedCounts,
    SketchingCounts,
)


@dataclass(repr=False, kw_only=True)
class ByTexts(OfRule):
    """A result decided by texts, unless sketches alone decide."""

    if TYPE_CHECKING:
        stays: Mapping[str, int]

    reading_seconds: Annotated[float | None, "The time to read texts again; null if not asked for"]

    @property
    def not_verified(self) -> int:
        """The number of near documents kept because a text could not be read."""
        from indexer.clustering.verdicts import NOT_VERIFIED

        return self.stays.get(NOT_VERIFIED, 0)


@dataclass(repr=False, kw_only=True)
class ToFolder(Shown):
    """A result written to a folder."""

    out: Annotated[str, "The output folder"]


@dataclass(repr=False, kw_only=True)
class BatchSketched(SketchingCounts, ToFolder):
    """The outcome of sketching the documents of files."""

    unreadable: Annotated[tuple[str, ...], "Files that could not be read at all, each with the reason; their documents "
        "have no row"]  # fmt: skip
    seconds: Annotated[float, "The time it took"]


@dataclass(frozen=True, slots=True)
class BatchSharedKey:
    """Documents with a common key of a scheme."""

    scheme: Annotated[str, "The scheme"]
    texts: Annotated[int, "The number of their different texts, by their sketches"]
    comparisons: Annotated[int, "The number of comparisons for them"]
    example: Annotated[str, "The id of one of them"]


@dataclass(frozen=True, slots=True)
class BatchChain:
    """Documents that are near directly or through others, before long chains are cut."""

    texts: Annotated[int, "The number of their different texts, by their sketches"]
    documents: Annotated[int, "The number of documents"]
    comparisons: Annotated[int, "The comparisons to find and to cut it"]
    groups: Annotated[int, "The number of groups it was cut into"]
    example: Annotated[str, "The id of one of them"]


@dataclass(repr=False, kw_only=True)
class BatchClustered(ClusterCounts, DecidedCounts, ByTexts):
    """The outcome of clustering the documents of sketches."""

    bound: Annotated[float | None, "The greatest distance of two documents in a cluster; null for twice the rule's"]
    canonical: Annotated[str, "The rule for canonical documents"]
    similarity: Annotated[float, "The least similarity (0 to 1) of the rule"]
    by_hash_alone: Annotated[bool, "True if a simhash alone decides which documents are near"]
    verify: Annotated[str, 'The basis of the removal: "text", or "sketch"']
    documents: Annotated[int, "The documents that count"]
    unseen: Annotated[tuple[str, ...], "Inputs out of sight from here, still counted"]
    stale: Annotated[tuple[str, ...], "Missing or changed inputs, still counted"]
    shared_keys: Annotated[tuple[BatchSharedKey, ...], "The ten keys with most documents"] = field(repr=False)
    chains: Annotated[tuple[BatchChain, ...], "The ten largest sets of documents near directly or through "
        "others"] = field(repr=False)  # fmt: skip
    older: Annotated[int | None, "With --against, the older documents; else null"]
    new: Annotated[int | None, "With --against, the new documents; else null"]
    repeating: Annotated[int | None, "With --against, new documents that repeat older ones; else null"]
    seconds: Annotated[float | None, "The time it took"]


@dataclass(frozen=True, slots=True)
class BatchCluster:
    """One of the largest clusters of a batch."""

    cluster: Annotated[str, "The id of the cluster"]
    size: Annotated[int, "The number of its documents"]
    canonical: Annotated[str, "The id of the document representing it"]


@dataclass(repr=False, kw_only=True)
class BatchFigures(BatchClustered):
    """The figures of the clusters of a batch."""

    could_go: Annotated[int, "Documents that say the same as a kept one"]
    could_go_share: Annotated[float, "Their share (0 to 1) of all documents"]
    spanning: Annotated[int, "Clusters from two or more hosts or folders"]
    sizes: Annotated[Mapping[str, int], "Clusters, counted by size"]
    largest_clusters: Annotated[tuple[BatchCluster, ...], "The ten largest clusters"] = field(repr=False)


@dataclass(repr=False, kw_only=True)
class BatchPassagesCut(PassagesCut, Shown):
    """The repeated passages of documents, cut or to be cut."""

    out: Annotated[str | None, "The output folder of documents without them; null if nothing was cut"]
    passages_list: Annotated[str | None, "The file listing the cuts; null if nothing was cut"]


@dataclass(repr=False, kw_only=True)
class WrittenDocuments(Filtered, ToFolder):
    """The documents of a batch written to a folder, and the ones left out."""

    removed_list: Annotated[str, "The file listing the documents not kept"]


@dataclass(repr=False, kw_only=True)
class BatchFiltered(WrittenDocuments):
    """The outcome of writing the documents to keep."""

    repeated: Annotated[BatchPassagesCut | None, "With --passages, the passages repeated among the documents to keep; "
        "else null"]  # fmt: skip
    seconds: Annotated[float, "The time it took"]


@dataclass(repr=False, kw_only=True)
class BatchDeduped(WrittenDocuments, RemovedCounts, Failing, ByTexts):
    """The outcome of deduplicating files."""

    batch: Annotated[str, "The folder of sketches and clusters"]
    failed: Annotated[Counter[str], "Unreadable documents, counted by reason"]
    first_failure: Annotated[str, "The first of them, with the reason; empty for none"]
    bytes: Annotated[int, "The size of the input"]
    seconds: Annotated[Mapping[str, float], "The time of each step: sketch, cluster, filter"]


@dataclass(repr=False, kw_only=True)
class BatchLoaded(LoadingCounts, OfStore):
    """The outcome of loading a batch into a store.

    Each document is counted in exactly one of `created`, `replaced`, `unchanged`, `missing` and `failed`.
    """

    dry_run: Annotated[bool, "True if nothing was written"]
    documents: Annotated[int, "The documents of the batch"]
    rule: Annotated[str | None, "The rule of the clusters; null without clusters"]
    written: Annotated[Written, "The changes of clusters"]
    contended: Annotated[int, "Documents left as they are because others change them constantly"]
    seconds: Annotated[float, "The time it took"]
