"""The results of removing documents, declared as in `neardup.library.records`."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from indexer.errors import UsageError
from indexer.library.records import WORDS, Fact, Stored
from indexer.library.results import relation_members, stored_members
from indexer.library.rows import Rows, Shown
from indexer.model import name_of
from indexer.model.paths import printable_path
from indexer.model.times import now
from indexer.stores import Store

if TYPE_CHECKING:
    from indexer.clustering.relocation import Relocated
    from indexer.clustering.removal import Removal
    from indexer.ingest.relocating import FileAct


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
    relation: Annotated[str, f"The relation of its text to the kept one's: {WORDS}; empty if they were not "
        "compared"]  # fmt: skip
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


@dataclass(frozen=True, slots=True)
class RelocatedFile:
    """A file moved, linked or put back, or left."""

    table: ClassVar[tuple[str, ...]] = ("id", "act", "path", "target", "left")

    id: Annotated[str, "The document of the file"]
    act: Annotated[str, '"move", "hard" or "symbolic"; empty for a document that stays']
    path: Annotated[str, "The file's place, also before a move"]
    target: Annotated[str, "The new place, or the kept file of a link"]
    left: Annotated[str, "The reason for leaving it; else empty"]


@dataclass(frozen=True, slots=True, repr=False)
class Relocations(Shown):
    """The files moved, linked or put back."""

    files: Annotated[Rows[RelocatedFile], "Each file, also those "
        "left"] = field(default_factory=lambda: Rows(RelocatedFile), repr=False)  # fmt: skip
    done: Annotated[int, "The number of files moved, linked or put back, or to be in a dry run"] = 0
    failed: Annotated[int, "The number of failed files, with the reason in `left`"] = 0
    bytes: Annotated[int, "Their size; for links the bytes freed"] = 0
    list: Annotated[str, "The list for neardup undo; empty in a dry run"] = ""
    dry_run: Annotated[bool, "True if nothing was changed"] = False


def relocate(
    removal: Removal,
    *,
    move_to: str | os.PathLike[str] | None,
    link: Literal["hard", "symbolic"] | None,
    list_file: str | os.PathLike[str] | None,
    dry_run: bool,
) -> Relocations:
    """Move or link the files of the documents of a removal; see `neardup.library.clusters.Clusters.relocate`."""
    from indexer.clustering.relocation import Relocation
    from indexer.ingest.relocating import ActList

    if (move_to is None) == (link is None):
        raise UsageError("give a folder to move files to, or a kind of link")
    relocation = Relocation(removal, folder=os.fspath(move_to) if move_to is not None else "", link=link)
    if dry_run:
        return _answer([_row(one) for one in relocation.planned()], "", 0, dry_run=True)
    path = os.path.abspath(list_file or f"neardup-acts-{now()[:19].replace(':', '').replace('-', '')}.jsonl")
    with ActList(path) as acts:
        rows = [_row(one) for one in relocation.done(acts)]
        return _answer(rows, printable_path(path), sum(bool(row.act and row.left) for row, _ in rows))


def undo(store: Store, list_file: str | os.PathLike[str], *, dry_run: bool) -> Relocations:
    """Take back the acts of a list; see `neardup.library.clusters.Clusters.undo`."""
    from indexer.clustering.relocation import undone
    from indexer.ingest.relocating import acts_backwards

    rows, failed = [], 0
    for act, why in undone(store, acts_backwards(list_file), dry_run=dry_run):
        rows.append((_act_row(act, "it was not done, or was taken back" if why is None else why), act.size))
        failed += bool(why)
    return _answer(rows, "", failed, dry_run=dry_run)


def _answer(rows: list[tuple[RelocatedFile, int]], path: str, failed: int, *, dry_run: bool = False) -> Relocations:
    done = [size for row, size in rows if not row.left]
    return Relocations(Rows(RelocatedFile, (row for row, _ in rows)), len(done), failed, sum(done), path, dry_run)


def _row(one: Relocated) -> tuple[RelocatedFile, int]:
    if one.act is None:
        record = one.document.record
        return RelocatedFile(name_of(record.ref), "", record.source, "", one.kept), 0
    return _act_row(one.act, one.kept), one.act.size


def _act_row(act: FileAct, left: str) -> RelocatedFile:
    return RelocatedFile(act.id, act.act, printable_path(act.path), printable_path(act.target), left)
