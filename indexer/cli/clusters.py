"""`neardup pairs`, `neardup cluster` and `neardup prune`, and what `neardup index` does with clusters."""

from __future__ import annotations

import functools
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import click

from indexer import own_files
from indexer.cli.match_options import (
    distance_option,
    match_option,
    match_options,
    show_rule,
    tell_lacking,
    tell_unread,
    wanted,
)
from indexer.cli.options import filter_option, json_option, opened, refresh_option, store_option, tell_contended
from indexer.cli.output import answer, answer_json, fields, record_json, say, shown_store, size
from indexer.errors import NotFoundError, UsageError

if TYPE_CHECKING:
    from indexer.clustering.arrivals import Arrivals, Near
    from indexer.clustering.canonical import CanonicalRule
    from indexer.clustering.prune import Pruning
    from indexer.matching.nodes import Nodes
    from indexer.matching.rule import MatchRule
    from indexer.model import Record
    from indexer.stores import Store

Command = TypeVar("Command", bound=Callable[..., Any])


def cluster_options(command: Command) -> Command:
    """Add what decides how clusters are made, beside the distance."""
    options = (
        click.option(
            "--bound",
            type=click.FloatRange(0, 1),
            metavar="S",
            help="How far apart two documents of a cluster may be, as 1 - similarity; longer chains are split.  "
            "[default: twice what the rule allows]",
        ),
        click.option(
            "--canonical",
            metavar="RULE",
            help="Which document stands for a cluster: earliest (first indexed), longest (most words), field:NAME or "
            "field:NAME:desc (smallest or largest metadata field), source (by --prefer).  [default: earliest]",
        ),
        click.option(
            "--prefer",
            multiple=True,
            metavar="GLOB",
            help="With --canonical source: paths or URLs that come first; give it several times, the best first.",
        ),
    )
    return functools.reduce(lambda wrapped, option: option(wrapped), reversed(options), command)


def arrival_options(command: Command) -> Command:
    """Add what `neardup index` does about near-duplicates."""
    options = (
        click.option("--cluster", is_flag=True, help="Put each document into its cluster as it comes."),
        click.option(
            "--skip-duplicates",
            is_flag=True,
            help="Leave new documents out that are near-duplicates of stored ones; they are listed by "
            "neardup failures --reason duplicate.",
        ),
        click.option(
            "--new-to",
            metavar="FILE",
            type=click.Path(),
            help="With either: write the ids of documents that were near nothing when they came to FILE (-: standard "
            "output), one a line.",
        ),
        match_option,
        distance_option,
        cluster_options,
    )
    return functools.reduce(lambda wrapped, option: option(wrapped), reversed(options), command)


@contextmanager
def arrivals(store: Store, given: dict[str, Any]) -> Iterator[Arrivals | None]:
    """What looks at documents as they come, None where nothing was asked about clusters."""
    if not given["cluster"] and not given["skip_duplicates"]:
        if given["new_to"]:
            raise UsageError("--new-to goes with --cluster or --skip-duplicates")
        yield None
        return
    from indexer.clustering.arrivals import Arrivals, rule_for
    from indexer.matching.shorthand import Wanted, rule_of

    asked = Wanted(match=given["match"], distance=given["distance"])
    by = rule_for(
        store,
        rule_of(asked, store) if asked.given else None,
        bound=given["bound"],
        canonical=_canonical(given),
        cluster=given["cluster"],
    )
    if by.refused:
        say(f"documents are stored, each in a cluster of its own: {by.refused}")
    with _lines_to(given["new_to"]) as write:

        def told(record: Record, near: Near | None) -> None:
            if near is None and write:
                write(record.ref.id)

        coming = Arrivals(store, by, cluster=given["cluster"], skip=given["skip_duplicates"], told=told)
        yield coming
        coming.close()


@contextmanager
def _lines_to(name: str | None) -> Iterator[Callable[[str], None] | None]:
    if name is None:
        yield None
    elif name == "-":
        yield answer
    else:
        try:
            lines = open(name, "w", encoding="utf-8", errors="backslashreplace", opener=own_files.writer)  # noqa: SIM115
            with lines as file, own_files.in_use(name):
                yield lambda line: print(line, file=file)
        except OSError as error:
            raise UsageError(f"--new-to {name}: {error.strerror}") from error


def _canonical(given: dict[str, Any]) -> CanonicalRule | None:
    from indexer.clustering.canonical import parse_canonical

    if given["canonical"] is None:
        if given["prefer"]:
            raise UsageError("--prefer goes with --canonical source")
        return None
    return parse_canonical(given["canonical"], given["prefer"])


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

Every pair of stored documents that the rule calls near is listed once. n equal documents are n(n-1)/2 pairs; --collapse
pairs them with the first one only. Pairs come in no given order, as they are found.

Columns: id_a, id_b, similarity (0 to 1, by the rule's verifier, else its finder), and bits where that is a simhash;
with a store of several indexes also index_a, routing_a, index_b, routing_b. With --against, a is in the store and b in
the other one.
""",
)
@store_option
@match_options
@click.option(
    "--format",
    type=click.Choice(["csv", "jsonl", "parquet"]),
    default="csv",
    show_default=True,
    help="How pairs are written; parquet needs the extra parquet.",
)
@click.option("-o", "--output", metavar="FILE", type=click.Path(), help="Write to FILE, not to standard output.")
@click.option(
    "--against",
    metavar="FILE|STORE",
    type=click.Path(),
    help="List pairs with the documents of another store, or with a list of fingerprints as neardup hash --json "
    "prints it.",
)
@click.option("--collapse", is_flag=True, help="Pair documents with equal sketches with the first of them only.")
@click.option(
    "--include-short", is_flag=True, help="Compare documents with too few words for a meaningful fingerprint too."
)
@filter_option
def pairs(store: str, output: str | None, against: str | None, **given: Any) -> None:
    """List all pairs of stored documents that are near-duplicates."""
    if against and given["collapse"]:
        raise UsageError("--collapse is for the pairs of one store, not for --against")
    from indexer.cli.pair_formats import Form, written
    from indexer.matching.pairing import pairs_of
    from indexer.matching.reading import reader_of
    from indexer.matching.rule import LEAN_RULE
    from indexer.matching.shorthand import rule_of

    with opened(store, read_only=True) as source:
        if given["filter"] is not None:
            source.narrow(given["filter"])
        listed = against is not None and not _is_store(against)
        asked = wanted(given)
        rule = rule_of(replace(asked, match=LEAN_RULE) if listed and not asked.given else asked, source)
        if given["explain"]:
            show_rule(rule)
        reader = reader_of(source, rule)
        short = given["include_short"]
        other = _other(source, rule, against, include_short=short) if against else None
        found = pairs_of(source, rule, against=other, collapse=given["collapse"], include_short=short, reader=reader)
        form = Form(places=source.capabilities.routing, width=rule.width)
        count = written(found, given["format"], output, form)
    tell_unread(reader.unread if reader else {})
    pairs_named = "1 pair" if count == 1 else f"{count:,} pairs"
    say(f"{pairs_named} by {rule}" + (f", written to {output}" if output else ""))


def _is_store(name: str) -> bool:
    from indexer.matching.lists import is_store

    return is_store(name)


def _other(source: Store, rule: MatchRule, against: str, *, include_short: bool) -> Nodes:
    from pathlib import Path

    from indexer.matching.lists import read_list
    from indexer.matching.nodes import read_nodes

    if not _is_store(against):
        if not os.path.exists(against):
            raise NotFoundError(f"{shown_store(against)}: no such file or store")
        return read_list(Path(against), rule)
    with opened(against, read_only=True) as other:
        source.info.require_comparable(other.info, shown_store(against))
        return read_nodes(other, rule, include_short=include_short)


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

Documents that the rule calls near go together, directly or through others. Where that makes a chain, it is split: each
document of a cluster is near the one in its centre. Every document has a cluster id, a single one its own; a cluster
keeps its id as long as the document that it was named after stays in it. Documents that are short, or lack what the
rule compares, are alone. The store remembers the rule: prune, report and index --cluster obey it.

Running it again writes nothing. "neardup show ID" shows a document's cluster. With --json one object: rule, documents,
compared, not_comparable, clusters, clustered, largest, split, comparisons, contended (documents that others change all
the time and that were left as they are), and written: documents, clusters, removed.
""",
)
@store_option
@match_options
@cluster_options
@refresh_option
@click.option("--dry-run", is_flag=True, help="Say what would be written, and write nothing.")
@json_option
def cluster(store: str, dry_run: bool, json: bool, **given: Any) -> None:
    """Put all stored documents into clusters of near-duplicates, and write what changed to the store."""
    from indexer.clustering.clusters import cluster as clustered
    from indexer.matching.reading import reader_of
    from indexer.matching.shorthand import rule_of

    canonical = _canonical(given)
    with opened(store, read_only=dry_run, refresh=given["refresh"]) as target:
        rule = rule_of(wanted(given), target)
        if given["explain"]:
            show_rule(rule)
        reader = reader_of(target, rule)
        found = clustered(target, rule, bound=given["bound"], canonical=canonical, dry_run=dry_run, reader=reader)
        contended = tell_contended(target)
    tell_unread(reader.unread if reader else {})
    changes = found.changes
    written = {"documents": changes.documents, "clusters": changes.clusters, "removed": changes.removed}
    if json:
        names = ("documents", "compared", "clusters", "clustered", "largest", "split", "comparisons")
        counts = {name: getattr(found, name) for name in names} | {"not_comparable": found.lacking}
        answer_json({"rule": str(rule), **counts, "written": written, "contended": contended, "dry_run": dry_run})
        return
    fields(
        [
            ("rule", str(rule)),
            ("documents", f"{found.documents:,}, of them {found.compared:,} compared"),
            ("clusters", f"{found.clusters:,}, the largest of {found.largest:,}" if found.clusters else "0"),
            ("clustered", f"{found.clustered:,} documents, {found.clustered - found.clusters:,} of them not canonical"),
            ("split", f"{found.split:,} chains were too wide" if found.split else ""),
            (
                "to write" if dry_run else "written",
                f"{changes.documents:,} documents, {changes.clusters:,} clusters; {changes.removed:,} clusters removed",
            ),
        ]
    )
    tell_lacking(found.lacking, rule)
    if rule.by_hash_alone:
        say("a simhash alone also puts documents together that share nothing but their language; see neardup compare")
    if dry_run:
        say("a dry run: nothing was written")


@click.command(
    short_help="Mark or delete documents that another one stands for.",
    epilog="""
\b
Examples:
  neardup prune --keep canonical --dry-run   list what is not canonical
  neardup prune --keep canonical             mark it: annotation duplicate_of
  neardup prune --keep canonical --delete    delete it, after the question
  neardup prune --keep canonical --identical --delete

"neardup cluster" comes first. Only documents are named that, compared anew now, are as near to the canonical document
of their cluster as the rule demands by which the clusters were made; the others are kept, and --dry-run says why. After
a clustering by a simhash alone, --delete takes a verification. The files themselves stay. In a search engine a document
that has other fields than neardup's is its owner's: --delete leaves it there, and takes neardup's fields away.

With --dry-run --json one object a line: cluster, canonical, similarity, identical (whether the texts are equal but for
case and white space), kept (why; empty for what would go), and the document as in "neardup show --json"; otherwise one
object: marked and unmarked, or deleted; and contended, how many others change all the time.
""",
)
@store_option
@click.option("--keep", type=click.Choice(["canonical"]), required=True, help="Which document of a cluster is kept.")
@click.option("--dry-run", is_flag=True, help="List the documents, and do nothing.")
@click.option("--delete", is_flag=True, allow_from_autoenv=False, help="Delete them from the store; do not mark them.")
@click.option("--yes", is_flag=True, allow_from_autoenv=False, help="With --delete: do not ask.")
@click.option(
    "--identical",
    is_flag=True,
    help="Only documents whose texts are the canonical document's, but for case and white space.",
)
@click.option(
    "--verify",
    type=click.Choice(["sketch", "text"]),
    help="Demand too that stored sketches (60% of all passages), or the texts (50%), say that a document is near.",
)
@click.option(
    "--unverified",
    is_flag=True,
    allow_from_autoenv=False,
    help="With --delete: delete what a simhash alone calls near. One in ten may have nothing to do with what is kept.",
)
@refresh_option
@json_option
def prune(store: str, dry_run: bool, delete: bool, json: bool, **given: Any) -> None:
    """Mark the documents of each cluster that are not canonical, or delete them from the store."""
    from indexer.clustering.prune import Pruning, verification

    with opened(store, read_only=dry_run, refresh=given["refresh"]) as target:
        measure = verification(target, given["verify"]) if given["verify"] else None
        pruning = Pruning(target, verify=measure, unverified=given["unverified"], identical=given["identical"])
        if dry_run:
            _list_surplus(pruning, as_json=json)
            return
        if not delete:
            done = pruning.mark()
            contended = tell_contended(target)
            if json:
                answer_json({"marked": done.documents, "unmarked": done.removed, "contended": contended})
            else:
                fields([("marked", f"{done.documents:,}"), ("unmarked", f"{done.removed:,}")])
            return
        pruning.require_verified()
        deleted = _delete(pruning, shown_store(store), asked=not given["yes"])
        contended = tell_contended(target)
    if json:
        answer_json({"deleted": deleted, "contended": contended})
    else:
        fields([("deleted", f"{deleted:,}")])


def _delete(pruning: Pruning, shown: str, *, asked: bool) -> int:
    found = list(Counter(bool(each.kept) for each in pruning.surplus()).items())
    counts = dict(found)
    count, kept = counts.get(False, 0), counts.get(True, 0)
    total = pruning.store.stats().documents
    more = f"; {kept:,} others of their clusters are kept, --dry-run says why" if kept else ""
    say(f"{count:,} of {total:,} documents are to be deleted from {shown}; their canonical ones stay{more}")
    if count and asked:
        if not sys.stdin.isatty():
            raise UsageError("--delete asks on a terminal only; give --yes to delete without being asked")
        click.confirm("Delete them?", abort=True, err=True)
    deleted = pruning.delete() if count else 0
    if deleted < count:
        say(f"{count - deleted:,} have changed since they were checked, and stay")
    return deleted


def _list_surplus(pruning: Pruning, *, as_json: bool) -> None:
    count = kept = octets = same = 0
    least = 1.0
    for each in pruning.surplus():
        if each.kept:
            kept += 1
        else:
            count += 1
            octets += each.record.size
            same += each.identical
            least = min(least, 1.0 if each.identical else each.similarity)
        if as_json:
            about = {"cluster": each.cluster, "canonical": each.canonical.id, "similarity": each.similarity}
            answer_json({**about, "identical": each.identical, "kept": each.kept, **record_json(each.record)})
        elif each.kept:
            say(f"kept: {each.record.ref.id}: {each.kept}")
        elif each.identical:
            answer(f"{each.record.ref.id}  is identical with {each.canonical.id}")
        else:
            answer(f"{each.record.ref.id}  {pruning.rule.said(each.similarity, each.canonical.id)}")
    found = f"{count:,} documents ({size(octets)}) have another that stands for them"
    kinds = [f"{same:,} identical"] * bool(same)
    kinds += [f"{count - same:,} near, the least similar {pruning.rule.shown(least)}"] * (count > same)
    say(f"a dry run: {found}" + f": {' and '.join(kinds)}" * bool(kinds) + "; nothing was changed")
    if kept:
        say(f"{kept:,} documents of the same clusters are kept")


COMMANDS = (pairs, cluster, prune)
