"""`neardup pairs`, `neardup cluster` and `neardup prune`."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import click

from indexer.cli.documents import show_deleted
from indexer.cli.files.row_formats import written_rows
from indexer.cli.options.answers import Answering
from indexer.cli.options.clustering import cluster_options
from indexer.cli.options.groups import Group, Related
from indexer.cli.options.matching import Matching, match_options
from indexer.cli.options.paths import A_PATH
from indexer.cli.options.permitted import permitted_options
from indexer.cli.options.shared import filter_option, json_option, opened_collection, refresh_option, store_option
from indexer.cli.terminal.answers import tell_lacking, tell_uncompared, tell_unread
from indexer.cli.terminal.output import answer, answer_json, can_ask, fields, say, shown_store, size
from indexer.cli.terminal.relations import relations_shown
from indexer.errors import UsageError
from indexer.library.writers import FORMATS
from indexer.text.counts import counted, share_shown
from indexer.text.visible import beginning

if TYPE_CHECKING:
    from indexer.library.clusters import SurplusStream
    from indexer.library.collection import Collection
    from indexer.library.options import ClusterOptions
    from indexer.library.writers import RowFormat
    from indexer.model.times import Refresh


@click.command(
    cls=Answering,
    answers="Pair",
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

Every pair of stored documents that the rule calls near is listed once, in no particular order, as soon as it is found.
n equal documents make n(n-1)/2 pairs; --collapse pairs them only with the first.

With --against, left is in the store and right in the other one. Standard error says how many documents were not
compared, and why.
""",
)
@store_option
@match_options
@click.option(
    "--format",
    type=click.Choice(FORMATS),
    default="csv",
    show_default=True,
    help="The output format; parquet needs the extra parquet.",
)
@click.option("-o", "--output", metavar="FILE", type=A_PATH, help="Write to FILE instead of standard output.")
@click.option(
    "--against",
    cls=Related,
    setting="against",
    metavar="FILE|STORE",
    type=A_PATH,
    help="Pair the documents with those of another store, or with a list of fingerprints as printed by neardup "
    "hash --json.",
)
@click.option(
    "--collapse",
    cls=Related,
    setting="against",
    is_flag=True,
    help="Pair documents with equal sketches only with the first of them.",
)
@click.option(
    "--include-short", is_flag=True, help="Also compare documents with too few words for a meaningful fingerprint."
)
@click.option(
    "--relation",
    cls=Related,
    setting="against",
    is_flag=True,
    help="Say how the texts of each pair stand to each other, and what differs. They are read again, which takes much "
    "longer than finding the pairs.",
)
@filter_option
def pairs(  # noqa: PLR0913, PLR0917 - they are options of the command
    store: str,
    matching: Matching,
    format: RowFormat,  # noqa: A002 - the setting's name
    output: str | None,
    against: str | None,
    collapse: bool,
    include_short: bool,
    relation: bool,
    filter: str | None,  # noqa: A002
) -> None:
    """List all pairs of stored documents that are near-duplicates."""
    if against and collapse:
        raise UsageError("--collapse is for the pairs of one store, not for --against")
    if against and relation:
        raise UsageError("--relation is for the pairs of one store, not for --against")
    from indexer.library.records import Pair

    with opened_collection(store, filter=filter, read_only=True) as collection:
        found = collection.iter_pairs(
            match=matching.wanted, collapse=collapse, include_short=include_short, against=against, relation=relation
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


@click.command(
    cls=Answering,
    answers="Clustering",
    short_help="Put near-duplicates into clusters.",
    epilog="""
\b
Examples:
  neardup cluster
  neardup cluster --canonical longest --dry-run
  neardup cluster --canonical source --prefer 'https://docs.example.org/*' --prefer '*/mirror/*'
  neardup cluster --canonical field:published
  neardup cluster --similarity 0.8
  neardup cluster --match simhash-doc@3bits

Documents that the rule calls near are grouped together, directly or through others. Chains are split, so that each
document of a cluster is near the one in its centre. Every document has a cluster id, also if it is in no cluster; a
cluster keeps its id as long as it contains the document that it was named after. Documents that are short, or lack
what the rule compares, are in no cluster. The store remembers the rule, the bound and the canonical rule for prune,
report and index --cluster. The next cluster goes by them too, where it is not told otherwise, and says what changes.

Running it again writes nothing. "neardup show ID" shows a document's cluster.
""",
)
@store_option
@match_options
@cluster_options
@refresh_option
@click.option(
    "--relation",
    is_flag=True,
    help="Note how each document that could be removed stands to the one that it repeats, as edited, or a form with "
    "other facts. Texts are read again, which may take longer than the rest; else only what is identical is noted.",
)
@click.option("--dry-run", is_flag=True, help="Print what would be written, and write nothing.")
@json_option
def cluster(
    store: str,
    matching: Matching,
    clustering: ClusterOptions,
    refresh: Refresh,
    relation: bool,
    dry_run: bool,
    json: bool,
) -> None:
    """Put all stored documents into clusters of near-duplicates, and write the changes to the store."""
    with opened_collection(store, read_only=dry_run, refresh=refresh) as collection:
        made = collection.cluster(
            match=matching.wanted,
            bound=clustering.bound,
            canonical=clustering.canonical,
            prefer=clustering.prefer,
            relation=relation,
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
            ("split", f"{counted(made.split, 'chain was', 'chains were')} too wide" if made.split else ""),
            ("versions", f"{counted(made.versions, 'document')} in a known order" if made.versions else ""),
            (
                "to write" if dry_run else "written",
                f"{counted(written.documents, 'document')}, {counted(written.clusters, 'cluster')}; "
                f"{counted(written.removed, 'cluster')} removed",
            ),
        ]
    )
    for one in made.costliest:
        say(
            f"{counted(one.documents, 'document')} with a key of {one.scheme} in common with {one.id} took "
            f"{counted(one.comparisons, 'comparison')}; most of what they share is probably not their text"
        )
    for each in made.resting:
        say(
            f"{counted(each.documents, 'document')} of the cluster {each.cluster} are near for what many share, "
            f"{share_shown(each.share)} of their words: {beginning(each.text, 60)}"
        )
    if made.resting:
        say("is that a menu or a licence? neardup passages --by cluster names all such clusters; look before you prune")
    tell_lacking(made.not_comparable, rule)
    if made.unordered:
        say(
            f"of {counted(made.unordered, 'cluster')} the order of versions is unknown: there the document that "
            "came first is the canonical one"
        )
    if rule.by_hash_alone:
        say("a simhash alone also puts documents together that share nothing but their language; see neardup compare")
    if rule.of_parts:
        say("these are clusters of parts, to look at: what holds a part is no copy of it, so nothing is removed by it")
    if dry_run:
        say("a dry run: nothing was written")


@dataclass(frozen=True, slots=True)
class PruneOptions:
    """The document of a cluster that is kept, what is done with the others, and what is demanded before."""

    dry_run: bool
    delete: bool
    yes: bool
    identical: bool
    verify: Literal["sketch", "text"] | None
    unverified: bool
    forms: bool
    edited: bool
    with_documents: bool
    ignore_field: tuple[str, ...]
    parts: bool

    @property
    def choice(self) -> dict[str, Any]:
        """The choice, and the demands before it."""
        names = ("identical", "verify", "unverified", "forms", "edited", "with_documents", "ignore_field", "parts")
        return {name: getattr(self, name) for name in names}


prune_options = Group(
    PruneOptions,
    click.option("--dry-run", is_flag=True, help="List the documents, and do nothing."),
    click.option(
        "--delete",
        is_flag=True,
        allow_from_autoenv=False,
        help="Delete the documents from the store instead of marking them.",
    ),
    click.option(
        "--yes",
        cls=Related,
        goes_with=["delete"],
        is_flag=True,
        allow_from_autoenv=False,
        help="With --delete: don't ask for confirmation.",
    ),
    click.option(
        "--identical",
        is_flag=True,
        help="Only documents whose text equals the canonical document's, except for case and white space.",
    ),
    click.option(
        "--verify",
        type=click.Choice(["text", "sketch"]),
        help="Verify by the texts, which are read again and aligned (the default), or by the stored sketches alone, "
        "which have to agree in 60% of all shingles, and more where the clusters' rule asks for more: that also "
        "removes forms.",
    ),
    click.option(
        "--unverified",
        cls=Related,
        not_with=["identical", "verify"],
        is_flag=True,
        allow_from_autoenv=False,
        help="Go by the clusters' rule alone, without texts, also where it is a simhash. Some of the documents may be "
        "unrelated to the ones kept.",
    ),
    *permitted_options("Also", "stand in no kept one", not_with=["identical", "unverified"]),
    click.option(
        "--with-documents",
        cls=Related,
        goes_with=["delete", "dry_run"],
        in_engine=True,
        is_flag=True,
        allow_from_autoenv=False,
        help="With --delete or --dry-run, in a search engine: delete documents of your own as a whole. Only identical "
        "ones, unless --verify is given, and only those without another field that differs.",
    ),
    click.option(
        "--ignore-field",
        cls=Related,
        goes_with=["with_documents"],
        multiple=True,
        metavar="NAME",
        allow_from_autoenv=False,
        help="With --with-documents: a field that may differ.",
    ),
    click.option(
        "--parts",
        cls=Related,
        goes_with=["delete", "dry_run"],
        not_with=["identical", "verify", "unverified", "forms", "edited"],
        is_flag=True,
        allow_from_autoenv=False,
        help="With --delete or --dry-run, in place of duplicates: documents whose text stands whole in a longer one "
        "that stays. The store needs the scheme passages, and no clusters.",
    ),
)


@click.command(
    cls=Answering,
    answers="surplus:Pruned",
    others={"With --json --dry-run one object per line": "surplus:Surplus"},
    short_help="Mark or delete duplicates of canonical documents.",
    epilog="""
\b
Examples:
  neardup prune --dry-run   list what repeats another document
  neardup prune             mark it: annotation duplicate_of
  neardup prune --delete    delete it, after asking
  neardup prune --identical --delete
  neardup prune --parts --dry-run   what stands whole in a longer document

Run "neardup cluster" first. It chooses what to keep in the order of --canonical: no two documents that stay are near,
and each that could be removed repeats one that stays, maybe of another cluster. A document is selected only if it is,
compared again now, as near to that one as the rule of the clustering demands, and if that one says what it says: their
texts are read again and aligned. Identical, reflowed, misread and edited ones are selected; forms, in which facts
differ, stay, and so does what could not be read. --dry-run says why. The files themselves stay. In a search engine, a
document with fields other than neardup's belongs to its owner: --delete leaves it in place and removes neardup's
fields. --with-documents deletes it, if it is as it was when compared, its text is identical, and all its other fields
are equal to those of the document that it repeats; look at --dry-run first, which names those that differ.

--parts deletes what stands whole in a longer document: all its text, but for case and white space, between white space
there. What it stands in stays, and so does what can't be read.
""",
)
@store_option
@prune_options
@refresh_option
@json_option
def prune(store: str, pruning: PruneOptions, refresh: Refresh, json: bool) -> None:
    """Mark the documents that repeat another one which is kept, or delete them from the store."""
    from indexer.library.surplus import Pruned

    with opened_collection(store, read_only=pruning.dry_run, refresh=refresh) as collection:
        if pruning.dry_run:
            _list_surplus(collection.surplus(**pruning.choice), as_json=json, parts=pruning.parts)
            return
        named = None
        if pruning.delete:
            listed = collection.surplus(delete=True, **pruning.choice)
            named = _confirmed(collection, listed, shown_store(store), pruning)
        done = Pruned() if named == 0 else collection.prune(delete=pruning.delete, **pruning.choice)
    if named and done.deleted + done.stripped < named:
        say(f"{named - done.deleted - done.stripped:,} have changed since they were checked, and stay")
    if json:
        answer_json(done)
    elif pruning.delete:
        show_deleted(done)
    else:
        fields([("marked", f"{done.marked:,}"), ("unmarked", f"{done.unmarked:,}")])


def _confirmed(collection: Collection, listed: SurplusStream, shown: str, pruning: PruneOptions) -> int:
    """Say what is to be deleted, and ask; how many documents that are."""
    deque(listed, maxlen=0)
    tally = listed.tally
    if listed.remark:
        say(listed.remark)
    if not pruning.parts and (losses := tally.losses()):
        say(losses)
    count, total = tally.named, len(collection)
    more = f"; {counted(tally.kept, 'other')} will be kept all the same, --dry-run says why" if tally.kept else ""
    owners = "; what is its owner's stays, and loses neardup's fields"
    if pruning.with_documents:
        owners = ", and so do documents that have changed; the others are deleted as a whole"
    elif collection.store.capabilities.embedded:
        owners = ""
    stays = "what they stand in" if pruning.parts else "what they repeat"
    say(f"deletes {count:,} of {counted(total, 'document')} from {shown}; {stays} stays{owners}{more}")
    if count and not pruning.yes:
        if not can_ask():
            raise UsageError("--delete asks for confirmation on a terminal; give --yes to delete without it")
        click.confirm("Delete them?", abort=True, err=True)
    return count


def _list_surplus(listed: SurplusStream, *, as_json: bool, parts: bool) -> None:
    for one in listed:
        if as_json:
            answer_json(one)
        elif one.kept:
            continue
        elif parts:
            answer(f"{one.id}  stands whole in {one.repeats}")
        elif one.identical:
            answer(f"{one.id}  is identical with {one.repeats}")
        else:
            relation = f"; {one.relation}" * bool(one.relation) + f": {one.evidence}" * bool(one.evidence)
            answer(f"{one.id}  {listed.rule.said(one.similarity, one.repeats)}{relation}")
    tally = listed.tally
    if listed.remark:
        say(listed.remark)
    for line in tally.reasons():
        say(line)
    say(f"a dry run: {_parts_summary(listed) if parts else _summary(listed)}; nothing was changed")
    if tally.kept:
        say(f"{counted(tally.kept, 'document')} will be kept all the same")


def _summary(listed: SurplusStream) -> str:
    tally = listed.tally
    count, same = tally.named, tally.identical
    kinds = [f"{same:,} identical"] * bool(same)
    kinds += [f"{count - same:,} near, the least similar {listed.rule.shown(tally.least)}"] * (count > same)
    if losses := tally.losses():
        say(losses)
    said = f"{counted(count, 'document')} with another in place ({size(tally.total_bytes)})"
    return said + f": {' and '.join(kinds)}" * bool(kinds)


def _parts_summary(listed: SurplusStream) -> str:
    tally = listed.tally
    named = counted(tally.named, "document stands", "documents stand")
    return f"{named} whole in another one ({size(tally.total_bytes)})"


COMMANDS = (pairs, cluster, prune)
