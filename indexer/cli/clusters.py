"""`neardup pairs`, `cluster`, `report` and `passages`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Annotated, Any, Literal

from indexer.cli.options.commands import command
from indexer.cli.options.shared import (
    FilterAsked,
    JsonAsked,
    Matching,
    RefreshAsked,
    StoreAsked,
    opened_collection,
)
from indexer.cli.terminal.answers import relations_shown, tell_lacking, tell_uncompared, tell_unread
from indexer.cli.terminal.output import answer, answer_json, fields, say, size, table, written_rows
from indexer.errors import UsageError
from indexer.library.batch_options import WordsAsked
from indexer.library.options import ClusterOptions, ReportFormat, ReportLimits
from indexer.library.rows import RowFormat
from indexer.model.declared import Option
from indexer.text.counts import counted, share_shown
from indexer.text.remarks import in_json
from indexer.text.visible import beginning

if TYPE_CHECKING:
    from indexer.library.records import Clustering
    from indexer.library.repetition import Passage, Repetition
    from indexer.library.rows import Rows
    from indexer.library.stores import MatchRule


@command("Pair", heading="Columns", short_help="List all near-duplicate pairs.")
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
    """List all pairs of stored documents that are near-duplicates.

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
    """
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


@command("Clustering", short_help="Put near-duplicates into clusters.")
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
    """Put all stored documents into clusters of near-duplicates, and write the changes to the store.

    Examples:
      neardup cluster
      neardup cluster --canonical longest --dry-run
      neardup cluster --canonical source --prefer 'https://docs.example.org/*' --prefer '*/mirror/*'
      neardup cluster --canonical field:rank:desc
      neardup cluster --time-field published
      neardup cluster --similarity 0.8
      neardup cluster --match simhash-doc@3bits

    Near documents form a cluster, directly or through others. Chains are split, so that each document is near the one
    in the centre. Every document has a cluster id, even alone; a cluster keeps its id as long as it contains the
    document it was named after. Short documents, and documents without the sketch of the rule, are in no cluster.

    The store remembers the rule, the bound, the canonical rule and --apart, for prune, report, index --cluster and the
    next cluster. neardup cluster says if something changes. Running it again writes nothing. "neardup show ID" shows a
    document's cluster.
    """
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


@command(
    "indexer.report.figures:ReportFigures",
    heading="With --format json one object",
    short_help="Report what is duplicated, as a page or in figures.",
)
def report(
    *, store: StoreAsked,
    output: Annotated[str | None, Option("The output file; - is standard output.  [default: report.html, or standard "
        "output for the other formats]", names=["-o", "--output"], metavar="FILE")],
    format: Annotated[ReportFormat, Option("A page, or its figures.")] = "html",  # noqa: A002
    showing: ReportLimits,
) -> None:  # fmt: skip
    """Report how much of the store is duplicated, and where, as a page or in figures.

    Examples:
      neardup report -o report.html
      neardup report --format json -o - | jq .could_go.documents
      neardup report --link 'https://example.org/articles/{id}'
      neardup report --format md --time-field published -o report.md

    Reports the clusters stored by "neardup cluster". The page is a single file and loads nothing from elsewhere. It
    shows how much is duplicated, by format, source and time, sizes of clusters, similarities, the largest clusters,
    clusters that are near for a menu or a licence, and for some documents the differences word by word, if their files
    are unchanged. With --passages it also shows passages in several documents. It stays under 10 MB and says what it
    leaves out. The other formats have the same figures without texts.

    In the page you can choose documents to keep, to drop and to call not the same, and save this for "neardup prune
    --decisions". You can also judge a random sample: "neardup evaluate --judgments" then says how many of the removable
    documents are right.
    """
    place = output or ("report.html" if format == "html" else "-")
    with opened_collection(store, read_only=True) as collection:
        # The other formats show no texts.
        texts = showing if format == "html" else replace(showing, pairs=0, passages=0, sample=0, link="")
        made = collection.report(**asdict(texts))
    if place == "-":
        sys.stdout.flush()
        sys.stdout.buffer.write(made.text(format).encode())
        sys.stdout.buffer.flush()
    else:
        written = made.save(place, format)
        shown = made.figures
        say(
            f"wrote {place}, {size(written)}; {made.repeating:,} of {counted(made.documents, 'document')} "
            f"({shown.repeating.share:.1%}) repeat another one: {made.could_go:,} could go without loss, "
            f"{shown.same_work.documents:,} same work in another format or frame, {shown.differ.documents:,} differ"
        )
    if unclustered := made.figures.unclustered:
        say(f"{counted(unclustered, 'document')} came since the last clustering; run neardup cluster")


By = Literal["passage", "origin", "document", "cluster"]
PassageFormat = Literal["text", "csv", "jsonl", "parquet"]

_SHOWN = 20
_LETTERS = 300


@command("repetition:Repetition", short_help="List passages in several documents.")
def passages(  # noqa: PLR0913 - they are options of the command
    *, store: StoreAsked, words: WordsAsked = 50,
    by: Annotated[By, Option("List passages, what hosts and folders have from each other, how much of each document "
        "stands elsewhere, or clusters that are near for common passages.")] = "passage",
    limit: Annotated[int | None, Option("List the first N.  [default: 20 as text, all in other formats and with "
        "--json]", least=1)],
    held_by: Annotated[bool, Option("Name the documents of each passage.")],
    write: Annotated[bool, Option("Write everything to an index beside, for the dashboards.")],
    format: Annotated[PassageFormat, Option("The output format.")] = "text",  # noqa: A002
    output: Annotated[str | None, Option("Write to FILE instead of standard output.", names=["-o", "--output"],
        kind="path", metavar="FILE", goes_with=["format=csv", "format=jsonl", "format=parquet"])],
    filter: FilterAsked,  # noqa: A002
    json: JsonAsked,
) -> None:  # fmt: skip
    """List the passages of N words or more that stand in two documents or more, those in most documents first.

    Examples:
      neardup passages
      neardup passages --words 30 --limit 100
      neardup passages --by origin                    who copies from whom
      neardup passages --by document --format csv     how much of each stands elsewhere
      neardup passages --by cluster                   near for a menu or a licence
      neardup passages --held-by --format jsonl -o passages.jsonl
      neardup passages --store https://host:9200/articles --write   for the dashboards

    Finds every run of N words or more in two or more documents, however common. A passage is as long as all its
    documents agree. A passage of which more than half lies in more frequent ones is not listed but counted as a variant
    of the first of these, whose line names the longest. Passages in ten documents or more for each host or folder are
    called boilerplate: a menu, a licence, a footer.

    --by cluster lists clusters if half or more of their words, but not all, lie in passages of ten or more documents.
    They are near for a menu, a licence or a header, and may have nothing else in common. Look at them before you remove
    anything.

    The documents are read again from their sources; unreadable ones are listed. The store needs no particular scheme.
    """
    if json and format != "text":
        raise UsageError("--json is one object; for one a line say --format jsonl")
    with opened_collection(store, filter=filter, read_only=not write) as collection, _progress() as progress:
        found = collection.passages(words=words, held_by=held_by, write=write, progress=progress)
    if found.unread:
        first = found.unread[0]
        say(
            f"{counted(len(found.unread), 'document')} could not be read again, so their passages are missing: "
            f"{first.id}: {first.reason}" + (", ..." if len(found.unread) > 1 else ""),
            level="warning",
        )
    if json:
        answer_json(replace(found, **{member: getattr(found, member)[:limit] for member, *_ in _ROWS.values()}))
        return
    member, *names = _ROWS[by]
    rows: Rows[Any] = getattr(found, member)
    shown = rows[: limit or (_SHOWN if format == "text" else None)]
    if format == "text":
        _show_passages(found, shown, by)
    else:
        written_rows(shown, shown.kind, format, output)
    if write:
        say(f"{counted(found.written, 'row')} written for the dashboards")
    left = f"; --limit {len(rows)} lists all" if len(shown) < len(rows) else ""
    say(counted(len(rows), *names) + left)


# The rows in the answer, and the name of one and of several.
_ROWS: dict[By, tuple[str, ...]] = {
    "passage": ("passages", "passage"),
    "origin": ("copied", "pair of origins", "pairs of origins"),
    "document": ("partly_copied", "document with passages", "documents with passages"),
    "cluster": ("resting", "cluster that rests on passages", "clusters that rest on passages"),
}


def _show_passages(found: Repetition, shown: Rows[Any], by: By) -> None:
    if by == "passage":
        share = found.in_passages / max(1, found.words)
        fields(
            [
                ("documents", f"{found.documents:,}"),
                ("words", f"{found.words:,}, of them in passages {found.in_passages:,} ({_percent(share)})"),
            ]
        )
        for passage in shown:
            answer("")
            _show_passage(passage)
    elif by == "origin":
        lines = ((f"{row.words:,}", row.origin, row.by) for row in shown)
        table(("words", "first in", "then in"), lines, right=("words",))
    elif by == "document":
        lines = ((_percent(row.share), f"{row.words:,}", row.id) for row in shown)
        table(("elsewhere", "words", "document"), lines, right=("elsewhere", "words"))
    else:
        for row in shown:
            answer(
                f"{counted(row.documents, 'document')} of {row.cluster} have {_percent(row.share)} of their words in "
                f"common with many; the longest passage, {counted(row.words, 'word')}, stands in {row.held_by:,}:"
            )
            answer("    " + beginning(row.text, _LETTERS))


def _percent(share: float) -> str:
    # What is not all is never shown as all.
    return f"{share if share == 1 else min(share, 0.999):.1%}"


def _show_passage(passage: Passage) -> None:
    origins = f"{counted(passage.documents, 'document')} of {counted(passage.origins, 'origin')}"
    longer = f" (up to {passage.longest:,} in fewer documents)" if passage.longest > passage.words else ""
    kind = "; boilerplate" if passage.boilerplate else ""
    answer(f"{counted(passage.words, 'word')}{longer}, in {origins}{kind}; first in {passage.first}")
    answer("    " + beginning(passage.text, _LETTERS))
    if passage.held_by:
        answer("    in " + ", ".join(passage.held_by))


@contextmanager
def _progress() -> Iterator[Callable[[int, int | None], None] | None]:
    if not sys.stderr.isatty() or in_json():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as line:
        task = line.add_task("reading", total=None)
        yield lambda done, total: line.update(task, completed=done, total=total)


COMMANDS = (pairs, cluster, report, passages)
