"""The counts of runs, declared once: a run counts in them, and the results of the library add the rest, and print."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any


class Failing:
    """Counts with failures by reason."""

    __slots__ = ()
    if TYPE_CHECKING:
        failed: Counter[str]

    @property
    def failures(self) -> int:
        """The number of failed documents."""
        return sum(self.failed.values())

    @property
    def reasons(self) -> str:
        """The reasons of failure and how often each came, in words."""
        ordered = sorted(self.failed.items(), key=lambda each: -each[1])
        return ", ".join(f"{reason} {count}" for reason, count in ordered)


@dataclass(repr=False)
class RunCounts(Failing):
    """The counts common to all runs; `total` documents were there at its start, 0 if unknown."""

    total = 0

    failed: Annotated[Counter[str], "Documents that could not be processed, counted by reason"] = field(
        default_factory=Counter
    )
    empty: Annotated[int, "Of the written documents, those without words"] = 0
    short: Annotated[int, "Of the written documents, those with too few words to be compared"] = 0


@dataclass(repr=False)
class ReadCounts(RunCounts):
    """The counts of a run that reads texts; `scanned` documents have unread scanned pages."""

    scanned = 0

    html_as_text: Annotated[Counter[str], "Of the written documents, those with HTML in a field that was read as text, "
        "counted by field"] = field(default_factory=Counter)  # fmt: skip


@dataclass(repr=False)
class IndexingSummary(ReadCounts):
    """The counts of a run by the fate of documents."""

    indexed: Annotated[int, "New documents"] = 0
    replaced: Annotated[int, "Documents with a new record"] = 0
    unchanged: Annotated[int, "Documents stored before without a change"] = 0
    failed_before: Annotated[int, "Unchanged documents not tried because they failed before"] = 0
    duplicates: Annotated[int, "With --skip-duplicates or --on, near-duplicates left out"] = 0
    same_id: Annotated[int, "Documents replaced by one with the same id and other content, later in this run or from "
        "another file"] = 0  # fmt: skip
    same_ids: Annotated[list[str], "The first ten of these: the id, and both places"] = field(default_factory=list)
    reused: Annotated[int, "Of the stored documents, those equal to a stored one and not extracted again"] = 0
    scanned: Annotated[int, "Of the stored documents, those with unread scanned pages"] = 0
    first_failure: Annotated[str, "The first failed document, with the reason; empty for none"] = ""
    bytes: Annotated[int, "The size of the input"] = 0
    seconds: Annotated[float, "The time it took"] = 0.0

    @property
    def done(self) -> int:
        """The number of documents processed."""
        return self.indexed + self.replaced + self.unchanged + self.failures + self.failed_before + self.duplicates


@dataclass(repr=False)
class AnnotationCounts(ReadCounts):
    """The outcomes for the documents of an index."""

    total: Annotated[int, "The documents at the start"] = 0
    annotated: Annotated[int, "Documents given a fingerprint, or to be given one in a dry run"] = 0
    missing: Annotated[int, "Of these, documents without one before"] = 0
    stale: Annotated[int, "Of these, documents with one of another text"] = 0
    renewed: Annotated[int, "Of these, documents with one of the same text, but a new source, title or sketch"] = 0
    unchanged: Annotated[int, "Documents with the right one"] = 0
    trusted: Annotated[int, "Of these, documents not read because nobody wrote them since the last look"] = 0
    without: Annotated[int, "Documents with none of the fields"] = 0
    beside: Annotated[int, "Of the annotated documents, long ones with their passages in an index beside"] = 0
    clusters: Annotated[int | None, "With --cluster, clusters made or changed, else null"] = None
    changed: Annotated[int, "Documents changed by others at the same moment, and processed again"] = 0
    gone: Annotated[int, "Documents deleted meanwhile"] = 0
    removed: Annotated[int, "With --to, removed records of missing documents"] = 0
    forgotten: Annotated[bool, "True if the index can't remember the fields because its mapping may not be "
        "changed"] = False  # fmt: skip
    reading_seconds: Annotated[float | None, "With --cluster, the time to read texts again and to align them; null if "
        "there was none"] = None  # fmt: skip
    seconds: Annotated[float, "The time it took"] = 0.0

    @property
    def done(self) -> int:
        """The number of documents dealt with."""
        return self.annotated + self.unchanged + self.without + self.gone + self.failures


@dataclass(repr=False)
class SketchingCounts(ReadCounts):
    """The counts of the parts and documents of a batch by their fate."""

    files: Annotated[int, "Files of sketches written now"] = 0
    done_before: Annotated[int, "Files of sketches written by an earlier run"] = 0
    documents: Annotated[int, "Documents of all these files"] = 0
    first_failure: Annotated[str, "The first failed document, with the reason; empty for none"] = ""
    forgotten: Annotated[list[str], "Missing inputs, with their sketches removed"] = field(default_factory=list)
    left_out: Annotated[int, "Files left out by name or kind"] = 0
    bytes: Annotated[int, "The size of the input"] = 0


@dataclass(repr=False)
class LoadingCounts(RunCounts):
    """The counts of the documents of a batch on their way into a store."""

    created: Annotated[int, "New documents in the store"] = 0
    replaced: Annotated[int, "Documents with a new record"] = 0
    unchanged: Annotated[int, "Documents stored before without a change"] = 0
    missing: Annotated[int, "Documents missing in the owner's index"] = 0
    first_missing: Annotated[list[str], "The names of the first of these"] = field(default_factory=list)
    others: Annotated[int, "Documents of the store outside the batch, not compared"] = 0

    @property
    def stored(self) -> int:
        """The number of documents in the store now."""
        return self.created + self.replaced + self.unchanged

    @property
    def done(self) -> int:
        """The number of documents dealt with."""
        return self.stored + self.missing + self.failures


@dataclass(repr=False)
class Filtered:
    """The counts of the documents of a batch that are written, and of those left out."""

    files: Annotated[int, "Files written"] = 0
    documents: Annotated[int, "Documents in all"] = 0
    kept: Annotated[int, "Documents kept"] = 0
    removed: Annotated[int, "Documents removed as repeats of a kept one"] = 0
    replaced: Annotated[int, "Documents replaced by a later one with the same id"] = 0
    few_origins: Annotated[int, "With --min-origins, documents of clusters from fewer hosts or folders"] = 0
    singletons: Annotated[int, "With --singletons drop, documents of no cluster"] = 0
    short: Annotated[int, "Of all, documents with too few words to be compared"] = 0
    empty: Annotated[int, "Of all, documents without words"] = 0
    left_out: Annotated[int, "Files left out by name or kind"] = 0


@dataclass(repr=False)
class RemovedCounts:
    """The counts of documents that repeat kept ones, by what their texts say."""

    relations: Annotated[Mapping[str, int], "The removed documents by their relation to the kept one: identical, "
        "reflowed, noise, or with options another; empty if texts were not compared"] = field(
        default_factory=dict
    )  # fmt: skip
    lost: Annotated[int, "The number of their words found in no kept document"] = 0
    stays: Annotated[Mapping[str, int], "Documents near a kept one and kept all the same, by reason"] = field(
        default_factory=dict
    )


@dataclass(repr=False)
class DecidedCounts(RemovedCounts):
    """The counts of the documents of a batch by what was decided."""

    replaced: Annotated[int, "Documents replaced by a later one with the same id"] = 0
    differing: Annotated[int, "Of these, documents with another text"] = 0
    without_field: Annotated[int, "Documents without the field of the canonical rule, sorted last"] = 0
    compared: Annotated[int, "Documents compared"] = 0
    kept: Annotated[int, "Documents kept"] = 0
    removed: Annotated[int, "Documents removed as repeats of a kept one"] = 0


@dataclass(repr=False)
class ClusterCounts:
    """The counts of clusters, and of what it took to find them."""

    clusters: Annotated[int, "Clusters of two or more documents"] = 0
    clustered: Annotated[int, "The documents in them"] = 0
    largest: Annotated[int, "The documents in the largest"] = 0
    split: Annotated[int, "Chains of near documents too wide and therefore split"] = 0
    unordered: Annotated[int, "With the canonical rule newest or oldest, clusters of unknown order, with the earliest "
        "document as the canonical one"] = 0  # fmt: skip
    comparisons: Annotated[int, "Comparisons made"] = 0


@dataclass(repr=False)
class PassagesCut:
    """The counts of repeated passages of documents, cut or to be cut."""

    files: Annotated[int, "Files read"] = 0
    documents: Annotated[int, "Documents in them"] = 0
    words: Annotated[int, "Their words"] = 0
    passages: Annotated[int, "Passages cut, each once for every document with it"] = 0
    cut_documents: Annotated[int, "Documents with cuts"] = 0
    cut_words: Annotated[int, "Words cut"] = 0
    dropped: Annotated[int, "Documents with too little left"] = 0
    dropped_words: Annotated[int, "Words left of the dropped documents"] = 0
    seconds: Annotated[float, "The time it took"] = 0.0


@dataclass(repr=False)
class Stats:
    """The counts of a store."""

    documents: Annotated[int, "Its documents"]
    fingerprinted: Annotated[int, "Documents with a fingerprint"]
    distinct: Annotated[int, "Distinct fingerprints"]
    short: Annotated[int, "Documents with too few words to be compared"]
    empty: Annotated[int, "Documents without words"]
    failures: Annotated[Mapping[str, int], "Documents that could not be indexed, counted by reason"]
    formats: Annotated[Mapping[str, int], "Documents, counted by format"]
    bytes_on_disk: Annotated[int, "Its size on disk"]
    last_indexed_at: Annotated[str, "The time of the latest fingerprint; ISO 8601 in UTC, empty for never"] = ""
    relations: Annotated[Mapping[str, int], "The removable documents, counted by their relation to the repeated one; "
        "an empty name if unknown"] = field(default_factory=dict)  # fmt: skip
    extra: Annotated[Mapping[str, Any], "Facts only stores of this kind have"] = field(default_factory=dict, repr=False)
