"""Answers of `neardup similar`."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from itertools import groupby
from typing import TYPE_CHECKING

import click

from indexer.cli.terminal.output import about, answer, answer_json, say, table
from indexer.errors import ExtractionError
from indexer.text.counts import counted, share_shown
from indexer.text.excerpts import Excerpt, Stretch
from indexer.text.remarks import in_json
from indexer.text.visible import beginning

if TYPE_CHECKING:
    from indexer.cli.terminal.progress import Following
    from indexer.library.comparisons import Comparison, TextDifference
    from indexer.library.records import Match, Query, Similar, Uncompared, Unread
    from indexer.library.stores import MatchRule

    Related = Comparison | TextDifference | Match


# How many documents a message names.
_SHOWN = 5
# Characters of a title in a table.
_TITLE = 100
# What has the most candidates of all that an ordinary store is asked by.
_WIDEST = "simhash-doc@7bits"


class Answers:
    """Shows one answer after the other, and counts them.

    `sole` is the user's name of the only document asked about, None for several: each then has a heading, and a failed
    one is named with the reason, without an error of the command.
    """

    def __init__(self, rule: MatchRule, at_least: float | None, *, as_json: bool, sole: str | None) -> None:
        self._rule, self._at_least = rule, at_least
        self._as_json, self._sole = as_json, sole
        self._line: Following | None = None
        self._lacking = self._code = 0
        self._hint = ""
        self.done = self.failures = self.total = self.found = 0

    @property
    def is_sole(self) -> bool:
        return self._sole is not None

    def progress(self) -> AbstractContextManager[object]:
        if self._sole is not None or not sys.stderr.isatty() or sys.stdout.isatty() or in_json():
            return nullcontext()
        from indexer.cli.terminal.progress import Following

        self._line = Following(self, "asking")
        return self._line

    def show(self, similar: Similar) -> None:
        error = similar.error
        if error and similar.name == self._sole:
            raise error
        self.done += 1
        if self._as_json:
            answer_json(similar)
        if error is None:
            self._show(similar)
            return
        self.failures += 1
        self._code = max(self._code, error.exit_code)
        with self._aside():
            say(str(error), level="error", **about(error))

    def end(self, empty: str) -> int:
        if empty:
            say(empty)
        elif not self.done:
            say("no document was found")
        elif self._hint and not self.found:
            say(self._hint)
        tell_lacking(self._lacking, self._rule)
        return self._code

    def _aside(self) -> AbstractContextManager[object]:
        return self._line.aside() if self._line else nullcontext()

    def _show(self, similar: Similar) -> None:
        query = similar.query
        self.found += similar.total
        self._lacking = max(self._lacking, similar.not_comparable)
        if query.hash is None:
            self._code = max(self._code, ExtractionError.exit_code)
        if warning := _warning(query, self._rule):
            with self._aside():
                say(warning)
        if query.hash:
            self._hint = _part(similar, self._rule) or _nothing(self._rule, self._at_least)
        if not self._as_json:
            self._show_table(similar)
        with self._aside():
            if similar.unread:
                named = {match.id for match in similar.matches}
                tell_unread([each for each in similar.unread if each.id not in named])
                shown = [each for each in similar.unread if each.id in named]
                tell_unread(shown, "passages not shown, since not read again")
            if similar.set_aside:
                say(
                    f"{counted(similar.set_aside, 'key')} of the query set aside, because very many documents have "
                    "them: documents with nothing else in common may be missing",
                    set_aside=similar.set_aside,
                )

    def _show_table(self, similar: Similar) -> None:
        matches, name = similar.matches, similar.name
        shown = f"the nearest {len(matches):,} of {similar.total:,}"
        cut = similar.total > len(matches)
        if name != self._sole:
            found = shown if cut else f"{similar.total:,} found" if matches else "nothing found"
            if self.done - self.failures > 1:
                click.echo()
            answer(f"{name}: {found}")
        if matches:
            _show_matches(matches, self._rule)
        _show_relations(matches)
        for match in matches:
            if match.passages_total is not None:
                click.echo()
                answer(f"{match.id}: {_passages(match)}")
                show_excerpts(match.passages, match.passages_total, ("query", "match"))
        if cut and name == self._sole:
            say(f"{shown}; --limit shows more")


def _warning(query: Query, rule: MatchRule) -> str:
    if query.hash is None:
        return f"{query.name} has no words, so only equal documents match"
    few = f"{query.name} has only {counted(query.tokens, 'word')}"
    if 0 < query.tokens < rule.least_words:
        return (
            f"{few}: too few for a meaningful fingerprint, so it may match by chance, and may miss its near-duplicates"
        )
    if 0 < query.tokens < rule.sure_words:
        return (
            f"{few}: found for sure is only what has {rule.sure_words} in a row in common; index with a smaller window "
            "to find less"
        )
    return ""


def _part(similar: Similar, rule: MatchRule) -> str:
    part = similar.part
    if part is None or part.of_query is None or part.of_match is None:
        return ""
    verb = {"contains": "contains it", "contained in": "is contained in it"}.get(part.label, "shares parts of it")
    return (
        f"nothing else is near by {rule.in_words}, but {part.id} {verb} ({share_shown(part.of_query)} of "
        f"it is there, {share_shown(part.of_match)} of that is in it); --match {similar.part_rule} shows all "
        f"documents with common parts"
    )


def _nothing(rule: MatchRule, at_least: float | None) -> str:
    if at_least is None:
        return f"nothing else is near by {rule.in_words}; --at-least 0 shows the nearest, however distant"
    if at_least:
        return f"nothing else is so similar by {rule.in_words}; --at-least 0 shows the nearest, however distant"
    return f"nothing else can be compared by {rule.in_words}; --match finds more: {_WIDEST}"


def _show_matches(matches: Sequence[Match], rule: MatchRule) -> None:
    columns, rows = ["id", "shares", "bits", "label", "title", "path"], [_row(match, rule) for match in matches]
    # Mostly an id is the path, as seen from here or in full.
    if all(row[-1] in (row[0], "") or match.id == match.source for row, match in zip(rows, matches, strict=True)):
        columns, rows = columns[:-1], [row[:-1] for row in rows]
    if rule.unit == "bits":
        columns, rows = [columns[0], *columns[2:]], [(row[0], *row[2:]) for row in rows]
    elif all(match.of_query is not None for match in matches):
        # How much of the one is in the other says more than the greater of both, and than bits of the whole documents.
        aligned = any(match.longest is not None for match in matches)
        columns = [columns[0], "of query", "of match", *["longest"] * aligned, *columns[3:]]
        rows = [(row[0], *_shares(match)[: 2 + aligned], *row[3:]) for row, match in zip(rows, matches, strict=True)]
    table(columns, rows, right=("shares", "bits", "of query", "of match", "longest"))


def _show_relations(matches: Sequence[Match]) -> None:
    said = [(match.id, each) for match in matches if (each := _related(match))]
    if said:
        click.echo()
    for name, relation in said:
        answer(f"{name}: {relation}")


def _related(match: Match) -> str:
    verb = "is" if match.order_confidence >= LIKELY else "may be"
    order = f"the query {verb} {match.order}: {match.order_evidence}" if match.order_evidence else ""
    # Of documents that share a part the table says more.
    relation = "" if match.label in ("identical", "contains", "contained in", "shares") else relation_shown(match)
    return "; ".join(filter(None, (relation, order)))


def _passages(match: Match) -> str:
    if not match.passages_total or match.longest is None:
        return "no passage in common"
    return f"{counted(match.passages_total, 'passage')}, the longest of {counted(match.longest, 'word')}"


def _shares(match: Match) -> tuple[str, ...]:
    longest = "" if match.longest is None else f"{match.longest:,}"
    return (*(share_shown(share or 0.0) for share in (match.of_query, match.of_match)), longest)


def _row(match: Match, rule: MatchRule) -> tuple[str, ...]:
    label = (match.label + " short" * match.short).strip()
    title = beginning(match.title, _TITLE)
    # Below the current folder a path is shown as the user would type it.
    path = match.source.removeprefix(os.path.join(os.getcwd(), ""))
    bits = rule.bits(match.similarity) if rule.unit == "bits" else match.bits
    return (match.id, share_shown(match.similarity), "" if bits is None else str(bits), label, title, path)


def tell_unread(unread: Sequence[Unread], what: str = "left out, since not verified") -> None:
    if not unread:
        return
    shown = "; ".join(f"{each.id} ({each.reason})" for each in unread[:_SHOWN])
    more = f"; and {len(unread) - _SHOWN:,} more" if len(unread) > _SHOWN else ""
    text = f"{what}: {counted(len(unread), 'document')}: {shown}{more}"
    say(text, level="warning", unread=len(unread))


def tell_lacking(count: int, rule: MatchRule) -> None:
    if count:
        say(
            f"{counted(count, 'document')} can't be compared: no sketch of {rule.measure.name} is stored; "
            f"neardup index or annotate adds it{', annotate --to also to long documents' * rule.of_parts}",
            level="warning",
            not_comparable=count,
        )


def tell_uncompared(found: Uncompared, rule: MatchRule) -> None:
    kinds = (
        (found.empty, "without words, unless equal"),
        (found.short, "with too few words (see --include-short)"),
        (found.refused, "refused (see neardup failures)"),
    )
    if count := sum(number for number, _ in kinds):
        shown = ", ".join(f"{number:,} {kind}" for number, kind in kinds if number)
        say(f"{counted(count, 'document')} not compared: {shown}", not_comparable=count)
    tell_lacking(found.not_comparable, rule)


# Below this confidence it is said that one may be newer.
LIKELY = 0.6
_TIMES = {"newer": "A is newer than B", "older": "A is older than B"}


def relation_shown(made: Related) -> str:
    return f"{made.relation}: {made.evidence}" if made.relation and made.evidence else made.relation or made.evidence


def order_shown(made: Related) -> str:
    said = _TIMES.get(made.order, "unknown which is newer" if made.order else "")
    if made.order_evidence and made.order_confidence < LIKELY:
        said = said.replace(" is ", " may be ")
    return f"{said}: {made.order_evidence}" if made.order_evidence else said


def relations_shown(relations: Mapping[str, int]) -> str:
    """Counts of documents by relation, in a line, the most frequent first.

    Empty if no relation is known.
    """
    if not any(relations):
        return ""
    ordered = sorted(relations.items(), key=lambda each: -each[1])
    return ", ".join(f"{count:,} {word or 'not compared'}" for word, count in ordered)


# So many other places of a passage are named.
_PLACES = 3


def show_excerpts(excerpts: Iterable[Excerpt], total: int, sides: tuple[str, str]) -> None:
    width = max(map(len, sides))

    def show(side: str, stretch: Stretch) -> None:
        answer(f"    {side:<{width}}  {shown_place(stretch)}")
        answer(f"    {'':<{width}}  {_said(stretch)}")

    for query, places in groupby(excerpts, lambda excerpt: excerpt.query):
        first, *others = places
        total -= 1 + len(others)
        alike = "" if first.similarity == 1 else f", {share_shown(first.similarity)} of the letters the same"
        answer(f"  {counted(first.words, 'word')}{alike}")
        show(sides[0], query)
        show(sides[1], first.match)
        if others:
            where = "; ".join(shown_place(each.match) for each in others[:_PLACES])
            more = f"; and in {counted(len(others) - _PLACES, 'more place')}" if len(others) > _PLACES else ""
            answer(f"    {'':<{width}}  also {where}{more}")
    if total:
        answer(f"  and {counted(total, 'shorter passage')}")


def shown_place(stretch: Stretch) -> str:
    page = f"page {stretch.page:,}, " if stretch.page is not None else ""
    words = f"words {stretch.word + 1:,} to {stretch.word + stretch.words:,}"
    return f"{page}{words}, characters {stretch.start:,} to {stretch.end:,}"


def _said(stretch: Stretch) -> str:
    parted = " " if stretch.after[:1].isalnum() else ""
    return f"{stretch.before} [{stretch.text}]{parted}{stretch.after}".strip()
