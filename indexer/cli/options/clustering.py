"""Options for making clusters; `indexer.clustering` decides what they mean."""

from __future__ import annotations

import click

from indexer.cli.options.groups import Group, Related
from indexer.cli.options.matching import distance_option, match_option
from indexer.cli.options.paths import A_PATH
from indexer.library.options import Arriving, ClusterOptions

cluster_options = Group(
    ClusterOptions,
    click.option(
        "--bound",
        cls=Related,
        goes_with=["cluster"],
        type=click.FloatRange(0, 1),
        metavar="S",
        help="How far apart two documents of a cluster may be, as 1 minus their similarity. Longer chains are "
        "split.  [default: twice what the rule allows]",
    ),
    click.option(
        "--canonical",
        cls=Related,
        goes_with=["cluster"],
        setting="canonical",
        metavar="RULE",
        help="The canonical document of a cluster: earliest (the first to come; in a batch by --time-field, else by "
        "files and rows), longest (most words), declared (pages whose rel=canonical names their own URL first, "
        "pages that name another one last), newest or oldest (the latest or first version, where the order is "
        "known; else the earliest), field:NAME or field:NAME:desc (smallest or largest field), source (by "
        "--prefer). In ties mails come first, and paths that name a copy (backup, copy, export) last.  [default: "
        "earliest]",
    ),
    click.option(
        "--prefer",
        cls=Related,
        goes_with=["canonical"],
        setting="canonical",
        multiple=True,
        metavar="GLOB",
        help="With --canonical source: preferred paths or URLs. Repeat it for several, the best first.",
    ),
    title="Clusters",
)


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
        "--new-to",
        cls=Related,
        goes_with=["cluster", "skip_duplicates"],
        metavar="FILE",
        type=A_PATH,
        help="With --cluster or --skip-duplicates: write the ids of documents without a near-duplicate on arrival "
        "to FILE (-: standard output), one per line.",
    ),
    match_option,
    distance_option,
    cluster_options,
    title="Near-duplicates of new documents",
)
