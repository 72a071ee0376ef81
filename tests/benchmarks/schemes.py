"""Measures every scheme on real documents against exact Jaccard coefficients, beside datasketch and rensa.

Run as `python -m tests.benchmarks.schemes [FOLDER]`. Recall stands by band of the true coefficient of 5-word shingles;
a returned pair is right from a coefficient of 0.5 on. The speed of the other libraries is that of their signatures
alone, from shingles that are ready; ours is from the text on.
"""

from __future__ import annotations

import importlib
import json
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from indexer.core.sketches import fast_minhash
from indexer.core.text import shingle_hashes, tokenise
from indexer.errors import NeardupError, UsageError
from indexer.extract.base import Limits, Options
from indexer.ingest.indexing import default_jobs
from indexer.ingest.sources import Input
from indexer.matching.evaluation.documents import read_texts
from indexer.matching.evaluation.judging import Judge, Judged, corpus_of, evaluate, read_rule
from indexer.matching.evaluation.showing import COLUMNS, heading, judged_cells, rows
from indexer.matching.measures.exact import shingle_sets
from indexer.model.declared import as_json
from indexer.schemes.registry import scheme

SETS = ("javadoc", "udhr", "jose")
RULES = (
    "simhash-doc@3bits",
    "simhash-doc@7bits",
    "simhash-doc@7bits+minhash",
    "simhash-doc@3bits/minhash@0.6+minhash@0.6",
    "minhash",
    "weighted-minhash",
    "supershingles",
    "supershingles+minhash",
    "random-projection",
    "random-projection+minhash",
    "spotsigs",
    "i-match",
    "i-match+minhash",
)
COSTLY = (
    "simhash",
    "simhash:features=shingles",
    "simhash:features=chars",
    "simhash:stop=en",
    "simhash:stop=auto",
    "simhash:numbers=keep",
    "simhash:numbers=strip",
    "simhash:lower=false",
    "simhash:tokenizer=icu",
    "simhash:weights=tfidf,features=chars",
    "i-match",
    "spotsigs",
    "minhash",
    "weighted-minhash",
    "supershingles",
    "random-projection",
)
"""What text to sketch is timed for: every scheme, and what can be chosen of features."""
PERMUTATIONS = 128
SHINGLE = 5
ROUNDS = 3

Signature = Callable[[Sequence[bytes]], Any]


def run(shared_data: Path) -> dict[str, Any]:
    """Measure and print; gives the figures. `shared_data` is the folder of real documents with truth."""
    texts = {name: texts_of(shared_data, name) for name in SETS}
    figures = {name: _measure(name, some) for name, some in texts.items()}
    _print_sketching(texts)
    _print_speed([text for some in texts.values() for text in some])
    return figures


def texts_of(shared_data: Path, name: str) -> list[str]:
    """The texts of one set of the shared documents, in the order of its list; those that hold none are left out."""
    entries = [json.loads(line) for line in (shared_data / "truth" / f"{name}.jsonl").read_text("utf-8").splitlines()]
    paths = [(each["id"], str(shared_data / each["path"])) for each in entries if each.get("kind") != "metadata"]
    found = read_texts(
        [Input(name, path, path) for name, path in paths], Options(content="landmarks"), Limits(), default_jobs()
    )
    return [text for text in found.texts if text.strip()]


def _measure(name: str, texts: Sequence[str]) -> dict[str, Any]:
    rules = [read_rule(each, corpus_of(texts)) for each in RULES]
    found = evaluate(texts, rules)
    print(f"-- {name}")
    for line in heading(found):
        print(line)
    shingles = [_shingles(text) for text in texts]
    judge = Judge(shingle_sets(texts))
    megabytes = found.bytes / 1e6
    table = [COLUMNS, *rows([rule.name for rule in rules], found)]
    figures: dict[str, Any] = {**as_json(found), "others": {}}
    for label, other in (("datasketch", _datasketch), ("rensa", _rensa)):
        try:
            judged, seconds = other(shingles, judge)
        except ImportError:
            print(f"{label}: not installed, not measured")
            continue
        cells = [label, *judged_cells(judged, scheme("minhash").default_similarity), f"{megabytes / seconds:.1f}"]
        cells += [f"{len(texts) / seconds:,.0f}", f"{PERMUTATIONS * 4}"]
        table.append((*cells, *("",) * (len(COLUMNS) - len(cells))))
        figures["others"][label] = {"megabytes_per_second": megabytes / seconds, "precision": judged.precision}
    _print(table)
    print()
    return figures


def _print(table: Sequence[Sequence[str]]) -> None:
    widths = [max(len(row[place]) for row in table) for place in range(len(COLUMNS))]
    for row in table:
        print(row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)))


def _shingles(text: str) -> list[bytes]:
    tokens = tokenise(text, numbers=True).tokens
    return [b" ".join(tokens[place : place + SHINGLE]) for place in range(max(1, len(tokens) - SHINGLE + 1))]


def _datasketch(shingles: Sequence[Sequence[bytes]], judge: Judge) -> tuple[Judged, float]:
    datasketch = importlib.import_module("datasketch")
    begin = time.perf_counter()
    made = [_updated(datasketch.MinHash(num_perm=PERMUTATIONS), each) for each in shingles]
    seconds = time.perf_counter() - begin
    threshold = scheme("minhash").default_similarity
    index = datasketch.MinHashLSH(threshold=threshold, num_perm=PERMUTATIONS)
    for place, each in enumerate(made):
        index.insert(place, each)
    return _judged(made, index.query, judge, threshold), seconds


def _updated(sketch: Any, shingles: Sequence[bytes]) -> Any:
    sketch.update_batch(shingles)
    return sketch


def _rensa(shingles: Sequence[Sequence[bytes]], judge: Judge) -> tuple[Judged, float]:
    rensa = importlib.import_module("rensa")
    begin = time.perf_counter()
    made = [_updated_rensa(rensa.RMinHash, each) for each in shingles]
    seconds = time.perf_counter() - begin
    threshold = scheme("minhash").default_similarity
    index = rensa.RMinHashLSH(threshold=threshold, num_perm=PERMUTATIONS, num_bands=16)
    for place, each in enumerate(made):
        index.insert(place, each)
    return _judged(made, index.query, judge, threshold), seconds


def _judged(made: Sequence[Any], query: Callable[[Any], Sequence[int]], judge: Judge, threshold: float) -> Judged:
    pairs = sorted({(min(a, b), max(a, b)) for a, each in enumerate(made) for b in query(each) if a != b})
    scores = np.array([made[a].jaccard(made[b]) for a, b in pairs])
    return judge.judge(pairs, scores, threshold)


def _print_sketching(texts: Mapping[str, Sequence[str]]) -> None:
    """Text to sketch, in processor time of one thread, the best of several rounds."""
    print("-- text to sketch: MB/s, documents/s of one thread".ljust(58), *(name.rjust(16) for name in texts))
    encoded = {name: [text.encode("utf-8", "surrogatepass") for text in some] for name, some in texts.items()}
    for specification in COSTLY:
        cells = []
        for name, some in encoded.items():
            try:
                made = scheme(specification, corpus_of(texts[name]))
            except UsageError as error:
                cells.append("-")
                print(f"{specification}: {error}")
                continue
            seconds = min(_thread_seconds(made.sketch, some) for _ in range(ROUNDS))
            cells.append(f"{sum(map(len, some)) / 1e6 / seconds:.1f}, {len(some) / seconds:,.0f}")
        print(specification.ljust(58), *(cell.rjust(16) for cell in cells))
    print()


def _thread_seconds(work: Callable[[bytes], Any], texts: Sequence[bytes]) -> float:
    begin = time.thread_time()
    for text in texts:
        work(text)
    return time.thread_time() - begin


def _print_speed(texts: Sequence[str]) -> None:
    """Signatures in one run, in turn, the fastest of several rounds: from text on, and from hashes that are ready."""
    try:
        rensa = importlib.import_module("rensa").RMinHash
    except ImportError:
        return
    minhash = scheme("minhash")
    encoded = [text.encode("utf-8", "surrogatepass") for text in texts]
    shingles = [_shingles(text) for text in texts]
    hashes = [shingle_hashes(text, SHINGLE) for text in encoded]
    flat = np.concatenate(hashes)
    offsets = np.cumsum([0, *(each.size for each in hashes)]).astype(np.uint64)

    def theirs(cut: Callable[[], Iterable[Sequence[str | bytes]]]) -> None:
        for each in cut():
            _updated_rensa(rensa, each).digest()

    works: list[Callable[[], Any]] = [
        lambda: [minhash.sketch(each) for each in encoded],
        lambda: theirs(lambda: map(_words, texts)),
        lambda: theirs(lambda: map(_shingles_by_space, texts)),
        lambda: theirs(lambda: shingles),
        lambda: [fast_minhash(each, 1024) for each in hashes],
        lambda: rensa.digest_matrix_from_flat_token_hashes(flat, offsets, PERMUTATIONS, 1),
    ]
    names = (
        "minhash: text to sketch, 5-word shingles",
        "rensa: text to signature, words cut at spaces",
        "rensa: text to signature, 5-word shingles of them",
        "rensa: signature of 5-word shingles that are cut already",
        "minhash: signature of ready hashes",
        "rensa: signature of ready hashes, all documents at once",
    )
    megabytes = sum(map(len, encoded)) / 1e6
    rates = [megabytes / min(seconds) for seconds in zip(*_rounds(works), strict=True)]
    for name, rate in zip(names, rates, strict=True):
        print(f"{name:<58} {rate:6.0f} MB/s of text")
    print(f"minhash from text on: {rates[0] / rates[1]:.1f} x rensa's words, {rates[0] / rates[2]:.1f} x its shingles")
    print(f"minhash of ready hashes: {rates[4] / rates[5]:.1f} x rensa")


def _words(text: str) -> list[str]:
    return text.split()


def _shingles_by_space(text: str) -> list[str]:
    words = text.split()
    return [" ".join(words[place : place + SHINGLE]) for place in range(max(1, len(words) - SHINGLE + 1))]


def _updated_rensa(rensa: Any, shingles: Sequence[str | bytes]) -> Any:
    sketch = rensa(num_perm=PERMUTATIONS, seed=1)
    sketch.update(shingles)
    return sketch


def _rounds(works: Sequence[Callable[[], Any]]) -> Iterator[list[float]]:
    for _ in range(ROUNDS):
        seconds = []
        for work in works:
            begin = time.perf_counter()
            work()
            seconds.append(time.perf_counter() - begin)
        yield seconds


if __name__ == "__main__":
    folder = Path(sys.argv[1]) if sys.argv[1:] else Path(__file__).resolve().parents[3] / "shared" / "data"
    if not folder.is_dir():
        sys.exit(f"needs the real documents in {folder}, which is absent; name their folder")
    try:
        run(folder)
    except NeardupError as error:
        sys.exit(str(error))
