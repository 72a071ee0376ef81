"""`neardup batch dedupe`."""

from __future__ import annotations

from dataclasses import dataclass

import click

from indexer.cli.batch.filtering import Writing, left_out, left_out_fields, writing_options
from indexer.cli.batch.running import Spread, spread_options, steps_of
from indexer.cli.batch.sketching import form_of_options, sources_of_options
from indexer.cli.indexing import walk_options
from indexer.cli.options.clustering import cluster_options
from indexer.cli.options.groups import Group, typed
from indexer.cli.options.matching import match_option
from indexer.cli.options.paths import A_PATH
from indexer.cli.options.schemes import fingerprint_options
from indexer.cli.options.shared import extraction_options, json_option
from indexer.cli.terminal.output import answer_json, fields, shown_store, size
from indexer.errors import UsageError
from indexer.library.options import ClusterOptions, Extraction, Fingerprinting, Walk, list_of_paths
from indexer.text.counts import counted


@dataclass(frozen=True, slots=True)
class Judging:
    """The place that documents go to, what they are compared with, which of them count, and where the work is done."""

    writing: Writing
    time_field: str | None
    against: str | None
    latest: bool
    unverified: bool
    spread: Spread


judging_options = Group(
    Judging,
    writing_options,
    click.option(
        "--time-field",
        metavar="NAME",
        help="The field or column that says when a document was there first, for --canonical earliest.",
    ),
    click.option(
        "--against",
        metavar="OLD",
        type=A_PATH,
        help="A folder with the sketches and clusters of older documents, whose copies are removed too.",
    ),
    click.option(
        "--latest",
        is_flag=True,
        help="Of documents with one id and different texts let the last count; otherwise they are refused.",
    ),
    click.option("--unverified", is_flag=True, help="Decide also by a simhash alone."),
    spread_options,
)


@click.command(
    short_help="Write what is left of files without near-duplicates.",
    epilog="""
\b
Examples:
  neardup batch dedupe crawl/ --out kept
  neardup batch dedupe crawl.warc.gz --out kept --json
  neardup batch dedupe dump.parquet --out tagged --tag --text-field body
  neardup batch dedupe june/ --out june-kept --against may-kept.batch
  find . -name '*.md' -print0 | neardup batch dedupe --paths-from - --out kept
  neardup batch dedupe crawl/ --out kept --run-on spark --master spark://host:7077

This is neardup batch sketch, cluster and filter in one. No two documents that are kept are near, and each one that is
removed is near one that is kept: OUT.removed.parquet lists it with that one. Parquet and JSON lines are written in
their own format, single files are copied, and the texts of everything else (WARC, archives, CSV, feeds) go to Parquet:
id, source, row, title, text, metadata (JSON), and failed, the reason where a document gave no text. With --tag nothing
is removed. The input stays as it is.

Files of --paths-from are written below OUT by their whole paths. With --run-on spark each file that holds many
documents, and the single files of each folder, are read and written by a task.

Sketches and clusters are in OUT.batch: an interrupted run goes on from there, and --against takes it for the next one.

With --json one object: out, batch, removed_list, rule, files, documents, empty, short, failed (by reason), kept,
removed, replaced, few_origins, singletons, left_out (files, by name or kind), seconds (of sketch, cluster and filter).
""",
)
@click.argument("paths", nargs=-1, metavar="[PATH|DIR|GLOB]...")
@judging_options
@match_option
@cluster_options
@walk_options
@fingerprint_options
@extraction_options
@json_option
def dedupe(
    paths: tuple[str, ...],
    judging: Judging,
    match: str | None,
    clustering: ClusterOptions,
    walk: Walk,
    making: Fingerprinting,
    extraction: Extraction,
    json: bool,
) -> None:
    """Write of files and folders the documents without their near-duplicates."""
    from indexer.batch.deduping import batch_folder
    from indexer.batch.deduping import dedupe as dedupe_files
    from indexer.batch.filtering import removed_file
    from indexer.batch.form import Making
    from indexer.ingest.sources import LEFT_OUT
    from indexer.matching.rule import rule_name

    if not paths and not walk.paths_from:
        raise UsageError("name at least one file, folder or pattern")
    if typed("time_field") and clustering.canonical not in (None, "earliest"):
        raise UsageError("--time-field is for --canonical earliest")
    # Looked at twice: where they lie, and what they hold.
    listed = list(list_of_paths(walk.paths_from)) if walk.paths_from else []
    writing, spread = judging.writing, judging.spread
    form = form_of_options(making, extraction, judging.time_field)
    chosen = clustering.canonical_rule
    more = {
        "bound": clustering.bound,
        "parts": spread.partitions,
        "against": judging.against,
        "most_grouped": spread.most_grouped,
        "latest": judging.latest,
    }
    with steps_of(spread.running, spread.most_joined) as steps:
        done = dedupe_files(
            [*paths, *listed],
            writing.out,
            match=match,
            canonical=chosen,
            **writing.output,
            sources=sources_of_options(paths, batch_folder(writing.out), walk, extraction, listed),
            making=Making(form, extraction.limits, making.processes),
            wanted=more,
            unverified=judging.unverified,
            steps=steps,
        )
    sketched, filtered = done.sketched, done.filtered
    if json:
        answer_json(
            {
                "out": shown_store(writing.out),
                "batch": shown_store(done.batch),
                "removed_list": shown_store(removed_file(writing.out)),
                "rule": done.clustered["rule"],
                "files": filtered.files,
                "documents": filtered.documents,
                "empty": sketched.empty,
                "short": sketched.short,
                "failed": dict(sketched.failed),
                "kept": filtered.kept,
                "removed": filtered.removed,
                **left_out(filtered),
                "left_out": sketched.left_out,
                "seconds": done.seconds,
            }
        )
        return
    fields(
        [
            ("files", f"{filtered.files:,}, {size(sketched.bytes_read)}"),
            ("rule", rule_name(done.clustered["rule"])),
            ("failed", f"{sketched.failures:,}: {sketched.reasons}" if sketched.failures else ""),
            ("kept", f"{filtered.kept:,}" + (f", and the others tagged in {writing.out}" if writing.tag else "")),
            ("removed", f"{filtered.removed:,}, listed in {removed_file(writing.out)}"),
            *left_out_fields(filtered, writing),
            ("left out", f"{counted(sketched.left_out, 'file')} {LEFT_OUT}" if sketched.left_out else ""),
            ("took", ", ".join(f"{step} {seconds:.1f} s" for step, seconds in done.seconds.items())),
        ]
    )


COMMANDS = (dedupe,)
