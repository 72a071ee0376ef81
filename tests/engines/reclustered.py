"""An owner's index whose clusters are held against those of a whole clustering."""

from __future__ import annotations

import json

from indexer import open_store
from tests.cli.written import prose
from tests.engines.annotated import neardup, write
from tests.engines.servers import Server

SETTINGS = {"settings": {"number_of_shards": 3}, "mappings": {"properties": {"body": {"type": "text"}}}}


def partition(url: str) -> dict[str, set[str]]:
    """Each cluster of two or more by its id, as the documents say it and as its record counts it."""
    found: dict[str, set[str]] = {}
    with open_store(url, read_only=True) as store:
        for ref, fields in store.scan_annotations(clustered=True):
            if fields["cluster"].get("size_class"):
                found.setdefault(fields["cluster"]["id"], set()).add(f"{ref.index}/{ref.id}")
        assert {each.id: each.size for each in store.clusters()} == {name: len(each) for name, each in found.items()}
    return found


def require_as_cluster(url: str) -> None:
    """A clustering of everything has nothing to write."""
    before = partition(url)
    counts = json.loads(neardup("cluster", "--store", url, "--json").stdout)
    assert counts["written"] == {"documents": 0, "clusters": 0, "removed": 0}
    assert partition(url) == before


def made(server: Server, index: str, count: int) -> str:
    server.request("PUT", f"/{index}", SETTINGS)
    for number in range(count):
        write(server, index, str(number), {"body": prose(number)})
    return f"{server.url}/{index}"
