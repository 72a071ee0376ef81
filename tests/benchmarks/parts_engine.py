"""Parts of documents in an engine: passages beside the engine's own more_like_this; see docs/explanation/parts.md.

Run as `python -m tests.benchmarks parts_engine --cluster URL [--documents FOLDER]`; URL is a cluster, in which two
indices are made and deleted again, FOLDER has documents of your own in the place of html/mixed. Of random documents a
run of words is asked for. It counts as found where the document that it is from is among the ten best, as first where
the first answer has half of the run or more, by its 5-word shingles, and an answer as wrong where it has less than 30%.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import indexer
from indexer.core.text import shingle_hashes
from indexer.engine.client.base import Client, encoded
from indexer.engine.client.bulk import Action, batches, send
from indexer.engine.client.connection import connect
from indexer.errors import NeardupError
from indexer.extract import extract
from indexer.matching.measures.exact import shingle_sets
from tests.benchmarks.engines import settled
from tests.benchmarks.parts import part_of
from tests.benchmarks.price import remove

LENGTHS = (100, 300, 1000)
NOISE = (0.0, 0.02)
ASKED = 100
_BEST, _HALF, _WRONG = 10, 0.5, 0.3
_STORE, _OWN = "parts-passages", "parts-text"
RULES = ("passages@0.5", "passages@0.25")
LIKE: dict[str, dict[str, Any]] = {
    "`more_like_this`": {"min_term_freq": 1, "min_doc_freq": 1},
    "`more_like_this`, 200 terms": {"min_term_freq": 1, "min_doc_freq": 1, "max_query_terms": 200},
}


def run(cluster: str = "", folder: Path | None = None) -> dict[str, dict[str, list[float]]]:
    """Measure and print; by way and kind of question: found, first, wrong answers of all, milliseconds."""
    if not cluster or folder is None:
        print("needs a cluster: python -m tests.benchmarks parts_engine --cluster URL; not measured")
        return {}
    texts = _read(folder)
    whole = {name: shingle_sets([text]).values for name, text in texts.items()}
    draw = random.Random(1)
    kinds = {
        f"{length} words" + f", {noise:.0%} misread" * (noise > 0): (length, noise)
        for length in LENGTHS
        for noise in NOISE
    }
    asked = {kind: [part_of(draw, texts, *form) for _ in range(ASKED)] for kind, form in kinds.items()}
    remove([f"{cluster}/{name}" for name in (_STORE, _OWN)])
    client = connect(f"{cluster}/{_OWN}")
    try:
        with indexer.open(f"{cluster}/{_STORE}", schemes=["passages"]) as store:
            store.add_many(texts.items())
            _fill(client, texts)
            ways: dict[str, Callable[[str], list[str]]] = {
                f"`{rule}`": partial(_by_passages, store, rule) for rule in RULES
            }
            ways |= {name: partial(_like, client, options) for name, options in LIKE.items()}
            found = {way: {kind: _measured(ask, asked[kind], whole) for kind in kinds} for way, ask in ways.items()}
            size = settled(client, _STORE) / len(texts)
    finally:
        client.close()
        remove([f"{cluster}/{name}" for name in (_STORE, _OWN)])
    words = sum(len(text.split()) for text in texts.values())
    print(f"-- {ASKED} parts each of {len(texts):,} documents with {words:,} words, {size:,.0f} bytes a document")
    for way, measured in found.items():
        for kind, (hits, first, wrong, took) in measured.items():
            print(f"{way:30s}{kind:26s} found {hits:7.1%} first {first:7.1%} wrong {wrong:7.2%} {took:8.1f} ms")
    return found


def _read(folder: Path) -> dict[str, str]:
    texts = {}
    for path in sorted(filter(Path.is_file, folder.rglob("*"))):
        try:
            text = extract(path).text
        except NeardupError:
            continue
        if len(text.split()) >= LENGTHS[0]:
            texts[path.relative_to(folder).as_posix()] = text
    return texts


def _fill(client: Client, texts: dict[str, str]) -> None:
    """Put the texts into an index as anybody has them."""
    client.request("PUT", f"/{_OWN}", {"mappings": {"properties": {"body": {"type": "text"}}}})
    documents = ((name, encoded({"body": text})) for name, text in texts.items())
    for part in batches(documents, lambda document: len(document[1])):
        outcomes = send(client, [Action("index", _OWN, name, None, data) for name, data in part])
        assert all(outcome.ok for outcome in outcomes), outcomes
    settled(client, _OWN)


def _by_passages(store: indexer.Collection, rule: str, text: str) -> list[str]:
    return [one.id for one in store.similar(text, match=rule, limit=_BEST)]


def _like(client: Client, options: dict[str, Any], text: str) -> list[str]:
    like = {"fields": ["body"], "like": text, **options}
    body = {"query": {"more_like_this": like}, "size": _BEST, "_source": False}
    return [hit["_id"] for hit in client.search(_OWN, body)["hits"]["hits"]]


def _measured(
    ask: Callable[[str], list[str]], asked: Sequence[tuple[str, str, str]], whole: dict[str, Any]
) -> list[float]:
    for _, _, read in asked[:20]:
        ask(read)
    begin = time.perf_counter()
    given = [ask(read) for _, _, read in asked]
    took = 1000 * (time.perf_counter() - begin) / len(asked)
    hits = first = answers = wrong = 0
    for (name, part, _), names in zip(asked, given, strict=True):
        shingles = np.unique(shingle_hashes(part, 5, numbers=True))
        shares = [float(np.isin(shingles, whole[one]).mean()) for one in names]
        hits += name in names
        first += bool(shares) and shares[0] >= _HALF
        answers += len(names)
        wrong += sum(share < _WRONG for share in shares)
    return [hits / len(asked), first / len(asked), wrong / max(answers, 1), took]


def main(arguments: Sequence[str]) -> None:
    """Run with the options of the command line."""
    from tests.benchmarks.__main__ import SHARED_DATA

    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks parts_engine", description=__doc__.splitlines()[0]
    )
    parser.add_argument("--cluster", metavar="URL", required=True)
    parser.add_argument("--documents", type=Path, default=SHARED_DATA / "html" / "mixed", metavar="FOLDER")
    options = parser.parse_args(arguments)
    run(options.cluster, options.documents)
