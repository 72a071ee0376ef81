"""Made collections that batches are tried with, and rules for them."""

from __future__ import annotations

import random

from indexer.clustering.canonical import CanonicalRule
from tests.batch.batched import MINHASH, Case

EARLIEST = CanonicalRule("earliest")


RULES = (
    Case({}),
    Case({}, schemes=(), canonical=EARLIEST),
    Case({}, "simhash-doc@6bits+minhash@0.5", canonical=EARLIEST),
    Case({}, "minhash@0.3", bound=0.9),
    Case({}, "minhash@0.4", bound=0.3),
    Case({}, "spotsigs@0.6", schemes=("spotsigs",)),
    Case({}, "supershingles@0.5/simhash-doc@3bits+minhash@0.4", schemes=(MINHASH, "supershingles")),
    Case({}, canonical=CanonicalRule("field", "seen", descending=True)),
)


def chain(length: int, step: int = 4) -> dict[str, str]:
    """Texts of which each shares most with the next, and the first nothing with the last."""
    words = [f"word{number}" for number in range(length * step + 60)]
    return {f"link{place:03}": " ".join(words[place * step : place * step + 60]) for place in range(length)}


def hot(count: int) -> dict[str, str]:
    """Pages with one boilerplate: they share keys, and some are near."""
    draw = random.Random(7)
    common = [f"menu{number}" for number in range(40)]
    texts = {}
    for place in range(count):
        own = [f"own{place if place % 5 else 0}x{draw.randrange(9)}" for _ in range(draw.choice((6, 15, 40)))]
        texts[f"page{place:03}"] = " ".join(common + own)
    return texts
