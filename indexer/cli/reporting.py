"""`neardup report` and `neardup diff`."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Annotated

import click

from indexer.cli.options import arguments
from indexer.cli.options.answers import command
from indexer.cli.options.groups import A_PATH
from indexer.cli.options.shared import JsonAsked, StoreAsked, opened_collection
from indexer.cli.terminal.answers import order_shown, relation_shown, shown_place
from indexer.cli.terminal.output import answer, answer_json, printable, say, size
from indexer.library.options import Extraction, ReportFormat
from indexer.model.declared import Option
from indexer.text.counts import counted

if TYPE_CHECKING:
    from indexer.library.comparisons import TextDifference

_MOST_SENTENCES = 10
_REMOVED, _ADDED, _PLAIN = "\x1b[31;9m", "\x1b[32;4m", "\x1b[0m"


@dataclass(frozen=True, slots=True)
class Showing:
    """The limits of a report, and the field to count by over time."""

    heading = "What is shown"

    clusters: Annotated[int, Option("Show the N largest clusters.", least=0, most=10_000)] = 1000
    members: Annotated[int, Option("Show this many members of each cluster.", least=1, most=1000,
        goes_with=["format=html", "format=json"])] = 10  # fmt: skip
    pairs: Annotated[int, Option("Show this many differences of two texts, from the least similar of the clusters.",
        least=0, most=200, goes_with=["format=html"])] = 25  # fmt: skip
    passages: Annotated[int, Option("Show the N passages common to most documents, and who copies from whom. Reads all "
        "documents again.", least=0, most=1000, goes_with=["format=html"])] = 0  # fmt: skip
    sample: Annotated[int, Option("Offer a random sample of N removable documents, to be judged. evaluate needs 60 "
        "judgments.", least=0, most=400, goes_with=["format=html"])] = 60  # fmt: skip
    time_field: Annotated[str, Option("The field with the date for counts over time, in the metadata or the documents "
        "of an index.  [default: as in the last clustering, or the date of the document, its mail or its file, or else "
        "the time of indexing]", metavar="NAME")] = ""  # fmt: skip
    link: Annotated[str, Option("The address of a document, with {id}, {source} or {FIELD}, a field of its index or "
        "its metadata: 'https://example.org/{id}', or '{url}' for a field with the address.", metavar="TEMPLATE",
        goes_with=["format=html"])] = ""  # fmt: skip


@command(
    "indexer.report.figures:ReportFigures",
    heading="With --format json one object",
    short_help="Report what is duplicated, as a page or in figures.",
    epilog="""
\b
Examples:
  neardup report -o report.html
  neardup report --format json -o - | jq .could_go.documents
  neardup report --link 'https://example.org/articles/{id}'
  neardup report --format md --time-field published -o report.md

Reports the clusters stored by "neardup cluster". The page is a single file and loads nothing from elsewhere. It shows
how much is duplicated, by format, source and time, sizes of clusters, similarities, the largest clusters, clusters
that are near for a menu or a licence, and for some documents the differences word by word, if their files are
unchanged. With --passages it also shows passages in several documents. It stays under 10 MB and says what it leaves
out. The other formats have the same figures without texts.

In the page you can choose documents to keep, to drop and to call not the same, and save this for "neardup prune
--decisions". You can also judge a random sample: "neardup evaluate --judgments" then says how many of the removable
documents are right.
""",
)
def report(
    *, store: StoreAsked,
    output: Annotated[str | None, Option("The output file; - is standard output.  [default: report.html, or standard "
        "output for the other formats]", names=["-o", "--output"], metavar="FILE")],
    format: Annotated[ReportFormat, Option("A page, or its figures.")] = "html",  # noqa: A002
    showing: Showing,
) -> None:  # fmt: skip
    """Report how much of the store is duplicated, and where, as a page or in figures."""
    place = output or ("report.html" if format == "html" else "-")
    with opened_collection(store, read_only=True) as collection:
        # The other formats show no texts.
        texts = showing if format == "html" else replace(showing, pairs=0, passages=0, sample=0, link="")
        made = collection.report(**asdict(texts))
    if place == "-":
        sys.stdout.flush()
        sys.stdout.buffer.write(made.text(format).encode())
        sys.stdout.buffer.flush()
    else:
        written = made.save(place, format)
        shown = made.figures
        say(
            f"wrote {place}, {size(written)}; {made.repeating:,} of {counted(made.documents, 'document')} "
            f"({shown.repeating.share:.1%}) repeat another one: {made.could_go:,} could go without loss, "
            f"{shown.same_work.documents:,} same work in another format or frame, {shown.differ.documents:,} differ"
        )
    if unclustered := made.figures.unclustered:
        say(f"{counted(unclustered, 'document')} came since the last clustering; run neardup cluster")


@command(
    "comparisons:TextDifference",
    name="diff",
    short_help="Show which words differ between two documents.",
    epilog="""
\b
Examples:
  neardup diff old.html new.pdf
  neardup diff draft.html id:docs/guide.html --context 30
  neardup diff a.html b.html --json | jq .removed

A and B are files, or ids of stored documents, whose files are read again. "id:ID" is always an id; - is standard
input. On a terminal, removed words are red and struck through, added ones green and underlined. In a pipe, or if
NO_COLOR is set, they are marked [-removed-] and {+added+}. Long unchanged passages are left out. A chapter is
compared with its place in the book.
""",
)
@click.argument("a", type=A_PATH)
@click.argument("b", type=A_PATH)
def diff(
    *, a: str, b: str, store: StoreAsked,
    context: Annotated[int, Option("Show this many unchanged words around each change.", least=0,
        metavar="WORDS")] = 12,
    max_words: Annotated[int, Option("Compare only the first N words of each. The time grows with the square of N.",
        least=1, most=1_000_000)] = 100_000,
    extraction: Extraction, json: JsonAsked,
) -> None:  # fmt: skip
    """Show which words of A were removed and which of B were added."""
    from indexer.library import comparing

    if a == b == "-":
        raise click.UsageError("only one of A and B can be standard input")
    arguments.require_some_stored((a, b))
    arguments.require_some_file((a, b))
    if arguments.any_stored((a, b), store):
        with opened_collection(store, read_only=True) as collection:
            made = collection.diff(a, b, context=context, max_words=max_words, extraction=extraction)
    else:
        made = comparing.diff(a, b, context=context, max_words=max_words, extraction=extraction)
    if json:
        answer_json(made)
    else:
        _show(made)


def _show(difference: TextDifference) -> None:
    removed, added, end = ("[-", "{+", ("-]", "+}"))
    if sys.stdout.isatty() and not os.environ.get("NO_COLOR"):
        removed, added, end = _REMOVED, _ADDED, (_PLAIN, _PLAIN)
    line: list[str] = []
    if difference.removed or difference.added:
        for piece in difference.pieces:
            if piece.kind in ("skipped", "outside"):
                _show_line(line)
                left_out = "unchanged word" if piece.kind == "skipped" else "word beside the part"
                answer(f"... {counted(piece.words, left_out, left_out.replace('word', 'words'))} ...")
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
    if difference.place:
        part, whole = ("A", "B") if difference.holder == "b" else ("B", "A")
        say(f"{part} stands in {whole}: {shown_place(difference.place)}; the rest of {whole} is not compared")
    say(f"words: {difference.same:,} the same, {difference.removed:,} removed, {difference.added:,} added")
    if difference.relation:
        say(f"A to B: {relation_shown(difference)}")
        _show_sentences("replaced", [" / ".join(pair) for pair in difference.replaced])
        _show_sentences("only in A", difference.only_a)
        _show_sentences("only in B", difference.only_b)
        _show_sentences("moved", difference.moved)
    if difference.order_evidence:
        say(order_shown(difference))


def _show_sentences(name: str, sentences: Sequence[str]) -> None:
    for sentence in sentences[:_MOST_SENTENCES]:
        say(f"  {name}: {printable(sentence)}")
    if (more := len(sentences) - _MOST_SENTENCES) > 0:
        say(f"  {name}: {counted(more, 'other')}")


def _show_line(words: list[str]) -> None:
    if words:
        click.echo(" ".join(words))


COMMANDS = (report, diff)
