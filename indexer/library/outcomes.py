"""The results of runs, declared as in `neardup.library.records`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

from indexer.errors import NeardupError
from indexer.extract.base import NEEDS_OCR
from indexer.library.rows import Rows, Shown
from indexer.model.counts import AnnotationCounts, IndexingSummary, Stats
from indexer.model.findings import Finding


@dataclass(repr=False, kw_only=True)
class OfStore(Shown):
    """A result about a store."""

    store: Annotated[str, "The store"]


@dataclass(repr=False, kw_only=True)
class Indexed(IndexingSummary, OfStore):
    """The outcome of adding documents.

    Each is counted in exactly one of `indexed`, `replaced`, `unchanged`, `failed`, `failed_before` and `duplicates`.
    With --dry-run the answer is one object per line, with the `id` and the `source` of each document to be read.
    """

    marked: Annotated[int, "Of the stored documents, those marked because of --on"] = 0
    new: Annotated[int | None, "Stored documents without a near-duplicate on arrival; null if not looked for"] = None
    near: Annotated[int | None, "Stored documents with a near-duplicate on arrival; null if not looked for"] = None
    reading_seconds: Annotated[float | None, "The time to read texts again and to align them for relations; null if "
        "there was none"] = None  # fmt: skip
    refused: Annotated[int, "The failed documents refused by the store"] = 0
    dead_letters: Annotated[str | None, "The file of refused documents; null for none"] = None
    left_out: Annotated[int, "Files left out by name or kind"] = 0
    stopped: Annotated[bool, "True after Ctrl-C"] = False

    @property
    def unread_scans(self) -> int:
        """The number of documents with unread scanned pages, and of images."""
        return self.scanned + self.failed.get(NEEDS_OCR, 0)


@dataclass(repr=False, kw_only=True)
class AnnotatedDocuments(AnnotationCounts, OfStore):
    """The outcome of fingerprinting the documents of an index.

    Each document read is counted in exactly one of `annotated`, `unchanged`, `without`, `gone` and `failed`.
    """

    to: Annotated[str | None, "With --to, the index of the fingerprints; else null"]
    dry_run: Annotated[bool, "True if nothing was written"]


@dataclass(repr=False, kw_only=True)
class StoreStats(Stats, OfStore):
    """The counts of a store."""

    passed_over: Annotated[Mapping[str, int], "Files of indexed folders left out by the last run by name or kind, "
        "counted by suffix"]  # fmt: skip
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
