"""An alias of one index is that index; one that is filtered, routed or rolled over is a name of its own."""

from __future__ import annotations

import json
from contextlib import closing
from typing import Any

import pytest

from indexer.engine.client.connection import connect
from indexer.library.opening import open_store
from tests import warm
from tests.cli.written import prose
from tests.engines.annotated import annotate, fill, neardup
from tests.engines.servers import Server

pytestmark = pytest.mark.usefixtures("clean")
MAPPING = {"properties": {"body": {"type": "text"}}}


def change(server: Server, *actions: dict[str, Any]) -> None:
    """Add aliases, or remove them."""
    answer = server.request("POST", "/_aliases", {"actions": list(actions)})
    assert answer.get("acknowledged"), answer


def test_an_alias_of_one_index_is_that_index(server: Server, index_name: str) -> None:
    alias, other = f"{index_name}-now", f"{index_name}-next"
    for name in (index_name, other):
        fill(server, name, {each: {"body": prose(1)} for each in "ab"}, MAPPING)
    change(server, {"add": {"index": index_name, "alias": alias}})
    urls = [f"{server.url}/{name}" for name in (index_name, alias)]
    annotate(urls[1], "--field", "body")
    neardup("cluster", "--store", urls[1])
    found = []
    for url in urls:
        with open_store(url, read_only=True) as store:
            found.append((list(store.clusters()), store.clustering_notes(), [*store.scan_annotations()]))
        assert json.loads(neardup("doctor", "--store", url, "--json").stdout)["healthy"]
    assert found[0] == found[1]
    assert len(found[0][0]) == 1
    assert not [name for name in server.request("GET", "/_mapping") if name.startswith(f"neardup-{alias}")]
    # At the next command it may be another one.
    change(
        server,
        {"remove": {"index": index_name, "alias": alias}},
        {"add": {"index": other, "alias": alias}},
    )
    assert "without neardup's fields" in neardup("stats", "--store", urls[1], code=3).stderr


@pytest.mark.parametrize(
    "about", [{"filter": {"ids": {"values": ["a"]}}}, {"routing": "r"}, {"is_write_index": True}], ids=json.dumps
)
def test_an_alias_that_is_not_all_of_an_index_is_a_name_of_its_own(
    server: Server, index_name: str, about: dict[str, Any]
) -> None:
    fill(server, index_name, {each: {"body": prose(1)} for each in "ab"}, MAPPING)
    alias = f"{index_name}-part"
    change(server, {"add": {"index": index_name, "alias": alias, **about}})
    with closing(connect(f"{server.url}/{alias}")) as client:
        assert client.target.name == alias
    annotate(f"{server.url}/{index_name}", "--field", "body")
    neardup("cluster", "--store", f"{server.url}/{index_name}")
    done = warm.run_text("doctor", "--store", f"{server.url}/{alias}", "--json")
    [wrong] = [each for each in json.loads(done.stdout)["findings"] if each["check"] == "counts of clusters"]
    documents = "1 document" if "filter" in about else "2 documents"
    assert wrong["says"].startswith(f"{documents} in clusters, of which dashboards count 0")


def test_an_alias_of_two_indices_is_no_index(server: Server, index_name: str) -> None:
    for name in (index_name, f"{index_name}-2"):
        fill(server, name, {"a": {"body": prose(1)}}, MAPPING)
        change(server, {"add": {"index": name, "alias": f"{index_name}-all"}})
    for name in (f"{index_name}-all", f"{index_name}*", f"{index_name},{index_name}-2", f"{index_name}-none"):
        with closing(connect(f"{server.url}/{name}")) as client:
            assert client.target.name == name
