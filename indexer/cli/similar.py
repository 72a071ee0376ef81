"""`neardup similar`."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from indexer.cli.options import arguments
from indexer.cli.options.groups import Group
from indexer.cli.options.matching import Matching, match_options, rule_json, show_rule, tell_lacking, tell_unread
from indexer.cli.options.renamed import Renamed
from indexer.cli.options.shared import (
    Extraction,
    content_of,
    extraction_options,
    filter_option,
    json_option,
    only_one,
    opened,
    store_folder,
    store_option,
)
from indexer.cli.terminal.output import answer_json, fingerprint_json, match_json, say, shown_store, table
from indexer.ingest.sources import STDIN
from indexer.model import name_of, parse_fingerprint
from indexer.text.counts import counted

if TYPE_CHECKING:
    from indexer.matching.lookups import Answer, Match
    from indexer.matching.question import Question
    from indexer.matching.rule import MatchRule
    from indexer.stores import Store

# What has the most candidates of all that an ordinary store is asked by.
_WIDEST = "simhash-doc@7bits"


@dataclass(frozen=True, slots=True)
class Asked:
    """What is asked about in the place of a file: an id, a text, or a fingerprint as text."""

    identity: str | None
    text: str | None
    hash_: str | None


question_options = Group(
    Asked,
    click.option(
        "--id", "identity", metavar="ID", help="Ask about a stored document; in a search engine also INDEX/ID."
    ),
    click.option("--text", metavar="TEXT", help="Ask about this text; - reads it from standard input."),
    click.option(
        "--hash", "hash_", metavar="HASH", help="Ask about a fingerprint: base32 as printed, or 16 hex digits."
    ),
)


@dataclass(frozen=True, slots=True)
class Listing:
    """Which of the documents that were found are shown, and where they are verified."""

    at_least: float | None
    limit: int
    include_short: bool
    filter: str | None
    verify_in_engine: bool


listing_options = Group(
    Listing,
    click.option(
        "--at-least",
        type=click.FloatRange(0, 1),
        metavar="S",
        help="Show candidates of at least this similarity, regardless of the rule; 0 shows the nearest.",
    ),
    click.option(
        "--limit", type=click.IntRange(1), metavar="N", default=20, show_default=True, help="Show at most N documents."
    ),
    click.option(
        "--include-short", is_flag=True, help="Also show documents with too few words for a meaningful fingerprint."
    ),
    filter_option,
    click.option(
        "--verify-in-engine",
        cls=Renamed,
        former="verify-in-cluster",
        is_flag=True,
        help="With a rule of simhash-doc alone: let the engine check distances (by a Painless script); the answer "
        "is the same.",
    ),
)


@click.command(
    name="similar",
    short_help="Show what is similar to a document.",
    epilog="""
\b
Examples:
  neardup similar draft.pdf
  neardup similar --id docs/guide.html -k 6 --limit 50
  pbpaste | neardup similar --text -
  neardup similar --hash sd1-aaaaaaaaaaaae --json
  neardup similar draft.pdf --similarity 0.8 --explain
  neardup similar draft.pdf --match simhash-doc@7bits+minhash@0.5
  neardup similar draft.pdf --store https://host:9200/news-* --filter 'lang:en AND date:[2024 TO *]'

By default a document is near if it shares at least 60% of its 5-word passages; the answer shows that share, and how
many of the 64 bits of the simhash differ. --match and its short forms use another rule: -k 3 finds every document
within 3 bits of the simhash. That is quick and finds copies, but also documents that share nothing but their
language; it is the rule for --hash. --at-least 0 shows the nearest candidates, however distant.

With --json one object: query, rule, total (before --limit), not_comparable, and matches, the most similar first, each
with similarity, near (by the rule), bits (of simhash-doc), label, and the stored document as in "neardup show --json";
with --explain also plan.
""",
)
@click.argument("file", required=False, type=click.Path())
@store_option
@question_options
@match_options
@listing_options
@extraction_options
@json_option
def similar_command(
    file: str | None,
    store: str,
    about: Asked,
    matching: Matching,
    listing: Listing,
    extraction: Extraction,
    json: bool,
) -> None:
    """Show the stored documents that are similar to FILE, the most similar first.

    FILE is a file, - for standard input, or else the id of a stored document.
    """
    from indexer.matching.lookups import lookup
    from indexer.matching.question import stored_as
    from indexer.matching.shorthand import rule_of

    only_one(**{"FILE": file, "--id": about.identity, "--text": about.text, "--hash": about.hash_})
    if file is not None:
        arguments.any_stored([file], store)
    with opened(store, read_only=True) as source:
        if listing.filter is not None:
            source.narrow(listing.filter)
        rule = rule_of(matching.wanted, source, hashes=about.hash_ is not None)
        if matching.explain:
            show_rule(rule)
        question = _question(source, file, about, extraction)
        own = question.ref
        if own is None and file and file != STDIN:
            own = stored_as(source, file, store_folder(store))
        _warn(question)
        matches = lookup(
            source,
            rule,
            question,
            limit=listing.limit,
            include_short=listing.include_short,
            exclude=own,
            at_least=listing.at_least,
            inside=listing.verify_in_engine,
        )
        empty = not matches.matches and next(source.scan(sketches=False), None) is None
    if empty:
        say(f"{shown_store(store)} holds no document; neardup index brings some into it")
    elif not matches.matches and question.simhash:
        say(_nothing(matches.rule, listing.at_least))
    _show(question, matches, as_json=json, explain=matching.explain)
    tell_unread(matches.unread)
    tell_lacking(matches.lacking, rule)


def _warn(question: Question) -> None:
    fingerprint = question.simhash
    if fingerprint is None:
        say(f"{question.name} has no words, so it has no fingerprint and matches nothing")
    elif question.short:
        say(
            f"{question.name} has only {counted(fingerprint.tokens, 'word')}: too few for a meaningful fingerprint, "
            "so it may match by chance, and may miss its near-duplicates"
        )


def _question(source: Store, file: str | None, about: Asked, extraction: Extraction) -> Question:
    if file is not None and arguments.is_id(file):
        return arguments.stored_or_file(source, file)
    if file is not None:
        return arguments.from_file(file, *extraction.reading(content_of(source)))
    if about.identity is not None:
        return arguments.stored(source, about.identity)
    if about.text is not None:
        return arguments.from_text(about.text)
    from indexer.matching.question import Question

    given = about.hash_ or ""
    return Question(given, fingerprint=parse_fingerprint(given))


def _nothing(rule: MatchRule, at_least: float | None) -> str:
    if at_least is None:
        return f"nothing else is near by {rule}; --at-least 0 shows the nearest candidates"
    if at_least:
        return f"no candidate of {rule} is that similar; --at-least 0 shows the nearest"
    return f"{rule} finds no candidate; a rule that finds more is --match {_WIDEST}"


def _show(question: Question, answered: Answer, *, as_json: bool, explain: bool) -> None:
    rule, matches = answered.rule, answered.matches
    if as_json:
        about = {"name": question.name, "title": question.title, **fingerprint_json(question.simhash)}
        plan = {"plan": rule_json(rule)} if explain else {}
        counts = {"total": answered.total, "not_comparable": answered.lacking}
        answer_json({"query": about, "rule": str(rule), **plan, **counts, "matches": list(map(match_json, matches))})
        return
    if not matches:
        return
    columns, rows = ["id", "shares", "bits", "label", "title", "path"], [_row(match) for match in matches]
    # Mostly an id is the path as seen from here.
    if all(row[0] == row[-1] for row in rows):
        columns, rows = columns[:-1], [row[:-1] for row in rows]
    if rule.unit == "bits":
        columns, rows = [columns[0], *columns[2:]], [(row[0], *row[2:]) for row in rows]
    table(columns, rows, right=("shares", "bits"))
    if answered.total > len(matches):
        say(f"the nearest {len(matches)} of {answered.total}; --limit shows more")


def _row(match: Match) -> tuple[str, ...]:
    from indexer.matching.rule import share_shown

    record = match.record
    label = (match.label + " short" * record.short).strip()
    title = " ".join(record.title.split())
    # Below the current folder a path is shown as the user would type it.
    path = record.source.removeprefix(os.path.join(os.getcwd(), ""))
    bits = "" if match.differing is None else str(match.differing)
    return (name_of(record.ref), share_shown(match.similarity), bits, label, title, path)


COMMANDS = (similar_command,)
