"""Payloads are read from doc values in an owner's index, and from `_source` in one of neardup's own."""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import Any

import pytest

from indexer.engine.client.connection import connect
from indexer.engine.setup.provision import Provision
from indexer.engine.store.probing import FEW
from indexer.extract.base import Extracted
from indexer.ingest.indexing import store_info
from indexer.ingest.outcomes import record_of
from indexer.ingest.sketching import sketch_document
from indexer.library.opening import open_store
from indexer.model import SIMHASH_DOC, Document, Record, Ref
from indexer.schemes import registry
from indexer.stores import Store
from indexer.stores.sketches import Found, Probe
from tests.engines.servers import Server

MINHASH = registry.scheme("minhash")
INFO = store_info("landmarks", [MINHASH])
MANY = FEW + 10


def text(seed: int) -> str:
    """A text that shares nothing with others."""
    draw = random.Random(seed)
    return " ".join(f"w{draw.randrange(10**6)}" for _ in range(120))


TEXTS = {f"many-{number}": text(0) for number in range(MANY)} | {name: text(ord(name)) for name in "bcd"}


def made(name: str, words: str) -> Record:
    """The record of a text."""
    document = Document(words)
    return record_of(Extracted(None, document, sketch_document([MINHASH], document)), Ref(name), "", min_tokens=0)


RECORDS = [made(name, words) for name, words in TEXTS.items()]
PAYLOADS = {record.ref.id: record.sketches["minhash"].payload for record in RECORDS}


def payloads(found: Iterable[Found]) -> list[tuple[str, bytes]]:
    """The names and payloads of what was found."""
    return sorted(
        (ref.id, some.payloads["minhash"].bytes_of(place)) for some in found for place, ref in enumerate(some.refs)
    )


def probes(name: str) -> list[Probe]:
    """The probes for a text's equals, as the default rule asks."""
    record = next(record for record in RECORDS if record.ref.id == name)
    return [
        Probe(SIMHASH_DOC, record.sketches[SIMHASH_DOC].keys, 1),
        Probe("minhash", record.sketches["minhash"].keys, 1),
    ]


def payload_field(server: Server, index: str) -> dict[str, Any]:
    """How an index maps the payload."""
    [found] = server.request("GET", f"/{index}/_mapping").values()
    field: dict[str, Any] = found["mappings"]["properties"]["neardup"]["properties"]["minhash"]["properties"]["sketch"]
    return field


def fill(url: str) -> None:
    """Put all records into a store that is there, or is made."""
    with open_store(url, create=INFO) as store:
        assert all(store.put(RECORDS))


@pytest.fixture
def indices(server: Server, index_name: str) -> list[str]:
    """An index that indexing made, one that set-up made, an owner's, and an alias for all of them."""
    made_here, set_up, owners, alias = names = [
        f"{index_name}-{kind}" for kind in ("made", "set-up", "owners", "alias")
    ]
    server.request("PUT", f"/{owners}", {"mappings": {"properties": {"lang": {"type": "keyword"}}}})
    for name in (set_up, owners):
        client = connect(f"{server.url}/{name}")
        provision = Provision(client)
        list(provision.carry_out(provision.set_up(INFO)))
        assert provision.set_up(INFO) == []
        client.close()
    for name in (made_here, set_up, owners):
        fill(f"{server.url}/{name}")
        server.request("POST", "/_aliases", {"actions": [{"add": {"index": name, "alias": alias}}]})
    return names


@pytest.mark.usefixtures("clean")
def test_all_are_read_alike(server: Server, indices: list[str]) -> None:
    kept = [payload_field(server, name).get("doc_values", False) for name in indices[:3]]
    assert kept == [False, False, True]
    for name in indices:
        with open_store(f"{server.url}/{name}", read_only=True) as store:
            require_all(store, 3 if name == indices[3] else 1)


def require_all(store: Store, times: int) -> None:
    """Fail unless each way of reading gives each payload this many times."""
    all_of_them = sorted([*PAYLOADS.items()] * times)
    many = [(name, payload) for name, payload in all_of_them if name.startswith("many")]
    assert payloads(store.scan_sketches(["minhash"])) == all_of_them
    assert payloads(store.scan_sketches([SIMHASH_DOC, "minhash"], keys=["minhash"])) == all_of_them
    assert payloads(store.probe(probes("many-0"), ["minhash"])) == many
    # Also where only the simhash is asked for, and the sketch decides.
    for asked in (probes("b"), probes("b")[:1]):
        [found] = store.probe(asked, [SIMHASH_DOC, "minhash"])
        assert payloads([found]) == [("b", PAYLOADS["b"])] * times
        assert found.records
        fingerprint = next(record for record in RECORDS if record.ref.id == "b").without_sketches().sketches
        assert [(record.ref.id, record.sketches) for record in found.records] == [("b", fingerprint)] * times
    for questions in ([probes("b"), probes("c")], [probes("b")[:1], probes("c")[:1]]):
        answers = [payloads(found) for found in store.probe_many(questions, ["minhash"])]
        assert answers == [[(name, PAYLOADS[name])] * times for name in "bc"]
