"""`neardup index` and `neardup failures`."""

from __future__ import annotations

import shlex
import signal
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import click

from indexer.cli.options.commands import command, typed
from indexer.cli.options.shared import JsonAsked, RefreshAsked, RunOutput, StoreAsked, StrictAsked, opened_collection
from indexer.cli.terminal.interrupts import stoppable
from indexer.cli.terminal.output import (
    answer,
    answer_json,
    counts,
    html_line,
    printable,
    say,
    size,
    with_store,
)
from indexer.errors import ExtractionError, UsageError
from indexer.library.options import LEFT_OUT, Arriving, Extraction, Fingerprinting, Walk, lossy
from indexer.model.declared import Option
from indexer.text.counts import counted

if TYPE_CHECKING:
    from indexer.library.indexing import Indexing
    from indexer.library.outcomes import Indexed


# So many documents of one id are named.
_SHOWN = 3


@dataclass(frozen=True, slots=True)
class Loading:
    """The way to write documents, and to treat failed ones."""

    heading = "Writing, and what fails"

    refresh: RefreshAsked = "wait"
    dead_letters: Annotated[str | None, Option("Append documents refused by the store to FILE with the reason, as JSON "
        "lines for neardup index.  [default: neardup-refused-TIME.jsonl, created when needed]", kind="file",
        metavar="FILE")] = None  # fmt: skip
    bulk_load: Annotated[bool, Option("In a search engine: turn off the index's refreshes and replicas during the "
        "load, and restore its settings at the end.", in_engine=True)] = False  # fmt: skip
    retry_failed: Annotated[bool, Option("Also try unchanged failed documents.")] = False
    no_create: Annotated[bool, Option("End with exit code 3 instead of making a new store.")] = False
    strict: StrictAsked = False
    dry_run: Annotated[bool, Option("List the ids and files to read, and change nothing.")] = False


@command("outcomes:Indexed", short_help="Add documents to the store, or update them.")
@click.argument("paths", nargs=-1, metavar="[PATH|DIR|GLOB|-]...")
def index(
    *, paths: tuple[str, ...], store: StoreAsked, walk: Walk, making: Fingerprinting, extraction: Extraction,
    arriving: Arriving, loading: Loading, talk: RunOutput,
) -> int:  # fmt: skip
    """Add documents to the store, or update them: extract their text, fingerprint it, keep the fingerprint.

    Examples:
      neardup index docs/ papers/*.pdf           folders and files
      neardup index 'site/**/*.html' --jobs 4    a pattern that neardup expands
      zcat dump.jsonl.gz | neardup index -       JSON lines from standard input
      find . -name '*.xml' -print0 | neardup index --paths-from -
      neardup index docs/ --exclude 'drafts/*' --store ~/all.neardup

    Folders are searched recursively. Hidden files, links to folders, and files with names of styles, scripts or images
    are skipped and counted as left out. ZIP and TAR archives are read like folders. .jsonl and .ndjson files, and "-",
    hold JSON lines: {"id", "text" or "html", optionally "title", "url"; the rest is kept as metadata}. Each row of
    .csv, .tsv and .parquet files, each response of .warc, .wet and .wacz, and each item of .rss and .atom is a
    document. Without an id it gets the name of its file and its number. Files may be compressed, and may be on s3:// or
    gs://.

    Run the same command again to resume: unchanged documents are not extracted again. A failed document never stops the
    run. It is recorded with its reason, and tried again when it changes or with --retry-failed. The exit code is 0 all
    the same, unless --strict is given.
    """
    from indexer.library.indexing import Indexing

    if not typed("on") and (lost := lossy(arriving.on)):
        raise UsageError(
            f"--on {lost[0]}: to leave these documents out counts for one command; say it on the command line"
        )
    with Indexing(store, paths, walk, making, extraction, dead_letters=loading.dead_letters, tell=say) as run:
        if loading.dry_run:
            return _list(run, as_json=talk.json)
        with stoppable() as (stop, stopped):
            try:
                done = run.run(
                    arriving,
                    create=not loading.no_create,
                    refresh=loading.refresh,
                    bulk_load=loading.bulk_load,
                    retry_failed=loading.retry_failed,
                    stop=stop,
                    on_new=answer if arriving.new_to == "-" else None,
                    following=talk.following("indexing", run.count)(run.summary),
                )
            except KeyboardInterrupt:
                return 128 + (stopped.number or signal.SIGINT)
    talk.tell(done, _report)
    if done.stopped:
        say("stopped; what was done is stored, run the same command again to resume")
        return 128 + (stopped.number or signal.SIGINT)
    if not done.done and run.opened:
        say("no document was found")
    elif done.failures and done.failures == done.done:
        # Mostly all of them have one cause.
        say(f"nothing could be indexed; the first failure: {done.first_failure}")
    return ExtractionError.exit_code if loading.strict and done.failures + done.failed_before else 0


def _list(run: Indexing, *, as_json: bool) -> int:
    sources = run.sources()
    for item in sources:
        if as_json:
            answer_json({"id": item.id, "source": item.source})
        else:
            click.echo(f"{printable(item.id)}\t{printable(item.source)}")
    say(f"a dry run: nothing was read or stored; {counted(sources.passed_over.total, 'file')} left out by name")
    return 0


def _report(done: Indexed) -> None:
    from indexer.library.recognition import NEEDED

    duplicates = None if done.new is None else done.duplicates
    taken = done.reading_seconds
    read_again = "" if taken is None else f"; texts read again in {taken:.1f} s"
    listed = with_store("neardup failures")
    again = with_store("neardup index") + f" {shlex.quote(done.dead_letters or '')}"
    lines = [
        ("indexed", done.indexed, f"{size(done.bytes)} read in {done.seconds:.1f} s"),
        ("new", done.new, "of these; nothing near was stored before them"),
        ("near", done.near, f"of these; something near was stored before them{read_again}"),
        ("marked", done.marked or None, "of these; annotation duplicate_of, because of --on"),
        ("replaced", done.replaced, ""),
        ("unchanged", done.unchanged, ""),
        ("same id", done.same_id or None, f"another one took their place: {'; '.join(done.same_ids[:_SHOWN])}"),
        ("reused", done.reused or None, "equal to a stored document, so not extracted again"),
        ("empty", done.empty, "stored; no words, so only equal ones match"),
        ("too short", done.short, "stored; left out of answers unless asked for"),
        ("scans", done.unread_scans or None, f"not read; --ocr eng does it, by {NEEDED}"),
        html_line(done.html_as_text, done.indexed + done.replaced),
        ("failed", done.failures, f"{done.reasons}; listed by: {listed}"),
        ("duplicates", duplicates, f"left out; listed by: {listed} --reason duplicate"),
        ("refused", done.refused or None, f"of these; kept with the reason, and tried again by: {again}"),
        ("failed before", done.failed_before or None, "not tried again; --retry-failed does"),
        ("left out", done.left_out or None, LEFT_OUT),
    ]
    counts(lines, remarked="indexed")


@command("FailedDocument", many=True, short_help="List documents that could not be indexed, and why.")
def failures(
    *, store: StoreAsked,
    reason: Annotated[str | None, Option("List only failures with this reason.", metavar="REASON")],
    json: JsonAsked,
) -> None:  # fmt: skip
    """List the documents that could not be indexed: reason, id, and what was wrong.

    A document that has been stored since, or is gone from a file or folder that was read again, is not listed.

    Examples:
      neardup failures
      neardup failures --reason timeout --json
      neardup failures --reason timeout --json | jq -r .source | neardup index --paths-from - --timeout 300 --retry-failed
    """  # noqa: E501 - the line of a shell
    with opened_collection(store, read_only=True) as source:
        for failure in source.iter_failures(reason=reason):
            if json:
                answer_json(failure)
            else:
                answer(f"{failure.reason:<13}  {failure.id}" + (f": {failure.detail}" if failure.detail else ""))


COMMANDS = (index, failures)
