"""What is an owner's stays his, whatever his mapping shows of it and whoever else writes at the same time."""

from __future__ import annotations

import json
import urllib.request
from decimal import Decimal
from typing import Any

import pytest

from indexer.clustering.annotations import stored_clusters
from indexer.clustering.clusters import cluster
from indexer.clustering.prune import Pruning
from indexer.engine.index import mapping
from indexer.errors import StoreError
from indexer.ingest.indexing import store_info
from indexer.library.opening import open_store
from indexer.matching.rule import parse_rule
from indexer.schemes import registry
from tests.cli.written import prose
from tests.engines.annotated import annotate, fill, neardup, owners, run, write
from tests.engines.owner.owned import alias_of, remove
from tests.engines.proxy import Proxy
from tests.engines.servers import Server
from tests.stores.made import INFO, put, record


def test_an_index_that_comes_behind_the_name_meanwhile(server: Server, index_name: str) -> None:
    alias, new = f"{index_name}-all", f"{index_name}-2"
    fill(server, index_name, {"a": {"body": prose(1)}}, {"properties": {"body": {"type": "text"}}})
    alias_of(server, index_name, name=alias, write_index=index_name)
    made = mapping.new_index(store_info("landmarks"))["mappings"]
    del made["_meta"]["neardup"]["made_index"]
    made |= {"_source": {"excludes": ["secret"]}}
    made["properties"] |= {"body": {"type": "text"}, "secret": {"type": "keyword"}}
    fill(server, new, {"b": {"body": prose(2), "secret": "x"}}, made)
    proxy = Proxy(server.url)

    def on_request(_: str, path: str) -> None:
        # The last look at what is there has been, and all documents are about to be read.
        if path.partition("?")[0].endswith(("/_pit", "/point_in_time")):
            alias_of(server, new, name=alias)

    proxy.on_request = on_request
    try:
        assert "same command again" in run(f"{proxy.url}/{alias}", "--field", "body", code=3).stderr
    finally:
        proxy.close()
    assert server.request("GET", f"/{new}/_count?q=secret:x")["count"] == 1
    assert server.request("GET", f"/{new}/_doc/b")["_version"] == 1


def test_a_scheme_is_not_taken_out_at_the_cost_of_values(server: Server, index_name: str) -> None:
    made = mapping.new_index(INFO)["mappings"] | {"_source": {"excludes": ["secret"]}}
    made["properties"] |= {"secret": {"type": "keyword"}}
    fill(server, index_name, {}, made)
    scheme = registry.scheme("minhash")
    sketch = scheme.sketch(prose(1))
    assert sketch
    with open_store(f"{server.url}/{index_name}") as store:
        store.add_scheme(scheme.info)
        put(store, record("a", 1, sketches={"minhash": sketch}))
    found = server.request("GET", f"/{index_name}/_doc/a")["_source"]
    write(server, index_name, "b", found | {"secret": "x"}, refresh="true")
    with open_store(f"{server.url}/{index_name}") as store, pytest.raises(StoreError, match="excludes secret"):
        store.remove_scheme("minhash")
    assert server.request("GET", f"/{index_name}/_count?q=secret:x")["count"] == 1


def test_values_stay_as_they_are_as_far_as_the_engines_keep_numbers(server: Server, index_name: str) -> None:
    fill(server, index_name, {}, {"dynamic": False, "properties": {"body": {"type": "text"}}})
    texts = '"text": "\\ud83d\\ude00 \\u0000 \u202e", "none": null, "empty": [[], {}, ""]'
    numbers = '"long": 123456789012345678901234567890, "exact": [0.1, 1e-7, 9007199254740993, 1.7976931348623157e308]'
    rounded = '"digits": 1.23456789012345678901'
    document = f'{{"body": {json.dumps(prose(1))}, {texts}, {numbers}, {rounded}}}'.encode()
    path = f"{server.url}/{index_name}/_doc/a?refresh=true"
    asked = urllib.request.Request(path, document, {"Content-Type": "application/json"}, method="PUT")
    urllib.request.urlopen(asked).close()
    url = f"{server.url}/{index_name}"

    def kept() -> dict[str, Any]:
        with urllib.request.urlopen(f"{url}/_source/a") as answer:
            found: dict[str, Any] = json.loads(answer.read(), parse_float=Decimal)
        return found

    before = kept()
    annotate(url, "--field", "body")
    neardup("cluster", "--store", url)
    after = kept()
    # The engine itself writes the document anew, with numbers as it computes with them.
    digits = before.pop("digits")
    assert Decimal(float(digits)) != digits
    assert float(after.pop("digits")) == float(digits)
    assert after.pop("neardup")
    assert after == before


def test_a_document_replaced_while_prune_deletes_stays(server: Server, index_name: str) -> None:
    proxy = Proxy(server.url)
    names = ["a", "b", "c"]
    try:
        with (
            open_store(f"{proxy.url}/{index_name}", create=INFO) as store,
            open_store(f"{server.url}/{index_name}") as other,
        ):
            put(store, *[record(name, 1) for name in names])
            cluster(store, parse_rule("simhash-doc@3bits"))
            [found] = list(stored_clusters(store, least=2))
            replaced, same = found.members[1:]

            def replace(*_: object) -> bool:
                put(other, record(replaced.id, 1, title="another"))
                return False

            proxy.faults.append(replace)
            assert Pruning(store, unverified=True).delete() == 1
            assert not proxy.faults
            assert store.get([replaced, same]) == [record(replaced.id, 1, title="another"), None]
            # The replaced one is another text, so nobody but the document that stays is left in the cluster.
            assert list(store.clusters()) == []
    finally:
        proxy.close()


def test_ids_of_all_kinds_with_routing(server: Server, index_name: str) -> None:
    names = [
        "x" * 512,
        "é" * 256,
        "a/b?routing=c",
        "a b\"c'd\\e",
        "%2a*,-",
        "_all",
        "\x00\x1f\u202e",
        "\U0001f600",
        ".",
    ]
    mappings = {"properties": {"body": {"type": "text"}}}
    server.request("PUT", f"/{index_name}", {"mappings": mappings, "settings": {"number_of_shards": 3}})
    lines: list[dict[str, Any]] = []
    for number, name in enumerate(names):
        # The same id in several shards: each is a document of its own.
        for routing in (None, "r1", "é?&=/ %"):
            action = {"_index": index_name, "_id": name} | ({"routing": routing} if routing else {})
            lines += [{"index": action}, {"body": prose(number), "routing": routing}]
    answer = server.request("POST", "/_bulk?refresh=true", lines=lines)
    assert not answer["errors"], answer
    before = routed(server, index_name)
    url = f"{server.url}/{index_name}"
    assert annotate(url, "--field", "body", "--to", f"{index_name}-aside")["failed"].keys() <= {"refused"}
    assert routed(server, index_name) == before
    assert annotate(url, "--field", "body")["annotated"] == len(before)
    neardup("cluster", "--store", url)
    assert {place: without(source) for place, source in routed(server, index_name).items()} == before
    remove(url)
    after = routed(server, index_name)
    assert {place: without(source) for place, source in after.items()} == before
    assert not any(source.get("neardup") for source in after.values())


def routed(server: Server, index: str) -> dict[tuple[str, str | None], dict[str, Any]]:
    """Every document's `_source` by id and routing."""
    server.request("POST", f"/{index}/_refresh")
    hits = server.request("POST", f"/{index}/_search", {"size": 1000})["hits"]["hits"]
    return {(hit["_id"], hit.get("_routing")): hit["_source"] for hit in hits}


def without(source: dict[str, Any]) -> dict[str, Any]:
    return owners({"": source})[""]
