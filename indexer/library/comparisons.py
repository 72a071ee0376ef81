"""The results of comparing two documents, declared as in `neardup.library.records`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from indexer.library.records import Query, RelatedTo
from indexer.text.differences import Difference
from indexer.text.excerpts import Excerpt


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison(RelatedTo):
    """Two documents beside each other."""

    rule: Annotated[str, "The match rule"]
    near: Annotated[bool, "True if the two are near by it"]
    identical: Annotated[bool | None, "True if the texts are equal except for case and white space; null if unknown"]
    similarity: Annotated[float, "The similarity (0 to 1) by the measure of the rule"]
    shares: Annotated[float | None, "The share (0 to 1) of 5-word shingles common to both; null if unknown"]
    estimated: Annotated[bool, "True if `shares` comes from sketches"]
    bits: Annotated[int | None, "The number of differing bits of the simhash's 64; null if unknown"]
    of_a: Annotated[float | None, "The share of the first found in the second (0 to 1), by an alignment; null if a "
        "text can't be read"]  # fmt: skip
    of_b: Annotated[float | None, "The share of the second found in the first (0 to 1); null likewise"]
    label: Annotated[str, '"contains" if the second is mostly in the first, "contained in" for the opposite, "near" '
        'for both, "shares" for less, empty for nothing']  # fmt: skip
    longest: Annotated[int | None, "The number of words of the longest passage in both; null if a text can't be read"]
    passages_total: Annotated[int | None, "The number of common passages of the two texts; null likewise"]
    passages: Annotated[tuple[Excerpt, ...], "The longest 100 of these, in the order of the first, called the query "
        "there"]  # fmt: skip
    a: Annotated[Query, "The first document"]
    b: Annotated[Query, "The second document"]


@dataclass(frozen=True, slots=True)
class TextDifference(RelatedTo, Difference):
    """The changes from one document's text to another's."""

    replaced: Annotated[tuple[tuple[str, str], ...], "The changed sentences, each from both texts, cut to 60 "
        "characters"] = ()  # fmt: skip
    only_a: Annotated[tuple[str, ...], "The sentences found only in the first text, frame apart"] = ()
    only_b: Annotated[tuple[str, ...], "The sentences found only in the second text"] = ()
    moved: Annotated[tuple[str, ...], "The sentences of both texts in another place"] = ()
