"""Fields, templates and indices of the owner's that have the names of neardup's stay as they are."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from indexer.engine.client.connection import connect
from indexer.engine.setup.provision import Provision
from indexer.ingest.indexing import store_info
from indexer.library.opening import open_store
from indexer.stores import PutStatus
from tests.cli.written import prose
from tests.engines.annotated import annotate, fill, left_by_removal, neardup, run, sources, write
from tests.engines.owner.owned import UNSEEN, remove, require, state
from tests.engines.servers import Server
from tests.stores.made import record

FIELDS: list[dict[str, Any]] = [
    {"neardup": "the owner's"},
    {"neardup": {"cluster": 7}},
    {"neardup": [{"tokens": 1}]},
    {"neardup": {"tokens": 1, "theirs": 2}},
    {"neardup.tokens": 3},
    {"neardup": {}},
    {"neardup": False},
]


@pytest.mark.parametrize(
    ("kind", "field"),
    [*(("dynamic false", field) for field in FIELDS), ("not enabled", FIELDS[0]), ("runtime", FIELDS[0])],
    ids=json.dumps,
)
def test_an_owners_field_that_is_not_mapped(server: Server, index_name: str, kind: str, field: dict[str, Any]) -> None:
    require(server, index_name, UNSEEN[kind])
    mappings = UNSEEN[kind] | ({} if kind == "not enabled" else {"properties": {"body": {"type": "text"}}})
    fill(server, index_name, {str(number): {"body": prose(number)} for number in range(5)}, mappings)
    write(server, index_name, "odd", {"body": prose(9), **field})
    url = f"{server.url}/{index_name}"
    before = state(server, index_name)
    for command in (
        ["annotate", "--field", "body", "--jobs", "1"],
        ["setup"],
        ["annotate", "--field", "body", "--dry-run"],
    ):
        if kind == "not enabled" and command[0] == "annotate":
            continue
        printed = neardup(*command, "--store", url, code=2).stderr
        assert "belongs to the owner" in printed
        assert "--to" in printed
        assert state(server, index_name) == before
    if kind != "not enabled":
        assert annotate(url, "--field", "body", "--to", f"{index_name}-aside")["annotated"] == 6
        assert state(server, index_name) == before


@pytest.mark.parametrize(
    "mapping",
    [
        {"properties": {"neardup": {"type": "flattened"}}},
        {"properties": {"neardup": {"type": "flat_object"}}},
        {"properties": {"neardup": {"type": "nested", "properties": {"title": {"type": "text"}}}}},
        {"properties": {"neardup": {"type": "alias", "path": "body"}, "body": {"type": "text"}}},
        {"runtime": {"neardup": {"type": "long"}}},
        {"runtime": {"neardup.tokens": {"type": "long"}}},
        {"subobjects": False},
        {"subobjects": False, "dynamic": False},
        {"_meta": {"neardup": "the owner's"}},
        {"_meta": {"neardup": {"mapping_version": 7}}},
    ],
    ids=json.dumps,
)
def test_an_owners_field_that_is_mapped(server: Server, index_name: str, mapping: dict[str, Any]) -> None:
    require(server, index_name, mapping)
    fill(
        server,
        index_name,
        {"a": {"text": prose(1)}},
        mapping | {"properties": {"text": {"type": "text"}} | mapping.get("properties", {})},
    )
    before = state(server, index_name)
    for command in (["annotate", "--field", "text", "--jobs", "1"], ["setup"], ["setup", "--remove", "--yes"]):
        code = 0 if "--remove" in command else 2
        neardup(*command, "--store", f"{server.url}/{index_name}", code=code)
        assert state(server, index_name) == before


def test_an_owners_field_of_the_same_names(server: Server, index_name: str) -> None:
    # Every name is one of neardup's, and what stands there is another program's.
    inside = {"cluster": {"properties": {"id": {"type": "keyword"}}}, "title": {"type": "text"}}
    document = {"body": prose(1), "neardup": {"cluster": {"id": "c1"}, "title": "t"}}
    mappings = {"properties": {"body": {"type": "text"}, "neardup": {"properties": inside}}}
    fill(server, index_name, {"a": document}, mappings)
    before = state(server, index_name)
    assert "belongs to the owner" in run(f"{server.url}/{index_name}", "--field", "body", code=2).stderr
    assert state(server, index_name) == before


def test_what_comes_after_set_up_is_seen_in_each_document(server: Server, index_name: str) -> None:
    fill(
        server,
        index_name,
        {"a": {"body": prose(1)}, "b": {"body": prose(2)}},
        {"properties": {"body": {"type": "text"}}},
    )
    url = f"{server.url}/{index_name}"
    annotate(url, "--field", "body")
    theirs: dict[str, Any] = {"body": prose(3), "neardup": {"theirs": [1, {"x": None}]}}
    listed: dict[str, Any] = {"body": prose(4), "neardup": [{"tokens": 1}, {"tokens": 2}]}
    dotted = {"body": prose(5), "neardup.tokens": 5}
    for name, document in {"theirs": theirs, "listed": listed}.items():
        write(server, index_name, name, document)
    # Into one that neardup has filled.
    server.request("POST", f"/{index_name}/_update/b?refresh=true", {"doc": {"neardup": {"theirs": {"kept": True}}}})
    counts = annotate(url, "--field", "body", "--again")
    assert counts["failed"] == {"owner's field": 2}
    assert counts["annotated"] == 2
    found = sources(server, index_name)
    assert (found[f"{index_name}/theirs"], found[f"{index_name}/listed"]) == (theirs, listed)
    assert found[f"{index_name}/b"]["neardup"]["theirs"] == {"kept": True}
    with open_store(url) as store:
        results = store.put([record("theirs", 1), record("listed", 1), record("b", 1)])
        assert [each.status for each in results] == [PutStatus.FAILED, PutStatus.FAILED, PutStatus.REPLACED]
        write(server, index_name, "dotted", dotted)
        server.request("POST", f"/{index_name}/_refresh")
        for name in ("cluster", "stats", "pairs"):
            neardup(name, "--store", url)
        assert {each.ref.id for each in store.scan()} == {"a", "b"}
    printed = remove(url)
    assert "of 1 what others had put under 'neardup' stays" in printed
    found = sources(server, index_name)
    assert (found[f"{index_name}/theirs"], found[f"{index_name}/listed"]) == (theirs, listed)
    assert found[f"{index_name}/dotted"] == dotted
    part = found[f"{index_name}/b"].pop("neardup")
    assert {name: value for name, value in part.items() if value is not None} == {"theirs": {"kept": True}}
    assert found[f"{index_name}/a"] == {"body": prose(1)} | left_by_removal(server)
    # It is his field again.
    assert "belongs to the owner" in run(url, "--field", "body", code=2).stderr


@pytest.fixture
def templates(server: Server) -> Iterator[None]:
    """Without templates of neardup's, before and after."""
    for done in range(2):
        for kind in ("_index_template", "_component_template"):
            found = server.request("GET", f"/{kind}").get(f"{kind[1:]}s", [])
            for name in (each["name"] for each in found if each["name"].startswith("neardup")):
                server.request("DELETE", f"/{kind}/{name}")
        if not done:
            yield


@pytest.mark.usefixtures("templates")
def test_an_owners_templates(server: Server, index_name: str) -> None:
    url = f"{server.url}/{index_name}"
    component = {"template": {"settings": {"index.number_of_replicas": 1}}}
    server.request("PUT", "/_component_template/neardup", component)
    kept = server.request("GET", "/_component_template/neardup")
    assert "component template 'neardup' that belongs to the owner" in neardup("setup", "--store", url, code=2).stderr
    remove(url)
    assert server.request("GET", "/_component_template/neardup") == kept
    server.request("DELETE", "/_component_template/neardup")
    path = f"/_index_template/neardup-{index_name}"
    server.request("PUT", path, {"index_patterns": [f"{index_name}-x"], "priority": 900})
    kept = server.request("GET", path)
    assert "belongs to the owner" in neardup("setup", "--store", url, code=2).stderr
    assert "error" in server.request("GET", f"/{index_name}")
    assert server.request("GET", path) == kept
    server.request("DELETE", path)
    neardup("setup", "--store", url)
    # The owner makes it his.
    theirs = {"index_patterns": [index_name], "composed_of": ["neardup"], "priority": 500}
    theirs["template"] = {"aliases": {f"{index_name}-all": {}}}
    assert "error" not in server.request("PUT", path, theirs)
    kept = server.request("GET", path)
    remove(url, "--yes")
    assert server.request("GET", path) == kept
    assert "error" not in server.request("GET", "/_component_template/neardup")


def test_an_index_that_only_has_the_name_of_one_beside(server: Server, index_name: str) -> None:
    url, other = f"{server.url}/{index_name}", f"neardup-{index_name}-resources"
    fill(server, index_name, {"a": {"body": prose(1)}}, {"properties": {"body": {"type": "text"}}})
    fill(server, other, {"a": {"body": prose(1)}}, {"properties": {"body": {"type": "text"}}})
    annotate(url, "--field", "body")
    neardup("cluster", "--store", url)
    before = state(server, other)
    remove(url)
    assert state(server, other) == before


def test_what_the_owner_says_in_meta_while_documents_are_read_or_stripped(server: Server, index_name: str) -> None:
    fill(server, index_name, {"a": {"body": prose(1)}}, {"_meta": {"x": 0}, "properties": {"body": {"type": "text"}}})

    def meta() -> dict[str, Any]:
        found: dict[str, Any] = server.request("GET", f"/{index_name}/_mapping")[index_name]["mappings"]["_meta"]
        return found

    client = connect(f"{server.url}/{index_name}")
    try:
        provision = Provision(client)
        for number, plan in enumerate((lambda: provision.set_up(store_info("landmarks")), provision.removal), 1):
            steps = plan()
            server.request("PUT", f"/{index_name}/_mapping", {"_meta": meta() | {"x": number}})
            assert list(provision.carry_out(steps))
            assert meta()["x"] == number
        assert meta() == {"x": 2}
    finally:
        client.close()
