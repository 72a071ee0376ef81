"""Options that say what counts as near; what they mean is decided in `indexer.matching`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from indexer.cli.options.groups import Group, Related
from indexer.cli.terminal.output import say
from indexer.text.counts import counted

if TYPE_CHECKING:
    from indexer.library.records import Uncompared, Unread
    from indexer.library.rules import MatchRule, RuleRequest, Way

# This many documents are named that could not be verified.
_SHOWN = 5

match_option = click.option(
    "--match",
    cls=Related,
    goes_with=["cluster", "skip_duplicates"],
    setting="rule",
    metavar="RULE",
    help="The rule for what counts as near: default, which finds by simhash or minhash and verifies by minhash; or one "
    "such as simhash-doc@3bits, minhash@0.6, or simhash-doc@7bits+minhash@0.6, which finds by the first scheme and "
    "verifies by the second.  [default: default; simhash-doc@3bits in a store with simhash-doc alone]",
)
distance_option = click.option(
    "-k",
    "--distance",
    cls=Related,
    goes_with=["cluster", "skip_duplicates"],
    setting="rule",
    type=click.IntRange(0, 16),
    metavar="BITS",
    help="Short for --match simhash-doc@BITSbits: how many of the 64 bits of the simhash may differ (0 to 7 in "
    "lookups, to 16 elsewhere).",
)


@dataclass(frozen=True, slots=True)
class Matching:
    """The options of the match rule, None where nothing was asked; `explain` asks for the rule in words."""

    match: str | None
    distance: int | None
    similarity: float | None
    scheme: str | None
    verify: Way | None
    min_jaccard: float | None
    min_containment: float | None
    explain: bool

    @property
    def wanted(self) -> RuleRequest:
        """The rule that the options ask for."""
        from indexer.library.rules import RuleRequest

        return RuleRequest(
            match=self.match,
            distance=self.distance,
            scheme=self.scheme,
            similarity=self.similarity,
            verify=self.verify,
            min_jaccard=self.min_jaccard,
            min_containment=self.min_containment,
        )


match_options = Group(
    Matching,
    match_option,
    distance_option,
    click.option(
        "--similarity",
        cls=Related,
        setting="rule",
        type=click.FloatRange(0, 1),
        metavar="S",
        help="The minimum similarity, 0 to 1, by --scheme or the best scheme of the store.",
    ),
    click.option(
        "--scheme",
        cls=Related,
        setting="rule",
        metavar="NAME",
        help="Compare by this scheme of the store (see neardup schemes --store).",
    ),
    click.option(
        "--verify",
        cls=Related,
        setting="rule",
        type=click.Choice(["hamming", "sketch", "text"]),
        help="Verify candidates by the bits of the simhash (within -k), by stored sketches, or by the texts, "
        "which are read again.",
    ),
    click.option(
        "--min-jaccard",
        cls=Related,
        setting="rule",
        type=click.FloatRange(0, 1),
        metavar="J",
        help="With --verify sketch or text: the minimum share of all 5-word shingles of two documents that are in "
        "both.  [default: 0.6 by sketches, 0.5 by texts]",
    ),
    click.option(
        "--min-containment",
        cls=Related,
        setting="rule",
        type=click.FloatRange(0, 1),
        metavar="C",
        help="The minimum share of the shorter document's 5-word shingles that are in the other one; the texts "
        "are read again.",
    ),
    click.option(
        "--explain",
        is_flag=True,
        help="Explain what is looked up, what that guarantees, and what it is expected to miss.",
    ),
    title="What counts as near",
)


def show_rule(rule: MatchRule) -> None:
    """Print what a rule looks up, as a remark."""
    from indexer.library.rules import explained

    for line in explained(rule):
        say(line)


def tell_unread(unread: Sequence[Unread]) -> None:
    """Say which documents could not be verified, so that what they match was left out."""
    if not unread:
        return
    shown = "; ".join(f"{each.id} ({each.reason})" for each in unread[:_SHOWN])
    more = f"; and {len(unread) - _SHOWN:,} more" if len(unread) > _SHOWN else ""
    text = f"left out, since not verified: {counted(len(unread), 'document')}: {shown}{more}"
    say(text, level="warning", unread=len(unread))


def tell_lacking(count: int, rule: MatchRule) -> None:
    """Say how many documents a rule can't compare."""
    if count:
        say(
            f"{counted(count, 'document')} can't be compared: no sketch of {rule.measure.name} is stored; "
            "neardup index or annotate adds it",
            level="warning",
            not_comparable=count,
        )


def tell_uncompared(found: Uncompared, rule: MatchRule) -> None:
    """Say what of a store no rule compares, and what this one can't."""
    kinds = (
        (found.empty, "without text"),
        (found.short, "with too few words (see --include-short)"),
        (found.refused, "refused (see neardup failures)"),
    )
    if count := sum(number for number, _ in kinds):
        shown = ", ".join(f"{number:,} {kind}" for number, kind in kinds if number)
        say(f"{counted(count, 'document')} not compared: {shown}", not_comparable=count)
    tell_lacking(found.not_comparable, rule)
