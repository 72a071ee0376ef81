"""What is new costs what is new: annotate reads only what was written since, and puts it into clusters as it comes."""

from __future__ import annotations

import random
from typing import Any

import pytest

from tests.cli.written import changed, prose
from tests.engines.annotated import annotate, sources, write
from tests.engines.reclustered import SETTINGS, made, partition, require_as_cluster
from tests.engines.servers import Server


def looked_at(counts: dict[str, Any]) -> int:
    """The number of documents that a run read."""
    return int(counts["annotated"] + counts["unchanged"] - counts["trusted"] + counts["without"])


def test_only_what_was_written_since_is_read(server: Server, index_name: str) -> None:
    url = made(server, index_name, 30)
    assert looked_at(annotate(url, "--field", "body")) == 30
    assert looked_at(annotate(url)) == 0
    before = sources(server, index_name)
    # New, written anew, a partial update of the text and of something else, one without a text, and one that is gone.
    write(server, index_name, "new", {"body": prose(100)}, routing="elsewhere")
    write(server, index_name, "1", {"body": prose(101)})
    for name, part in (("2", {"body": prose(102)}), ("3", {"lang": "en"})):
        server.request("POST", f"/{index_name}/_update/{name}", {"doc": part})
    write(server, index_name, "none", {"lang": "en"})
    server.request("DELETE", f"/{index_name}/_doc/4")
    counts = annotate(url)
    assert (counts["missing"], counts["stale"], counts["without"]) == (2, 1, 1)
    assert (counts["annotated"], counts["unchanged"], counts["trusted"]) == (3, 27, 26)
    after = sources(server, index_name)
    assert all("neardup" in after[f"{index_name}/{name}"] for name in ("new", "1", "2"))
    assert all(after[name] == each for name, each in before.items() if name.rpartition("/")[2] not in "1234")
    assert looked_at(annotate(url)) == 0
    everything = annotate(url, "--all")
    assert (everything["annotated"], everything["unchanged"], everything["trusted"]) == (0, 30, 0)
    assert sources(server, index_name) == after


def test_a_new_index_behind_an_alias_is_read_and_the_one_before_is_not(server: Server, index_name: str) -> None:
    alias = f"{index_name}-alias"
    server.request("PUT", f"/{index_name}-000001", {**SETTINGS, "aliases": {alias: {"is_write_index": True}}})
    url = f"{server.url}/{alias}"
    for number in range(5):
        write(server, alias, str(number), {"body": prose(number)})
    assert looked_at(annotate(url, "--field", "body")) == 5
    server.request("POST", f"/{alias}/_rollover", SETTINGS)
    for number in range(5, 8):
        write(server, alias, str(number), {"body": prose(number)})
    assert looked_at(annotate(url)) == 3
    # The same name, and another index.
    server.request("DELETE", f"/{index_name}-000002")
    server.request("PUT", f"/{index_name}-000002", {**SETTINGS, "aliases": {alias: {}}})
    write(server, f"{index_name}-000002", "again", {"body": prose(1)})
    assert looked_at(annotate(url)) == 1


@pytest.mark.parametrize("aside", [False, True])
def test_clusters_are_those_of_a_whole_clustering(server: Server, index_name: str, aside: bool) -> None:
    """Documents that come, are written anew, updated in part and deleted, in an order of chance."""
    chance = random.Random(7)
    url = made(server, index_name, 0)
    to = ["--to", f"{index_name}-aside"] if aside else []
    store = f"{url}-aside" if aside else url
    there: set[str] = set()
    for step in range(3):
        for _ in range(12):
            name, text = str(chance.randrange(20)), prose(chance.randrange(6))
            document = {"body": changed(text) if chance.random() < 0.5 else text}
            act = chance.choice(["write", "write", "write", "update", "delete"])
            if act == "delete":
                server.request("DELETE", f"/{index_name}/_doc/{name}")
                there.discard(name)
            elif act == "update" and name in there:
                server.request("POST", f"/{index_name}/_update/{name}", {"doc": document})
            else:
                write(server, index_name, name, document)
                there.add(name)
        annotate(url, *(["--field", "body"] if not step else []), *to, "--cluster")
        assert len(partition(store)) > 1
        require_as_cluster(store)
    # What came by another way is put into its cluster too.
    write(server, index_name, "late", {"body": prose(1)})
    assert annotate(url, *to)["clusters"] is None
    before = partition(store)
    assert annotate(url, *to, "--all", "--cluster")["clusters"] == 1
    assert partition(store) != before
    require_as_cluster(store)
