"""The results of runs, declared as those in `indexer.library.records`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from indexer.library.rows import Shown


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
        reused: Of the stored documents, those equal to one that was stored, so that they were not extracted again
        empty: Of the stored documents, those without words
        short: Of the stored documents, those with too few words to be compared
        new: Stored documents that had no near-duplicate on arrival; null if none were looked for
        near: Stored documents that had a near-duplicate on arrival; null if none were looked for
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
    reused: int
    empty: int
    short: int
    new: int | None
    near: int | None
    refused: int
    dead_letters: str | None
    first_failure: str
    left_out: int
    bytes: int
    seconds: float
    stopped: bool

    @property
    def done(self) -> int:
        """The number of documents processed."""
        counted = self.indexed + self.replaced + self.unchanged + self.failed_before + self.duplicates
        return counted + self.failures
