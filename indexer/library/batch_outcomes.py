"""The results of batches, declared as those in `indexer.library.records`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from indexer.library.outcomes import Outcome
from indexer.library.records import Written
from indexer.library.rows import Shown


class ByRule(Shown):
    """A result that rests on a match rule."""

    __slots__ = ()
    if TYPE_CHECKING:
        rule: str | None

    @property
    def rule_name(self) -> str:
        """The rule by its name, empty if there is none."""
        from indexer.matching.rule import rule_name

        return rule_name(self.rule) if self.rule else ""


class ByTexts(ByRule):
    """A result that rests on texts, where sketches alone do not decide."""

    __slots__ = ()
    if TYPE_CHECKING:
        stays: Mapping[str, int]

    @property
    def not_verified(self) -> int:
        """The number of near documents that stay since a text could not be read."""
        from indexer.clustering.relations import NOT_VERIFIED

        return self.stays.get(NOT_VERIFIED, 0)


@dataclass(frozen=True, slots=True, repr=False)
class BatchSketched(Outcome):
    """The outcome of sketching the documents of files.

    Attributes:
        out: The folder of the sketches
        files: Files of sketches that were written
        done_before: Files of sketches that were there already
        documents: Documents that were sketched
        empty: Of these, documents without words
        short: Of these, documents with too few words to be compared
        failed: Documents that could not be read, counted by reason
        unreadable: Files that could not be read at all, each with the reason; their documents have no row
        forgotten: Inputs that are gone, whose sketches were removed
        left_out: Files that were left out by name or kind
        bytes: The size of what was read
        seconds: How long it took
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
    """Documents that share a key of a scheme.

    Attributes:
        scheme: The scheme
        texts: How many different texts they have, by their sketches
        comparisons: How many comparisons they took
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
        texts: How many different texts they have, by their sketches
        documents: The number of documents
        comparisons: How many comparisons it took to find and to cut it
        groups: Into how many groups it was cut
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
        bound: How far apart two documents of a cluster may be; null for twice what the rule allows
        canonical: The rule for canonical documents
        similarity: The least similarity (0 to 1) of the rule
        by_hash_alone: True if a simhash alone finds what is near
        verify: What decides on what is removed: "text", or "sketch"
        documents: The documents that count
        replaced: Documents in whose place a later one of the same id counts
        differing: Of these, documents with another text
        without_field: Documents without the field that the canonical rule goes by, which come last
        compared: Documents that were compared
        kept: Documents that are kept
        removed: Documents that repeat a kept one and are not kept
        relations: Of these, documents by their relation to the kept one: identical, reflowed, noise, or with options
            another;
            empty if texts were not compared
        lost: How many words of these stand in no kept document
        stays: Documents that are near a kept one and are kept all the same, by reason
        reading_seconds: How long it took to read texts again; null if that was not asked for
        unseen: Inputs that can't be seen from here and count on
        stale: Inputs that are gone or have changed and count on
        clusters: Clusters of two or more documents
        clustered: The documents in them
        largest: The documents in the largest
        split: Chains of near documents that were too wide and were split
        unordered: With the canonical rule newest or oldest, the clusters where the order is unknown, and the earliest
            document is the canonical one
        comparisons: Comparisons that were made
        shared_keys: The ten keys that most documents share
        chains: The ten largest sets of documents that are near directly or through others
        older: With --against, the older documents; else null
        new: With --against, the new documents; else null
        repeating: With --against, new documents that repeat older ones; else null
        seconds: How long it took
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
        canonical: The id of the document that represents it
    """

    cluster: str
    size: int
    canonical: str


@dataclass(frozen=True, slots=True, repr=False)
class BatchFigures(BatchClustered):
    """The figures of the clusters of a batch.

    Attributes:
        redundant: Documents that repeat one that is kept
        redundant_share: Their share (0 to 1) of all documents
        spanning: Clusters from two hosts or folders or more
        sizes: Clusters, counted by size
        largest_clusters: The ten largest clusters
    """

    redundant: int
    redundant_share: float
    spanning: int
    sizes: Mapping[str, int]
    largest_clusters: tuple[BatchCluster, ...] = field(repr=False)


@dataclass(frozen=True, slots=True, repr=False)
class BatchPassagesCut(Shown):
    """The passages that documents repeat, which were cut, or would be.

    Attributes:
        out: The folder that the documents were written to without them; null if nothing was cut
        passages_list: The file that lists what was cut; null if nothing was
        files: Files that were read
        documents: Documents in them
        words: Their words
        passages: Passages that are cut, each once for every document that it stands in
        cut_documents: Documents that lose any
        cut_words: Words that are cut
        dropped: Documents of which too little is left
        dropped_words: Words that were left of them
        seconds: How long it took
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
        out: The folder that they were written to
        removed_list: The file that lists what is not kept
        files: Files that were written
        documents: Documents in all
        kept: Documents that are kept
        removed: Documents that repeat one that is kept
        replaced: Documents in whose place a later one of the same id counts
        few_origins: With --min-origins, documents of clusters from fewer hosts or folders
        singletons: With --singletons drop, documents of no cluster
        left_out: Files that were left out by name or kind
        repeated: With --passages, what the documents to keep repeat of each other; else null
        seconds: How long it took
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
    left_out: int
    repeated: BatchPassagesCut | None
    seconds: float


@dataclass(frozen=True, slots=True, repr=False)
class BatchDeduped(Outcome, ByTexts):
    """The outcome of deduplicating files.

    Attributes:
        out: The folder that the documents to keep were written to
        batch: The folder of sketches and clusters
        removed_list: The file that lists what is not kept
        rule: The match rule
        files: Files that were written
        documents: Documents in all
        empty: Of these, documents without words
        short: Of these, documents with too few words to be compared
        failed: Documents that could not be read, counted by reason
        kept: Documents that are kept
        removed: Documents that repeat one that is kept
        relations: Of these, documents by their relation to the kept one: identical, reflowed, noise, or with options
            another;
            empty if texts were not compared
        lost: How many words of these stand in no kept document
        stays: Documents that are near a kept one and are kept all the same, by reason
        reading_seconds: How long it took to read texts again; null if that was not asked for
        replaced: Documents in whose place a later one of the same id counts
        few_origins: With --min-origins, documents of clusters from fewer hosts or folders
        singletons: With --singletons drop, documents of no cluster
        left_out: Files that were left out by name or kind
        bytes: The size of what was read
        seconds: How long each step took: sketch, cluster, filter
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
        created: Documents that are new in the store
        replaced: Documents whose record was replaced
        unchanged: Documents that were there as they are
        missing: Documents that the owner's index does not have
        first_missing: The names of the first of these
        failed: Documents that gave no text or that the store refused, counted by reason
        empty: Of those that are there now, documents without words
        short: Of those that are there now, documents with too few words to be compared
        others: Documents of the store that are not in the batch, and were not compared
        rule: The rule of the clusters; null without clusters
        written: What changed of clusters
        contended: Documents that others change constantly, left as they are
        seconds: How long it took
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
