"""The results of deleting documents, declared as in `neardup.library.records`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, ClassVar

from indexer.library.records import Stored
from indexer.library.rows import Rows, Shown


@dataclass(frozen=True, slots=True)
class Copy(Stored):
    """A named document, or a copy of it."""

    table: ClassVar[tuple[str, ...]] = (
        *("id", "copy_of", "similarity", "relation", "evidence", "outcome", "left", "title", "source"),
    )

    copy_of: Annotated[str, "The named document"]
    similarity: Annotated[float, "The similarity (0 to 1) to it"]
    identical: Annotated[bool, "True if all that was read of both is equal except for case and white space"]
    relation: Annotated[str, "The relation of its text to the named one's, as in `neardup prune`; empty if they were "
        "not compared"]  # fmt: skip
    evidence: Annotated[str, "The difference, in one line"]
    outcome: Annotated[str, '"deleted", "stripped" (an owner\'s, which stays), "changed" (and therefore left); in a '
        'dry run "listed"']  # fmt: skip
    left: Annotated[str, "The file or document still holding the text, empty if unknown"]


@dataclass(frozen=True, slots=True, repr=False)
class Deleted(Shown):
    """The result of deleting documents."""

    deleted: Annotated[int, "Documents deleted"]
    stripped: Annotated[int, "Documents of an owner, kept without neardup's fields"]
    missing: Annotated[int, "Ids of no document, or of several"]
    contended: Annotated[int, "Documents left as they are because others change them constantly"]
    listed: Annotated[tuple[str, ...], "In a dry run, the documents to be deleted"] = ()


@dataclass(frozen=True, slots=True, repr=False)
class Erased(Shown):
    """The result of deleting documents with their copies."""

    documents: Annotated[Rows[Copy], "The documents, with the outcome for each"] = field(repr=False)
    deleted: Annotated[int, "Documents deleted"]
    stripped: Annotated[int, "Documents of an owner, kept without neardup's fields"]
    changed: Annotated[int, "Documents kept because they changed after the comparison"]
    stays: Annotated[Mapping[str, int], "Near documents kept because they say something else or were not verified, "
        "counted by reason"]  # fmt: skip
    examples: Annotated[tuple[str, ...], "The first of them for each reason, with the difference"]
    missing: Annotated[int, "Ids of no document, or of several"]
    contended: Annotated[int, "Documents left as they are because others change them constantly"]
    not_compared: Annotated[int, "Documents stored without text or sketch, possibly with copies among them"]
    failures: Annotated[int, "Failed or left-out documents, possibly with copies among them"]

    def unseen(self) -> str:
        """A sentence about documents not compared; empty if there are none."""
        parts = [f"{self.not_compared:,} stored without text or sketch"] * bool(self.not_compared)
        parts += [f"{self.failures:,} that failed or were left out (neardup failures lists them)"] * bool(self.failures)
        return f"not compared, so copies may be among them: {' and '.join(parts)}" if parts else ""
