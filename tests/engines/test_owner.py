"""What is an owner's stays his, whatever his mapping shows of it and whoever else writes at the same time."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest
from annotated import annotate, fill, left_by_removal, neardup, owners, run, sources, write
from made import INFO, put, record
from proxy import Proxy
from servers import Server
from written import prose

from indexer.clustering.clusters import cluster
from indexer.clustering.prune import Pruning
from indexer.clustering.stored import stored_clusters
from indexer.errors import StoreError
from indexer.ingest.indexing import store_info
from indexer.matching.rule import parse_rule
from indexer.provision.setup import Provision
from indexer.schemes import registry
from indexer.stores import PutStatus, open_store
from indexer.stores.search.client.connection import connect
from indexer.stores.search.fields import mapping

# Mappings that show nothing of what documents have beside it.
UNSEEN: dict[str, dict[str, Any]] = {
    "dynamic false": {"dynamic": False},
    "not enabled": {"enabled": False},
    "runtime": {"dynamic": "runtime"},
}


def remove(url: str, *flags: str, code: int = 0) -> str:
    """Run `neardup setup --remove`, and what it said."""
    return neardup("setup", "--store", url, "--remove", *flags, code=code).stderr


def require(server: Server, index: str, mapping: dict[str, Any]) -> None:
    """Skip where the engine at hand knows no such mapping."""
    answer = server.request("PUT", f"/{index}-kind", {"mappings": mapping})
    if "error" in answer:
        pytest.skip(f"NOT IN THIS {server.name}: {answer['error']['reason']}")
    server.request("DELETE", f"/{index}-kind")


def state(server: Server, index: str) -> Any:
    """All of an index: mappings, settings, aliases, documents with their versions."""
    server.request("POST", f"/{index}/_refresh")
    hits = server.request("POST", f"/{index}/_search", {"size": 1000, "version": True, "sort": ["_doc"]})["hits"][
        "hits"
    ]
    return server.request("GET", f"/{index}"), hits


# An index that neardup made


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
    told = remove(url, code=2)
    assert f"the index {index_name} will be deleted with its 2 documents" in told
    assert "--yes" in told
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


# An owner's own field of that name


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
        told = neardup(*command, "--store", url, code=2).stderr
        assert "of its owner's" in told
        assert "--to" in told
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
    assert "of its owner's" in run(f"{server.url}/{index_name}", "--field", "body", code=2).stderr
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
    theirs = {"body": prose(3), "neardup": {"theirs": [1, {"x": None}]}}
    listed = {"body": prose(4), "neardup": [{"tokens": 1}, {"tokens": 2}]}
    dotted = {"body": prose(5), "neardup.tokens": 5}
    for name, document in {"theirs": theirs, "listed": listed}.items():
        write(server, index_name, name, document)
    # Into one that neardup has filled.
    server.request("POST", f"/{index_name}/_update/b?refresh=true", {"doc": {"neardup": {"theirs": {"kept": True}}}})
    counts = annotate(url, "--field", "body", "--all")
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
    told = remove(url)
    assert "of 1 what others had put under 'neardup' stays" in told
    found = sources(server, index_name)
    assert (found[f"{index_name}/theirs"], found[f"{index_name}/listed"]) == (theirs, listed)
    assert found[f"{index_name}/dotted"] == dotted
    part = found[f"{index_name}/b"].pop("neardup")
    assert {name: value for name, value in part.items() if value is not None} == {"theirs": {"kept": True}}
    assert found[f"{index_name}/a"] == {"body": prose(1)} | left_by_removal(server)
    # It is his field again.
    assert "of its owner's" in run(url, "--field", "body", code=2).stderr


# The index beside


def alias_of(server: Server, *indices: str, name: str, write_index: str = "") -> None:
    """Let a name stand for indices."""
    actions = [{"add": {"index": each, "alias": name, "is_write_index": each == write_index}} for each in indices]
    answer = server.request("POST", "/_aliases", {"actions": actions})
    assert "error" not in answer, answer


@pytest.mark.parametrize(
    ("store", "to"),
    [
        pytest.param("{0}", "{0}-all", id="an alias of the index"),
        pytest.param("{0}-all", "{0}", id="the index behind the alias"),
        pytest.param("{0}-all", "{0}-other", id="another alias of it"),
        pytest.param("{0}*", "{0}-new", id="a pattern that would match"),
        pytest.param("{0}*,-{0}-x*", "{0}-new", id="a pattern with an exception"),
        pytest.param("x-no-such,{0}", "{0}-all", id="a list"),
        pytest.param("{0}-made-*", "{0}-made", id="an alias that a template gives"),
    ],
)
def test_the_index_beside_is_never_the_owners(server: Server, index_name: str, store: str, to: str) -> None:
    documents = {str(number): {"body": prose(number)} for number in range(3)}
    mappings = {"properties": {"body": {"type": "text"}}}
    names = [index_name, f"{index_name}-made-1"]
    for name in names:
        fill(server, name, documents, mappings)
        # As an owner's index that has neardup's fields: else these alone would stop it.
        neardup("setup", "--store", f"{server.url}/{name}")
    alias_of(server, index_name, name=f"{index_name}-all", write_index=index_name)
    alias_of(server, index_name, name=f"{index_name}-other", write_index=index_name)
    template = {"index_patterns": [f"{index_name}-made"], "priority": 900}
    template["template"] = {"aliases": {f"{index_name}-made-0": {}}}
    server.request("PUT", f"/_index_template/{index_name}", template)
    before = {name: state(server, name) for name in names}
    url = f"{server.url}/{store.format(index_name)}".replace("x-no-such,", f"{index_name}-made-1,")
    try:
        for flags in (["--dry-run"], []) if "made" not in to else ([],):
            told = run(url, "--field", "body", "--to", to.format(index_name), *flags, code=2).stderr
            assert "nothing is written there" in told or "would read the new index too" in told
            assert {name: state(server, name) for name in names} == before
    finally:
        server.request("DELETE", f"/_index_template/{index_name}")


def test_an_alias_that_is_moved_in_the_middle(server: Server, index_name: str) -> None:
    documents = {f"{number:03d}": {"body": prose(number)} for number in range(60)}
    fill(server, index_name, documents, {"properties": {"body": {"type": "text"}}})
    neardup("setup", "--store", f"{server.url}/{index_name}")
    side, alias = f"{index_name}-side-1", f"{index_name}-to"
    open_store(f"{server.url}/{side}", create=store_info("landmarks")).close()
    alias_of(server, side, name=alias, write_index=side)
    before = state(server, index_name)[1]
    command = [sys.executable, "-m", "indexer", "annotate", "--store", f"{server.url}/{index_name}", "--field", "body"]
    flags = ["--to", alias, "--docs-per-second", "10", "--jobs", "1", "--slices", "1"]
    process = subprocess.Popen([*command, *flags], stderr=subprocess.PIPE, text=True)
    assert process.stderr
    try:
        while server.request("POST", f"/{side}/_count")["count"] < 1:
            assert process.poll() is None
            server.request("POST", f"/{side}/_refresh")
        moved: list[dict[str, Any]] = [{"remove": {"index": side, "alias": alias}}]
        moved.append({"add": {"index": index_name, "alias": alias, "is_write_index": True}})
        assert "error" not in server.request("POST", "/_aliases", {"actions": moved})
        assert process.wait(timeout=60) == 2
        assert "nothing is written there" in process.stderr.read()
    finally:
        process.kill()
        process.stderr.close()
    assert state(server, index_name)[1] == before


def test_the_streams_behind_both_names(server: Server, index_name: str) -> None:
    stream = f"{index_name}-stream"
    template = {"mappings": {"properties": {"body": {"type": "text"}}}}
    body = {"index_patterns": [stream], "data_stream": {}, "template": template, "priority": 500}
    assert "error" not in server.request("PUT", f"/_index_template/{stream}", body)
    try:
        document = {"@timestamp": "2026-01-01T00:00:00Z", "body": prose(1)}
        assert "error" not in server.request("PUT", f"/{stream}/_create/1?refresh=true", document)
        neardup("setup", "--store", f"{server.url}/{stream}")
        before = state(server, stream)[1]
        for store, to in ((stream, before[0]["_index"]), (before[0]["_index"], stream)):
            assert (
                "nothing is written there" in run(f"{server.url}/{store}", "--field", "body", "--to", to, code=2).stderr
            )
        assert state(server, stream)[1] == before
    finally:
        server.request("DELETE", f"/_data_stream/{stream}")
        server.request("DELETE", f"/_index_template/{stream}")


# What lies beside an index


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
    assert "component template 'neardup' of its owner's" in neardup("setup", "--store", url, code=2).stderr
    remove(url)
    assert server.request("GET", "/_component_template/neardup") == kept
    server.request("DELETE", "/_component_template/neardup")
    path = f"/_index_template/neardup-{index_name}"
    server.request("PUT", path, {"index_patterns": [f"{index_name}-x"], "priority": 900})
    kept = server.request("GET", path)
    assert "of its owner's" in neardup("setup", "--store", url, code=2).stderr
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
    url, other = f"{server.url}/{index_name}", f"{index_name}-neardup-resources"
    fill(server, index_name, {"a": {"body": prose(1)}}, {"properties": {"body": {"type": "text"}}})
    fill(server, other, {"a": {"body": prose(1)}}, {"properties": {"body": {"type": "text"}}})
    annotate(url, "--field", "body")
    neardup("cluster", "--store", url)
    before = state(server, other)
    remove(url)
    assert state(server, other) == before


# What comes in between


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


# Pruning


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
            # The cluster stays until it is made anew.
            assert [each.size for each in store.clusters()] == [3]
    finally:
        proxy.close()


# Ids and routing


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
