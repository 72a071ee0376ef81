"""Relations of documents in words, for people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from indexer.library.comparisons import Comparison, TextDifference
    from indexer.library.records import Match

    Related = Comparison | TextDifference | Match

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
