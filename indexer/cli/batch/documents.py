"""`neardup batch dedupe`, `filter`, `passages` and `load`: what becomes of documents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import click

from indexer.cli.batch.clusters import judged_fields, tell_unverified
from indexer.cli.options.commands import A_PATH, Taking, command, refuse_typed, typed
from indexer.cli.options.shared import JsonAsked, RefreshAsked, RunOutput, StoreAsked, StrictAsked
from indexer.cli.terminal.output import answer_json, fields, say, size
from indexer.errors import ExtractionError
from indexer.library.batch_options import (
    BatchJudging,
    BatchLoading,
    BatchOutput,
    BatchPassages,
    BatchRun,
    BatchSpread,
    LatestAsked,
    TimeFieldAsked,
)
from indexer.library.options import LEFT_OUT, ClusterOptions, Extraction, Fingerprinting, MatchAsked, Walk
from indexer.model.declared import Option
from indexer.text.counts import counted

if TYPE_CHECKING:
    from indexer.library.batch_outcomes import BatchDeduped, BatchFiltered, BatchLoaded, BatchPassagesCut


@command("batch_outcomes:BatchPassagesCut", name="passages", short_help="Cut passages of other documents.")
@click.argument("paths", nargs=-1, required=True, metavar="PATH|DIR|GLOB...")
def passages_command(
    *, paths: tuple[str, ...],
    out: Annotated[str | None, Option("Write the documents without the passages to this folder, a new one.",
        kind="path", metavar="OUT")],
    cutting: BatchPassages, running: BatchRun, json: JsonAsked,
) -> None:  # fmt: skip
    """Count, and with --out cut, the passages that documents repeat, except where they first stand.

    Examples:
      neardup batch passages kept/                    what would be cut
      neardup batch passages kept/ --out cut
      neardup batch passages kept/ --out cut --words 100 --least-left 20 --time-field fetched

    Reads Parquet and JSON lines, as written by neardup batch filter (--texts for single files). Remove near-duplicates
    first. Every cut word lies in N words in a row that an earlier document has, by time and then by id, in its
    remaining text. Repetitions inside a document are not cut. Case, signs, white space and URLs don't count.

    Without --out nothing is written. OUT has the files of the input, with only their texts changed.
    OUT.passages.parquet beside it lists the cuts: source (the file in OUT), row, id, begin and end (characters of the
    input text), words, and stands_in, the document that keeps them. Words in two documents have a row for each.

    With --run-on spark each file is read and written by a task. This process compares their common words, 8 bytes a
    word.
    """
    from indexer.library import batches

    done = batches.cut_passages(paths, cutting, out, running=running)
    if json:
        answer_json(done)
        return
    fields(
        [
            ("files", f"{done.files:,}"),
            ("documents", f"{done.documents:,}, with {counted(done.words, 'word')}"),
            *cut_fields(done),
            ("took", f"{done.seconds:.1f} s"),
        ]
    )


def cut_fields(done: BatchPassagesCut) -> list[tuple[str, str]]:
    share = done.cut_words / max(1, done.words)
    lost = f"{counted(done.cut_words, 'word')} ({share:.1%}) of {counted(done.cut_documents, 'document')}"
    return [
        ("cut" if done.out else "would cut", f"{lost}, listed in {done.passages_list}" if done.out else lost),
        ("dropped" if done.out else "would drop", counted(done.dropped, "document") if done.dropped else ""),
    ]


def left_out_fields(done: BatchFiltered | BatchDeduped, writing: BatchOutput) -> list[tuple[str, str]]:
    few = f"{done.few_origins:,} of clusters from fewer than {writing.min_origins} origins"
    alone = f", {done.singletons:,} of no cluster" if writing.singletons == "drop" else ""
    replaced = f"{done.replaced:,} by a later one of the same id" if done.replaced else ""
    return [("replaced", replaced), ("few origins", few + alone if writing.min_origins else "")]


@command("batch_outcomes:BatchFiltered", name="filter", short_help="Write the documents to keep.")
@click.argument("paths", nargs=-1, required=True, metavar="PATH|DIR|GLOB...")
def filter_command(  # noqa: PLR0913 - they are options of the command
    *, paths: tuple[str, ...],
    clusters: Annotated[str, Option("The folder that neardup batch cluster wrote.", kind="path", metavar="DIR",
        required=True)],
    writing: BatchOutput,
    against: Annotated[tuple[str, ...], Option("A folder with sketches of documents kept elsewhere, such as the older "
        "ones given to neardup batch cluster. Can be repeated.", kind="path", metavar="OLD")],
    unverified: Annotated[bool, Option("Filter also by clusters of a simhash alone, not verified by texts.",
        typed=True)],
    passages: Annotated[Literal["report", "cut"] | None, Option("Count how much of the kept documents repeats passages "
        "of each other, or cut these too, as neardup batch passages does, from Parquet, JSON lines and --texts.",
        not_with=["tag"])],
    cutting: Annotated[BatchPassages, Taking(goes_with=("passages",))], running: BatchRun, json: JsonAsked,
) -> None:  # fmt: skip
    """Write the documents to keep of files that were clustered, each file in its own format.

    Examples:
      neardup batch filter crawl/ --clusters batch --out kept
      neardup batch filter dump.jsonl.gz --clusters batch --out kept --json
      neardup batch filter crawl/ --clusters batch --out kept --texts --passages cut --words 100
      neardup batch filter crawl/ --clusters batch --out kept --run-on spark --master spark://host:7077

    The clusters say what is kept: see neardup batch cluster for --verify and --remove. OUT has the files of the input:
    Parquet and JSON lines in their own format, compressed or not, and single files. The texts of everything else (WARC,
    archives, CSV, feeds) go to Parquet: id, source, row, title, text, metadata (JSON), and failed, the reason if a
    document gave no text. With --tag nothing is removed. The input stays as it is.

    OUT.removed.parquet, beside OUT, lists the removed documents: source (its file; for mails their folder), row, id,
    duplicate_of (the kept document), similarity to it (null if a later document has the same id), cluster, reason,
    relation and evidence. The reason is repeats, replaced (a later document has the same id), few-origins or
    no-cluster.

    --min-origins leaves out rare texts. The documents of a cluster count as one text. Its origins are the distinct
    hosts of their URLs, or folders of their paths, up to 100. A document that stands for a removed one stays if its
    cluster has enough origins.

    The kept copy of each removed document must be written too, or be in a batch named by --against. Otherwise nothing
    is written, and the file with the missing copy is named.
    """
    from indexer.library import batches

    done = batches.filter(
        paths, clusters, writing, against=against, unverified=unverified, passages=passages, cutting=cutting,
        running=running,
    )  # fmt: skip
    if json:
        answer_json(done)
        return
    fields(
        [
            ("files", f"{done.files:,}"),
            ("kept", f"{done.kept:,}"),
            ("removed", f"{done.removed:,}, listed in {done.removed_list}"),
            ("not compared", not_compared(done.short, done.empty)),
            *left_out_fields(done, writing),
            ("left out", f"{counted(done.left_out, 'file')} by name or kind of file" if done.left_out else ""),
            *(cut_fields(done.repeated) if done.repeated else ()),
            ("took", f"{done.seconds:.1f} s"),
        ]
    )


def not_compared(short: int, empty: int) -> str:
    said = [f"{short:,} too short"] * bool(short) + [f"{empty:,} without words"] * bool(empty)
    return f"{', '.join(said)}; of equal ones one is kept" if said else ""


@command("batch_outcomes:BatchDeduped", short_help="Write files without their near-duplicates.")
@click.argument("paths", nargs=-1, metavar="[PATH|DIR|GLOB]...")
def dedupe(  # noqa: PLR0913 - they are options of the command
    *, paths: tuple[str, ...], writing: BatchOutput, time_field: TimeFieldAsked,
    against: Annotated[str | None, Option("A folder with the sketches and clusters of older documents. Their copies "
        "are removed too. A document with the id of an older one takes its place, and stays.", kind="path",
        metavar="OLD")],
    latest: LatestAsked, judging: BatchJudging,
    unverified: Annotated[bool, Option("Decide by the rule alone, without texts, even if it is a simhash. Some removed "
        "documents may be unrelated to the kept ones.", not_with=["verify"], typed=True)],
    strict: StrictAsked, spread: BatchSpread, match: MatchAsked, clustering: ClusterOptions, walk: Walk,
    making: Fingerprinting, extraction: Extraction, json: JsonAsked,
) -> int:  # fmt: skip
    """Write the documents of files and folders without their near-duplicates.

    Examples:
      neardup batch dedupe crawl/ --out kept
      neardup batch dedupe crawl.warc.gz --out kept --json
      neardup batch dedupe dump.parquet --out tagged --tag --text-field body
      neardup batch dedupe june/ --out june-kept --against may-kept.batch
      find . -name '*.md' -print0 | neardup batch dedupe --paths-from - --out kept
      neardup batch dedupe crawl/ --out kept --run-on spark --master spark://host:7077

    This is neardup batch sketch, cluster and filter in one. Each removed document is near a kept one that says the
    same, by their texts: OUT.removed.parquet lists both. Forms, with other facts, and unreadable documents are kept.
    With --tag nothing is removed. The input stays as it is.

    Parquet and JSON lines keep their format, and single files are copied. The texts of everything else (WARC, archives,
    mails, CSV, feeds) go to Parquet: id, source, row, title, text, metadata (JSON), and failed, the reason if a
    document gave no text.

    Files of --paths-from are written below OUT by their whole paths. With --run-on spark a task reads and writes each
    file with many documents, and each run of single files in a folder.

    OUT.batch has the sketches and clusters. An interrupted run goes on from there, once OUT is empty, and --against
    takes it for the next run.
    """
    from indexer.library import batches

    if clustering.canonical not in (None, "earliest"):
        refuse_typed(["time_field"], "is for --canonical earliest")
    done = batches.dedupe(
        paths, writing, walk, making, extraction, match=match, clustering=clustering, time_field=time_field,
        against=against, latest=latest, judging=judging, unverified=unverified, spread=spread,
    )  # fmt: skip
    tell_unverified(done)
    if json:
        answer_json(done)
    else:
        _show_deduped(done, writing)
    return ExtractionError.exit_code if strict and done.failures else 0


def _show_deduped(done: BatchDeduped, writing: BatchOutput) -> None:
    fields(
        [
            ("files", f"{done.files:,}, {size(done.bytes)}"),
            ("rule", done.rule_name),
            ("failed", f"{done.failures:,}: {done.reasons}" if done.failures else ""),
            ("", done.first_failure and f"the first: {done.first_failure}"),
            ("kept", f"{done.kept:,}" + (f", and the others tagged in {writing.out}" if writing.tag else "")),
            ("removed", f"{done.removed:,}, listed in {done.removed_list}"),
            ("not compared", not_compared(done.short, done.empty)),
            *judged_fields(done),
            *left_out_fields(done, writing),
            ("left out", f"{counted(done.left_out, 'file')} {LEFT_OUT}" if done.left_out else ""),
            ("took", ", ".join(f"{step} {seconds:.1f} s" for step, seconds in done.seconds.items())),
        ]
    )


@command("batch_outcomes:BatchLoaded", short_help="Put sketches and clusters into a store.")
@click.argument("folder", metavar="DIR", type=A_PATH)
def load(
    *, folder: str, store: StoreAsked, loading: BatchLoading, refresh: RefreshAsked = "wait", talk: RunOutput
) -> int:
    """Put what a batch has made into a store: documents with their sketches, their clusters, and the rule.

    Examples:
      neardup batch load batch --store all.neardup
      neardup batch load batch --clusters strict --store https://host:9200/articles
      neardup batch load batch --store https://host:9200/news --index-column _index --routing-column _routing
      neardup batch load batch --store https://host:9200/articles --dry-run --json

    A store file, and an index made by neardup, then hold the same as after neardup index and neardup cluster: every
    document with its sketches, its metadata and its cluster, the failed documents, and the rule. similar, prune, report
    and index --cluster go on from there. A missing store is created, unless --no-create is given. In any other index
    existing documents get the fields of neardup annotate; missing ones are counted and named. DIR and the store must
    have the same schemes, content mode and versions.

    Run the same command again to resume: finished documents are not written again. Other documents of the store were
    not compared with the new ones; neardup cluster does that.
    """
    from indexer.library import batches

    done = batches.load(
        folder,
        store,
        loading,
        # In a settings file they are for the other stores.
        of_owner=typed("create_missing") or typed("allow_version_change"),
        refresh=refresh,
        tell=say,
        following=talk.following("loading"),
    )
    talk.tell(done, _show_loaded)
    return 0


def _show_loaded(done: BatchLoaded) -> None:
    first = ", ".join(done.first_missing) + (", ..." if done.missing > len(done.first_missing) else "")
    changes = done.written
    written = f"{counted(changes.documents, 'document')}, {counted(changes.clusters, 'cluster')}; "
    written += f"{counted(changes.removed, 'cluster')} removed"
    fields(
        [
            ("documents", f"{done.documents:,} in {done.seconds:.1f} s"),
            ("created", f"{done.created:,}"),
            ("replaced", f"{done.replaced:,}" if done.replaced else ""),
            ("unchanged", f"{done.unchanged:,}" if done.unchanged else ""),
            ("missing", f"{done.missing:,} that the index does not have: {first}" if done.missing else ""),
            ("empty", f"{done.empty:,}  no words, so only equal ones match" if done.empty else ""),
            ("too short", f"{done.short:,}  left out of answers unless asked for" if done.short else ""),
            ("failed", f"{counted(done.failures, 'document')}: {done.reasons}" if done.failures else ""),
            ("rule", done.rule_name or "none; DIR has no clusters"),
            ("clusters written", "" if done.dry_run or done.rule is None else written),
        ]
    )
    if done.others and done.rule:
        say(
            f"the store has {counted(done.others, 'other document')} not compared with the new ones; neardup cluster "
            f"does that"
        )
    if done.dry_run:
        say("a dry run: nothing was written")


COMMANDS = (passages_command, filter_command, dedupe, load)
