"""The results of batches, declared as in `neardup.library.records`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

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
        from indexer.clustering.relations import NOT_VERIFIED

        return self.stays.get(NOT_VERIFIED, 0)


@dataclass(frozen=True, slots=True, repr=False)
class BatchSketched(Outcome):
    """The outcome of sketching the documents of files.

    Attributes:
        out: The folder of the sketches
        files: Files of sketches written
        done_before: Files of sketches there already
        documents: Documents sketched
        empty: Of these, documents without words
        short: Of these, documents with too few words to be compared
        failed: Unreadable documents, counted by reason
        unreadable: Files that could not be read at all, each with the reason; their documents have no row
        forgotten: Missing inputs, with their sketches removed
        left_out: Files left out by name or kind
        bytes: The size of the input
        seconds: The time it took
    """

    out: str
    files: int
    done_before: int
    documents: int
    empty: int
    short: int
    failed: Mapping[str, int]
    unreadable: tuple[str, ...]
    forgotten: tuple[str, ...]
    left_out: int
    bytes: int
    seconds: float


@dataclass(frozen=True, slots=True)
class BatchSharedKey:
    """Documents with a common key of a scheme.

    Attributes:
        scheme: The scheme
        texts: The number of their different texts, by their sketches
        comparisons: The number of comparisons for them
        example: The id of one of them
    """

    scheme: str
    texts: int
    comparisons: int
    example: str


@dataclass(frozen=True, slots=True)
class BatchChain:
    """Documents that are near directly or through others, before long chains are cut.

    Attributes:
        texts: The number of their different texts, by their sketches
        documents: The number of documents
        comparisons: The comparisons to find and to cut it
        groups: The number of groups it was cut into
        example: The id of one of them
    """

    texts: int
    documents: int
    comparisons: int
    groups: int
    example: str


@dataclass(frozen=True, slots=True, repr=False)
class BatchClustered(ByTexts):
    """The outcome of clustering the documents of sketches.

    Attributes:
        rule: The match rule
        bound: The greatest distance of two documents in a cluster; null for twice the rule's
        canonical: The rule for canonical documents
        similarity: The least similarity (0 to 1) of the rule
        by_hash_alone: True if a simhash alone decides what is near
        verify: The basis of the removal: "text", or "sketch"
        documents: The documents that count
        replaced: Documents replaced by a later one with the same id
        differing: Of these, documents with another text
        without_field: Documents without the field of the canonical rule, sorted last
        compared: Documents compared
        kept: Documents kept
        removed: Documents removed as repeats of a kept one
        relations: The removed documents by their relation to the kept one: identical, reflowed, noise, or with options
            another; empty if texts were not compared
        lost: The number of their words found in no kept document
        stays: Documents near a kept one and kept all the same, by reason
        reading_seconds: The time to read texts again; null if not asked for
        unseen: Inputs out of sight from here, still counted
        stale: Missing or changed inputs, still counted
        clusters: Clusters of two or more documents
        clustered: The documents in them
        largest: The documents in the largest
        split: Chains of near documents too wide and therefore split
        unordered: With the canonical rule newest or oldest, clusters of unknown order, with the earliest document as
            the canonical one
        comparisons: Comparisons made
        shared_keys: The ten keys with most documents
        chains: The ten largest sets of documents near directly or through others
        older: With --against, the older documents; else null
        new: With --against, the new documents; else null
        repeating: With --against, new documents that repeat older ones; else null
        seconds: The time it took
    """

    rule: str
    bound: float | None
    canonical: str
    similarity: float
    by_hash_alone: bool
    verify: str
    documents: int
    replaced: int
    differing: int
    without_field: int
    compared: int
    kept: int
    removed: int
    relations: Mapping[str, int]
    lost: int
    stays: Mapping[str, int]
    reading_seconds: float | None
    unseen: tuple[str, ...]
    stale: tuple[str, ...]
    clusters: int
    clustered: int
    largest: int
    split: int
    unordered: int
    comparisons: int
    shared_keys: tuple[BatchSharedKey, ...] = field(repr=False)
    chains: tuple[BatchChain, ...] = field(repr=False)
    older: int | None
    new: int | None
    repeating: int | None
    seconds: float | None


@dataclass(frozen=True, slots=True)
class BatchCluster:
    """One of the largest clusters of a batch.

    Attributes:
        cluster: The id of the cluster
        size: The number of its documents
        canonical: The id of the document representing it
    """

    cluster: str
    size: int
    canonical: str


@dataclass(frozen=True, slots=True, repr=False)
class BatchFigures(BatchClustered):
    """The figures of the clusters of a batch.

    Attributes:
        could_go: Documents that say the same as a kept one
        could_go_share: Their share (0 to 1) of all documents
        spanning: Clusters from two or more hosts or folders
        sizes: Clusters, counted by size
        largest_clusters: The ten largest clusters
    """

    could_go: int
    could_go_share: float
    spanning: int
    sizes: Mapping[str, int]
    largest_clusters: tuple[BatchCluster, ...] = field(repr=False)


@dataclass(frozen=True, slots=True, repr=False)
class BatchPassagesCut(Shown):
    """The repeated passages of documents, cut or to be cut.

    Attributes:
        out: The output folder of documents without them; null if nothing was cut
        passages_list: The file listing the cuts; null if nothing was cut
        files: Files read
        documents: Documents in them
        words: Their words
        passages: Passages cut, each once for every document with it
        cut_documents: Documents with cuts
        cut_words: Words cut
        dropped: Documents with too little left
        dropped_words: Words left of the dropped documents
        seconds: The time it took
    """

    out: str | None
    passages_list: str | None
    files: int
    documents: int
    words: int
    passages: int
    cut_documents: int
    cut_words: int
    dropped: int
    dropped_words: int
    seconds: float


@dataclass(frozen=True, slots=True, repr=False)
class BatchFiltered(Shown):
    """The outcome of writing the documents to keep.

    Attributes:
        out: The output folder
        removed_list: The file listing the documents not kept
        files: Files written
        documents: Documents in all
        kept: Documents kept
        removed: Documents removed as repeats of a kept one
        replaced: Documents replaced by a later one with the same id
        few_origins: With --min-origins, documents of clusters from fewer hosts or folders
        singletons: With --singletons drop, documents of no cluster
        short: Of all, documents with too few words to be compared
        empty: Of all, documents without words
        left_out: Files left out by name or kind
        repeated: With --passages, the passages repeated among the documents to keep; else null
        seconds: The time it took
    """

    out: str
    removed_list: str
    files: int
    documents: int
    kept: int
    removed: int
    replaced: int
    few_origins: int
    singletons: int
    short: int
    empty: int
    left_out: int
    repeated: BatchPassagesCut | None
    seconds: float


@dataclass(frozen=True, slots=True, repr=False)
class BatchDeduped(Outcome, ByTexts):
    """The outcome of deduplicating files.

    Attributes:
        out: The output folder of the documents to keep
        batch: The folder of sketches and clusters
        removed_list: The file listing the documents not kept
        rule: The match rule
        files: Files written
        documents: Documents in all
        empty: Of these, documents without words
        short: Of these, documents with too few words to be compared
        failed: Unreadable documents, counted by reason
        kept: Documents kept
        removed: Documents removed as repeats of a kept one
        relations: The removed documents by their relation to the kept one: identical, reflowed, noise, or with options
            another; empty if texts were not compared
        lost: The number of their words found in no kept document
        stays: Documents near a kept one and kept all the same, by reason
        reading_seconds: The time to read texts again; null if not asked for
        replaced: Documents replaced by a later one with the same id
        few_origins: With --min-origins, documents of clusters from fewer hosts or folders
        singletons: With --singletons drop, documents of no cluster
        left_out: Files left out by name or kind
        bytes: The size of the input
        seconds: The time of each step: sketch, cluster, filter
    """

    out: str
    batch: str
    removed_list: str
    rule: str
    files: int
    documents: int
    empty: int
    short: int
    failed: Mapping[str, int]
    kept: int
    removed: int
    relations: Mapping[str, int]
    lost: int
    stays: Mapping[str, int]
    reading_seconds: float | None
    replaced: int
    few_origins: int
    singletons: int
    left_out: int
    bytes: int
    seconds: Mapping[str, float]


@dataclass(frozen=True, slots=True, repr=False)
class BatchLoaded(Outcome, ByRule):
    """The outcome of loading a batch into a store.

    Each document is counted in exactly one of `created`, `replaced`, `unchanged`, `missing` and `failed`.

    Attributes:
        store: The store
        dry_run: True if nothing was written
        documents: The documents of the batch
        created: New documents in the store
        replaced: Documents with a new record
        unchanged: Documents stored before without a change
        missing: Documents missing in the owner's index
        first_missing: The names of the first of these
        failed: Documents without text or refused by the store, counted by reason
        empty: Of the documents there now, those without words
        short: Of the documents there now, those with too few words to be compared
        others: Documents of the store outside the batch, not compared
        rule: The rule of the clusters; null without clusters
        written: The changes of clusters
        contended: Documents left as they are because others change them constantly
        seconds: The time it took
    """

    store: str
    dry_run: bool
    documents: int
    created: int
    replaced: int
    unchanged: int
    missing: int
    first_missing: tuple[str, ...]
    failed: Mapping[str, int]
    empty: int
    short: int
    others: int
    rule: str | None
    written: Written
    contended: int
    seconds: float
