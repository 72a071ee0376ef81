"""The figures of an evaluation, for JSON and programs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from indexer.matching.evaluation.judging import BANDS, Evaluation, PartFigures, Point, Result
from indexer.matching.rule import Finder


@dataclass(frozen=True, slots=True)
class Band:
    """The pairs of documents in a range of Jaccard coefficients.

    Attributes:
        low: The least coefficient
        high: The largest coefficient
        pairs: The number of pairs
    """

    low: float
    high: float
    pairs: int


@dataclass(frozen=True, slots=True)
class MeasuredFinder:
    """A measured finder of a rule.

    Attributes:
        scheme: The scheme with its parameters
        similarity: The least similarity (0 to 1)
    """

    scheme: str
    similarity: float


@dataclass(frozen=True, slots=True)
class RuleFigures:
    """The figures of one rule.

    Attributes:
        rule: The match rule with all parameters
        finders: Its finders
        measure: The measure of its similarities
        threshold: The least similarity (0 to 1)
        recall_by_band: The share of the pairs of each band found; null for a band without pairs
        precision: The share of returned pairs that are right; null for none
        recall: The share of the wanted pairs returned; null for none
        f1: The harmonic mean of precision and recall
        returned: The pairs returned
        wrong: The returned pairs that are wrong
        relations: The relations of their texts, of at most 1,000 taken evenly: "identical", "reflowed", "noise",
            "rendition", "form", "reworded", "edited", "contains", "part", or "too long" to be compared
        best: The point of the curve with the largest F1
        curve: Precision and recall by threshold
        megabytes_per_second: The text sketched in a second, by one thread
        documents_per_second: The documents sketched in a second, by one thread
        payload_octets: The bytes of sketches of a document, on average
        key_octets: The bytes of keys of a document, on average
        candidates_per_query: The candidates of a lookup, on average
        keys_asked: The largest number of keys of a lookup
        lookup_seconds: The time of a lookup in memory, on average
        without_fingerprint: Documents without a fingerprint
        parts: With --parts, the share of passages found, by length and share of misread letters; else empty
    """

    rule: str
    finders: tuple[MeasuredFinder, ...]
    measure: str
    threshold: float
    recall_by_band: tuple[float | None, ...]
    precision: float | None
    recall: float | None
    f1: float | None
    returned: int
    wrong: int
    relations: Mapping[str, int]
    best: Point
    curve: tuple[Point, ...]
    megabytes_per_second: float
    documents_per_second: float
    payload_octets: float
    key_octets: float
    candidates_per_query: float
    keys_asked: int
    lookup_seconds: float
    without_fingerprint: int
    parts: tuple[PartFigures, ...]


@dataclass(frozen=True, slots=True)
class EvaluationFigures:
    """The figures of an evaluation.

    Attributes:
        documents: The documents compared
        bytes: The size of their texts
        bands: The pairs of documents by their Jaccard coefficient
        wanted: The pairs to find
        truth: The source of the wanted pairs
        notes: Sentences on documents left out, and on a better fitting kind of texts
        rules: The figures of each rule
    """

    documents: int
    bytes: int
    bands: tuple[Band, ...]
    wanted: int
    truth: str
    notes: tuple[str, ...]
    rules: tuple[RuleFigures, ...]


def plain_figures(evaluation: Evaluation) -> EvaluationFigures:
    return EvaluationFigures(
        documents=evaluation.documents,
        bytes=evaluation.text_bytes,
        bands=tuple(
            Band(low, high, count) for (low, high), count in zip(BANDS, evaluation.band_pairs, strict=True)
        ),
        wanted=evaluation.wanted,
        truth=evaluation.truth,
        notes=evaluation.notes,
        rules=tuple(_rule(evaluation, result) for result in evaluation.results),
    )  # fmt: skip


def _rule(evaluation: Evaluation, result: Result) -> RuleFigures:
    rule, judged, seconds = result.rule, result.judged, max(result.seconds, 1e-9)
    return RuleFigures(
        rule=rule.written(whole=True),
        finders=tuple(MeasuredFinder(finder.scheme.id, finder.similarity) for finder in rule.finders),
        measure=rule.measure.scheme.measure if isinstance(rule.measure, Finder) else rule.measure.name,
        threshold=rule.measure.similarity,
        recall_by_band=judged.recall,
        precision=judged.precision,
        recall=judged.overall,
        f1=judged.f1,
        returned=judged.returned,
        wrong=judged.wrong,
        relations=result.relations,
        best=judged.best,
        curve=judged.curve,
        megabytes_per_second=evaluation.text_bytes / 1e6 / seconds,
        documents_per_second=evaluation.documents / seconds,
        payload_octets=result.payload_bytes,
        key_octets=result.key_bytes,
        candidates_per_query=result.candidates,
        keys_asked=result.probes,
        lookup_seconds=result.lookup_seconds,
        without_fingerprint=result.without,
        parts=evaluation.parts.get(rule.written(whole=True), ()),
    )
