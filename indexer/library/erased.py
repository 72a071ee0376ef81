"""The results of deleting documents, declared as those in `indexer.library.records`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from indexer.library.records import Stored
from indexer.library.rows import Rows, Shown


@dataclass(frozen=True, slots=True)
class Copy(Stored):
    """A document that was named, or a copy of it.

    Attributes:
        copy_of: The document that was named
        similarity: The similarity (0 to 1) to that one
        identical: True if the texts are equal except for case and white space
        relation: How its text stands to that one's, as in `neardup prune`; empty if they were not compared
        evidence: What differs, in one line
        outcome: "deleted", "stripped" (an owner's, which stays), "changed" (so that it was left); in a dry run "listed"
        left: The file or document that still holds the text, empty if none is known
    """

    table: ClassVar[tuple[str, ...]] = (
        *("id", "copy_of", "similarity", "relation", "evidence", "outcome", "left", "title", "source"),
    )

    copy_of: str
    similarity: float
    identical: bool
    relation: str
    evidence: str
    outcome: str
    left: str


@dataclass(frozen=True, slots=True, repr=False)
class Deleted(Shown):
    """The result of deleting documents.

    Attributes:
        deleted: Documents that were deleted
        stripped: Documents of an owner, which stay and only lost neardup's fields
        missing: Ids that no document has, or several
        contended: Documents that others change constantly, left as they are
        listed: In a dry run, the documents that would be deleted
    """

    deleted: int
    stripped: int
    missing: int
    contended: int
    listed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, repr=False)
class Erased(Shown):
    """The result of deleting documents with their copies.

    Attributes:
        documents: The documents, and what became of each
        deleted: Documents that were deleted
        stripped: Documents of an owner, which stay and only lost neardup's fields
        changed: Documents that have changed since they were compared, and stay
        stays: Near documents that say something else or were not verified, and stay, counted by reason
        examples: Of each reason the first of them, with what differs
        missing: Ids that no document has, or several
        contended: Documents that others change constantly, left as they are
        not_compared: Documents stored without text or sketch, among which there may be copies
        failures: Documents that could not be stored or were left out, among which there may be copies
    """

    documents: Rows[Copy] = field(repr=False)
    deleted: int
    stripped: int
    changed: int
    stays: Mapping[str, int]
    examples: tuple[str, ...]
    missing: int
    contended: int
    not_compared: int
    failures: int

    def unseen(self) -> str:
        """A sentence about what was not compared; empty where nothing was left out."""
        parts = [f"{self.not_compared:,} stored without text or sketch"] * bool(self.not_compared)
        parts += [f"{self.failures:,} that failed or were left out (neardup failures lists them)"] * bool(self.failures)
        return f"not compared, so copies may be among them: {' and '.join(parts)}" if parts else ""
