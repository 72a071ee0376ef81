"""`neardup annotate` and documents that are odd, hostile, huge, refused, changed or gone; owners' pipelines."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
import time
from typing import Any

from indexer.engine.client.connection import connect
from indexer.engine.client.snapshots import PAGE_BYTES, Search, Slices
from tests.cli.written import prose
from tests.engines.annotated import annotate, fill, found_by_keys, neardup, owners, run, sources, write
from tests.engines.servers import Server

ODD: dict[str, Any] = {
    "missing": {"lang": "en"},
    "null": {"body": None},
    "true": {"body": True},
    "object": {"body": {"some": "words"}},
    "nested": {"body": [[], [None, {"x": [1]}]]},
    "number": {"body": 17},
    "mixed": {"body": [prose(1), 3, None, True, {"x": "y"}, [prose(2)]]},
    "half": {"body": prose(3) + " \ud800 \x00 \x1b[31m \u202e \ufeff"},
    "deep": {"body": "<b>" * 20_000 + prose(4)},
    "huge": {"body": "word " * 2_000_000},
}


def loosely(server: Server, index: str, documents: dict[str, Any]) -> None:
    """An index that maps nothing, so that anything may stand in a field."""
    fill(server, index, documents, {"dynamic": False, "properties": {"lang": {"type": "keyword"}}})


def failures(url: str) -> list[dict[str, Any]]:
    """What `neardup failures` lists."""
    return [json.loads(line) for line in neardup("failures", "--store", url, "--json").stdout.splitlines()]


def test_odd_documents_stop_nothing(server: Server, index_name: str) -> None:
    loosely(server, index_name, ODD)
    url = f"{server.url}/{index_name}"
    counts = annotate(url, "--field", "body")
    assert (counts["total"], counts["failed"]) == (len(ODD), {})
    assert counts["without"] == len({"missing", "null", "true", "object", "nested"})
    assert counts["annotated"] == len(ODD) - counts["without"]
    assert owners(sources(server, index_name)) == {f"{index_name}/{name}": each for name, each in ODD.items()}
    texts = {"mixed": f"{prose(1)}\n3\n{prose(2)}", "half": prose(3), "huge": "word " * 2_000_000}
    assert found_by_keys(url, texts) == {name: {name} for name in texts}
    assert annotate(url, "--field", "body")["unchanged"] == counts["annotated"]
    html = annotate(url, "--field", "body", "--format", "html", "--fields-changed")
    assert html["annotated"] + html["failed"].get("malformed", 0) == counts["annotated"], html


def test_what_fails_is_counted_and_listed_where_the_user_is_told(server: Server, index_name: str) -> None:
    loosely(server, index_name, {name: {"body": prose(number), "n": name} for number, name in enumerate("abc")})
    # Since then the owner asks for numbers: changes of such a document are no longer accepted.
    server.request("PUT", f"/{index_name}/_mapping", {"properties": {"n": {"type": "integer"}}})
    write(server, index_name, "fine", {"body": prose(9), "n": 1})
    before = sources(server, index_name)
    with_secret = f"{server.url}/{index_name}".replace("://", "://user:secret-word@")
    done = run(with_secret, "--field", "body")
    assert "refused 3" in done.stdout
    assert "secret-word" not in done.stdout + done.stderr
    hint = done.stdout.partition("listed by: ")[2].splitlines()[0]
    assert f"{server.url}/{index_name}" in hint
    listed = neardup(*shlex.split(hint)[1:], "--json").stdout
    found = {each["id"]: each for each in map(json.loads, listed.splitlines())}
    assert set(found) == set("abc")
    assert {each["reason"] for each in found.values()} == {"refused"}
    assert "[n]" in found["a"]["detail"]
    after = sources(server, index_name)
    assert {name: each for name, each in after.items() if not name.endswith("/fine")} == {
        name: each for name, each in before.items() if not name.endswith("/fine")
    }
    assert "neardup" in after[f"{index_name}/fine"]
    # Aside, the owner's mapping refuses nothing.
    assert annotate(f"{server.url}/{index_name}", "--field", "body", "--to", f"{index_name}-aside")["annotated"] == 4
    # What its owner has mended is done by the next run, and listed no more.
    write(server, index_name, "a", {"body": prose(0), "n": 1})
    counts = annotate(f"{server.url}/{index_name}", "--field", "body")
    assert (counts["annotated"], counts["unchanged"], counts["failed"]) == (1, 1, {})
    assert {each["id"] for each in failures(f"{server.url}/{index_name}")} == set("bc")
    # The others fail until they change, and are tried again when that is asked for.
    assert annotate(f"{server.url}/{index_name}", "--field", "body", "--all")["failed"] == {"refused": 2}
    assert {each["id"] for each in failures(f"{server.url}/{index_name}")} == set("bc")


def test_failures_of_a_sidecar_are_listed_there(server: Server, index_name: str) -> None:
    # With its index before it, this id is longer than the engines take.
    long = "x" * 510
    loosely(server, index_name, {long: {"body": prose(2)}, "good": {"body": prose(1)}})
    url, to = f"{server.url}/{index_name}", f"{index_name}-aside"
    done = run(url, "--field", "body", "--to", to)
    assert "refused 1" in done.stdout
    assert f"listed by: neardup failures --store {server.url}/{to}" in done.stdout
    (listed,) = failures(f"{server.url}/{to}")
    assert (listed["id"], listed["reason"]) == (f"{index_name}/{long}", "refused")
    assert "512" in listed["detail"]
    assert found_by_keys(f"{server.url}/{to}", {"good": prose(1)}) == {"good": {f"{index_name}/good"}}


def test_large_documents_are_read_a_few_at_a_time(server: Server, index_name: str) -> None:
    bodies = {f"{number:02d}": {"body": "x" * (1 << 20)} for number in range(40)}
    loosely(server, index_name, bodies)
    client = connect(f"{server.url}/{index_name}")
    body = {"query": {"match_all": {}}, "_source": ["body"]}
    with Slices(client, [Search(index_name, body)], 250) as pages:
        read = [[(hit["_id"], len(hit["_source"]["body"])) for hit in page] for page in pages]
    client.close()
    assert sorted(name for page in read for name, _ in page) == sorted(bodies)
    # The first page can't know yet.
    assert max(sum(size for _, size in page) for page in read[1:]) <= PAGE_BYTES
    assert sum(size for _, size in read[0]) <= 10 << 20


def test_what_is_deleted_or_written_anew_meanwhile(server: Server, index_name: str) -> None:
    names = [f"{number:03d}" for number in range(90)]
    loosely(server, index_name, {name: {"body": prose(number)} for number, name in enumerate(names)})
    url = f"{server.url}/{index_name}"
    command = [sys.executable, "-m", "indexer", "annotate", "--store", url, "--field", "body", "--slices", "1"]
    process = subprocess.Popen(
        [*command, "--docs-per-second", "20", "--jobs", "1", "--json"], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout
    written = {"query": {"exists": {"field": "neardup.tokens"}}}
    limit = time.monotonic() + 60
    while server.request("POST", f"/{index_name}/_count", written)["count"] < 1 and time.monotonic() < limit:
        server.request("POST", f"/{index_name}/_refresh")
        time.sleep(0.05)
    # The last ones are read, and wait for their turn.
    for name in names[80:]:
        server.request("DELETE", f"/{index_name}/_doc/{name}")
    for name in names[85:]:
        write(server, index_name, name, {"body": prose(1000 + int(name))})
    counts = json.loads(process.communicate(timeout=60)[0])
    assert (counts["gone"], counts["changed"], counts["failed"]) == (5, 5, {})
    assert counts["annotated"] == 85
    texts = {name: prose(1000 + int(name)) for name in names[85:]}
    assert found_by_keys(url, texts) == {name: {name} for name in texts}
    assert annotate(url, "--field", "body")["unchanged"] == 85


def test_which_changes_run_the_owners_pipelines(server: Server, index_name: str) -> None:
    loosely(server, index_name, {"a": {"body": prose(1)}, "b": {"body": prose(2)}})
    url = f"{server.url}/{index_name}"
    annotate(url, "--field", "body")
    for setting in ("index.default_pipeline", "index.final_pipeline"):
        # Documents that would run a missing pipeline are refused.
        server.request("PUT", f"/{index_name}/_settings", {setting: "none-such"})
        assert "error" in server.request("PUT", f"/{index_name}/_doc/c", {"body": "x"})
        # A single partial update runs it, over the whole document; one among others does not.
        assert "error" in server.request("POST", f"/{index_name}/_update/a", {"doc": {"body": prose(3)}})
        changed = [{"update": {"_index": index_name, "_id": "a"}}, {"doc": {"body": prose(len(setting))}}]
        assert not server.request("POST", "/_bulk?refresh=true", lines=changed)["errors"]
        # So the text is new and the fingerprint stale, until annotate, which runs none of the owner's pipelines.
        assert found_by_keys(url, {"a": prose(len(setting))}) == {"a": set()}
        counts = annotate(url, "--field", "body")
        assert (counts["stale"], counts["annotated"], counts["unchanged"]) == (1, 1, 1)
        assert found_by_keys(url, {"a": prose(len(setting))}) == {"a": {"a"}}
        server.request("PUT", f"/{index_name}/_settings", {setting: None})
