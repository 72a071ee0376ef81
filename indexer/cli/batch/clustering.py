"""`neardup batch cluster`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import click

from indexer.cli.batch.judging import judged_fields, tell_unverified
from indexer.cli.options.answers import command
from indexer.cli.options.groups import A_PATH
from indexer.cli.options.matching import show_rule
from indexer.cli.options.shared import JsonAsked
from indexer.cli.terminal.output import answer_json, fields
from indexer.library.batch_options import BatchComparison, BatchSpread
from indexer.library.options import ClusterOptions, MatchAsked
from indexer.model.declared import Option
from indexer.text.counts import counted

if TYPE_CHECKING:
    from indexer.library.batch_outcomes import BatchClustered

# This many inputs are named.
_SHOWN = 5


@command(
    "batch_outcomes:BatchClustered",
    short_help="Put sketched documents into clusters.",
    epilog="""
\b
Examples:
  neardup batch cluster batch --out batch
  neardup batch cluster batch --out strict --match minhash@0.8
  neardup batch cluster batch --out batch --canonical field:published --memory 8GiB
  neardup batch cluster june --out june --against may
  neardup batch cluster batch --out batch --run-on spark --master spark://host:7077

DIR is the folder of neardup batch sketch. OUT/clusters has a file for each file of sketches, with its rows: id, row,
cluster, is_canonical, keep, similarity to the canonical document, size of the cluster, origins (number of distinct
hosts or folders of its documents; 100 stands for 100 or more), and canonical, the id of the canonical document. The
clusters are those of neardup cluster on the same documents in a new store, however they are spread over files.

near_to and near_similarity name the document kept by sketches alone. Then the texts of both are read again
and aligned. A document that says the same is not kept; duplicate_of and duplicate_similarity name the kept one.
Forms, with other facts, and unreadable documents are kept: relation, evidence, lost (words in no kept document) and
stays_for say why. With --verify sketch sketches alone decide. version, from 1 on, and is_latest say which documents
are versions of each other, where their order is known.

Of several documents with one id the last counts, by the paths of the files, then by row; the others have no cluster.
If they have different texts, for example with row numbers of several files as ids, they are refused unless --latest
is given.

With --against new documents also have repeats, the first older document of their cluster by the rule for the
canonical one (null for none), and repeats_similarity. OUT/clusters-before has the new clusters of the older
documents. They are those of neardup cluster on a store with the older documents and then the new ones. Kept older
documents stay, and new ones near them go.

OUT/clustering.json keeps the figures, and neardup batch report shows them again.
""",
)
@click.argument("folder", metavar="DIR", type=A_PATH)
def cluster(
    *, folder: str,
    out: Annotated[str, Option("The folder to write to.", kind="folder", metavar="OUT", required=True)],
    match: MatchAsked, clustering: ClusterOptions, comparison: BatchComparison, spread: BatchSpread,
    explain: Annotated[bool, Option("Explain the lookup: its keys, its guarantees, and how much it may miss.")],
    json: JsonAsked,
) -> None:  # fmt: skip
    """Put the documents of a folder's sketches into clusters of near-duplicates."""
    from indexer.library import batches

    if explain:
        show_rule(batches.rule_for(folder, match))
    done = batches.cluster(folder, out, match=match, clustering=clustering, comparison=comparison, spread=spread)
    tell_unverified(done)
    if json:
        answer_json(done)
    else:
        show_clusters(done)


def show_clusters(done: BatchClustered, *more: tuple[str, str]) -> None:
    clusters, other = done.clusters, f", {done.differing:,} of them with another text" if done.differing else ""
    fields(
        [
            ("rule", done.rule_name),
            ("documents", f"{done.documents:,}, of them {done.compared:,} compared"),
            ("new", "" if done.new is None else f"{done.new:,}, and {done.repeating:,} that repeat older ones"),
            ("replaced", f"{done.replaced:,} by a later one of the same id{other}" if done.replaced else ""),
            ("no field", f"{counted(done.without_field, 'document')}, which come last" if done.without_field else ""),
            ("clusters", f"{clusters:,}, the largest of {done.largest:,}" if clusters else "0"),
            ("clustered", f"{counted(done.clustered, 'document')}"),
            ("kept", f"{done.kept:,}, and {done.removed:,} that repeat one of them"),
            *judged_fields(done),
            ("split", f"{counted(done.split, 'chain was', 'chains were')} too wide" if done.split else ""),
            (
                "unordered",
                f"{counted(done.unordered, 'cluster')} without an order of versions" if done.unordered else "",
            ),
            ("compared", f"{counted(done.comparisons, 'pair')}"),
            ("not seen", f"{inputs_named(done.unseen)}; counted on" if done.unseen else ""),
            ("took", "" if done.seconds is None else f"{done.seconds:.1f} s"),
            ("stale", f"{inputs_named(done.stale)}; counted on" if done.stale else ""),
            *more,
        ]
    )


def inputs_named(places: Sequence[str]) -> str:
    return f"{counted(len(places), 'input')}: {', '.join(places[:_SHOWN])}" + (", ..." * (len(places) > _SHOWN))


COMMANDS = (cluster,)
