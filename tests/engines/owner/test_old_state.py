"""An index as an earlier version left it: refused with advice, brought up to date by setup, and gone on with."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from dumped import dump
from made import put, record
from servers import Server

from indexer.errors import IncompatibleStoreError
from indexer.ingest.indexing import store_info
from indexer.model import Ref, Sketch
from indexer.provision.setup import Provision
from indexer.schemes.keys.layout import KeyLayout, SchemeInfo
from indexer.stores import PutStatus, Store, open_store
from indexer.stores.search.client.connection import connect
from indexer.stores.sketches import Probe

OLD: dict[str, Any] = json.loads(
    (Path(__file__).resolve().parents[2] / "stores" / "fixtures" / "mapping2.json").read_text("utf-8")
)
NEW = SchemeInfo("new", "new:x=1", KeyLayout(tables=3, bits=8))

# As the index was made: texts that are extracted by other rules are no concern here.
MADE_WITH = replace(store_info("landmarks"), extractor="1")


def load(server: Server, name: str) -> None:
    """Make the old index, and those beside it, under another name."""
    for old, found in OLD["indices"].items():
        index = name + old.removeprefix(OLD["name"])
        server.request("PUT", f"/{index}", {"mappings": found["mappings"]})
        lines: list[Any] = []
        for each, source in found["documents"].items():
            lines += [{"index": {"_index": index, "_id": each}}, source]
        assert not server.request("POST", "/_bulk?refresh=true", lines=lines)["errors"]


def set_up(server: Server, name: str) -> None:
    """What `neardup setup` does."""
    client = connect(f"{server.url}/{name}")
    try:
        provision = Provision(client)
        list(provision.carry_out(provision.set_up(MADE_WITH)))
        assert provision.set_up(MADE_WITH) == []
    finally:
        client.close()


@pytest.fixture
def opened(server: Server, index_name: str) -> Iterator[Callable[[], Store]]:
    """Opens the old index, after it was brought up to date."""
    load(server, index_name)
    set_up(server, index_name)
    stores: list[Store] = []

    def open_it() -> Store:
        stores.append(open_store(f"{server.url}/{index_name}", create=MADE_WITH))
        stores[-1].refresh = "true"
        return stores[-1]

    yield open_it
    for store in stores:
        store.close()


def found(store: Store, sketch: Sketch, name: str, agreeing: int = 1) -> set[str]:
    """The ids of documents that share keys with a sketch."""
    answers = store.probe([Probe(name, sketch.keys, agreeing)], [name])
    return {ref.id for some in answers for ref in some.refs}


def test_it_is_refused_until_it_is_brought_up_to_date(server: Server, index_name: str) -> None:
    load(server, index_name)
    before = server.request("GET", f"/{index_name}/_mapping")
    for read_only in (True, False):
        with pytest.raises(IncompatibleStoreError, match=r"mapping version 2.*`neardup setup`"):
            open_store(f"{server.url}/{index_name}", read_only=read_only)
    assert server.request("GET", f"/{index_name}/_mapping") == before


def test_what_it_holds_is_what_it_held(server: Server, index_name: str, opened: Callable[[], Store]) -> None:
    with opened() as store:
        assert dump(store) == OLD["held"]
        radii = [each["radius"] for each in OLD["held"]["clusters"]]
        assert [round((1 - each.least_similarity) * 64) for each in store.clusters()] == radii
        assert store.clustering_notes() == {}
        # Fourteen documents came before the second scheme.
        assert store.lacking(["minhash", "supershingles"]) == {"minhash": 0, "supershingles": 14}
    documents = server.request("POST", f"/{index_name}/_search?size=1000")["hits"]["hits"]
    assert {hit["_id"]: hit["_source"] for hit in documents} == OLD["indices"][OLD["name"]]["documents"]
    fields = server.request("GET", f"/{index_name}/_mapping")[index_name]["mappings"]["properties"]["neardup"]
    assert fields["properties"]["cluster"]["properties"]["similarity"]["type"] == "float"
    # The keys stay where they are, and no field is added for them.
    assert "t24" in fields["properties"]["minhash"]["properties"]
    assert "keys" not in fields["properties"]["minhash"]["properties"]


def test_its_sketches_are_found_and_written_where_they_were(opened: Callable[[], Store]) -> None:
    with opened() as store:
        kept = {each.ref.id: each for each in store.scan()}
        tables = {scheme.name: scheme.layout.tables for scheme in store.info.schemes}
        for each in list(kept.values())[::5]:
            for name, sketch in each.sketches.items():
                if sketch.keys and not each.short:
                    equal = {other.ref.id for other in kept.values() if other.sketches.get(name) == sketch}
                    assert found(store, sketch, name, tables[name]) == equal
        sketch = kept["f2v2"].sketches["minhash"]
        put(store, record("again", 7, sketches=kept["f2v2"].sketches), record("f2v3", 8))
        assert found(store, sketch, "minhash", 25) == {"f2v2", "again"}
        [again] = store.get([Ref("again")])
        assert again
        assert again.sketches == kept["f2v2"].sketches
        scanned = [some.keys["minhash"] for some in store.scan_sketches(["minhash"], keys=["minhash"])]
        assert sum(int((rows.sizes == 25).sum()) for rows in scanned) == len(kept) - 4
        store.annotate([(Ref("again"), {"cluster": {"id": "c", "is_canonical": False, "similarity": 0.75}})])
        assert store.annotations([Ref("again")]) == [
            {"cluster": {"id": "c", "is_canonical": False, "similarity": 0.75}}
        ]
        # Annotating rebuilds the document: it is found as before.
        assert found(store, sketch, "minhash", 25) == {"f2v2", "again"}


def test_a_scheme_that_comes_now_has_one_field_of_keys(
    server: Server, index_name: str, opened: Callable[[], Store]
) -> None:
    with opened() as store:
        store.add_scheme(NEW)
        sketch = Sketch(NEW.id, b"payload", tuple(NEW.layout.pack(table, 9) for table in (0, 1, 2)), 3)
        put(store, record("x", 1, sketches={NEW.name: sketch}))
        assert found(store, sketch, NEW.name, 3) == {"x"}
        fields = server.request("GET", f"/{index_name}/_mapping")[index_name]["mappings"]["properties"]["neardup"]
        assert set(fields["properties"]["new"]["properties"]) == {"sketch", "features", "keys"}
        # Its names stay in the mapping, and a scheme of the same name may come again.
        store.remove_scheme("minhash")
        again = SchemeInfo("minhash", "minhash:y=1", KeyLayout(25, 32))
        store.add_scheme(again)
        other = Sketch(again.id, b"p", (again.layout.pack(24, 5),), 1)
        put(store, record("y", 1, sketches={"minhash": other}))
        assert found(store, other, "minhash") == {"y"}


def test_indices_of_both_kinds_behind_one_name(server: Server, index_name: str) -> None:
    load(server, index_name)
    set_up(server, index_name)
    late, alias = f"{index_name}-late", f"{index_name}-alias"
    minhash = SchemeInfo("minhash", "minhash:bands=25,bits=8,rows=5,shingle=5,values=128", KeyLayout(25, 32))
    with open_store(f"{server.url}/{late}", create=MADE_WITH) as store:
        store.add_scheme(minhash)
    actions = [{"add": {"index": index_name, "alias": alias}}]
    actions += [{"add": {"index": late, "alias": alias, "is_write_index": True}}]  # type: ignore[dict-item]
    server.request("POST", "/_aliases", {"actions": actions})
    # Each gets the other's schemes; the keys of minhash stay where they are.
    set_up(server, alias)
    found_fields = [
        set(each["mappings"]["properties"]["neardup"]["properties"]["minhash"]["properties"])
        for _, each in sorted(server.request("GET", f"/{alias}/_mapping").items())
    ]
    assert ["keys" in fields for fields in found_fields] == ["t00" not in fields for fields in found_fields]
    assert ["keys" in fields for fields in found_fields] == [False, True]
    with open_store(f"{server.url}/{index_name}", read_only=True) as store:
        [old] = store.get([Ref("f1v2")])
    assert old
    with open_store(f"{server.url}/{alias}") as store:
        store.refresh = "true"
        both = {"minhash": old.sketches["minhash"]}
        statuses = put(store, record("new", 5, sketches=both), record("f1v3", 6, sketches=both))
        assert statuses == [PutStatus.CREATED, PutStatus.REPLACED]
        sketch = old.sketches["minhash"]
        assert found(store, sketch, "minhash", 25) == {"f1v2", "f1v3", "new"}
        places = {ref.id: ref.index for some in store.probe([Probe("minhash", sketch.keys, 25)]) for ref in some.refs}
        assert places == {"f1v2": index_name, "f1v3": index_name, "new": late}
        assert all(each.sketches["minhash"] == sketch for each in store.scan() if each.ref.id in places)
