"""The results of batches, declared as in `neardup.library.records`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated

from indexer.library.outcomes import Outcome
from indexer.library.records import Written
from indexer.library.rows import Shown


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


@dataclass(frozen=True, slots=True, repr=False)
class BatchSketched(Outcome):
    """The outcome of sketching the documents of files."""

    out: Annotated[str, "The folder of the sketches"]
    files: Annotated[int, "Files of sketches written now"]
    done_before: Annotated[int, "Files of sketches written by an earlier run"]
    documents: Annotated[int, "Documents of all these files"]
    empty: Annotated[int, "Of these, documents without words"]
    short: Annotated[int, "Of these, documents with too few words to be compared"]
    html_as_text: Annotated[Mapping[str, int], "Of these, documents with HTML in a field that was read as text, "
        "counted by field"]  # fmt: skip
    failed: Annotated[Mapping[str, int], "Unreadable documents, counted by reason"]
    first_failure: Annotated[str, "The first of them, with the reason; empty for none"]
    unreadable: Annotated[tuple[str, ...], "Files that could not be read at all, each with the reason; their documents "
        "have no row"]  # fmt: skip
    forgotten: Annotated[tuple[str, ...], "Missing inputs, with their sketches removed"]
    left_out: Annotated[int, "Files left out by name or kind"]
    bytes: Annotated[int, "The size of the input"]
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


@dataclass(frozen=True, slots=True, repr=False)
class BatchPassagesCut(Shown):
    """The repeated passages of documents, cut or to be cut."""

    out: Annotated[str | None, "The output folder of documents without them; null if nothing was cut"]
    passages_list: Annotated[str | None, "The file listing the cuts; null if nothing was cut"]
    files: Annotated[int, "Files read"]
    documents: Annotated[int, "Documents in them"]
    words: Annotated[int, "Their words"]
    passages: Annotated[int, "Passages cut, each once for every document with it"]
    cut_documents: Annotated[int, "Documents with cuts"]
    cut_words: Annotated[int, "Words cut"]
    dropped: Annotated[int, "Documents with too little left"]
    dropped_words: Annotated[int, "Words left of the dropped documents"]
    seconds: Annotated[float, "The time it took"]


@dataclass(frozen=True, slots=True, repr=False)
class WrittenDocuments(Shown):
    """The documents of a batch written to a folder, and the ones left out."""

    out: Annotated[str, "The output folder of the documents to keep"]
    removed_list: Annotated[str, "The file listing the documents not kept"]
    files: Annotated[int, "Files written"]
    documents: Annotated[int, "Documents in all"]
    kept: Annotated[int, "Documents kept"]
    removed: Annotated[int, "Documents removed as repeats of a kept one"]
    replaced: Annotated[int, "Documents replaced by a later one with the same id"]
    few_origins: Annotated[int, "With --min-origins, documents of clusters from fewer hosts or folders"]
    singletons: Annotated[int, "With --singletons drop, documents of no cluster"]
    short: Annotated[int, "Of all, documents with too few words to be compared"]
    empty: Annotated[int, "Of all, documents without words"]
    left_out: Annotated[int, "Files left out by name or kind"]


@dataclass(frozen=True, slots=True, repr=False)
class BatchFiltered(WrittenDocuments):
    """The outcome of writing the documents to keep."""

    repeated: Annotated[BatchPassagesCut | None, "With --passages, the passages repeated among the documents to keep; "
        "else null"]  # fmt: skip
    seconds: Annotated[float, "The time it took"]


@dataclass(frozen=True, slots=True, repr=False)
class BatchDeduped(WrittenDocuments, Outcome, ByTexts):
    """The outcome of deduplicating files."""

    batch: Annotated[str, "The folder of sketches and clusters"]
    rule: Annotated[str, "The match rule"]
    failed: Annotated[Mapping[str, int], "Unreadable documents, counted by reason"]
    first_failure: Annotated[str, "The first of them, with the reason; empty for none"]
    relations: _Relations
    lost: _Lost
    stays: _Stays
    reading_seconds: _ReadingSeconds
    bytes: Annotated[int, "The size of the input"]
    seconds: Annotated[Mapping[str, float], "The time of each step: sketch, cluster, filter"]


@dataclass(frozen=True, slots=True, repr=False)
class BatchLoaded(Outcome, ByRule):
    """The outcome of loading a batch into a store.

    Each document is counted in exactly one of `created`, `replaced`, `unchanged`, `missing` and `failed`.
    """

    store: Annotated[str, "The store"]
    dry_run: Annotated[bool, "True if nothing was written"]
    documents: Annotated[int, "The documents of the batch"]
    created: Annotated[int, "New documents in the store"]
    replaced: Annotated[int, "Documents with a new record"]
    unchanged: Annotated[int, "Documents stored before without a change"]
    missing: Annotated[int, "Documents missing in the owner's index"]
    first_missing: Annotated[tuple[str, ...], "The names of the first of these"]
    failed: Annotated[Mapping[str, int], "Documents without text or refused by the store, counted by reason"]
    empty: Annotated[int, "Of the documents there now, those without words"]
    short: Annotated[int, "Of the documents there now, those with too few words to be compared"]
    others: Annotated[int, "Documents of the store outside the batch, not compared"]
    rule: Annotated[str | None, "The rule of the clusters; null without clusters"]
    written: Annotated[Written, "The changes of clusters"]
    contended: Annotated[int, "Documents left as they are because others change them constantly"]
    seconds: Annotated[float, "The time it took"]
