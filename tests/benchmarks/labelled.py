"""Labelled pairs beside other programs: what is removed wrongly, and which copies are named.

Run as `python -m tests.benchmarks labelled`. The pairs are those of `make relations`, in languages with spaces between
words, if both texts have the five words of a shingle. Each program gets the two texts alone, and the second one goes if
it is near the first.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import NamedTuple

from indexer import dedupe
from tests.benchmarks.library import near_by_datasketch, near_by_datatrove, near_by_rensa, near_by_text_dedup
from tests.relations.labelled import TIGHT, labelled


class Removed(NamedTuple):
    """The numbers of pairs that a program removes wrongly, of those that say something else, and of copies it names."""

    wrong: int = 0
    different: int = 0
    named: int = 0
    copies: int = 0


def copies_of(texts: Sequence[str]) -> set[int]:
    """The positions of texts that neardup removes."""
    return {copy.position for copy in dedupe(texts, "minhash@0.7").copies}


PROGRAMS: dict[str, Callable[[Sequence[str]], set[int]]] = {
    "neardup": copies_of,
    "rensa": near_by_rensa,
    "datasketch": near_by_datasketch,
    "text-dedup": near_by_text_dedup,
    "datatrove": near_by_datatrove,
}
"""What each program removes; `make bench` installs neither text-dedup nor datatrove, which need older packages."""


def run(per: int = 1) -> dict[str, Removed]:
    """Measure and print, with so many pairs of each language, genre and kind."""
    pairs = [
        pair
        for pair in labelled(per)
        if pair.language not in TIGHT and min(len(text.split()) for text in (pair.left, pair.right)) >= 5
    ]
    found = {}
    for name, near in PROGRAMS.items():
        try:
            goes = [bool(near([pair.left, pair.right])) for pair in pairs]
        except ImportError as error:
            print(f"{name} is not installed: {error}")
            continue
        wrong, named = (
            [gone for gone, pair in zip(goes, pairs, strict=True) if pair.right_may_go == may_go]
            for may_go in (False, True)
        )
        found[name] = Removed(sum(wrong), len(wrong), sum(named), len(named))
        print(
            f"{name:10} {sum(wrong):,} of {len(wrong):,} wrongly removed, {sum(named):,} of {len(named):,} copies named"
        )
    return found


if __name__ == "__main__":
    run()
    sys.exit()
