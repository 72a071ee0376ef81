"""`neardup batch passages`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import click

from indexer.cli.options.answers import command
from indexer.cli.options.shared import JsonAsked
from indexer.cli.terminal.output import answer_json, fields
from indexer.library.batch_options import BatchPassages, BatchRun
from indexer.model.declared import Option
from indexer.text.counts import counted

if TYPE_CHECKING:
    from indexer.library.batch_outcomes import BatchPassagesCut


@command(
    "batch_outcomes:BatchPassagesCut",
    name="passages",
    short_help="Cut passages of other documents.",
    epilog="""
\b
Examples:
  neardup batch passages kept/                    what would be cut
  neardup batch passages kept/ --out cut
  neardup batch passages kept/ --out cut --words 100 --least-left 20 --time-field fetched

Reads Parquet and JSON lines, as written by neardup batch filter (--texts for single files). Remove near-duplicates
first. Every cut word lies in N words in a row that an earlier document has, by time and then by id, in its remaining
text. Repetitions inside a document are not cut. Case, signs, white space and URLs don't count.

Without --out nothing is written. OUT has the files of the input, with only their texts changed. OUT.passages.parquet
beside it lists the cuts: source (the file in OUT), row, id, begin and end (characters of the input text), words, and
stands_in, the document that keeps them. Words in two documents have a row for each.

With --run-on spark each file is read and written by a task. This process compares their common words, 8 bytes a word.
""",
)
@click.argument("paths", nargs=-1, required=True, metavar="PATH|DIR|GLOB...")
def passages_command(
    *, paths: tuple[str, ...],
    out: Annotated[str | None, Option("Write the documents without the passages to this folder, a new one.",
        kind="path", metavar="OUT")],
    cutting: BatchPassages, running: BatchRun, json: JsonAsked,
) -> None:  # fmt: skip
    """Count, and with --out cut, the passages that documents repeat, except where they first stand."""
    from indexer.library import batches

    done = batches.cut_passages(paths, cutting, out, running=running)
    if json:
        answer_json(done)
        return
    fields(
        [
            ("files", f"{done.files:,}"),
            ("documents", f"{done.documents:,}, with {counted(done.words, 'word')}"),
            *cut_fields(done),
            ("took", f"{done.seconds:.1f} s"),
        ]
    )


def cut_fields(done: BatchPassagesCut) -> list[tuple[str, str]]:
    share = done.cut_words / max(1, done.words)
    lost = f"{counted(done.cut_words, 'word')} ({share:.1%}) of {counted(done.cut_documents, 'document')}"
    return [
        ("cut" if done.out else "would cut", f"{lost}, listed in {done.passages_list}" if done.out else lost),
        ("dropped" if done.out else "would drop", counted(done.dropped, "document") if done.dropped else ""),
    ]


COMMANDS = (passages_command,)
