"""The results of comparing two documents, declared as in `neardup.library.records`."""

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
        shares: The share (0 to 1) of 5-word shingles common to both; null if unknown
        estimated: True if `shares` comes from sketches
        bits: The number of differing bits of the simhash's 64; null if unknown
        of_a: The share of the first found in the second (0 to 1), by an alignment; null if a text can't be read
        of_b: The share of the second found in the first (0 to 1); null likewise
        label: "contains" if the second is mostly in the first, "contained in" for the opposite, "near" for both,
            "shares" for less, empty for nothing
        longest: The number of words of the longest passage in both; null if a text can't be read
        passages_total: The number of common passages of the two texts; null likewise
        passages: The longest 100 of these, in the order of the first, called the query there
        relation: The relation of the first text to the second, if they are near: "identical", "reflowed", "noise",
            "rendition", "form", "reworded", "edited", "contains" or "part"; empty if they are not, or can't be read
        evidence: The difference, in one line
        facts: Of a form, the differing facts
        order: The place of the first in time, if they are near: "newer" or "older" than the second, or "unknown"
        order_confidence: The confidence in the order, 0 to 1; 0 if unknown
        order_evidence: The reason; empty if unknown
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
    """The changes from one document's text to another's.

    Attributes:
        relation: The relation of the first text to the second: "identical", "reflowed", "noise", "rendition", "form",
            "reworded", "edited", "contains" or "part"; empty for very long texts
        evidence: The difference, in one line
        facts: Of a form, the differing facts
        order: The place of the first in time: "newer" or "older" than the second, or "unknown"
        order_confidence: The confidence in the order, 0 to 1; 0 if unknown
        order_evidence: The reason; empty if unknown
        replaced: The changed sentences, each from both texts, cut to 60 characters
        only_a: The sentences found only in the first text, frame apart
        only_b: The sentences found only in the second text
        moved: The sentences of both texts in another place
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
