"""`neardup annotate` on real servers: fingerprints for what is in an index already, and no harm to it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from typing import Any

import pytest

import indexer
from indexer import open_store
from tests.cli.written import prose
from tests.engines.annotated import (
    DOCUMENTS,
    OWNERS_MAPPING,
    annotate,
    fill,
    near,
    neardup,
    owners,
    require_type,
    run,
    searches,
    sources,
    write,
)
from tests.engines.servers import Server
from tests.processes import on_terminal


def test_nothing_but_neardup_is_added(server: Server, index_name: str) -> None:
    fill(server, index_name, DOCUMENTS)
    url = f"{server.url}/{index_name}"
    mapping, found = server.request("GET", f"/{index_name}"), searches(server, index_name)
    dry = annotate(url, "--field", "body", "--dry-run")
    assert (dry["annotated"], dry["missing"], dry["without"], dry["dry_run"]) == (5, 5, 1, True)
    assert server.request("GET", f"/{index_name}") == mapping
    assert sources(server, index_name) == {f"{index_name}/{name}": each for name, each in DOCUMENTS.items()}
    counts = annotate(url, "--field", "body")
    assert (counts["total"], counts["annotated"], counts["without"], counts["failed"]) == (6, 5, 1, {})
    assert (counts["empty"], counts["short"]) == (1, 1)
    after = sources(server, index_name)
    assert owners(after) == {f"{index_name}/{name}": each for name, each in DOCUMENTS.items()}
    assert "neardup" not in after[f"{index_name}/none"]
    now = server.request("GET", f"/{index_name}")[index_name]
    before = mapping[index_name]
    assert now["mappings"]["properties"].pop("neardup")
    assert now["mappings"]["_meta"].pop("neardup")
    assert now == before
    assert searches(server, index_name) == found
    assert near(url, prose(1)) == {"a", "b"}
    # An array is joined.
    assert near(url, prose(2) + "\n" + prose(3)) == {"c"}
    again = annotate(url, "--field", "body")
    assert (again["annotated"], again["unchanged"], again["trusted"], again["without"]) == (0, 5, 5, 0)
    assert sources(server, index_name) == after
    everything = annotate(url, "--field", "body", "--all")
    assert (everything["annotated"], everything["unchanged"], everything["trusted"]) == (0, 5, 0)
    assert everything["without"] == 1
    assert annotate(url, "--field", "body", "--again")["annotated"] == 5


def test_fields_are_found_where_they_are_kept(server: Server, index_name: str) -> None:
    fill(server, index_name, DOCUMENTS)
    url = f"{server.url}/{index_name}"
    annotate(url, "--field", "body.raw")
    for name in ("body", "also"):
        assert annotate(url, "--field", name, "--fields-changed")["unchanged"] == 5
    # Several fields are joined in the order given; what was made from others is stale.
    counts = annotate(url, "--field", "heading", "--field", "body", "--fields-changed")
    assert (counts["stale"], counts["missing"]) == (5, 0)
    assert "a" in near(url, "the first\n" + prose(1))
    assert annotate(url, "--field", "parts.text", "--fields-changed")["without"] == 1
    assert annotate(url, "--field", "loose.any", "--fields-changed", "--dry-run")["annotated"] == 5
    shown = run(url, "--field", "bdy", code=2).stderr
    assert "'bdy'" in shown
    assert "body" in shown
    assert "'parts'" in run(url, "--field", "parts", code=2).stderr


def test_a_field_that_is_only_a_copy_is_refused(server: Server, index_name: str) -> None:
    mappings = {"properties": {"body": {"type": "text", "copy_to": "all"}, "all": {"type": "text"}}}
    fill(server, index_name, {"a": {"body": prose(1)}}, mappings)
    assert "name body instead" in run(f"{server.url}/{index_name}", "--field", "all", code=2).stderr


def test_html(server: Server, index_name: str) -> None:
    text = prose(4)
    page = f"<title>A page \u00e9</title><nav>Home</nav><p>{text}</p><script>var x</script>"
    fill(server, index_name, {"a": {"body": page}, "b": {"body": "<p>" + text}})
    url = f"{server.url}/{index_name}"
    assert annotate(url, "--field", "body", "--format", "html")["annotated"] == 2
    assert {"b"} <= near(url, text)
    own = sources(server, index_name)[f"{index_name}/a"]["neardup"]
    assert (own["title"], own["format"]) == ("A page \u00e9", "html")


def test_a_field_of_html_and_text_is_named_and_read_value_by_value(server: Server, index_name: str) -> None:
    texts = {name: {"body": f"<p>{prose(4)}</p>" if name == "page" else prose(4)} for name in ("page", "text")}
    fill(server, index_name, texts)
    url = f"{server.url}/{index_name}"
    first = annotate(url, "--field", "body")
    assert (first["annotated"], first["html_as_text"]) == (2, {"body": 1})
    told = neardup("doctor", "--store", url, code=7).stdout
    assert "HTML in the field body was read as text in 1 of 2 documents" in told
    again = annotate(url, "--field", "body", "--format", "auto", "--fields-changed")
    assert (again["annotated"], again["unchanged"], again["html_as_text"]) == (1, 1, {})
    assert near(url, prose(4)) == {"page", "text"}
    assert annotate(url, "--all")["unchanged"] == 2
    with indexer.open(url, read_only=True) as collection:
        assert collection.diff("id:page", "id:text").relation == "identical"


def test_an_owners_update_keeps_the_keys_and_makes_a_new_text_stale(server: Server, index_name: str) -> None:
    fill(server, index_name, {"a": {"body": prose(1)}, "b": {"body": prose(2)}, "c": {"body": prose(5)}})
    url = f"{server.url}/{index_name}"
    annotate(url, "--field", "body")
    server.request("POST", f"/{index_name}/_update/a", {"doc": {"lang": "en"}})
    server.request("POST", f"/{index_name}/_update/b", {"doc": {"body": prose(3)}})
    server.request("POST", f"/{index_name}/_update/c", {"doc": {"body": None}})
    server.request("POST", f"/{index_name}/_refresh")
    assert near(url, prose(1)) == {"a"}
    assert near(url, prose(2)) == {"b"}
    counts = annotate(url, "--field", "body")
    assert (counts["stale"], counts["annotated"], counts["unchanged"], counts["empty"]) == (2, 2, 1, 1)
    assert near(url, prose(3)) == {"b"}
    assert near(url, prose(2)) == near(url, prose(5)) == set()
    # A document that its owner writes anew has no fingerprint.
    write(server, index_name, "a", {"body": prose(1)})
    assert annotate(url, "--field", "body")["missing"] == 1


def test_vectors_are_kept(server: Server, index_name: str) -> None:
    vector = {"type": "dense_vector", "dims": 3, "similarity": "l2_norm"}
    require_type(server, index_name, vector)
    documents = {name: {"body": prose(number), "v": [number, 1, 0.5]} for number, name in enumerate("abc")}
    fill(server, index_name, documents, {"properties": {"body": {"type": "text"}, "v": vector}})
    asked = {"knn": {"field": "v", "query_vector": [1.25, 1, 0.5], "k": 3, "num_candidates": 10}, "_source": True}
    asked["_source"] = {"exclude_vectors": False, "excludes": ["neardup"]}
    before = server.request("POST", f"/{index_name}/_search", asked)["hits"]["hits"]
    assert before[0]["_id"] == "b"
    assert annotate(f"{server.url}/{index_name}", "--field", "body")["annotated"] == 3
    after = server.request("POST", f"/{index_name}/_search", asked)["hits"]["hits"]
    assert [(hit["_id"], hit["_score"], hit["_source"]) for hit in after] == [
        (hit["_id"], hit["_score"], hit["_source"]) for hit in before
    ]


def test_children_of_a_join_are_annotated_by_their_routing(server: Server, index_name: str) -> None:
    join = {"type": "join", "relations": {"thread": "answer"}}
    require_type(server, index_name, join)
    mappings = {"properties": {"body": {"type": "text"}, "join": join}}
    server.request("PUT", f"/{index_name}", {"mappings": mappings, "settings": {"number_of_shards": 3}})
    write(server, index_name, "1", {"body": prose(1), "join": "thread"})
    write(server, index_name, "2", {"body": prose(2), "join": {"name": "answer", "parent": "1"}}, routing="1")
    before = sources(server, index_name)
    assert annotate(f"{server.url}/{index_name}", "--field", "body")["annotated"] == 2
    assert owners(sources(server, index_name)) == before
    children = {"query": {"has_parent": {"parent_type": "thread", "query": {"match_all": {}}}}}
    assert server.request("POST", f"/{index_name}/_count", children)["count"] == 1
    assert near(f"{server.url}/{index_name}", prose(2)) == {"2"}


def test_progress_is_shown_on_a_terminal(server: Server, index_name: str) -> None:
    fill(server, index_name, {"a": {"body": prose(1)}})
    command = [sys.executable, "-m", "indexer", "annotate", "--store", f"{server.url}/{index_name}", "--field", "body"]
    assert "annotating" in on_terminal(command, "stderr", env={**os.environ, "TERM": "xterm"})[1]


def test_a_cluster_is_kept_while_the_fingerprint_is(server: Server, index_name: str) -> None:
    fill(server, index_name, {"a": {"body": prose(1)}, "b": {"body": prose(1)}, "c": {"body": prose(2)}})
    url = f"{server.url}/{index_name}"
    annotate(url, "--field", "body")
    neardup("cluster", "--store", url)
    before = sources(server, index_name)
    assert (
        before[f"{index_name}/a"]["neardup"]["cluster"]["id"] == before[f"{index_name}/b"]["neardup"]["cluster"]["id"]
    )
    assert near(url, prose(1)) == {"a", "b"}
    annotate(url, "--field", "body", "--again")
    after = sources(server, index_name)
    for name, source in before.items():
        assert after[name]["neardup"]["cluster"] == source["neardup"]["cluster"]


@pytest.mark.parametrize(
    ("source", "named"),
    [({"excludes": ["secret"]}, "secret"), ({"includes": ["body"]}, "includes body"), ({"enabled": False}, "_source")],
)
def test_what_source_does_not_keep_is_not_lost(
    server: Server, index_name: str, source: dict[str, Any], named: str
) -> None:
    properties = {"body": {"type": "text"}, "secret": {"type": "keyword"}}
    fill(server, index_name, {"a": {"body": prose(1), "secret": "x"}}, {"_source": source, "properties": properties})
    before = server.request("GET", f"/{index_name}")
    assert named in run(f"{server.url}/{index_name}", "--field", "body", code=3).stderr
    assert server.request("GET", f"/{index_name}") == before
    assert server.request("GET", f"/{index_name}/_count?q=secret:x")["count"] == 1
    if "excludes" in source:
        # Read only, it can be kept aside.
        assert (
            annotate(f"{server.url}/{index_name}", "--field", "body", "--to", f"{index_name}-aside")["annotated"] == 1
        )
        assert "secret" in run(f"{server.url}/{index_name}", "--field", "secret", "--to", "x", code=3).stderr


def test_versions_of_the_owners_are_left_alone(server: Server, index_name: str) -> None:
    fill(server, index_name, {"b": {"body": prose(2)}})
    write(server, index_name, "a", {"body": prose(1)}, version="7", version_type="external")
    url = f"{server.url}/{index_name}"
    before = server.request("GET", f"/{index_name}")
    server.request("POST", f"/{index_name}/_refresh")
    assert "--allow-version-change" in run(url, "--field", "body", code=3).stderr
    assert server.request("GET", f"/{index_name}/_doc/a")["_version"] == 7
    assert server.request("GET", f"/{index_name}/_doc/b")["_version"] == 1
    assert server.request("GET", f"/{index_name}") == before
    assert annotate(url, "--field", "body", "--allow-version-change")["annotated"] == 2
    assert server.request("GET", f"/{index_name}/_doc/a")["_version"] == 8
    assert near(url, prose(1)) == {"a"}


def test_a_read_only_index_is_said(server: Server, index_name: str) -> None:
    fill(server, index_name, {"a": {"body": prose(1)}})
    server.request("PUT", f"/{index_name}/_settings", {"index.blocks.write": True})
    shown = run(f"{server.url}/{index_name}", "--field", "body", code=3).stderr
    assert "read-only" in shown
    assert "--to" in shown
    assert "neardup" not in server.request("GET", f"/{index_name}")[index_name]["mappings"]["properties"]
    server.request("PUT", f"/{index_name}/_settings", {"index.blocks.write": False})


def test_an_alias_over_several_indices_and_routing(server: Server, index_name: str) -> None:
    shards = {"settings": {"number_of_shards": 2}, "mappings": OWNERS_MAPPING, "aliases": {f"{index_name}-all": {}}}
    for number in (1, 2):
        server.request("PUT", f"/{index_name}-{number}", shards)
        write(server, f"{index_name}-{number}", "same", {"body": prose(number)}, routing="somewhere")
        write(server, f"{index_name}-{number}", f"own-{number}", {"body": prose(10 + number)})
    url = f"{server.url}/{index_name}-all"
    before = sources(server, f"{index_name}-all")
    assert annotate(url, "--field", "body")["annotated"] == 4
    assert owners(sources(server, f"{index_name}-all")) == before
    with open_store(url, read_only=True) as store:
        found = {(record.ref.index, record.ref.id, record.ref.routing) for record in store.scan()}
    assert found == {
        (f"{index_name}-1", "same", "somewhere"),
        (f"{index_name}-2", "same", "somewhere"),
        (f"{index_name}-1", "own-1", None),
        (f"{index_name}-2", "own-2", None),
    }
    assert annotate(url, "--field", "body")["unchanged"] == 4


def test_the_indices_behind_a_data_stream(server: Server, index_name: str) -> None:
    stream = f"{index_name}-stream"
    template = {"mappings": {"properties": {"body": {"type": "text"}}}}
    body = {"index_patterns": [stream], "data_stream": {}, "template": template, "priority": 500}
    assert "error" not in server.request("PUT", f"/_index_template/{stream}", body)
    try:
        for number in (1, 2):
            document = {"@timestamp": "2026-01-01T00:00:00Z", "body": prose(number)}
            assert "error" not in server.request("PUT", f"/{stream}/_create/{number}", document)
            if number == 1:
                assert "error" not in server.request("POST", f"/{stream}/_rollover")
        before = sources(server, stream)
        url = f"{server.url}/{stream}"
        assert annotate(url, "--field", "body")["annotated"] == 2
        assert owners(sources(server, stream)) == before
        assert near(url, prose(1)) == {"1"}
        assert near(url, prose(2)) == {"2"}
        assert annotate(url, "--field", "body")["unchanged"] == 2
    finally:
        server.request("DELETE", f"/_data_stream/{stream}")
        server.request("DELETE", f"/_index_template/{stream}")


def many(server: Server, index: str, count: int) -> None:
    """Make an index of this many short documents."""
    server.request("PUT", f"/{index}", {"mappings": OWNERS_MAPPING, "settings": {"number_of_shards": 2}})
    for number in range(count):
        write(server, index, str(number), {"body": f"document of the number {number} and nothing more"})
    server.request("POST", f"/{index}/_refresh")


def test_a_killed_run_goes_on_where_it_ended(server: Server, index_name: str) -> None:
    many(server, index_name, 300)
    url = f"{server.url}/{index_name}"
    flags = ["--field", "body", "--docs-per-second", "50", "--jobs", "1"]
    process = subprocess.Popen([sys.executable, "-m", "indexer", "annotate", "--store", url, *flags])
    limit = time.monotonic() + 60
    written = {"query": {"exists": {"field": "neardup.tokens"}}}
    while server.request("POST", f"/{index_name}/_count", written)["count"] < 20 and time.monotonic() < limit:
        server.request("POST", f"/{index_name}/_refresh")
        time.sleep(0.1)
    process.kill()
    process.wait()
    counts = annotate(url, "--field", "body", "--slices", "3")
    assert counts["unchanged"] >= 20
    assert counts["annotated"] > 0
    assert counts["annotated"] + counts["unchanged"] == counts["total"] == 300
    assert server.request("POST", f"/{index_name}/_count", written)["count"] == 300


def test_a_document_changed_meanwhile_is_not_overwritten_and_done_again(server: Server, index_name: str) -> None:
    many(server, index_name, 60)
    url = f"{server.url}/{index_name}"
    flags = ["--field", "body", "--docs-per-second", "10", "--jobs", "1", "--json"]
    process = subprocess.Popen(
        [sys.executable, "-m", "indexer", "annotate", "--store", url, *flags], stdout=subprocess.PIPE, text=True
    )
    # Once the first are written, the last are read, and wait for their turn.
    written = {"query": {"exists": {"field": "neardup.tokens"}}}
    limit = time.monotonic() + 60
    while server.request("POST", f"/{index_name}/_count", written)["count"] < 1 and time.monotonic() < limit:
        server.request("POST", f"/{index_name}/_refresh")
        time.sleep(0.05)
    for number in range(60):
        # The owner's update is refused where annotate's comes between its own reading and writing.
        path = f"/{index_name}/_update/{number}?retry_on_conflict=10"
        answer = server.request("POST", path, {"doc": {"body": f"changed {number}", "lang": "new"}})
        assert "error" not in answer, answer
    server.request("DELETE", f"/{index_name}/_doc/59")
    out, _ = process.communicate(timeout=120)
    assert process.returncode == 0
    counts = json.loads(out)
    assert counts["changed"] > 0
    assert counts["failed"] == {}
    after = owners(sources(server, index_name))
    assert after == {f"{index_name}/{number}": {"body": f"changed {number}", "lang": "new"} for number in range(59)}
    # What was done before it changed is stale now, and nothing else.
    left = annotate(url, "--field", "body")
    assert left["annotated"] == left["stale"] < 59
    assert annotate(url, "--field", "body")["unchanged"] == 59


def test_a_sidecar(server: Server, index_name: str) -> None:
    fill(server, index_name, DOCUMENTS)
    write(server, index_name, "routed", {"body": prose(1)}, routing="r")
    server.request("PUT", f"/{index_name}/_settings", {"index.blocks.write": True})
    before, found = server.request("GET", f"/{index_name}"), sources(server, index_name)
    url, to = f"{server.url}/{index_name}", f"{index_name}-aside"
    assert annotate(url, "--field", "body", "--to", to, "--dry-run")["missing"] == 6
    assert "error" in server.request("GET", f"/{to}")
    counts = annotate(url, "--field", "body", "--to", to)
    assert (counts["annotated"], counts["removed"]) == (6, 0), server.request("GET", f"/{to}/_search")
    assert (server.request("GET", f"/{index_name}"), sources(server, index_name)) == (before, found)
    names = {f"{index_name}/a", f"{index_name}/b", f"{index_name}/routed?routing=r"}
    assert near(f"{server.url}/{to}", prose(1)) == names
    for command in (
        ["similar", "--id", f"{index_name}/a"],
        ["pairs"],
        ["cluster"],
        ["stats"],
        ["show", f"{index_name}/a"],
    ):
        done = neardup(*command, "--store", f"{server.url}/{to}")
        if command[0] in ("similar", "pairs"):
            assert f"{index_name}/b" in done.stdout
    with open_store(f"{server.url}/{to}", read_only=True) as store:
        origins = {tuple(record.metadata.values()) for record in store.scan()}
    assert (index_name, "routed", "r") in origins
    server.request("PUT", f"/{index_name}/_settings", {"index.blocks.write": False})
    server.request("DELETE", f"/{index_name}/_doc/b")
    server.request("POST", f"/{index_name}/_update/c", {"doc": {"body": prose(7)}})
    counts = annotate(url, "--field", "body", "--to", to)
    assert (counts["stale"], counts["unchanged"], counts["removed"]) == (1, 4, 1)
    assert near(f"{server.url}/{to}", prose(1)) == names - {f"{index_name}/b"}
    assert near(f"{server.url}/{to}", prose(7)) == {f"{index_name}/c"}
    assert "names the index itself" in run(url, "--field", "body", "--to", index_name, code=2).stderr


def test_wrong_use(server: Server, index_name: str) -> None:
    assert "no index has this name" in run(f"{server.url}/{index_name}", "--field", "body", code=3).stderr
    assert "only an index in a search engine" in run("collection.neardup", "--field", "body", code=2).stderr
