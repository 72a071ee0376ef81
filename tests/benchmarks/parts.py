"""Which parts of documents rules find, by length and by misread letters: see docs/explanation/parts.md.

Run as `python -m tests.benchmarks parts`. The documents are those of html/mixed of at least 1,000 words. Of random ones
a run of words is asked for, as it stands or with letters replaced as in bad OCR. It counts as found where the document
that it is from is among the answers, and an answer as wrong where less than 30% of the 5-word shingles of the run,
before letters were replaced, stand in it.
"""

from __future__ import annotations

import random
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import indexer
from indexer.core.text import shingle_hashes
from indexer.extract import extract
from indexer.matching.measures.exact import shingle_sets

LENGTHS = (36, 50, 75, 100, 200, 300, 1000)
NOISE = (0.01, 0.02, 0.05)
NOISY = 300
ASKED = 300
RULES = {
    "the default": ("minhash", "default"),
    "`passages@0.5`": ("passages", "passages@0.5"),
    "`passages:window=12@0.5`": ("passages:window=12", "passages@0.5"),
    "`passages@0.25`": ("passages", "passages@0.25"),
    "`passages:features=letters@0.25`": ("passages:features=letters", "passages@0.25"),
}
_LEAST_WORDS, _WRONG = 1000, 0.3
_LETTERS = "abcdefghijklmnopqrstuvwxyz"


def run(data: Path) -> dict[str, Any]:
    """Measure and print; gives the figures."""
    texts = {}
    for path in sorted(filter(Path.is_file, (data / "html" / "mixed").rglob("*.html"))):
        text = extract(path).text
        if len(text.split()) >= _LEAST_WORDS:
            texts[str(path)] = text
    whole = {name: shingle_sets([text]).values for name, text in texts.items()}
    draw = random.Random(1)
    questions = {f"{length} words": [part_of(draw, texts, length) for _ in range(ASKED)] for length in LENGTHS}
    for share in NOISE:
        questions[f"{NOISY} words, {share:.0%} misread"] = [part_of(draw, texts, NOISY, share) for _ in range(ASKED)]
    print(f"-- parts of {len(texts):,} documents: found, wrong answers of all, ms a question")
    found: dict[str, dict[str, list[float]]] = {}
    for rule, (scheme, match) in RULES.items():
        with tempfile.TemporaryDirectory() as folder, indexer.open(Path(folder, "store.db"), schemes=[scheme]) as store:
            store.add_many((name, text) for name, text in texts.items())
            found[rule] = {}
            for kind, asked in questions.items():
                found[rule][kind] = _measured(store, match, asked, whole)
        for kind, (share, wrong, took) in found[rule].items():
            print(f"{rule:36s}{kind:28s}{share:8.1%}{wrong:8.2%}{took:8.1f}")
    return found


def part_of(draw: random.Random, texts: dict[str, str], length: int, noise: float = 0.0) -> tuple[str, str, str]:
    """The name of a document, a run of its words, and the same misread."""
    while True:
        name = draw.choice(list(texts))
        words = texts[name].split()
        if len(words) >= length:
            start = draw.randrange(len(words) - length + 1)
            part = " ".join(words[start : start + length])
            read = "".join(draw.choice(_LETTERS) if c.isalpha() and draw.random() < noise else c for c in part)
            return name, part, read


def _measured(
    store: indexer.Collection, match: str, asked: list[tuple[str, str, str]], whole: dict[str, Any]
) -> list[float]:
    begin, hits, answers, wrong = time.perf_counter(), 0, 0, 0
    given = [store.similar(read, match=match, limit=None) for _, _, read in asked]
    took = 1000 * (time.perf_counter() - begin) / len(asked)
    for (name, part, _), matches in zip(asked, given, strict=True):
        shingles = np.unique(shingle_hashes(part, 5, numbers=True))
        hits += any(one.id == name for one in matches)
        answers += len(matches)
        wrong += sum(np.isin(shingles, whole[one.id]).mean() < _WRONG for one in matches)
    return [hits / len(asked), wrong / max(answers, 1), took]
