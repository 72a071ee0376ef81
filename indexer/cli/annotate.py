"""`neardup annotate`."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import click

from indexer.cli.options.answers import Answering
from indexer.cli.options.groups import Group, Related
from indexer.cli.options.schemes import fingerprint_options
from indexer.cli.options.shared import CONTENTS, RunOutput, index_option, limit_options, refresh_option, talk_options
from indexer.cli.terminal.output import answer_json, say
from indexer.library.engine_options import Annotating
from indexer.library.options import Fingerprinting, WorkerLimits

if TYPE_CHECKING:
    from indexer.library.outcomes import AnnotatedDocuments
    from indexer.model.times import Refresh

_FIELDS = (
    click.option(
        "--field",
        multiple=True,
        metavar="NAME",
        help="A field with the text. Several are joined in the order given.  [default: the fields of the index's "
        "last run]",
    ),
    click.option(
        "--html", cls=Related, goes_with=["field"], is_flag=True, help="The fields hold HTML; extract its text."
    ),
    click.option(
        "--source-field",
        default="",
        metavar="NAME",
        help="The field with a document's origin (a URL, a path or a name). Reports count by it.",
    ),
    click.option(
        "--title-field", default="", metavar="NAME", help="The field with the title, for answers and reports."
    ),
    click.option(
        "--content",
        type=CONTENTS,
        help="What counts as the text of HTML.  [default: the index's own; landmarks if it has no fingerprints]",
    ),
    click.option(
        "--to",
        metavar="INDEX",
        help="Write the fingerprints to INDEX in the same engine, and only read the annotated index.",
    ),
    click.option(
        "--allow-version-change",
        cls=Related,
        not_with=["to"],
        is_flag=True,
        help="Annotate documents even if their owner assigns versions (version_type external). The version "
        "increases by one.",
    ),
    click.option(
        "--docs-per-second",
        type=click.FloatRange(0.01, 1_000_000),
        metavar="N",
        help="Annotate at most N documents a second.",
    ),
    click.option(
        "--slices",
        type=click.IntRange(1, 64),
        default=4,
        show_default=True,
        metavar="N",
        help="How many parts of the index to read in parallel.",
    ),
)
annotating_options = Group(
    Annotating,
    *_FIELDS,
    click.option(
        "--fields-changed",
        cls=Related,
        goes_with=["field"],
        is_flag=True,
        help="With --field: compute all fingerprints again, from other fields than before.",
    ),
    click.option("--cluster", is_flag=True, help="Assign the documents to clusters as they come."),
    click.option(
        "--all",
        is_flag=True,
        help="Look at every document, not only at those written since the last run, and try failed ones again.",
    ),
    click.option("--again", is_flag=True, help="Compute all fingerprints again, also for unchanged texts."),
    click.option("--dry-run", is_flag=True, help="Count what would be done, and change nothing."),
)
# Those of a command that looks at what is new, again and again.
index_fields_options = Group(Annotating, *_FIELDS, title="Of an index, which fields are read")


@click.command(
    name="annotate",
    cls=Answering,
    answers="outcomes:AnnotatedDocuments",
    short_help="Add fingerprints to the documents of an index.",
    epilog="""
\b
Examples:
  neardup annotate --store https://host:9200/articles --field body --dry-run
  neardup annotate --store https://host:9200/articles --field title --field body
  neardup annotate --store https://host:9200/articles --field body --source-field url --title-field title
  neardup annotate --store https://host:9200/pages --field html --html --docs-per-second 200
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
@index_option("The index, alias or data stream.")
@annotating_options
@fingerprint_options
@limit_options
@refresh_option
@talk_options
def annotate_command(
    store: str,
    annotating: Annotating,
    making: Fingerprinting,
    worker: WorkerLimits,
    refresh: Refresh,
    talk: RunOutput,
) -> int:
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
    lines = [
        ("annotated", done.annotated, f"{done.missing:,} new, {done.stale:,} with another text than before{renewed}"),
        ("unchanged", done.unchanged, trusted if done.trusted else ""),
        ("without", done.without or None, "have none of the fields"),
        ("empty", done.empty or None, "no words, so only equal ones match"),
        ("too short", done.short or None, "left out of answers unless asked for"),
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
