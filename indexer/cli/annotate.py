"""`neardup annotate`."""

from __future__ import annotations

import shlex
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import quote

import click

from indexer.cli.options.groups import Group, Related
from indexer.cli.options.schemes import fingerprint_options
from indexer.cli.options.shared import (
    CONTENTS,
    Talk,
    index_option,
    limit_options,
    refresh_option,
    talk_options,
)
from indexer.cli.terminal.output import answer_json, say, shown_store
from indexer.errors import UsageError
from indexer.library.options import Fingerprinting, WorkerLimits
from indexer.model.paths import store_file

if TYPE_CHECKING:
    from indexer.annotate.run import Annotated
    from indexer.extract.base import Content
    from indexer.model.times import Refresh


@dataclass(frozen=True, slots=True)
class Annotating:
    """The fields of texts and how they are read, the place of fingerprints, and which documents get one, how fast."""

    field: tuple[str, ...]
    html: bool
    fields_changed: bool
    source_field: str
    title_field: str
    content: Content | None
    to: str | None
    all: bool
    dry_run: bool
    allow_version_change: bool
    docs_per_second: float | None
    slices: int


annotating_options = Group(
    Annotating,
    click.option(
        "--field",
        multiple=True,
        metavar="NAME",
        help="A field with the text; several are joined in the order given.  [default: the fields that the index "
        "remembers]",
    ),
    click.option(
        "--html", cls=Related, goes_with=["field"], is_flag=True, help="The fields hold HTML, whose text is extracted."
    ),
    click.option(
        "--fields-changed",
        cls=Related,
        goes_with=["field"],
        is_flag=True,
        help="With --field: compute all fingerprints again, from other fields than before.",
    ),
    click.option(
        "--source-field",
        default="",
        metavar="NAME",
        help="The field with a document's origin (a URL, a path or a name); reports count by it.",
    ),
    click.option(
        "--title-field", default="", metavar="NAME", help="The field with the title, which is shown in answers."
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
    click.option("--all", is_flag=True, help="Also annotate documents whose text has not changed."),
    click.option("--dry-run", is_flag=True, help="Count what would be done, and change nothing."),
    click.option(
        "--allow-version-change",
        cls=Related,
        not_with=["to"],
        is_flag=True,
        help="Annotate documents even if their owner assigns versions (version_type external); the version "
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
        help="Parts of the index to read in parallel.",
    ),
)


@click.command(
    name="annotate",
    short_help="Add fingerprints to documents that are already in an index.",
    epilog="""
\b
Examples:
  neardup annotate --store https://host:9200/articles --field body --dry-run
  neardup annotate --store https://host:9200/articles --field title --field body
  neardup annotate --store https://host:9200/articles --field body --source-field url --title-field title
  neardup annotate --store https://host:9200/pages --field html --html --docs-per-second 200
  neardup annotate --store https://host:9200/archive --field body --to archive-neardup

Adds fields below "neardup" to documents that have none, or whose text has changed since, and changes nothing else. A
document that somebody changes at the same moment is never overwritten; it is processed again. After an interruption,
run the same command again to resume. An index that does not keep all of _source, is read-only, or has versions
assigned by its owner is refused; --to writes its fingerprints to an index of their own. The index remembers its
fields: commands that read texts again use them, and annotate refuses others.
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
    talk: Talk,
) -> int:
    """Fingerprint the documents of an index from their own fields.

    With --json one object: store, to, dry_run, total, annotated, missing, stale, unchanged, without, empty, short,
    changed, gone, removed, failed, seconds.
    """
    from indexer.annotate.run import Annotated
    from indexer.annotate.run import annotate as run
    from indexer.engine.client.connection import connect
    from indexer.engine.documents.fields import AnnotateOptions

    if store_file(store):
        raise UsageError(
            f"{shown_store(store)}: only an index in a search engine has documents to annotate; name https://host:9200/INDEX"
        )
    from indexer.matching.kept import schemes_of_new

    wanted = AnnotateOptions(
        fields=annotating.field,
        html=annotating.html and bool(annotating.field),
        fields_changed=annotating.fields_changed,
        source_field=annotating.source_field,
        title_field=annotating.title_field,
        everything=annotating.all,
        dry_run=annotating.dry_run,
        allow_version_change=annotating.allow_version_change,
        docs_per_second=annotating.docs_per_second,
        slices=annotating.slices,
        jobs=making.processes,
        min_tokens=making.min_tokens,
        content=annotating.content,
        limits=worker.limits,
        refresh=refresh,
        schemes=making.scheme,
        new_schemes=tuple(schemes_of_new(making.schemes, making.scheme, made=False)),
        exactly=making.schemes,
    )
    summary = Annotated()
    with ExitStack() as stack:
        client = connect(store)
        stack.callback(client.close)
        aside = None
        if annotating.to is not None:
            aside = connect(_beside(store, annotating.to))
            stack.callback(aside.close)
        stack.enter_context(_bar(summary) if talk.progress else nullcontext())
        run(client, wanted, aside=aside, summary=summary)
        names_shown = client.target.shown, aside.target.shown if aside else None
    if not talk.is_enough(summary):
        _report(summary, *names_shown, dry_run=wanted.dry_run, as_json=talk.json)
    return 0


def _beside(store: str, name: str) -> str:
    # What stands before an "@" may be a password.
    if set("/*,:@") & set(name):
        raise UsageError(f"--to {shown_store(name)}: name one index of the same engine")
    return f"{store.rstrip('/').rpartition('/')[0]}/{quote(name, safe='')}"


def _bar(summary: Annotated) -> AbstractContextManager[object]:
    from indexer.cli.terminal.progress import Following

    return Following(summary, "annotating")


def _report(summary: Annotated, store: str, to: str | None, *, dry_run: bool, as_json: bool) -> None:
    counts = ("annotated", "missing", "stale", "unchanged", "without", "empty", "short", "changed", "gone", "removed")
    if as_json:
        answer_json(
            {
                "store": shown_store(store),
                "to": to,
                "dry_run": dry_run,
                "total": summary.total,
                **{name: getattr(summary, name) for name in counts},
                "failed": dict(summary.failed),
                "seconds": round(summary.seconds, 3),
            }
        )
        return
    reasons = ", ".join(f"{reason} {count}" for reason, count in summary.failed.most_common())
    listed = f"neardup failures --store {shlex.quote(to or shown_store(store))}"
    lines = [
        ("annotated", summary.annotated, f"{summary.missing:,} new, {summary.stale:,} with another text than before"),
        ("unchanged", summary.unchanged, ""),
        ("without", summary.without, "have none of the fields"),
        ("empty", summary.empty, "no text, so they match nothing"),
        ("too short", summary.short, "left out of answers unless asked for"),
        ("done again", summary.changed, "somebody changed them at the same moment"),
        ("gone", summary.gone, "deleted meanwhile"),
        ("removed", summary.removed, "their documents are gone"),
        ("failed", summary.failures, f"{reasons}; listed by: {listed}"),
    ]
    for name, count, remark in lines:
        if count or name in ("annotated", "unchanged", "failed"):
            click.echo(f"{name:<13} {count:>9,}" + (f"  {remark}" if remark and count else ""))
    if summary.forgotten:
        say(
            "the mapping of the index may not be changed here, so it does not remember the fields; name them with "
            "--field wherever texts are read again"
        )
    if dry_run:
        say("a dry run: nothing was changed")


COMMANDS = (annotate_command,)
