"""The results of runs, declared as in `neardup.library.records`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any

from indexer.errors import NeardupError
from indexer.extract.base import NEEDS_OCR
from indexer.library.rows import Rows, Shown
from indexer.model.findings import Finding


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
    """

    store: Annotated[str, "The store"]
    indexed: Annotated[int, "New documents"]
    replaced: Annotated[int, "Documents with a new record"]
    unchanged: Annotated[int, "Documents stored before without a change"]
    failed: Annotated[Mapping[str, int], "Documents that could not be indexed, counted by reason"]
    failed_before: Annotated[int, "Unchanged documents not tried because they failed before"]
    duplicates: Annotated[int, "With --skip-duplicates or --on, near-duplicates left out"]
    marked: Annotated[int, "Of the stored documents, those marked because of --on"]
    same_id: Annotated[int, "Documents replaced by one with the same id and other content, later in this run or from "
        "another file"]  # fmt: skip
    same_ids: Annotated[Sequence[str], "The first ten of these: the id, and both places"]
    reused: Annotated[int, "Of the stored documents, those equal to a stored one and not extracted again"]
    empty: Annotated[int, "Of the stored documents, those without words"]
    short: Annotated[int, "Of the stored documents, those with too few words to be compared"]
    scanned: Annotated[int, "Of the stored documents, those with unread scanned pages"]
    html_as_text: Annotated[Mapping[str, int], "Of the stored documents, those with HTML in a field that was read as "
        "text, counted by field"]  # fmt: skip
    new: Annotated[int | None, "Stored documents without a near-duplicate on arrival; null if none were looked for"]
    near: Annotated[int | None, "Stored documents with a near-duplicate on arrival; null if none were looked for"]
    reading_seconds: Annotated[float | None, "The time to read texts again and to align them for relations; null if "
        "there was none"]  # fmt: skip
    refused: Annotated[int, "The failed documents refused by the store"]
    dead_letters: Annotated[str | None, "The file of refused documents; null for none"]
    first_failure: Annotated[str, "The first failed document, with the reason; empty for none"]
    left_out: Annotated[int, "Files left out by name or kind"]
    bytes: Annotated[int, "The size of the input"]
    seconds: Annotated[float, "The time it took"]
    stopped: Annotated[bool, "True after Ctrl-C"]

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
    """

    store: Annotated[str, "The index"]
    to: Annotated[str | None, "With --to, the index of the fingerprints; else null"]
    dry_run: Annotated[bool, "True if nothing was written"]
    total: Annotated[int, "The documents at the start"]
    annotated: Annotated[int, "Documents given a fingerprint, or to be given one in a dry run"]
    missing: Annotated[int, "Of these, documents without one before"]
    stale: Annotated[int, "Of these, documents with one of another text"]
    renewed: Annotated[int, "Of these, documents with one of the same text, but a new source, title or sketch"]
    unchanged: Annotated[int, "Documents with the right one"]
    trusted: Annotated[int, "Of these, documents not read because nobody wrote them since the last look"]
    without: Annotated[int, "Documents with none of the fields"]
    empty: Annotated[int, "Of the annotated documents, those without words"]
    short: Annotated[int, "Of the annotated documents, those with too few words to be compared"]
    html_as_text: Annotated[Mapping[str, int], "Of the annotated documents, those with HTML in a field that was read "
        "as text, counted by field"]  # fmt: skip
    beside: Annotated[int, "Of the annotated documents, long ones with their passages in an index beside"]
    clusters: Annotated[int | None, "With --cluster, clusters made or changed, else null"]
    changed: Annotated[int, "Documents changed by others at the same moment, and processed again"]
    gone: Annotated[int, "Documents deleted meanwhile"]
    removed: Annotated[int, "With --to, removed records of missing documents"]
    failed: Annotated[Mapping[str, int], "Documents that could not be processed, counted by reason"]
    forgotten: Annotated[bool, "True if the index can't remember the fields because its mapping may not be changed"]
    reading_seconds: Annotated[float | None, "With --cluster, the time to read texts again and to align them; null if "
        "there was none"]  # fmt: skip
    seconds: Annotated[float, "The time it took"]


@dataclass(frozen=True, slots=True, repr=False)
class StoreStats(Shown):
    """The counts of a store."""

    store: Annotated[str, "The store"]
    documents: Annotated[int, "Its documents"]
    fingerprinted: Annotated[int, "Documents with a fingerprint"]
    distinct: Annotated[int, "Distinct fingerprints"]
    short: Annotated[int, "Documents with too few words to be compared"]
    empty: Annotated[int, "Documents without words"]
    failures: Annotated[Mapping[str, int], "Documents that could not be indexed, counted by reason"]
    passed_over: Annotated[Mapping[str, int], "Files of indexed folders left out by the last run by name or kind, "
        "counted by suffix"]  # fmt: skip
    formats: Annotated[Mapping[str, int], "Documents, counted by format"]
    relations: Annotated[Mapping[str, int], "The removable documents, counted by their relation to the repeated one; "
        "an empty name if unknown"]  # fmt: skip
    bytes_on_disk: Annotated[int, "Its size on disk"]
    last_indexed_at: Annotated[str, "The time of the latest fingerprint; ISO 8601 in UTC, empty for never"]
    extra: Annotated[Mapping[str, Any], "Facts only stores of this kind have"] = field(repr=False)
    clustered_at: Annotated[str, "The time of the last clustering of all documents; ISO 8601 in UTC, empty for never"]
    clustering_finished: Annotated[bool | None, "False if the last clustering is unfinished; null if there was none"]
    made_with: Annotated[Mapping[str, Any], "The versions and schemes behind its fingerprints"] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Examination(Shown):
    """The findings about a store."""

    store: Annotated[str, "The store"]
    healthy: Annotated[bool, "True if every finding is ok"]
    findings: Annotated[tuple[Finding, ...], "The findings, one for each check"]
    error: Annotated[NeardupError | None, "The reason why the store can't be opened; null if it can"] = None


@dataclass(frozen=True, slots=True)
class SchemeFigures:
    """An available scheme."""

    name: Annotated[str, "Its name"]
    summary: Annotated[str, "Its description, in a sentence"]
    measure: Annotated[str, "The meaning of its similarities"]
    parameters: Annotated[Mapping[str, Any], "Its parameters with their defaults"]
    tables: Annotated[int, "The number of tables of keys"]
    bytes: Annotated[int, "The size of the payload of a document of 500 words"]
    keys: Annotated[int, "The number of keys of such a document"]
    agreeing: Annotated[int, "The number of tables with an equal key needed for a comparison"]
    similarity: Annotated[float, "The similarity (0 to 1) from which documents are near by default"]
    near_from: Annotated[str, "The same as the threshold of a rule naming only the scheme"]
    corpus: Annotated[str, "The statistics it needs; empty for none"]


@dataclass(frozen=True, slots=True)
class BrokenScheme:
    """A broken scheme of another package."""

    name: Annotated[str, "Its name"]
    reason: Annotated[str, "The reason why it can't be used"]


@dataclass(frozen=True, slots=True)
class KeptScheme:
    """A scheme of a store."""

    name: Annotated[str, "Its name"]
    id: Annotated[str, "The scheme with its parameters"]
    documents: Annotated[int, "The number of documents with a sketch by it"]


@dataclass(frozen=True, slots=True)
class SchemeList:
    """The schemes."""

    schemes: Annotated[tuple[SchemeFigures, ...], "All available schemes"]
    broken: Annotated[tuple[BrokenScheme, ...], "Broken schemes of other packages"]
    stored: Annotated[Rows[KeptScheme] | None, "With --store, the schemes of the store; else null"] = None


@dataclass(frozen=True, slots=True)
class CorpusKept:
    """The statistics of a corpus kept by a store."""

    name: Annotated[str, "The name they are kept under"]
    digest: Annotated[str, "A digest of them, part of the ids of schemes using them"]
    documents: Annotated[int, "The number of counted documents"]
    terms: Annotated[int, "The number of different words or shingles"]
    bytes: Annotated[int, "Their size"]


@dataclass(frozen=True, slots=True)
class GatheredStatistics(Shown):
    """The result of counting words."""

    corpora: Annotated[tuple[CorpusKept, ...], "The statistics kept now"]
    documents: Annotated[int, "The number of counted documents"]
    failed: Annotated[int, "The number of unreadable documents"]
    reasons: Annotated[str, "The reasons for these, in words; empty for none"]


@dataclass(frozen=True, slots=True)
class SetupRequest:
    """A request of a set-up."""

    why: Annotated[str, "Its purpose, in a sentence"]
    method: Annotated[str, "Its HTTP method"]
    path: Annotated[str, "Its path"]
    body: Annotated[Any, "Its body; null for none, and if each document has its own"]
    text: Annotated[str, "The request as consoles write it; for documents losing neardup's values one of many"]


@dataclass(frozen=True, slots=True)
class SetUp(Shown):
    """The outcome of setting up an index, or of removing neardup from it."""

    store: Annotated[str, "The index"]
    dry_run: Annotated[bool, "True if nothing was changed"]
    steps: Annotated[tuple[SetupRequest, ...], "The requests"]
    done: Annotated[tuple[str, ...], "The finished work, in sentences"]
