"""`neardup setup` on real servers: makes, adds, shows, does nothing twice, and takes away only its own."""

from __future__ import annotations

import json
import random
import re
import subprocess
import sys
from typing import Any

import pytest

from indexer.engine.client.connection import connect
from indexer.engine.index.bodies import MAPPING_VERSION
from indexer.engine.index.mapping import properties
from indexer.engine.setup.provision import Provision
from indexer.errors import IncompatibleStoreError, StoreError, UsageError
from indexer.library.opening import open_store
from indexer.model import Ref
from indexer.stores.base import PutStatus
from tests import warm
from tests.cli.written import prose
from tests.engines import annotated
from tests.engines.annotated import DOCUMENTS, left_by_removal, searches
from tests.engines.servers import Server
from tests.stores.made import INFO, put, record

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
    done = warm.run_text("setup", "--store", url, *flags)
    assert done.returncode == code, done.stderr
    return done


def count(properties: dict[str, Any]) -> int:
    """Fields as the engines count them."""
    return sum(1 + sum(count(each.get(part, {})) for part in ("properties", "fields")) for each in properties.values())


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
        setup(url, "--remove", "--yes")
        assert "error" in server.request("GET", f"/{index_name}")
        assert server.request("GET", "/_component_template/neardup").get("error")
        assert server.request("GET", f"/_index_template/neardup-{index_name}").get("error")
        assert "nothing" in setup(url, "--remove").stderr

    def test_numbers_of_an_index_that_is_there(
        self, server: Server, index_name: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        url, asked = f"{server.url}/{index_name}", ("--shards", "2", "--replicas", "0")
        setup(url, *asked)
        assert "nothing to do" in setup(url, *asked).stderr
        refused = setup(url, "--shards", "3", code=2).stderr
        assert f"--shards 3 is for a new index, and {url} already exists; {index_name} has 2 shards" in refused
        assert "has 0 replicas, PUT /INDEX/_settings changes them" in setup(url, "--replicas", "1", code=2).stderr
        assert "full asked for" in setup(url, "--content", "full", code=4).stderr
        # From farther away they are for the indices that are new.
        monkeypatch.setenv("NEARDUP_SETUP_SHARDS", "3")
        assert "nothing to do" in setup(url).stderr

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
        printed = setup(url, "--remove").stderr
        mapping = server.request("GET", f"/{index_name}/_mapping")[index_name]["mappings"]
        assert mapping["_meta"] == {"owner": {"team": "search"}}
        assert server.request("GET", f"/{index_name}/_doc/a")["_source"] == document | left_by_removal(server)
        assert ("null" in printed) == bool(left_by_removal(server))
        # What was neardup's alone is gone.
        assert "1 deleted" in printed
        assert not server.request("GET", f"/{index_name}/_doc/b")["found"]
        found = server.request("POST", f"/{index_name}/_search", {"query": {"exists": {"field": "neardup.tokens"}}})
        assert found["hits"]["total"]["value"] == 0
        setup(url)
        with open_store(url) as store:
            assert store.stats().documents == 0

    def test_what_annotating_and_clustering_added_is_taken_away(self, server: Server, index_name: str) -> None:
        annotated.fill(server, index_name, DOCUMENTS)
        annotated.write(server, index_name, "routed", {"body": prose(3), "date": "2026-01-09"}, routing="r")
        before, found = server.request("GET", f"/{index_name}"), annotated.sources(server, index_name)
        searched = searches(server, index_name)
        url = f"{server.url}/{index_name}"
        setup(url)
        annotated.annotate(url, "--field", "body")
        annotated.neardup("cluster", "--store", url)
        # A cluster, and by which rule it was made.
        assert server.request("GET", f"/neardup-{index_name}-clusters/_count")["count"] == 2
        shown = setup(url, "--remove", "--dry-run").stdout
        assert "ctx._source.remove" in shown
        assert "neardup" in annotated.sources(server, index_name)[f"{index_name}/a"]
        setup(url, "--remove")
        after = annotated.sources(server, index_name)
        assert annotated.owners(after) == found
        touched = {name for name in after if "neardup" in after[name]}
        assert touched == (set(after) - {f"{index_name}/none"} if left_by_removal(server) else set())
        assert all(after[name]["neardup"] is None for name in touched)
        assert searches(server, index_name) == searched
        now = server.request("GET", f"/{index_name}")
        # A mapping can't give up the names of fields.
        del now[index_name]["mappings"]["properties"]["neardup"]
        assert now == before
        assert list(server.request("GET", f"/*{index_name}*")) == [index_name]
        assert "nothing of neardup's" in setup(url, "--remove").stderr

    def test_removal_never_costs_an_owners_values(self, server: Server, index_name: str) -> None:
        properties = {"lang": {"type": "keyword"}, "secret": {"type": "keyword"}}
        mappings = {"properties": properties, "_source": {"excludes": ["secret"]}}
        url = f"{server.url}/{index_name}"
        server.request("PUT", f"/{index_name}", {"mappings": mappings})
        setup(url)
        with open_store(url) as store:
            put(store, record("own", 1))
        server.request("PUT", f"/{index_name}/_doc/a?refresh=true", {"lang": "en", "secret": "x"})
        printed = setup(url, "--remove", code=3).stderr
        assert "secret" in printed
        assert "Nothing was changed" in printed
        assert server.request("GET", f"/{index_name}/_count?q=secret:x")["count"] == 1
        with open_store(url) as store:
            assert store.stats().documents == 1
            # Nor does deleting: whose document it is can't be seen.
            with pytest.raises(StoreError, match=r"excludes secret.*an owner's document"):
                store.delete([Ref("own")])
            # Nor does storing or grouping: both would rebuild a document from what _source has of it.
            [refused] = store.put([record("a", 3)])
            assert refused.status is PutStatus.FAILED
            assert "secret" in refused.reason
            with pytest.raises(StoreError, match=r"excludes secret.*--to"):
                store.annotate([(Ref("own"), {"x": 1})])
        assert server.request("DELETE", f"/{index_name}/_doc/own?refresh=true")["result"] == "deleted"
        setup(url, "--remove")
        assert server.request("GET", f"/{index_name}/_count?q=secret:x")["count"] == 1

    def test_a_document_that_can_not_be_stripped_stops_no_other(self, server: Server, index_name: str) -> None:
        documents = {name: {"body": prose(number), "n": name} for number, name in enumerate(["a", "b", "1"])}
        annotated.fill(server, index_name, documents, {"dynamic": False, "properties": {}})
        url = f"{server.url}/{index_name}"
        annotated.annotate(url, "--field", "body")
        server.request("PUT", f"/{index_name}/_mapping", {"properties": {"n": {"type": "integer"}}})
        printed = setup(url, "--remove", code=3).stderr
        assert "2 documents" in printed
        assert "[n]" in printed
        kept = {name for name, each in annotated.sources(server, index_name).items() if each.get("neardup")}
        assert kept == {f"{index_name}/a", f"{index_name}/b"}
        for name in "ab":
            server.request("DELETE", f"/{index_name}/_doc/{name}")
        setup(url, "--remove")

    def test_a_document_changed_while_it_is_stripped_keeps_the_change(self, server: Server, index_name: str) -> None:
        number_of = 1500
        annotated.fill(server, index_name, {}, {"properties": {"lang": {"type": "keyword"}}})
        lines = [each for number in range(number_of) for each in ({"index": {"_id": str(number)}}, {"lang": "old"})]
        for line in lines[::2]:
            line["index"]["_index"] = index_name  # type: ignore[index]
        assert not server.request("POST", "/_bulk?refresh=true", lines=lines)["errors"]
        url = f"{server.url}/{index_name}"
        setup(url)
        with open_store(url) as store:
            put(store, *[record(str(number), number) for number in range(number_of)])
        process = subprocess.Popen([sys.executable, "-m", "indexer", "setup", "--store", url, "--remove"])
        change = {"doc": {"lang": "new"}}
        changed = {number_of - 1}
        while process.poll() is None:
            changed |= set(random.sample(range(number_of - 5), 5))
            for number in changed:
                answer = server.request("POST", f"/{index_name}/_update/{number}?retry_on_conflict=9", change)
                assert "error" not in answer, answer
        assert process.returncode == 0
        server.request("POST", f"/{index_name}/_update/{number_of - 1}", change)
        server.request("POST", f"/{index_name}/_refresh")
        query = {"query": {"exists": {"field": "neardup.tokens"}}}
        assert server.request("POST", f"/{index_name}/_count", query)["count"] == 0
        assert server.request("GET", f"/{index_name}/_count?q=lang:*")["count"] == number_of
        assert server.request("GET", f"/{index_name}/_count?q=lang:new")["count"] == len(changed)

    def test_an_older_store_is_refused_until_it_is_taken_out(self, server: Server, index_name: str) -> None:
        url = f"{server.url}/{index_name}"
        annotated.fill(server, index_name, {"a": {"body": prose(1)}})
        assert annotated.annotate(url, "--field", "body")["annotated"] == 1
        found = server.request("GET", f"/{index_name}/_mapping")[index_name]["mappings"]["_meta"]
        found["neardup"] |= {"mapping_version": MAPPING_VERSION - 1, "version": "0.0.9"}
        server.request("PUT", f"/{index_name}/_mapping", {"_meta": found})
        # Neither read nor written: its keys stand in another form, and would never be found.
        advice = r"0\.0\.9.*`neardup setup .*--remove`"
        for read_only in (True, False):
            with pytest.raises(IncompatibleStoreError, match=advice):
                open_store(url, read_only=read_only)
        for command in (["setup"], ["annotate", "--field", "body"]):
            assert re.search(advice, warm.run_text(*command, "--store", url).stderr)
        setup(url, "--remove", "--yes")
        left = {"body": prose(1)} | left_by_removal(server)
        assert annotated.sources(server, index_name) == {f"{index_name}/a": left}
        assert annotated.annotate(url, "--field", "body")["annotated"] == 1

    def test_no_room_is_counted_for_what_is_added(self, server: Server, index_name: str) -> None:
        older: dict[str, Any] = {"properties": properties()}
        for name in ("origin", "pending", "pending_detail"):
            del older["properties"]["neardup"]["properties"][name]
        limit = {"index.mapping.total_fields.limit": count(older["properties"]) + 1}
        server.request("PUT", f"/{index_name}", {"mappings": older, "settings": limit})
        before = server.request("GET", f"/{index_name}")
        url = f"{server.url}/{index_name}"
        words = ("--schemes", "simhash-doc")
        assert f"has {count(older['properties'])} fields and neardup adds 3" in setup(url, *words, code=2).stderr
        assert server.request("GET", f"/{index_name}") == before

    def test_no_room_is_said_and_nothing_is_raised(self, server: Server, index_name: str) -> None:
        properties = {f"f{number}": {"type": "keyword"} for number in range(20)}
        settings = {"index.mapping.total_fields.limit": 30}
        server.request("PUT", f"/{index_name}", {"mappings": {"properties": properties}, "settings": settings})
        before = server.request("GET", f"/{index_name}")
        assert "has 20 fields and neardup adds" in setup(f"{server.url}/{index_name}", code=2).stderr
        assert server.request("GET", f"/{index_name}") == before

    def test_the_count_of_fields_is_the_engines_own(self, server: Server, index_name: str) -> None:
        def limited(limit: int) -> None:
            server.request("DELETE", f"/{index_name}")
            settings = {"index.mapping.total_fields.limit": limit}
            server.request("PUT", f"/{index_name}", {"mappings": OWNERS_MAPPING, "settings": settings})

        client = connect(f"{server.url}/{index_name}")
        try:
            limited(10)
            with pytest.raises(UsageError, match="neardup adds") as refused:
                Provision(client).set_up(INFO)
            counted = re.search(r"has (\d+) fields and neardup adds (\d+)", str(refused.value))
            assert counted
            enough = int(counted[1]) + int(counted[2])
            limited(enough - 1)
            with pytest.raises(UsageError, match="neardup adds"):
                Provision(client).set_up(INFO)
            # One less is too few for the engine as well, and this many are not.
            answer = server.request("PUT", f"/{index_name}/_mapping", {"properties": properties()})
            assert "total fields" in json.dumps(answer)
            limited(enough)
            provision = Provision(client)
            assert list(provision.carry_out(provision.set_up(INFO)))
            assert provision.set_up(INFO) == []
        finally:
            client.close()

    def test_an_owners_own_field_of_that_name_is_left_alone(self, server: Server, index_name: str) -> None:
        server.request("PUT", f"/{index_name}", {"mappings": {"properties": {"neardup": {"type": "keyword"}}}})
        assert "belongs to the owner" in setup(f"{server.url}/{index_name}", code=2).stderr

    def test_a_newer_store_is_refused(self, server: Server, index_name: str) -> None:
        url = f"{server.url}/{index_name}"
        open_store(url, create=INFO).close()
        meta = server.request("GET", f"/{index_name}/_mapping")[index_name]["mappings"]["_meta"]
        meta["neardup"]["mapping_version"] = 99
        server.request("PUT", f"/{index_name}/_mapping", {"_meta": meta})
        with pytest.raises(IncompatibleStoreError, match="install a newer neardup"):
            open_store(url)
        assert "install a newer neardup" in setup(url, code=4).stderr
