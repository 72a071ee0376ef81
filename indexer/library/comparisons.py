"""The results of comparing two documents, declared as those in `indexer.library.records`."""

from __future__ import annotations

from dataclasses import dataclass

from indexer.library.records import Fact, Query
from indexer.text.differences import Difference
from indexer.text.excerpts import Excerpt


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two documents beside each other.

    Attributes:
        rule: The match rule
        near: True if the two are near by it
        identical: True if the texts are equal except for case and white space; null if unknown
        similarity: The similarity (0 to 1) by the measure of the rule
        shares: The share (0 to 1) of 5-word shingles that are in both; null if unknown
        estimated: True if `shares` comes from sketches
        bits: How many of the 64 bits of the simhash differ; null if unknown
        of_a: How much of the first stands in the second (0 to 1), by an alignment; null if a text can't be read
        of_b: How much of the second stands in the first (0 to 1); null likewise
        label: "contains" if most of the second stands in the first, "contained in" if it is the other way round, "near"
            if both, "shares" for less, empty for nothing
        longest: The number of words of the longest passage in both; null if a text can't be read
        passages_total: In how many passages the two texts agree; null likewise
        passages: The longest 100 of these, in the order of the first, which is called the query there
        relation: How the first text stands to the second, if they are near: "identical", "reflowed", "noise", "form",
            "reworded", "edited", "contains" or "part"; empty if they are not, or can't be read
        evidence: What differs, in one line
        facts: Of a form, the facts that differ
        order: How the first stands in time to the second, if they are near: "newer", "older" or "unknown"
        order_confidence: How sure that is, 0 to 1; 0 if unknown
        order_evidence: Why; empty if unknown
        a: The first document
        b: The second document
    """

    rule: str
    near: bool
    identical: bool | None
    similarity: float
    shares: float | None
    estimated: bool
    bits: int | None
    of_a: float | None
    of_b: float | None
    label: str
    longest: int | None
    passages_total: int | None
    passages: tuple[Excerpt, ...]
    relation: str
    evidence: str
    facts: tuple[Fact, ...]
    order: str
    order_confidence: float
    order_evidence: str
    a: Query
    b: Query


@dataclass(frozen=True, slots=True)
class TextDifference(Difference):
    """The changes that turn one document's text into another's.

    Attributes:
        relation: How the first text stands to the second: "identical", "reflowed", "noise", "form", "reworded",
            "edited", "contains" or "part"; empty for texts of very many words
        evidence: What differs, in one line
        facts: Of a form, the facts that differ
        order: How the first stands in time to the second: "newer", "older" or "unknown"
        order_confidence: How sure that is, 0 to 1; 0 if unknown
        order_evidence: Why; empty if unknown
        replaced: The sentences that are changed, each as in the first text and in the second, cut to 60 characters
        only_a: The sentences that stand in the first text only, frame apart
        only_b: Those that stand in the second only
        moved: Those that stand in both, in another place
    """

    relation: str = ""
    evidence: str = ""
    facts: tuple[Fact, ...] = ()
    order: str = ""
    order_confidence: float = 0.0
    order_evidence: str = ""
    replaced: tuple[tuple[str, str], ...] = ()
    only_a: tuple[str, ...] = ()
    only_b: tuple[str, ...] = ()
    moved: tuple[str, ...] = ()
