"""Answers of `neardup similar` about each document that was asked about, and about all of them."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

import click

from indexer.cli.options.matching import rule_json, tell_lacking, tell_unread
from indexer.cli.terminal.output import about, answer, answer_json, fingerprint_json, match_json, say, table
from indexer.errors import ExtractionError
from indexer.model import name_of
from indexer.text.counts import counted
from indexer.text.remarks import in_json

if TYPE_CHECKING:
    from indexer.cli.terminal.progress import Following
    from indexer.matching.asking import Answered, Unanswered
    from indexer.matching.lookups import Answer, Match
    from indexer.matching.question import Question
    from indexer.matching.rule import MatchRule
    from indexer.stores import Store

# What has the most candidates of all that an ordinary store is asked by.
_WIDEST = "simhash-doc@7bits"


class Answers:
    """Shows one answer after the other, and counts them.

    `sole` is what the user called the only document that is asked about, None where there are several: each then has a
    heading, and one without an answer is named with the reason, and is no error of the command's.
    """

    def __init__(
        self, rule: MatchRule, at_least: float | None, *, as_json: bool, explain: bool, sole: str | None
    ) -> None:
        self._rule, self._at_least = rule, at_least
        self._as_json, self._sole = as_json, sole
        self._plan = {"plan": rule_json(rule)} if explain and as_json else {}
        self._line: Following | None = None
        self._lacking = self._code = 0
        self._hint = ""
        self.last: Question | None = None
        self.done = self.failures = self.total = self.found = 0

    def progress(self) -> AbstractContextManager[object]:
        """A line on the terminal while answers go elsewhere."""
        if self._sole is not None or not sys.stderr.isatty() or sys.stdout.isatty() or in_json():
            return nullcontext()
        from indexer.cli.terminal.progress import Following

        self._line = Following(self, "asking")
        return self._line

    def show(self, answered: Answered | Unanswered) -> None:
        """Print an answer. Raises the error of the only document that is asked about."""
        from indexer.matching.asking import Unanswered

        if not isinstance(answered, Unanswered):
            self.done += 1
            self._show(answered.question, answered.answer)
            return
        error = answered.error
        if answered.name == self._sole:
            raise error
        self.done += 1
        self.failures += 1
        self._code = max(self._code, error.exit_code)
        with self._aside():
            say(str(error), level="error", **about(error))

    def tell_part(self, store: Store) -> None:
        """Say in place of the hint what holds a part of the only document that was asked about, or is a part of it."""
        from indexer.matching.lookups import nearest_part
        from indexer.matching.rule import share_shown

        if self.found or self._sole is None or self.last is None or not self.last.simhash:
            return
        part = nearest_part(store, self.last, exclude=self.last.ref)
        if part is not None and part.shares is not None:
            of_query, of_match = map(share_shown, part.shares)
            verb = {"contains": "contains it", "contained in": "is contained in it"}.get(
                part.label, "shares parts of it"
            )
            self._hint = (
                f"nothing else is near by {self._rule.in_words}, but {name_of(part.record.ref)} {verb} ({of_query} of "
                f"it is there, {of_match} of that is in it); --match {part.rule} shows all that has parts in common"
            )

    def end(self, empty: str) -> int:
        """Say what holds for all answers, with `empty` what is wrong with the store; the exit code."""
        if empty:
            say(empty)
        elif not self.done:
            say("no document was found")
        elif self._hint and not self.found:
            say(self._hint)
        tell_lacking(self._lacking, self._rule)
        return self._code

    def _aside(self) -> AbstractContextManager[object]:
        """Take the line of progress away while something is said."""
        return self._line.aside() if self._line else nullcontext()

    def _show(self, question: Question, answered: Answer) -> None:
        self.found += answered.total
        self.last = question
        self._lacking = max(self._lacking, answered.lacking)
        if question.simhash is None:
            self._code = max(self._code, ExtractionError.exit_code)
        if warning := _warning(question):
            with self._aside():
                say(warning)
        if question.simhash:
            self._hint = _nothing(answered.rule, self._at_least)
        if self._as_json:
            self._show_json(question, answered)
        else:
            self._show_table(question, answered)
        if answered.unread:
            with self._aside():
                tell_unread(answered.unread)

    def _show_json(self, question: Question, answered: Answer) -> None:
        named = {"name": question.name, "title": question.title, **fingerprint_json(question.simhash)}
        counts = {"total": answered.total, "not_comparable": answered.lacking}
        matches = list(map(match_json, answered.matches))
        answer_json({"query": named, "rule": str(answered.rule), **self._plan, **counts, "matches": matches})

    def _show_table(self, question: Question, answered: Answer) -> None:
        matches = answered.matches
        shown = f"the nearest {len(matches):,} of {answered.total:,}"
        cut = answered.total > len(matches)
        if question.name != self._sole:
            found = shown if cut else f"{answered.total:,} found" if matches else "nothing found"
            if self.done - self.failures > 1:
                click.echo()
            answer(f"{question.name}: {found}")
        if matches:
            _show_matches(matches, answered.rule)
        if cut and question.name == self._sole:
            say(f"{shown}; --limit shows more")


def _warning(question: Question) -> str:
    fingerprint = question.simhash
    if fingerprint is None:
        return f"{question.name} has no words, so it has no fingerprint and matches nothing"
    if not question.short:
        return ""
    return (
        f"{question.name} has only {counted(fingerprint.tokens, 'word')}: too few for a meaningful fingerprint, so it "
        "may match by chance, and may miss its near-duplicates"
    )


def _nothing(rule: MatchRule, at_least: float | None) -> str:
    if at_least is None:
        return f"nothing else is near by {rule.in_words}; --at-least 0 shows the nearest candidates"
    if at_least:
        return f"no candidate of {rule.in_words} is that similar; --at-least 0 shows the nearest"
    return f"{rule.in_words} finds no candidate; a rule that finds more is --match {_WIDEST}"


def _show_matches(matches: Sequence[Match], rule: MatchRule) -> None:
    columns, rows = ["id", "shares", "bits", "label", "title", "path"], [_row(match) for match in matches]
    # Mostly an id is the path as seen from here.
    if all(row[0] == row[-1] for row in rows):
        columns, rows = columns[:-1], [row[:-1] for row in rows]
    if rule.unit == "bits":
        columns, rows = [columns[0], *columns[2:]], [(row[0], *row[2:]) for row in rows]
    elif all(match.shares for match in matches):
        # How much of the one is in the other says more than the greater of both, and than bits of the whole documents.
        columns = [columns[0], "of query", "of match", *columns[3:]]
        rows = [(row[0], *_shares(match), *row[3:]) for row, match in zip(rows, matches, strict=True)]
    table(columns, rows, right=("shares", "bits", "of query", "of match"))


def _shares(match: Match) -> tuple[str, ...]:
    from indexer.matching.rule import share_shown

    return tuple(map(share_shown, match.shares or ()))


def _row(match: Match) -> tuple[str, ...]:
    from indexer.matching.rule import share_shown

    record = match.record
    label = (match.label + " short" * record.short).strip()
    title = " ".join(record.title.split())
    # Below the current folder a path is shown as the user would type it.
    path = record.source.removeprefix(os.path.join(os.getcwd(), ""))
    bits = "" if match.differing is None else str(match.differing)
    return (name_of(record.ref), share_shown(match.similarity), bits, label, title, path)
