"""`neardup evaluate`, `schemes` and `corpus`."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

import click

from indexer.cli.options.commands import A_PATH, command, refuse_typed
from indexer.cli.options.shared import JsonAsked, StoreAsked, opened_collection, store_unless
from indexer.cli.terminal.output import answer, answer_json, fields, say, shown_store, size, table
from indexer.library.options import Extraction, JobsAsked, NamedFields
from indexer.model.declared import Option
from indexer.text.counts import counted

if TYPE_CHECKING:
    from indexer.library.judgments import JudgedShare


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
        not_with=["documents"])] = 2000  # fmt: skip
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
        goes_with=["judgments"])] = 0.95  # fmt: skip


@command(
    "indexer.matching.evaluation.figures:EvaluationFigures",
    others={"With --judgments --json one object": "judgments:JudgedRule"},
    short_help="Measure match rules on your documents.",
)
@click.argument("truth", required=False, type=A_PATH)
def evaluate(
    *, truth: str | None, measuring: Measuring, judging: Judging, named_fields: NamedFields,
    store: Annotated[str, store_unless("documents")], jobs: JobsAsked, extraction: Extraction, json: JsonAsked,
) -> None:  # fmt: skip
    """Measure match rules on your documents: recall, precision, curves and costs.

    The ground truth is TRUTH, or else the exact Jaccard coefficient of the documents' sets of 5-word shingles.

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
    of near-duplicates. "path" names the file of a document, relative to --root. Without TRUTH, a pair should be found
    if the Jaccard coefficient of its 5-word shingles is at least --alike, and a returned pair is correct if it is at
    least --right.

    --judgments reads no texts. The file comes from a report, and has somebody's judgments of a random sample of
    removable documents. From 60 judgments on the command says how many of all these are right, with the limits at a
    confidence of 95%, by similarity, and which threshold fits. Judgments of documents outside the current sample are
    named and not counted.
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
    refuse_typed(
        [name for name in names if name not in ("judgments", "precision", "store", "json")],
        "does nothing with --judgments",
    )
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


@command("outcomes:SchemeList", name="schemes", short_help="List all schemes, and those of a store.")
def schemes_command(
    *,
    store: Annotated[str | None, lambda name: click.Option(["--store", name], type=A_PATH, metavar="FILE|URL",
        envvar="NEARDUP_STORE", help="Also list the schemes of this store.")],
    remove: Annotated[str | None, Option("With --store: remove a secondary scheme and its sketches.", metavar="NAME",
        goes_with=["store"], typed=True)],
    json: Annotated[bool, Option("Answer in JSON.", not_with=["remove"])],
) -> None:  # fmt: skip
    """List all schemes: what each measures, its parameters, its costs; with --store also those of the store.

    Examples:
      neardup schemes
      neardup schemes --store pages.neardup
      neardup schemes --store pages.neardup --remove minhash

    A scheme turns a text into a sketch, and a sketch into keys. A new store keeps sketches of simhash-doc and minhash;
    neardup index --scheme NAME adds others. "bytes" is the size of the payload of a document of 500 words, "keys" the
    number of keys that are looked up and stored; "near from" is the threshold of a rule that names only the scheme.
    """
    from indexer.library.scheme_figures import list_schemes

    if remove is not None and store is not None:
        with opened_collection(store) as collection:
            collection.remove_scheme(remove)
        say(f"{remove} and its sketches are removed from {shown_store(store)}")
        return
    listed = list_schemes()
    if store is not None:
        with opened_collection(store, read_only=True) as collection:
            listed = replace(listed, stored=collection.schemes())
    if json:
        answer_json(listed)
        return
    for each in listed.broken:
        say(f"{each.name} can't be used: {each.reason}", level="warning")
    columns = ("name", "near from", "bytes", "keys", "measure")
    rows = [(one.name, one.near_from, str(one.bytes), str(one.keys), one.measure) for one in listed.schemes]
    table(columns, rows, right=columns[1:4])
    for one in listed.schemes:
        answer("")
        written = ",".join(f"{name}={value}" for name, value in one.parameters.items())
        answer(f"{one.name}  {one.summary}")
        answer(f"    {written or 'no parameters'}" + ("; needs neardup corpus first" if one.corpus else ""))
    if store is not None:
        answer("")
        answer(f"{shown_store(store)} has:")
        held = [(own.name, f"{own.documents:,}", own.id) for own in listed.stored or ()]
        table(("name", "documents", "id"), held, right=("documents",))


@command("outcomes:GatheredStatistics", short_help="Gather statistics for some schemes.")
@click.argument("paths", nargs=-1, metavar="[PATH|DIR|GLOB|-]...")
def corpus(
    *, paths: tuple[str, ...], store: StoreAsked,
    scheme: Annotated[tuple[str, ...], Option("The scheme in need of the statistics, as given to neardup index.",
        metavar="NAME[:PARAM=VALUE,...]", required=True)],
    from_store: Annotated[bool, Option("Count the documents of the store, read again from their sources.")],
    named_fields: NamedFields, jobs: JobsAsked, extraction: Extraction, json: JsonAsked,
) -> None:  # fmt: skip
    """Count in how many documents each word occurs, and keep the counts in the store, for schemes that need them.

    Examples:
      neardup corpus --scheme i-match docs/
      neardup corpus --scheme simhash:weights=tfidf --from-store
      neardup index docs/ --scheme i-match

    Some schemes weight or choose words by how many documents contain them, and need these counts first. The store keeps
    the counts. Their digest is part of the scheme's id, so only fingerprints of the same counts are compared.

    PATHs are read as by neardup index. --from-store reads the stored documents again: their files, their lines of JSON
    lines files, or the fields of an annotated index named by --field. Unreadable documents are counted.
    """
    from indexer.library.statistics import gather

    made = gather(
        store, scheme, paths, from_store=from_store, fields=named_fields, jobs=jobs, extraction=extraction, tell=say
    )
    if json:
        answer_json(made)
        return
    why = f": {made.reasons}" if made.reasons else ""
    fields([("documents", f"{made.documents:,}"), ("failed", f"{made.failed:,}{why}")])
    for kept in made.corpora:
        fields([("corpus", f"{kept.name}, {counted(kept.terms, 'term')}, {size(kept.bytes)}")])


COMMANDS = (evaluate, schemes_command, corpus)
