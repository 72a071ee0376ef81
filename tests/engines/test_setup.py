"""`neardup setup` on real servers: makes, adds, shows, does nothing twice, and takes away only its own."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator

import pytest
from made import INFO, put, record
from servers import Server

from indexer.errors import IncompatibleStoreError
from indexer.stores import open_store
from indexer.stores.search_bodies import MAPPING_VERSION

OWNERS_MAPPING = {
    "_meta": {"owner": {"team": "search"}},
    "dynamic": "strict",
    "properties": {
        "body": {"type": "text", "fields": {"raw": {"type": "keyword"}}},
        "lang": {"type": "keyword"},
        "date": {"type": "date"},
    },
}


def setup(url: str, *flags: str, code: int = 0) -> subprocess.CompletedProcess[str]:
    """Run the command."""
    done = subprocess.run(
        [sys.executable, "-m", "indexer", "setup", "--store", url, *flags], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == code, done.stderr
    return done


@pytest.fixture
def clean(server: Server) -> Iterator[None]:
    """Without templates of neardup's, before and after."""
    for _ in range(2):
        for kind in ("_index_template", "_component_template"):
            found = server.request("GET", f"/{kind}").get(f"{kind[1:]}s", [])
            for name in (each["name"] for each in found if each["name"].startswith("neardup")):
                server.request("DELETE", f"/{kind}/{name}")
        if not _:
            yield


@pytest.mark.usefixtures("clean")
class TestSetup:
    def test_a_new_index(self, server: Server, index_name: str) -> None:
        url = f"{server.url}/{index_name}"
        shown = setup(url, "--dry-run", "--shards", "3", "--replicas", "0").stdout
        assert f"PUT /{index_name}" in shown
        assert "error" in server.request("GET", f"/{index_name}")
        first = setup(url, "--shards", "3", "--replicas", "0").stderr
        assert [line for line in first.splitlines() if "component template" in line]
        settings = server.request("GET", f"/{index_name}/_settings")[index_name]["settings"]["index"]
        assert (settings["number_of_shards"], settings["number_of_replicas"]) == ("3", "0")
        before = server.request("GET", f"/{index_name}")
        assert "nothing to do" in setup(url).stderr
        assert server.request("GET", f"/{index_name}") == before
        setup(url, "--remove")
        assert "error" in server.request("GET", f"/{index_name}")
        assert server.request("GET", "/_component_template/neardup").get("error")
        assert server.request("GET", f"/_index_template/neardup-{index_name}").get("error")
        assert "nothing" in setup(url, "--remove").stderr

    def test_the_dry_run_is_what_happens(self, server: Server, index_name: str) -> None:
        url = f"{server.url}/{index_name}"
        steps = json.loads(setup(url, "--dry-run", "--json").stdout)["steps"]
        for step in steps:
            assert "error" not in server.request(step["method"], step["path"], step["body"])
        assert "nothing to do" in setup(url).stderr

    def test_an_owners_index_gets_fields_and_gives_them_back(self, server: Server, index_name: str) -> None:
        server.request("PUT", f"/{index_name}", {"mappings": OWNERS_MAPPING})
        document = {"body": "some words", "lang": "en", "date": "2026-01-01"}
        server.request("PUT", f"/{index_name}/_doc/a?refresh=true", document)
        url = f"{server.url}/{index_name}"
        setup(url)
        mapping = server.request("GET", f"/{index_name}/_mapping")[index_name]["mappings"]
        assert mapping["_meta"]["owner"] == {"team": "search"}
        assert mapping["_meta"]["neardup"]["mapping_version"] == MAPPING_VERSION
        assert {name: mapping["properties"][name] for name in OWNERS_MAPPING["properties"]} == OWNERS_MAPPING[
            "properties"
        ]
        assert mapping["dynamic"] == "strict"
        with open_store(url) as store:
            # What is written lies beside the owner's fields, and another document is neardup's alone.
            put(store, record("a", 1), record("b", 2))
        stored = server.request("GET", f"/{index_name}/_doc/a")["_source"]
        assert {name: stored[name] for name in document} == document
        assert stored["neardup"]["simhash-doc"]["t00"]
        setup(url, "--remove")
        mapping = server.request("GET", f"/{index_name}/_mapping")[index_name]["mappings"]
        assert mapping["_meta"] == {"owner": {"team": "search"}}
        assert server.request("GET", f"/{index_name}/_doc/a")["_source"] == {**document, "neardup": None}
        found = server.request("POST", f"/{index_name}/_search", {"query": {"exists": {"field": "neardup.tokens"}}})
        assert found["hits"]["total"]["value"] == 0
        setup(url)
        with open_store(url) as store:
            assert store.stats().documents == 0

    def test_no_room_is_said_and_nothing_is_raised(self, server: Server, index_name: str) -> None:
        properties = {f"f{number}": {"type": "keyword"} for number in range(20)}
        settings = {"index.mapping.total_fields.limit": 30}
        server.request("PUT", f"/{index_name}", {"mappings": {"properties": properties}, "settings": settings})
        before = server.request("GET", f"/{index_name}")
        assert "has 20 fields and neardup adds" in setup(f"{server.url}/{index_name}", code=2).stderr
        assert server.request("GET", f"/{index_name}") == before

    def test_the_count_of_fields_is_the_engines_own(self, server: Server, index_name: str) -> None:
        url = f"{server.url}/{index_name}"
        for limit in range(30, 60):
            server.request("DELETE", f"/{index_name}")
            settings = {"index.mapping.total_fields.limit": limit}
            server.request("PUT", f"/{index_name}", {"mappings": OWNERS_MAPPING, "settings": settings})
            done = subprocess.run([sys.executable, "-m", "indexer", "setup", "--store", url], capture_output=True)
            if done.returncode == 0:
                break
        # One less is too few for the engine as well.
        server.request("DELETE", f"/{index_name}")
        settings = {"index.mapping.total_fields.limit": limit - 1}
        server.request("PUT", f"/{index_name}", {"mappings": OWNERS_MAPPING, "settings": settings})
        template = server.request("GET", "/_component_template/neardup")["component_templates"][0]
        properties = template["component_template"]["template"]["mappings"]["properties"]
        answer = server.request("PUT", f"/{index_name}/_mapping", {"properties": properties})
        assert "total fields" in json.dumps(answer)

    def test_an_owners_own_field_of_that_name_is_left_alone(self, server: Server, index_name: str) -> None:
        server.request("PUT", f"/{index_name}", {"mappings": {"properties": {"neardup": {"type": "keyword"}}}})
        assert "of its owner's" in setup(f"{server.url}/{index_name}", code=2).stderr

    def test_a_newer_store_is_refused(self, server: Server, index_name: str) -> None:
        url = f"{server.url}/{index_name}"
        open_store(url, create=INFO).close()
        meta = server.request("GET", f"/{index_name}/_mapping")[index_name]["mappings"]["_meta"]
        meta["neardup"]["mapping_version"] = 99
        server.request("PUT", f"/{index_name}/_mapping", {"_meta": meta})
        with pytest.raises(IncompatibleStoreError, match="install a newer neardup"):
            open_store(url)
        assert "install a newer neardup" in setup(url, code=4).stderr
