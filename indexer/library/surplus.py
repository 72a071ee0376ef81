"""The results of pruning, declared as in `neardup.library.records`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from indexer.library.forms import relation_members, stored_members
from indexer.library.records import Fact, Stored
from indexer.library.rows import Rows, Shown
from indexer.model import name_of

if TYPE_CHECKING:
    from indexer.clustering.removal import Removal


@dataclass(frozen=True, slots=True)
class Surplus(Stored):
    """A document that repeats a kept one, with --parts is found whole in it, or is an older version of it."""

    table: ClassVar[tuple[str, ...]] = (
        *("id", "repeats", "similarity", "relation", "evidence", "kept", "title", "source", "cluster", "differs"),
    )

    cluster: Annotated[str, "The id of its cluster; empty if it is in none"]
    repeats: Annotated[str, "The kept document it repeats, or is part of, or the latest version"]
    similarity: Annotated[float, "The similarity (0 to 1) to the kept one, computed anew; below 0 if unknown. Of parts "
        "1"]  # fmt: skip
    identical: Annotated[bool, "True if the texts are equal except for case and white space"]
    kept: Annotated[str, "The reason for keeping it; empty if it would be marked or deleted"]
    differs: Annotated[tuple[str, ...], "With --with-documents, the other fields that keep it"]
    relation: Annotated[str, 'The relation of its text to the kept one\'s: "identical", "reflowed", "noise", '
        '"rendition", "form", "reworded", "edited", "contains" or "part"; empty if they were not compared']  # fmt: skip
    evidence: Annotated[str, "The difference, in one line"]
    facts: Annotated[tuple[Fact, ...], "Of a form, the differing facts, the document's on the left"]
    older: Annotated[str, "With --older-versions, why the next version comes after it"]
    lost: Annotated[int, "The number of its words found in no kept document"]


@dataclass(frozen=True, slots=True, repr=False)
class Pruned(Shown):
    """The result of pruning."""

    surplus: Annotated[Rows[Surplus], "In a dry run, the documents that repeat a kept "
        "one"] = field(default_factory=lambda: Rows(Surplus), repr=False)  # fmt: skip
    marked: Annotated[int, "Documents marked"] = 0
    unmarked: Annotated[int, "Documents with their mark removed"] = 0
    deleted: Annotated[int, "Documents deleted"] = 0
    stripped: Annotated[int, "Documents of an owner, kept without neardup's fields"] = 0
    contended: Annotated[int, "Documents left as they are because others change them constantly"] = 0
    outdated: Annotated[int, "Documents kept because their text, or the repeated one's, changed after the "
        "fingerprint"] = 0  # fmt: skip


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
            older=one.older, lost=one.relation.lost if one.relation else 0,
        )  # fmt: skip
