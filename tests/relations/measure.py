"""Measure the rule of removal on labelled pairs: wrong removals, copies named, and a confusion matrix.

`make relations` prints the figures, by language and genre, and those without each rule. A rule that changes none goes.
"""

from __future__ import annotations

import argparse
import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from unittest import mock

import numpy as np

from indexer.clustering.verdicts import Permitted
from indexer.core.text import SIGN_CODES, SignKind
from indexer.relations import facts, misreading, wording
from indexer.relations.comparing import relate
from indexer.relations.lexicon import Lexicon
from indexer.relations.relation import WORDS
from indexer.relations.wording import Wording
from tests.relations.labelled import LANGUAGES, LESS, Labelled, background, labelled

SAYING_LESS = Permitted.named("identical,reflowed,noise,edited")
WITHOUT: dict[str, tuple[object, str, object]] = {
    "hyphens at line ends": (facts, "_LINE_HYPHEN", re.compile("(?!)")),
    "marks of thousands": (facts, "_GROUPS", re.compile("(?!)")),
    "misread words": (misreading, "is_misreading", lambda *_: False),
    "one slip": (misreading, "_is_slip", lambda *_: False),
    "doubtful words": (misreading, "_SURE", math.inf),
    "wrapped paragraphs": (wording, "_read_on", lambda lines: [False] * len(lines)),
    "signs": (wording, "sign_kinds", lambda: np.full(SIGN_CODES, SignKind.NEVER, dtype=np.uint32)),
}
"""The rules that survive, each with what stands for it when it is left out."""


class Figures:
    """The figures of labelled pairs."""

    def __init__(self) -> None:
        self.wrong: list[Labelled] = []
        self.different = self.copies = self.named = 0
        self.said: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self.wrong_by: Counter[tuple[str, str]] = Counter()

    def add(self, pair: Labelled, lexicon: Lexicon) -> None:
        """Judge a pair in both directions."""
        left, right = Wording(pair.left), Wording(pair.right)
        for one, other, may_go in ((left, right, pair.left_may_go), (right, left, pair.right_may_go)):
            relation = relate(one, other, lexicon)
            goes = (SAYING_LESS if pair.kind in LESS else Permitted()).lets_go(relation)
            self.different += not may_go
            self.copies += may_go
            self.named += may_go and goes
            if goes and not may_go:
                self.wrong.append(pair)
                self.wrong_by[pair.language, pair.genre] += 1
        self.said[pair.kind][relation.word] += 1

    @property
    def interval(self) -> tuple[float, float]:
        """The 95% interval of the share of wrong removals (Wilson 1927)."""
        count, share, z = max(1, self.different), len(self.wrong) / max(1, self.different), 1.96
        middle, half = share + z * z / (2 * count), z * ((share * (1 - share) + z * z / (4 * count)) / count) ** 0.5
        low, high = ((middle + sign * half) / (1 + z * z / count) for sign in (-1, 1))
        return max(0.0, low), high

    def __str__(self) -> str:
        """The figures in one line."""
        low, high = self.interval
        return (
            f"{len(self.wrong):,} of {self.different:,} wrongly removed ({low:.2%} to {high:.2%}), "
            f"{self.named:,} of {self.copies:,} copies named"
        )

    def table(self) -> Iterator[str]:
        """The relations that were said of each kind, and where something was wrongly removed."""
        yield f"{'':11}" + "".join(f"{word:>10}" for word in WORDS)
        for kind, counts in self.said.items():
            yield f"{kind:11}" + "".join(f"{counts[word]:>10}" for word in WORDS)
        for (language, genre), count in self.wrong_by.most_common():
            yield f"{language} {genre}: {count} wrongly removed"


def lexicons(texts: int = 12) -> dict[str, Lexicon]:
    """The words of a collection in each language."""
    made: dict[str, Lexicon] = {}
    for language in LANGUAGES:
        made[language] = Lexicon()
        for text in background(language, texts):
            made[language].add([Wording(text).hashes])
    return made


def measured(pairs: Iterable[Labelled]) -> Figures:
    """The figures of some pairs."""
    figures, known = Figures(), lexicons()
    for pair in pairs:
        figures.add(pair, known[pair.language])
    return figures


@contextmanager
def without(rule: str) -> Iterator[None]:
    """Leave one rule out."""
    owner, name, instead = WITHOUT[rule]
    with mock.patch.object(owner, name, instead):
        yield


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--per", type=int, default=4, help="pairs of each language, genre and kind")
    parser.add_argument("--show", type=int, default=10, help="how many wrong removals to show")
    options = parser.parse_args()
    pairs = list(labelled(options.per))
    figures = measured(pairs)
    print(figures, *figures.table(), sep="\n")
    for pair in figures.wrong[: options.show]:
        print(f"wrong: {pair.language} {pair.genre} {pair.kind}: ...{pair.left[-80:]!r} / ...{pair.right[-80:]!r}")
    for rule in WITHOUT:
        with without(rule):
            print(f"without {rule}: {measured(pairs)}")


if __name__ == "__main__":
    main()
