"""`neardup batch passages`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from indexer.cli.options.groups import Group, Related
from indexer.cli.options.paths import A_PATH
from indexer.cli.options.shared import json_option
from indexer.cli.terminal.output import answer_json, fields, shown_store
from indexer.model.declared import as_json
from indexer.text.counts import counted

if TYPE_CHECKING:
    from indexer.batch.cutting import Cutting, PassagesCut


@dataclass(frozen=True, slots=True)
class RowFields:
    """The fields of rows and lines that are read; None for the usual ones."""

    text_field: str | None
    id_field: str | None
    time_field: str | None


row_options = Group(
    RowFields,
    click.option("--text-field", metavar="NAME", help="The field or column with the text.  [default: text]"),
    click.option(
        "--id-field", metavar="NAME", help="The field or column with the id.  [default: id; without one, file and row]"
    ),
    click.option(
        "--time-field",
        metavar="NAME",
        help="The field or column that says when a document was there first; of the same time the lower id is first.",
    ),
)


@dataclass(frozen=True, slots=True)
class Cut:
    """The passages to cut, and where to."""

    words: int
    out: str | None
    least_left: int

    def asked(self, rows: RowFields) -> Cutting:
        """The same for `indexer.batch.cutting.cut_passages`."""
        from indexer.batch.cutting import Cutting
        from indexer.ingest.readers import ColumnNames

        columns = ColumnNames(rows.text_field or "", rows.id_field or "")
        return Cutting(self.words, self.least_left, rows.time_field or "", columns)


cut_options = Group(
    Cut,
    click.option(
        "--words",
        type=click.IntRange(1),
        metavar="N",
        default=50,
        show_default=True,
        help="The least length of a passage.",
    ),
    click.option(
        "--out", type=A_PATH, metavar="OUT", help="Write the documents without the passages to this folder, a new one."
    ),
    click.option(
        "--least-left",
        cls=Related,
        type=click.IntRange(1),
        metavar="N",
        default=1,
        show_default=True,
        help="Drop documents that lose a passage and have fewer than N words left.",
    ),
)


@click.command(
    name="passages",
    short_help="Cut passages that other documents have.",
    epilog="""
\b
Examples:
  neardup batch passages kept/                    what would be cut
  neardup batch passages kept/ --out cut
  neardup batch passages kept/ --out cut --words 100 --least-left 20 --time-field fetched

Reads Parquet and JSON lines, as neardup batch filter writes them (--texts for single files): take near-duplicates away
first. Every word that is cut lies in N words in a row that stand in a document before it, by time and then by id, in
what is left of that one. What a document says twice itself is not cut. Case, signs, white space and URLs don't count.

Without --out nothing is written. OUT has the files of the input, with only their texts changed; beside it
OUT.passages.parquet lists what was cut: source, row, id, begin and end (characters of the text), words, and stands_in,
the document that keeps the first of them.

With --json one object: files, documents, words, passages (pieces cut), cut_documents, cut_words, dropped (documents),
dropped_words (more words, of these), seconds, out and list (null without --out).
""",
)
@click.argument("paths", nargs=-1, required=True, metavar="PATH|DIR|GLOB...")
@cut_options
@row_options
@json_option
def passages_command(paths: tuple[str, ...], cut: Cut, rows: RowFields, json: bool) -> None:
    """Count, and with --out cut, the passages that documents repeat, except where they first stand."""
    from indexer.batch.cutting import cut_file, cut_passages

    done = cut_passages(paths, cut.asked(rows), cut.out)
    if json:
        named = {"out": cut.out and shown_store(cut.out), "list": cut.out and shown_store(cut_file(cut.out))}
        answer_json(as_json(done) | named)
        return
    fields(
        [
            ("files", f"{done.files:,}"),
            ("documents", f"{done.documents:,}, with {counted(done.words, 'word')}"),
            *cut_fields(done, cut.out),
            ("listed in", cut_file(cut.out) if cut.out else ""),
            ("took", f"{done.seconds:.1f} s"),
        ]
    )


def cut_fields(done: PassagesCut, out: str | None) -> list[tuple[str, str]]:
    """What was cut, or would be, for people."""
    share = done.cut_words / max(1, done.words)
    lost = f"{counted(done.cut_words, 'word')} ({share:.1%}) of {counted(done.cut_documents, 'document')}"
    return [
        ("cut" if out else "would cut", lost),
        ("dropped" if out else "would drop", counted(done.dropped, "document") if done.dropped else ""),
    ]


COMMANDS = (passages_command,)
