"""Removing neardup from an index takes what is neardup's, and leaves what is the owner's."""

from __future__ import annotations

from typing import Any

import pytest

from indexer.engine.client.connection import connect
from indexer.engine.setup.provision import Provision
from indexer.errors import StoreError
from indexer.library.opening import open_store
from indexer.schemes import registry
from indexer.stores import PutStatus
from tests.cli.written import prose
from tests.engines.annotated import annotate, fill, left_by_removal, neardup, owners, sources, write
from tests.engines.owner.owned import UNSEEN, alias_of, remove, require, state
from tests.engines.servers import Server
from tests.stores.made import INFO, put, record


@pytest.mark.parametrize("kind", ["dynamic false", "runtime"])
def test_an_index_that_others_filled_is_stripped_and_not_deleted(server: Server, index_name: str, kind: str) -> None:
    require(server, index_name, UNSEEN[kind])
    url = f"{server.url}/{index_name}"
    open_store(url, create=INFO).close()
    server.request("PUT", f"/{index_name}/_mapping", UNSEEN[kind])
    with open_store(url) as store:
        put(store, record("own", 1), record("both", 2))
    documents = {name: {"body": prose(number), "n": number} for number, name in enumerate("abc")}
    for name, document in documents.items():
        write(server, index_name, name, document)
    server.request("POST", f"/{index_name}/_update/both?refresh=true", {"doc": {"body": "the owner's"}})
    found = server.request("GET", f"/{index_name}/_mapping")[index_name]["mappings"]
    assert set(found["properties"]) == {"neardup"} or found.get("runtime")
    assert "strip neardup's values" in neardup("setup", "--store", url, "--remove", "--dry-run").stdout
    assert "1 deleted that had nothing else" in remove(url)
    assert sources(server, index_name) == {
        **{f"{index_name}/{name}": each for name, each in documents.items()},
        f"{index_name}/both": {"body": "the owner's"} | left_by_removal(server),
    }


def test_an_index_of_neardups_is_deleted_only_after_a_yes(server: Server, index_name: str) -> None:
    url = f"{server.url}/{index_name}"
    with open_store(url, create=INFO) as store:
        put(store, record("a", 1), record("b", None))
    before = state(server, index_name)
    printed = remove(url, code=2)
    assert f"the index {index_name} will be deleted with its 2 documents" in printed
    assert "--yes" in printed
    assert state(server, index_name) == before
    remove(url, "--yes")
    assert "error" in server.request("GET", f"/{index_name}")


@pytest.mark.parametrize("body", [{}, {"x": None}, {"neardup": {"theirs": 1}}, {"neardup.tokens": 7}])
def test_any_document_without_a_record_keeps_the_index(server: Server, index_name: str, body: dict[str, Any]) -> None:
    url = f"{server.url}/{index_name}"
    with open_store(url, create=INFO) as store:
        put(store, record("a", 1))
    server.request("PUT", f"/{index_name}/_mapping", {"dynamic": False})
    write(server, index_name, "odd", body)
    remove(url, "--yes")
    assert sources(server, index_name) == {f"{index_name}/odd": body}


def test_what_comes_after_the_question_is_not_lost(server: Server, index_name: str) -> None:
    url = f"{server.url}/{index_name}"
    with open_store(url, create=INFO) as store:
        put(store, record("a", 1))
    server.request("PUT", f"/{index_name}/_mapping", {"dynamic": False})
    client = connect(url)
    try:
        provision = Provision(client)
        steps = provision.removal()
        assert [step.deletes for step in steps if step.deletes] == [index_name]
        write(server, index_name, "late", {"body": "the owner's"})
        with pytest.raises(StoreError, match="nothing was deleted"):
            list(provision.carry_out(steps))
        assert f"{index_name}/late" in sources(server, index_name)
        # Nor is the index left closed to its owner.
        write(server, index_name, "later", {"body": "the owner's"})
    finally:
        client.close()
    remove(url)
    assert set(sources(server, index_name)) == {f"{index_name}/late", f"{index_name}/later"}


def test_a_closed_index_is_not_taken_for_an_empty_one(server: Server, index_name: str) -> None:
    url = f"{server.url}/{index_name}"
    open_store(url, create=INFO).close()
    server.request("PUT", f"/{index_name}/_mapping", {"dynamic": False})
    write(server, index_name, "a", {"body": "the owner's"})
    server.request("POST", f"/{index_name}/_close")
    remove(url, "--yes", code=3)
    server.request("POST", f"/{index_name}/_open?wait_for_active_shards=1")
    assert sources(server, index_name) == {f"{index_name}/a": {"body": "the owner's"}}


def test_what_source_leaves_out_keeps_the_index(server: Server, index_name: str) -> None:
    url = f"{server.url}/{index_name}"
    body = {"index_patterns": [index_name], "priority": 900}
    body["template"] = {"mappings": {"_source": {"excludes": ["secret"]}, "dynamic": False}}
    assert "error" not in server.request("PUT", f"/_index_template/{index_name}", body)
    try:
        with open_store(url, create=INFO) as store:
            put(store, record("a", 1))
            server.request("PUT", f"/{index_name}/_mapping", {"properties": {"neardup": {"dynamic": False}}})
            # What is not in _source may be in the document all the same, and be the owner's.
            [refused] = store.put([record("a", 2)])
            assert refused.status is PutStatus.FAILED
            assert "secret" in refused.reason
        assert "secret" in remove(url, "--yes", code=3)
        assert set(sources(server, index_name)) == {f"{index_name}/a"}
    finally:
        server.request("DELETE", f"/_index_template/{index_name}")


def test_an_escape_in_a_name_is_part_of_it(server: Server, index_name: str) -> None:
    owned, made = f"{index_name}-owned", f"{index_name}%2a"
    quoted = made.replace("%", "%25")
    fill(server, owned, {"a": {"body": prose(1)}}, {"properties": {"body": {"type": "text"}}})
    before = state(server, owned)
    url = f"{server.url}/{quoted}"
    try:
        neardup("setup", "--store", url)
        with open_store(url) as store:
            store.add_scheme(registry.scheme("minhash").info)
            put(store, record("a", 1))
            store.remove_scheme("minhash")
        remove(url, "--yes")
        assert "error" in server.request("GET", f"/{quoted}")
        assert state(server, owned) == before
    finally:
        server.request("DELETE", f"/{quoted}")


def test_no_removal_ends_half_way_at_a_closed_index(server: Server, index_name: str) -> None:
    names, alias = (f"{index_name}-1", f"{index_name}-2"), f"{index_name}-all"
    for name in names:
        fill(server, name, {"a": {"body": prose(1)}}, {"properties": {"body": {"type": "text"}}})
    alias_of(server, *names, name=alias, write_index=names[0])
    url = f"{server.url}/{alias}"
    annotate(url, "--field", "body")
    server.request("POST", f"/{names[1]}/_close")
    for command in (
        ("setup", "--remove", "--yes"),
        ("annotate", "--field", "body"),
        ("annotate", "--field", "body", "--to", f"{index_name}-side"),
        ("cluster",),
        ("doctor",),
    ):
        said = neardup(command[0], "--store", url, *command[1:], code=3).stderr
        assert f"{names[1]} is closed; open it first" in said, command
    assert sources(server, names[0])[f"{names[0]}/a"]["neardup"]["tokens"] == 200
    server.request("POST", f"/{names[1]}/_open?wait_for_active_shards=1")
    remove(url)
    assert owners(sources(server, alias)) == {f"{name}/a": {"body": prose(1)} for name in names}
    assert not server.request("GET", f"/{alias}/_mapping")[names[1]]["mappings"].get("_meta")


def stream_of(server: Server, name: str, *patterns: str) -> None:
    """A data stream whose template takes more names than that of the stream."""
    template = {"index_patterns": [f"{name}*", *patterns], "data_stream": {}, "priority": 500}
    assert "error" not in server.request("PUT", f"/_index_template/{name}", template)
    for day in (1, 2):
        document = {"@timestamp": f"2026-01-0{day}T00:00:00Z", "body": prose(1)}
        assert server.request("POST", f"/{name}/_doc?refresh=true", document)["result"] == "created"


@pytest.mark.parametrize("server", ["opensearch"], indirect=True)
def test_what_lies_beside_a_data_stream_is_not_taken_by_its_template(server: Server, index_name: str) -> None:
    url = f"{server.url}/{index_name}"
    stream_of(server, index_name)
    try:
        assert annotate(url, "--field", "body")["annotated"] == 2
        neardup("cluster", "--store", url)
        assert server.request("GET", f"/neardup-{index_name}-clusters/_count")["count"] == 2
        said = neardup("annotate", "--store", url, "--field", "body", "--to", f"{index_name}-side", code=3).stderr
        assert f"{index_name}-side: can't make the index: cannot create index" in said
        remove(url)
        assert all(source.keys() == {"@timestamp", "body"} for source in sources(server, index_name).values())
        assert server.request("GET", f"/neardup-{index_name}-*/_alias") == {}
    finally:
        server.request("DELETE", f"/_data_stream/{index_name}")
        server.request("DELETE", f"/_index_template/{index_name}")


@pytest.mark.parametrize("server", ["opensearch"], indirect=True)
def test_a_template_that_takes_what_lies_beside_is_named_before_anything_is_written(
    server: Server, index_name: str
) -> None:
    url = f"{server.url}/{index_name}"
    stream_of(server, index_name, f"neardup-{index_name}*")
    try:
        before = sources(server, index_name)
        for command in (("annotate", "--field", "body"), ("annotate", "--field", "body", "--dry-run"), ("setup",)):
            said = neardup(command[0], "--store", url, *command[1:], code=2).stderr
            assert f"the index template '{index_name}' makes data streams of all names like" in said
        assert sources(server, index_name) == before
        over = {"index_patterns": [f"neardup-{index_name}*"], "priority": 501}
        assert "error" not in server.request("PUT", f"/_index_template/{index_name}-over", over)
        assert annotate(url, "--field", "body")["annotated"] == 2
        neardup("cluster", "--store", url)
        server.request("DELETE", f"/_index_template/{index_name}-over")
        assert "makes data streams" in neardup("doctor", "--store", url, code=7).stdout
        remove(url)
    finally:
        server.request("DELETE", f"/_data_stream/{index_name}")
        server.request("DELETE", f"/_index_template/{index_name}")


def test_indices_beside_go_also_where_a_template_of_the_owner_gave_them_a_field(
    server: Server, index_name: str
) -> None:
    mappings = {"properties": {"tenant": {"type": "keyword"}}, "_meta": {"team": "search"}}
    template = {"index_patterns": [f"*{index_name}*"], "priority": 400, "template": {"mappings": mappings}}
    assert "error" not in server.request("PUT", f"/_index_template/{index_name}", template)
    try:
        url = f"{server.url}/{index_name}"
        fill(
            server, index_name, {name: {"body": prose(1)} for name in "ab"}, {"properties": {"body": {"type": "text"}}}
        )
        annotate(url, "--field", "body")
        neardup("cluster", "--store", url)
        beside = server.request("GET", f"/neardup-{index_name}-*/_mapping")
        assert len(beside) == 2
        assert all("tenant" in found["mappings"]["properties"] for found in beside.values())
        remove(url)
        assert server.request("GET", f"/neardup-{index_name}-*/_alias") == {}
    finally:
        server.request("DELETE", f"/_index_template/{index_name}")
