"""The indices beside a store's own."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Generic, TypeVar, get_args
from urllib.parse import quote

from indexer.engine.client.base import Client, encoded
from indexer.engine.client.bulk import BATCH_RECORDS, Action, batches, multi_get, send, unchanged
from indexer.engine.client.errors import AnswerError
from indexer.engine.client.names import SideKind, matches, side_name
from indexer.engine.client.snapshots import pages
from indexer.engine.index.bodies import ROOT
from indexer.engine.index.mapping import IndexMapping, missing, read_mappings
from indexer.errors import StoreError, UsageError
from indexer.model import ClusteringNote, ClusterRecord, Failure, Ref, size_class
from indexer.model.chunking import chunks
from indexer.model.copied import CopiedRow
from indexer.model.origins import UNKNOWN
from indexer.model.times import now
from indexer.relations.relation import verdict_of
from indexer.stores.kept import KeptKind, reading, written

T = TypeVar("T")

# The engines' own default for the most hits of one answer.
_MOST_HITS = 10_000
TERM = {"type": "keyword", "ignore_above": 8191}
# JSON with escapes alone: a lone half of a surrogate pair, as file names can have, comes back as it was.
_EXACT = {"exact": {"type": "keyword", "index": False, "doc_values": False}}
_DATE = {"type": "date", "ignore_malformed": True}
_LONG = {"type": "long"}
# The entry of `_meta` by which an index beside a store is known.
_BESIDE = "beside"
FAILURE_PROPERTIES: Mapping[str, Any] = {
    **dict.fromkeys(("id", "index", "routing", "source", "reason"), TERM),
    "detail": {"type": "text"},
    "failed_at": _DATE,
    **_EXACT,
}
CLUSTER_PROPERTIES: Mapping[str, Any] = {
    "id": TERM,
    "canonical": {"properties": dict.fromkeys(("id", "index", "routing"), TERM)},
    "title": {"type": "text", "fields": {"keyword": {"type": "keyword", "ignore_above": 1024}}},
    **dict.fromkeys(("size", "octets", "redundant", "redundant_octets", "origins"), _LONG),
    "least_similarity": {"type": "float"},
    "first_seen": _DATE,
    "last_seen": _DATE,
    # By the names that documents have, so that one filter of a dashboard narrows both.
    ROOT: {
        "properties": {
            **dict.fromkeys(("format", "origin"), TERM),
            "cluster": {
                "properties": {
                    **dict.fromkeys(("id", "size_class", "verdict", "relation", "repeats_origin"), TERM),
                    "repeats_similarity": {"type": "float"},
                }
            },
        }
    },
    **_EXACT,
}

# No id of a cluster: those are base32.
NOTE_ID = "clustering-note"
_PREFIX, _, _SUFFIX = side_name("*", "clusters").partition("*")
_RESOURCE_PROPERTIES: Mapping[str, Any] = {"name": {"type": "keyword"}}
# So much of a passage is kept: it is there to be recognised.
_LETTERS = 1000
COPIED_PROPERTIES: Mapping[str, Any] = {
    **dict.fromkeys(("kind", "source", "first_in", "then_in"), TERM),
    # By the name that documents and clusters have, so that one filter narrows all of them.
    ROOT: {"properties": {"origin": TERM}},
    "text": {"type": "text"},
    "document": {"properties": dict.fromkeys(("id", "index", "routing"), TERM)},
    **dict.fromkeys(("words", "documents", "origins", "longest", "variants", "in_passages", "run"), _LONG),
    "share": {"type": "float"},
    "boilerplate": {"type": "boolean"},
    **dict.fromkeys(("first_indexed_at", "made_at"), _DATE),
}


class SideIndex(Generic[T]):
    """An index made with its first document, and standing for an empty one before.

    For a store that is a list or a pattern, and only read, it is those of all parts together.
    """

    def __init__(
        self,
        client: Client,
        kind: SideKind,
        properties: Mapping[str, Any],
        body: Callable[[T], Mapping[str, Any]],
        read: Callable[[Mapping[str, Any]], T],
        query: Mapping[str, Any] | None = None,
        *,
        store: str = "",
    ) -> None:
        self._client, self._kind = client, kind
        self.name = side_name(store or client.target.name, kind)
        self._query = query or {"match_all": {}}
        self._properties, self._body, self._read = properties, body, read
        self._path = quote(self.name, safe="*,-")
        self._several = "*" in self.name or "," in self.name
        self._exists: bool | None = None
        self._count = 0
        self._unseen = False
        self._known: Mapping[str, Any] = {}

    def exists(self) -> bool:
        if self._exists is None:
            # One of a list may be missing; a pattern that matches nothing is answered by an empty object.
            mappings = read_mappings(self._client, self._path, ignore_unavailable=True)
            self._exists, self._count = bool(mappings), len(mappings)
            own = mappings[self.name].properties if self.name in mappings else {}
            self._known = own or self._properties
        return self._exists

    def read(self, hit: Mapping[str, Any]) -> T:
        try:
            return self._read(hit["_source"])
        except (KeyError, TypeError, ValueError, RecursionError) as error:
            what = f"the document {hit['_id']!r} of the index {hit['_index']} is damaged, or of an older form"
            raise StoreError(f"{what}; delete it, and make it anew by index or cluster: {error}") from None

    def settle(self) -> None:
        if self._unseen:
            self._client.request("POST", f"/{self._path}/_refresh")
            self._unseen = False

    def making(self) -> tuple[str, dict[str, Any]] | None:
        if not self.exists():
            mappings = {"dynamic": False, "_meta": {ROOT: {_BESIDE: self._kind}}, "properties": self._properties}
            return f"/{self._path}", {"mappings": mappings}
        if not missing({"properties": self._properties}, {"properties": self._known}):
            return None
        return f"/{self._path}/_mapping", {"properties": self._properties}

    def make(self) -> None:
        wanted = self.making()
        if wanted is None:
            return
        try:
            self._client.request("PUT", *wanted)
        except AnswerError as error:
            if error.kind != "resource_already_exists_exception":
                shown = self._client.target.shown
                raise StoreError(f"{shown}: can't make the index {self.name} beside it: {error.reason}") from error
        self._exists, self._known = True, self._properties

    def put(self, items: Iterable[tuple[str, T]]) -> None:
        actions = (Action("index", self.name, name, None, encoded(self._body(item))) for name, item in items)
        for some in batches(actions, lambda action: len(action.document)):
            self.make()
            self._send(some)

    def get(self, names: Sequence[str]) -> list[T | None]:
        if not self.exists():
            return [None] * len(names)
        values: dict[str, T] = {}
        for chunk in chunks(dict.fromkeys(names), BATCH_RECORDS):
            for hit in self._found(chunk) if self._several else self._got(chunk):
                # Several parts may have one of the same id; then it is that of the first part by name.
                values.setdefault(hit["_id"], self.read(hit))
        return [values.get(name) for name in names]

    def _got(self, names: Sequence[str], **params: str) -> Iterator[dict[str, Any]]:
        hits = multi_get(self._client, [{"_id": name} for name in names], path=f"/{self._path}", **params)
        return (hit for hit in hits if hit.get("found"))

    def _found(self, names: Sequence[str]) -> Iterator[dict[str, Any]]:
        at_once = max(1, _MOST_HITS // max(self._count, 1))
        for chunk in chunks(names, at_once):
            body = {"query": {"ids": {"values": chunk}}, "size": _MOST_HITS, "sort": ["_index"]}
            yield from self.search(body)["hits"]["hits"]

    def search(self, body: Mapping[str, Any]) -> Any:
        return self._client.search(self._path, body, ignore_unavailable="true")

    def delete(self, names: Sequence[str]) -> int:
        if not self.exists():
            return 0
        unique = dict.fromkeys(names)
        there = [hit["_id"] for chunk in chunks(unique, BATCH_RECORDS) for hit in self._got(chunk, _source="false")]
        for chunk in chunks(there, BATCH_RECORDS):
            self._send([Action("delete", self.name, name) for name in chunk])
        return len(there)

    def delete_unchanged(self, hits: Sequence[Mapping[str, Any]]) -> None:
        self._send(
            [Action("delete", hit["_index"], hit["_id"], conditions=unchanged(hit)) for hit in hits], passing=(404, 409)
        )

    def _send(self, actions: Sequence[Action], passing: Collection[int] = (404,)) -> None:
        for outcome in send(self._client, actions):
            if not outcome.ok and outcome.status not in passing:
                raise StoreError(f"{self._client.target.shown}: {self.name} can't be written: {outcome.reason}")
        self._unseen = True

    def pages(self, *order: str) -> Iterator[T]:
        if not self.exists():
            return
        self.settle()
        sort = [{name: {"order": "asc", "missing": "_first"}} for name in order]
        for hits in pages(self._client, self._path, {"query": self._query, "sort": sort}, 1000):
            yield from map(self.read, hits)

    def counts(self, field: str) -> dict[str, int]:
        found = self.aggregated({"terms": {"field": field, "missing": "", "size": 1000}})
        return {bucket["key"]: bucket["doc_count"] for bucket in found.get("buckets", ())}

    def total(self, field: str) -> int:
        """The sum of a number over all documents."""
        return int(self.aggregated({"sum": {"field": field}}).get("value") or 0)

    def aggregated(self, aggregation: Mapping[str, Any]) -> dict[str, Any]:
        if not self.exists():
            return {}
        self.settle()
        answer = self.search({"size": 0, "aggs": {"all": aggregation}})
        return dict(answer.get("aggregations", {}).get("all", {}))


def kept_index(client: Client, kind: KeptKind[T]) -> SideIndex[T]:
    properties, body = _KEPT[kind.name]

    # Beside clusters lies the note of how they were made.
    query = {"exists": {"field": "size"}} if kind.name == "clusters" else None
    return SideIndex(
        client,
        kind.name,
        properties,
        lambda item: {**body(item), "exact": kind.written(item)},
        lambda source: kind.read(source["exact"]),
        query,
    )


def notes_index(client: Client) -> SideIndex[ClusteringNote]:
    read = reading(ClusteringNote)
    return SideIndex(
        client,
        "clusters",
        CLUSTER_PROPERTIES,
        lambda note: {"note": written(note)},
        lambda source: read(source["note"]),
    )


def notes_by_index(notes: SideIndex[ClusteringNote]) -> dict[str, ClusteringNote]:
    hits = notes.search({"query": {"ids": {"values": [NOTE_ID]}}, "size": _MOST_HITS})["hits"]["hits"]
    found = {hit["_index"]: notes.read(hit) for hit in hits}
    return {name.removeprefix(_PREFIX).removesuffix(_SUFFIX): found[name] for name in sorted(found)}


def resources_index(client: Client) -> SideIndex[Mapping[str, Any]]:
    return SideIndex(client, "resources", _RESOURCE_PROPERTIES, lambda body: body, lambda source: source)


def is_side(mapping: IndexMapping, kind: SideKind) -> bool:
    entry = mapping.meta.get(ROOT)
    return isinstance(entry, Mapping) and entry.get(_BESIDE) == kind


def require_sides(client: Client) -> None:
    """Raise UsageError if a template makes data streams of the names of the indices beside a store."""
    wanted = ("name", "index_template.index_patterns", "index_template.priority", "index_template.data_stream")
    try:
        answer = client.found("/_index_template", filter_path=",".join(f"index_templates.{name}" for name in wanted))
    except StoreError:
        # A user who may not see templates hears of it from the engine.
        return
    for kind in get_args(SideKind):
        name = side_name(client.target.name, kind)
        taking = [
            each
            for each in (answer or {}).get("index_templates", ())
            if any(matches(pattern, name) for pattern in each["index_template"]["index_patterns"])
        ]
        first = max(taking, key=lambda each: int(each["index_template"].get("priority", 0)), default=None)
        if first and "data_stream" in first["index_template"]:
            raise UsageError(
                f"{client.target.shown}: the index template {first['name']!r} makes data streams of all names like "
                f"{', '.join(first['index_template']['index_patterns'])}, so that neardup can't make {name}; put a "
                "template of higher priority for neardup-*, without data_stream; nothing was written"
            )


def failure_id(ref: Ref) -> str:
    parts = "\0".join((ref.index, ref.routing or "", ref.id))
    return hashlib.sha256(parts.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _failure_body(failure: Failure) -> Mapping[str, Any]:
    ref = failure.ref
    texts = {"id": ref.id, "index": ref.index, "routing": ref.routing, "source": failure.source}
    return readable(texts | {name: getattr(failure, name) for name in ("reason", "detail", "failed_at")})


def _cluster_body(cluster: ClusterRecord) -> Mapping[str, Any]:
    ref, relations = cluster.canonical, dict(cluster.relations)
    verdicts = {verdict_of(word) for word in (*relations, *[None] * (sum(relations.values()) < cluster.size))}
    own = {
        **readable({"id": cluster.id, "size_class": size_class(cluster.size)}),
        "verdict": sorted(verdicts),
        "relation": [word or UNKNOWN for word in relations],
        "repeats_origin": list(map(passing, cluster.repeated_origins)),
        "repeats_similarity": [share / 100 for share in cluster.repeated_shares],
    }
    return {
        **readable({name: getattr(cluster, name) for name in ("id", "title", "first_seen", "last_seen")}),
        **{name: getattr(cluster, name) for name in ("size", "redundant", "least_similarity")},
        "octets": cluster.total_bytes,
        "redundant_octets": cluster.redundant_bytes,
        "origins": len(cluster.origins),
        "canonical": readable({"id": ref.id, "index": ref.index, "routing": ref.routing}),
        ROOT: {
            "format": list(map(passing, cluster.formats)),
            "origin": list(map(passing, cluster.origins)),
            "cluster": own,
        },
    }


_KEPT: Mapping[str, tuple[Mapping[str, Any], Callable[[Any], Mapping[str, Any]]]] = {
    "failures": (FAILURE_PROPERTIES, _failure_body),
    "clusters": (CLUSTER_PROPERTIES, _cluster_body),
    "decisions": ({"id": TERM, **_EXACT}, lambda decision: {"id": decision.id}),
}


def readable(texts: Mapping[str, str | None]) -> dict[str, str]:
    return {name: passing(text) for name, text in texts.items() if text}


def passing(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8")


def copied_index(client: Client) -> SideIndex[Mapping[str, Any]]:
    return SideIndex(client, "passages", COPIED_PROPERTIES, lambda body: body, lambda source: source)


def replace_copied(client: Client, rows: Iterable[CopiedRow]) -> int:
    """Replace the rows of all earlier runs; returns how many.

    Earlier ones go after all new ones are there, so readers never find none.
    """
    side, made_at, count = copied_index(client), now(), 0
    run = _latest(client, side) + 1
    side.make()
    for some in chunks(rows, BATCH_RECORDS):
        side.put((row.id, {**_body(row), "run": run, "made_at": made_at}) for row in some)
        count += len(some)
    side.settle()
    older = {"query": {"range": {"run": {"lt": run}}}, "_source": False, "seq_no_primary_term": True}
    for hits in pages(client, side.name, older, BATCH_RECORDS):
        side.delete_unchanged(hits)
    side.settle()
    return count


def _latest(client: Client, side: SideIndex[Mapping[str, Any]]) -> int:
    if not side.exists():
        return 0
    client.request("POST", f"/{side.name}/_refresh")
    return int(side.aggregated({"max": {"field": "run"}})["value"] or 0)


def _body(row: CopiedRow) -> dict[str, Any]:
    texts = {name: value[:_LETTERS] if name == "text" else value for name, value in row.texts.items()}
    body: dict[str, Any] = {"kind": row.kind, **readable(texts), **row.numbers}
    body[ROOT] = {"origin": [passing(name) for name in row.origins]}
    if row.ref:
        body["document"] = readable({"id": row.ref.id, "index": row.ref.index, "routing": row.ref.routing})
    return body
