"""The results of pruning, declared as those in `indexer.library.records`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from indexer.library.forms import relation_members, stored_members
from indexer.library.records import Fact, Stored
from indexer.library.rows import Rows, Shown
from indexer.model import name_of

if TYPE_CHECKING:
    from indexer.clustering.removal import Removal


@dataclass(frozen=True, slots=True)
class Surplus(Stored):
    """A document that repeats a kept one, or with --parts stands whole in it.

    Attributes:
        cluster: The id of its cluster; empty if it is in none
        repeats: The kept document that it repeats, or stands whole in
        similarity: The similarity (0 to 1) to that one, computed anew; below 0 if unknown. Of parts 1
        identical: True if the texts are equal except for case and white space
        kept: Why it stays; empty for a document that would be marked or deleted
        differs: With --with-documents, the other fields for which it stays
        relation: How its text stands to that of the kept one: "identical", "reflowed", "noise", "form",
            "reworded", "edited", "contains" or "part"; empty if they were not compared
        evidence: What differs, in one line
        facts: Of a form, the facts that differ, the document's on the left
        lost: How many of its words stand in no kept document
    """

    table: ClassVar[tuple[str, ...]] = (
        *("id", "repeats", "similarity", "relation", "evidence", "kept", "title", "source", "cluster", "differs"),
    )

    cluster: str
    repeats: str
    similarity: float
    identical: bool
    kept: str
    differs: tuple[str, ...]
    relation: str
    evidence: str
    facts: tuple[Fact, ...]
    lost: int


@dataclass(frozen=True, slots=True, repr=False)
class Pruned(Shown):
    """The result of pruning.

    Attributes:
        surplus: In a dry run, the documents that repeat a kept one
        marked: Documents that were marked
        unmarked: Documents whose mark was removed
        deleted: Documents that were deleted
        stripped: Documents of an owner, which stay and only lost neardup's fields
        contended: Documents that others change constantly, left as they are
        outdated: Documents that stay, since their text, or that of what they repeat, was changed after it was
            fingerprinted
    """

    surplus: Rows[Surplus] = field(default_factory=lambda: Rows(Surplus), repr=False)
    marked: int = 0
    unmarked: int = 0
    deleted: int = 0
    stripped: int = 0
    contended: int = 0
    outdated: int = 0


class SurplusStream(Iterator[Surplus]):
    """An iterator over the documents that repeat a kept one; its `tally` counts those that have come.

    They were near by `rule`.
    """

    def __init__(self, pruning: Removal, surplus: Iterator[Any]) -> None:
        from indexer.clustering.removal import Tally

        self.rule, self.tally, self._pruning, self._surplus = pruning.rule, Tally(), pruning, surplus

    @property
    def remark(self) -> str:
        """A sentence on texts that could not be read, or are too short, known at the end; else empty."""
        return self._pruning.remark()

    def __next__(self) -> Surplus:
        one = next(self._surplus)
        self.tally.add(one)
        return Surplus(
            **stored_members(one.record), cluster=one.cluster, repeats=name_of(one.repeats), similarity=one.similarity,
            identical=one.identical, kept=one.kept, differs=one.differs, **relation_members(one.relation),
            lost=one.relation.removed if one.relation else 0,
        )  # fmt: skip
