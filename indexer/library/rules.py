"""Match rules as written, as objects, or by short options."""

from __future__ import annotations

from typing import TYPE_CHECKING

from indexer.matching.request import RuleRequest, Way
from indexer.matching.rule import MatchRule, parse_rule
from indexer.matching.shorthand import explained
from indexer.matching.shorthand import rule_of as short_rule

if TYPE_CHECKING:
    from indexer.stores.base import Store

__all__ = ["AnyRule", "MatchRule", "RuleRequest", "Way", "explained", "is_asked", "rule_of"]

AnyRule = str | MatchRule | RuleRequest | None
"""A rule as written, as an object, or as the short options of the command ask for one; None for the store's default."""


def is_asked(match: AnyRule) -> bool:
    """True if a rule is asked for."""
    return match.given if isinstance(match, RuleRequest) else match is not None


def rule_of(match: AnyRule, store: Store | None = None, *, hashes: bool = False) -> MatchRule:
    """The requested rule, else the store's default, without a store that of a new one.

    With `hashes` the default is by hashes of simhash-doc alone. Raises UsageError, and IncompatibleStoreError if the
    store has a scheme with other parameters.
    """
    if isinstance(match, MatchRule):
        return match
    return (
        parse_rule(match, store) if isinstance(match, str) else short_rule(match or RuleRequest(), store, hashes=hashes)
    )
