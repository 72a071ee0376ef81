"""Files of duplicates moved aside or replaced by links, and put back."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Annotated, ClassVar, Literal

from indexer.clustering.relocation import Relocated, Relocation, undone
from indexer.clustering.removal import Removal
from indexer.errors import UsageError
from indexer.ingest.act_lists import ActList, acts_backwards
from indexer.ingest.relocating import FileAct
from indexer.library.rows import Rows, Shown
from indexer.model import name_of
from indexer.model.paths import printable_path
from indexer.model.times import now
from indexer.stores import Store


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
