"""Match rules measured on documents."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING

from indexer.errors import UsageError
from indexer.ingest.from_store import explained, stored_inputs
from indexer.ingest.indexing import default_jobs
from indexer.ingest.sources import Sources
from indexer.library.examining import LOOKED_AT, FittingKind, better_kind, fitting_kind
from indexer.library.options import Extraction, NamedFields, content_of
from indexer.matching.evaluation import judging, showing
from indexer.matching.evaluation.documents import (
    MeasuredTexts,
    Named,
    named_inputs,
    placed,
    read_texts,
    read_truth,
    require_two,
    sampled,
)
from indexer.matching.evaluation.figures import EvaluationFigures
from indexer.matching.evaluation.parts import measure_parts
from indexer.matching.rule import default_rule
from indexer.model import own_files
from indexer.model.kinds import DOCUMENTS, KINDS
from indexer.schemes.simhash import fingerprint
from indexer.stores.schemes import scheme_of
from indexer.text.counts import counted

if TYPE_CHECKING:
    from indexer.stores.base import Store

__all__ = ["ALIKE", "RIGHT", "SAMPLE", "Evaluated", "Named", "evaluate", "read_truth", "require_rules"]

ALIKE, RIGHT, SAMPLE = judging.ALIKE, judging.RIGHT, 2000

TellStage = Callable[[str], None]
"""Told what is being measured."""


@dataclass(frozen=True, slots=True, repr=False)
class Evaluated:
    """The result of measuring match rules."""

    figures: EvaluationFigures
    """All figures as plain values."""
    names: tuple[str, ...]
    """The names of the rules, in the order of their figures."""

    def lines(self) -> list[str]:
        """The documents, pairs and results in words, for readers unfamiliar with schemes."""
        return [*showing.heading(self.figures), *showing.in_words(self.names, self.figures)]

    def table(self) -> tuple[Sequence[str], list[tuple[str, ...]]]:
        """The columns and the rows of the table of all rules, as text."""
        return showing.COLUMNS, list(showing.rows(self.names, self.figures))

    def part_table(self) -> tuple[Sequence[str], list[tuple[str, ...]]]:
        """The table of parts, without rows unless asked for."""
        return showing.PART_COLUMNS, list(showing.part_rows(self.names, self.figures))

    def save_picture(self, path: str | os.PathLike[str]) -> None:
        """Plot precision over recall of every rule to a file, as SVG. Raises UsageError."""
        try:
            with open(path, "w", encoding="utf-8", opener=own_files.writer) as file:
                file.write(showing.picture(self.names, self.figures))
        except OSError as error:
            raise UsageError(f"{os.fspath(path)}: the picture can't be written: {error.strerror}") from error

    def __repr__(self) -> str:
        columns, rows = self.table()
        widths = [max(map(len, column)) for column in zip(columns, *rows, strict=True)]
        return "\n".join(
            [*self.lines(), "", *("  ".join(map(str.ljust, row, widths)).rstrip() for row in (columns, *rows))]
        )


def require_rules(rules: Sequence[str], *, alike: float, right: float) -> None:
    """Raise UsageError for rules that can't be measured, before anything is read or opened."""
    if right > alike:
        raise UsageError(f"right, {right:g}, is above alike, {alike:g}")
    for rule in rules:
        judging.check_rule(rule)


def evaluate(  # noqa: PLR0913 - they are options of the command
    rules: Sequence[str] = (),
    *,
    documents: Sequence[str] = (),
    truth: Named | str | os.PathLike[str] | None = None,
    root: str | os.PathLike[str] | None = None,
    sample: int = SAMPLE,
    alike: float = ALIKE,
    right: float = RIGHT,
    parts: bool = False,
    fields: NamedFields | None = None,
    jobs: int | None = None,
    extraction: Extraction | None = None,
    store: Store | None = None,
    progress: TellStage | None = None,
) -> Evaluated:
    """Measure match rules on documents: recall, precision, curves and costs, as `neardup evaluate` does.

    The documents are files, folders and patterns, those named by `truth`, or a `sample` of a store. `truth` is a file
    of pairs or groups of near-duplicates, with paths relative to `root`. Without one a pair should be found if the
    Jaccard coefficient of its 5-word shingles is at least `alike`, and a returned pair is correct if it is at least
    `right`; for short texts the coefficient is of their words, if no number, size, negation or name differs. With
    `parts` the share of passages each rule finds is measured, on passages taken out of the documents. Memory grows with
    all texts together. Raises UsageError and StoreError.
    """
    require_rules(rules, alike=alike, right=right)
    named = read_truth(truth, root) if isinstance(truth, str | os.PathLike) else truth
    own = store if not documents and not (named and named.paths) else None
    if own is None and not documents and not (named and named.paths):
        raise UsageError("name documents to measure on, or a truth that names their files")
    kind = own.info.kind if own else DOCUMENTS
    fits = better_kind(own) if own else None
    least = KINDS["short"].min_tokens if fits and fits.kind == "short" else None
    texts = _texts(own, documents, named, sample, fields or NamedFields(), jobs, extraction or Extraction(), least)
    fits = fits if own else _better_kind(texts)
    require_two(texts)
    corpus = judging.corpus_of(texts.texts)
    # What finds parts is not measured by the words of whole texts.
    fitting = [KINDS[fits.kind].rule] if fits and fits.kind != "scans" else []
    others = _part_rules(own) if parts else [*fitting, *judging.DEFAULT_RULES]
    wanted = rules or (default_rule(own).written(whole=True), *others)
    read = [judging.read_rule(text, corpus) for text in wanted]
    notes = [
        f"left out: {counted(count, 'document')} ({explained(why)})" for why, count in sorted(texts.failed.items())
    ]
    if fits:
        notes.append(f"the kind {fits.kind} fits better than {kind}: {fits.says}")
    short = (fits.kind if fits else kind) == "short"
    known = None
    if named:
        known, missing = placed(named, texts.ids)
        if missing:
            notes.append(f"left out: {counted(missing, 'pair')} of {named.name}, with a document that is not here")
    measured = list({rule.written(whole=True): rule for rule in read}.values())
    made = judging.evaluate(texts.texts, measured, known, alike=alike, right=right, short=short, progress=progress)
    found = measure_parts(texts.texts, measured, progress=progress) if parts else {}
    figures = tuple(replace(each, parts=found.get(each.rule, ())) for each in made.rules)
    return Evaluated(replace(made, notes=tuple(notes), rules=figures), tuple(rule.name for rule in measured))


def _better_kind(texts: MeasuredTexts) -> FittingKind | None:
    words, extractors, names = [], [], []
    for name, text, extractor in islice(zip(texts.ids, texts.texts, texts.extractors, strict=True), LOOKED_AT):
        if made := fingerprint(text):
            words.append(made.tokens)
            extractors.append(extractor)
            names.append(name)
    return fitting_kind(DOCUMENTS, words, extractors, names)


def _part_rules(store: Store | None) -> list[str]:
    own = [scheme_of(store, known.name) for known in store.info.schemes] if store else []
    ids = [scheme.id for scheme in own if scheme.of_parts] or ["passages", "passages:features=letters"]
    return [f"{name}@{least}" for name in ids for least in ("0.5", "0.25")]


def _texts(
    store: Store | None, documents: Sequence[str], named: Named | None, sample: int, fields: NamedFields,
    jobs: int | None, extraction: Extraction, least: int | None,
) -> MeasuredTexts:  # fmt: skip
    named_fields = fields.fields(extraction, stored=store is not None)
    processes, chosen = jobs or default_jobs(), extraction.selection(fields.columns.columns(extraction), os.getcwd())
    if store is not None:
        options, limits = extraction.reading(content_of(store))
        records = sampled(store, sample, named.ids if named else (), least=least)
        return read_texts(stored_inputs(store, records, chosen, named_fields), options, limits, processes)
    options, limits = extraction.reading(None)
    inputs = Sources(list(documents), chosen) if documents else named_inputs(named.paths if named else {}, chosen)
    return read_texts(inputs, options, limits, processes)
