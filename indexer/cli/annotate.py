"""`neardup annotate`."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Annotated

import click

from indexer.cli.options.answers import command
from indexer.cli.options.shared import RefreshAsked, RunOutput, index_store
from indexer.cli.terminal.output import answer_json, html_line, say
from indexer.library.engine_options import Annotating
from indexer.library.options import Fingerprinting, WorkerLimits

if TYPE_CHECKING:
    from indexer.library.outcomes import AnnotatedDocuments


@command(
    "outcomes:AnnotatedDocuments",
    name="annotate",
    short_help="Add fingerprints to the documents of an index.",
    epilog="""
\b
Examples:
  neardup annotate --store https://host:9200/articles --field body --dry-run
  neardup annotate --store https://host:9200/articles --field title --field body
  neardup annotate --store https://host:9200/articles --field body --source-field url --title-field title
  neardup annotate --store https://host:9200/pages --field html --format html --docs-per-second 200
  neardup annotate --store https://host:9200/archive --field body --to archive-neardup

Adds fields below "neardup" to documents without them or with a changed text. Changes nothing else. The index
remembers its text fields, for all later commands; annotate refuses others.

The next run reads only documents written since, and counts the rest as trusted; --all reads all. If somebody changes
a document at the same moment, it is never overwritten but processed again. After an interruption, run the same
command again.

An index is refused if it does not keep all of _source, is read-only, or has versions assigned by its owner. Use --to
to write its fingerprints to another index.
""",
)
def annotate_command(
    *, store: Annotated[str, index_store("The index, alias or data stream.")], annotating: Annotating,
    making: Fingerprinting, worker: WorkerLimits, refresh: RefreshAsked = "wait",
    talk: RunOutput,
) -> int:  # fmt: skip
    """Fingerprint the documents of an index from their own fields."""
    from indexer.library.annotating import annotate

    done = annotate(
        store, annotating, making, worker, refresh=refresh, following=talk.following("annotating"), tell=say
    )
    if not talk.is_enough(done):
        _report(done, as_json=talk.json)
    return 0


def _report(done: AnnotatedDocuments, *, as_json: bool) -> None:
    if as_json:
        answer_json(done)
        return
    store = shlex.quote(done.to or done.store)
    trusted = f"{done.trusted:,} of them not written since the last run, so not read; --all reads them too"
    renewed = f", {done.renewed:,} with the same text, and a new source, title or sketch" if done.renewed else ""
    done_as = "to annotate" if done.dry_run else "annotated"
    lines = [
        (done_as, done.annotated, f"{done.missing:,} new, {done.stale:,} with another text than before{renewed}"),
        ("unchanged", done.unchanged, trusted if done.trusted else ""),
        ("without", done.without or None, "have none of the fields"),
        ("empty", done.empty or None, "no words, so only equal ones match"),
        ("too short", done.short or None, "left out of answers unless asked for"),
        html_line(done.html_as_text, done.annotated),
        ("clusters", done.clusters, f"made or changed; shown by: neardup report --store {store}"),
        ("beside", done.beside or None, "too long for passages in the document itself; they lie in an index beside"),
        ("done again", done.changed or None, "somebody changed them at the same moment"),
        ("gone", done.gone or None, "deleted meanwhile"),
        ("removed", done.removed or None, "their documents are gone"),
        ("failed", done.failures, f"{done.reasons}; listed by: neardup failures --store {store}"),
    ]
    for name, count, remark in lines:
        if count is not None:
            click.echo(f"{name:<13} {count:>9,}" + (f"  {remark}" if remark and count else ""))
    if done.reading_seconds is not None:
        say(f"{done.reading_seconds:.1f} s of this were for reading texts again, to compare copies")
    if done.forgotten:
        say(
            "the mapping of the index may not be changed here, so it does not remember the fields; name them with "
            "--field wherever texts are read again"
        )
    if done.dry_run:
        say("a dry run: nothing was changed")


COMMANDS = (annotate_command,)
