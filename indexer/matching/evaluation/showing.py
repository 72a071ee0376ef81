"""An evaluation as a table, in words and as curves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from indexer.matching.evaluation.figures import plain_figures
from indexer.matching.evaluation.judging import BANDS, Evaluation, Judged, Point
from indexer.text.counts import counted

COLUMNS = (
    "rule",
    *(f"J {low:.1f}" for low, _ in BANDS),
    "precision",
    "recall",
    "F1",
    "from",
    "best from",
    "best F1",
    "MB/s",
    "docs/s",
    "bytes/doc",
    "cand/query",
    "keys",
    "us/query",
)


PART_COLUMNS = ("rule", "words", "misread", "found", "first", "wrong", "candidates")


def part_rows(evaluation: Evaluation) -> Iterator[tuple[str, ...]]:
    for result in evaluation.results:
        for part in evaluation.parts.get(result.rule.written(whole=True), ()):
            yield (
                result.rule.name,
                f"{part.words:,}",
                f"{part.misread:.0%}",
                *(f"{share:.1%}" for share in (part.found, part.first, part.wrong)),
                f"{part.candidates:,.1f}",
            )


def rows(evaluation: Evaluation) -> Iterator[tuple[str, ...]]:
    for result, figures in zip(evaluation.results, plain_figures(evaluation).rules, strict=True):
        yield (
            result.rule.name,
            *judged_cells(result.judged, result.rule.measure.similarity),
            f"{figures.megabytes_per_second:.1f}",
            f"{figures.documents_per_second:,.0f}",
            f"{figures.payload_octets + figures.key_octets:,.0f}",
            f"{result.candidates:,.1f}",
            f"{result.probes:,}",
            f"{result.lookup_seconds * 1e6:,.0f}",
        )


def judged_cells(judged: Judged, threshold: float) -> Iterator[str]:
    yield from map(_share, judged.recall)
    yield from map(_share, (judged.precision, judged.overall, judged.f1))
    yield f"{threshold:.3g}"
    yield f"{judged.best.threshold:.2f}"
    yield _share(judged.best.f1)


def heading(figures: Evaluation) -> Iterator[str]:
    by_band = ", ".join(f"{count:,} from {low:.1f}" for (low, _), count in zip(BANDS, figures.band_pairs, strict=True))
    documents = counted(figures.documents, "document")
    yield f"{documents}, {figures.text_bytes / 1e6:,.1f} MB of text; pairs by Jaccard: {by_band}"
    yield f"wanted: {counted(figures.wanted, 'pair')} ({figures.truth})"
    yield from figures.notes


def in_words(evaluation: Evaluation, first: int = 2) -> Iterator[str]:
    for result in evaluation.results[:first]:
        judged = result.judged
        wrong = f"{judged.wrong:,} of them wrong" if judged.wrong else "none of them wrong"
        share = "" if judged.overall is None else f", and finds {judged.overall:.1%} of what should be found"
        yield f"{result.rule.in_words} calls {counted(judged.returned, 'pair')} near, {wrong}{share}"
        if result.relations:
            said = ", ".join(f"{count:,} {word}" for word, count in result.relations.items())
            looked_at = sum(result.relations.values())
            some = f"of {looked_at:,} of these" if looked_at < judged.returned else "of these"
            yield f"{some}, by their texts: {said}"


def _share(share: float | None) -> str:
    return "-" if share is None else f"{share:.3f}"


def picture(evaluation: Evaluation) -> str:
    import leather

    chart = leather.Chart("Precision over recall")
    chart.add_x_scale(0, 1)
    chart.add_y_scale(0, 1)
    chart.add_x_axis(name="recall", ticks=[0, 0.25, 0.5, 0.75, 1])
    chart.add_y_axis(name="precision", ticks=[0, 0.25, 0.5, 0.75, 1])
    for result in evaluation.results:
        points = _line(result.judged.curve)
        if points:
            chart.add_line(points, name=result.rule.name)
    svg: str = chart.to_svg()
    return svg


def _line(curve: Sequence[Point]) -> list[tuple[float, float]]:
    points = [
        (point.recall, point.precision)
        for point in reversed(curve)
        if point.recall is not None and point.precision is not None
    ]
    return list(dict.fromkeys(points))
