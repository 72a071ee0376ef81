"""`neardup pairs`, `neardup cluster` and `neardup prune`, and what `neardup index` does with clusters."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import click

from indexer.cli.options import filter_option, json_option, opened, refresh_option, store_option, tell_contended
from indexer.cli.output import answer, answer_json, fields, record_json, say, shown_store, size
from indexer.cli.scheme_options import (
    checked,
    chosen,
    explain_option,
    scheme_option,
    similarity_option,
    tell_unread,
    verify_options,
)
from indexer.errors import NotFoundError, StoreError, UsageError
from indexer.model import DEFAULT_DISTANCE

if TYPE_CHECKING:
    from indexer.canonical import Rule
    from indexer.cluster import Grouped
    from indexer.incremental import Arrivals, Near
    from indexer.model import Record
    from indexer.placing import Collection
    from indexer.planning import Choice
    from indexer.store_pairs import StorePair
    from indexer.stores import Store
    from indexer.verifying import Verifier

Command = TypeVar("Command", bound=Callable[..., Any])

# The largest distance at which all pairs are found.
MAX_DISTANCE = 16


def distance_option(most: int, text: str) -> Callable[[Command], Command]:
    """-k up to a number of bits."""
    return click.option(
        "-k",
        "--distance",
        type=click.IntRange(0, most),
        metavar="BITS",
        default=DEFAULT_DISTANCE,
        show_default=True,
        help=f"{text}, 0 to {most}.",
    )


def cluster_options(command: Command) -> Command:
    """Add what decides how clusters are made, beside the distance."""
    options = (
        click.option(
            "--bound",
            type=click.IntRange(0, 64),
            metavar="BITS",
            help="How far apart two documents of a cluster may be; chains that are longer are split.  "
            "[default: twice the distance]",
        ),
        click.option(
            "--canonical",
            metavar="RULE",
            default="earliest",
            show_default=True,
            help="Which document stands for a cluster: earliest (first indexed), longest (most words), field:NAME or "
            "field:NAME:desc (smallest or largest metadata field), source (by --prefer).",
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
        distance_option(7, "With either: how many of the 64 bits may differ"),
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
    from indexer.incremental import Arrivals

    with _lines_to(given["new_to"]) as write:

        def told(record: Record, near: Near | None) -> None:
            if near is None and write:
                write(record.ref.id)

        yield Arrivals(
            store,
            distance=given["distance"],
            bound=given["bound"],
            rule=_rule(given),
            cluster=given["cluster"],
            skip=given["skip_duplicates"],
            told=told,
        )


@contextmanager
def _lines_to(name: str | None) -> Iterator[Callable[[str], None] | None]:
    if name is None:
        yield None
    elif name == "-":
        yield answer
    else:
        try:
            with open(name, "w", encoding="utf-8", errors="backslashreplace") as file:
                yield lambda line: print(line, file=file)
        except OSError as error:
            raise UsageError(f"--new-to {name}: {error.strerror}") from error


def _rule(given: dict[str, Any]) -> Rule:
    from indexer.canonical import parse_rule

    return parse_rule(given["canonical"], given["prefer"])


@click.command(
    short_help="List all near-duplicate pairs.",
    epilog="""
\b
Examples:
  neardup pairs > pairs.csv
  neardup pairs -k 6 --format jsonl | jq -c 'select(.distance > 3)'
  neardup pairs --against new.neardup             two stores against each other
  neardup hash new/*.html --json > new.jsonl
  neardup pairs --against new.jsonl --format csv  files against the store
  neardup pairs --similarity 0.8 --explain
  neardup pairs -k 7 --verify sketch --min-jaccard 0.7

Every pair of stored documents within the distance is listed once, none is missed. n equal documents are n(n-1)/2
pairs; --collapse pairs all with the first only. Pairs come in no given order, as they are found.

Columns: id_a, id_b, distance (bits), similarity (1 - distance/64); with a store of several indexes also index_a,
routing_a, index_b, routing_b. With --against, a is in the store and b in the other one. With --scheme or --similarity
the similarity is as measured, and the distance is the dissimilarity in 64ths, rounded up.
""",
)
@store_option
@distance_option(16, "How many of the 64 bits may differ")
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
@similarity_option
@scheme_option
@explain_option
@verify_options
@click.option("--collapse", is_flag=True, help="Pair equal fingerprints with the first document that has it only.")
@click.option(
    "--include-short", is_flag=True, help="Compare documents with too few words for a meaningful fingerprint too."
)
@filter_option
def pairs(store: str, output: str | None, against: str | None, **given: Any) -> None:
    """List all pairs of stored documents that are near-duplicates."""
    if against and given["collapse"]:
        raise UsageError("--collapse is for the pairs of one store, not for --against")
    from indexer.cli.pair_formats import written

    with opened(store, read_only=True) as source:
        if given["filter"] is not None:
            source.narrow(given["filter"])
        choice, check = chosen(source, given, MAX_DISTANCE), checked(source, given)
        found = _found_pairs(source, against, choice, check, given)
        count = written(found, given["format"], output, places=source.capabilities.routing)
        tell_unread(check)
    near = f"from {choice.plan.similarity:g} on by {choice.name}" if choice.scheme else f"within {choice.distance} bits"
    say(f"{count:,} pairs {near}" + (f", written to {output}" if output else ""))


def _found_pairs(
    source: Store, against: str | None, choice: Choice, check: Verifier | None, given: dict[str, Any]
) -> Iterator[StorePair]:
    from indexer.scheme_pairs import scheme_pairs_of_store
    from indexer.store_pairs import pairs_between, pairs_of_store

    collapse, include_short = given["collapse"], given["include_short"]
    if against:
        if choice.scheme or check:
            raise UsageError("--against compares fingerprints of simhash-doc alone: without --scheme and --verify")
        other = _other(source, against, include_short=include_short)
        return pairs_between(source, other, choice.distance, include_short=include_short)
    if choice.scheme:
        wanted = choice.plan.similarity
        found = scheme_pairs_of_store(source, choice.scheme, wanted, collapse=collapse, include_short=include_short)
    else:
        found = pairs_of_store(source, choice.distance, collapse=collapse, include_short=include_short)
    return _passing(found, check) if check else found


def _passing(pairs: Iterator[StorePair], check: Verifier) -> Iterator[StorePair]:
    from indexer.store_pairs import batched

    for some in batched(pairs, 2000):
        passed = check.between([pair.left for pair in some], [pair.right for pair in some])
        yield from (pair for pair, fine in zip(some, passed.tolist(), strict=True) if fine)


def _other(source: Store, against: str, *, include_short: bool) -> Collection:
    from pathlib import Path

    from indexer.cluster import read_documents
    from indexer.store_pairs import is_store, read_list

    if not is_store(against):
        if not os.path.exists(against):
            raise NotFoundError(f"{shown_store(against)}: no such file or store")
        return read_list(Path(against))
    with opened(against, read_only=True) as other:
        source.info.require_comparable(other.info, shown_store(against))
        return read_documents(other, include_short=include_short)


@click.command(
    short_help="Put near-duplicates into clusters.",
    epilog="""
\b
Examples:
  neardup cluster
  neardup cluster -k 5 --canonical longest --dry-run
  neardup cluster --canonical source --prefer 'https://docs.example.org/*' --prefer '*/mirror/*'
  neardup cluster --canonical field:published
  neardup cluster --scheme minhash --similarity 0.8
  neardup cluster -k 7 --min-jaccard 0.5

Documents within the distance go together, directly or through others. Where that makes a chain whose ends are further
apart than --bound, it is split around the documents that have most others within the distance. Every document gets a
cluster id, a single one its own; a cluster keeps its id as long as the document that it was named after stays in it.
Short documents and those without words are compared with nothing.

With --scheme or --similarity distances, and --bound, are the dissimilarity in 64ths, rounded up. --verify throws out
pairs that were near by chance; documents go together only over pairs that pass.

Running it again writes nothing. "neardup show ID" shows a document's cluster. With --json one object: documents,
compared, clusters, clustered, largest, split, contended (documents that others change all the time and that were left
as they are), and written: documents, clusters, removed.
""",
)
@store_option
@distance_option(16, "How many of the 64 bits may differ between two near-duplicates")
@similarity_option
@scheme_option
@explain_option
@verify_options
@cluster_options
@refresh_option
@click.option("--dry-run", is_flag=True, help="Say what would be written, and write nothing.")
@json_option
def cluster(store: str, dry_run: bool, json: bool, **given: Any) -> None:
    """Put all stored documents into clusters of near-duplicates, and write what changed to the store."""
    from indexer.cluster import cluster_store

    rule = _rule(given)
    with opened(store, read_only=dry_run, refresh=given["refresh"]) as target:
        choice, check = chosen(target, given, MAX_DISTANCE), checked(target, given)
        by = _grouping(choice, check, given["bound"])
        near = {"distance": choice.distance, "bound": given["bound"]}
        found = cluster_store(target, **near, rule=rule, dry_run=dry_run, by=by)
        tell_unread(check)
        contended = tell_contended(target)
    changes = found.changes
    written = {"documents": changes.documents, "clusters": changes.clusters, "removed": changes.removed}
    if json:
        names = ("documents", "compared", "clusters", "clustered", "largest", "split")
        counts = {name: getattr(found, name) for name in names}
        answer_json({**counts, "written": written, "contended": contended, "dry_run": dry_run})
        return
    fields(
        [
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
    if dry_run:
        say("a dry run: nothing was written")


def _grouping(choice: Choice, check: Verifier | None, bound: int | None) -> Callable[[Store], Grouped] | None:
    """How documents are grouped, where it is not by the simhash alone."""
    from indexer.scheme_clusters import group_by_scheme, group_checked

    if scheme := choice.scheme:
        return lambda store: group_by_scheme(store, scheme, choice.plan.similarity, bound, check)
    if check:
        return lambda store: group_checked(store, choice.distance, bound, check)
    return None


@click.command(
    short_help="Mark or delete documents that another one stands for.",
    epilog="""
\b
Examples:
  neardup prune --keep canonical --dry-run   list what is not canonical
  neardup prune --keep canonical             mark it: annotation duplicate_of
  neardup prune --keep canonical --delete    delete it, after the question

"neardup cluster" comes first. Only documents are named whose cluster is still true: the canonical document is there,
and both have the fingerprints that they were compared by. The files themselves stay. In a cluster a document that has
other fields than neardup's is its owner's: --delete leaves it there, and takes neardup's fields away.

With --dry-run --json one object a line: cluster, canonical, distance, and the document as in "neardup show --json";
otherwise one object: marked and unmarked, or deleted; and contended, how many others change all the time.
""",
)
@store_option
@click.option("--keep", type=click.Choice(["canonical"]), required=True, help="Which document of a cluster is kept.")
@click.option("--dry-run", is_flag=True, help="List the documents, and do nothing.")
@click.option("--delete", is_flag=True, allow_from_autoenv=False, help="Delete them from the store; do not mark them.")
@click.option("--yes", is_flag=True, allow_from_autoenv=False, help="With --delete: do not ask.")
@refresh_option
@json_option
def prune(store: str, dry_run: bool, delete: bool, yes: bool, json: bool, **given: Any) -> None:
    """Mark the documents of each cluster that are not canonical, or delete them from the store."""
    from indexer import prune as pruning

    if dry_run:
        with opened(store, read_only=True) as source:
            _list_surplus(source, as_json=json)
        return
    with opened(store, refresh=given["refresh"]) as target:
        if not delete:
            done = pruning.mark(target)
            contended = tell_contended(target)
            if json:
                answer_json({"marked": done.documents, "unmarked": done.removed, "contended": contended})
            else:
                fields([("marked", f"{done.documents:,}"), ("unmarked", f"{done.removed:,}")])
            return
        count = sum(1 for _ in pruning.surplus(target))
        total = target.stats().documents
        say(f"{count:,} of {total:,} documents are to be deleted from {shown_store(store)}; their canonical ones stay")
        if count and not yes:
            if not sys.stdin.isatty():
                raise UsageError("--delete asks on a terminal only; give --yes to delete without being asked")
            click.confirm("Delete them?", abort=True, err=True)
        deleted = pruning.delete(target) if count else 0
        contended = tell_contended(target)
    if json:
        answer_json({"deleted": deleted, "contended": contended})
    else:
        fields([("deleted", f"{deleted:,}")])


def _list_surplus(source: Store, *, as_json: bool) -> None:
    from indexer.prune import surplus

    count = octets = 0
    for each in surplus(source):
        count += 1
        octets += each.record.size
        if as_json:
            about = {"cluster": each.cluster, "canonical": each.canonical.id, "distance": each.distance}
            answer_json({**about, **record_json(each.record)})
        else:
            answer(f"{each.record.ref.id}  {each.distance} bits from {each.canonical.id}")
    if not count and next(source.clusters(), None) is None and source.stats().documents:
        raise StoreError("no clusters are stored; run neardup cluster first")
    say(f"a dry run: {count:,} documents ({size(octets)}) are not canonical; nothing was changed")


COMMANDS = (pairs, cluster, prune)
