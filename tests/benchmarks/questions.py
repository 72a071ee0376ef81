"""Measures two choices of simhash-doc on real documents: what becomes of numbers, and of scripts without spaces.

Run as `python -m tests.benchmarks.questions [FOLDER]`.
"""

from __future__ import annotations

import json
import statistics
import sys
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from indexer.core.hamming import hamming_matrix
from indexer.errors import UsageError
from indexer.extract import Extracted, Failed, Item, Limits, Options, WorkerPool
from indexer.schemes.simhash_variants import SimhashVariant
from indexer.text.features import NUMBERS, recipe

Pair = tuple[str, str]

SETS = ("javadoc", "udhr", "jose")
BANDS = ((0.9, 1.01), (0.8, 0.9), (0.6, 0.8))
RIGHT = 0.5
NEAR, FAR = 3, 7
LANGUAGES = {
    "eng": "English",
    "deu_1996": "German",
    "cmn_hans": "Chinese, simplified",
    "cmn_hant": "Chinese, traditional",
    "jpn": "Japanese",
    "tha": "Thai",
    "khm": "Khmer",
    "lao": "Lao",
    "mya": "Burmese",
}
METHODS: Mapping[str, Mapping[str, Any]] = {
    "UAX 29": {},
    "ICU": {"tokenizer": "icu"},
    "2 characters": {"features": "chars", "size": 2},
    "3 characters": {"features": "chars", "size": 3},
    "3 tokens": {"features": "shingles", "size": 3},
}
PARTS = 8
CUT = 0.05


def run(shared_data: Path) -> dict[str, Any]:
    """Measure and print; gives the figures. `shared_data` is the folder of real documents with truth."""
    return {"numbers": numbers(shared_data), "unspaced": unspaced(shared_data)}


def numbers(shared_data: Path) -> dict[str, Any]:
    """What simhash finds of the pairs of real documents, for each way with numbers."""
    figures: dict[str, Any] = {}
    print("What becomes of numbers: simhash of 64 bits; recall of the pairs by their Jaccard coefficient of 5-word")
    print(f"shingles, within {NEAR} and within {FAR} bits; right are found pairs from {RIGHT}")
    bands = "".join(f"{f'{low:.1f} k={NEAR}':>9}{f'k={FAR}':>7}" for low, _ in BANDS)
    print(f"{'':10}{'features':10}{'numbers':8}{bands}{f'found k={FAR}':>11}{'right':>7}")
    for name in SETS:
        texts = _texts(shared_data, _paths(shared_data, name))
        truth = _truth(shared_data / "truth" / f"pairs_{name}.jsonl", texts)
        counts = ", ".join(f"{sum(low <= each < high for each in truth.values())} from {low}" for low, high in BANDS)
        print(f"{name}: {len(texts)} documents; pairs: {counts}; {_digits(list(texts.values()))}")
        for features in ("words", "shingles"):
            for kept in NUMBERS:
                found = _pairs(texts, SimhashVariant(features=features, numbers=kept))
                figures[f"{name} {features} {kept}"] = _judged(f"{'':10}{features:10}{kept:8}", found, truth)
    return figures


def unspaced(shared_data: Path) -> dict[str, Any]:
    """Distances between parts of one text, and between a part and a near copy of it, by language and features."""
    print()
    print(
        f"Scripts without spaces: the Declaration of Human Rights in {PARTS} parts, each compared with the others (they"
    )
    print(
        f"say different things), and with itself after {CUT:.0%} of its characters were cut out of the middle; in bits"
    )
    print(f"{'':23}{'features':14}{'tokens':>7}{'different':>10}{'others: mean':>14}{'least':>7}", end="")
    print(f"{f'within {FAR}':>10}{'copy: mean':>12}{'most':>6}{f'within {FAR}':>10}")
    figures: dict[str, Any] = {}
    texts = _texts(shared_data, {code: f"html/udhr/{code}.html" for code in LANGUAGES})
    for code, text in texts.items():
        for method, parameters in METHODS.items():
            try:
                scheme = SimhashVariant(**parameters)
            except UsageError as error:
                print(f"{LANGUAGES[code]:23}{method:14} not measured: {error}")
                continue
            figures[f"{code} {method}"] = _spread(f"{LANGUAGES[code]:23}{method:14}", text, scheme)
    return figures


def _spread(label: str, text: str, scheme: SimhashVariant) -> dict[str, float]:
    size = len(text) // PARTS
    parts = [text[n * size : (n + 1) * size] for n in range(PARTS)]
    middle, cut = size // 2, round(size * CUT)
    copies = [part[:middle] + part[middle + cut :] for part in parts]
    values, changed = _values(parts, scheme), _values(copies, scheme)
    others = [(a ^ b).bit_count() for a, b in combinations(values, 2)]
    own = [(a ^ b).bit_count() for a, b in zip(values, changed, strict=True)]
    found = [scheme.recipe.features(part) for part in parts]
    figures = {
        "tokens": statistics.fmean(int(each.counts.sum()) for each in found),
        "different": statistics.fmean(each.hashes.size for each in found),
        "others_mean": statistics.fmean(others),
        "others_least": min(others),
        "others_within": sum(each <= FAR for each in others) / len(others),
        "copy_mean": statistics.fmean(own),
        "copy_most": max(own),
        "copy_within": sum(each <= FAR for each in own) / len(own),
    }
    print(
        f"{label}{figures['tokens']:7.0f}{figures['different']:10.0f}{figures['others_mean']:15.1f}{figures['others_least']:7}"
        f"{figures['others_within']:10.0%}{figures['copy_mean']:12.1f}{figures['copy_most']:6}{figures['copy_within']:10.0%}"
    )
    return figures


def _values(texts: Sequence[str], scheme: SimhashVariant) -> list[int]:
    sketches = [scheme.sketch(text) for text in texts]
    return [int.from_bytes(sketch.payload, "big") for sketch in sketches if sketch]


def _digits(texts: Sequence[str]) -> str:
    """How much of the tokens it is about."""
    cut = (recipe(numbers="keep").cut(text)[0].tokens for text in texts)
    kept = [token.decode() for tokens in cut for token in tokens]
    alone = sum(not any(map(str.isalpha, token)) for token in kept)
    mixed = sum(any(map(str.isdigit, token)) for token in kept) - alone
    return (
        f"of {len(kept):,} tokens {alone / len(kept):.2%} are numbers, {mixed / len(kept):.2%} have letters and digits"
    )


def _pairs(texts: Mapping[str, str], scheme: SimhashVariant) -> Mapping[Pair, int]:
    """The distance of every pair within FAR bits."""
    sketches = {name: sketch for name, text in texts.items() if (sketch := scheme.sketch(text))}
    names = list(sketches)
    values: npt.NDArray[np.uint64] = np.frombuffer(
        b"".join(sketch.payload for sketch in sketches.values()), dtype=">u8"
    ).astype(np.uint64)
    distances = hamming_matrix(values, values)
    left, right = np.nonzero(np.triu(distances <= FAR, 1))
    return {_pair(names[i], names[j]): int(distances[i, j]) for i, j in zip(left, right, strict=True)}


def _judged(label: str, found: Mapping[Pair, int], truth: Mapping[Pair, float]) -> dict[str, float]:
    figures: dict[str, float] = {}
    for low, high in BANDS:
        wanted = [pair for pair, jaccard in truth.items() if low <= jaccard < high]
        for distance in (NEAR, FAR):
            met = sum(found.get(pair, 65) <= distance for pair in wanted)
            figures[f"{low} {distance}"] = met / len(wanted) if wanted else float("nan")
    right = sum(truth.get(pair, 0) >= RIGHT for pair in found)
    figures |= {"found": len(found), "right": right / len(found) if found else float("nan")}
    recall = "".join(
        f"{figures[f'{low} {NEAR}']:9.1%}{figures[f'{low} {FAR}']:7.1%}"
        if figures[f"{low} {FAR}"] == figures[f"{low} {FAR}"]
        else f"{'-':>9}{'-':>7}"
        for low, _ in BANDS
    )
    print(f"{label}{recall}{len(found):11,}{figures['right']:7.1%}")
    return figures


def _paths(shared_data: Path, name: str) -> dict[str, str]:
    rows = map(json.loads, (shared_data / "truth" / f"{name}.jsonl").read_text("utf-8").splitlines())
    return {row["id"]: row["path"] for row in rows if row.get("kind") != "metadata"}


def _truth(path: Path, among: Mapping[str, str]) -> dict[Pair, float]:
    rows = map(json.loads, path.read_text("utf-8").splitlines())
    return {_pair(row["a"], row["b"]): row["jaccard"] for row in rows if row["a"] in among and row["b"] in among}


def _texts(shared_data: Path, paths: Mapping[str, str]) -> dict[str, str]:
    items: Iterable[Item[str] | Failed[str]] = (
        Item(name, (shared_data / path).read_bytes(), str(path)) for name, path in paths.items()
    )
    with WorkerPool[None](2, Options(), Limits()) as pool:
        found = {
            str(outcome.key): outcome.document.text
            for outcome in pool.outcomes(items)
            if isinstance(outcome, Extracted)
        }
    return {name: found[name] for name in paths if name in found}


def _pair(a: str, b: str) -> Pair:
    return (a, b) if a < b else (b, a)


if __name__ == "__main__":
    run(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parents[3] / "shared" / "data")
