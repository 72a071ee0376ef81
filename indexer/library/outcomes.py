"""The results of runs, declared as in `neardup.library.records`."""

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
    """A result with failures counted by reason."""

    __slots__ = ()
    if TYPE_CHECKING:
        failed: Mapping[str, int]

    @property
    def failures(self) -> int:
        """The number of failed documents."""
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
    With --dry-run the answer is one object per line, with the `id` and the `source` of each document to be read.

    Attributes:
        store: The store
        indexed: New documents
        replaced: Documents with a new record
        unchanged: Documents stored before without a change
        failed: Documents that could not be indexed, counted by reason
        failed_before: Unchanged documents not tried because they failed before
        duplicates: With --skip-duplicates, near-duplicates left out
        same_id: Documents replaced by one with the same id and other content, later in this run or from another file
        same_ids: The first ten of these: the id, and both places
        reused: Of the stored documents, those equal to a stored one and not extracted again
        empty: Of the stored documents, those without words
        short: Of the stored documents, those with too few words to be compared
        scanned: Of the stored documents, those with unread scanned pages
        new: Stored documents without a near-duplicate on arrival; null if none were looked for
        near: Stored documents with a near-duplicate on arrival; null if none were looked for
        reading_seconds: The time to read texts again and to align them for relations; null if there was none
        refused: The failed documents refused by the store
        dead_letters: The file of refused documents; null for none
        first_failure: The first failed document, with the reason; empty for none
        left_out: Files left out by name or kind
        bytes: The size of the input
        seconds: The time it took
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
        """The number of documents with unread scanned pages, and of images."""
        return self.scanned + self.failed.get(NEEDS_OCR, 0)

    @property
    def done(self) -> int:
        """The number of documents processed."""
        counted = self.indexed + self.replaced + self.unchanged + self.failed_before + self.duplicates
        return counted + self.failures


@dataclass(frozen=True, slots=True, repr=False)
class AnnotatedDocuments(Outcome):
    """The outcome of fingerprinting the documents of an index.

    Each document read is counted in exactly one of `annotated`, `unchanged`, `without`, `gone` and `failed`.

    Attributes:
        store: The index
        to: With --to, the index of the fingerprints; else null
        dry_run: True if nothing was written
        total: The documents at the start
        annotated: Documents given a fingerprint, or to be given one in a dry run
        missing: Of these, documents without one before
        stale: Of these, documents with one of another text
        renewed: Of these, documents with one of the same text, but a new source, title or sketch
        unchanged: Documents with the right one
        trusted: Of these, documents not read because nobody wrote them since the last look
        without: Documents with none of the fields
        empty: Of the annotated documents, those without words
        short: Of the annotated documents, those with too few words to be compared
        beside: Of the annotated documents, long ones with their passages in an index beside
        clusters: With --cluster, clusters made or changed, else null
        changed: Documents changed by others at the same moment, and processed again
        gone: Documents deleted meanwhile
        removed: With --to, removed records of missing documents
        failed: Documents that could not be processed, counted by reason
        forgotten: True if the index can't remember the fields because its mapping may not be changed
        reading_seconds: With --cluster, the time to read texts again and to align them; null if there was none
        seconds: The time it took
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
        passed_over: Files of indexed folders left out by the last run by name or kind, counted by suffix
        formats: Documents, counted by format
        relations: The removable documents, counted by their relation to the repeated one; an empty name if unknown
        bytes_on_disk: Its size on disk
        last_indexed_at: The time of the latest fingerprint; ISO 8601 in UTC, empty for never
        extra: Facts only stores of this kind have
        clustered_at: The time of the last clustering of all documents; ISO 8601 in UTC, empty for never
        clustering_finished: False if the last clustering is unfinished; null if there was none
        made_with: The versions and schemes behind its fingerprints
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
        error: The reason why the store can't be opened; null if it can
    """

    store: str
    healthy: bool
    findings: tuple[Finding, ...]
    error: NeardupError | None = None


@dataclass(frozen=True, slots=True)
class SchemeFigures:
    """An available scheme.

    Attributes:
        name: Its name
        summary: Its description, in a sentence
        measure: The meaning of its similarities
        parameters: Its parameters with their defaults
        tables: The number of tables of keys
        bytes: The size of the payload of a document of 500 words
        keys: The number of keys of such a document
        agreeing: The number of tables with an equal key needed for a comparison
        similarity: The similarity (0 to 1) from which documents are near by default
        near_from: The same as the threshold of a rule naming only the scheme
        corpus: The statistics it needs; empty for none
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
    """A broken scheme of another package.

    Attributes:
        name: Its name
        reason: The reason why it can't be used
    """

    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class KeptScheme:
    """A scheme of a store.

    Attributes:
        name: Its name
        id: The scheme with its parameters
        documents: The number of documents with a sketch by it
    """

    name: str
    id: str
    documents: int


@dataclass(frozen=True, slots=True)
class SchemeList:
    """The schemes.

    Attributes:
        schemes: All available schemes
        broken: Broken schemes of other packages
        stored: With --store, the schemes of the store; else null
    """

    schemes: tuple[SchemeFigures, ...]
    broken: tuple[BrokenScheme, ...]
    stored: Rows[KeptScheme] | None = None


@dataclass(frozen=True, slots=True)
class CorpusKept:
    """The statistics of a corpus kept by a store.

    Attributes:
        name: The name they are kept under
        digest: A digest of them, part of the ids of schemes using them
        documents: The number of counted documents
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
        corpora: The statistics kept now
        documents: The number of counted documents
        failed: The number of unreadable documents
        reasons: The reasons for these, in words; empty for none
    """

    corpora: tuple[CorpusKept, ...]
    documents: int
    failed: int
    reasons: str


@dataclass(frozen=True, slots=True)
class SetupRequest:
    """A request of a set-up.

    Attributes:
        why: Its purpose, in a sentence
        method: Its HTTP method
        path: Its path
        body: Its body; null for none, and if each document has its own
        text: The request as consoles write it; for documents losing neardup's values one of many
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
        done: The finished work, in sentences
    """

    store: str
    dry_run: bool
    steps: tuple[SetupRequest, ...]
    done: tuple[str, ...]
