"""The kinds of panels in dashboards, and their queries; both products know all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from types import MappingProxyType
from typing import Any, Literal

from data_views import VIEWS

# The oldest that a product has: they warn of a specification that is newer than their library, and of no older one.
_LITE = "https://vega.github.io/schema/vega-lite/v4.json"


@dataclass(frozen=True, slots=True)
class Aggregation:
    """One aggregation of a classic visualisation: its kind, its role there ("metric", "segment", "group", "bucket")."""

    kind: str
    role: str
    params: Mapping[str, Any]


def count(label: str) -> Aggregation:
    """How many."""
    return Aggregation("count", "metric", {"customLabel": label})


def measure(kind: Literal["sum", "max"], name: str, label: str) -> Aggregation:
    """A number of a field's."""
    return Aggregation(kind, "metric", {"field": name, "customLabel": label})


def terms(name: str, label: str, size: int, role: str = "segment") -> Aggregation:
    """The most frequent values of a field; documents without one count as unknown."""
    order = {"orderBy": "1", "order": "desc", "size": size, "otherBucket": False, "otherBucketLabel": "others"}
    missing = {"missingBucket": True, "missingBucketLabel": "unknown"}
    return Aggregation("terms", role, {"field": name, **order, **missing, "customLabel": label})


def filters(parts: Mapping[str, str], role: str = "group") -> Aggregation:
    """Parts by their queries, under their labels."""
    made = [{"input": {"query": query, "language": "lucene"}, "label": label} for label, query in parts.items()]
    return Aggregation("filters", role, {"filters": made})


def over_time(name: str, label: str, interval: str = "auto") -> Aggregation:
    """By time; "auto" is as fine as the chosen range allows, and needs the view's own field of time."""
    how = {"scaleMetricValues": False, "interval": interval, "drop_partials": False}
    return Aggregation(
        "date_histogram",
        "segment",
        {"field": name, **how, "min_doc_count": 1, "extended_bounds": {}, "customLabel": label},
    )


def in_ranges(name: str, label: str, bounds: Sequence[int]) -> Aggregation:
    """The shares of a field between percentages, the last of which stands for all of it.

    A histogram with a step below 1 would do, but its bars filter by whole numbers when they are clicked.
    """
    ranges = [
        {"from": low / 100, "to": high / 100, "label": f"{low}\u2013{high - 1}%"} for low, high in pairwise(bounds)
    ]
    ranges.append({"from": bounds[-1] / 100, "label": f"{bounds[-1]}%"})
    return Aggregation("range", "segment", {"field": name, "ranges": ranges, "customLabel": label})


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """A name for the id, a title, a sentence, and a place in 48 columns, as all panels have them."""

    name: str
    title: str
    about: str = ""
    width: int = 24
    height: int = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric(Panel):
    """Numbers."""

    view: str
    query: str
    aggregations: tuple[Aggregation, ...]
    height: int = 7


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart(Panel):
    """Bars, standing or lying; small ones can be seen on a scale of square roots."""

    view: str
    query: str
    aggregations: tuple[Aggregation, ...]
    shape: Literal["histogram", "horizontal_bar"] = "histogram"
    axis: str = "documents"
    scale: Literal["linear", "square root"] = "linear"
    colors: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Table(Panel):
    """Counts by one field or two, a row for each, by the first of the `narrow` columns, which have so many pixels."""

    view: str
    query: str
    aggregations: tuple[Aggregation, ...]
    narrow: Mapping[int, int]
    height: int = 14


@dataclass(frozen=True, slots=True, kw_only=True)
class Search(Panel):
    """A saved search: rows of documents, a line each; `narrow` columns have so many pixels, the others share the rest.

    OpenSearch Dashboards knows neither, and makes columns as wide as what is in them.
    """

    view: str
    query: str
    columns: tuple[str, ...]
    sort: tuple[tuple[str, str], ...]
    narrow: Mapping[str, int] = field(default_factory=dict)
    width: int = 48
    height: int = 17


@dataclass(frozen=True, slots=True, kw_only=True)
class Vega(Panel):
    """A Vega-Lite chart of the buckets of one aggregation; not `timed`, it is of all times."""

    view: str
    timed: bool = True
    aggregation: Mapping[str, Any]
    drawing: Mapping[str, Any]
    height: int = 7

    def specification(self) -> dict[str, Any]:
        """The Vega-Lite specification."""
        view = VIEWS[self.view]
        url = {
            "%context%": True,
            **({"%timefield%": view.time_field} if self.timed and view.time_field else {}),
            "index": view.title,
            "body": {"size": 0, "aggs": {"parts": self.aggregation}},
        }
        data = {"url": url, "format": {"property": "aggregations.parts.buckets"}}
        return {"$schema": _LITE, "data": data, **self.drawing}


def number(
    *,
    query: Mapping[str, Any],
    calculated: str,
    shown: str,
    sums: Mapping[str, Any] = MappingProxyType({}),
    **panel: Any,
) -> Vega:
    """One large number, calculated from the bucket of a query and its `sums`."""
    drawing = {
        "transform": [{"calculate": calculated, "as": "number"}],
        "mark": {"type": "text", "fontSize": 36, "fontWeight": "bold", "color": "#69707D"},
        "encoding": {"text": {"field": "number", "type": "quantitative", "format": shown}},
        "config": {"view": {"stroke": None}},
    }
    return Vega(**panel, aggregation={"filters": {"filters": [query]}, "aggs": dict(sums)}, drawing=drawing)


@dataclass(frozen=True, slots=True, kw_only=True)
class Controls(Panel):
    """Lists to choose from: fields and their labels. A choice narrows every panel."""

    view: str
    fields: tuple[tuple[str, str], ...]
    width: int = 48
    height: int = 6


@dataclass(frozen=True, slots=True)
class Dashboard:
    """A dashboard; INDEX in its title is the index's name."""

    name: str
    title: str
    about: str
    panels: tuple[Panel, ...] = field(default=())
