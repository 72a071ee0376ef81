"""What bands find and bring along on real pages, and what numbers in shingles change: a part of `bench sketches`."""

from __future__ import annotations

import encodings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from indexer.core.sketches import band_keys, fast_minhash, fingerprint, simhash_keys
from indexer.matching.measures.exact import jaccard, jaccard_pairs, shingle_sets
from indexer.model.ragged import Ragged
from indexer.schemes.minwise import banding_recall
from tests.benchmarks.schemes import texts_of
from tests.made_forms import invoices, logs, tables

SETS = ("mixed", "javadoc")
BANDS = ((12, 4), (16, 4), (20, 4), (16, 5), (20, 5), (25, 5), (32, 6))
BUCKETS = ((0.9, 1.01), (0.8, 0.9), (0.7, 0.8), (0.6, 0.7), (0.5, 0.6))
UNLIKE = 0.3
NEAR = 0.6

Numbers = npt.NDArray[np.int64]


def run(shared_data: Path) -> dict[str, Any]:
    """Measure and print; gives the figures."""
    texts = {name: texts_of(shared_data, name) for name in SETS}
    return {"bands": {name: _bands(name, some) for name, some in texts.items()}, "numbers": _numbers(texts)}


def _signatures(sets: Ragged) -> npt.NDArray[np.uint32]:
    rows = []
    for number in range(len(sets)):
        found = fast_minhash(sets.values[sets.offsets[number] : sets.offsets[number + 1]], 1024)
        # A text without words shares nothing with any other.
        rows.append(np.random.default_rng(number).integers(0, 2**32, 1024, dtype=np.uint32) if found is None else found)
    return np.array(rows)


def _meeting(keys: npt.NDArray[np.generic]) -> Numbers:
    """The pairs that have a key in common, as left * n + right, each once: keys of shape (n, tables)."""
    found: list[Numbers] = [np.empty(0, dtype=np.int64)]
    for column in keys.T:
        order = np.argsort(column, kind="stable")
        changes = np.flatnonzero(column[order][1:] != column[order][:-1]) + 1
        for group in np.split(order, changes):
            left, right = np.triu_indices(group.size, 1)
            found.append(np.sort(group)[left] * keys.shape[0] + np.sort(group)[right])
    return np.unique(np.concatenate(found))


def _bands(name: str, texts: Sequence[str]) -> dict[str, Any]:
    sets = shingle_sets(texts)
    pairs, signatures, count = jaccard_pairs(sets, UNLIKE), _signatures(sets), len(texts)
    codes, values = pairs.left * count + pairs.right, pairs.jaccard
    simhashes = np.array([fingerprint(text) or (number, 0) for number, text in enumerate(texts)], dtype=np.uint64)
    by_simhash = _meeting(simhash_keys(np.ascontiguousarray(simhashes[:, 0])))
    print(f"-- {name}: {count:,} texts; shares found by keys, with those of simhash, by the true coefficient")
    pairs_of = [(values >= low) & (values < high) for low, high in BUCKETS]
    heads = [f"{low:.1f} ({int(chosen.sum())})" for (low, _), chosen in zip(BUCKETS, pairs_of, strict=True)]
    print(f"{'':12} {'expected at 0.7':>16} " + " ".join(f"{head:>13}" for head in heads) + "   candidates  below 0.3")
    figures = {}
    for label, met, recall in _met(signatures, by_simhash):
        alone, both = np.isin(codes, met), np.isin(codes, np.union1d(met, by_simhash))
        shares = [(float(alone[chosen].mean()), float(both[chosen].mean())) for chosen in pairs_of]
        unlike = met.size - int(np.isin(met, codes).sum())
        cells = [f"{one:>6.1%} {other:>6.1%}" for one, other in shares]
        print(
            f"{label:12} {recall:>16} "
            + " ".join(cells)
            + f" {2 * met.size / count:>12.2f} {2 * unlike / count:>10.2f}"
        )
        figures[label] = {"found": shares, "candidates": 2 * met.size / count, "unlike": 2 * unlike / count}
    print()
    return figures


def _met(signatures: npt.NDArray[np.uint32], by_simhash: Numbers) -> Iterator[tuple[str, Numbers, str]]:
    for bands, rows in BANDS:
        keys = np.array([band_keys(one, bands, rows) for one in signatures])
        yield f"{bands} x {rows}", _meeting(keys), f"{banding_recall(0.7, bands, rows):.1%}"
    yield "simhash", by_simhash, ""


def _numbers(texts: dict[str, list[str]]) -> dict[str, Any]:
    code = [path.read_text("utf-8") for path in sorted(Path(encodings.__file__).parent.glob("*.py"))]
    sets = {"invoices": invoices(), "logs": logs(), "tables": tables(), "code": code, **texts}
    print(f"-- pairs from a coefficient of {NEAR} on, of all pairs, by whether numbers are words")
    print(f"{'':12} {'texts':>6} {'pairs':>10} {'dropped':>9} {'kept':>9}")
    figures = {}
    for name, some in sets.items():
        left, right = np.triu_indices(len(some), 1)
        found = [int((jaccard(shingle_sets(some, numbers=kept), left, right) >= NEAR).sum()) for kept in (False, True)]
        figures[name] = {"pairs": left.size, "dropped": found[0], "kept": found[1]}
        print(f"{name:12} {len(some):>6,} {left.size:>10,} {found[0]:>9,} {found[1]:>9,}")
    print()
    return figures
