"""`neardup batch dedupe`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import click

from indexer.cli.batch.filtering import left_out_fields, not_compared
from indexer.cli.batch.judging import judged_fields, tell_unverified
from indexer.cli.options.answers import command
from indexer.cli.options.groups import refuse_typed
from indexer.cli.options.shared import JsonAsked, StrictAsked
from indexer.cli.terminal.output import answer_json, fields, size
from indexer.errors import ExtractionError
from indexer.library.batch_options import BatchJudging, BatchOutput, BatchSpread, LatestAsked, TimeFieldAsked
from indexer.library.options import LEFT_OUT, ClusterOptions, Extraction, Fingerprinting, MatchAsked, Walk
from indexer.model.declared import Option
from indexer.text.counts import counted

if TYPE_CHECKING:
    from indexer.library.batch_outcomes import BatchDeduped


@dataclass(frozen=True, slots=True)
class DedupeOptions:
    """The output folder, the documents to compare with and to count, and the place of the work."""

    writing: BatchOutput
    time_field: TimeFieldAsked = None
    against: Annotated[str | None, Option("A folder with the sketches and clusters of older documents. Their copies "
        "are removed too. A document with the id of an older one takes its place, and stays.", kind="path",
        metavar="OLD")] = None  # fmt: skip
    latest: LatestAsked = False
    judging: BatchJudging = BatchJudging()
    unverified: Annotated[bool, Option("Decide by the rule alone, without texts, even if it is a simhash. Some removed "
        "documents may be unrelated to the kept ones.", not_with=["verify"], typed=True)] = False  # fmt: skip
    strict: StrictAsked = False
    spread: BatchSpread = BatchSpread()


@command(
    "batch_outcomes:BatchDeduped",
    short_help="Write files without their near-duplicates.",
    epilog="""
\b
Examples:
  neardup batch dedupe crawl/ --out kept
  neardup batch dedupe crawl.warc.gz --out kept --json
  neardup batch dedupe dump.parquet --out tagged --tag --text-field body
  neardup batch dedupe june/ --out june-kept --against may-kept.batch
  find . -name '*.md' -print0 | neardup batch dedupe --paths-from - --out kept
  neardup batch dedupe crawl/ --out kept --run-on spark --master spark://host:7077

This is neardup batch sketch, cluster and filter in one. Each removed document is near a kept one that says the same,
by their texts: OUT.removed.parquet lists both. Forms, with other facts, and unreadable documents are kept. With --tag
nothing is removed. The input stays as it is.

Parquet and JSON lines keep their format, and single files are copied. The texts of everything else (WARC, archives,
mails, CSV, feeds) go to Parquet: id, source, row, title, text, metadata (JSON), and failed, the reason if a document
gave no text.

Files of --paths-from are written below OUT by their whole paths. With --run-on spark a task reads and writes each
file with many documents, and each run of single files in a folder.

OUT.batch has the sketches and clusters. An interrupted run goes on from there, once OUT is empty, and --against takes
it for the next run.
""",
)
@click.argument("paths", nargs=-1, metavar="[PATH|DIR|GLOB]...")
def dedupe(
    *, paths: tuple[str, ...], judging: DedupeOptions, match: MatchAsked, clustering: ClusterOptions, walk: Walk,
    making: Fingerprinting, extraction: Extraction, json: JsonAsked,
) -> int:  # fmt: skip
    """Write the documents of files and folders without their near-duplicates."""
    from indexer.library import batches

    if clustering.canonical not in (None, "earliest"):
        refuse_typed(["time_field"], "is for --canonical earliest")
    writing = judging.writing
    done = batches.dedupe(
        paths,
        writing,
        walk,
        making,
        extraction,
        match=match,
        clustering=clustering,
        time_field=judging.time_field,
        against=judging.against,
        latest=judging.latest,
        judging=judging.judging,
        unverified=judging.unverified,
        spread=judging.spread,
    )
    tell_unverified(done)
    if json:
        answer_json(done)
    else:
        _show(done, writing)
    return ExtractionError.exit_code if judging.strict and done.failures else 0


def _show(done: BatchDeduped, writing: BatchOutput) -> None:
    fields(
        [
            ("files", f"{done.files:,}, {size(done.bytes)}"),
            ("rule", done.rule_name),
            ("failed", f"{done.failures:,}: {done.reasons}" if done.failures else ""),
            ("", done.first_failure and f"the first: {done.first_failure}"),
            ("kept", f"{done.kept:,}" + (f", and the others tagged in {writing.out}" if writing.tag else "")),
            ("removed", f"{done.removed:,}, listed in {done.removed_list}"),
            ("not compared", not_compared(done.short, done.empty)),
            *judged_fields(done),
            *left_out_fields(done, writing),
            ("left out", f"{counted(done.left_out, 'file')} {LEFT_OUT}" if done.left_out else ""),
            ("took", ", ".join(f"{step} {seconds:.1f} s" for step, seconds in done.seconds.items())),
        ]
    )


COMMANDS = (dedupe,)
