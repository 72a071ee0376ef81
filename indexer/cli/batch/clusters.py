"""`neardup batch sketch`, `cluster` and `report`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import click

from indexer.cli.options.commands import A_PATH, command
from indexer.cli.options.shared import JsonAsked, RunOutput, StrictAsked, show_rule
from indexer.cli.terminal.answers import relations_shown
from indexer.cli.terminal.output import answer_json, fields, html_line, say, size, table
from indexer.errors import ExtractionError
from indexer.library.batch_options import BatchComparison, BatchRun, BatchSpread, TimeFieldAsked
from indexer.library.options import LEFT_OUT, ClusterOptions, Extraction, Fingerprinting, MatchAsked, Walk
from indexer.model.declared import Option, as_json
from indexer.text.counts import counted

if TYPE_CHECKING:
    from indexer.library.batch_outcomes import BatchClustered, BatchDeduped, BatchSketched

    _TaskType = click.ParamType[tuple[int, int]]
else:
    _TaskType = click.ParamType

# So many inputs are named.
_SHOWN = 5


def tell_unverified(done: BatchClustered | BatchDeduped) -> None:
    if done.not_verified:
        say(
            f"{counted(done.not_verified, 'document')} near a kept one could not be verified, and stay: run it where "
            f"the files are, or use --verify sketch to go by sketches alone and remove forms too",
            level="warning",
        )


def judged_fields(done: BatchClustered | BatchDeduped) -> list[tuple[str, str]]:
    lost = f"; {counted(done.lost, 'word')} of theirs stand in no kept document" if done.lost else ""
    stays = sorted(done.stays.items(), key=lambda one: (-one[1], one[0]))
    seconds = done.reading_seconds
    return [
        ("relations", relations_shown(done.relations) + lost),
        *(("stay" if not place else "", f"{count:,}: {why}") for place, (why, count) in enumerate(stays)),
        ("texts", "" if seconds is None else f"read again in {seconds:.1f} s"),
    ]


class Task(_TaskType):
    name = "task"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, int]:
        matched = re.fullmatch(r"([0-9]{1,6})/([0-9]{1,6})", str(value))
        if not matched or not 1 <= int(matched[1]) <= int(matched[2]):
            self.fail(f"{value!r} is no task; write for example 3/8, the third of eight", param, ctx)
        return int(matched[1]), int(matched[2])


@command("batch_outcomes:BatchSketched", short_help="Write sketches of documents to files.")
@click.argument("paths", nargs=-1, metavar="[PATH|DIR|GLOB]...")
def sketch(  # noqa: PLR0913 - they are options of the command
    *, paths: tuple[str, ...],
    out: Annotated[str, Option("The folder to write to.", kind="folder", metavar="DIR", required=True)],
    time_field: TimeFieldAsked,
    task: Annotated[tuple[int, int] | None, Option("Do only the I-th of N equal shares of the files.", kind=Task(),
        metavar="I/N")],
    strict: StrictAsked, walk: Walk, making: Fingerprinting, extraction: Extraction, running: BatchRun, talk: RunOutput,
) -> int:  # fmt: skip
    """Write the sketches of documents to files of Parquet.

    Examples:
      neardup batch sketch crawl/*.parquet --out batch
      neardup batch sketch dump.jsonl.gz --out batch --text-field body --id-field url
      neardup batch sketch crawl/ --out batch --time-field fetched
      neardup batch sketch crawl/ --out batch --task 3/8        in a cluster of machines, each its own task
      neardup batch sketch crawl/ --out batch --run-on spark --master spark://host:7077

    Documents are read as by neardup index. DIR/sketches has one file of Parquet for each file with many documents, with
    a row for each. Single files of a folder go together, and so do mails. Finished files with unchanged input are left
    alone if the options are the same, so run the same command again to resume or to add new files. Different sketches
    (schemes, --min-tokens, --content, another version of the extraction) don't go into one folder.

    If files of a named folder or pattern are gone, their sketches are removed. Inputs that this machine can't see
    (another machine's disk, an unmounted one, an object store) are not taken for gone.
    """
    from indexer.library import batches

    done = batches.sketch(
        paths, out, walk, making, extraction, time_field=time_field, task=task or (1, 1), running=running
    )
    for line in done.unreadable[:_SHOWN]:
        say(line)
    # What could not be read at all has no row, and was said above.
    lists = f"the column failed of {out}/sketches says why" if done.failures > len(done.unreadable) else ""
    talk.tell(done, lambda done: _show_sketched(done, lists), lists or "see above")
    return ExtractionError.exit_code if strict and done.failures else 0


def _show_sketched(done: BatchSketched, lists: str) -> None:
    html, as_text, said = html_line(done.html_as_text, done.documents)
    before = f", {done.done_before:,} done before" if done.done_before else ""
    fields(
        [
            ("files", f"{done.files:,}{before}"),
            ("documents", f"{done.documents:,}, {size(done.bytes)}"),
            ("empty", f"{done.empty:,}  no words, so only equal ones match" if done.empty else ""),
            ("too short", f"{done.short:,}  left out of clusters" if done.short else ""),
            (html, as_text and f"{as_text:,}  {said}"),
            ("failed", f"{counted(done.failures, 'document')}: {done.reasons}" if done.failures else ""),
            ("", done.first_failure and f"the first: {done.first_failure}"),
            ("", lists),
            ("forgotten", f"{inputs_named(done.forgotten)}; gone since" if done.forgotten else ""),
            ("left out", f"{counted(done.left_out, 'file')} {LEFT_OUT}" if done.left_out else ""),
            ("took", f"{done.seconds:.1f} s"),
        ]
    )


@command("batch_outcomes:BatchClustered", short_help="Put sketched documents into clusters.")
@click.argument("folder", metavar="DIR", type=A_PATH)
def cluster(
    *, folder: str,
    out: Annotated[str, Option("The folder to write to.", kind="folder", metavar="OUT", required=True)],
    match: MatchAsked, clustering: ClusterOptions, comparison: BatchComparison, spread: BatchSpread,
    explain: Annotated[bool, Option("Explain the lookup: its keys, its guarantees, and how much it may miss.")],
    json: JsonAsked,
) -> None:  # fmt: skip
    """Put the documents of a folder's sketches into clusters of near-duplicates.

    Examples:
      neardup batch cluster batch --out batch
      neardup batch cluster batch --out strict --match minhash@0.8
      neardup batch cluster batch --out batch --canonical field:published --memory 8GiB
      neardup batch cluster june --out june --against may
      neardup batch cluster batch --out batch --run-on spark --master spark://host:7077

    DIR is the folder of neardup batch sketch. OUT/clusters has a file for each file of sketches, with its rows: id,
    row, cluster, is_canonical, keep, similarity to the canonical document, size of the cluster, origins (number of
    distinct hosts or folders of its documents; 100 stands for 100 or more), and canonical, the id of the canonical
    document. The clusters are those of neardup cluster on the same documents in a new store, however they are spread
    over files.

    near_to and near_similarity name the document kept by sketches alone. Then the texts of both are read again and
    aligned. A document that says the same is not kept; duplicate_of and duplicate_similarity name the kept one. Forms,
    with other facts, and unreadable documents are kept: relation, evidence, lost (words in no kept document) and
    stays_for say why. With --verify sketch sketches alone decide. version, from 1 on, and is_latest say which documents
    are versions of each other, where their order is known.

    Of several documents with one id the last counts, by the paths of the files, then by row; the others have no
    cluster. If they have different texts, for example with row numbers of several files as ids, they are refused unless
    --latest is given.

    With --against new documents also have repeats, the first older document of their cluster by the rule for the
    canonical one (null for none), and repeats_similarity. OUT/clusters-before has the new clusters of the older
    documents. They are those of neardup cluster on a store with the older documents and then the new ones. Kept older
    documents stay, and new ones near them go.

    OUT/clustering.json keeps the figures, and neardup batch report shows them again.
    """
    from indexer.library import batches

    if explain:
        show_rule(batches.rule_for(folder, match))
    done = batches.cluster(folder, out, match=match, clustering=clustering, comparison=comparison, spread=spread)
    tell_unverified(done)
    if json:
        answer_json(done)
    else:
        _show_clusters(done)


def _show_clusters(done: BatchClustered, *more: tuple[str, str]) -> None:
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


@command("batch_outcomes:BatchFigures", short_help="Show the clusters of a batch.")
@click.argument("folder", metavar="DIR", type=A_PATH)
def report(*, folder: str, json: JsonAsked) -> None:
    """Show the figures of a batch's clusters, and what was largest and took most.

    Examples:
      neardup batch report batch
      neardup batch report batch --json | jq .could_go_share

    DIR is the folder written by neardup batch cluster. Shows its figures, the number of clusters by size, the ten
    largest clusters, the ten most frequent keys of schemes, and the ten largest chains: documents that are near
    directly or through others, before long chains are cut. Each has an example, the number of its different texts, and
    the number of comparisons.
    """
    from indexer.library import batches

    found = batches.report(folder)
    if json:
        answer_json(found)
        return
    _show_clusters(found, ("spanning", f"{counted(found.spanning, 'cluster')} from two hosts or folders or more"))
    _show_rows("clusters of size", [{"members": name, "clusters": count} for name, count in found.sizes.items()])
    _show_rows("largest clusters", as_json(found.largest_clusters))
    _show_rows("keys that most documents share", as_json(found.shared_keys))
    _show_rows("largest chains", as_json(found.chains))


def _show_rows(title: str, rows: list[dict[str, Any]]) -> None:
    if not rows:
        return
    click.echo(f"\n{title}")
    numbers = [name for name, value in rows[0].items() if isinstance(value, int)]
    shown = [[f"{value:,}" if isinstance(value, int) else str(value) for value in row.values()] for row in rows]
    table(list(rows[0]), shown, right=numbers)


COMMANDS = (sketch, cluster, report)
