"""`neardup prune` and `neardup decisions`."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

import click

from indexer.cli.documents import show_deleted
from indexer.cli.options.commands import A_PATH, command
from indexer.cli.options.shared import JsonAsked, RefreshAsked, StoreAsked, opened_collection
from indexer.cli.terminal.output import answer, answer_json, confirm, fields, say, shown_store, size
from indexer.errors import FileActError
from indexer.library.options import RemovalRequest
from indexer.model.declared import Option
from indexer.text.counts import counted

if TYPE_CHECKING:
    from indexer.library.collection import Collection
    from indexer.library.removals import Relocations, SurplusStream


@dataclass(frozen=True, slots=True)
class PruneOptions:
    """The selected documents, and the action on them."""

    dry_run: Annotated[bool, Option("List the documents, and do nothing.")] = False
    delete: Annotated[bool, Option("Delete the documents from the store instead of marking them.", typed=True)] = False
    yes: Annotated[bool, Option("With --delete, --move-to and --link: don't ask for confirmation.",
        goes_with=["delete", "move_to", "link"], typed=True)] = False  # fmt: skip
    asked: RemovalRequest = RemovalRequest()
    move_to: Annotated[str | None, Option("Move the documents' files to FOLDER, below their paths. The store follows. "
        "neardup undo puts them back.", kind="path", metavar="FOLDER", not_with=["delete", "parts"],
        typed=True)] = None  # fmt: skip
    link: Annotated[Literal["hard", "symbolic"] | None, Option("Replace each file by a link to the kept file, if both "
        "have the same bytes. After a hard link, a later edit changes both.",
        not_with=["delete", "parts", "older_versions", "move_to"], typed=True)] = None  # fmt: skip
    list_file: Annotated[str | None, Option("A new file for the list for neardup undo.  [default: "
        "neardup-acts-TIME.jsonl]", names=["--list"], kind="path", metavar="FILE", goes_with=["move_to", "link"],
        typed=True)] = None  # fmt: skip


@command(
    "removals:Pruned",
    heading="With --json one object, of what was marked or deleted",
    others={
        "With --json --dry-run one object per line, for each document": "removals:Surplus",
        "With --json and --move-to or --link one object, also with --dry-run": "removals:Relocations",
    },
    short_help="Mark or delete documents that repeat a kept one.",
)
def prune(*, store: StoreAsked, pruning: PruneOptions, refresh: RefreshAsked = "wait", json: JsonAsked) -> int:
    """Mark the documents that repeat another one which is kept, or delete them from the store.

    Examples:
      neardup prune --dry-run   list documents that repeat another one
      neardup prune             mark them: annotation duplicate_of
      neardup prune --delete    delete them, after asking
      neardup prune --remove identical --delete
      neardup prune --parts --dry-run   what stands whole in a longer document
      neardup prune --older-versions --dry-run   what has a later version
      neardup prune --decisions decisions.json --dry-run
      neardup prune --move-to ../duplicates --dry-run
      neardup prune --remove identical --link hard --dry-run

    Run "neardup cluster" first. It chooses the documents to keep in the order of --canonical: no two kept documents are
    near, and each removable one repeats a kept one, maybe of another cluster. A document is selected only if the two
    are still as near as the rule of the clustering demands, and the kept one says the same: both texts are read again
    and aligned. All its sentences must stand there, unchanged and in order, and no others; layout and misread letters
    don't count. Unreadable documents stay. --dry-run says why.

    The files themselves stay. In a search engine, a document with fields other than neardup's belongs to its owner:
    --delete leaves it in place and removes neardup's fields. --with-documents deletes it, if it has not changed since
    the comparison, its text is identical, and all its other fields are equal. Look at --dry-run first: it names the
    fields that differ.

    --parts deletes documents that stand whole in a longer one: all of the text, except for case and white space,
    between white space there. The longer document stays, and so do unreadable ones.

    --older-versions goes by the order that "neardup history" shows, if it is known. Each document of the latest version
    stays. --dry-run names it, and says why the next version is newer.

    --decisions carries out somebody's decisions from a report. The file names documents by id and by a digest of the
    text. Documents stay and are named if they are unknown or changed, have contradicting decisions, are in no cluster
    with a kept document, or have no kept copy in the file.

    --move-to and --link are for files of this machine with one document each; lines, mails and members of archives are
    named and stay. Files changed since they were indexed stay, nothing is overwritten, and no symbolic link is
    followed. The kept file is read and compared before its copy goes. --move-to also leaves the file of another
    document, and the target of a symbolic link among the documents. Each act is listed before it is done. Failed acts
    are named, and the command ends with exit code 6.
    """
    from indexer.library.removals import Pruned

    if pruning.move_to or pruning.link:
        return _relocate(store, pruning, refresh, as_json=json)
    with opened_collection(store, read_only=pruning.dry_run, refresh=refresh) as collection:
        if pruning.dry_run:
            _list_surplus(collection.surplus(pruning.asked), pruning, as_json=json)
            return 0
        named = None
        if pruning.delete:
            listed = collection.surplus(pruning.asked, delete=True)
            named = _confirmed(collection, listed, shown_store(store), pruning)
        done = Pruned() if named == 0 else collection.prune(pruning.asked, delete=pruning.delete)
    if named and done.deleted + done.stripped < named:
        say(f"{named - done.deleted - done.stripped:,} have changed since they were checked, and stay")
    if json:
        answer_json(done)
    elif pruning.delete:
        show_deleted(done)
    else:
        fields([("marked", f"{done.marked:,}"), ("unmarked", f"{done.unmarked:,}")])
    return 0


def _confirmed(collection: Collection, listed: SurplusStream, shown: str, pruning: PruneOptions) -> int:
    asked = pruning.asked
    if asked.decisions is not None:
        for one in listed:
            if one.kept:
                say(f"{one.id} stays: {one.kept}")
    deque(listed, maxlen=0)
    tally = listed.tally
    if listed.remark:
        say(listed.remark)
    if not asked.parts and (losses := tally.losses()):
        say(losses)
    count, total = tally.named, len(collection)
    more = f"; {counted(tally.kept, 'other')} will be kept all the same, --dry-run says why" if tally.kept else ""
    owners = "; documents of an owner stay, and lose neardup's fields"
    if asked.with_documents:
        owners = ", and so do documents that have changed; the others are deleted as a whole"
    elif collection.store.embedded:
        owners = ""
    stay = "the longer ones" if asked.parts else "the kept ones" if asked.decisions else "the repeated ones"
    stay = "the latest versions" if asked.older_versions else stay
    say(f"deletes {count:,} of {counted(total, 'document')} from {shown}; {stay} stay{owners}{more}")
    if count and not pruning.yes:
        confirm("Delete them?", "--delete asks for confirmation on a terminal; give --yes to delete without it")
    return count


def _list_surplus(listed: SurplusStream, pruning: PruneOptions, *, as_json: bool) -> None:
    parts, decided = pruning.asked.parts, pruning.asked.decisions is not None
    for one in listed:
        if as_json:
            answer_json(one)
        elif one.kept:
            if decided:
                answer(f"{one.id}  stays: {one.kept}")
        elif parts:
            answer(f"{one.id}  stands whole in {one.repeats}")
        elif one.older:
            answer(f"{one.id}  is older than {one.repeats}, the latest version; the next one: {one.older}")
        elif one.identical:
            answer(f"{one.id}  is identical with {one.repeats}")
        elif decided:
            answer(
                f"{one.id}  is dropped, {f'and {one.repeats} is kept' if one.repeats else 'and no copy of it is kept'}"
            )
        else:
            relation = f"; {one.relation}" * bool(one.relation) + f": {one.evidence}" * bool(one.evidence)
            answer(f"{one.id}  {listed.rule.said(one.similarity, one.repeats)}{relation}")
    tally = listed.tally
    if listed.remark:
        say(listed.remark)
    for line in tally.reasons() if not decided else ():
        say(line)
    words = next((words for kind, words in _SUMMARIES.items() if getattr(pruning.asked, kind)), None)
    summary = _summary_of(listed, *words) if words else _summary(listed)
    say(f"a dry run: {summary}; nothing was changed")
    if tally.kept:
        say(f"{counted(tally.kept, 'document')} will be kept all the same")


def _summary_of(listed: SurplusStream, one: str, several: str, place: str) -> str:
    return f"{counted(listed.tally.named, one, several)} {place} ({size(listed.tally.total_bytes)})"


def _summary(listed: SurplusStream) -> str:
    tally = listed.tally
    count, same = tally.named, tally.identical
    kinds = [f"{same:,} identical"] * bool(same)
    kinds += [f"{count - same:,} near, the least similar {listed.rule.shown(tally.least)}"] * (count > same)
    if losses := tally.losses():
        say(losses)
    said = f"{counted(count, 'document repeats', 'documents repeat')} a kept one ({size(tally.total_bytes)})"
    return said + f": {' and '.join(kinds)}" * bool(kinds)


# One document, several, and what would become of them.
_SUMMARIES = {
    "parts": ("document stands", "documents stand", "whole in another one"),
    "decisions": ("document", "documents", "would go as decided"),
    "older_versions": ("older version has", "older versions have", "a later one"),
}


@command("judgments:Decisions", short_help="Remember decisions of people.")
@click.argument("file", required=False, type=A_PATH)
def decisions(
    *, file: str | None, store: StoreAsked,
    forget: Annotated[tuple[str, ...], Option("Forget a decision; can be repeated.", metavar="ID")],
    dry_run: Annotated[bool, Option("Show what would be remembered, and change nothing.")],
    refresh: RefreshAsked = "wait", json: JsonAsked,
) -> None:  # fmt: skip
    """Remember the decisions in FILE for every later clustering; without FILE, list what is remembered.

    Examples:
      neardup decisions decisions.json   remember what was decided in a report
      neardup cluster                    go by it
      neardup decisions                  list what is remembered
      neardup decisions --forget 5e2f0c9d41b7a8f6230d9c1be4a75f38

    FILE comes from a report. Documents called not the same are never in one cluster again, by cluster, index --cluster
    or index --skip-duplicates. Documents kept and dropped together stay in one. A decision holds as long as the texts
    are unchanged. Unknown and changed documents are named and left out. Contradicting decisions, in the file or in the
    store, are listed and not kept: A is the same as B, and B as C, but A not as C.
    """
    changes = bool(file or forget) and not dry_run
    with opened_collection(store, read_only=not changes, refresh=refresh) as collection:
        done = collection.decide(file, forget=forget, dry_run=dry_run)
    if json:
        answer_json(done)
        return
    for one in done.refused:
        answer(f"{one.id}  left out: {one.reason}")
    for says in done.contradictions:
        answer(f"contradiction, not kept: {says}")
    if not (file or forget):
        for held in done.held:
            answer(f"{held.id}  {_remembered(held.together, held.apart)}")
    if file:
        verb = "would be kept" if dry_run else "kept"
        say(f"{counted(done.kept, 'decision')} {verb}, {done.known:,} known already; neardup cluster goes by them")
    if done.forgotten:
        say(f"{counted(done.forgotten, 'decision')} forgotten")
    say(f"the store remembers {counted(len(done.held), 'decision')}")


def _remembered(together: tuple[str, ...], apart: tuple[str, ...]) -> str:
    same = f"the same: {', '.join(together)}" if len(together) > 1 else ""
    if not apart:
        return same
    return f"{same}; " * bool(same) + f"not the same: {', '.join((*together[:1], *apart))}"


def _relocate(store: str, pruning: PruneOptions, refresh: RefreshAsked, *, as_json: bool) -> int:
    way: dict[str, Any] = {"move_to": pruning.move_to, "link": pruning.link, "list_file": pruning.list_file}
    with opened_collection(store, read_only=pruning.dry_run, refresh=refresh) as collection:
        planned = collection.relocate(pruning.asked, dry_run=True, **way)
        if not (as_json and pruning.dry_run):
            _tell_files(planned, say if as_json else answer)
        if pruning.link == "hard" and planned.done:
            say("after a hard link, both names are one file: a later edit under one changes what the other holds")
        what = "linked" if pruning.link else "moved"
        counts = f"{counted(planned.done, 'file')} ({size(planned.bytes)})"
        if pruning.dry_run:
            say(f"a dry run: {counts} would be {what}; nothing was changed")
            if as_json:
                answer_json(planned)
            return 0
        say(f"{counts} will be {what}")
        if planned.done and not pruning.yes:
            confirm(f"Are they to be {what}?", f"--move-to and --link ask {_WITHOUT_ASKING}")
        done = collection.relocate(pruning.asked, **way) if planned.done or pruning.list_file else planned
    return _done_with_files(done, what, as_json=as_json)


def _done_with_files(done: Relocations, what: str, *, as_json: bool) -> int:
    if as_json:
        answer_json(done)
    else:
        takes_back = f"; neardup undo {done.list} takes it back" * bool(done.list)
        say(f"{counted(done.done, 'file was', 'files were')} {what}{takes_back}")
    for one in done.files if done.failed else ():
        if one.act and one.left:
            say(f"{one.path} could not be {what}: {one.left}")
    return FileActError.exit_code if done.failed else 0


_WITHOUT_ASKING = "for confirmation on a terminal; give --yes to go on without it"


def _tell_files(found: Relocations, tell: Callable[[str], object]) -> None:
    for one in found.files:
        name = one.path or one.id
        tell(f"{name}  stays: {one.left}" if one.left else f"{name}  {_BECOMES[one.act]} {one.target}")


_BECOMES = {"move": "->", "hard": "becomes a hard link to", "symbolic": "becomes a symbolic link to"}


@command("removals:Relocations", short_help="Put back files that prune moved or linked.")
@click.argument("list_file", metavar="LIST", type=A_PATH)
def undo(
    *, list_file: str, store: StoreAsked,
    dry_run: Annotated[bool, Option("List what would be put back, and do nothing.")],
    yes: Annotated[bool, Option("Don't ask for confirmation.", typed=True)],
    json: JsonAsked,
) -> int:  # fmt: skip
    """Put back the files that a LIST of prune says were moved or linked.

    Examples:
      neardup undo neardup-acts-20260405T101500.jsonl --dry-run
      neardup undo neardup-acts-20260405T101500.jsonl

    LIST comes from "neardup prune --move-to" or "--link", also from an interrupted run. The last act is taken back
    first. An act is taken back if the store knows it, the file is unchanged, and nothing else stands in its place. The
    others are named and left, and the command ends with exit code 6. The store follows.
    """
    with opened_collection(store, read_only=dry_run) as collection:
        done = collection.undo(list_file, dry_run=True)
        if not (json and dry_run):
            for one in done.files:
                (say if json else answer)(f"{one.path}  {f'is left: {one.left}' if one.left else 'can be put back'}")
        if not dry_run:
            if done.done and not yes:
                confirm(f"Put back {counted(done.done, 'file')}?", f"undo asks {_WITHOUT_ASKING}")
            done = collection.undo(list_file, dry_run=not done.done)
    if not dry_run:
        return _done_with_files(done, "put back", as_json=json)
    if json:
        answer_json(done)
    else:
        say(f"a dry run: {counted(done.done, 'file')} would be put back")
    return 0


COMMANDS = (prune, decisions, undo)
