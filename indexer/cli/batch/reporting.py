"""`neardup batch report`."""

from __future__ import annotations

from typing import Any

import click

from indexer.cli.batch.clustering import show_clusters
from indexer.cli.options.answers import command
from indexer.cli.options.groups import A_PATH
from indexer.cli.options.shared import JsonAsked
from indexer.cli.terminal.output import answer_json, table
from indexer.model.declared import as_json
from indexer.text.counts import counted


@command(
    "batch_outcomes:BatchFigures",
    short_help="Show the clusters of a batch.",
    epilog="""
\b
Examples:
  neardup batch report batch
  neardup batch report batch --json | jq .could_go_share

DIR is the folder written by neardup batch cluster. Shows its figures, the number of clusters by size, the ten largest
clusters, the ten most frequent keys of schemes, and the ten largest chains: documents that are near directly or
through others, before long chains are cut. Each has an example, the number of its different texts, and the number of
comparisons.
""",
)
@click.argument("folder", metavar="DIR", type=A_PATH)
def report(*, folder: str, json: JsonAsked) -> None:
    """Show the figures of a batch's clusters, and what was largest and took most."""
    from indexer.library import batches

    found = batches.report(folder)
    if json:
        answer_json(found)
        return
    show_clusters(found, ("spanning", f"{counted(found.spanning, 'cluster')} from two hosts or folders or more"))
    _show("clusters of size", [{"members": name, "clusters": count} for name, count in found.sizes.items()])
    _show("largest clusters", as_json(found.largest_clusters))
    _show("keys that most documents share", as_json(found.shared_keys))
    _show("largest chains", as_json(found.chains))


def _show(title: str, rows: list[dict[str, Any]]) -> None:
    if not rows:
        return
    click.echo(f"\n{title}")
    numbers = [name for name, value in rows[0].items() if isinstance(value, int)]
    shown = [[f"{value:,}" if isinstance(value, int) else str(value) for value in row.values()] for row in rows]
    table(list(rows[0]), shown, right=numbers)


COMMANDS = (report,)
