"""`neardup batch sketch`."""

from __future__ import annotations

import os
import re
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from indexer.cli.batch.running import Running, running_options, steps_of
from indexer.cli.indexing import walk_options
from indexer.cli.options.groups import Group
from indexer.cli.options.paths import A_FOLDER
from indexer.cli.options.schemes import fingerprint_options
from indexer.cli.options.shared import Talk, extraction_options, talk_options
from indexer.cli.terminal.output import answer_json, fields, say, shown_store, size
from indexer.errors import ExtractionError, UsageError
from indexer.library.options import Extraction, Fingerprinting, Walk, list_of_paths
from indexer.text.counts import counted

if TYPE_CHECKING:
    from collections.abc import Iterable

    from indexer.batch.form import Form
    from indexer.batch.sketches.sketching import Summary
    from indexer.ingest.sources import Rejected, Sources

    _TaskType = click.ParamType[tuple[int, int]]
else:
    _TaskType = click.ParamType

_SHOWN = 5


class Task(_TaskType):
    """One of several tasks: 3/8 is the third of eight."""

    name = "task"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, int]:
        """Its number, from 1 on, and how many there are."""
        matched = re.fullmatch(r"([0-9]{1,6})/([0-9]{1,6})", str(value))
        if not matched or not 1 <= int(matched[1]) <= int(matched[2]):
            self.fail(f"{value!r} is no task; write for example 3/8, the third of eight", param, ctx)
        return int(matched[1]), int(matched[2])


@dataclass(frozen=True, slots=True)
class Batch:
    """The folder for sketches, the share of the work that is done, and what else is noted of documents."""

    out: str
    time_field: str | None
    task: tuple[int, int] | None
    strict: bool


batch_options = Group(
    Batch,
    click.option("--out", required=True, type=A_FOLDER, metavar="DIR", help="The folder to write to."),
    click.option(
        "--time-field",
        metavar="NAME",
        help="The field or column that says when a document was there first, for --canonical earliest.",
    ),
    click.option("--task", type=Task(), metavar="I/N", help="Do only the I-th of N equal shares of the files."),
    click.option("--strict", is_flag=True, help="End with exit code 6 if any document failed."),
)


@click.command(
    short_help="Write sketches of documents to files.",
    epilog="""
\b
Examples:
  neardup batch sketch crawl/*.parquet --out batch
  neardup batch sketch dump.jsonl.gz --out batch --text-field body --id-field url
  neardup batch sketch crawl/ --out batch --time-field fetched
  neardup batch sketch crawl/ --out batch --task 3/8        in a cluster of machines, each its own task
  neardup batch sketch crawl/ --out batch --run-on spark --master spark://host:7077

Documents are read as by neardup index. Each file that holds many becomes one file of Parquet in DIR/sketches, with a
row for each document; single files of a folder go together. A file that is there already, and whose input has not
changed, is left alone, so that the same command again goes on where it ended, or sketches what is new. Sketches made
otherwise (schemes, --min-tokens, --content, another version of the extraction) don't go into one folder.

What lay in a folder or pattern that is named, and is there no more, is forgotten: its sketches are removed. What this
machine can't see (another machine's disk, an unmounted one, an object store) is not taken for gone.

With --json one object: out, files, done_before, documents, empty, short, failed (by reason), forgotten (names),
left_out (files, by name or kind), bytes, seconds.
""",
)
@click.argument("paths", nargs=-1, metavar="[PATH|DIR|GLOB]...")
@batch_options
@walk_options
@fingerprint_options
@extraction_options
@running_options
@talk_options
def sketch(
    paths: tuple[str, ...],
    batch: Batch,
    walk: Walk,
    making: Fingerprinting,
    extraction: Extraction,
    running: Running,
    talk: Talk,
) -> int:
    """Write the sketches of documents to files of Parquet."""
    if not paths and not walk.paths_from:
        raise UsageError("name at least one file, folder or pattern")
    if "-" in paths:
        raise UsageError("a batch reads files, so that it can go on where it ended; neardup index reads standard input")
    from indexer.batch.form import Making
    from indexer.batch.sketches.parts import parts_of
    from indexer.batch.sketches.sketching import Summary

    if running.on_spark and batch.task:
        raise UsageError("--task is for machines that are started one by one; --run-on spark has tasks of its own")
    listed = list_of_paths(walk.paths_from) if walk.paths_from else ()
    sources = sources_of_options(paths, batch.out, walk, extraction, listed)
    form = form_of_options(making, extraction, batch.time_field)
    rejected: list[Rejected] = []
    parts = parts_of(sources, rejected.append)
    begin = time.monotonic()
    summary = Summary()
    summary.failed.update(each.reason for each in rejected)
    how = Making(form, extraction.limits, making.processes)
    share = {"task": batch.task} if batch.task else {}
    with steps_of(running) as steps:
        steps.sketch(sources, parts, batch.out, how, summary=summary, **share)
    summary.seconds = time.monotonic() - begin
    for each in rejected[:_SHOWN]:
        say(f"{each.source}: {each.reason}: {each.detail}")
    # What could not be read at all has no row, and was said above.
    lists = f"the column failed of {batch.out}/sketches says why" if summary.failures > len(rejected) else ""
    if not talk.is_enough(summary, lists or "see above"):
        _report(summary, batch.out, lists, as_json=talk.json)
    return ExtractionError.exit_code if batch.strict and summary.failures else 0


def sources_of_options(
    paths: tuple[str, ...], out: str, walk: Walk, extraction: Extraction, listed: Iterable[str]
) -> Sources:
    """The sources of a batch in the folder `out`: the paths, and those of a list."""
    from indexer.ingest.sources import Selection, Sources

    selection = Selection(
        include=walk.include,
        exclude=walk.exclude,
        hidden=walk.hidden,
        follow_links=walk.follow_links,
        id_from=walk.id_from,
        # As the folder of a store's file is: what lies beside the batch is named from there.
        base=os.path.dirname(os.path.abspath(out)),
        line_limit=extraction.max_size,
        columns=walk.columns.columns(extraction),
    )
    return Sources(paths, selection, paths_from=listed)


def form_of_options(making: Fingerprinting, extraction: Extraction, time_field: str | None) -> Form:
    """The form of the sketches that the options ask for."""
    from indexer.batch.form import Form
    from indexer.matching.kept import schemes_of_new

    return Form(
        tuple(scheme.id for scheme in schemes_of_new(making.schemes, making.scheme)),
        making.min_tokens,
        extraction.content or "landmarks",
        extraction.extractor,
        extraction.format or "",
        time_field or "",
    )


def _report(summary: Summary, out: str, lists: str, *, as_json: bool) -> None:
    from indexer.batch.sketches.inputs import named_few
    from indexer.ingest.sources import LEFT_OUT

    if as_json:
        answer_json(
            {
                "out": shown_store(out),
                "files": summary.parts,
                "done_before": summary.done_before,
                "documents": summary.documents,
                "empty": summary.empty,
                "short": summary.short,
                "failed": dict(summary.failed),
                "forgotten": summary.forgotten,
                "left_out": summary.left_out,
                "bytes": summary.bytes_read,
                "seconds": round(summary.seconds, 3),
            }
        )
        return
    before = f", {summary.done_before:,} done before" if summary.done_before else ""
    fields(
        [
            ("files", f"{summary.parts:,}{before}"),
            ("documents", f"{summary.documents:,}, {size(summary.bytes_read)} in {summary.seconds:.1f} s"),
            ("empty", f"{summary.empty:,}  no text, so they match nothing" if summary.empty else ""),
            ("too short", f"{summary.short:,}  left out of clusters" if summary.short else ""),
            ("failed", f"{counted(summary.failures, 'document')}: {summary.reasons}" if summary.failures else ""),
            ("", lists),
            ("forgotten", f"{named_few(summary.forgotten)}; gone since" if summary.forgotten else ""),
            ("left out", f"{counted(summary.left_out, 'file')} {LEFT_OUT}" if summary.left_out else ""),
        ]
    )


COMMANDS = (sketch,)
