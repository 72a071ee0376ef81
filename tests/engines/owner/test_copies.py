"""An owner finds the copies among his documents, by a query of his own."""

from __future__ import annotations

import json
from typing import Any

from annotated import annotate, fill, neardup, sources, write
from servers import Server
from written import prose

MAPPING = {"properties": {"body": {"type": "text"}, "lang": {"type": "keyword"}}}


def test_what_is_marked_is_found_by_a_query(server: Server, index_name: str) -> None:
    url = f"{server.url}/{index_name}"
    texts = {"a": prose(1), "b": prose(1), "near": prose(1).rsplit(" ", 8)[0], "other": prose(2)}
    fill(server, index_name, {name: {"body": text} for name, text in texts.items()}, MAPPING)
    annotate(url, "--field", "body")
    neardup("cluster", "--store", url, "--canonical", "longest")

    def found(query: dict[str, Any]) -> set[str]:
        hits = server.request("POST", f"/{index_name}/_search", {"query": query})["hits"]["hits"]
        return {hit["_id"] for hit in hits}

    marked = {"exists": {"field": "neardup.duplicate_of"}}
    assert found(marked) == set()
    neardup("prune", "--store", url, "--keep", "canonical")
    marks = {source["neardup"].get("duplicate_of") for source in sources(server, index_name).values()} - {None}
    [canonical] = marks
    copies = {"a", "b", "near"} - marks
    assert found(marked) == found({"term": {"neardup.duplicate_of": canonical}}) == copies
    for copy in copies:
        known = json.loads(neardup("show", copy, "--store", url, "--json").stdout)["annotations"]
        assert known["duplicate_of"] == canonical
    # Only what is identical; the mark of the other goes.
    neardup("prune", "--store", url, "--keep", "canonical", "--identical")
    [copy] = found(marked)
    assert {copy, canonical} == {"a", "b"}
    # Written anew, it is no longer what it was.
    write(server, index_name, copy, {**sources(server, index_name)[f"{index_name}/{copy}"], "body": prose(3)})
    annotate(url)
    server.request("POST", f"/{index_name}/_refresh")
    assert found(marked) == set()
