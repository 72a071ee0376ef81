"""Match rules held against exact Jaccard coefficients of the texts that neardup extracted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from indexer.extract.base import Limits, Options
from indexer.ingest.indexing import default_jobs
from indexer.ingest.sources import Selection, Sources
from indexer.matching.evaluation.documents import read_texts
from indexer.matching.measures.exact import jaccard, jaccard_pairs, shingle_sets
from indexer.matching.measures.tables import Comparer
from indexer.matching.nodes import Nodes, nodes_of
from indexer.matching.pairing import node_pairs
from indexer.matching.rule import MatchRule
from indexer.model import DEFAULT_MIN_TOKENS, SIMHASH_DOC, Ref
from indexer.model.ragged import Ragged
from indexer.stores.sketches import Found

SETS = ("html/mixed", "html/javadoc", "html/udhr", "jose")


BANDS = ((0.9, 1.01), (0.8, 0.9), (0.7, 0.8))


SHARES = (0.3, 0.5)


Positions = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Judged:
    """Of one rule on one collection: `returned` pairs, how many of them share SHARES of their passages; of the pairs of
    each of BANDS, how many there are and how many were found.
    """

    returned: int
    right: tuple[int, ...]
    wanted: tuple[int, ...]
    found: tuple[int, ...]

    def __add__(self, other: Judged) -> Judged:
        right, wanted, found = (
            tuple(a + b for a, b in zip(one, two, strict=True))
            for one, two in ((self.right, other.right), (self.wanted, other.wanted), (self.found, other.found))
        )
        return Judged(self.returned + other.returned, right, wanted, found)


def judged(texts: Sequence[str], rules: Sequence[MatchRule]) -> list[Judged]:
    """How right each rule is on a collection; documents that are too short to be compared are left out."""
    long_enough = [text for text in texts if _tokens(text, rules) >= DEFAULT_MIN_TOKENS]
    sets = shingle_sets(long_enough)
    exact = jaccard_pairs(sets, BANDS[-1][0])
    truth = dict(zip(_codes(exact.left, exact.right), exact.jaccard.tolist(), strict=True))
    results = []
    for rule in rules:
        left, right = near_pairs(rule, long_enough)
        shares = jaccard(sets, left, right)
        returned = set(_codes(left, right))
        wanted = [{code for code, value in truth.items() if low <= value < high} for low, high in BANDS]
        results.append(
            Judged(
                len(returned),
                tuple(int(np.count_nonzero(shares >= share)) for share in SHARES),
                tuple(map(len, wanted)),
                tuple(len(each & returned) for each in wanted),
            )
        )
    return results


def _codes(left: Positions, right: Positions) -> list[int]:
    return list(map(int, (np.minimum(left, right) << 32 | np.maximum(left, right)).tolist()))


def _tokens(text: str, rules: Sequence[MatchRule]) -> int:
    for rule in rules:
        if SIMHASH_DOC in rule.schemes:
            sketch = rule.schemes[SIMHASH_DOC].sketch(text)
            return sketch.features if sketch else 0
    return len(text.split())


def near_pairs(rule: MatchRule, texts: Sequence[str]) -> tuple[Positions, Positions]:
    """The pairs of positions that a rule calls near."""
    nodes = sketched(rule, texts)
    blocks = list(node_pairs(nodes, Comparer(rule, nodes.payloads)))
    numbers = np.array([int(ref.id) for ref in nodes.refs.take(range(len(nodes.refs)))], dtype=np.int64)
    left = np.concatenate([np.empty(0, dtype=np.int64), *(block[0] for block in blocks)])
    right = np.concatenate([np.empty(0, dtype=np.int64), *(block[1] for block in blocks)])
    return numbers[left], numbers[right]


def sketched(rule: MatchRule, texts: Sequence[str]) -> Nodes:
    """The texts as nodes of their own, each named by its position."""
    made = {name: [scheme.sketch(text) for text in texts] for name, scheme in rule.schemes.items()}
    payloads = {name: Ragged.of_bytes([each.payload if each else b"" for each in some]) for name, some in made.items()}
    keys = {name: Ragged.of_integers([each.keys if each else () for each in some]) for name, some in made.items()}
    return nodes_of(rule, [Found([Ref(str(number)) for number in range(len(texts))], payloads, keys)], whole=True)


def texts_of(folder: Path) -> list[str]:
    """The texts of a folder's documents."""
    found = read_texts(Sources([str(folder)], Selection(base=str(folder))), Options(), Limits(), default_jobs())
    return found.texts
