"""Options for making clusters; `indexer.clustering` decides what they mean."""

from __future__ import annotations

import click

from indexer.cli.options.groups import A_PATH, Group, Related, typed
from indexer.library.options import Arriving, ClusterOptions, lossy

cluster_options = Group(ClusterOptions, title="Clusters")


def _without_loss_unless_typed(ctx: click.Context, option: click.Parameter, value: tuple[str, ...]) -> tuple[str, ...]:
    lost = lossy(value) if value and not typed(str(option.name)) else ()
    if lost:
        raise click.UsageError(
            f"--on {lost[0]}: to leave these documents out counts for one command; say it on the command line", ctx
        )
    return value


arrival_options = Group(
    Arriving,
    click.option("--cluster", is_flag=True, help="Assign the documents to clusters, at the latest at the end."),
    click.option(
        "--skip-duplicates",
        is_flag=True,
        help="Skip new documents that say the same as a stored near one, by their texts. Forms, with other facts, "
        "are stored. neardup failures --reason duplicate lists the skipped ones.",
    ),
    click.option(
        "--verify",
        cls=Related,
        goes_with=["skip_duplicates"],
        type=click.Choice(["text", "sketch"]),
        allow_from_autoenv=False,
        help="With --skip-duplicates: compare the texts, read again (the default), or only the sketches; this also "
        "skips forms.",
    ),
    click.option(
        "--skip",
        cls=Related,
        goes_with=["skip_duplicates"],
        not_with=["verify=sketch"],
        metavar="RELATION,...",
        allow_from_autoenv=False,
        help="With --skip-duplicates: the relations to a stored document for which a new one is skipped. A longer or "
        "cleaner document is stored.  [default: identical,reflowed,noise]",
    ),
    click.option(
        "--on",
        cls=Related,
        not_with=["verify=sketch"],
        multiple=True,
        metavar="RELATION,...=ACTION",
        callback=_without_loss_unless_typed,
        help="The action for new documents with one of these relations to a stored one: store, skip, mark (as prune "
        "does) or refuse (they count as failed). Repeat it for other relations; --skip-duplicates skips identical, "
        "reflowed and noise.",
    ),
    click.option(
        "--new-to",
        cls=Related,
        goes_with=["cluster", "skip_duplicates", "on"],
        metavar="FILE",
        type=A_PATH,
        help="With --cluster, --skip-duplicates or --on: write the ids of documents without a near-duplicate on "
        "arrival to FILE (-: standard output), one per line.",
    ),
    cluster_options,
    title="Near-duplicates of new documents",
)
