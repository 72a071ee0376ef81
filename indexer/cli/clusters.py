"""`neardup pairs`, `neardup cluster` and `neardup prune`, and what `neardup index` does with clusters."""

from __future__ import annotations

import dataclasses
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

import click

from indexer.cli.options.clustering import cluster_options
from indexer.cli.options.groups import Group, Related
from indexer.cli.options.matching import Matching, match_options, show_rule, tell_lacking, tell_uncompared, tell_unread
from indexer.cli.options.paths import A_PATH
from indexer.cli.options.shared import (
    Gone,
    filter_option,
    json_option,
    opened,
    refresh_option,
    store_option,
    tell_contended,
)
from indexer.cli.terminal.output import answer, answer_json, can_ask, fields, record_json, say, shown_store, size
from indexer.errors import NotFoundError, UsageError
from indexer.library.options import ClusterOptions
from indexer.text.counts import counted

if TYPE_CHECKING:
    from indexer.clustering.prune import Pruning
    from indexer.matching.nodes import Nodes
    from indexer.matching.rule import MatchRule
    from indexer.model.times import Refresh
    from indexer.stores import Store


PairFormat = Literal["csv", "jsonl", "parquet"]


@click.command(
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

Every pair of stored documents that the rule calls near is listed once, in no particular order, as soon as it is found.
n equal documents make n(n-1)/2 pairs; --collapse pairs them only with the first.

Columns: id_a, id_b, similarity (0 to 1, by the rule's verifier, or its finder if it has none), and bits if that is a
simhash; with a store of several indices also index_a, routing_a, index_b, routing_b. With --against, a is in the store
and b in the other one. Standard error says how many documents were not compared, and why.
""",
)
@store_option
@match_options
@click.option(
    "--format",
    type=click.Choice(get_args(PairFormat)),
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
@filter_option
def pairs(
    store: str,
    matching: Matching,
    format: PairFormat,  # noqa: A002 - the setting's name
    output: str | None,
    against: str | None,
    collapse: bool,
    include_short: bool,
    filter: str | None,  # noqa: A002
) -> None:
    """List all pairs of stored documents that are near-duplicates."""
    if against and collapse:
        raise UsageError("--collapse is for the pairs of one store, not for --against")
    from indexer.cli.files.pair_formats import Form, written
    from indexer.matching.measures.reading import reader_of
    from indexer.matching.pairing import pairs_of
    from indexer.matching.shorthand import rule_of

    with opened(store, read_only=True) as source:
        if filter is not None:
            source.narrow(filter)
        rule = rule_of(matching.wanted, source, hashes=against is not None and not _is_store(against))
        if filter is None:
            _tell_size(source, rule)
            tell_uncompared(source, rule, include_short=include_short)
        if matching.explain:
            show_rule(rule)
        reader = reader_of(source, rule)
        other = _other(source, rule, against, include_short=include_short) if against else None
        if other:
            tell_lacking(other.lacking, rule)
        near_pairs = pairs_of(
            source, rule, against=other, collapse=collapse, include_short=include_short, reader=reader
        )
        count = written(near_pairs, format, output, Form(rule, places=source.capabilities.routing))
    tell_unread(reader.unread if reader else {})
    pairs_named = counted(count, "pair")
    say(f"{pairs_named} by {rule.in_words}" + (f", written to {output}" if output else ""))


def _tell_size(store: Store, rule: MatchRule) -> None:
    from indexer.matching import room

    if sentence := room.remark_on(store.count(), rule, room.available_memory()):
        say(sentence, level="warning")


def _is_store(name: str) -> bool:
    from indexer.matching.lists import is_store

    return is_store(name)


def _other(source: Store, rule: MatchRule, against: str, *, include_short: bool) -> Nodes:
    from pathlib import Path

    from indexer.matching.lists import read_list, read_store

    if not _is_store(against):
        if not os.path.exists(against):
            raise NotFoundError(f"{shown_store(against)}: no such file or store")
        return read_list(Path(against), rule)
    with opened(against, read_only=True) as other:
        return read_store(other, source, rule, name=shown_store(against), include_short=include_short)


@click.command(
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

Running it again writes nothing. "neardup show ID" shows a document's cluster. With --json one object: rule, documents,
compared, not_comparable, clusters, clustered, largest, split, comparisons, costliest (documents whose keys cost most
comparisons), contended (documents that others change constantly, left as they are), changed (what is not as in the last
clustering, in words), and written: documents, clusters, removed.
""",
)
@store_option
@match_options
@cluster_options
@refresh_option
@click.option("--dry-run", is_flag=True, help="Print what would be written, and write nothing.")
@json_option
def cluster(
    store: str, matching: Matching, clustering: ClusterOptions, refresh: Refresh, dry_run: bool, json: bool
) -> None:
    """Put all stored documents into clusters of near-duplicates, and write the changes to the store."""
    from indexer.clustering.clusters import cluster as clustered
    from indexer.clustering.memory import obeyed
    from indexer.matching.measures.reading import reader_of
    from indexer.matching.shorthand import rule_asked

    canonical = clustering.canonical_rule
    with opened(store, read_only=dry_run, refresh=refresh) as target:
        asked = rule_asked(matching.wanted, target)
        rule, bound, canonical, change = obeyed(target, asked, clustering.bound, canonical)
        if change:
            say(change)
        _tell_size(target, rule)
        if matching.explain:
            show_rule(rule)
        reader = reader_of(target, rule)
        made = clustered(target, rule, bound=bound, canonical=canonical, dry_run=dry_run, reader=reader)
        contended = tell_contended(target)
    tell_unread(reader.unread if reader else {})
    changes = made.changes
    written = {"documents": changes.documents, "clusters": changes.clusters, "removed": changes.removed}
    if json:
        names = ("documents", "compared", "clusters", "clustered", "largest", "split", "comparisons")
        counts = {name: getattr(made, name) for name in names} | {"not_comparable": made.lacking}
        costliest = [
            {
                "id": one.example.id,
                "scheme": one.scheme,
                "documents": one.documents,
                "comparisons": one.comparisons,
            }
            for one in made.costliest
        ]
        summary = {"rule": str(rule), **counts, "costliest": costliest}
        answer_json({**summary, "written": written, "contended": contended, "changed": change, "dry_run": dry_run})
        return
    fields(
        [
            ("rule", rule.name),
            ("documents", f"{made.documents:,}, of them {made.compared:,} compared"),
            ("clusters", f"{made.clusters:,}, the largest of {made.largest:,}" if made.clusters else "0"),
            (
                "clustered",
                f"{counted(made.clustered, 'document')}, {made.clustered - made.clusters:,} of them not canonical",
            ),
            ("split", f"{counted(made.split, 'chain was', 'chains were')} too wide" if made.split else ""),
            (
                "to write" if dry_run else "written",
                f"{counted(changes.documents, 'document')}, {counted(changes.clusters, 'cluster')}; "
                f"{counted(changes.removed, 'cluster')} removed",
            ),
        ]
    )
    for one in made.costliest:
        say(
            f"{counted(one.documents, 'document')} with a key of {one.scheme} in common with {one.example.id} took "
            f"{counted(one.comparisons, 'comparison')}; most of what they share is probably not their text"
        )
    tell_lacking(made.lacking, rule)
    if rule.by_hash_alone:
        say("a simhash alone also puts documents together that share nothing but their language; see neardup compare")
    if rule.of_parts:
        say("these are clusters of parts, to look at: what holds a part is no copy of it, so nothing is removed by it")
    if dry_run:
        say("a dry run: nothing was written")


@dataclass(frozen=True, slots=True)
class Pruned:
    """The document of a cluster that is kept, what is done with the others, and what is demanded before."""

    dry_run: bool
    delete: bool
    yes: bool
    identical: bool
    verify: Literal["sketch", "text"] | None
    unverified: bool
    with_documents: bool
    ignore_field: tuple[str, ...]


prune_options = Group(
    Pruned,
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
        type=click.Choice(["sketch", "text"]),
        help="Also require that the document is near by stored sketches (60% of all shingles) or by the texts (50%); "
        "where the clusters' rule asks for more, that much.",
    ),
    click.option(
        "--unverified",
        cls=Related,
        goes_with=["delete"],
        not_with=["identical", "verify"],
        is_flag=True,
        allow_from_autoenv=False,
        help="With --delete: allow deleting by the simhash alone. Some of the deleted documents may be unrelated "
        "to the ones kept.",
    ),
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
)


@click.command(
    short_help="Mark or delete duplicates of canonical documents.",
    epilog="""
\b
Examples:
  neardup prune --dry-run   list what repeats another document
  neardup prune             mark it: annotation duplicate_of
  neardup prune --delete    delete it, after the question
  neardup prune --identical --delete

Run "neardup cluster" first. It chooses what to keep in the order of --canonical: no two documents that stay are near,
and each that could be removed repeats one that stays, maybe of another cluster. A document is selected only if it is,
compared again now, as near to that one as the rule of the clustering demands; else it is kept, and --dry-run says why.
After clustering by a simhash alone, --delete requires a verification. The files themselves stay. In a search engine, a
document with fields other than neardup's belongs to its owner: --delete leaves it in place and removes neardup's
fields. --with-documents deletes it, if it is as it was when compared, its text is identical, and all its other fields
are equal to those of the document that it repeats; look at --dry-run first, which names those that differ.

With --dry-run --json one object per line: cluster, repeats, similarity (to that one), identical (whether the texts are
equal except for case and white space), kept (why; empty for documents that would be marked or deleted), differs (with
--with-documents, the fields for which it is kept), and the document as in "neardup show --json"; otherwise one object:
marked and unmarked, or deleted and stripped (an owner's documents, which stayed); and contended, the number of
documents that others change constantly.
""",
)
@store_option
@prune_options
@refresh_option
@json_option
def prune(store: str, pruned: Pruned, refresh: Refresh, json: bool) -> None:
    """Mark the documents that repeat another one which is kept, or delete them from the store."""
    from indexer.clustering.prune import Pruning, verification

    with opened(store, read_only=pruned.dry_run, refresh=refresh) as target:
        measure = verification(target, pruned.verify) if pruned.verify else None
        pruning = Pruning(
            target,
            verify=measure,
            unverified=pruned.unverified,
            identical=pruned.identical,
            with_documents=pruned.with_documents,
            ignored=pruned.ignore_field,
        )
        if pruned.dry_run:
            _list_surplus(pruning, as_json=json)
            return
        if not pruned.delete:
            done = pruning.mark()
            contended = tell_contended(target)
            if json:
                answer_json({"marked": done.documents, "unmarked": done.removed, "contended": contended})
            else:
                fields([("marked", f"{done.documents:,}"), ("unmarked", f"{done.removed:,}")])
            return
        pruning.require_verified()
        gone = Gone.of(target, _delete(pruning, shown_store(store), asked=not pruned.yes))
        contended = tell_contended(target)
    if json:
        answer_json({**dataclasses.asdict(gone), "contended": contended})
    else:
        gone.show()


def _delete(pruning: Pruning, shown: str, *, asked: bool) -> int:
    from indexer.clustering.prune import Tally

    tally = Tally()
    for document in pruning.surplus():
        tally.add(document)
    count, total = tally.named, pruning.store.count()
    more = f"; {counted(tally.kept, 'other')} will be kept all the same, --dry-run says why" if tally.kept else ""
    owners = "; what is its owner's stays, and loses neardup's fields"
    if pruning.with_documents:
        owners = ", and so do documents that have changed; the others are deleted as a whole"
    elif pruning.store.capabilities.embedded:
        owners = ""
    say(f"deletes {count:,} of {counted(total, 'document')} from {shown}; what they repeat stays{owners}{more}")
    if count and asked:
        if not can_ask():
            raise UsageError("--delete asks for confirmation on a terminal; give --yes to delete without it")
        click.confirm("Delete them?", abort=True, err=True)
    deleted = pruning.delete() if count else 0
    if deleted < count:
        say(f"{count - deleted:,} have changed since they were checked, and stay")
    return deleted


def _list_surplus(pruning: Pruning, *, as_json: bool) -> None:
    from indexer.clustering.prune import Tally

    tally = Tally()
    for document in pruning.surplus():
        tally.add(document)
        if as_json:
            about = {"cluster": document.cluster, "repeats": document.repeats.id, "similarity": document.similarity}
            about |= {"identical": document.identical, "kept": document.kept, "differs": document.differs}
            answer_json({**about, **record_json(document.record)})
        elif document.kept:
            continue
        elif document.identical:
            answer(f"{document.record.ref.id}  is identical with {document.repeats.id}")
        else:
            answer(f"{document.record.ref.id}  {pruning.rule.said(document.similarity, document.repeats.id)}")
    for line in tally.reasons():
        say(line)
    count, same = tally.named, tally.identical
    summary = f"{counted(count, 'document')} with another in place ({size(tally.total_bytes)})"
    kinds = [f"{same:,} identical"] * bool(same)
    kinds += [f"{count - same:,} near, the least similar {pruning.rule.shown(tally.least)}"] * (count > same)
    say(f"a dry run: {summary}" + f": {' and '.join(kinds)}" * bool(kinds) + "; nothing was changed")
    if tally.kept:
        say(f"{counted(tally.kept, 'document')} will be kept all the same")


COMMANDS = (pairs, cluster, prune)
