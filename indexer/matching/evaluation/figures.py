"""The figures of an evaluation, for JSON and programs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated


@dataclass(frozen=True, slots=True)
class Point:
    """Precision and recall of all candidates within a threshold."""

    threshold: Annotated[float, "The least similarity (0 to 1)"]
    precision: Annotated[float | None, "The share of returned pairs that are right; null for none"]
    recall: Annotated[float | None, "The share of the wanted pairs returned; null for none"]
    f1: Annotated[float | None, "The harmonic mean of precision and recall; null if one of them is"]


@dataclass(frozen=True, slots=True)
class PartFigures:
    """The passages taken out of the documents, and the share a rule finds."""

    words: Annotated[int, "The number of words of each passage"]
    misread: Annotated[float, "The share of its letters replaced by others (0 to 1)"]
    asked: Annotated[int, "The number of passages asked for"]
    found: Annotated[float, "The share of passages with their document found (0 to 1)"]
    first: Annotated[float, "The share of passages with half or more in the first answer (0 to 1)"]
    candidates: Annotated[float, "The documents compared for a passage, on average"]
    wrong: Annotated[float, "The share of all answers with less than 30% of the passage (0 to 1)"]


@dataclass(frozen=True, slots=True)
class Band:
    """The pairs of documents in a range of Jaccard coefficients."""

    low: Annotated[float, "The least coefficient"]
    high: Annotated[float, "The largest coefficient"]
    pairs: Annotated[int, "The number of pairs"]


@dataclass(frozen=True, slots=True)
class MeasuredFinder:
    """A measured finder of a rule."""

    scheme: Annotated[str, "The scheme with its parameters"]
    similarity: Annotated[float, "The least similarity (0 to 1)"]


@dataclass(frozen=True, slots=True)
class RuleFigures:
    """The figures of one rule."""

    rule: Annotated[str, "The match rule with all parameters"]
    finders: Annotated[tuple[MeasuredFinder, ...], "Its finders"]
    measure: Annotated[str, "The measure of its similarities"]
    threshold: Annotated[float, "The least similarity (0 to 1)"]
    recall_by_band: Annotated[tuple[float | None, ...], "The share of the pairs of each band found; null for a band "
        "without pairs"]  # fmt: skip
    precision: Annotated[float | None, "The share of returned pairs that are right; null for none"]
    recall: Annotated[float | None, "The share of the wanted pairs returned; null for none"]
    f1: Annotated[float | None, "The harmonic mean of precision and recall"]
    returned: Annotated[int, "The pairs returned"]
    wrong: Annotated[int, "The returned pairs that are wrong"]
    relations: Annotated[Mapping[str, int], 'The relations of their texts, of at most 1,000 taken evenly: "identical", '
        '"reflowed", "noise", "rendition", "form", "reworded", "edited", "contains", "part", or "too long" to be '
        'compared']  # fmt: skip
    best: Annotated[Point, "The point of the curve with the largest F1"]
    curve: Annotated[tuple[Point, ...], "Precision and recall by threshold"]
    megabytes_per_second: Annotated[float, "The text sketched in a second, by one thread"]
    documents_per_second: Annotated[float, "The documents sketched in a second, by one thread"]
    payload_octets: Annotated[float, "The bytes of sketches of a document, on average"]
    key_octets: Annotated[float, "The bytes of keys of a document, on average"]
    candidates_per_query: Annotated[float, "The candidates of a lookup, on average"]
    keys_asked: Annotated[int, "The largest number of keys of a lookup"]
    lookup_seconds: Annotated[float, "The time of a lookup in memory, on average"]
    without_fingerprint: Annotated[int, "Documents without a fingerprint"]
    parts: Annotated[tuple[PartFigures, ...], "With --parts, the share of passages found, by length and share of "
        "misread letters; else empty"] = ()  # fmt: skip


@dataclass(frozen=True, slots=True)
class EvaluationFigures:
    """The figures of an evaluation."""

    documents: Annotated[int, "The documents compared"]
    bytes: Annotated[int, "The size of their texts"]
    bands: Annotated[tuple[Band, ...], "The pairs of documents by their Jaccard coefficient"]
    wanted: Annotated[int, "The pairs to find"]
    truth: Annotated[str, "The source of the wanted pairs"]
    notes: Annotated[tuple[str, ...], "Sentences on documents left out, and on a better fitting kind of texts"]
    rules: Annotated[tuple[RuleFigures, ...], "The figures of each rule"]
