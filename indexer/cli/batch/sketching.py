"""`neardup batch sketch`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import click

from indexer.cli.batch.clustering import inputs_named
from indexer.cli.options.answers import command
from indexer.cli.options.shared import RunOutput, StrictAsked
from indexer.cli.terminal.output import answer_json, fields, say, size
from indexer.errors import ExtractionError
from indexer.library.batch_options import BatchRun, TimeFieldAsked
from indexer.library.options import LEFT_OUT, Extraction, Fingerprinting, Walk
from indexer.model.declared import Option
from indexer.text.counts import counted

if TYPE_CHECKING:
    from indexer.library.batch_outcomes import BatchSketched

    _TaskType = click.ParamType[tuple[int, int]]
else:
    _TaskType = click.ParamType

_SHOWN = 5


class Task(_TaskType):
    name = "task"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, int]:
        matched = re.fullmatch(r"([0-9]{1,6})/([0-9]{1,6})", str(value))
        if not matched or not 1 <= int(matched[1]) <= int(matched[2]):
            self.fail(f"{value!r} is no task; write for example 3/8, the third of eight", param, ctx)
        return int(matched[1]), int(matched[2])


@dataclass(frozen=True, slots=True)
class SketchOptions:
    """The folder for sketches, the share of the work, and further notes on documents."""

    out: Annotated[str, Option("The folder to write to.", kind="folder", metavar="DIR", required=True)]
    time_field: TimeFieldAsked = None
    task: Annotated[tuple[int, int] | None, Option("Do only the I-th of N equal shares of the files.", kind=Task(),
        metavar="I/N")] = None  # fmt: skip
    strict: StrictAsked = False


@command(
    "batch_outcomes:BatchSketched",
    short_help="Write sketches of documents to files.",
    epilog="""
\b
Examples:
  neardup batch sketch crawl/*.parquet --out batch
  neardup batch sketch dump.jsonl.gz --out batch --text-field body --id-field url
  neardup batch sketch crawl/ --out batch --time-field fetched
  neardup batch sketch crawl/ --out batch --task 3/8        in a cluster of machines, each its own task
  neardup batch sketch crawl/ --out batch --run-on spark --master spark://host:7077

Documents are read as by neardup index. DIR/sketches has one file of Parquet for each file with many documents, with a
row for each. Single files of a folder go together, and so do mails. Finished files with unchanged input are left
alone if the options are the same, so run the same command again to resume or to add new files. Different sketches
(schemes, --min-tokens, --content, another version of the extraction) don't go into one folder.

If files of a named folder or pattern are gone, their sketches are removed. Inputs that this machine can't see
(another machine's disk, an unmounted one, an object store) are not taken for gone.
""",
)
@click.argument("paths", nargs=-1, metavar="[PATH|DIR|GLOB]...")
def sketch(
    *, paths: tuple[str, ...], batch: SketchOptions, walk: Walk, making: Fingerprinting, extraction: Extraction,
    running: BatchRun, talk: RunOutput,
) -> int:  # fmt: skip
    """Write the sketches of documents to files of Parquet."""
    from indexer.library import batches

    done = batches.sketch(
        paths,
        batch.out,
        walk,
        making,
        extraction,
        time_field=batch.time_field,
        task=batch.task or (1, 1),
        running=running,
    )
    for line in done.unreadable[:_SHOWN]:
        say(line)
    # What could not be read at all has no row, and was said above.
    lists = f"the column failed of {batch.out}/sketches says why" if done.failures > len(done.unreadable) else ""
    if not talk.is_enough(done, lists or "see above"):
        _report(done, lists, as_json=talk.json)
    return ExtractionError.exit_code if batch.strict and done.failures else 0


def _report(done: BatchSketched, lists: str, *, as_json: bool) -> None:
    if as_json:
        answer_json(done)
        return
    before = f", {done.done_before:,} done before" if done.done_before else ""
    fields(
        [
            ("files", f"{done.files:,}{before}"),
            ("documents", f"{done.documents:,}, {size(done.bytes)}"),
            ("empty", f"{done.empty:,}  no words, so only equal ones match" if done.empty else ""),
            ("too short", f"{done.short:,}  left out of clusters" if done.short else ""),
            ("failed", f"{counted(done.failures, 'document')}: {done.reasons}" if done.failures else ""),
            ("", done.first_failure and f"the first: {done.first_failure}"),
            ("", lists),
            ("forgotten", f"{inputs_named(done.forgotten)}; gone since" if done.forgotten else ""),
            ("left out", f"{counted(done.left_out, 'file')} {LEFT_OUT}" if done.left_out else ""),
            ("took", f"{done.seconds:.1f} s"),
        ]
    )


COMMANDS = (sketch,)
