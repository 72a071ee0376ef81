"""`neardup evaluate`."""

from __future__ import annotations

import dataclasses
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from indexer import own_files
from indexer.cli.options.fields import explained, field_options
from indexer.cli.options.groups import Group, Related, typed
from indexer.cli.options.paths import A_PATH
from indexer.cli.options.shared import extraction_options, jobs_option, json_option, opened, store_option_unless
from indexer.cli.terminal.output import answer, answer_json, say, table
from indexer.errors import NeardupError, UsageError
from indexer.library.options import Extraction, NamedFields
from indexer.text.counts import counted

if TYPE_CHECKING:
    from indexer.evaluation.documents import Named, Texts
    from indexer.evaluation.judging import Evaluation, Progress
    from indexer.ingest.sources import Selection
    from indexer.stores.texts import TextFields

_SAMPLE = 2000


@dataclass(frozen=True, slots=True)
class Measuring:
    """The rules to measure, the documents, and the Jaccard coefficients from which a pair is wanted and right."""

    schemes: tuple[str, ...]
    documents: tuple[str, ...]
    root: str | None
    sample: int
    alike: float
    right: float
    picture: str | None


measuring_options = Group(
    Measuring,
    click.option(
        "--match",
        "--schemes",
        "schemes",
        multiple=True,
        metavar="RULE",
        help="A match rule to measure; can be repeated.  [default: the store's own, simhash-doc within 3 and "
        "within 7 bits, the latter also verified by minhash, and minhash]",
    ),
    click.option(
        "--documents", multiple=True, metavar="PATH|DIR|GLOB", help="Documents to measure on, instead of the store's."
    ),
    click.option(
        "--root",
        cls=Related,
        goes_with=["truth"],
        type=A_PATH,
        metavar="DIR",
        help="The folder that paths in TRUTH are relative to. [default: TRUTH's folder]",
    ),
    click.option(
        "--sample",
        cls=Related,
        not_with=["documents"],
        type=click.IntRange(2),
        metavar="N",
        default=_SAMPLE,
        show_default=True,
        help="Sample this many documents of a store, in addition to those that TRUTH names.",
    ),
    click.option(
        "--alike",
        cls=Related,
        not_with=["truth"],
        type=click.FloatRange(0.5, 1.0),
        metavar="J",
        default=0.8,
        show_default=True,
        help="Jaccard coefficient from which a pair should be found.",
    ),
    click.option(
        "--right",
        cls=Related,
        not_with=["truth"],
        type=click.FloatRange(0.1, 1.0),
        metavar="J",
        default=0.5,
        show_default=True,
        help="Jaccard coefficient from which a returned pair is correct.",
    ),
    click.option("--picture", type=A_PATH, metavar="FILE", help="Plot precision over recall to FILE, as SVG."),
)


@click.command(
    short_help="Measure match rules on your documents.",
    epilog="""
\b
Examples:
  neardup evaluate                              a sample of the store, against exact Jaccard
  neardup evaluate --documents docs/            documents that are in no store
  neardup evaluate truth.jsonl --documents docs/
  neardup evaluate --match minhash@0.6 --match simhash-doc@7bits+minhash@0.7
  neardup evaluate --store https://host:9200/articles --field title --field body
  neardup evaluate --picture curves.svg --json > figures.json

Match rules are written as for --match elsewhere; they may use schemes that no store has, with any parameters.

TRUTH is JSON lines: {"a", "b"} for each pair of ids that are near-duplicates, or {"id", "group"} for each document, if
the documents of a group are near-duplicates; "path" names the file of a document, relative to --root. Without TRUTH, a
pair should be found if the Jaccard coefficient of its 5-word shingles is at least --alike, and a returned pair is
correct if it is at least --right.
""",
)
@click.argument("truth", required=False, type=A_PATH)
@measuring_options
@field_options
@store_option_unless("documents")
@jobs_option
@extraction_options
@json_option
def evaluate(
    truth: str | None,
    measuring: Measuring,
    named_fields: NamedFields,
    store: str,
    jobs: int | None,
    extraction: Extraction,
    json: bool,
) -> None:
    """Measure match rules on your documents: recall, precision, curves and costs.

    The ground truth is TRUTH, or else the exact Jaccard coefficient of the documents' sets of 5-word shingles.

    With --json one object: documents, bytes, bands, wanted, truth, notes, and rules, each with rule, finders,
    measure, threshold, recall_by_band, precision, recall, f1, returned, wrong, best, curve,
    megabytes_per_second, documents_per_second, payload_octets, key_octets, candidates_per_query, keys_asked,
    lookup_seconds, without_fingerprint.
    """
    from indexer.evaluation import judging, showing
    from indexer.evaluation.documents import placed, read_truth, require_two

    if measuring.right > measuring.alike:
        raise UsageError(f"--right {measuring.right:g} is above --alike {measuring.alike:g}")
    for rule in measuring.schemes:
        judging.check_rule(rule)
    named = read_truth(Path(truth), Path(measuring.root) if measuring.root else None) if truth else None
    if named and named.paths:
        for name in filter(typed, ("sample", "store")):
            raise UsageError(f"--{name} does nothing with {named.name}, which names the files of its documents")
    fields = named_fields.fields(stored=not measuring.documents and not (named and named.paths))
    from indexer.ingest.sources import Selection

    columns = named_fields.columns.columns(extraction)
    chosen = Selection(base=os.getcwd(), line_limit=extraction.max_size, columns=columns)
    texts = _texts(named, measuring, fields, store, jobs, extraction, chosen)
    require_two(texts)
    corpus = judging.corpus_of(texts.texts)
    wanted = measuring.schemes or (_usual(named, measuring, store), *judging.DEFAULT_RULES)
    named_rules = [judging.read_rule(text, corpus) for text in wanted]
    rules = list({rule.written(whole=True): rule for rule in named_rules}.values())
    notes = [
        f"left out: {counted(count, 'document')} ({explained(text)})" for text, count in sorted(texts.failed.items())
    ]
    known = None
    if named:
        known, missing = placed(named, texts.ids)
        if missing:
            notes.append(f"left out: {counted(missing, 'pair')} of {named.name}, with a document that is not here")
    evaluation = judging.evaluate(
        texts.texts, rules, known, alike=measuring.alike, right=measuring.right, progress=_progress(json=json)
    )
    evaluation = dataclasses.replace(evaluation, notes=(*evaluation.notes, *notes))
    if measuring.picture:
        _write(measuring.picture, showing.picture(evaluation))
    _show(evaluation, as_json=json)


def _usual(named: Named | None, measuring: Measuring, store: str) -> str:
    """The rule of the store that is measured, else that of a new one."""
    from indexer.matching.rule import default_rule

    if measuring.documents or (named and named.paths):
        return default_rule().written(whole=True)
    with opened(store, read_only=True) as source:
        return default_rule(source).written(whole=True)


def _progress(*, json: bool) -> Progress | None:
    return None if json or not sys.stderr.isatty() else lambda step: say(f"measuring: {step}")


def _texts(
    named: Named | None,
    measuring: Measuring,
    fields: TextFields | None,
    store: str,
    jobs: int | None,
    extraction: Extraction,
    chosen: Selection,
) -> Texts:
    from indexer.evaluation.documents import named_inputs, options_of, read_texts, sampled
    from indexer.ingest.from_store import stored_inputs
    from indexer.ingest.indexing import default_jobs
    from indexer.ingest.sources import Sources

    processes = jobs or default_jobs()
    if measuring.documents:
        sources = Sources(measuring.documents, chosen)
        return read_texts(sources, *extraction.reading(None), processes)
    if named and named.paths:
        options, limits = extraction.reading(None)
        return read_texts(named_inputs(named.paths, chosen), options, limits, processes)
    with opened(store, read_only=True) as source:
        options, limits = extraction.reading(options_of(source).content)
        records = sampled(source, measuring.sample, named.ids if named else ())
        return read_texts(stored_inputs(source, records, chosen, fields), options, limits, processes)


def _show(evaluation: Evaluation, *, as_json: bool) -> None:
    from indexer.evaluation import showing

    if as_json:
        answer_json(showing.as_json(evaluation))
        return
    for line in showing.heading(evaluation):
        answer(line)
    for line in showing.in_words(evaluation):
        answer(line)
    answer("")
    columns = showing.COLUMNS
    table(columns, showing.rows(evaluation), right=columns[1:])


def _write(name: str, text: str) -> None:
    try:
        with open(name, "w", encoding="utf-8", opener=own_files.writer) as file:
            file.write(text)
    except OSError as error:
        raise NeardupError(f"{name}: the picture can't be written: {error.strerror}") from error


COMMANDS = (evaluate,)
