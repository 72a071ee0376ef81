"""The results of batches, declared as in `neardup.library.records`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated

from indexer.library.outcomes import OfStore
from indexer.library.records import Written
from indexer.library.rows import Shown
from indexer.model.counts import Failing, Filtered, LoadingCounts, PassagesCut, SketchingCounts


class ByRule(Shown):
    """A result with a match rule."""

    __slots__ = ()
    if TYPE_CHECKING:
        rule: str | None

    @property
    def rule_name(self) -> str:
        """The rule by its name, empty if there is none."""
        from indexer.matching.rule import rule_name

        return rule_name(self.rule) if self.rule else ""


class ByTexts(ByRule):
    """A result decided by texts, unless sketches alone decide."""

    __slots__ = ()
    if TYPE_CHECKING:
        stays: Mapping[str, int]

    @property
    def not_verified(self) -> int:
        """The number of near documents kept because a text could not be read."""
        from indexer.clustering.verdicts import NOT_VERIFIED

        return self.stays.get(NOT_VERIFIED, 0)


_Relations = Annotated[Mapping[str, int], "The removed documents by their relation to the kept one: identical, "
    "reflowed, noise, or with options another; empty if texts were not compared"]  # fmt: skip
_Lost = Annotated[int, "The number of their words found in no kept document"]
_Stays = Annotated[Mapping[str, int], "Documents near a kept one and kept all the same, by reason"]
_ReadingSeconds = Annotated[float | None, "The time to read texts again; null if not asked for"]


@dataclass(repr=False)
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


@dataclass(frozen=True, slots=True, repr=False)
class BatchClustered(ByTexts):
    """The outcome of clustering the documents of sketches."""

    rule: Annotated[str, "The match rule"]
    bound: Annotated[float | None, "The greatest distance of two documents in a cluster; null for twice the rule's"]
    canonical: Annotated[str, "The rule for canonical documents"]
    similarity: Annotated[float, "The least similarity (0 to 1) of the rule"]
    by_hash_alone: Annotated[bool, "True if a simhash alone decides which documents are near"]
    verify: Annotated[str, 'The basis of the removal: "text", or "sketch"']
    documents: Annotated[int, "The documents that count"]
    replaced: Annotated[int, "Documents replaced by a later one with the same id"]
    differing: Annotated[int, "Of these, documents with another text"]
    without_field: Annotated[int, "Documents without the field of the canonical rule, sorted last"]
    compared: Annotated[int, "Documents compared"]
    kept: Annotated[int, "Documents kept"]
    removed: Annotated[int, "Documents removed as repeats of a kept one"]
    relations: _Relations
    lost: _Lost
    stays: _Stays
    reading_seconds: _ReadingSeconds
    unseen: Annotated[tuple[str, ...], "Inputs out of sight from here, still counted"]
    stale: Annotated[tuple[str, ...], "Missing or changed inputs, still counted"]
    clusters: Annotated[int, "Clusters of two or more documents"]
    clustered: Annotated[int, "The documents in them"]
    largest: Annotated[int, "The documents in the largest"]
    split: Annotated[int, "Chains of near documents too wide and therefore split"]
    unordered: Annotated[int, "With the canonical rule newest or oldest, clusters of unknown order, with the earliest "
        "document as the canonical one"]  # fmt: skip
    comparisons: Annotated[int, "Comparisons made"]
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


@dataclass(frozen=True, slots=True, repr=False)
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
class BatchDeduped(WrittenDocuments, Failing, ByTexts):
    """The outcome of deduplicating files."""

    batch: Annotated[str, "The folder of sketches and clusters"]
    rule: Annotated[str, "The match rule"]
    failed: Annotated[Counter[str], "Unreadable documents, counted by reason"]
    first_failure: Annotated[str, "The first of them, with the reason; empty for none"]
    relations: _Relations
    lost: _Lost
    stays: _Stays
    reading_seconds: _ReadingSeconds
    bytes: Annotated[int, "The size of the input"]
    seconds: Annotated[Mapping[str, float], "The time of each step: sketch, cluster, filter"]


@dataclass(repr=False, kw_only=True)
class BatchLoaded(LoadingCounts, ByRule, OfStore):
    """The outcome of loading a batch into a store.

    Each document is counted in exactly one of `created`, `replaced`, `unchanged`, `missing` and `failed`.
    """

    dry_run: Annotated[bool, "True if nothing was written"]
    documents: Annotated[int, "The documents of the batch"]
    rule: Annotated[str | None, "The rule of the clusters; null without clusters"]
    written: Annotated[Written, "The changes of clusters"]
    contended: Annotated[int, "Documents left as they are because others change them constantly"]
    seconds: Annotated[float, "The time it took"]
