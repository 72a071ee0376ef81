"""`neardup batch cluster`."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from indexer.cli.batch.running import Spread, spread_options, steps_of
from indexer.cli.options.clustering import cluster_options
from indexer.cli.options.groups import Group, Related
from indexer.cli.options.matching import match_option, show_rule
from indexer.cli.options.paths import A_FOLDER, A_PATH
from indexer.cli.options.shared import Size, json_option
from indexer.cli.terminal.output import answer_json, fields
from indexer.library.options import ClusterOptions
from indexer.text.counts import counted

if TYPE_CHECKING:
    from indexer.batch.sketches.inputs import Stale


@dataclass(frozen=True, slots=True)
class Compared:
    """The older documents that are compared too, the memory, and what becomes of stale inputs and repeated ids."""

    memory: int
    against: str | None
    stale: Stale
    latest: bool


compared_options = Group(
    Compared,
    click.option(
        "--memory",
        cls=Related,
        goes_with=["run_on=local"],
        type=Size(),
        metavar="SIZE",
        default="2GiB",
        show_default=True,
        help="What sketches may take at once with --run-on local; more of them are spilled to OUT, and compared part "
        "by part.",
    ),
    click.option(
        "--against",
        metavar="OLD",
        type=A_PATH,
        help="A folder with the sketches and clusters of older documents: these are compared too, clusters keep their "
        "ids, and of each new document it is said which older one it repeats.",
    ),
    click.option(
        "--stale",
        type=click.Choice(("refuse", "forget", "keep")),
        default="refuse",
        show_default=True,
        help="What becomes of sketches whose input is gone or has changed since: refuse with the list, remove them, or "
        "count them on.",
    ),
    click.option(
        "--latest",
        is_flag=True,
        help="Of documents with one id and different texts let the last count; otherwise they are refused.",
    ),
)


@click.command(
    short_help="Put sketched documents into clusters.",
    epilog="""
\b
Examples:
  neardup batch cluster batch --out batch
  neardup batch cluster batch --out strict --match minhash@0.8
  neardup batch cluster batch --out batch --canonical field:published --memory 8GiB
  neardup batch cluster june --out june --against may
  neardup batch cluster batch --out batch --run-on spark --master spark://host:7077

DIR is the folder of neardup batch sketch. OUT/clusters has a file for each one of sketches, with its rows: id, row,
cluster, is_canonical, keep, similarity to the canonical document, size of the cluster, origins (from how many distinct
hosts or folders its documents are; 100 stands for 100 or more), canonical, the id of the canonical document, and
duplicate_of and duplicate_similarity: no two documents that are kept are near, and each other one is near a kept
one, which is named. They are the clusters that neardup cluster makes of the same documents in a new store, however they
are spread over files. Of several documents with one id the last counts, by the paths of the files, then by row; the
others have no cluster. If they have different texts, as where row numbers of several files serve as ids, they are
refused unless --latest is given.

With --against new documents also have repeats, the id of the older document of their cluster that comes first by the
rule for the canonical one, null for a document that repeats none, and repeats_similarity; the clusters of the older
documents, where they are now, are in OUT/clusters-before. They are as neardup cluster makes them after new documents
were indexed into a store of the older ones. What was kept of the older documents stays, and new ones near it go.

With --json one object: rule, bound, canonical, similarity and by_hash_alone (of the rule), documents, replaced,
differing (of these), compared, kept, removed, unseen and stale (inputs that are not as they were and count on),
clusters, clustered, largest, split, comparisons, and the ten largest buckets (documents that share a key) and
components with what they took; with --against also older, new and repeating; seconds. OUT/clustering.json keeps it, and
neardup batch report shows it again.
""",
)
@click.argument("folder", metavar="DIR", type=A_PATH)
@click.option("--out", required=True, type=A_FOLDER, metavar="OUT", help="The folder to write to.")
@match_option
@cluster_options
@compared_options
@spread_options
@click.option(
    "--explain", is_flag=True, help="Say what is looked up, what that guarantees, and what it is expected to miss."
)
@json_option
def cluster(
    folder: str,
    out: str,
    match: str | None,
    clustering: ClusterOptions,
    given: Compared,
    spread: Spread,
    explain: bool,
    json: bool,
) -> None:
    """Put the documents of a folder's sketches into clusters of near-duplicates."""
    from indexer.batch.clusters.clustering import Wanted
    from indexer.batch.reading import form_in, rule_of
    from indexer.clustering.canonical import CanonicalRule

    form = form_in(folder)
    rule = rule_of(form, match)
    if explain:
        show_rule(rule)
    chosen = clustering.canonical_rule or CanonicalRule()
    wanted = Wanted(
        rule,
        chosen,
        clustering.bound,
        given.memory,
        spread.partitions,
        given.against,
        most_grouped=spread.most_grouped,
        stale=given.stale,
        latest=given.latest,
    )
    begin = time.monotonic()
    with steps_of(spread.running, spread.most_joined) as steps:
        said = steps.cluster(folder, out, wanted)
    said["seconds"] = round(time.monotonic() - begin, 3)
    if json:
        answer_json(said)
    else:
        show_clusters(said)


def _replaced(said: dict[str, Any]) -> str:
    other = f", {said['differing']:,} of them with another text" if said["differing"] else ""
    return f"{said['replaced']:,} by a later one of the same id{other}" if said["replaced"] else ""


def show_clusters(said: dict[str, Any]) -> None:
    """Print what was found, for people."""
    from indexer.batch.sketches.inputs import named_few
    from indexer.matching.rule import rule_name

    clusters = said["clusters"]
    fields(
        [
            ("rule", rule_name(said["rule"])),
            ("documents", f"{said['documents']:,}, of them {said['compared']:,} compared"),
            ("new", f"{said['new']:,}, and {said['repeating']:,} that repeat older ones" if "new" in said else ""),
            ("replaced", _replaced(said)),
            ("clusters", f"{clusters:,}, the largest of {said['largest']:,}" if clusters else "0"),
            ("clustered", f"{counted(said['clustered'], 'document')}"),
            ("kept", f"{said['kept']:,}, and {said['removed']:,} that are near one of them"),
            ("split", f"{counted(said['split'], 'chain was', 'chains were')} too wide" if said["split"] else ""),
            ("compared", f"{counted(said['comparisons'], 'pair')}"),
            ("not seen", f"{named_few(said['unseen'])}; counted on" if said["unseen"] else ""),
            ("took", f"{said['seconds']:.1f} s" if "seconds" in said else ""),
            ("stale", f"{named_few(said['stale'])}; counted on" if said["stale"] else ""),
        ]
    )


COMMANDS = (cluster,)
