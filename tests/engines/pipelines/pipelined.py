"""The pipelines on a server that has Painless: put, tried with documents, and held against the C core."""

from __future__ import annotations

import contextlib
import io
import json
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from indexer.cli import main
from indexer.core.text import text_digest
from indexer.engine.index.bodies import packed_digest
from indexer.engine.index.sketches import KeyFields, sketch_fields
from indexer.engine.setup.pipelines import script_forms
from indexer.extract.text import printable
from indexer.ingest.indexing import store_info
from indexer.ingest.sketching import sketch_document
from indexer.model import Document, Fingerprint
from indexer.relations.beside import NOTHING_BESIDE
from indexer.schemes import registry, simhash
from indexer.schemes.base import Scheme
from indexer.schemes.keys.simhash64 import SIMHASH64_LAYOUT
from tests.engines.fleet import missing
from tests.engines.servers import Server

DIRECTORY = Path(__file__).resolve().parents[3] / "mappings" / "pipelines"
REQUEST_CHARACTERS = 400_000
MINHASH = registry.scheme("minhash")


def with_ingest(server: Server) -> Server:
    """The same server; the test is skipped where its node runs no pipelines."""
    [node] = server.request("GET", "/_nodes")["nodes"].values()
    if "ingest" not in node["roles"]:
        missing("pipelines run on a node that is compiled first: install a full JDK, 21 or later")
    return server


def put_by_hand(server: Server, name: str, **params: Any) -> None:
    """Put a file of mappings/pipelines as curl would, with parameters changed."""
    body = json.loads((DIRECTORY / f"{name}.json").read_text("utf-8"))
    if params:
        body["processors"][0]["script"]["params"] |= params
    answer = server.request("PUT", f"/_ingest/pipeline/{name}", body)
    assert answer == {"acknowledged": True}, json.dumps(answer)[:2000]


def put_with_sketch(server: Server, scheme: Scheme = MINHASH) -> None:
    """Put the pipeline of fingerprints so that it also makes the sketches of a scheme."""
    form = script_forms([store_info("landmarks", [scheme])])["sketch"]
    assert form, scheme.id
    put_by_hand(server, "neardup-simhash", sketch=form)


def through(server: Server, pipeline: str, documents: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """What a pipeline makes of documents, none of which is stored."""
    batch: list[dict[str, Any]] = []
    size = 0
    for document in documents:
        batch.append(document)
        size += len(json.dumps(document))
        if len(batch) == 500 or size > REQUEST_CHARACTERS:
            yield from _simulated(server, pipeline, batch)
            batch, size = [], 0
    yield from _simulated(server, pipeline, batch)


def _simulated(server: Server, pipeline: str, documents: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    if documents:
        docs = [{"_index": "i", "_id": str(number), "_source": each} for number, each in enumerate(documents)]
        answer = server.request("POST", f"/_ingest/pipeline/{pipeline}/_simulate", {"docs": docs})
        assert "docs" in answer, json.dumps(answer)[:2000]
        for each in answer["docs"]:
            assert "doc" in each, json.dumps(each)[:2000]
            yield each["doc"]["_source"]


def keys_of(fingerprint: Fingerprint) -> dict[str, str]:
    """The key fields that a fingerprint has to have."""
    packed = [SIMHASH64_LAYOUT.unpack(key) for key in simhash.keys(fingerprint)]
    return {SIMHASH64_LAYOUT.field(table): SIMHASH64_LAYOUT.term(key) for table, key in packed}


def sketched(scheme: Scheme, text: str) -> dict[str, Any]:
    """The fields that the sketch of a text has to have."""
    sketches, *_ = sketch_document([scheme], Document(printable(text)))
    return sketch_fields(sketches[scheme.family], KeyFields.of(scheme.info))


def agree(server: Server, texts: Iterable[str], scheme: Scheme = MINHASH) -> Counter[str]:
    """Hold the pipeline with a sketch against the C core: equal or marked, never different; how many of each."""
    known = list(texts)
    counts: Counter[str] = Counter()
    found = through(server, "neardup-simhash", ({"body": text} for text in known))
    for text, document in zip(known, found, strict=True):
        record = document["neardup"]
        if "pending" in record:
            assert set(record) <= {"pending", "pending_detail"}, ascii(text)
            assert record["pending"] != "failed", (record, ascii(text))
            counts[record["pending"]] += 1
            continue
        counts["equal"] += 1
        assert record["minhash"] == sketched(scheme, text), ascii(text)
        digest = packed_digest(text_digest(printable(text)).hex())
        assert record["text_digest"] == record["read_digest"] == digest, ascii(text)
        assert record["beside_digest"] == NOTHING_BESIDE
        fingerprint = simhash.fingerprint(text)
        if fingerprint is None:
            assert record["tokens"] == 0, ascii(text)
            assert "simhash-doc" not in record, ascii(text)
            continue
        wanted = {"hash": fingerprint.base32, "bits": fingerprint.bits, **keys_of(fingerprint)}
        assert record["simhash-doc"] == wanted, ascii(text)
        assert record["tokens"] == fingerprint.tokens, ascii(text)
        assert record["short"] == (fingerprint.tokens < 20)
    return counts


class Done(NamedTuple):
    """What a command wrote."""

    stdout: str
    stderr: str


def neardup(command: str, server: Server, index: str, *flags: str, code: int = 0) -> Done:
    """Run a command on an index; in this process, for there are many."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        ended = main([command, "--store", f"{server.url}/{index}", *flags])
    assert ended == code, err.getvalue()
    return Done(out.getvalue(), err.getvalue())


def answered(command: str, server: Server, index: str, *flags: str) -> Any:
    return json.loads(neardup(command, server, index, *flags, "--json").stdout)


def write(server: Server, index: str, name: str, document: dict[str, Any], pipeline: str = "") -> dict[str, Any]:
    """Store a document, and what was stored."""
    query = f"&pipeline={pipeline}" if pipeline else ""
    answer = server.request("PUT", f"/{index}/_doc/{name}?refresh=true{query}", document)
    assert answer.get("result") in ("created", "updated"), answer
    return source(server, index, name)


def source(server: Server, index: str, name: str) -> dict[str, Any]:
    found: dict[str, Any] = server.request("GET", f"/{index}/_doc/{name}")["_source"]
    return found
