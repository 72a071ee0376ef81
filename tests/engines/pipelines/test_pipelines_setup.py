"""Setting up pipelines: the fields are remembered, it can be repeated and removed, and the owner's are left alone."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from indexer.engine.setup.pipelines import pipeline
from indexer.ingest.indexing import store_info
from tests.cli.written import prose
from tests.engines.fleet import running
from tests.engines.pipelines.pipelined import answered, neardup, source, write
from tests.engines.servers import Elasticsearch, OpenSearch, Server


def test_the_fields_are_remembered(painless: Server, index: str) -> None:
    def remembered() -> Any:
        return painless.request("GET", f"/{index}/_mapping")[index]["mappings"]["_meta"]

    owners = {"_meta": {"team": "search"}, "properties": {"title": {"type": "text"}, "text": {"type": "text"}}}
    painless.request("PUT", f"/{index}", {"mappings": owners})
    flags = ("--pipelines", "--field", "title", "--field", "text")
    neardup("setup", painless, index, *flags)
    meta = remembered()
    assert meta["team"] == "search"
    assert meta["neardup"]["tables"] == 16
    assert meta["neardup"]["texts"] == {"": {"fields": ["title", "text"], "format": "text"}}
    pipeline = f"neardup-simhash-{index}"
    for name in ("a", "b"):
        write(painless, index, name, {"title": "A title", "text": prose(1)}, pipeline)
    # Without fields, those; and texts are read from them.
    assert "nothing to do" in neardup("setup", painless, index, "--pipelines").stderr
    assert answered("annotate", painless, index, "--jobs", "1")["unchanged"] == 2
    assert "1 pair by" in neardup("pairs", painless, index, "--verify", "text").stderr
    neardup("setup", painless, index, "--pipelines", "--field", "text")
    assert remembered()["neardup"]["texts"] == {"": {"fields": ["text"], "format": "text"}}
    assert answered("annotate", painless, index, "--jobs", "1")["stale"] == 2


def test_twice_is_once_and_removed_is_gone(painless: Server, index: str) -> None:
    flags = ("--pipelines", "--field", "text", "--default-pipeline", "keys", "--final-pipeline", "simhash")
    planned = answered("setup", painless, index, *flags, "--dry-run")["steps"]
    assert [each["path"] for each in planned][-4:] == [
        f"/_ingest/pipeline/neardup-keys-{index}",
        f"/_ingest/pipeline/neardup-simhash-{index}",
        f"/{index}/_settings",
        f"/{index}/_settings",
    ]
    for step in planned:
        assert "error" not in painless.request(step["method"], step["path"], step["body"])
    assert "nothing to do" in neardup("setup", painless, index, *flags).stderr
    params = painless.request("GET", f"/_ingest/pipeline/neardup-simhash-{index}")[f"neardup-simhash-{index}"]
    assert params["processors"][0]["script"]["params"]["fields"] == ["text"]
    write(painless, index, "a", {"text": prose(1)})
    assert source(painless, index, "a")["neardup"]["tokens"] == 200
    # Other fields: only the pipeline is put anew.
    assert neardup("setup", painless, index, "--pipelines", "--field", "body").stderr.count("put the") == 1
    neardup("setup", painless, index, "--remove", "--pipelines")
    assert painless.request("GET", f"/_ingest/pipeline/neardup-*-{index}") == {}
    settings = painless.request("GET", f"/{index}/_settings")[index]["settings"]["index"]
    assert not {"default_pipeline", "final_pipeline"} & set(settings)
    assert source(painless, index, "a")["neardup"]["tokens"] == 200
    neardup("setup", painless, index, *flags)
    assert write(painless, index, "marked", {"text": "\U00020000"})["neardup"] == {"pending": "unicode"}
    neardup("setup", painless, index, "--remove")
    assert source(painless, index, "marked") == {"text": "\U00020000"}
    assert painless.request("GET", f"/_ingest/pipeline/neardup-*-{index}") == {}


def test_an_owners_pipelines_are_not_replaced(painless: Server, index: str) -> None:
    painless.request("PUT", f"/{index}", {"settings": {"index.default_pipeline": "theirs"}})
    neardup("setup", painless, index, "--pipelines")
    printed = neardup("setup", painless, index, "--pipelines", "--default-pipeline", "simhash", code=2).stderr
    assert "'theirs'" in printed
    assert f"neardup-simhash-{index}" in printed
    settings = painless.request("GET", f"/{index}/_settings")[index]["settings"]["index"]
    assert settings["default_pipeline"] == "theirs"
    neardup("setup", painless, index, "--remove", "--pipelines")
    settings = painless.request("GET", f"/{index}/_settings")[index]["settings"]["index"]
    assert settings["default_pipeline"] == "theirs"
    name = f"neardup-keys-{index}"
    painless.request("PUT", f"/_ingest/pipeline/{name}", {"description": "mine", "processors": []})
    assert "belongs to the owner" in neardup("setup", painless, index, "--pipelines", code=2).stderr
    neardup("setup", painless, index, "--remove", "--pipelines")
    assert painless.request("GET", f"/_ingest/pipeline/{name}")[name]["description"] == "mine"


def test_a_newer_one_is_not_replaced(painless: Server, index: str) -> None:
    name = f"neardup-keys-{index}"
    body = {"description": "neardup: newer", "version": 99, "processors": []}
    painless.request("PUT", f"/_ingest/pipeline/{name}", body)
    assert "newer neardup" in neardup("setup", painless, index, "--pipelines", code=4).stderr


def test_multi_fields_and_aliases_are_followed(painless: Server, index: str) -> None:
    body = {"type": "text", "fields": {"raw": {"type": "keyword"}}}
    mappings = {"properties": {"body": body, "also": {"type": "alias", "path": "body"}}}
    painless.request("PUT", f"/{index}", {"mappings": mappings})
    neardup("setup", painless, index, "--pipelines", "--field", "body.raw", "--field", "also", "--field", "later")
    found = painless.request("GET", f"/_ingest/pipeline/neardup-simhash-{index}")[f"neardup-simhash-{index}"]
    assert found["processors"][0]["script"]["params"]["fields"] == ["body", "later"]


def test_the_options_need_each_other(painless: Server, index: str) -> None:
    assert "--field goes with --pipelines" in neardup("setup", painless, index, "--field", "body", code=2).stderr


def templates(server: Server) -> set[str]:
    """The templates and pipelines of a server that bear neardup's name."""
    kinds = ("index_template", "component_template")
    found = {each["name"] for kind in kinds for each in server.request("GET", f"/_{kind}").get(f"{kind}s", [])}
    return {name for name in found | set(server.request("GET", "/_ingest/pipeline")) if name.startswith("neardup")}


@pytest.mark.parametrize("server", ["elasticsearch"], indirect=True)
def test_an_engine_without_painless_is_named(server: Server, index_name: str, clean: None) -> None:
    for flags in ((), ("--dry-run",), ("--default-pipeline", "simhash")):
        printed = neardup("setup", server, index_name, "--pipelines", *flags, code=3).stderr
        assert "No processor type exists with name [script]" in printed
        assert "nothing was changed" in printed
        assert not templates(server)
        assert server.request("GET", f"/{index_name}/_mapping")["status"] == 404


class WithoutIngest(Elasticsearch):
    """A node that runs no pipelines, as a whole cluster may."""

    def _settings(self) -> list[str]:
        return [*super()._settings(), "node.roles=master,data"]


class WithoutIngestNode(OpenSearch):
    """The same: the runner's own node has no such role."""

    def _command(self) -> tuple[Sequence[str], Mapping[str, str]]:
        command, environment = super()._command()
        runner = "org.codelibs.opensearch.runner.OpenSearchRunner"
        return [runner if part.endswith("IngestNode.java") else part for part in command], environment


ALL = pytest.mark.skipif(not os.environ.get("NEARDUP_ALL"), reason="takes long; make test-all")


@pytest.mark.parametrize("kind", [pytest.param(WithoutIngest, marks=ALL), WithoutIngestNode])
def test_a_cluster_that_runs_no_pipelines(kind: type[Server]) -> None:
    with running(kind) as server:
        printed = neardup("setup", server, "a", "--pipelines", "--default-pipeline", "simhash", code=3).stderr
        assert "no node of the cluster has the role ingest" in printed
        assert not templates(server)
        assert server.request("PUT", "/a/_doc/1", {"body": "text"})["result"] == "created"
        # One that had such a node once.
        neardup("setup", server, "a")
        body = {**pipeline("simhash", store_info("landmarks", []), ["body"])}
        if server.request("PUT", "/_ingest/pipeline/neardup-simhash-a", body).get("acknowledged"):
            server.request("PUT", "/a/_settings", {"index.default_pipeline": "neardup-simhash-a"})
            assert "error" in server.request("PUT", "/a/_doc/2", {"body": "text"})
            assert finding(server, "a", "error").startswith("no node of the cluster has the role ingest")


def finding(server: Server, index: str, level: str) -> str:
    """What `neardup doctor` says of the pipelines, at this level."""
    told = json.loads(neardup("doctor", server, index, "--json", code=7).stdout)["findings"]
    [found] = [each for each in told if each["check"] == "pipelines"]
    assert found["level"] == level, found
    return str(found["says"])


def test_doctor_tries_the_pipelines(painless: Server, index: str) -> None:
    neardup("setup", painless, index)
    # Without a word on the documents, of which there are none with the sketch.
    write(painless, index, "a", {"body": prose(1)})
    assert finding(painless, index, "ok") == "none were set up"
    neardup("setup", painless, index, "--pipelines", "--field", "text.inner", "--default-pipeline", "simhash")
    names = [f"neardup-{kind}-{index}" for kind in ("keys", "simhash")]
    assert finding(painless, index, "ok") == f"a trial write through {' and '.join(names)} arrives"
    body = painless.request("GET", f"/_ingest/pipeline/{names[1]}")[names[1]]
    body["processors"][0]["script"]["source"] = "throw new Exception('broken')"
    assert painless.request("PUT", f"/_ingest/pipeline/{names[1]}", body)["acknowledged"]
    assert finding(painless, index, "error").startswith(f"a trial write through {names[1]} fails: ")
    assert "broken" in finding(painless, index, "error")
    painless.request("PUT", f"/{index}/_settings", {"index.final_pipeline": names[0]})
    painless.request("PUT", f"/{index}/_settings", {"index.default_pipeline": None})
    neardup("setup", painless, index, "--pipelines", "--field", "text.inner")
    painless.request("PUT", f"/{index}/_settings", {"index.final_pipeline": None})
    painless.request("DELETE", f"/_ingest/pipeline/{names[0]}")
    painless.request("PUT", f"/{index}/_settings", {"index.final_pipeline": names[0]})
    assert finding(painless, index, "error").startswith(f"the index names {names[0]}, which is not there")


def test_a_refused_set_up_leaves_nothing_behind(server: Server, index_name: str, clean: None) -> None:
    """The engine refuses the last of the requests."""
    # Other tests on this server may have left pipelines.
    there = templates(server)
    neardup("setup", server, index_name, "--shards", "5000", code=3)
    assert templates(server) == there
    neardup("setup", server, index_name)
    before = templates(server)
    assert len(before - there) == 3
    # What others use stays.
    neardup("setup", server, f"{index_name}-2", "--shards", "5000", code=3)
    assert templates(server) == before
