"""`neardup pairs` and `neardup cluster`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from indexer.cli.options.answers import command
from indexer.cli.options.shared import FilterAsked, JsonAsked, Matching, RefreshAsked, StoreAsked, opened_collection
from indexer.cli.terminal.answers import relations_shown, tell_lacking, tell_uncompared, tell_unread
from indexer.cli.terminal.output import answer_json, fields, say, written_rows
from indexer.errors import UsageError
from indexer.library.options import ClusterOptions
from indexer.library.rows import RowFormat
from indexer.model.declared import Option
from indexer.text.counts import counted, share_shown
from indexer.text.visible import beginning

if TYPE_CHECKING:
    from indexer.library.records import Clustering
    from indexer.library.stores import MatchRule


@command(
    "Pair",
    heading="Columns",
    short_help="List all near-duplicate pairs.",
    epilog="""
\b
Examples:
  neardup pairs > pairs.csv
  neardup pairs --match simhash-doc@6bits --format jsonl | jq -c 'select(.bits > 3)'
  neardup pairs --against new.neardup             two stores against each other
  neardup hash new/*.html --json > new.jsonl
  neardup pairs --against new.jsonl --format csv  files against the store, by their simhash
  neardup pairs --similarity 0.8 --explain
  neardup pairs --match simhash-doc@7bits+minhash@0.7
  neardup pairs --relation --format jsonl | jq -c 'select(.relation == "form")'

Lists every near pair once, in no particular order, as soon as it is found. n equal documents make n(n-1)/2 pairs;
--collapse pairs them only with the first.

With --against, left is in the store and right in the other one. Standard error says how many documents were not
compared, and why.
""",
)
def pairs(  # noqa: PLR0913 - they are options of the command
    *, store: StoreAsked, matching: Matching,
    format: Annotated[RowFormat, Option("The output format; parquet needs the extra parquet.")] = "csv",  # noqa: A002
    output: Annotated[str | None, Option("Write to FILE instead of standard output.", names=["-o", "--output"],
        kind="path", metavar="FILE")],
    against: Annotated[str | None, Option("Pair the documents with another store, or with the fingerprints printed by "
        "neardup hash --json.", kind="path", metavar="FILE|STORE", setting="against")],
    collapse: Annotated[bool, Option("Pair documents with equal sketches only with the first of them.",
        setting="against")],
    include_short: Annotated[bool, Option("Also compare documents with too few words for a meaningful fingerprint.")],
    relation: Annotated[bool, Option("Say how the texts of each pair relate, and name the differences. This reads the "
        "texts again, and takes much longer than finding the pairs.", setting="against")],
    filter: FilterAsked,  # noqa: A002
) -> None:  # fmt: skip
    """List all pairs of stored documents that are near-duplicates."""
    if against and collapse:
        raise UsageError("--collapse is for the pairs of one store, not for --against")
    if against and relation:
        raise UsageError("--relation is for the pairs of one store, not for --against")
    from indexer.library.records import Pair

    with opened_collection(store, filter=filter, read_only=True) as collection:
        found = collection.iter_pairs(
            match=matching, collapse=collapse, include_short=include_short, against=against, relation=relation
        )
        rule = found.rule
        if filter is None:
            tell_uncompared(found.uncompared(), rule)
        if matching.explain:
            collection.tell_plan(rule)
        tell_lacking(found.lacking, rule)
        written_rows(found, Pair, format, output)
    tell_unread(found.unread)
    say(f"{counted(found.count, 'pair')} by {rule.in_words}" + (f", written to {output}" if output else ""))


@command(
    "Clustering",
    short_help="Put near-duplicates into clusters.",
    epilog="""
\b
Examples:
  neardup cluster
  neardup cluster --canonical longest --dry-run
  neardup cluster --canonical source --prefer 'https://docs.example.org/*' --prefer '*/mirror/*'
  neardup cluster --canonical field:rank:desc
  neardup cluster --time-field published
  neardup cluster --similarity 0.8
  neardup cluster --match simhash-doc@3bits

Near documents form a cluster, directly or through others. Chains are split, so that each document is near the one in
the centre. Every document has a cluster id, even alone; a cluster keeps its id as long as it contains the document it
was named after. Short documents, and documents without the sketch of the rule, are in no cluster.

The store remembers the rule, the bound, the canonical rule and --apart, for prune, report, index --cluster and the
next cluster. neardup cluster says if something changes. Running it again writes nothing. "neardup show ID" shows a
document's cluster.
""",
)
def cluster(  # noqa: PLR0913 - they are options of the command
    *, store: StoreAsked, matching: Matching, clustering: ClusterOptions,
    time_field: Annotated[str | None, Option("The field with the date, in the metadata or in the documents of an "
        "index, for --canonical earliest. Documents without it come last. An empty name means the time of indexing.  "
        "[default: as in the last clustering]", metavar="NAME")],
    refresh: RefreshAsked = "wait",
    relation: Annotated[bool | None, Option("Note how each removable document relates to the one it repeats: "
        "identical, edited, a form with other facts, and so on. Reads texts again, each once. By default for fields of "
        "an index and files of at most 2 MB. With --relation for all; without, only identical documents are noted, "
        "also among new ones.")],
    apart: Annotated[Literal["form", "none"] | None, Option("With form, documents with other facts, such as two "
        "invoices, are separate clusters, each with its own copies. Reads all texts of clusters again each time.  "
        "[default: as in the last clustering, at first none]")],
    dry_run: Annotated[bool, Option("Print the changes, and write nothing.")],
    json: JsonAsked,
) -> None:  # fmt: skip
    """Put all stored documents into clusters of near-duplicates, and write the changes to the store."""
    with opened_collection(store, read_only=dry_run, refresh=refresh) as collection:
        made = collection.cluster(
            match=matching,
            bound=clustering.bound,
            canonical=clustering.canonical,
            prefer=clustering.prefer,
            time_field=time_field,
            relation=relation,
            apart=apart,
            dry_run=dry_run,
            explain=matching.explain,
        )
        rule = collection.rule(made.rule)
    tell_unread(made.unread)
    if json:
        answer_json(made)
        return
    written = made.written
    fields(
        [
            ("rule", rule.name),
            ("documents", f"{made.documents:,}, of them {made.compared:,} compared"),
            ("clusters", f"{made.clusters:,}, the largest of {made.largest:,}" if made.clusters else "0"),
            (
                "clustered",
                f"{counted(made.clustered, 'document')}, {made.clustered - made.clusters:,} of them not canonical",
            ),
            ("relations", relations_shown(made.relations)),
            ("texts", "" if made.reading_seconds is None else f"read again in {made.reading_seconds:.1f} s"),
            ("apart", f"{counted(made.apart, 'document')} in which facts differ" if made.apart else ""),
            ("split", f"{counted(made.split, 'chain was', 'chains were')} too wide" if made.split else ""),
            ("versions", f"{counted(made.versions, 'document')} in a known order" if made.versions else ""),
            (
                "to write" if dry_run else "written",
                f"{counted(written.documents, 'document')}, {counted(written.clusters, 'cluster')}; "
                f"{counted(written.removed, 'cluster')} removed",
            ),
        ]
    )
    _remark_on(made, rule)
    if dry_run:
        say("a dry run: nothing was written")


def _remark_on(made: Clustering, rule: MatchRule) -> None:
    if unverified := made.relations.get("unverified", 0):
        say(
            f"{counted(unverified, 'document')} could not be compared, because no text was read; neardup cluster "
            f"--relation tries it, also for files of more than 2 MB"
        )
    for one in made.costliest:
        say(
            f"{counted(one.documents, 'document')} with a key of {one.scheme} in common with {one.id} took "
            f"{counted(one.comparisons, 'comparison')}; most of the common words are probably boilerplate"
        )
    for each in made.resting:
        say(
            f"{counted(each.documents, 'document')} of the cluster {each.cluster} are near for a common passage, "
            f"{share_shown(each.share)} of their words: {beginning(each.text, 60)}"
        )
    if made.resting:
        say("is that a menu or a licence? neardup passages --by cluster names all such clusters; look before you prune")
    tell_lacking(made.not_comparable, rule)
    if made.unordered:
        say(
            f"of {counted(made.unordered, 'cluster')} the order of versions is unknown; the first document is "
            f"canonical there"
        )
    if rule.by_hash_alone:
        say("a simhash alone may also join unrelated documents of one language; see neardup compare")
    if rule.of_parts:
        say("these are clusters of parts, to look at: a part is not a copy, so nothing is removed by them")


COMMANDS = (pairs, cluster)
