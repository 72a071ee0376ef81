"""The guide's query for search results without copies, whatever the documents of an index hold."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import indexer
from indexer.engine.client.connection import connect
from indexer.engine.setup.provision import Provision
from indexer.library.opening import open_store
from indexer.model import Ref, own_cluster_id
from indexer.stores import Store
from tests.clustered import cluster_store
from tests.engines.annotated import annotate
from tests.engines.servers import Server
from tests.stores.made import INFO, put, record

GUIDE = Path(__file__).resolve().parents[3] / "docs" / "how-to" / "clusters.md"


def asked() -> dict[str, Any]:
    """The query as the guide has it."""
    section = GUIDE.read_text("utf-8").split("## Collapse search results")[1]
    block = re.search(r"```json\n(.*?)```", section, re.DOTALL)
    assert block
    body: dict[str, Any] = json.loads(block[1])
    return body


def collapsed(server: Server, index: str) -> tuple[set[str], set[str]]:
    """The ids of the hits, one for each text, and those of documents that neardup does not know."""
    server.request("POST", f"/{index}/_refresh")
    body = {**asked(), "sort": [{"neardup.cluster.verdict": "desc"}], "size": 100}
    answer = server.request("POST", f"/{index}/_search", body)
    assert "error" not in answer, answer
    unknown = answer["aggregations"]["unknown"]
    assert unknown["doc_count"] == len(unknown["documents"]["hits"]["hits"])
    hits = {hit["_id"] for hit in answer["hits"]["hits"]}
    assert len(hits) == len(answer["hits"]["hits"])
    return hits, {hit["_id"] for hit in unknown["documents"]["hits"]["hits"]}


@pytest.fixture
def store(server: Server, index_name: str) -> Iterator[Store]:
    """A store in an owner's index, whose documents have a body."""
    fields = {"properties": {"body": {"type": "text"}}}
    server.request("PUT", f"/{index_name}", {"mappings": fields})
    client = connect(f"{server.url}/{index_name}")
    provision = Provision(client)
    list(provision.carry_out([step for step in provision.set_up(INFO) if step.path.endswith("/_mapping")]))
    client.close()
    with open_store(f"{server.url}/{index_name}") as opened:
        opened.refresh = "true"
        yield opened


def write(server: Server, index: str, *names: str) -> None:
    """What an owner writes."""
    for name in names:
        server.request("PUT", f"/{index}/_doc/{name}", {"body": f"steel {name}"})


def test_older_versions_alone_are_left_out(server: Server, index_name: str, store: Store) -> None:
    section = GUIDE.read_text("utf-8").split("## Show only the latest versions")[1]
    block = re.search(r"```json\n(.*?)```", section, re.DOTALL)
    assert block
    body: dict[str, Any] = json.loads(block[1]) | {"size": 100}
    places = {"a": "/d/1.9/x.html", "b": "/d/1.10/x.html", "c": "/y.html"}
    write(server, index_name, *places, "far", "short", "wordless", "unknown")
    put(store, *[record(name, 1, source=place) for name, place in places.items()])
    put(store, record("far", 0xFFFF_0000_FFFF_0000), record("short", 1, short=True), record("wordless", None))

    def hits() -> set[str]:
        server.request("POST", f"/{index_name}/_refresh")
        return {hit["_id"] for hit in server.request("POST", f"/{index_name}/_search", body)["hits"]["hits"]}

    everything = {*places, "far", "short", "wordless", "unknown"}
    assert hits() == everything
    cluster_store(store)
    assert hits() == everything - {"a"}
    latest = {"query": {"term": {"neardup.version.is_latest": True}}, "size": 100}
    answer = server.request("POST", f"/{index_name}/_search", latest)
    assert {hit["_id"] for hit in answer["hits"]["hits"]} == everything - {"a", "unknown"}
    [ordinals] = [server.request("GET", f"/{index_name}/_doc/{name}")["_source"]["neardup"]["version"] for name in "b"]
    assert ordinals == {"ordinal": 2, "is_latest": True}
    with indexer.open(f"{server.url}/{index_name}") as collection:
        collection.delete("b")
        assert hits() == everything


def test_what_could_go_is_hidden_and_found_by_what_it_repeats(server: Server, index_name: str, store: Store) -> None:
    section = GUIDE.read_text("utf-8").split("To hide the documents that could go")[1]
    body = json.loads(re.findall(r"```json\n(.*?)```", section, re.DOTALL)[0]) | {"size": 100}
    relations = {"copy": "reflowed", "frame": "rendition", "other": "form", "unread": "unverified"}
    write(server, index_name, "kept", *relations, "unknown")
    put(store, *[record(name, 1) for name in ("kept", *relations)])
    place = {"id": own_cluster_id(Ref("kept")), "similarity": 0.9, "is_canonical": False, "repeats": "kept"}
    store.annotate([(Ref(name), {"cluster": {**place, "relation": word}}) for name, word in relations.items()])
    server.request("POST", f"/{index_name}/_refresh")
    hits = {hit["_id"] for hit in server.request("POST", f"/{index_name}/_search", body)["hits"]["hits"]}
    assert hits == {"kept", "frame", "other", "unread", "unknown"}
    copies = {"query": {"terms": {"neardup.cluster.repeats": ["kept"]}}, "size": 100}
    found = server.request("POST", f"/{index_name}/_search", copies)["hits"]["hits"]
    assert {hit["_id"]: hit["_source"]["neardup"]["cluster"]["relation"] for hit in found} == relations


def test_no_document_is_lost_and_no_copy_is_shown(server: Server, index_name: str, store: Store) -> None:
    everything = [*"abcdefgh", "short", "wordless"]
    write(server, index_name, *everything, "other")
    server.request("PUT", f"/{index_name}/_doc/other", {"body": "copper"})
    records = {name: record(name, number << 40) for number, name in enumerate("abcdefgh")}
    records["short"] = record("short", 1, short=True)
    records["wordless"] = record("wordless", None)
    put(store, *records.values())
    assert collapsed(server, index_name) == (set(everything), set())
    # Clusters are named after one of their documents.
    founded = {"a": "abc", "d": "de"}
    for founder, members in founded.items():
        cluster = own_cluster_id(Ref(founder))
        place = {"id": cluster, "similarity": 0.9}
        copy = {**place, "is_canonical": False, "repeats": founder, "relation": "reflowed"}
        notes = dict.fromkeys(members, copy) | {founder: {**place, "is_canonical": True}}
        store.annotate([(Ref(name), {"cluster": note}) for name, note in notes.items()])
    alone = {"f", "g", "h", "short", "wordless"}
    assert collapsed(server, index_name) == ({"a", "d"} | alone, set())
    # Another writer's documents, one that the owner writes anew, and one that is stripped.
    write(server, index_name, "new1", "new2", "new3", "new4", "h")
    store.delete([Ref("g")])
    unknown = {"new1", "new2", "new3", "new4", "g", "h"}
    assert collapsed(server, index_name) == ({"a", "d", "f", "short", "wordless"}, unknown)
    # A document that founded a cluster and is replaced is no longer in it; nor is one that is deleted and comes again.
    put(store, record("a", 77 << 40))
    store.delete([Ref("d")])
    write(server, index_name, "d")
    put(store, record("d", 78 << 40), record("new1", 79 << 40), record("g", 80 << 40))
    hits, unknown = collapsed(server, index_name)
    # Of b and c one is left, and e is alone in what was d's cluster.
    assert (hits - {"b", "c"}, len(hits & {"b", "c"})) == ({"a", "d", "e", "f", "short", "wordless", "new1", "g"}, 1)
    assert unknown == {"new2", "new3", "new4", "h"}
    # A document that leaves a cluster, or is recorded without being in one, stays alone.
    store.annotate([(Ref("c"), {"cluster": None}), (Ref("f"), {"note": 1})])
    assert {"b", "c", "f"} <= collapsed(server, index_name)[0]
    assert store.annotations([Ref("c"), Ref("f")]) == [{}, {"note": 1}]


REPORT = [
    f"The {place} of the old mill was {work} by {who} in the {when}, and the beams held."
    for place, work, who, when in (
        ("roof", "mended", "two brothers", "spring"),
        ("wheel", "turned", "a neighbour", "evening"),
        ("dam", "raised", "the council", "autumn"),
        ("floor", "laid", "some pupils", "winter"),
        ("door", "painted", "the miller", "morning"),
        ("stone", "dressed", "a mason", "summer"),
        ("sluice", "greased", "an engineer", "night"),
    )
]
PAGES = {
    "first": ["From our country desk", *REPORT],
    "again": ["FROM OUR COUNTRY DESK", *REPORT],
    "other-frame": ["By Ada Kent", *REPORT, "Share this article"],
    "other-frame-again": ["By Ada Kent", "", *REPORT, "Share this article"],
    "form": ["From our country desk", *REPORT[:3], REPORT[3].replace("some pupils", "many pupils"), *REPORT[4:]],
    "edited": ["From our country desk", *REPORT, "The owner, asked on the telephone, said nothing of the price."],
    "alone": ["Nobody counted the herons on the upper lake this year, for the boat had been sold to a circus."] * 2,
}


@pytest.mark.parametrize(("field", "renditions"), [("copies_id", False), ("work_id", True)])
def test_a_collapse_folds_what_distinct_folds(server: Server, index_name: str, field: str, renditions: bool) -> None:
    server.request("PUT", f"/{index_name}", {"mappings": {"properties": {"body": {"type": "text"}}}})
    # Whether an edited text has another frame than a document depends on which of them is kept.
    pages = {name: lines for name, lines in PAGES.items() if not (renditions and name == "edited")}
    for name, lines in pages.items():
        server.request("PUT", f"/{index_name}/_doc/{name}?refresh=true", {"body": "\n\n".join(lines)})
    url = f"{server.url}/{index_name}"
    annotate(url, "--field", "body")
    with indexer.open(url) as collection:
        collection.cluster()
        server.request("POST", f"/{index_name}/_refresh")
        inner = {"name": "copies", "size": 10, "_source": False}
        request = {"collapse": {"field": f"neardup.cluster.{field}", "inner_hits": inner}, "size": 20}
        hits = server.request("POST", f"/{index_name}/_search", request)["hits"]["hits"]
        folded = {frozenset(each["_id"] for each in hit["inner_hits"]["copies"]["hits"]["hits"]) for hit in hits}
        distinct = collection.distinct([(name, None) for name in pages], renditions=renditions)
        assert folded == {frozenset({hit.id, *(copy.id for copy in hit.copies)}) for hit in distinct}
    frames = {"other-frame", "other-frame-again"}
    work = [{"first", "again", *frames}] if renditions else [{"first", "again"}, frames]
    assert folded == {
        frozenset(each) for each in (*work, *({name} for name in pages.keys() & {"form", "edited", "alone"}))
    }


def test_each_document_keeps_its_own_id_until_it_is_written(server: Server, index_name: str, store: Store) -> None:
    def ids() -> dict[str, str]:
        hits = server.request("POST", f"/{index_name}/_search?size=100")["hits"]["hits"]
        return {hit["_id"]: hit["_source"]["neardup"]["cluster"]["id"] for hit in hits}

    put(store, *[record(str(number), 5) for number in range(20)])
    first = ids()
    assert len(set(first.values())) == 20
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{12}", each) for each in first.values())
    assert not set(first.values()) & {own_cluster_id(Ref(name)) for name in first}
    store.annotate([(Ref(name), {"note": name}) for name in first])
    assert ids() == first
    assert not any("cluster" in annotations for _, annotations in store.scan_annotations())
    put(store, *[record(str(number), 5) for number in range(20)])
    assert not set(ids().values()) & set(first.values())
