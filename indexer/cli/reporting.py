"""`neardup report` and `neardup diff`."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from contextlib import nullcontext
from typing import TYPE_CHECKING, Literal, get_args

import click

from indexer import own_files
from indexer.cli.options import arguments
from indexer.cli.options.groups import Related
from indexer.cli.options.paths import A_PATH
from indexer.cli.options.shared import extraction_options, json_option, opened, store_option
from indexer.cli.terminal.output import answer, answer_json, printable, say, shown_store, size
from indexer.errors import ExtractionError, NeardupError
from indexer.extract.base import REASONS
from indexer.ingest.sources import STDIN
from indexer.library.options import Extraction, content_of
from indexer.model.paths import printable_path
from indexer.text.counts import counted

if TYPE_CHECKING:
    from indexer.ingest.rereading import StoredTexts
    from indexer.stores import Store
    from indexer.text.differences import Difference, Piece

ReportFormat = Literal["html", "json", "csv", "md"]

_REMOVED, _ADDED, _PLAIN = "\x1b[31;9m", "\x1b[32;4m", "\x1b[0m"


@click.command(
    short_help="Report what is duplicated, as a page or in figures.",
    epilog="""
\b
Examples:
  neardup report -o report.html
  neardup report --format json -o - | jq .redundant_share
  neardup report --format md --time-field published -o report.md

Reads the clusters that "neardup cluster" has stored. The page is a single file that loads nothing from elsewhere: how
much is duplicated, by format, by source and over time; sizes of clusters; similarities; the largest clusters; and for
some of them the differences between two texts, word by word, if their files still exist unchanged. It stays under 5 MB
and says what it leaves out. The other formats hold the same figures without texts.
""",
)
@store_option
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    help="The output file; - is standard output.  [default: report.html, or standard output for the other formats]",
)
@click.option(
    "--format",
    "format",
    type=click.Choice(get_args(ReportFormat)),
    default="html",
    show_default=True,
    help="A page, or its figures.",
)
@click.option(
    "--clusters",
    type=click.IntRange(0, 10_000),
    metavar="N",
    default=1000,
    show_default=True,
    help="Show the N largest clusters.",
)
@click.option(
    "--members",
    cls=Related,
    goes_with=["format=html", "format=json"],
    type=click.IntRange(1, 1000),
    metavar="N",
    default=10,
    show_default=True,
    help="Show this many members of each cluster.",
)
@click.option(
    "--pairs",
    cls=Related,
    goes_with=["format=html"],
    type=click.IntRange(0, 200),
    metavar="N",
    default=25,
    show_default=True,
    help="Show this many differences of two texts; 0 reads no documents.",
)
@click.option(
    "--time-field",
    metavar="NAME",
    default="",
    help="The metadata field with the time (ISO 8601) for counts over time.  [default: the time of indexing]",
)
def report(
    store: str,
    output: str | None,
    format: ReportFormat,  # noqa: A002 - the setting's name
    clusters: int,
    members: int,
    pairs: int,
    time_field: str,
) -> None:
    """Report how much of the store is duplicated, and where, as a page or in figures."""
    from indexer import __version__
    from indexer.report.contents import Asked, build_report, report_csv, report_json, report_markdown

    place = output or ("report.html" if format == "html" else STDIN)
    # The other formats show no texts.
    wanted = Asked(clusters, members, pairs if format == "html" else 0, time_field)
    with opened(store, read_only=True) as source:
        built = build_report(source, shown_store(store), wanted)
    if format == "html":
        from indexer.report.html import report_html

        text = report_html(built, __version__)
    else:
        text = {"json": report_json, "csv": report_csv, "md": report_markdown}[format](built)
    _write(place, text)
    total = built.figures.total
    if place != STDIN:
        redundant = f"{total.redundant:,} of {counted(total.documents, 'document')} ({total.part:.1%})"
        say(f"wrote {place}, {size(len(text.encode()))}; redundant: {redundant}")
    if built.figures.unclustered:
        say(f"{counted(built.figures.unclustered, 'document')} came since the last clustering; run neardup cluster")


def _write(output: str, text: str) -> None:
    data = text.encode("utf-8")
    if output == STDIN:
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
        return
    try:
        with open(output, "wb", opener=own_files.writer) as file:
            file.write(data)
    except OSError as error:
        raise NeardupError(f"{printable_path(output)}: the report can't be written: {error.strerror}") from None


@click.command(
    name="diff",
    short_help="Show which words differ between two documents.",
    epilog="""
\b
Examples:
  neardup diff old.html new.pdf
  neardup diff draft.html id:docs/guide.html --context 30
  neardup diff a.html b.html --json | jq .removed

A and B are files, or ids of stored documents, whose files are read again; "id:ID" is always an id. - is standard
input. On a terminal, removed words are red and struck through, added ones green and underlined; in a pipe, or if
NO_COLOR is set, they are marked [-removed-] and {+added+}. Long unchanged passages are left out. With --json
one object: same, removed, added (counts of words), limit, cut (whether only the first words, up to the limit, were
compared), and pieces, each with kind (same, changed or skipped), left, right and words.
""",
)
@click.argument("a", type=A_PATH)
@click.argument("b", type=A_PATH)
@store_option
@click.option(
    "--context",
    type=click.IntRange(0),
    metavar="WORDS",
    default=12,
    show_default=True,
    help="Show this many unchanged words around each change.",
)
@click.option(
    "--max-words",
    type=click.IntRange(1, 1_000_000),
    metavar="N",
    default=100_000,
    show_default=True,
    help="Compare only the first N words of each; the time grows with the square of N.",
)
@extraction_options
@json_option
def diff(a: str, b: str, store: str, context: int, max_words: int, extraction: Extraction, json: bool) -> None:
    """Show which words of A were removed and which of B were added."""
    from indexer.ingest.rereading import StoredTexts
    from indexer.text.differences import shortened, word_difference

    if a == b == STDIN:
        raise click.UsageError("only one of A and B can be standard input")
    arguments.require_some_stored((a, b))
    arguments.require_some_file((a, b))
    with opened(store, read_only=True) if arguments.any_stored((a, b), store) else nullcontext() as source:
        texts = StoredTexts(source) if source else None
        left, right = (_text(name, source, texts, extraction) for name in (a, b))
    difference = word_difference(left, right, limit=max_words)
    pieces = list(shortened(difference.pieces, context))
    if json:
        shown = [
            {"kind": piece.kind, "left": piece.left, "right": piece.right, "words": piece.words} for piece in pieces
        ]
        counts = {name: getattr(difference, name) for name in ("same", "removed", "added", "limit", "cut")}
        answer_json({**counts, "pieces": shown})
        return
    _show(difference, pieces)


def _text(name: str, source: Store | None, texts: StoredTexts | None, extraction: Extraction) -> str:
    from indexer.extract import extract

    try:
        if source and texts and arguments.is_id(name):
            return texts.of(arguments.meant(source, name))
        options, limits = extraction.reading(content_of(source) if source else None)
        data = arguments.document_file(name, options, limits)
        return extract(data, name="" if name == STDIN else name, options=options, limits=limits).text
    except ExtractionError as error:
        detail = error.detail or REASONS.get(error.reason, "")
        shown = printable_path(name)
        raise ExtractionError(error.reason, detail if shown in detail else f"{shown}: {detail}") from None


def _show(difference: Difference, pieces: Iterable[Piece]) -> None:
    removed, added, end = ("[-", "{+", ("-]", "+}"))
    if sys.stdout.isatty() and not os.environ.get("NO_COLOR"):
        removed, added, end = _REMOVED, _ADDED, (_PLAIN, _PLAIN)
    line: list[str] = []
    if difference.removed or difference.added:
        for piece in pieces:
            if piece.kind == "skipped":
                _show_line(line)
                answer(f"... {counted(piece.words, 'unchanged word')} ...")
                line = []
            elif piece.kind == "same":
                line.append(printable(piece.left.strip()))
            else:
                # Made safe one by one, so that no document writes the colours.
                line += [f"{removed}{printable(piece.left.strip())}{end[0]}"] if piece.left else []
                line += [f"{added}{printable(piece.right.strip())}{end[1]}"] if piece.right else []
        _show_line(line)
    if difference.cut:
        say(f"only the first {counted(difference.limit, 'word')} of each text were compared; --max-words compares more")
    say(f"words: {difference.same:,} the same, {difference.removed:,} removed, {difference.added:,} added")


def _show_line(words: list[str]) -> None:
    if words:
        click.echo(" ".join(words))


COMMANDS = (report, diff)
