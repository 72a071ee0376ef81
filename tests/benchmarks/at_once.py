"""Lookups in a search engine, one a request and fifty a request: the time, and the engine's own work, by shards.

Run as `python -m tests.benchmarks at_once --store URL [--documents N] [--shards N]...`; URL is a new index, which is
deleted afterwards, of the documents of `benchmarks.large`. Fifty questions go in one request in two ways: as that many
searches (`_msearch`), and as one search for the keys of all, whose hits are then assigned to their questions by the
keys that they have, which is `Store.probe_many`. That each way finds the same is checked. Then what it takes to read
all sketches, and to compare questions with them, as `similar --at-least 0` does.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from indexer.engine.client.base import NDJSON, encoded
from indexer.engine.client.connection import connect
from indexer.engine.index.bodies import ROOT, Bodies, both, either
from indexer.engine.setup.provision import Provision
from indexer.engine.store.probing import FEW
from indexer.engine.store.store import SearchStore
from indexer.errors import NeardupError
from indexer.ingest.indexing import store_info
from indexer.library.opening import open_store
from indexer.matching.asking import lookup_each
from indexer.matching.lookups import Asking, scans
from indexer.matching.nodes import read_nodes
from indexer.matching.question import Question
from indexer.matching.rule import MatchRule, default_rule, parse_rule
from indexer.model import SIMHASH_DOC
from indexer.schemes import registry
from indexer.stores.base import PutStatus
from indexer.stores.sketches import Probe
from tests.benchmarks.engines import _processor_time as processor_time
from tests.benchmarks.large import records, remove
from tests.engines.proxy import Proxy

DOCUMENTS = 100_000
SHARDS = (1, 8)
TOGETHER = 50
QUESTIONS = 2000
_PART = 20_000
_ROUNDS = 2

Asked = Sequence[Sequence[Probe]]
Way = Callable[[Asked], list[set[str]]]


def run(url: str = "", documents: int = DOCUMENTS, shards: Iterable[int] = SHARDS) -> dict[str, Any]:
    """Fill an index with each number of shards and measure; milliseconds a question, by shards, rule and way."""
    figures: dict[str, Any] = {}
    if not url:
        print("needs a cluster that is running: --store URL (`make bench` starts both engines): not measured")
        return figures
    for number in shards:
        try:
            figures[f"{number} shards"] = _measure(url, documents, number)
        finally:
            remove(url)
    return figures


def _measure(url: str, documents: int, shards: int) -> dict[str, Any]:
    client = connect(url)
    provision = Provision(client)
    list(
        provision.carry_out(
            provision.set_up(store_info("landmarks", [registry.scheme("minhash")]), shards=shards, replicas=0)
        )
    )
    store = SearchStore(client)
    with store:
        for first in range(0, documents, _PART):
            for result in store.put(records(first, min(_PART, documents - first), lean=False)):
                if result.status is PutStatus.FAILED:
                    raise NeardupError(f"{result.ref.id}: {result.reason}")
        client.request("POST", f"/{store.path}/_forcemerge", max_num_segments="1")
        client.request("POST", f"/{store.path}/_refresh")
        asked = list(records(0, _PART, lean=False))[:: _PART // QUESTIONS]
        figures: dict[str, Any] = {}
        for name, rule in (
            ("default rule", default_rule(store)),
            ("simhash-doc@3bits", parse_rule("simhash-doc@3bits")),
        ):
            questions = [Asking(store, rule, Question("", record=record)).probes for record in asked]
            title = f"{shards} shards, {name}"
            figures[name] = _compare(store, list(rule.schemes), questions, title) | _scan(store, rule, documents, title)
            if scans(rule, 0.0):
                figures[name] |= _nearest(store, rule, [Question("", record=record) for record in asked], title)
    return figures


def _compare(store: SearchStore, schemes: Sequence[str], questions: Asked, title: str) -> dict[str, Any]:
    ways: dict[str, Way] = {
        "one a request": lambda some: [_names(store.probe(probes, schemes)) for probes in some],
        "fifty searches": lambda some: _searches(store, schemes, some),
        "one search for fifty": lambda some: [_names(found) for found in store.probe_many(some, schemes)],
    }
    parts = [questions[first : first + TOGETHER] for first in range(0, len(questions), TOGETHER)]
    spent: dict[str, list[tuple[float, float, float]]] = {name: [] for name in ways}
    truth: list[set[str]] | None = None
    for number in range(_ROUNDS + 1):
        for name, way in ways.items():
            engine, own, begin = _settled_work(store), time.process_time(), time.perf_counter()
            answers = [answer for part in parts for answer in way(part)]
            whole, own = time.perf_counter() - begin, time.process_time() - own
            work = _settled_work(store) - engine
            if answers != (truth := truth or answers):
                raise NeardupError("the ways answer differently")
            # The first round warms the engine up.
            if number:
                spent[name].append((1000 * whole / len(answers), 1000 * own / len(answers), work / len(answers)))
    figures = {name: [sum(column) / len(each) for column in zip(*each, strict=True)] for name, each in spent.items()}
    first = figures["one a request"]
    for name, (whole, own, engine) in figures.items():
        print(
            f"{title}: {name}: {whole:.2f} ms a question ({whole / first[0]:.2f} x), own work {own:.2f} ms, the "
            f"engine's {engine:.2f} ms ({engine / first[2]:.2f} x)",
            flush=True,
        )
    return figures


def _scan(store: SearchStore, rule: MatchRule, documents: int, title: str) -> dict[str, Any]:
    """What it takes to read the sketches of all documents, as `pairs` and `cluster` do."""
    spent = []
    for _ in range(_ROUNDS):
        engine, own, begin = _settled_work(store), time.process_time(), time.perf_counter()
        if len(read_nodes(store, rule).refs) != documents:
            raise NeardupError("a scan did not read all documents")
        whole, own = time.perf_counter() - begin, time.process_time() - own
        spent.append((1000 * whole / documents, 1000 * own / documents, (_settled_work(store) - engine) / documents))
    whole, own, engine = (sum(column) / len(spent) for column in zip(*spent, strict=True))
    print(
        f"{title}: all read: {1000 * whole:.0f} us a document, own work {1000 * own:.0f} us, the engine's "
        f"{1000 * engine:.0f} us",
        flush=True,
    )
    return {"scan": [whole, own, engine]}


def _nearest(store: SearchStore, rule: MatchRule, asked: Sequence[Question], title: str) -> dict[str, Any]:
    """What it takes to compare one question, and fifty, with the sketches of all documents."""
    figures = {}
    for count in (1, TOGETHER):
        spent = []
        for _ in range(_ROUNDS):
            engine, own, begin = _settled_work(store), time.process_time(), time.perf_counter()
            list(lookup_each(store, rule, asked[:count], at_least=0.0))
            whole, own = time.perf_counter() - begin, time.process_time() - own
            spent.append((whole, own, (_settled_work(store) - engine) / 1000))
        figures[f"nearest of {count}"] = [sum(column) / len(spent) for column in zip(*spent, strict=True)]
    between = Proxy(store.client.target.hosts[0])
    try:
        with open_store(f"{between.url}/{store.client.target.name}", read_only=True) as relayed:
            between.answered = 0
            list(lookup_each(relayed, rule, asked[:1], at_least=0.0))
    finally:
        between.close()
    for name, (whole, own, engine) in figures.items():
        print(f"{title}: {name}: {whole:.2f} s, own work {own:.2f} s, the engine's {engine:.2f} s", flush=True)
    print(f"{title}: nearest of 1: {between.answered:,} bytes of answers", flush=True)
    return {**figures, "bytes": between.answered}


def _settled_work(store: SearchStore) -> float:
    """Milliseconds that the engine has worked so far, as it knows it a second later."""
    time.sleep(1.2)
    return processor_time(store.client)


def _names(found: Iterable[Any]) -> set[str]:
    return {ref.id for some in found for ref in some.refs}


def _searches(store: SearchStore, schemes: Sequence[str], questions: Asked) -> list[set[str]]:
    """What as many searches in one request find, at the least that they can cost here: only ids are read."""
    bodies = store.bodies
    fields = bodies.record_fields(schemes)
    lines = b""
    for probes in questions:
        ways = [_way(bodies, probe) for probe in probes]
        body = {"query": both(either(ways), include_short=False), "size": FEW, "track_total_hits": FEW + 1, **fields}
        lines += b"{}\n" + encoded(body) + b"\n"
    path = f"/{store.path}/_msearch"
    answers = store.client.request("POST", path, lines, content_type=NDJSON)["responses"]
    return [{hit["_id"] for hit in answer["hits"]["hits"]} for answer in answers]


def _way(bodies: Bodies, probe: Probe) -> dict[str, Any]:
    own = probe.scheme == SIMHASH_DOC
    asked = bodies.layout.terms(probe.keys).items() if own else bodies.key_fields[probe.scheme].asked(probe.keys)
    should = [{"terms": {f"{ROOT}.{probe.scheme}.{field}": terms}} for field, terms in asked]
    return {"bool": {"should": should, "minimum_should_match": probe.agreeing}}


def main(arguments: Sequence[str]) -> None:
    """Run with the options of the command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks at_once", description=__doc__)
    parser.add_argument("--store", required=True, metavar="URL", help="a new index in a search cluster")
    parser.add_argument("--documents", type=int, default=DOCUMENTS, metavar="N")
    parser.add_argument("--shards", type=int, action="append", metavar="N", help="can be repeated")
    options = parser.parse_args(arguments)
    run(options.store, options.documents, options.shards or SHARDS)


if __name__ == "__main__":
    main(sys.argv[1:])
