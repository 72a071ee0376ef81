"""`neardup batch load`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from indexer.cli.options.answers import command
from indexer.cli.options.groups import A_PATH, typed
from indexer.cli.options.shared import RefreshAsked, RunOutput, StoreAsked
from indexer.cli.terminal.output import answer_json, fields, say
from indexer.library.batch_options import BatchLoading
from indexer.text.counts import counted

if TYPE_CHECKING:
    from indexer.library.batch_outcomes import BatchLoaded


@command(
    "batch_outcomes:BatchLoaded",
    short_help="Put sketches and clusters into a store.",
    epilog="""
\b
Examples:
  neardup batch load batch --store all.neardup
  neardup batch load batch --clusters strict --store https://host:9200/articles
  neardup batch load batch --store https://host:9200/news --index-column _index --routing-column _routing
  neardup batch load batch --store https://host:9200/articles --dry-run --json

A store file, and an index made by neardup, then hold the same as after neardup index and neardup cluster: every
document with its sketches, its metadata and its cluster, the failed documents, and the rule. similar, prune, report
and index --cluster go on from there. A missing store is created, unless --no-create is given. In any other index
existing documents get the fields of neardup annotate; missing ones are counted and named. DIR and the store must have
the same schemes, content mode and versions.

Run the same command again to resume: finished documents are not written again. Other documents of the store were not
compared with the new ones; neardup cluster does that.
""",
)
@click.argument("folder", metavar="DIR", type=A_PATH)
def load(
    *, folder: str, store: StoreAsked, loading: BatchLoading, refresh: RefreshAsked = "wait", talk: RunOutput
) -> int:
    """Put what a batch has made into a store: documents with their sketches, their clusters, and the rule."""
    from indexer.library import batches

    done = batches.load(
        folder,
        store,
        loading,
        # In a settings file they are for the other stores.
        of_owner=typed("create_missing") or typed("allow_version_change"),
        refresh=refresh,
        tell=say,
        following=talk.following("loading"),
    )
    if not talk.is_enough(done):
        _report(done, as_json=talk.json)
    return 0


def _report(done: BatchLoaded, *, as_json: bool) -> None:
    if as_json:
        answer_json(done)
        return
    first = ", ".join(done.first_missing) + (", ..." if done.missing > len(done.first_missing) else "")
    changes = done.written
    written = f"{counted(changes.documents, 'document')}, {counted(changes.clusters, 'cluster')}; "
    written += f"{counted(changes.removed, 'cluster')} removed"
    fields(
        [
            ("documents", f"{done.documents:,} in {done.seconds:.1f} s"),
            ("created", f"{done.created:,}"),
            ("replaced", f"{done.replaced:,}" if done.replaced else ""),
            ("unchanged", f"{done.unchanged:,}" if done.unchanged else ""),
            ("missing", f"{done.missing:,} that the index does not have: {first}" if done.missing else ""),
            ("empty", f"{done.empty:,}  no words, so only equal ones match" if done.empty else ""),
            ("too short", f"{done.short:,}  left out of answers unless asked for" if done.short else ""),
            ("failed", f"{counted(done.failures, 'document')}: {done.reasons}" if done.failures else ""),
            ("rule", done.rule_name or "none; DIR has no clusters"),
            ("clusters written", "" if done.dry_run or done.rule is None else written),
        ]
    )
    if done.others and done.rule:
        say(
            f"the store has {counted(done.others, 'other document')} not compared with the new ones; neardup cluster "
            f"does that"
        )
    if done.dry_run:
        say("a dry run: nothing was written")


COMMANDS = (load,)
