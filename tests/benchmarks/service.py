"""Questions over HTTP, beside the library: texts of 300 words, fifty in a request, in a store of 100,000 documents.

Run as `python -m tests.benchmarks service [--documents N] [--large]`; `--large` is a million documents. A tenth of the
questions have a copy in the store, the rest of its documents have random hashes and sketches. The service is a real
process, `neardup serve`, and those who ask are threads of this one, on the same cores.
"""

from __future__ import annotations

import argparse
import http.client
import json
import random
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

import indexer
from indexer.ingest.indexing import store_info
from indexer.library.opening import open_store
from indexer.schemes import registry
from indexer.stores.base import PutStatus
from tests.benchmarks.large import records
from tests.service.process import processor_seconds, serving

DOCUMENTS, LARGE = 100_000, 1_000_000
WORDS, TOGETHER, REQUESTS = 300, 50, 60
ASKING = (1, 2, 8)
FILES = 100
_PART = 20_000


def run(documents: int = DOCUMENTS) -> dict[str, Any]:
    """Measure and print; gives the figures."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        batches = _filled(folder, documents)
        print(f"-- {documents:,} documents, {REQUESTS} requests of {TOGETHER} texts of {WORDS} words")
        figures: dict[str, Any] = {"documents": documents}
        for turn in range(2):
            library, used = _library(folder, batches)
            print(f"library: {library:,.0f} questions a second, {1000 * used:.2f} ms of processors each", flush=True)
            with serving(folder, "--timeout", "120") as url:
                _asked(url, batches[:4], 1)
                for asking in ASKING:
                    before = processor_seconds(folder)
                    rate, times = _asked(url, batches, asking)
                    spent = (processor_seconds(folder) - before) / (TOGETHER * REQUESTS)
                    half, last = np.percentile(times, [50, 99]) * 1000
                    figures[f"{asking} asking, turn {turn}"] = rate / library, used / spent, float(last)
                    print(
                        f"service, {asking} asking: {rate:,.0f} a second, {rate / library:.2f} x the library, "
                        f"{1000 * spent:.2f} ms of processors each, {used / spent:.2f} x; "
                        f"a request takes {half:,.0f} ms, 99% take at most {last:,.0f} ms",
                        flush=True,
                    )
                first, rest = _files(url)
                print(f"a file of {WORDS} words: {1000 * first:,.0f} ms the first, {1000 * rest:,.1f} ms others")
        return figures


def _library(folder: Path, batches: Sequence[Sequence[str]]) -> tuple[float, float]:
    """The questions that the library answers in a second, and the seconds of processors for each."""
    with indexer.open(folder / "texts.neardup", read_only=True) as collection:
        list(collection.similar_each(batches[0]))
        begin, used = time.perf_counter(), time.process_time()
        found = sum(len(answer.matches) > 0 for batch in batches for answer in collection.similar_each(batch))
        spent, used = time.perf_counter() - begin, time.process_time() - used
    count = TOGETHER * len(batches)
    assert found == count // 10, found
    return count / spent, used / count


def _filled(folder: Path, documents: int) -> list[list[str]]:
    """The texts that are asked about, in the lists of a request each, after a store was filled."""
    texts = [_text(number) for number in range(TOGETHER * REQUESTS)]
    with open_store(folder / "texts.neardup", create=store_info("landmarks", [registry.scheme("minhash")])) as store:
        for first in range(0, documents - len(texts) // 10, _PART):
            count = min(_PART, documents - len(texts) // 10 - first)
            assert all(one.status is not PutStatus.FAILED for one in store.put(records(first, count, lean=False)))
    with indexer.open(folder / "texts.neardup") as collection:
        collection.add_many((f"copy{number}", f"{text} and more") for number, text in enumerate(texts[::10]))
    return [texts[start : start + TOGETHER] for start in range(0, len(texts), TOGETHER)]


def _text(seed: int) -> str:
    return " ".join(random.Random(seed).choices([f"word{number}" for number in range(20_000)], k=WORDS))


def _asked(url: str, batches: Sequence[Sequence[str]], asking: int) -> tuple[float, list[float]]:
    """The questions answered in a second where so many ask at once, and the seconds of each request."""
    bodies = [json.dumps({"documents": [{"text": text} for text in batch]}).encode() for batch in batches]

    def ask(mine: Sequence[bytes]) -> list[float]:
        connection, times = http.client.HTTPConnection(url.removeprefix("http://"), timeout=300), []
        for body in mine:
            begin = time.perf_counter()
            connection.request("POST", "/similar", body, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            read = answer.read()
            assert answer.status == 200, read[:200]
            times.append(time.perf_counter() - begin)
        connection.close()
        return times

    begin = time.perf_counter()
    with ThreadPoolExecutor(asking) as threads:
        times = [one for some in threads.map(ask, [bodies[place::asking] for place in range(asking)]) for one in some]
    return sum(map(len, batches)) / (time.perf_counter() - begin), times


def _files(url: str) -> tuple[float, float]:
    """The seconds that the first question about a file takes, and the median of those after it."""
    connection, times = http.client.HTTPConnection(url.removeprefix("http://"), timeout=300), []
    for number in range(FILES):
        begin = time.perf_counter()
        page = f"<title>page</title><main><p>{_text(number)}</p></main>".encode()
        connection.request("POST", "/similar", page, {"Content-Type": "application/octet-stream"})
        answer = connection.getresponse()
        read = answer.read()
        assert answer.status == 200, read[:200]
        times.append(time.perf_counter() - begin)
    connection.close()
    return times[0], float(np.median(times[1:]))


def main(arguments: Sequence[str]) -> None:
    """Run as a program."""
    parser = argparse.ArgumentParser(description="Measure questions over HTTP.")
    parser.add_argument("--documents", type=int, default=DOCUMENTS)
    parser.add_argument("--large", action="store_true")
    asked = parser.parse_args(arguments)
    run(LARGE if asked.large else asked.documents)
