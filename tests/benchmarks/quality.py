"""What match rules call near, against exact Jaccard coefficients of the text that neardup extracted.

Run as `python -m tests.benchmarks quality`: the real documents with truth.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from indexer.matching.rule import MatchRule, default_rule, parse_rule
from tests.judging import (
    BANDS,
    SETS,
    SHARES,
    Judged,
    judged,
    texts_of,
)

RULES = ("simhash-doc@3bits", "simhash-doc@6bits", "")


def run(shared_data: Path, folders: Sequence[str] = ()) -> dict[str, dict[str, Judged]]:
    """Measure and print; by collection, then by rule, the collections together as "pooled"."""
    rules = [parse_rule(written) if written else default_rule() for written in RULES]
    shown = " ".join(f"{f'from {share:.0%}':>9}" for share in SHARES)
    found = " ".join(f"{f'{low:.0%}':>7}" for low, _ in BANDS)
    print(f"{'':46}{'pairs':>9} share: {shown}   found from: {found}   (pairs there are)")
    results: dict[str, dict[str, Judged]] = {}
    pooled: dict[str, Judged] = {}
    for name, folder in [(each, Path(each)) for each in folders] or [(each, shared_data / each) for each in SETS]:
        texts = texts_of(folder)
        results[name] = {}
        for rule, figures in zip(rules, judged(texts, rules), strict=True):
            results[name][str(rule)] = figures
            pooled[str(rule)] = pooled[str(rule)] + figures if str(rule) in pooled else figures
            _print(f"{name} ({len(texts):,})", rule, figures)
    for rule in rules:
        _print("pooled", rule, pooled[str(rule)])
    return {**results, "pooled": pooled}


def _print(name: str, rule: MatchRule, figures: Judged) -> None:
    right = " ".join(f"{count / max(1, figures.returned):9.2%}" for count in figures.right)
    bands = list(zip(figures.found, figures.wanted, strict=True))
    found = " ".join(f"{count / total:7.1%}" if total else f"{'-':>7}" for count, total in bands)
    counts = ", ".join(f"{total:,}" for total in figures.wanted)
    print(
        f"{name[-22:]:22} {str(rule)[:22]:22} {figures.returned:9,}        {right}               {found}   ({counts})"
    )
