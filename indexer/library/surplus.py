"""The results of pruning, declared as in `neardup.library.records`."""

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
    """A document that repeats a kept one, or with --parts is found whole in it.

    Attributes:
        cluster: The id of its cluster; empty if it is in none
        repeats: The kept document it repeats, or is part of
        similarity: The similarity (0 to 1) to the kept one, computed anew; below 0 if unknown. Of parts 1
        identical: True if the texts are equal except for case and white space
        kept: The reason for keeping it; empty if it would be marked or deleted
        differs: With --with-documents, the other fields that keep it
        relation: The relation of its text to the kept one's: "identical", "reflowed", "noise", "rendition", "form",
            "reworded", "edited", "contains" or "part"; empty if they were not compared
        evidence: The difference, in one line
        facts: Of a form, the differing facts, the document's on the left
        lost: The number of its words found in no kept document
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
        marked: Documents marked
        unmarked: Documents with their mark removed
        deleted: Documents deleted
        stripped: Documents of an owner, kept without neardup's fields
        contended: Documents left as they are because others change them constantly
        outdated: Documents kept because their text, or the repeated one's, changed after the fingerprint
    """

    surplus: Rows[Surplus] = field(default_factory=lambda: Rows(Surplus), repr=False)
    marked: int = 0
    unmarked: int = 0
    deleted: int = 0
    stripped: int = 0
    contended: int = 0
    outdated: int = 0


class SurplusStream(Iterator[Surplus]):
    """An iterator over the documents near a kept one by `rule`; its `tally` counts them."""

    def __init__(self, pruning: Removal, surplus: Iterator[Any]) -> None:
        from indexer.clustering.removal import Tally

        self.rule, self.tally, self._pruning, self._surplus = pruning.rule, Tally(), pruning, surplus

    @property
    def remark(self) -> str:
        """A sentence on unreadable or too short texts, known at the end; else empty."""
        return self._pruning.remark()

    def __next__(self) -> Surplus:
        one = next(self._surplus)
        self.tally.add(one)
        return Surplus(
            **stored_members(one.record), cluster=one.cluster, repeats=name_of(one.repeats), similarity=one.similarity,
            identical=one.identical, kept=one.kept, differs=one.differs, **relation_members(one.relation),
            lost=one.relation.removed if one.relation else 0,
        )  # fmt: skip
