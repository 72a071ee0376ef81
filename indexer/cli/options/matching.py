"""Options for what counts as near; `indexer.matching` decides what they mean."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from indexer.cli.terminal.output import say
from indexer.library.options import RuleRequest
from indexer.model.declared import Option

if TYPE_CHECKING:
    from indexer.library.rules import MatchRule


@dataclass(frozen=True, slots=True)
class Matching(RuleRequest):
    """The options of the match rule; `explain` asks for it in words."""

    heading = "What counts as near"

    explain: Annotated[bool, Option("Explain the lookup: its keys, its guarantees, and how much it may miss.")] = False


def show_rule(rule: MatchRule) -> None:
    from indexer.library.rules import explained

    for line in explained(rule):
        say(line)
