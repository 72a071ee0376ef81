"""What the dashboards show: the panels of each dashboard, said once for both products."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from data_views import MEMBER_COLUMNS, MEMBER_ORDER, VIEWS

RECORDS = "_exists_:neardup.tokens"
# A document that repeats one which is kept.
REDUNDANT = "_exists_:neardup.cluster.repeats"
# A document that has left its cluster is canonical in one of its own, and has no class of size.
IN_CLUSTER = "_exists_:neardup.cluster.size_class"
KEPT = f"{RECORDS} AND NOT {REDUNDANT}"
_SIZES = (2, 3, 4, 5, 6, 11, 21, 51, 101, 1001, 10_001, 100_001)
# The oldest that a product has: they warn of a specification that is newer than their library, and of no older one.
_LITE = "https://vega.github.io/schema/vega-lite/v4.json"


@dataclass(frozen=True, slots=True)
class Aggregation:
    """One aggregation of a classic visualisation: its kind, its role there ("metric", "segment" or "group")."""

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
    """The most frequent values of a field; what has none is counted as unknown."""
    order = {"orderBy": "1", "order": "desc", "size": size, "otherBucket": False, "otherBucketLabel": "others"}
    missing = {"missingBucket": True, "missingBucketLabel": "unknown"}
    return Aggregation("terms", role, {"field": name, **order, **missing, "customLabel": label})


def filters(parts: Mapping[str, str], role: str = "group") -> Aggregation:
    """Parts by their queries, under their labels."""
    made = [{"input": {"query": query, "language": "lucene"}, "label": label} for label, query in parts.items()]
    return Aggregation("filters", role, {"filters": made})


def over_time(name: str, label: str) -> Aggregation:
    """By time, as fine as the chosen range allows."""
    how = {"scaleMetricValues": False, "interval": "auto", "drop_partials": False}
    return Aggregation(
        "date_histogram",
        "segment",
        {"field": name, **how, "min_doc_count": 1, "extended_bounds": {}, "customLabel": label},
    )


def in_steps(name: str, label: str, step: float) -> Aggregation:
    """A number of a field's in steps, in order; a step without documents is left out."""
    how = {
        "interval": step,
        "min_doc_count": False,
        "has_extended_bounds": False,
        "extended_bounds": {"min": "", "max": ""},
    }
    return Aggregation("histogram", "segment", {"field": name, **how, "customLabel": label})


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """What all panels have: a name for its id, a title, a sentence, and its place in 48 columns."""

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
    """Bars, standing or lying."""

    view: str
    query: str
    aggregations: tuple[Aggregation, ...]
    shape: Literal["histogram", "horizontal_bar"] = "histogram"
    axis: str = "documents"
    colors: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Search(Panel):
    """A saved search: rows of documents."""

    view: str
    query: str
    columns: tuple[str, ...]
    sort: tuple[tuple[str, str], ...]
    width: int = 48
    height: int = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Vega(Panel):
    """A Vega-Lite chart of the buckets of one aggregation."""

    view: str
    aggregation: Mapping[str, Any]
    drawing: Mapping[str, Any]
    height: int = 7

    def specification(self, index: str) -> dict[str, Any]:
        """The Vega-Lite specification, over the index of this name."""
        view = VIEWS[self.view]
        url = {
            "%context%": True,
            "%timefield%": view.time_field,
            "index": index + view.suffix,
            "body": {"size": 0, "aggs": {"parts": self.aggregation}},
        }
        data = {"url": url, "format": {"property": "aggregations.parts.buckets"}}
        return {"$schema": _LITE, "data": data, **self.drawing}


@dataclass(frozen=True, slots=True, kw_only=True)
class Controls(Panel):
    """Lists to choose from: fields and their labels. What is chosen narrows every panel."""

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


def _share() -> Vega:
    redundant = {"redundant": {"filter": {"exists": {"field": "neardup.cluster.repeats"}}}}
    return Vega(
        name="share",
        title="Share of duplicates",
        about="The documents that repeat one which is kept, as a part of all documents.",
        view="documents",
        width=10,
        aggregation={"filters": {"filters": [{"exists": {"field": "neardup.tokens"}}]}, "aggs": redundant},
        drawing={
            "transform": [
                {"calculate": "datum.doc_count > 0 ? datum.redundant.doc_count / datum.doc_count : 0", "as": "share"}
            ],
            "mark": {"type": "text", "fontSize": 36, "fontWeight": "bold", "color": "#69707D"},
            "encoding": {"text": {"field": "share", "type": "quantitative", "format": ".1%"}},
            "config": {"view": {"stroke": None}},
        },
    )


def _sizes() -> Vega:
    ranges = []
    for low, above in zip(_SIZES, (*_SIZES[1:], None), strict=True):
        end = {} if above is None else {"to": above}
        label = (
            f"{low:,} and more" if above is None else f"{low:,}" if above == low + 1 else f"{low:,} to {above - 1:,}"
        )
        ranges.append({"key": label, "from": low, **end})
    return Vega(
        name="sizes",
        title="Clusters by size",
        about="How many clusters have this many members.",
        view="clusters",
        height=12,
        aggregation={
            "range": {"field": "size", "ranges": ranges},
            "aggs": {"documents": {"sum": {"field": "size"}}},
        },
        drawing={
            "transform": [
                {"filter": "datum.doc_count > 0"},
                {"calculate": "datum.documents.value", "as": "members"},
            ],
            "mark": {"type": "bar", "color": "#54B399"},
            "encoding": {
                "x": {"field": "key", "type": "ordinal", "sort": None, "title": "members", "axis": {"labelAngle": 0}},
                "y": {"field": "doc_count", "type": "quantitative", "title": "clusters", "axis": {"tickMinStep": 1}},
                "tooltip": [
                    {"field": "key", "type": "nominal", "title": "members"},
                    {"field": "doc_count", "type": "quantitative", "title": "clusters"},
                    {"field": "members", "type": "quantitative", "title": "documents"},
                ],
            },
        },
    )


_PARTS = {"kept": KEPT, "could be removed": REDUNDANT}
_COLORS = {"kept": "#54B399", "could be removed": "#E7664C"}

CLUSTER_PANELS: tuple[Panel, ...] = (
    Controls(
        name="controls",
        title="Filters",
        about="Choose formats, sources and classes of cluster size.",
        view="documents",
        fields=(
            ("neardup.format", "Format"),
            ("neardup.origin", "Source"),
            ("neardup.cluster.size_class", "Cluster size"),
        ),
    ),
    Metric(
        name="documents-metric",
        title="Documents",
        about="All documents that neardup knows, and the size of what they were read from.",
        view="documents",
        query=RECORDS,
        aggregations=(count("documents"), measure("sum", "neardup.bytes", "size")),
        width=14,
    ),
    Metric(
        name="clusters-metric",
        title="Clusters",
        about="Clusters of two documents or more.",
        view="clusters",
        query="_exists_:size",
        aggregations=(count("clusters"), measure("max", "size", "largest")),
        width=10,
    ),
    _share(),
    Metric(
        name="redundant-metric",
        title="Could be removed",
        about="The documents that repeat one which is kept, and their bytes.",
        view="documents",
        query=REDUNDANT,
        aggregations=(count("documents"), measure("sum", "neardup.bytes", "size")),
        width=14,
    ),
    _sizes(),
    Chart(
        name="similarities",
        title="Similarity to what stays",
        about="How many documents that could be removed are so similar to the one that they repeat, by the rule of the "
        "last clustering: the share of common shingles, or of equal bits of the simhash.",
        view="documents",
        query=REDUNDANT,
        aggregations=(count("documents"), in_steps("neardup.cluster.repeats_similarity", "shares at least", 0.05)),
    ),
    Chart(
        name="relations",
        title="Relation to what stays",
        about="How the texts of documents that could be removed stand to those that they repeat, as neardup cluster "
        "--relation notes it; without that only what is identical is known.",
        view="documents",
        query=REDUNDANT,
        aggregations=(count("documents"), terms("neardup.cluster.relation", "relation", 10)),
        shape="horizontal_bar",
        width=48,
    ),
    Chart(
        name="formats",
        title="Duplicates by format",
        view="documents",
        query=RECORDS,
        aggregations=(count("documents"), terms("neardup.format", "format", 20), filters(_PARTS)),
        colors=_COLORS,
    ),
    Chart(
        name="times",
        title="Duplicates over time",
        about="By the time of indexing.",
        view="documents",
        query=RECORDS,
        aggregations=(count("documents"), over_time("neardup.indexed_at", "indexed at"), filters(_PARTS)),
        colors=_COLORS,
    ),
    Chart(
        name="origins",
        title="Duplicates by source",
        about="By the host of a URL, or the folder of a path: the 20 with most documents.",
        view="documents",
        query=RECORDS,
        aggregations=(count("documents"), terms("neardup.origin", "source", 20), filters(_PARTS)),
        colors=_COLORS,
        shape="horizontal_bar",
        width=48,
        height=14,
    ),
    Search(
        name="largest",
        title="Largest clusters",
        about="Each with its canonical document, which leads to the document; the cluster's id leads to its members.",
        view="clusters",
        query="_exists_:size",
        columns=(
            "size",
            "title",
            "canonical.id",
            "redundant",
            "redundant_octets",
            "least_similarity",
            "neardup.format",
            "neardup.cluster.id",
        ),
        sort=(("size", "desc"),),
    ),
    Search(
        name="members",
        title="Members of clusters",
        about="Each cluster's documents, the canonical one first. Filter by a cluster's id to see its members alone.",
        view="documents",
        query=IN_CLUSTER,
        columns=MEMBER_COLUMNS,
        sort=MEMBER_ORDER,
    ),
)

HEALTH_PANELS: tuple[Panel, ...] = (
    Metric(
        name="health-metric",
        title="Documents",
        about="Short ones are compared with nothing; those without text have no fingerprint.",
        view="documents",
        query=RECORDS,
        aggregations=(
            count("documents"),
            filters(
                {
                    "indexed": RECORDS,
                    "short": "neardup.short:true",
                    "without text": "neardup.tokens:0",
                    "in no cluster": f"{RECORDS} AND NOT {IN_CLUSTER}",
                }
            ),
        ),
        width=36,
    ),
    Metric(
        name="failures-metric",
        title="Failures",
        about="Documents that could not be indexed; one that is indexed later is counted no more.",
        view="failures",
        query="_exists_:failed_at",
        aggregations=(count("failures"),),
        width=12,
    ),
    Chart(
        name="rate",
        title="Documents indexed over time",
        view="documents",
        query=RECORDS,
        aggregations=(
            count("documents"),
            over_time("neardup.indexed_at", "indexed at"),
            terms("neardup.format", "format", 10, role="group"),
        ),
        width=48,
    ),
    Chart(
        name="reasons",
        title="Failures by reason",
        view="failures",
        query="_exists_:failed_at",
        aggregations=(count("failures"), terms("reason", "reason", 20)),
        shape="horizontal_bar",
        axis="failures",
    ),
    Chart(
        name="failing",
        title="Failures over time",
        view="failures",
        query="_exists_:failed_at",
        aggregations=(
            count("failures"),
            over_time("failed_at", "failed at"),
            terms("reason", "reason", 10, role="group"),
        ),
        axis="failures",
    ),
    Chart(
        name="extractors",
        title="Documents by extractor",
        about="Which engine gave the text.",
        view="documents",
        query=RECORDS,
        aggregations=(
            count("documents"),
            terms("neardup.extractor", "extractor", 20),
            filters({"with text": f"{RECORDS} AND NOT neardup.tokens:0", "without text": "neardup.tokens:0"}),
        ),
        shape="horizontal_bar",
    ),
    Chart(
        name="thin",
        title="Short and empty documents by format",
        view="documents",
        query="neardup.short:true OR neardup.tokens:0",
        aggregations=(
            count("documents"),
            terms("neardup.format", "format", 20),
            filters({"short": "neardup.short:true AND NOT neardup.tokens:0", "without text": "neardup.tokens:0"}),
        ),
    ),
    Search(
        name="latest-failures",
        title="Latest failures",
        view="failures",
        query="_exists_:failed_at",
        columns=("reason", "source", "detail"),
        sort=(("failed_at", "desc"),),
    ),
)

DASHBOARDS = (
    Dashboard(
        "duplicates",
        "Duplicate clusters: INDEX",
        "How much of the collection is duplicated, where, and in which clusters.",
        CLUSTER_PANELS,
    ),
    Dashboard("health", "Ingest health: INDEX", "What was indexed, and what could not be.", HEALTH_PANELS),
)
