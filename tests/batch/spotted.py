"""Texts and a form of sketches for SpotSigs, whose keys are skewed."""

from __future__ import annotations

from indexer.batch.form import Form
from indexer.model import SIMHASH_DOC
from indexer.schemes import registry
from tests.batch.batched import MINHASH

FAMILIES = (SIMHASH_DOC, "minhash", "spotsigs", "simhash", "random-projection", "supershingles")


FORM = Form(tuple(MINHASH if name == "minhash" else registry.scheme(name).id for name in FAMILIES[1:]))


LEAST = {"spotsigs": "0.6", "simhash": "3bits", "supershingles": "0.6", "random-projection": "0.9", "minhash": "0.5"}


def word(start: str, *numbers: int) -> str:
    """A word without digits, which texts are stripped of."""
    return start + "x".join(str(number) for number in numbers).translate(str.maketrans("0123456789", "abcdefghij"))


def spotted(count: int) -> dict[str, str]:
    """Texts with words that spots begin at; of every ten each has a word of its own."""
    return {
        f"spots{n}": " ".join(f"the {word('own', n) if p == n % 10 else word('of', n // 10, p)}" for p in range(40))
        for n in range(count)
    }
