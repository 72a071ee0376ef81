"""The results of runs, declared as those in `indexer.library.records`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from indexer.errors import NeardupError
from indexer.extract.base import NEEDS_OCR
from indexer.library.rows import Rows, Shown
from indexer.model.findings import Finding

__all__ = [
    "AnnotatedDocuments",
    "BrokenScheme",
    "CorpusKept",
    "Examination",
    "Finding",
    "GatheredStatistics",
    "Indexed",
    "KeptScheme",
    "Outcome",
    "SchemeFigures",
    "SchemeList",
    "SetUp",
    "SetupRequest",
    "StoreStats",
]


class Outcome(Shown):
    """A result that counts what failed, by reason."""

    __slots__ = ()
    if TYPE_CHECKING:
        failed: Mapping[str, int]

    @property
    def failures(self) -> int:
        """The number of documents that failed."""
        return sum(self.failed.values())

    @property
    def reasons(self) -> str:
        """The reasons of failure and how often each came, in words."""
        ordered = sorted(self.failed.items(), key=lambda each: -each[1])
        return ", ".join(f"{reason} {count}" for reason, count in ordered)


@dataclass(frozen=True, slots=True, repr=False)
class Indexed(Outcome):
    """The outcome of adding documents.

    Each is counted in exactly one of `indexed`, `replaced`, `unchanged`, `failed`, `failed_before` and `duplicates`.
    With --dry-run the answer is one object per line, the `id` and the `source` of each document that would be read.

    Attributes:
        store: The store
        indexed: New documents
        replaced: Documents whose record was made anew
        unchanged: Documents that are as they were stored
        failed: Documents that could not be indexed, counted by reason
        failed_before: Documents that failed before and have not changed, so that they were not tried
        duplicates: With --skip-duplicates, near-duplicates that were left out
        same_id: Documents that another one of their id took the place of: a later one of this run, or one from another
            file, with another content
        same_ids: The first ten of these: the id, and where both stand
        reused: Of the stored documents, those equal to one that was stored, so that they were not extracted again
        empty: Of the stored documents, those without words
        short: Of the stored documents, those with too few words to be compared
        scanned: Of the stored documents, those with scanned pages that were not read
        new: Stored documents that had no near-duplicate on arrival; null if none were looked for
        near: Stored documents that had a near-duplicate on arrival; null if none were looked for
        reading_seconds: How long it took to read texts again and to align them, for how documents stand to what they
            repeat; null where none had to be
        refused: Of those that failed, the ones that the store did not take
        dead_letters: The file of documents that the store did not take; null for none
        first_failure: The document that failed first, and why; empty for none
        left_out: Files that were left out by name or kind
        bytes: The size of what was read
        seconds: How long it took
        stopped: True after Ctrl-C
    """

    store: str
    indexed: int
    replaced: int
    unchanged: int
    failed: Mapping[str, int]
    failed_before: int
    duplicates: int
    same_id: int
    same_ids: Sequence[str]
    reused: int
    empty: int
    short: int
    scanned: int
    new: int | None
    near: int | None
    reading_seconds: float | None
    refused: int
    dead_letters: str | None
    first_failure: str
    left_out: int
    bytes: int
    seconds: float
    stopped: bool

    @property
    def unread_scans(self) -> int:
        """The number of documents with scanned pages that were not read, and of images."""
        return self.scanned + self.failed.get(NEEDS_OCR, 0)

    @property
    def done(self) -> int:
        """The number of documents processed."""
        counted = self.indexed + self.replaced + self.unchanged + self.failed_before + self.duplicates
        return counted + self.failures


@dataclass(frozen=True, slots=True, repr=False)
class AnnotatedDocuments(Outcome):
    """The outcome of fingerprinting the documents of an index.

    Each that was read is counted in exactly one of `annotated`, `unchanged`, `without`, `gone` and `failed`.

    Attributes:
        store: The index
        to: With --to, the index that fingerprints were written to; else null
        dry_run: True if nothing was written
        total: The documents at the start
        annotated: Documents that got a fingerprint, or would in a dry run
        missing: Of these, documents that had none before
        stale: Of these, documents that had one of another text
        renewed: Of these, documents that had one of the same text, of which the source, the title or sketches are new
        unchanged: Documents that have the right one
        trusted: Of these, documents that were not read, since nobody has written them after they were looked at
        without: Documents that have none of the fields
        empty: Of the annotated documents, those without words
        short: Of the annotated documents, those with too few words to be compared
        beside: Of the annotated documents, long ones, whose passages lie in an index beside
        clusters: With --cluster, clusters that were made or changed, else null
        changed: Documents that others changed at the same moment, and that were processed again
        gone: Documents that were deleted meanwhile
        removed: With --to, records whose documents are gone, and that were removed
        failed: Documents that could not be processed, counted by reason
        forgotten: True if the mapping may not be changed, so that the index does not remember the fields
        reading_seconds: With --cluster, how long it took to read texts again and to align them; null where none had to
            be
        seconds: How long it took
    """

    store: str
    to: str | None
    dry_run: bool
    total: int
    annotated: int
    missing: int
    stale: int
    renewed: int
    unchanged: int
    trusted: int
    without: int
    empty: int
    short: int
    beside: int
    clusters: int | None
    changed: int
    gone: int
    removed: int
    failed: Mapping[str, int]
    forgotten: bool
    reading_seconds: float | None
    seconds: float


@dataclass(frozen=True, slots=True, repr=False)
class StoreStats(Shown):
    """The counts of a store.

    Attributes:
        store: The store
        documents: Its documents
        fingerprinted: Documents with a fingerprint
        distinct: Distinct fingerprints
        short: Documents with too few words to be compared
        empty: Documents without words
        failures: Documents that could not be indexed, counted by reason
        passed_over: Files of indexed folders that the last run left out by name or kind, counted by suffix
        formats: Documents, counted by format
        relations: The documents that could be removed, counted by how they stand to what they repeat; an empty name
            for those of which it is not known
        bytes_on_disk: Its size on disk
        last_indexed_at: When the latest document was fingerprinted; ISO 8601 in UTC, empty for never
        extra: What only a store of this kind tells
        clustered_at: When all documents were last put into clusters; ISO 8601 in UTC, empty for never
        clustering_finished: False if the last clustering did not come to its end; null if there was none
        made_with: The versions and schemes that its fingerprints were made with
    """

    store: str
    documents: int
    fingerprinted: int
    distinct: int
    short: int
    empty: int
    failures: Mapping[str, int]
    passed_over: Mapping[str, int]
    formats: Mapping[str, int]
    relations: Mapping[str, int]
    bytes_on_disk: int
    last_indexed_at: str
    extra: Mapping[str, Any] = field(repr=False)
    clustered_at: str
    clustering_finished: bool | None
    made_with: Mapping[str, Any] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Examination(Shown):
    """The findings about a store.

    Attributes:
        store: The store
        healthy: True if every finding is ok
        findings: The findings, one for each check
        error: Why the store can't be opened; null if it can
    """

    store: str
    healthy: bool
    findings: tuple[Finding, ...]
    error: NeardupError | None = None


@dataclass(frozen=True, slots=True)
class SchemeFigures:
    """A scheme that can be used.

    Attributes:
        name: Its name
        summary: What it is, in a sentence
        measure: What its similarities measure
        parameters: Its parameters with their defaults
        tables: The number of tables of keys
        bytes: The size of the payload of a document of 500 words
        keys: The number of keys of such a document
        agreeing: In how many tables a key must agree for a document to be compared
        similarity: The similarity (0 to 1) from which documents are near by default
        near_from: The same as the threshold of a rule that names only the scheme
        corpus: The statistics that it needs; empty for none
    """

    name: str
    summary: str
    measure: str
    parameters: Mapping[str, Any]
    tables: int
    bytes: int
    keys: int
    agreeing: int
    similarity: float
    near_from: str
    corpus: str


@dataclass(frozen=True, slots=True)
class BrokenScheme:
    """A scheme of another package that can't be used.

    Attributes:
        name: Its name
        reason: Why it can't be used
    """

    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class KeptScheme:
    """A scheme of a store.

    Attributes:
        name: Its name
        id: The scheme with its parameters
        documents: How many documents have a sketch by it
    """

    name: str
    id: str
    documents: int


@dataclass(frozen=True, slots=True)
class SchemeList:
    """The schemes.

    Attributes:
        schemes: All schemes that can be used
        broken: Schemes of other packages that can't be used
        stored: With --store, the schemes of the store; else null
    """

    schemes: tuple[SchemeFigures, ...]
    broken: tuple[BrokenScheme, ...]
    stored: Rows[KeptScheme] | None = None


@dataclass(frozen=True, slots=True)
class CorpusKept:
    """The statistics of a corpus that a store keeps.

    Attributes:
        name: The name under which they are kept
        digest: A digest of them, which is part of the ids of schemes that use them
        documents: The number of documents that were counted
        terms: The number of different words or shingles
        bytes: Their size
    """

    name: str
    digest: str
    documents: int
    terms: int
    bytes: int


@dataclass(frozen=True, slots=True)
class GatheredStatistics(Shown):
    """The result of counting words.

    Attributes:
        corpora: The statistics that are kept now
        documents: The number of documents that were counted
        failed: The number of documents that could not be read
        reasons: Why these could not be read, in words; empty for none
    """

    corpora: tuple[CorpusKept, ...]
    documents: int
    failed: int
    reasons: str


@dataclass(frozen=True, slots=True)
class SetupRequest:
    """A request of a set-up.

    Attributes:
        why: What it does, in a sentence
        method: Its HTTP method
        path: Its path
        body: Its body; null for none, and where each document has its own
        text: The same as consoles write it; for documents that lose neardup's values one of many
    """

    why: str
    method: str
    path: str
    body: Any
    text: str


@dataclass(frozen=True, slots=True)
class SetUp(Shown):
    """The outcome of setting up an index, or of removing neardup from it.

    Attributes:
        store: The index
        dry_run: True if nothing was changed
        steps: The requests
        done: What was done, in sentences
    """

    store: str
    dry_run: bool
    steps: tuple[SetupRequest, ...]
    done: tuple[str, ...]
