"""The data views (index patterns) of the dashboards: the form, name and link of each field."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

_DOCUMENT = "discover#/doc/neardup-INDEX_NAME-documents/INDEX_NAME?id={{value}}"
MEMBER_COLUMNS = (
    "neardup.cluster.id",
    "neardup.cluster.verdict",
    "neardup.cluster.relation",
    "neardup.cluster.repeats_similarity",
    "neardup.cluster.repeats",
    "_id",
    "neardup.title",
    "neardup.source",
    "neardup.bytes",
)
MEMBER_ORDER = (
    ("neardup.cluster.id", "asc"),
    # Of "stays", "differs" and "could go".
    ("neardup.cluster.verdict", "desc"),
    ("neardup.cluster.is_canonical", "desc"),
    ("neardup.cluster.repeats_similarity", "desc"),
)
# A link that says what is asked has to say columns and order too: Kibana takes no part of them from the saved search.
_MEMBERS = (
    "discover#/view/neardup-INDEX_NAME-members?_a=("
    f"columns:!({','.join(MEMBER_COLUMNS)}),"
    f"sort:!({','.join(f'!({name},{way})' for name, way in MEMBER_ORDER)}),"
    "query:(language:lucene,query:'neardup.cluster.id:{{value}}'))&_g=(time:(from:now-5y,to:now))"
)


@dataclass(frozen=True, slots=True)
class View:
    """A data view (index pattern): the name of its index, its field of time, and how fields are shown.

    Without a field of time all of it is shown, whatever the range of time is.
    `labels` stand in Kibana at the head of columns; `hidden` are patterns of fields that Discover leaves out.
    """

    name: str
    title: str
    time_field: str
    formats: Mapping[str, tuple[str, Mapping[str, Any]]]
    labels: Mapping[str, str] = field(default_factory=dict)
    hidden: tuple[str, ...] = ()


def _link(template: str) -> tuple[str, Mapping[str, Any]]:
    return "url", {"urlTemplate": template, "labelTemplate": "{{value}}", "type": "a"}


# In powers of 1000, as neardup itself writes sizes, and the products by themselves do not.
_BYTES: tuple[str, Mapping[str, Any]] = ("number", {"pattern": "0,0.[0] bd"})
# Similarities have four places, so none below one reads 100%.
_PERCENT: tuple[str, Mapping[str, Any]] = ("percent", {"pattern": "0.[00]%"})
DOCUMENTS = View(
    "documents",
    "INDEX_NAME",
    "neardup.indexed_at",
    {
        "neardup.bytes": _BYTES,
        "_id": _link(_DOCUMENT),
        "neardup.cluster.id": _link(_MEMBERS),
        "neardup.cluster.similarity": _PERCENT,
        "neardup.cluster.repeats_similarity": _PERCENT,
    },
    # No label that an owner's field may well have as its name.
    {
        "neardup.cluster.id": "cluster",
        "neardup.cluster.verdict": "verdict",
        "neardup.cluster.relation": "relation",
        "neardup.cluster.repeats_similarity": "shares",
        "neardup.cluster.repeats": "repeats",
    },
    # What documents are found and compared by, which tells a reader nothing.
    ("neardup.*.bits", "neardup.*.t0*", "neardup.*.t1*", "neardup.*.keys", "neardup.*.sketch"),
)
CLUSTERS = View(
    "clusters",
    "neardup-INDEX_NAME-clusters",
    "last_seen",
    {
        "octets": _BYTES,
        "redundant_octets": _BYTES,
        "canonical.id": _link(_DOCUMENT),
        "neardup.cluster.id": _link(_MEMBERS),
        "least_similarity": _PERCENT,
    },
    {
        "size": "members",
        "canonical.id": "canonical document",
        "redundant": "could go",
        "redundant_octets": "size of these",
        "least_similarity": "shares at least",
        "neardup.format": "formats",
        "neardup.cluster.id": "cluster",
        "last_seen": "latest member",
    },
)
FAILURES = View("failures", "neardup-INDEX_NAME-failures", "failed_at", {})
PASSAGES = View(
    "passages",
    "neardup-INDEX_NAME-passages",
    "",
    {"document.id": _link(_DOCUMENT), "share": _PERCENT},
    {
        "document.id": "document",
        "first_indexed_at": "first indexed",
        "in_passages": "words that stand elsewhere",
        "share": "stands elsewhere",
        "first_in": "first in",
        "then_in": "then in",
    },
)
VIEWS = {view.name: view for view in (DOCUMENTS, CLUSTERS, FAILURES, PASSAGES)}
