"""Measures a search engine with fingerprints: storing, size, lookups and recall, and what else a user might pick.

`python -m tests.benchmarks.engines --cluster http://127.0.0.1:9200 [--records N]` writes to indices named
neardup-bench-* of that cluster, which it makes and deletes; they have one shard and no replica. `make bench` starts
engines for it. Lookups ask for edited copies of stored texts and for new texts, one after the other.
"""

from __future__ import annotations

import argparse
import http.client
import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from indexer.engine.client.base import Client, encoded
from indexer.engine.client.bulk import Action, batches, in_flight, send
from indexer.engine.client.connection import connect
from indexer.engine.index import mapping
from indexer.engine.index.bodies import ROOT, Bodies, both, either
from indexer.engine.store.store import SearchStore, open_search_store
from indexer.errors import NeardupError
from indexer.matching.lookups import lookup
from indexer.matching.question import Question
from indexer.matching.rule import parse_rule
from indexer.schemes import simhash
from indexer.schemes.keys.simhash64 import probes
from tests.benchmarks import engines_rivals as rivals
from tests.benchmarks.engines_data import (
    ARTICLES,
    OWN_FIELDS,
    PASSAGES,
    PLAIN,
    VECTORS,
    WITH,
    Collection,
    Part,
    name_of,
    store_info,
)

DISTANCES = (3, 5, 7)
RECORDS = 300_000
QUESTIONS = 600
_WARM = 20
_PART = 20_000
_SETTINGS = {"number_of_shards": 1, "number_of_replicas": 0, "refresh_interval": -1}


@dataclass(frozen=True, slots=True)
class Asked:
    """A question: its text, its fingerprint's value, and the true answer within 3 bits as document ids."""

    text: str
    value: int
    near: frozenset[str]


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cluster", action="append", default=[], metavar="URL", help="can be repeated")
    parser.add_argument("--records", type=int, default=RECORDS)
    parser.add_argument("--passages", action="store_true", help="documents of 50 to 100 words, not of 300 to 500")
    options = parser.parse_args(arguments)
    run(options.cluster, options.records, PASSAGES if options.passages else ARTICLES)


def run(clusters: Sequence[str] = (), records: int = RECORDS, words: tuple[int, int] = ARTICLES) -> dict[str, Any]:
    """Measure the clusters at these URLs and print; gives the figures of each."""
    if not clusters:
        print("needs a cluster that is running: --cluster URL (`make bench` starts both engines): not measured")
    return {url: measure(url.rstrip("/"), Collection(records, words)) for url in clusters}


def measure(url: str, collection: Collection) -> dict[str, Any]:
    """Measure the cluster at a URL and print; gives the figures."""
    client = connect(f"{url}/{WITH}")
    try:
        _forget(client)
        version = client.request("GET", "/_nodes", filter_path="nodes.*.version")["nodes"]
        number, (least, most) = next(iter(version.values()))["version"], collection.words
        print(f"{client.product} {number}, {collection.size:,} documents of {least} to {most} words")
        figures = measure_storing(client, collection)
        asked = list(_questions(collection, QUESTIONS))
        with open_search_store(f"{url}/{WITH}", read_only=True) as store:
            figures |= measure_lookups(store, url, collection, asked)
        figures |= measure_rivals(client, url, collection, asked)
        return figures
    finally:
        _forget(client)
        client.close()


def measure_storing(client: Client, collection: Collection) -> dict[str, Any]:
    """The same documents without the fingerprint fields and with them, part by part in turn; then what they take."""
    made = mapping.new_index(store_info())["mappings"]
    made["properties"] |= OWN_FIELDS
    for name, fields in ((PLAIN, {"properties": OWN_FIELDS}), (WITH, made)):
        client.request("PUT", f"/{name}", {"settings": _SETTINGS, "mappings": fields})
    bodies = Bodies(store_info())
    spent: dict[str, list[float]] = {PLAIN: [], WITH: []}
    engine: dict[str, list[float]] = {PLAIN: [], WITH: []}
    for number, part in enumerate(collection.parts(_PART)):
        both_ways = [(PLAIN, _plain(part)), (WITH, _with_fields(part, bodies))]
        for name, actions in both_ways if number % 2 else reversed(both_ways):
            before, start = _processor_time(client), time.perf_counter()
            store_all(client, actions)
            spent[name].append((time.perf_counter() - start) / len(part.texts))
            engine[name].append((_processor_time(client) - before) / len(part.texts))
    # The first part warms the engine up. Medians, because merges and other users of the machine fall on some parts.
    rates = {name: 1 / float(np.median(seconds[1:] or seconds)) for name, seconds in spent.items()}
    work = {name: float(np.mean(seconds[1:] or seconds)) for name, seconds in engine.items()}
    sizes = {name: settled(client, name) / collection.size for name in (PLAIN, WITH)}
    share = rates[WITH] / rates[PLAIN]
    for name, label in ((PLAIN, "its own fields alone"), (WITH, "with the fingerprint")):
        print(f"bulk,  {label}: {rates[name]:>7,.0f} documents/s, {work[name]:.3f} ms of the engine's processors each")
        print(f"index, {label}: {sizes[name]:>7,.0f} bytes a document, merged to one segment")
    print(
        f"with the fingerprint: {share:.0%} of the rate, {work[PLAIN] / work[WITH]:.0%} by the engine's own work, "
        f"{sizes[WITH] - sizes[PLAIN]:,.0f} bytes more"
    )
    return {"rates": rates, "work": work, "share": share, "octets": sizes}


def measure_lookups(store: SearchStore, url: str, collection: Collection, asked: Sequence[Asked]) -> dict[str, Any]:
    """Each distance: by the command's own way, beside the same keys asked for by one bare request."""
    figures: dict[str, Any] = {}
    bare = Bare(url)
    for distance in DISTANCES:
        prints = [Question("", fingerprint=simhash.fingerprint(each.text)) for each in asked]
        requests = [bare_request(store.bodies, each.value, distance) for each in asked]
        rule = parse_rule(f"simhash-doc@{distance}bits")
        ours, theirs = timed(
            zip(prints, requests, strict=True),
            lambda pair, by=rule: lookup(store, by, pair[0]),  # type: ignore[misc]
            lambda pair: bare.ask(f"/{WITH}/_search", pair[1]),
        )
        recall = measure_recall(store, collection, asked[:100], distance)
        ratio = ours.median / theirs.median
        print(
            f"lookup, k={distance}, {len(probes(0, distance)):,} keys: {ours}; "
            f"one bare request {theirs}: {ratio:.1f} x; recall {recall:.4f}"
        )
        figures[f"k{distance}"] = {"ours": ours, "bare": theirs, "ratio": ratio, "recall": recall}
    return figures


def measure_recall(store: SearchStore, collection: Collection, asked: Sequence[Asked], distance: int) -> float:
    """The share of all documents within the distance, found by comparing each, that lookups answer with."""
    wanted = found = 0
    for each in asked:
        question = Question("", fingerprint=simhash.fingerprint(each.text))
        answer = lookup(store, parse_rule(f"simhash-doc@{distance}bits"), question, limit=None)
        truth = {name_of(number) for number in collection.within(each.value, distance).tolist()}
        given = {match.record.ref.id for match in answer.matches}
        if given - truth or answer.total != len(given):
            raise NeardupError(f"a lookup within {distance} bits answered with documents that are farther away")
        wanted += len(truth)
        found += len(truth & given)
    return found / wanted


def measure_rivals(client: Client, url: str, collection: Collection, asked: Sequence[Asked]) -> dict[str, Any]:
    """What the engine itself offers for the same question, as far as this build of it has it."""
    figures: dict[str, Any] = {}
    bare = Bare(url)
    few = [each for each in asked if each.near][:200]
    for rival in rivals.RIVALS:
        before = _processor_time(client)
        if reason := rival.prepare(client, collection):
            print(f"{rival.name}: -, {reason}")
            continue
        work = (_processor_time(client) - before) / collection.size
        requests = [json.dumps(rival.request(each.text, each.value)).encode() for each in few[: rival.questions]]
        [times] = timed(requests, partial(bare.ask, f"/{rival.index}/_search"))
        hits = [_ids(bare.ask(f"/{rival.index}/_search", each)) for each in requests]
        shares = [len(each.near & found) / min(len(each.near), 10) for each, found in zip(few, hits, strict=False)]
        recall = float(np.mean(shares))
        print(f"{rival.name}: {times}; {recall:.0%} of what lies within 3 bits is among its first 10")
        figures[rival.name] = {"times": times, "recall": recall}
        if rival.index != WITH:
            octets = settled(client, rival.index) / collection.size
            print(
                f"{rival.name}: {octets:,.0f} bytes a document, {work:.3f} ms of the engine's processors to index each"
            )
            figures[rival.name] |= {"octets": octets, "work": work}
    return figures


@dataclass(frozen=True, slots=True)
class Times:
    """Median and 99th percentile in milliseconds, and the mean of this process's own work in them."""

    median: float
    late: float
    own: float

    def __str__(self) -> str:
        return f"{self.median:.1f} ms (99 %: {self.late:.1f} ms, own work {self.own:.1f} ms)"


def timed(items: Iterable[Any], *ways: Callable[[Any], Any]) -> list[Times]:
    """The times of each way with each item, one way after the other; the first items do not count."""
    spent: list[list[tuple[float, float]]] = [[] for _ in ways]
    for number, item in enumerate(items):
        for way, times in zip(ways, spent, strict=True):
            start, own = time.perf_counter(), time.process_time()
            way(item)
            if number >= _WARM:
                times.append(((time.perf_counter() - start) * 1000, (time.process_time() - own) * 1000))
    return [_times(times) for times in spent]


def _times(spent: list[tuple[float, float]]) -> Times:
    median, late = np.percentile([whole for whole, _ in spent], [50, 99])
    return Times(float(median), float(late), float(np.mean([own for _, own in spent])))


class Bare:
    """A connection that is kept, and nothing of any client's: what one request costs at the least."""

    def __init__(self, url: str) -> None:
        place = urlsplit(url)
        kind = http.client.HTTPSConnection if place.scheme == "https" else http.client.HTTPConnection
        self._connection = kind(place.hostname or "", place.port, timeout=120)

    def ask(self, path: str, body: bytes) -> bytes:
        """The answer's bytes, whatever they say."""
        self._connection.request("POST", path, body, {"Content-Type": "application/json"})
        answer = self._connection.getresponse().read()
        if b'"hits"' not in answer:
            raise NeardupError(f"the engine refused a request: {answer[:500].decode('utf-8', 'replace')}")
        return answer


def bare_request(bodies: Bodies, value: int, distance: int) -> bytes:
    """One search for the documents with these keys, nearest or not: ten of them, with all that neardup keeps."""
    tables = bodies.layout.terms(probes(value, distance)).items()
    having = either([{"terms": {f"{ROOT}.{bodies.scheme}.{field}": terms}} for field, terms in tables])
    query = both(having, include_short=False)
    return json.dumps({"query": query, "size": 10, "track_total_hits": False, "_source": [ROOT]}).encode()


def _ids(answer: bytes) -> set[str]:
    return {hit["_id"] for hit in json.loads(answer)["hits"]["hits"]}


def _questions(collection: Collection, count: int) -> Iterator[Asked]:
    for text in collection.questions(count):
        found = simhash.fingerprint(text)
        value = found.value if found else 0
        yield Asked(text, value, frozenset(name_of(number) for number in collection.within(value, 3).tolist()))


def _plain(part: Part) -> Iterator[Action]:
    for own, record in zip(part.documents(), part.records, strict=True):
        yield Action("create", PLAIN, record.ref.id, document=encoded(own))


def _with_fields(part: Part, bodies: Bodies) -> Iterator[Action]:
    for own, record in zip(part.documents(), part.records, strict=True):
        yield Action("create", WITH, record.ref.id, document=encoded({**own, ROOT: bodies.fields(record)}))


def _processor_time(client: Client) -> float:
    """Milliseconds that the engine's processes have used so far: other programs of the machine don't count."""
    nodes = client.request("GET", "/_nodes/stats/process")["nodes"]
    return float(sum(node["process"]["cpu"]["total_in_millis"] for node in nodes.values()))


def store_all(client: Client, actions: Iterable[Action]) -> None:
    """Send all actions; NeardupError where a document is refused."""
    parts = batches(actions, lambda action: len(action.document))
    for outcome in in_flight(partial(send, client), parts, lambda action: action.id):
        if not outcome.ok:
            raise NeardupError(f"a document was refused: {outcome.reason}")


def settled(client: Client, name: str) -> int:
    """The bytes of an index, merged to one segment."""
    client.request("POST", f"/{name}/_refresh")
    client.request("POST", f"/{name}/_forcemerge", max_num_segments="1")
    client.request("POST", f"/{name}/_flush", force="true")
    client.request("POST", f"/{name}/_refresh")
    stats: Mapping[str, Any] = client.request("GET", f"/{name}/_stats/store")
    return int(stats["_all"]["primaries"]["store"]["size_in_bytes"])


def _forget(client: Client) -> None:
    client.request("DELETE", f"/{PLAIN},{WITH},{VECTORS}", ignore_unavailable="true")


if __name__ == "__main__":
    main()
