"""What the panels of the dashboards ask the engine, built from the saved objects as the products build it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from tests.engines.servers import Server

FOLDER = Path(__file__).resolve().parents[3] / "mappings" / "dashboards"
FILES = {"elasticsearch": "kibana.ndjson", "opensearch": "opensearch-dashboards.ndjson"}
MISSING = "__missing__"
CONTROLS = {"controls": "duplicates", "health-controls": "health", "copied-controls": "copied"}
"""The panels of filter lists in OpenSearch Dashboards, and their dashboards."""
DATES = "published"
"""The owner's field that the panel over time goes by."""


class Panels:
    """The panels of one file over the index `name` of a server; `ask` sends what one asks."""

    def __init__(self, server: Server, name: str) -> None:
        text = (FOLDER / FILES[server.name]).read_text("utf-8").replace("INDEX_NAME", name).replace("TIME_FIELD", DATES)
        self.server, self.name = server, name
        self.objects: dict[str, dict[str, Any]] = {each["id"]: each for each in map(json.loads, text.splitlines())}
        [board] = [each for each in self.objects.values() if each["id"].endswith("-duplicates")]
        self.since = (board["attributes"]["timeFrom"], board["attributes"]["timeTo"])

    def find(self, panel: str) -> dict[str, Any]:
        """The saved object of a panel."""
        return self.objects[f"neardup-{self.name}-{panel}"]

    def names(self) -> set[str]:
        """Every panel that asks for something."""
        kinds = ("visualization", "search")
        found = {name for name, each in self.objects.items() if each["type"] in kinds}
        return {name.removeprefix(f"neardup-{self.name}-") for name in found} - set(CONTROLS)

    def ask(self, panel: str, **chosen: str) -> Any:
        """The engine's answer; `chosen` is what the controls were set to, by the last part of a field's name."""
        index, body = self.request(panel, chosen)
        answer = self.server.request("POST", f"/{index}/_search", body)
        assert "error" not in answer, (panel, body, answer)
        assert answer["_shards"]["failed"] == 0
        return answer

    def buckets(self, panel: str) -> list[tuple[dict[str, Any], int]]:
        """The filter of each bar of a panel, or of each of its parts, and how many documents it stands for."""
        state = json.loads(self.find(panel)["attributes"].get("visState", "{}"))
        inside = [each for each in state.get("aggs", ()) if each["schema"] != "metric"]
        return _bars(inside, self.ask(panel)["aggregations"], []) if inside else []

    def left_by(self, panel: str, clicks: Mapping[str, Any]) -> int:
        """How many documents a panel has where a filter narrows the dashboard."""
        index, body = self.request(panel, {})
        body["query"]["bool"]["filter"].append(clicks)
        return int(self.server.request("POST", f"/{index}/_search", body)["hits"]["total"]["value"])

    def ids_left(self, panel: str, clicks: Mapping[str, Any]) -> set[str]:
        """The ids of all documents that a panel has where a filter narrows the dashboard."""
        index, body = self.request(panel, {})
        body["query"]["bool"]["filter"].append(clicks)
        return {hit["_id"] for hit in self.server.request("POST", f"/{index}/_search", body)["hits"]["hits"]}

    def request(self, panel: str, chosen: Mapping[str, str]) -> tuple[str, dict[str, Any]]:
        """Index and body of a panel's search."""
        found = self.find(panel)
        attributes = found["attributes"]
        if found["type"] == "search":
            view, query = self._source(found)
            sort = [{name: {"order": order}} for name, order in attributes["sort"]]
            body = {"size": 500, "sort": sort, "query": self._query(view, query, chosen), "track_total_hits": True}
            return view["title"], body
        state = json.loads(attributes["visState"])
        if state["type"] == "vega":
            url = json.loads(state["params"]["spec"])["data"]["url"]
            view = {"title": url["index"], "timeFieldName": url.get("%timefield%")}
            return url["index"], {**url["body"], "query": self._query(view, "", chosen)}
        view, query = self._source(found)
        aggregations = _nested([each for each in state["aggs"] if each["enabled"]])
        return view["title"], {
            "size": 0,
            "query": self._query(view, query, chosen),
            **aggregations,
            "track_total_hits": True,
        }

    def _source(self, found: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
        source = json.loads(found["attributes"]["kibanaSavedObjectMeta"]["searchSourceJSON"])
        references = {each["name"]: each["id"] for each in found["references"]}
        assert source["query"]["language"] == "lucene"
        return self.objects[references[source["indexRefName"]]]["attributes"], source["query"]["query"]

    def _query(self, view: Mapping[str, Any], query: str, chosen: Mapping[str, str]) -> dict[str, Any]:
        since, until = self.since
        filters: list[dict[str, Any]] = []
        if name := view.get("timeFieldName"):
            filters.append({"range": {name: {"gte": since, "lte": until}}})
        if query:
            filters.append(lucene(query))
        filters += [{"match_phrase": {self._control(name): value}} for name, value in chosen.items()]
        return {"bool": {"filter": filters}}

    def _control(self, name: str) -> str:
        """The field of a filter list of the dashboards, which has to be there."""
        [found] = {each for each in self._controls() if each.endswith(f".{name}")}
        return found

    def _controls(self) -> Iterator[str]:
        for panel, board in CONTROLS.items():
            if found := self.objects.get(f"neardup-{self.name}-{panel}"):
                state = json.loads(found["attributes"]["visState"])
                yield from (each["fieldName"] for each in state["params"]["controls"])
            else:
                group = self.find(board)["attributes"]["controlGroupInput"]["panelsJSON"]
                yield from (each["explicitInput"]["fieldName"] for each in json.loads(group).values())


def lucene(query: str) -> dict[str, Any]:
    """A query in Lucene's syntax, as both products send it."""
    return {"query_string": {"query": query, "analyze_wildcard": True}}


def _bars(
    inside: Sequence[Mapping[str, Any]], found: Mapping[str, Any], before: Sequence[dict[str, Any]]
) -> list[tuple[dict[str, Any], int]]:
    first, *rest = inside
    buckets = found[first["id"]]["buckets"]
    pairs = list(buckets.items()) if isinstance(buckets, dict) else [(each["key"], each) for each in buckets]
    made: list[tuple[dict[str, Any], int]] = []
    for key, bucket in pairs:
        clicks = [*before, clicked(first, bucket if first["type"] == "range" else key)]
        made += _bars(rest, bucket, clicks) if rest else [({"bool": {"filter": clicks}}, bucket["doc_count"])]
    return made


def _nested(aggregations: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Buckets inside each other in their order, the metrics at every level."""
    metrics = {
        each["id"]: {each["type"]: {"field": each["params"]["field"]}}
        for each in aggregations
        if each["schema"] == "metric" and each["type"] != "count"
    }
    inside: dict[str, Any] = dict(metrics)
    for each in reversed([each for each in aggregations if each["schema"] != "metric"]):
        inside = {**metrics, each["id"]: {**_bucket(each), **({"aggs": inside} if inside else {})}}
    return {"aggs": inside} if inside else {}


def _bucket(aggregation: Mapping[str, Any]) -> dict[str, Any]:
    kind, params = aggregation["type"], aggregation["params"]
    if kind == "filters":
        return {"filters": {"filters": {each["label"]: lucene(each["input"]["query"]) for each in params["filters"]}}}
    if kind == "date_histogram":
        # What "auto" comes to over five years; it only works with the view's own field of time.
        interval = {"auto": "1M", "w": "1w"}[params["interval"]]
        assert params["interval"] != "auto" or params["field"] in ("neardup.indexed_at", "failed_at")
        return {"date_histogram": {"field": params["field"], "calendar_interval": interval, "min_doc_count": 1}}
    if kind == "histogram":
        return {"histogram": {"field": params["field"], "interval": params["interval"], "min_doc_count": 1}}
    if kind == "range":
        ranges = [{side: at for side, at in each.items() if side != "label"} for each in params["ranges"]]
        return {"range": {"field": params["field"], "ranges": ranges}}
    assert kind == "terms"
    by = "_count" if params["orderBy"] == "1" else params["orderBy"]
    body = {"field": params["field"], "size": params["size"], "order": {by: params["order"]}}
    return {"terms": body | ({"missing": MISSING} if params["missingBucket"] else {})}


def clicked(aggregation: Mapping[str, Any], key: Any) -> dict[str, Any]:
    """The filter that both products make of a bucket, by its key or the bucket of a range, when its bar is clicked."""
    kind, params = aggregation["type"], aggregation["params"]
    if kind == "filters":
        return lucene(next(each["input"]["query"] for each in params["filters"] if each["label"] == key))
    field = params["field"]
    if kind == "terms":
        there = {"match_phrase": {field: key}}
        return {"bool": {"must_not": [{"exists": {"field": field}}]}} if key == MISSING else there
    if kind == "range":
        return {"range": {field: {way: key[side] for way, side in (("gte", "from"), ("lt", "to")) if side in key}}}
    if kind == "histogram":
        # Whatever the interval is.
        low = int(float(key))
        return {"range": {field: {"gte": low, "lt": low + params["interval"]}}}
    assert kind == "date_histogram"
    first = datetime.fromtimestamp(key / 1000, UTC)
    weekly = params["interval"] == "w"
    after = first + timedelta(days=7) if weekly else (first + timedelta(days=31)).replace(day=1)
    return {"range": {field: {"gte": first.isoformat(), "lt": after.isoformat()}}}


def _buckets(inside: Mapping[str, Any]) -> list[Any]:
    return [each["buckets"] for each in inside.values() if isinstance(each, dict) and "buckets" in each]


def counts(answer: Mapping[str, Any]) -> dict[str, Any]:
    """Documents by the first buckets, and by part where these have parts: {key: {label: documents}}."""
    found: dict[str, Any] = {}
    [buckets] = _buckets(answer["aggregations"])
    for bucket in buckets:
        key = str(bucket.get("key_as_string", bucket["key"]))
        [parts] = _buckets(bucket) or [None]
        if isinstance(parts, dict):
            found[key] = {label: each["doc_count"] for label, each in parts.items()}
        elif parts is not None:
            found[key] = {each["key"]: each["doc_count"] for each in parts}
        else:
            found[key] = bucket["doc_count"]
    return found
