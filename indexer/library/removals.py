"""The results of removing documents, declared as in `neardup.library.records`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from indexer.library.records import Fact, Stored
from indexer.library.results import relation_members, stored_members
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
