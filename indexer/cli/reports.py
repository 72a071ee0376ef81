"""`neardup report` and `neardup evaluate`."""

from __future__ import annotations

import sys
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

import click

from indexer.cli.options.answers import command
from indexer.cli.options.groups import A_PATH, refuse_typed
from indexer.cli.options.shared import JsonAsked, StoreAsked, opened_collection, store_unless
from indexer.cli.terminal.output import answer, answer_json, say, size, table
from indexer.library.options import Extraction, JobsAsked, NamedFields, ReportFormat
from indexer.model.declared import Option
from indexer.text.counts import counted

if TYPE_CHECKING:
    from indexer.library.judgments import JudgedShare


@dataclass(frozen=True, slots=True)
class Showing:
    """The limits of a report, and the field to count by over time."""

    heading = "What is shown"

    clusters: Annotated[int, Option("Show the N largest clusters.", least=0, most=10_000)] = 1000
    members: Annotated[int, Option("Show this many members of each cluster.", least=1, most=1000,
        goes_with=["format=html", "format=json"])] = 10  # fmt: skip
    pairs: Annotated[int, Option("Show this many differences of two texts, from the least similar of the clusters.",
        least=0, most=200, goes_with=["format=html"])] = 25  # fmt: skip
    passages: Annotated[int, Option("Show the N passages common to most documents, and who copies from whom. Reads all "
        "documents again.", least=0, most=1000, goes_with=["format=html"])] = 0  # fmt: skip
    sample: Annotated[int, Option("Offer a random sample of N removable documents, to be judged. evaluate needs 60 "
        "judgments.", least=0, most=400, goes_with=["format=html"])] = 60  # fmt: skip
    time_field: Annotated[str, Option("The field with the date for counts over time, in the metadata or the documents "
        "of an index.  [default: as in the last clustering, or the date of the document, its mail or its file, or else "
        "the time of indexing]", metavar="NAME")] = ""  # fmt: skip
    link: Annotated[str, Option("The address of a document, with {id}, {source} or {FIELD}, a field of its index or "
        "its metadata: 'https://example.org/{id}', or '{url}' for a field with the address.", metavar="TEMPLATE",
        goes_with=["format=html"])] = ""  # fmt: skip


@command(
    "indexer.report.figures:ReportFigures",
    heading="With --format json one object",
    short_help="Report what is duplicated, as a page or in figures.",
    epilog="""
\b
Examples:
  neardup report -o report.html
  neardup report --format json -o - | jq .could_go.documents
  neardup report --link 'https://example.org/articles/{id}'
  neardup report --format md --time-field published -o report.md

Reports the clusters stored by "neardup cluster". The page is a single file and loads nothing from elsewhere. It shows
how much is duplicated, by format, source and time, sizes of clusters, similarities, the largest clusters, clusters
that are near for a menu or a licence, and for some documents the differences word by word, if their files are
unchanged. With --passages it also shows passages in several documents. It stays under 10 MB and says what it leaves
out. The other formats have the same figures without texts.

In the page you can choose documents to keep, to drop and to call not the same, and save this for "neardup prune
--decisions". You can also judge a random sample: "neardup evaluate --judgments" then says how many of the removable
documents are right.
""",
)
def report(
    *, store: StoreAsked,
    output: Annotated[str | None, Option("The output file; - is standard output.  [default: report.html, or standard "
        "output for the other formats]", names=["-o", "--output"], metavar="FILE")],
    format: Annotated[ReportFormat, Option("A page, or its figures.")] = "html",  # noqa: A002
    showing: Showing,
) -> None:  # fmt: skip
    """Report how much of the store is duplicated, and where, as a page or in figures."""
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


_SAMPLE = 2000
_OF_JUDGMENTS = {"judgments", "precision", "store", "json"}
_PRECISION = 0.95


@dataclass(frozen=True, slots=True)
class Measuring:
    """The rules to measure, the documents, and the Jaccard coefficients of wanted and right pairs."""

    heading = "What is measured"

    schemes: Annotated[tuple[str, ...], Option("A match rule to measure. Can be repeated.  [default: the store's own, "
        "simhash-doc within 3 and within 7 bits, the latter also verified by minhash, and minhash; with --parts the "
        "store's own, and passages from 50% and from 25% on]", names=["--match", "--schemes"],
        metavar="RULE")] = ()  # fmt: skip
    documents: Annotated[tuple[str, ...], Option("Measure on these documents instead of the store's.",
        metavar="PATH|DIR|GLOB")] = ()  # fmt: skip
    root: Annotated[str | None, Option("The folder of relative paths in TRUTH. [default: TRUTH's folder]", kind="path",
        metavar="DIR", goes_with=["truth"])] = None  # fmt: skip
    sample: Annotated[int, Option("Sample this many documents of a store, besides those in TRUTH.", least=2,
        not_with=["documents"])] = _SAMPLE  # fmt: skip
    alike: Annotated[float, Option("The least Jaccard coefficient of pairs to find.", least=0.5, most=1.0, metavar="J",
        not_with=["truth"])] = 0.8  # fmt: skip
    right: Annotated[float, Option("Jaccard coefficient from which a returned pair is correct.", least=0.1, most=1.0,
        metavar="J", not_with=["truth"])] = 0.5  # fmt: skip
    parts: Annotated[bool, Option("Also take passages of 100, 300 and 1,000 words out of the documents, unchanged and "
        "with 1, 2 and 5% of their letters misread, and measure how many each rule finds.")] = False  # fmt: skip
    picture: Annotated[str | None, Option("Plot precision over recall to FILE, as SVG.", kind="path",
        metavar="FILE")] = None  # fmt: skip


@dataclass(frozen=True, slots=True)
class Judging:
    """Somebody's judgments, instead of a measurement, and the wanted precision of a threshold."""

    heading = "What people judged"

    judgments: Annotated[str | None, Option("Say how right the rule of the store's clusters is, by the judgments of a "
        "sample in a report.", kind="path", metavar="FILE")] = None  # fmt: skip
    precision: Annotated[float, Option("The share of right answers a threshold should reach.",
        kind=click.FloatRange(0.0, 1.0, min_open=True), metavar="SHARE",
        goes_with=["judgments"])] = _PRECISION  # fmt: skip


@command(
    "indexer.matching.evaluation.figures:EvaluationFigures",
    others={"With --judgments --json one object": "judgments:JudgedRule"},
    short_help="Measure match rules on your documents.",
    epilog="""
\b
Examples:
  neardup evaluate                              a sample of the store, against exact Jaccard
  neardup evaluate --documents docs/            documents that are in no store
  neardup evaluate truth.jsonl --documents docs/
  neardup evaluate --match minhash@0.6 --match simhash-doc@7bits+minhash@0.7
  neardup evaluate --store https://host:9200/articles --field title --field body
  neardup evaluate --parts                      passages of the documents too, as they stand and misread
  neardup evaluate --picture curves.svg --json > figures.json
  neardup evaluate --judgments judgments.json   the store's rule, by what you said of a sample in a report

Match rules are written as for --match elsewhere. They may use schemes that no store has, with any parameters.

TRUTH is JSON lines: {"a", "b"} for each pair of near-duplicate ids, or {"id", "group"} for each document of a group
of near-duplicates. "path" names the file of a document, relative to --root. Without TRUTH, a pair should be found if
the Jaccard coefficient of its 5-word shingles is at least --alike, and a returned pair is correct if it is at least
--right.

--judgments reads no texts. The file comes from a report, and has somebody's judgments of a random sample of removable
documents. From 60 judgments on the command says how many of all these are right, with the limits at a confidence of
95%, by similarity, and which threshold fits. Judgments of documents outside the current sample are named and not
counted.
""",
)
@click.argument("truth", required=False, type=A_PATH)
def evaluate(
    *, truth: str | None, measuring: Measuring, judging: Judging, named_fields: NamedFields,
    store: Annotated[str, store_unless("documents")], jobs: JobsAsked, extraction: Extraction, json: JsonAsked,
) -> None:  # fmt: skip
    """Measure match rules on your documents: recall, precision, curves and costs.

    The ground truth is TRUTH, or else the exact Jaccard coefficient of the documents' sets of 5-word shingles.
    """
    from indexer.library import evaluating

    if judging.judgments:
        _judge(store, judging.judgments, judging.precision, as_json=json)
        return
    named = evaluating.read_truth(truth, measuring.root) if truth else None
    if named and named.paths:
        refuse_typed(("sample", "store"), f"does nothing with {named.name}: it names the files of its documents")
    how: dict[str, Any] = {
        "truth": named,
        "alike": measuring.alike,
        "right": measuring.right,
        "parts": measuring.parts,
        "fields": named_fields,
        "jobs": jobs,
        "extraction": extraction,
        "progress": None if json or not sys.stderr.isatty() else lambda step: say(f"measuring: {step}"),
    }
    if measuring.documents or (named and named.paths):
        made = evaluating.evaluate(measuring.schemes, documents=measuring.documents, **how)
    else:
        evaluating.require_rules(measuring.schemes, alike=measuring.alike, right=measuring.right)
        with opened_collection(store, read_only=True) as collection:
            made = collection.evaluate(measuring.schemes, sample=measuring.sample, **how)
    if measuring.picture:
        made.save_picture(measuring.picture)
    if json:
        answer_json(made.figures)
        return
    for line in (*made.lines(), ""):
        answer(line)
    columns, rows = made.table()
    table(columns, rows, right=columns[1:])
    columns, rows = made.part_table()
    if rows:
        answer("")
        table(columns, rows, right=columns[1:])


def _judge(store: str, judgments: str, precision: float, *, as_json: bool) -> None:
    names = [str(parameter.name) for parameter in click.get_current_context().command.params]
    refuse_typed([name for name in names if name not in _OF_JUDGMENTS], "does nothing with --judgments")
    with opened_collection(store, read_only=True) as collection:
        made = collection.judge(judgments, precision=precision)
    if as_json:
        answer_json(made)
        return
    for one in made.not_counted:
        answer(f"{one.id}  not counted: {one.reason}")
    for line in made.says:
        answer(line)
    if made.shares:
        answer("")
        columns = ("of", "from", "documents", "judged", "right", "precision", "low", "high")
        table(columns, list(map(_cells, made.shares)), right=columns[1:])


def _cells(share: JudgedShare) -> tuple[str, ...]:
    limits = (share.precision, share.low, share.high)
    counts = (share.documents, share.judged, share.right)
    shown = ("-" if each is None else f"{each:.1%}" for each in limits)
    return (share.of, f"{share.threshold:.3g}", *(f"{each:,}" for each in counts), *shown)


COMMANDS = (report, evaluate)
