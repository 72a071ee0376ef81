"""The results of deleting documents, declared as in `neardup.library.records`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from indexer.library.records import Stored
from indexer.library.rows import Rows, Shown


@dataclass(frozen=True, slots=True)
class Copy(Stored):
    """A named document, or a copy of it.

    Attributes:
        copy_of: The named document
        similarity: The similarity (0 to 1) to it
        identical: True if all that was read of both is equal except for case and white space
        relation: The relation of its text to the named one's, as in `neardup prune`; empty if they were not compared
        evidence: The difference, in one line
        outcome: "deleted", "stripped" (an owner's, which stays), "changed" (and therefore left); in a dry run "listed"
        left: The file or document still holding the text, empty if unknown
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
        deleted: Documents deleted
        stripped: Documents of an owner, kept without neardup's fields
        missing: Ids of no document, or of several
        contended: Documents left as they are because others change them constantly
        listed: In a dry run, the documents to be deleted
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
        documents: The documents, with the outcome for each
        deleted: Documents deleted
        stripped: Documents of an owner, kept without neardup's fields
        changed: Documents kept because they changed after the comparison
        stays: Near documents kept because they say something else or were not verified, counted by reason
        examples: The first of them for each reason, with the difference
        missing: Ids of no document, or of several
        contended: Documents left as they are because others change them constantly
        not_compared: Documents stored without text or sketch, possibly with copies among them
        failures: Failed or left-out documents, possibly with copies among them
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
        """A sentence about documents not compared; empty if there are none."""
        parts = [f"{self.not_compared:,} stored without text or sketch"] * bool(self.not_compared)
        parts += [f"{self.failures:,} that failed or were left out (neardup failures lists them)"] * bool(self.failures)
        return f"not compared, so copies may be among them: {' and '.join(parts)}" if parts else ""
