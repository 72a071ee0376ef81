"""The nearest stored document of each page, however distant: what keys find of it, and what comparing with all costs.

Run as `python -m tests.benchmarks nearest`. Every page of html/mixed and html/javadoc is asked about among the others.
The truth is exact Jaccard coefficients of 5-word shingles. The price is that of a file of made sketches.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from indexer.ingest.indexing import store_info
from indexer.library.opening import open_store
from indexer.matching.asking import lookup_each
from indexer.matching.lookups import Asking, lookup
from indexer.matching.measures.exact import jaccard, jaccard_pairs, shingle_sets
from indexer.matching.question import Question
from indexer.matching.rule import MatchRule, default_rule
from indexer.model import DEFAULT_MIN_TOKENS, SIMHASH_DOC, Fingerprint, Record, Ref, Sketch
from indexer.model.ragged import Ragged
from indexer.schemes import registry
from indexer.schemes.simhash import sketched
from indexer.stores import Store
from tests.judging import texts_of
from tests.planted import empty, put, record

SETS = ("html/mixed", "html/javadoc")
BANDS = ((0.6, 1.01), (0.5, 0.6), (0.45, 0.5), (0.3, 0.45), (0.1, 0.3))
FLOOR = 0.1
HALF = 0.475
DOCUMENTS, ASKED = 300_000, 50


def run(shared_data: Path) -> dict[str, Any]:
    """Measure and print; gives the figures."""
    figures: dict[str, Any] = {}
    print(
        "Of pages whose truly nearest one shares so much with them: how many there are; whether it shares a key of the"
    )
    print("default rule, is among ten that --at-least 0 gives, is the first of them (or as near as that), and how many")
    print("have no document that shares a key at all")
    for name in SETS:
        texts = texts_of(shared_data / name)
        figures[name] = _found(name, texts)
        figures[f"{name}, halved"] = _halved(name, texts)
    figures["price"] = _price()
    return figures


def _found(name: str, texts: Sequence[str]) -> dict[str, dict[str, int]]:
    rule = default_rule()
    schemes = list(rule.schemes.values())
    records = [record(f"{number:05}", text, schemes) for number, text in enumerate(texts)]
    kept = [each for each in records if each.fingerprint and each.fingerprint.tokens >= DEFAULT_MIN_TOKENS]
    exact = jaccard_pairs(shingle_sets([texts[int(each.ref.id)] for each in kept]), FLOOR)
    # By document, how much each other one shares with it.
    shared: list[dict[str, float]] = [{} for _ in kept]
    for left, right, value in zip(exact.left.tolist(), exact.right.tolist(), exact.jaccard.tolist(), strict=True):
        shared[left][kept[right].ref.id] = value
        shared[right][kept[left].ref.id] = value
    figures: dict[str, dict[str, int]] = {}
    with tempfile.TemporaryDirectory() as folder, empty(Path(folder, "s.neardup"), schemes) as store:
        put(store, kept)
        for each, others in zip(kept, shared, strict=True):
            best = max(others.values(), default=0.0)
            band = next((f"{low:.0%} to {min(high, 1):.0%}" for low, high in BANDS if low <= best < high), "")
            if not band:
                continue
            counts = figures.setdefault(band, dict.fromkeys(("pages", "by keys", "among ten", "first", "no key"), 0))
            for what, holds in _asked(store, rule, Question("page", record=each), others, best).items():
                counts[what] += holds
    for low, high in BANDS:
        band = f"{low:.0%} to {min(high, 1):.0%}"
        if band in figures:
            print(f"{name:14} {band:12} " + "   ".join(f"{what} {count:5,}" for what, count in figures[band].items()))
    return figures


def _halved(name: str, texts: Sequence[str]) -> dict[str, int]:
    """The same of the first words of every fourth page, asked about where the page shares 45 to 50% with them."""
    rule = default_rule()
    schemes = list(rule.schemes.values())
    counts = dict.fromkeys(("pages", "by keys", "among ten", "first", "no key"), 0)
    with tempfile.TemporaryDirectory() as folder, empty(Path(folder, "s.neardup"), schemes) as store:
        put(store, (record(f"{number:05}", text, schemes) for number, text in enumerate(texts)))
        halves = [" ".join(text.split()[: round(len(text.split()) * HALF)]) for text in texts[::4]]
        sets = shingle_sets([*texts, *halves])
        for number, half in enumerate(halves):
            one = np.full(len(texts), len(texts) + number)
            shared = jaccard(sets, one, np.arange(len(texts)))
            best = float(shared.max())
            if len(half.split()) >= DEFAULT_MIN_TOKENS and 0.45 <= best < 0.5:
                others = {f"{place:05}": value for place, value in enumerate(shared.tolist()) if value}
                for what, holds in _asked(store, rule, Question(f"half of {number}", text=half), others, best).items():
                    counts[what] += holds
    print(f"{name:14} {'halves':12} " + "   ".join(f"{what} {count:5,}" for what, count in counts.items()))
    return counts


def _asked(store: Store, rule: MatchRule, question: Question, others: dict[str, float], best: float) -> dict[str, int]:
    """Where the truly nearest documents stand in the answers about one."""
    own = question.record.ref if question.record else None
    nearest = {name for name, value in others.items() if value == best}
    met = {ref.id for batch in Asking(store, rule, question).found() for ref in batch.refs if ref != own}
    listed = [match.record.ref.id for match in lookup(store, rule, question, at_least=0, exclude=own).matches]
    return {
        "pages": 1,
        "by keys": bool(nearest & met),
        "among ten": bool(nearest & set(listed)),
        "first": others.get(listed[0], 0.0) == best,
        "no key": not met,
    }


def _price() -> dict[str, float]:
    """Seconds of a comparison with all in a file, of one question and of many, beside a lookup by keys."""
    rule = default_rule()
    with tempfile.TemporaryDirectory() as folder:
        with open_store(Path(folder, "s.neardup"), create=store_info("landmarks")) as store:
            store.add_scheme(registry.scheme("minhash").info)
            with store.bulk_load():
                put(store, _made(DOCUMENTS))
            questions = [Question("made", record=each) for each in _made(ASKED, seed=2)]
            lookup(store, rule, questions[0], at_least=0)
            figures = {}
            for what, asked, least in (
                ("one by keys", questions[:1], None),
                ("one with all", questions[:1], 0.0),
                (f"{ASKED} by keys", questions, None),
                (f"{ASKED} with all", questions, 0.0),
            ):
                started = time.perf_counter()
                list(lookup_each(store, rule, asked, at_least=least))
                figures[what] = time.perf_counter() - started
        rows = Ragged.of_matrix(np.random.default_rng(1).integers(0, 256, (DOCUMENTS, 128)).astype(np.uint8))
        started = time.perf_counter()
        registry.scheme("minhash").compare_one(rows.bytes_of(0), rows)
        figures["comparison alone"] = time.perf_counter() - started
    shown = ", ".join(f"{what} {seconds * 1000:,.1f} ms" for what, seconds in figures.items())
    print(f"a file of {DOCUMENTS:,} documents: {shown}")
    return figures


def _made(count: int, seed: int = 1) -> Iterator[Record]:
    """Documents of random sketches, which share nothing."""
    draw = np.random.default_rng(seed)
    minhash = registry.scheme("minhash")
    tables = np.arange(minhash.layout.tables, dtype=np.int64) << minhash.layout.bits
    for number in range(count):
        keys = tables + draw.integers(0, 1 << minhash.layout.bits, tables.size, dtype=np.int64)
        own = Sketch(minhash.id, draw.bytes(128), tuple(keys.tolist()), 100)
        simhash = sketched(Fingerprint(int(draw.integers(0, 1 << 63)), 100))
        yield Record(Ref(f"document {seed} {number:08}"), {SIMHASH_DOC: simhash[SIMHASH_DOC], "minhash": own})
