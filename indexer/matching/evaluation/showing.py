"""An evaluation as a table, in words and as curves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from indexer.matching.evaluation.figures import EvaluationFigures, Point, RuleFigures
from indexer.matching.evaluation.judging import BANDS, Judged
from indexer.matching.rule import DEFAULT
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


def part_rows(names: Sequence[str], figures: EvaluationFigures) -> Iterator[tuple[str, ...]]:
    for name, rule in zip(names, figures.rules, strict=True):
        for part in rule.parts:
            yield (
                name,
                f"{part.words:,}",
                f"{part.misread:.0%}",
                *(f"{share:.1%}" for share in (part.found, part.first, part.wrong)),
                f"{part.candidates:,.1f}",
            )


def rows(names: Sequence[str], figures: EvaluationFigures) -> Iterator[tuple[str, ...]]:
    for name, rule in zip(names, figures.rules, strict=True):
        yield (
            name,
            *judged_cells(rule, rule.threshold),
            f"{rule.megabytes_per_second:.1f}",
            f"{rule.documents_per_second:,.0f}",
            f"{rule.payload_octets + rule.key_octets:,.0f}",
            f"{rule.candidates_per_query:,.1f}",
            f"{rule.keys_asked:,}",
            f"{rule.lookup_seconds * 1e6:,.0f}",
        )


def judged_cells(judged: Judged | RuleFigures, threshold: float) -> Iterator[str]:
    yield from map(_share, judged.recall_by_band)
    yield from map(_share, (judged.precision, judged.recall, judged.f1))
    yield f"{threshold:.3g}"
    yield f"{judged.best.threshold:.2f}"
    yield _share(judged.best.f1)


def heading(figures: EvaluationFigures) -> Iterator[str]:
    by_band = ", ".join(f"{band.pairs:,} from {band.low:.1f}" for band in figures.bands)
    documents = counted(figures.documents, "document")
    yield f"{documents}, {figures.bytes / 1e6:,.1f} MB of text; pairs by Jaccard: {by_band}"
    yield f"wanted: {counted(figures.wanted, 'pair')} ({figures.truth})"
    yield from figures.notes


def in_words(names: Sequence[str], figures: EvaluationFigures, first: int = 2) -> Iterator[str]:
    for name, rule in zip(names[:first], figures.rules, strict=False):
        wrong = f"{rule.wrong:,} of them wrong" if rule.wrong else "none of them wrong"
        share = "" if rule.recall is None else f", and finds {rule.recall:.1%} of what should be found"
        called = "the default rule" if name == DEFAULT else name
        yield f"{called} calls {counted(rule.returned, 'pair')} near, {wrong}{share}"
        if rule.relations:
            said = ", ".join(f"{count:,} {word}" for word, count in rule.relations.items())
            looked_at = sum(rule.relations.values())
            some = f"of {looked_at:,} of these" if looked_at < rule.returned else "of these"
            yield f"{some}, by their texts: {said}"


def _share(share: float | None) -> str:
    return "-" if share is None else f"{share:.3f}"


def picture(names: Sequence[str], figures: EvaluationFigures) -> str:
    import leather

    chart = leather.Chart("Precision over recall")
    chart.add_x_scale(0, 1)
    chart.add_y_scale(0, 1)
    chart.add_x_axis(name="recall", ticks=[0, 0.25, 0.5, 0.75, 1])
    chart.add_y_axis(name="precision", ticks=[0, 0.25, 0.5, 0.75, 1])
    for name, rule in zip(names, figures.rules, strict=True):
        points = _line(rule.curve)
        if points:
            chart.add_line(points, name=name)
    svg: str = chart.to_svg()
    return svg


def _line(curve: Sequence[Point]) -> list[tuple[float, float]]:
    points = [
        (point.recall, point.precision)
        for point in reversed(curve)
        if point.recall is not None and point.precision is not None
    ]
    return list(dict.fromkeys(points))
