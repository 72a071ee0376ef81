"""Setting up pipelines: the fields are remembered, it can be repeated and removed, and the owner's are left alone."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from pipelined import answered, neardup, source, write
from servers import Server

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "cli"))

from written import prose


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
    assert meta["neardup"]["texts"] == {"": {"fields": ["title", "text"], "html": False}}
    pipeline = f"neardup-simhash-{index}"
    for name in ("a", "b"):
        write(painless, index, name, {"title": "A title", "text": prose(1)}, pipeline)
    # Without fields, those; and texts are read from them.
    assert "nothing to do" in neardup("setup", painless, index, "--pipelines").stderr
    assert answered("annotate", painless, index, "--jobs", "1")["unchanged"] == 2
    assert "1 pair by" in neardup("pairs", painless, index, "--verify", "text").stderr
    neardup("setup", painless, index, "--pipelines", "--field", "text")
    assert remembered()["neardup"]["texts"] == {"": {"fields": ["text"], "html": False}}
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
    assert "need --pipelines" in neardup("setup", painless, index, "--field", "body", code=2).stderr


@pytest.mark.parametrize("server", ["elasticsearch"], indirect=True)
def test_an_engine_without_painless_is_named(server: Server) -> None:
    printed = neardup("setup", server, "no-painless", "--pipelines", code=3).stderr
    assert "No processor type exists with name [script]" in printed
    neardup("setup", server, "no-painless", "--remove", "--yes")
