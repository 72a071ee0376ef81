"""Fingerprints in an index of their own: no index that is read is written to."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from indexer.ingest.indexing import store_info
from indexer.library.opening import open_store
from tests.cli.written import prose
from tests.engines.annotated import fill, neardup, run
from tests.engines.owner.owned import alias_of, state
from tests.engines.servers import Server


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
            printed = run(url, "--field", "body", "--to", to.format(index_name), *flags, code=2).stderr
            assert "nothing is written there" in printed or "would read the new index too" in printed
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
