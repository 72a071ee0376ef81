"""Measures the ingest pipelines: documents a second in bulk, without a pipeline and through each.

`python -m tests.benchmarks pipelines --store http://127.0.0.1:9200 [--characters N]` writes to an index
neardup-bench-pipelines of that cluster, which has to have Painless and a node that runs ingest pipelines; it makes and
deletes the index. It has one shard and no replica. One request is sent after the other, each twice: the first round
warms the engine up. The text is a field that is not indexed, so that the figures are about the pipelines.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from indexer.engine.client.base import NDJSON, Client
from indexer.engine.client.connection import connect
from indexer.engine.index.bodies import ROOT
from indexer.engine.setup.pipelines import PIPELINES, Pipelines
from indexer.engine.setup.provision import Provision
from indexer.ingest.indexing import store_info
from indexer.schemes import registry, simhash

CHARACTERS = 20_000_000
_LENGTHS = (2_000, 20_000, 200_000)
_REQUEST = 1_000_000
_SEED = 20_261_121
_LETTERS = {"Latin": "etaoinshrdlucmfwypvbgkjqxz", "Cyrillic": "оеаинтсрвлкмдпуяыьгзбчйхжшюцщэфъё", "Han": ""}


def texts(script: str, length: int, count: int) -> list[str]:
    """Made texts of words as uneven as a language's in length and letters; for Han each character is a word."""
    generator = np.random.default_rng(_SEED)
    if script == "Han":
        vocabulary = [chr(code) for code in range(0x4E00, 0x5E00)]
    else:
        letters = list(_LETTERS[script])
        weights = 1 / np.arange(2, len(letters) + 2)
        weights /= weights.sum()
        sizes = generator.poisson(4, 5000) + 2
        vocabulary = ["".join(generator.choice(letters, size, p=weights)) + " " for size in sizes]
        vocabulary[::7] = [word.title() for word in vocabulary[::7]]
    made = []
    for _ in range(count):
        found = generator.zipf(1.2, length) % len(vocabulary)
        made.append("".join(vocabulary[number] for number in found)[:length])
    return made


class Bench:
    """Bulk requests to one index that is made anew for each measurement."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.name = client.target.name

    def set_up(self) -> None:
        """The index with neardup's fields and pipelines, and the text in a field that is only stored."""
        provision, info = Provision(self.client), store_info("landmarks", [registry.scheme("minhash")])
        body = {
            "settings": {"number_of_shards": 1, "number_of_replicas": 0, "refresh_interval": "-1"},
            "mappings": {"properties": {"body": {"type": "text", "index": False}}},
        }
        self.client.request("PUT", f"/{self.name}", body)
        steps = [step for step in provision.set_up(info) if step.path.endswith("/_mapping")]
        list(provision.carry_out([*steps, *Pipelines(self.client).set_up(info)]))

    def remove(self) -> None:
        """Delete it, and the pipelines."""
        list(Provision(self.client).carry_out(Pipelines(self.client).removal(asked=True)))
        self.client.request("DELETE", f"/{self.name}")

    def seconds(self, documents: Sequence[dict[str, Any]], pipeline: str) -> float:
        """How long the requests of these documents take."""
        requests: list[bytes] = []
        lines: list[str] = []
        for number, document in enumerate(documents):
            lines += [json.dumps({"index": {"_id": str(number)}}), json.dumps(document, ensure_ascii=False)]
            if sum(map(len, lines[1::2])) >= _REQUEST or number + 1 == len(documents):
                requests.append(("\n".join(lines) + "\n").encode())
                lines = []
        params = {"pipeline": pipeline} if pipeline else {}
        path = f"/{self.name}/_bulk"
        start = time.perf_counter()
        for body in requests:
            answer = self.client.request("POST", path, body, content_type=NDJSON, **params)  # type: ignore[arg-type]
            if answer["errors"]:
                raise RuntimeError(str(answer)[:1000])
        return time.perf_counter() - start


def measure(bench: Bench, script: str, length: int, characters: int) -> None:
    """Print one line: documents a second without, and through each pipeline; and what the simhash one marked."""
    plain: list[dict[str, Any]] = [{"body": text} for text in texts(script, length, max(10, characters // length))]
    hashed = [document | {ROOT: {simhash.SCHEME: {"hash": _hash(document["body"])}}} for document in plain]
    rates = []
    for documents, kind in ((plain, ""), (hashed, PIPELINES[0]), (plain, PIPELINES[1])):
        pipeline = f"neardup-{kind}-{bench.name}" if kind else ""
        bench.seconds(documents, pipeline)
        rates.append(len(documents) / bench.seconds(documents, pipeline))
    bench.client.request("POST", f"/{bench.name}/_refresh")
    query = {"query": {"exists": {"field": f"{ROOT}.pending"}}}
    marked = bench.client.request("POST", f"/{bench.name}/_count", query)["count"]
    spent = 1e9 * (1 / rates[2] - 1 / rates[0]) / length
    print(
        f"{script:<9}{length:>9,}{rates[0]:>12,.0f}{rates[1]:>10,.0f}{rates[2]:>10,.0f}{spent:>14,.0f} ns{marked:>9,}",
        flush=True,
    )


def _hash(text: str) -> str:
    return str(simhash.fingerprint(text))


def run(store: str = "", characters: int = CHARACTERS) -> None:
    """Measure and print."""
    if not store:
        print("needs a cluster with Painless: python -m tests.benchmarks pipelines --store URL; not measured")
        return
    client = connect(f"{store.rstrip('/')}/neardup-bench-pipelines")
    bench = Bench(client)
    try:
        bench.set_up()
        print("                    documents a second in bulk          for a character   marked")
        print("          characters  without      keys   simhash         more")
        for script, length in (*(("Latin", each) for each in _LENGTHS), ("Cyrillic", 20_000), ("Han", 20_000)):
            measure(bench, script, length, characters)
    finally:
        bench.remove()
        client.close()


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--store", default="", metavar="URL", help="the cluster")
    parser.add_argument("--characters", type=int, default=CHARACTERS, help="of text for each measurement")
    options = parser.parse_args(arguments)
    run(options.store, options.characters)


if __name__ == "__main__":
    main()
