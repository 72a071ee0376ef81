"""The panels of each dashboard, said once for both products."""

from __future__ import annotations

from data_views import MEMBER_COLUMNS, MEMBER_ORDER
from panel_kinds import (
    Chart,
    Controls,
    Dashboard,
    Metric,
    Panel,
    Search,
    Table,
    Vega,
    count,
    filters,
    in_ranges,
    measure,
    number,
    over_time,
    terms,
)  # fmt: skip

RECORDS = "_exists_:neardup.tokens"
# A document that is near one which stays, and that could go for it if facts don't differ and it is no part.
REPEATS = "_exists_:neardup.cluster.repeats"
COULD_GO = "could go"
REDUNDANT = f'neardup.cluster.verdict:"{COULD_GO}"'
# A document that has left its cluster is canonical in one of its own, and has no class of size.
IN_CLUSTER = "_exists_:neardup.cluster.size_class"
_SIMILARITIES = (0, *range(50, 101, 5))
_SHARES = tuple(range(0, 101, 10))
_SIZES = (2, 3, 4, 5, 6, 11, 21, 51, 101, 1001, 10_001, 100_001)


_KNOWN = {"exists": {"field": "neardup.tokens"}}


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
            "layer": [
                {"mark": {"type": "bar", "color": "#54B399"}},
                # Some bars are too small to be seen.
                {
                    "mark": {"type": "text", "baseline": "bottom", "color": "#69707D", "aria": False},
                    "encoding": {"text": {"field": "doc_count", "type": "quantitative", "format": ","}},
                },
            ],
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


_COLORS = {"stays": "#54B399", COULD_GO: "#E7664C", "differs": "#D6BF57"}
_BY_VERDICT = terms("neardup.cluster.verdict", "verdict", 5, role="group")
_BY_REPEATED = terms("neardup.cluster.repeats_origin", "repeats", 10, role="group")


CLUSTER_PANELS: tuple[Panel, ...] = (
    Controls(
        name="controls",
        title="Filters",
        about="Choose formats, sources, verdicts and classes of cluster size.",
        view="documents",
        fields=(
            ("neardup.format", "Format"),
            ("neardup.origin", "Source"),
            ("neardup.cluster.verdict", "Verdict"),
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
    number(
        name="share",
        title="Share of duplicates",
        about="The documents that could go, as a part of all documents.",
        view="documents",
        width=10,
        query=_KNOWN,
        sums={"going": {"filter": {"term": {"neardup.cluster.verdict": COULD_GO}}}},
        calculated="datum.doc_count > 0 ? datum.going.doc_count / datum.doc_count : 0",
        shown=".1%",
    ),
    Metric(
        name="redundant-metric",
        title="Could go",
        about="Documents that say the same as a document that stays, and their size.",
        view="documents",
        query=REDUNDANT,
        aggregations=(count("documents"), measure("sum", "neardup.bytes", "size")),
        width=14,
    ),
    _sizes(),
    Chart(
        name="similarities",
        title="Similarity to what stays",
        about="How much documents share with a near document that stays, by the rule of the last clustering. "
        "The scale shows square roots.",
        view="documents",
        query=REPEATS,
        aggregations=(count("documents"), in_ranges("neardup.cluster.repeats_similarity", "shares", _SIMILARITIES)),
        scale="square root",
    ),
    Chart(
        name="relations",
        title="Relation to what stays",
        about="How documents differ from a near document that stays. Unknown: clustering was told to read no texts. "
        "The scale shows square roots.",
        view="documents",
        query=REPEATS,
        aggregations=(count("documents"), terms("neardup.cluster.relation", "relation", 12), _BY_VERDICT),
        colors=_COLORS,
        scale="square root",
        shape="horizontal_bar",
    ),
    Chart(
        name="times",
        title="Documents over time",
        about="By week, by the date of the last clustering, or by the time of indexing.",
        view="documents",
        query=RECORDS,
        aggregations=(count("documents"), over_time("TIME_FIELD", "week", "w"), _BY_VERDICT),
        colors=_COLORS,
    ),
    Table(
        name="whom",
        title="Who repeats whom",
        about="How many documents of a source are near a document of another source, or of the same, that stays.",
        view="documents",
        query=REPEATS,
        aggregations=(
            count("documents"),
            measure("sum", "neardup.bytes", "size"),
            terms("neardup.origin", "source", 20, role="bucket"),
            terms("neardup.cluster.repeats_origin", "repeats", 20, role="bucket"),
        ),
        narrow={2: 140, 3: 90},
    ),
    Table(
        name="clusters-here",
        title="Clusters of the documents shown",
        about="Counted from documents, so they follow every query, also by a field of your own.",
        view="documents",
        query=IN_CLUSTER,
        aggregations=(
            count("documents shown"),
            measure("sum", "neardup.bytes", "size"),
            terms("neardup.cluster.id", "cluster", 50, role="bucket"),
        ),
        narrow={1: 190, 2: 90},
    ),
    Chart(
        name="going",
        title="What could go by source",
        about="Documents that could go, by host or folder, coloured by the source that they repeat.",
        view="documents",
        query=REDUNDANT,
        aggregations=(count("documents"), terms("neardup.origin", "source", 20), _BY_REPEATED),
        shape="horizontal_bar",
        height=14,
    ),
    Chart(
        name="going-bytes",
        title="Size of what could go by source",
        view="documents",
        query=REDUNDANT,
        aggregations=(
            measure("sum", "neardup.bytes", "size"),
            terms("neardup.origin", "source", 20),
            _BY_REPEATED,
        ),
        axis="size",
        shape="horizontal_bar",
        height=14,
    ),
    Chart(
        name="origins",
        title="Documents by source",
        about="By the host of a URL, or the folder of a path: the 20 with most documents.",
        view="documents",
        query=RECORDS,
        aggregations=(count("documents"), terms("neardup.origin", "source", 20), _BY_VERDICT),
        colors=_COLORS,
        shape="horizontal_bar",
        width=48,
        height=14,
    ),
    Search(
        name="largest",
        title="Largest clusters",
        about="Each cluster with its canonical document. The ids are links to the document and to the members.",
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
        sort=(("redundant", "desc"), ("size", "desc")),
        narrow={
            "last_seen": 130,
            **dict.fromkeys(("size", "redundant", "neardup.format"), 135),
            **dict.fromkeys(("redundant_octets", "least_similarity"), 150),
        },
    ),
    Search(
        name="members",
        title="Members of clusters",
        about="The documents of each cluster; those that stay come first. Filter by the id of one to see it alone.",
        view="documents",
        query=IN_CLUSTER,
        columns=MEMBER_COLUMNS,
        sort=MEMBER_ORDER,
        narrow={
            "neardup.indexed_at": 130,
            **dict.fromkeys(("neardup.cluster.verdict", "neardup.cluster.relation"), 115),
            **dict.fromkeys(("neardup.cluster.repeats_similarity", "neardup.bytes"), 115),
        },
    ),
)

HEALTH_PANELS: tuple[Panel, ...] = (
    Controls(
        name="health-controls",
        title="Filters",
        about="Choose formats and sources.",
        view="documents",
        fields=(("neardup.format", "Format"), ("neardup.origin", "Source")),
    ),
    Metric(
        name="health-metric",
        title="Documents",
        about="Short documents are compared with nothing. Documents without text have no fingerprint.",
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
        width=24,
    ),
    number(
        name="unannotated",
        title="Not annotated",
        about="The documents of the index that neardup has not read.",
        view="documents",
        timed=False,
        width=12,
        query={"bool": {"must_not": [_KNOWN]}},
        calculated="datum.doc_count",
        shown=",",
    ),
    Metric(
        name="failures-metric",
        title="Failures",
        about="Documents that could not be indexed. Once indexed, a document is no longer counted.",
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
        about="Which program extracted the text.",
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

_PASSAGE, _DOCUMENT, _ORIGINS = "kind:passage", "kind:document", "kind:origins"

PASSAGE_PANELS: tuple[Panel, ...] = (
    Controls(
        name="copied-controls",
        title="Filters",
        about="Choose sources.",
        view="passages",
        fields=(("neardup.origin", "Source"),),
    ),
    Metric(
        name="passages-metric",
        title="Passages",
        about="Runs of words in two documents or more. Boilerplate is in ten or more for each of its sources.",
        view="passages",
        query=_PASSAGE,
        aggregations=(
            count("passages"),
            filters({"copied": "NOT boilerplate:true", "boilerplate": "boilerplate:true"}),
        ),
        width=18,
    ),
    Metric(
        name="copied-metric",
        title="Documents with passages",
        about="Documents with passages, their words, and how many of these words are elsewhere too.",
        view="passages",
        query=_DOCUMENT,
        aggregations=(
            count("documents"),
            measure("sum", "words", "words"),
            measure("sum", "in_passages", "stand elsewhere"),
        ),
        width=20,
    ),
    number(
        name="copied-of-all",
        title="Share of all words",
        about="The words in passages, as a part of the words of all documents.",
        view="passages",
        width=10,
        query={"term": {"kind": "origin"}},
        sums={name: {"sum": {"field": name}} for name in ("words", "in_passages")},
        calculated="datum.words.value > 0 ? datum.in_passages.value / datum.words.value : 0",
        shown=".1%",
    ),
    Search(
        name="passages-list",
        title="What is copied most",
        about="Each passage with its first document. Long passages are cut.",
        view="passages",
        query=_PASSAGE,
        columns=("documents", "origins", "words", "boilerplate", "document.id", "first_indexed_at", "text"),
        sort=(("documents", "desc"), ("words", "desc")),
        narrow={
            **dict.fromkeys(("documents", "boilerplate"), 140),
            **dict.fromkeys(("origins", "words"), 110),
            "document.id": 150,
            "first_indexed_at": 130,
        },
    ),
    Chart(
        name="copied-shares",
        title="Documents by the share that stands elsewhere",
        view="passages",
        query=_DOCUMENT,
        aggregations=(count("documents"), in_ranges("share", "stands elsewhere", _SHARES)),
        scale="square root",
        height=17,
    ),
    Search(
        name="copied-origins",
        title="Who has words from whom",
        about="How many words of a source were in another source before, or in the same one.",
        view="passages",
        query=_ORIGINS,
        columns=("words", "first_in", "then_in"),
        sort=(("words", "desc"),),
        narrow={"words": 110},
        width=24,
    ),
    Search(
        name="copied-documents",
        title="What stands elsewhere of each document",
        view="passages",
        query=_DOCUMENT,
        columns=("share", "in_passages", "words", "document.id", "source"),
        sort=(("share", "desc"), ("words", "desc")),
        narrow={"share": 165, "in_passages": 225, "words": 110, "document.id": 220},
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
    Dashboard(
        "copied",
        "Copied passages: INDEX",
        "Passages in several documents, word by word, from the last run of neardup passages --write.",
        PASSAGE_PANELS,
    ),
)
