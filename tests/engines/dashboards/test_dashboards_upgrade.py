"""A store that an earlier neardup made and clustered gets what dashboards count by."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any
from urllib.parse import quote

from clustered import cluster_store
from made import put, record
from servers import Server

from indexer.ingest.indexing import store_info
from indexer.stores import open_store
from indexer.stores.search.fields.mapping import properties

INFO = store_info("landmarks")
_OLD_CLUSTERS = {
    "properties": {
        "id": {"type": "keyword"},
        "title": {"type": "text"},
        "size": {"type": "long"},
        "exact": {"type": "keyword", "index": False, "doc_values": False},
    },
    "dynamic": False,
}


def older(server: Server, name: str) -> None:
    """Make the index as the first version did."""
    fields: dict[str, Any] = properties()
    del fields["neardup"]["properties"]["origin"]
    del fields["neardup"]["properties"]["cluster"]["properties"]["size_class"]
    layout = {"tables": INFO.layout.tables, "key_bits": INFO.layout.bits}
    about = {"scheme": INFO.scheme, "content": INFO.content, "extractor": INFO.extractor, "unicode": INFO.unicode}
    meta = {"neardup": {"mapping_version": 1, **about, **layout, "version": INFO.version}}
    server.request("PUT", f"/{name}", {"mappings": {"_meta": meta, "properties": fields}})
    server.request("PUT", f"/{name}-neardup-clusters", {"mappings": _OLD_CLUSTERS})


def write_as_older(server: Server, name: str, made: str) -> None:
    """Copy documents and clusters of a store of today, as the first version had them."""
    for index in (made, f"{made}-neardup-clusters"):
        for hit in server.request("POST", f"/{index}/_search", {})["hits"]["hits"]:
            source = hit["_source"]
            if index == made:
                del source["neardup"]["origin"]
                del source["neardup"]["cluster"]["size_class"]
            elif "exact" not in source:
                # The first version noted nothing of how clusters were made.
                continue
            else:
                canonical, texts, numbers, _ = json.loads(source["exact"])
                del numbers["redundant_octets"]
                source = {"id": source["id"], "size": 2, "exact": json.dumps([canonical, texts, numbers])}
            path = f"/{index.replace(made, name)}/_doc/{quote(hit['_id'], safe='')}?refresh=true"
            assert server.request("PUT", path, source)["result"] == "created"


def test_fields_come_by_setup_and_values_by_the_next_clustering(server: Server, index_name: str) -> None:
    url, made = f"{server.url}/{index_name}", f"{index_name}-made"
    older(server, index_name)
    with open_store(f"{server.url}/{made}", create=INFO) as store:
        put(store, record("x/a", 0, source="x/a", size=10, format="html"))
        put(store, record("x/b", 0, source="x/b", size=7, format="pdf"))
        cluster_store(store)
    write_as_older(server, index_name, made)
    command = [sys.executable, "-m", "indexer"]
    for words in (["setup"], ["cluster", "-k", "3"]):
        done = subprocess.run([*command, *words, "--store", url], capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
    server.request("POST", f"/{index_name},{index_name}-neardup-clusters/_refresh")
    for index in (index_name, f"{index_name}-neardup-clusters"):
        query = {"query": {"term": {"neardup.cluster.size_class": "2"}}}
        found = server.request("POST", f"/{index}/_search", query)["hits"]
        assert found["total"]["value"] == (2 if index == index_name else 1)
    [hit] = found["hits"]
    assert hit["_source"]["neardup"]["format"] == ["html", "pdf"]
    assert hit["_source"]["neardup"]["origin"] == ["x"]
    assert (hit["_source"]["redundant"], hit["_source"]["redundant_octets"]) == (1, 7)
    with open_store(url) as store:
        again = cluster_store(store)
    assert (again.changes.documents, again.changes.clusters) == (0, 0)
