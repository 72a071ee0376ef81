"""The report as one self-contained HTML page."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from importlib import resources
from typing import Any

import leather
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from indexer.ingest.left_out import REASONS
from indexer.report.contents import NUMBERS, ComparedTexts, ReportContents, ShownPair
from indexer.report.counting import NOT_COMPARED
from indexer.report.deciding import decisions_data, described, sample_data, titled
from indexer.report.figures import NamedShare
from indexer.text.counts import counted, share_shown
from indexer.text.differences import Piece, shortened
from indexer.text.visible import beginning, printable

# What is said of each relation beside its name.
RELATIONS = {
    "identical": "equal except for case and white space",
    "reflowed": "all sentences are equal and in order: other lines, hyphens or frame",
    "noise": "all sentences are equal, except for misread words",
    "rendition": "one work in another format, or in another frame on each side",
    "form": "a fact is replaced: a number, a date, a code, a name, a negation",
    "reworded": "another word is replaced, moved or inserted in a sentence",
    "edited": "sentences are missing or moved, none is changed",
    "contains": "holds all of what it repeats and much more",
    "part": "stands in what it repeats, which has much more",
    "unverified": "a text could not be read",
    "": "not known: neardup cluster --relation notes it",
}
# The page stays below 10 MB: this many characters for clusters, for deciding about them, and so on.
_CLUSTER_ROOM = 1_200_000
_DECIDE_ROOM = 5_300_000
_PAIR_ROOM = 1_200_000
_PASSAGE_ROOM = 600_000
_ONE_PAIR_ROOM = 60_000
_FORM_ROOM = 400_000
_SAMPLE_ROOM = 800_000
_LONGEST = 200
_SCRIPTS = ("report.js", "choices.js", "decide.js", "judge.js")
_CHART_WIDTH, _CHART_HEIGHT = 560, 240
# Characters that fit below a chart; of more names, every so-manieth is written.
_LABEL_ROOM = 66


@dataclass(frozen=True, slots=True)
class _DiffRow:
    """A row of a difference: pieces side by side, or a number of skipped words."""

    pieces: tuple[Piece, ...] = ()
    skipped: int = 0


def report_html(report: ReportContents, version: str) -> str:
    environment = _environment(report)
    style, script = _asset("report.css") + _asset("decide.css"), "".join(map(_asset, _SCRIPTS))
    deciding, decidable = decisions_data(report, _DECIDE_ROOM)
    cluster_template, pair_template = environment.get_template("cluster.html"), environment.get_template("pair.html")
    clusters = _fitting((cluster_template.render(cluster=shown) for shown in report.clusters), _CLUSTER_ROOM)
    pairs = _fitting((_pair(pair_template, shown) for shown in report.pairs), _PAIR_ROOM)
    passage_template = environment.get_template("passage.html")
    every = report.passages.passages if report.passages else ()
    passages = _fitting(
        (passage_template.render(passage=passage, first=first) for passage, first in every), _PASSAGE_ROOM
    )
    form_template = environment.get_template("form.html")
    forms = _fitting((form_template.render(form=form) for form in report.forms), _FORM_ROOM)
    numbers = report.figures
    left_out, undecided = "Left out", "Not offered for decisions"
    notes = [
        f"{what}, to keep this file small: {counted(count, noun)}."
        for what, count, noun in (
            (left_out, len(every) - len(passages), "passage"),
            (left_out, len(report.clusters) - len(clusters), "cluster"),
            (undecided, len(report.clusters) - decidable, "cluster"),
            (left_out, len(report.pairs) - len(pairs), "pair"),
        )
        if count
    ]
    page = environment.get_template("report.html").render(
        report=report,
        version=version,
        style=Markup(style),  # noqa: S704 - our own file
        script=Markup(script),  # noqa: S704 - our own file
        style_hash=Markup(_csp_hash(style)),  # noqa: S704 - base64
        script_hash=Markup(_csp_hash(script)),  # noqa: S704 - base64
        parts=[
            _part("By format", "Format", "Documents by format", numbers.by_format),
            _part("By source", "Host or folder", "Documents by host or folder", numbers.by_source),
            _part("Over time", "Time", "Documents by their dates", numbers.by_time),
        ],
        size_chart=_chart(
            "Clusters by size", [(shown.label.replace(" to ", "-"), shown.clusters) for shown in numbers.cluster_sizes]
        ),
        similarity_chart=_chart(
            "Repeating documents by similarity",
            [(shown.label.replace(" to ", "-").removesuffix("%"), shown.documents) for shown in numbers.similarities],
        ),
        why={**REASONS, **NOT_COMPARED},
        clusters=clusters,
        deciding=Markup(deciding),  # noqa: S704 - JSON without what ends a script
        decidable=decidable,
        sampled=_sampled(environment.get_template("sampled.html"), report),
        judging=Markup(sample_data(report.sample)) if report.sample else "",  # noqa: S704 - like that
        pairs=pairs,
        passages=passages,
        forms=forms,
        relation_why=RELATIONS,
        notes=notes,
    )
    # Halves of surrogate pairs were made visible; whatever else has no UTF-8 must not stop the report.
    return page.lstrip().encode("utf-8", "backslashreplace").decode("utf-8")


def _environment(report: ReportContents) -> Environment:
    environment = Environment(
        loader=PackageLoader("indexer.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_safe,
    )
    environment.filters |= {
        **NUMBERS,
        "bytes": _bytes,
        "cut": _cut,
        "near": report.rule.shown,
        "cut_path": lambda text: _cut_path(text.removeprefix(report.above)),
        "titled": lambda record: titled(record)[0],
        "where": lambda record: titled(record, report.above)[1],
        "link": lambda record: report.links.get(record.ref, ""),
        "beginning": beginning,
        "whole": share_shown,
    }
    return environment


def _safe(value: Any) -> Any:
    # Escaping comes after: this is about what would not be seen, or would turn the line around.
    return printable(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _cut(text: str, longest: int = _LONGEST) -> str:
    return text if len(text) <= longest else text[: longest - 1] + "…"


def _cut_path(text: str) -> str:
    # The end of a path says more than its beginning.
    return text if len(text) <= _LONGEST else "…" + text[1 - _LONGEST :]


def _bytes(value: int) -> str:
    size = float(value)
    for unit in ("B", "kB", "MB", "GB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} TB"


def _asset(name: str) -> str:
    return resources.files("indexer.report").joinpath("templates", name).read_text("utf-8")


def _csp_hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def _fitting(blocks: Iterable[str], room: int) -> list[Markup]:
    kept: list[Markup] = []
    for block in blocks:
        room -= len(block.encode("utf-8", "replace"))
        if room < 0:
            break
        kept.append(Markup(block))  # noqa: S704 - rendered with escaping
    return kept


def _part(caption: str, head: str, alone: str, shares: Sequence[NamedShare]) -> tuple[Any, ...]:
    bars = [(_cut(share.name, 14), 100 * share.repeating_share) for share in shares]
    # Names of hosts and folders are too long to stand below columns.
    chart = None if head == "Host or folder" else _chart(f"{caption}: repeating part in percent", bars, 100.0)
    return caption, head, alone, shares, chart


def _chart(label: str, bars: Sequence[tuple[str, float]], highest: float = 0.0) -> Markup | None:
    if len(bars) < 2 or not any(value for _, value in bars):
        return None
    if len({name for name, _ in bars}) < len(bars):
        # leather places columns by name.
        return None
    step = -(-len(bars) * max(len(name) + 2 for name, _ in bars) // _LABEL_ROOM)
    names = [printable(name) if not place % step else " " * place for place, (name, _) in enumerate(bars)]
    highest = highest or max(value for _, value in bars)
    chart = leather.Chart()
    chart.add_columns([(name, value) for name, (_, value) in zip(names, bars, strict=True)])
    chart.add_y_scale(0, highest)
    chart.add_y_axis(tick_formatter=lambda value, _index, _ticks: f"{value:,.0f}" if value == int(value) else "")
    svg = chart.to_svg(width=_CHART_WIDTH, height=_CHART_HEIGHT)
    drawing = svg[svg.index("<svg") :].replace(
        f'<svg width="{_CHART_WIDTH}" height="{_CHART_HEIGHT}"',
        Markup('<svg role="img" aria-label="{}" viewBox="0 0 {} {}"').format(label, _CHART_WIDTH, _CHART_HEIGHT),
        1,
    )
    return Markup(drawing.replace('fill="#f9f9f9"', 'fill="none"', 1))  # noqa: S704 - leather escapes its names


def _pair(template: Any, pair: ShownPair) -> str:
    rows, cut = _rows(pair, _ONE_PAIR_ROOM)
    return str(template.render(pair=pair, rows=rows, cut=cut))


def _sampled(template: Any, report: ReportContents) -> list[Markup]:
    shown, sample = list[Markup](), report.sample
    for number, pair in enumerate(sample.pairs if sample else ()):
        room = _SAMPLE_ROOM // len(sample.pairs) if sample else 0
        about = {"number": number, "left": described(pair.left, report), "right": described(pair.right, report)}
        for size in (room, room // 8):
            rows, cut = _rows(pair, size)
            html = template.render(pair=pair, rows=rows, cut=cut, **about)
            if len(html.encode("utf-8", "replace")) <= room:
                break
        else:
            html = template.render(pair=replace(pair, difference=None, why="they are too long for this file"), **about)
        shown.append(Markup(html))  # noqa: S704 - rendered with escaping
    return shown


def _rows(pair: ComparedTexts, room: int) -> tuple[list[_DiffRow], bool]:
    if pair.difference is None or not (pair.difference.removed or pair.difference.added):
        return [], False
    rows: list[_DiffRow] = []
    open_: list[Piece] = []
    for whole in shortened(pair.difference.pieces):
        if room <= 0:
            break
        left, right = printable(whole.left[:room])[:room], printable(whole.right[:room])[:room]
        room -= len(left) + len(right)
        piece = replace(whole, left=left, right=right)
        if piece.kind != "skipped":
            open_.append(piece)
            continue
        if open_:
            rows.append(_DiffRow(tuple(open_)))
            open_ = []
        rows.append(_DiffRow(skipped=piece.words))
    if open_:
        rows.append(_DiffRow(tuple(open_)))
    return rows, room <= 0
