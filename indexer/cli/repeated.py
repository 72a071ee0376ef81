"""`neardup passages`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, Literal

from indexer.cli.options.answers import command
from indexer.cli.options.shared import FilterAsked, JsonAsked, StoreAsked, opened_collection
from indexer.cli.terminal.output import answer, answer_json, fields, say, table, written_rows
from indexer.errors import UsageError
from indexer.library.batch_options import WordsAsked
from indexer.model.declared import Option
from indexer.text.counts import counted
from indexer.text.remarks import in_json
from indexer.text.visible import beginning

if TYPE_CHECKING:
    from indexer.library.repetition import Passage, Repetition
    from indexer.library.rows import Rows

By = Literal["passage", "origin", "document", "cluster"]
PassageFormat = Literal["text", "csv", "jsonl", "parquet"]

_SHOWN = 20
_LETTERS = 300


@dataclass(frozen=True, slots=True)
class Listed:
    """The options of the list of passages: its kind, its length and its form."""

    words: WordsAsked = 50
    by: Annotated[By, Option("List passages, what hosts and folders have from each other, how much of each document "
        "stands elsewhere, or clusters that are near for common passages.")] = "passage"  # fmt: skip
    limit: Annotated[int | None, Option("List the first N.  [default: 20 as text, all in other formats and with "
        "--json]", least=1)] = None  # fmt: skip
    held_by: Annotated[bool, Option("Name the documents of each passage.")] = False
    write: Annotated[bool, Option("Write everything to an index beside, for the dashboards.")] = False
    format: Annotated[PassageFormat, Option("The output format.")] = "text"
    output: Annotated[str | None, Option("Write to FILE instead of standard output.", names=["-o", "--output"],
        kind="path", metavar="FILE", goes_with=["format=csv", "format=jsonl", "format=parquet"])] = None  # fmt: skip

    @property
    def most(self) -> int | None:
        return self.limit or (_SHOWN if self.format == "text" else None)


@command(
    "repetition:Repetition",
    short_help="List passages in several documents.",
    epilog="""
\b
Examples:
  neardup passages
  neardup passages --words 30 --limit 100
  neardup passages --by origin                    who copies from whom
  neardup passages --by document --format csv     how much of each stands elsewhere
  neardup passages --by cluster                   near for a menu or a licence
  neardup passages --held-by --format jsonl -o passages.jsonl
  neardup passages --store https://host:9200/articles --write   for the dashboards

Finds every run of N words or more in two or more documents, however common. A passage is as long as all its documents
agree. A passage of which more than half lies in more frequent ones is not listed but counted as a variant of the
first of these, whose line names the longest. Passages in ten documents or more for each host or folder are called
boilerplate: a menu, a licence, a footer.

--by cluster lists clusters if half or more of their words, but not all, lie in passages of ten or more documents.
They are near for a menu, a licence or a header, and may have nothing else in common. Look at them before you remove
anything.

The documents are read again from their sources; unreadable ones are listed. The store needs no particular scheme.
""",
)
def passages(
    *, store: StoreAsked, listing: Listed,
    filter: FilterAsked,  # noqa: A002
    json: JsonAsked,
) -> None:  # fmt: skip
    """List the passages of N words or more that stand in two documents or more, those in most documents first."""
    if json and listing.format != "text":
        raise UsageError("--json is one object; for one a line say --format jsonl")
    with opened_collection(store, filter=filter, read_only=not listing.write) as collection, _progress() as progress:
        found = collection.passages(
            words=listing.words, held_by=listing.held_by, write=listing.write, progress=progress
        )
    if found.unread:
        first = found.unread[0]
        say(
            f"{counted(len(found.unread), 'document')} could not be read again, so their passages are missing: "
            f"{first.id}: {first.reason}" + (", ..." if len(found.unread) > 1 else ""),
            level="warning",
        )
    if json:
        answer_json(_limited(found, listing.limit))
        return
    rows = _rows(found, listing.by)
    shown = rows[: listing.most]
    if listing.format == "text":
        _show(found, shown, listing.by)
    else:
        written_rows(shown, shown.kind, listing.format, listing.output)
    if listing.write:
        say(f"{counted(found.written, 'row')} written for the dashboards")
    left = f"; --limit {len(rows)} lists all" if len(shown) < len(rows) else ""
    say(counted(len(rows), *_NAMES[listing.by]) + left)


_NAMES: dict[By, tuple[str, ...]] = {
    "passage": ("passage",),
    "origin": ("pair of origins", "pairs of origins"),
    "document": ("document with passages", "documents with passages"),
    "cluster": ("cluster that rests on passages", "clusters that rest on passages"),
}


def _rows(found: Repetition, by: By) -> Rows[Any]:
    rows: dict[By, Rows[Any]] = {
        "passage": found.passages,
        "origin": found.copied,
        "document": found.partly_copied,
        "cluster": found.resting,
    }
    return rows[by]


def _limited(found: Repetition, limit: int | None) -> Repetition:
    return replace(
        found,
        passages=found.passages[:limit],
        copied=found.copied[:limit],
        partly_copied=found.partly_copied[:limit],
        resting=found.resting[:limit],
    )


def _show(found: Repetition, shown: Rows[Any], by: By) -> None:
    if by == "passage":
        share = found.in_passages / max(1, found.words)
        fields(
            [
                ("documents", f"{found.documents:,}"),
                ("words", f"{found.words:,}, of them in passages {found.in_passages:,} ({_percent(share)})"),
            ]
        )
        for passage in shown:
            answer("")
            _show_passage(passage)
    elif by == "origin":
        lines = ((f"{row.words:,}", row.origin, row.by) for row in shown)
        table(("words", "first in", "then in"), lines, right=("words",))
    elif by == "document":
        lines = ((_percent(row.share), f"{row.words:,}", row.id) for row in shown)
        table(("elsewhere", "words", "document"), lines, right=("elsewhere", "words"))
    else:
        for row in shown:
            answer(
                f"{counted(row.documents, 'document')} of {row.cluster} have {_percent(row.share)} of their words in "
                f"common with many; the longest passage, {counted(row.words, 'word')}, stands in {row.held_by:,}:"
            )
            answer("    " + beginning(row.text, _LETTERS))


def _percent(share: float) -> str:
    # What is not all is never shown as all.
    return f"{share if share == 1 else min(share, 0.999):.1%}"


def _show_passage(passage: Passage) -> None:
    origins = f"{counted(passage.documents, 'document')} of {counted(passage.origins, 'origin')}"
    longer = f" (up to {passage.longest:,} in fewer documents)" if passage.longest > passage.words else ""
    kind = "; boilerplate" if passage.boilerplate else ""
    answer(f"{counted(passage.words, 'word')}{longer}, in {origins}{kind}; first in {passage.first}")
    answer("    " + beginning(passage.text, _LETTERS))
    if passage.held_by:
        answer("    in " + ", ".join(passage.held_by))


@contextmanager
def _progress() -> Iterator[Callable[[int, int | None], None] | None]:
    import sys

    if not sys.stderr.isatty() or in_json():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as line:
        task = line.add_task("reading", total=None)
        yield lambda done, total: line.update(task, completed=done, total=total)


COMMANDS = (passages,)
