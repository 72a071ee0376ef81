"""`neardup batch load`."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import click

from indexer.cli.options.groups import Group, Related, typed
from indexer.cli.options.paths import A_PATH
from indexer.cli.options.shared import Talk, refresh_option, store_option, talk_options, tell_contended
from indexer.cli.terminal.output import answer_json, fields, say, shown_store
from indexer.errors import UsageError
from indexer.text.counts import counted

if TYPE_CHECKING:
    from indexer.batch.loading import Loaded
    from indexer.batch.rows import Batch
    from indexer.model.times import Refresh


@dataclass(frozen=True, slots=True)
class Loading:
    """The clusters that are loaded too, the places of documents, and what may be made and changed there."""

    clusters: str | None
    index_column: str
    routing_column: str
    no_create: bool
    create_missing: bool
    allow_version_change: bool
    dry_run: bool
    stale: Literal["refuse", "keep"]


loading_options = Group(
    Loading,
    click.option(
        "--clusters",
        type=A_PATH,
        metavar="OUT",
        help="The folder that neardup batch cluster wrote.  [default: DIR, if it has clusters]",
    ),
    click.option(
        "--index-column",
        cls=Related,
        in_engine=True,
        default="",
        metavar="NAME",
        help="The column of the input that names the index that holds the document, behind an alias or data stream.",
    ),
    click.option(
        "--routing-column",
        cls=Related,
        in_engine=True,
        default="",
        metavar="NAME",
        help="The column of the input that holds the routing value.",
    ),
    click.option("--no-create", is_flag=True, help="End with exit code 3 if there is no store, instead of making it."),
    click.option(
        "--create-missing",
        cls=Related,
        in_engine=True,
        is_flag=True,
        help="In an index of somebody else's: also create the documents that are missing.",
    ),
    click.option(
        "--allow-version-change",
        cls=Related,
        in_engine=True,
        is_flag=True,
        help="In an index of somebody else's: change documents even if their owner assigns versions (version_type "
        "external).",
    ),
    click.option("--dry-run", is_flag=True, help="Count what would be done, and change nothing."),
    click.option(
        "--stale",
        type=click.Choice(("refuse", "keep")),
        default="refuse",
        show_default=True,
        help="Load the sketches of inputs that are gone or have changed since, or refuse.",
    ),
)


@click.command(
    short_help="Put sketches and clusters into a store.",
    epilog="""
\b
Examples:
  neardup batch load batch --store all.neardup
  neardup batch load batch --clusters strict --store https://host:9200/articles
  neardup batch load batch --store https://host:9200/news --index-column _index --routing-column _routing
  neardup batch load batch --store https://host:9200/articles --dry-run --json

A store file, and an index that neardup made, then hold what neardup index and neardup cluster would have stored: every
document with its sketches, its metadata and its cluster, the documents that failed, and the rule, which similar, prune,
report and index --cluster go on with. A store that does not exist is created, unless --no-create is given. In any other
index only the documents that are there get the fields that neardup annotate adds; those that are missing are counted
and named. DIR and the store must have the same schemes, content mode and versions.

Run the same command again to resume: what is there already is not written again. If the store has other documents too,
these were not compared with the new ones; neardup cluster does that.

With --json one object: store, dry_run, documents, created, replaced, unchanged, missing, first_missing, failed (by
reason), empty, short, others (documents of the store that are not in DIR), rule (null without clusters), written
(documents, clusters, removed: what changed of clusters), contended, seconds.
""",
)
@click.argument("folder", metavar="DIR", type=A_PATH)
@store_option
@loading_options
@refresh_option
@talk_options
def load(folder: str, store: str, loading: Loading, refresh: Refresh, talk: Talk) -> int:
    """Put what a batch has made into a store: documents with their sketches, their clusters, and the rule."""
    import time

    from indexer.batch.loading import Loaded
    from indexer.batch.loading import load as loaded
    from indexer.batch.rows import Batch, Places
    from indexer.engine.documents.destinations import Opening, Stored, opened
    from indexer.library.opening import tell_made

    batch = Batch.of(folder, loading.clusters, stale=loading.stale)
    summary, begin = Loaded(), time.monotonic()
    # These are for documents that are there already.
    owners = list(filter(typed, ("create_missing", "allow_version_change")))
    how = Opening(
        create=not (loading.no_create or owners),
        create_missing=loading.create_missing,
        dry_run=loading.dry_run,
        refresh=refresh,
        allow_version_change=loading.allow_version_change,
    )
    with opened(store, batch.form.info, how) as target, _bar(summary) if talk.progress else nullcontext():
        if owners and isinstance(target.destination, Stored):
            flag = owners[0].replace("_", "-")
            raise UsageError(f"--{flag} is for somebody else's index; {shown_store(store)} is neardup's own")
        into = target.destination.store
        if into is not None:
            tell_made(into, store, say)
        places = Places(loading.index_column, loading.routing_column, target.indices, target.scattered)
        loaded(batch, target.destination, places=places, dry_run=loading.dry_run, summary=summary)
        contended = tell_contended(into) if into is not None else 0
    summary.seconds = time.monotonic() - begin
    if not talk.is_enough(summary):
        _report(summary, batch, store, contended, loading, as_json=talk.json)
    return 0


def _bar(summary: Loaded) -> AbstractContextManager[object]:
    from indexer.cli.terminal.progress import Following

    return Following(summary, "loading")


def _report(summary: Loaded, batch: Batch, store: str, contended: int, loading: Loading, *, as_json: bool) -> None:
    from indexer.matching.rule import rule_name

    rule, changes = batch.rule, summary.changes
    if as_json:
        names = ("created", "replaced", "unchanged", "missing", "first_missing")
        answer_json(
            {
                "store": shown_store(store),
                "dry_run": loading.dry_run,
                "documents": summary.total,
                **{name: getattr(summary, name) for name in names},
                "failed": dict(summary.failed),
                "empty": summary.empty,
                "short": summary.short,
                "others": summary.others,
                "rule": rule,
                "written": {
                    "documents": changes.documents, "clusters": changes.clusters, "removed": changes.removed,
                },
                "contended": contended,
                "seconds": round(summary.seconds, 3),
            }
        )  # fmt: skip
        return
    first = ", ".join(summary.first_missing) + (", ..." if summary.missing > len(summary.first_missing) else "")
    written = f"{counted(changes.documents, 'document')}, {counted(changes.clusters, 'cluster')}; "
    written += f"{counted(changes.removed, 'cluster')} removed"
    fields(
        [
            ("documents", f"{summary.total:,} in {summary.seconds:.1f} s"),
            ("created", f"{summary.created:,}"),
            ("replaced", f"{summary.replaced:,}" if summary.replaced else ""),
            ("unchanged", f"{summary.unchanged:,}" if summary.unchanged else ""),
            ("missing", f"{summary.missing:,} that the index does not have: {first}" if summary.missing else ""),
            ("empty", f"{summary.empty:,}  no text, so they match nothing" if summary.empty else ""),
            ("too short", f"{summary.short:,}  left out of answers unless asked for" if summary.short else ""),
            ("failed", f"{counted(summary.failures, 'document')}: {summary.reasons}" if summary.failures else ""),
            ("rule", rule_name(rule) if rule else "none; DIR has no clusters"),
            ("clusters written", "" if loading.dry_run or rule is None else written),
        ]
    )
    if summary.others and rule:
        say(
            f"the store has {counted(summary.others, 'other document')}, which the new ones were not compared with; "
            "neardup cluster does that"
        )
    if loading.dry_run:
        say("a dry run: nothing was written")


COMMANDS = (load,)
