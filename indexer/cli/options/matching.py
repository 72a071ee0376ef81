"""Options for what counts as near; `indexer.matching` decides what they mean."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

import click

from indexer.cli.options.groups import Group, Related
from indexer.cli.terminal.output import say
from indexer.model.declared import Option

if TYPE_CHECKING:
    from indexer.library.rules import MatchRule, RuleRequest

# This many documents are named that could not be verified.

match_option = click.option(
    "--match",
    cls=Related,
    goes_with=["cluster", "skip_duplicates"],
    setting="rule",
    metavar="RULE",
    help="When documents are near. default finds by simhash or minhash and verifies by minhash. Others: "
    "simhash-doc@3bits, minhash@0.6, or simhash-doc@7bits+minhash@0.6, where the first scheme finds and the second "
    "verifies.  [default: default; simhash-doc@3bits in a store with simhash-doc alone]",
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
    """The options of the match rule, None by default; `explain` asks for the rule in words."""

    match: str | None = None
    distance: int | None = None
    similarity: Annotated[float | None, Option("The minimum similarity, 0 to 1, by --scheme or the best scheme of the "
        "store.", least=0, most=1, metavar="S", setting="rule")] = None  # fmt: skip
    scheme: Annotated[str | None, Option("Compare by this scheme of the store (see neardup schemes --store).",
        metavar="NAME", setting="rule")] = None  # fmt: skip
    verify: Annotated[Literal["hamming", "sketch", "text"] | None, Option("Verify candidates by the bits of the "
        "simhash (within -k), by stored sketches, or by the texts, read again.", setting="rule")] = None  # fmt: skip
    min_jaccard: Annotated[float | None, Option("With --verify sketch or text: the minimum share of common 5-word "
        "shingles among all of both documents.  [default: 0.6 by sketches, 0.5 by texts]", least=0, most=1, metavar="J",
        setting="rule")] = None  # fmt: skip
    min_containment: Annotated[float | None, Option("The minimum share of the shorter document's 5-word shingles in "
        "the other one. Texts are read again.", least=0, most=1, metavar="C", setting="rule")] = None  # fmt: skip
    explain: Annotated[bool, Option("Explain the lookup: its keys, its guarantees, and how much it may miss.")] = False

    @property
    def wanted(self) -> RuleRequest:
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


match_options = Group(Matching, match_option, distance_option, title="What counts as near")


def show_rule(rule: MatchRule) -> None:
    from indexer.library.rules import explained

    for line in explained(rule):
        say(line)
